"""How often one-run audits refute a true claim, where k is fixed by it: at most at the level.

The law of right guesses of the least favourable mechanism comes from a linear programme of its
own (tests/least_favourable.py): its chance of refutation is summed, and played with coins.
"""

from __future__ import annotations

import numpy as np
import pytest
from least_favourable import least_favourable, play
from scipy.stats import binom

import tellapart as ta
from tellapart import audit
from tellapart.audit.counts.one_run_worst_case import curve_test
from tellapart.audit.evidence.guess_numbers import GuessPlan
from tellapart.curve.guarantees import gaussian

LEVEL = 0.05
LAPLACE = ta.Laplace(scale=0.5).curve()


def most_false(audits, level=LEVEL):
    """Not significantly above the level: exact binomial, 1 %."""
    return int(binom.ppf(0.99, audits, level))


def worst(claim, canaries, made, right):
    widest = 4.2 * claim.mu if hasattr(claim, "mu") else float(claim.epsilon(0.0))
    return least_favourable(canaries, made, right, claim.delta, np.linspace(0, widest, 12))[0]


@pytest.mark.parametrize(
    ("claim", "canaries"), [(gaussian(0.4), 60), (gaussian(0.8), 100), (LAPLACE, 60)]
)
def test_the_least_favourable_mechanism_is_refuted_at_most_at_the_level(claim, canaries):
    ((inside, outside, level),) = GuessPlan(claim).numbers(canaries, LEVEL)
    test = curve_test(claim, canaries, inside + outside, level)
    law = worst(claim, canaries, inside + outside, test.least_refuting)
    refuted = np.array([test.refutes(right) for right in range(law.size)])
    false = float(law @ refuted)
    assert false <= LEVEL * (1 + 1e-9)
    assert false >= LEVEL / 4  # no test of whole numbers that is much sharper is to be had


@pytest.mark.parametrize("claim", [gaussian(0.4), gaussian(0.8), LAPLACE])
def test_one_right_guess_fewer_would_break_the_level(claim):
    """The linear programme is exact: where it does not refute, a mechanism is as lucky."""
    ((inside, outside, level),) = GuessPlan(claim).numbers(60, LEVEL)
    test = curve_test(claim, 60, inside + outside, level)
    right = test.least_refuting - 1
    law = worst(claim, 60, inside + outside, right)
    assert law[right:].sum() > LEVEL * 0.97  # a finite list of b allows a little too much


def _scores(scores, inside):
    return audit.Scores(scores[inside], scores[~inside])


def played(claim, canaries, audits, by_claim):
    """Audits of the least favourable mechanism: each refutation is false."""
    planned = GuessPlan(claim if by_claim else None).numbers(canaries, LEVEL)
    made = planned[0].guesses_in + planned[0].guesses_out
    right = curve_test(claim, canaries, made, planned[0].level).least_refuting
    law = worst(claim, canaries, made, right)
    for seed in range(audits):
        rng = np.random.default_rng([seed, canaries])
        inside = rng.random(canaries) < 0.5
        scores = _scores(play(rng, inside, law, made), inside)
        yield audit.one_run(scores, 1 - LEVEL, claim=claim if by_claim else None)


@pytest.mark.parametrize("audits", [300, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("by_claim", [True, False])
@pytest.mark.parametrize("claim", [gaussian(0.4), LAPLACE])
def test_the_least_favourable_mechanism_played_with_coins(claim, by_claim, audits):
    false = sum(one.refutes(claim) for one in played(claim, 100, audits, by_claim))
    assert false <= most_false(audits)


def independent(claim, canaries, audits, draw):
    for seed in range(audits):
        rng = np.random.default_rng([seed, canaries, 7])
        inside = rng.random(canaries) < 0.5
        yield _scores(draw(rng, inside), inside)


def _normal(mu):
    return lambda rng, inside: rng.normal(size=inside.size) + mu * inside


def _laplace(rng, inside):
    return rng.laplace(scale=0.5, size=inside.size) + inside


def _answers(rng, inside):
    """Randomised response with ε = 1 that reveals a canary with chance 0.01."""
    truth = rng.random(inside.size) < 0.01 + 0.99 / (1 + np.exp(-1.0))
    return (inside == truth) + 0.5 * rng.random(inside.size)


def _plain_answers(rng, inside):
    """Randomised response with ε = 1, told apart by noise."""
    truth = rng.random(inside.size) < 1 / (1 + np.exp(-1.0))
    return (inside == truth) + 0.5 * rng.random(inside.size)


def _all_or_nothing(rng, inside):
    """With chance 0.01 every canary is revealed: δ = 0.01, ε = 0."""
    return inside * (rng.random() < 0.01) + rng.random(inside.size)


NULLS = {
    "Gaussian": (gaussian(1.0), _normal(1.0)),
    "weak Gaussian": (gaussian(0.25), _normal(0.25)),
    "Laplace": (LAPLACE, _laplace),
    "answers": (ta.guarantee(epsilon=1, delta=0.01), _answers),
    "all or nothing": (ta.guarantee(epsilon=0, delta=0.01), _all_or_nothing),
}


@pytest.mark.parametrize("audits", [150, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("null", "design"),
    [(null, design) for null in NULLS for design in ("by claim", "by count")],
)
def test_true_claims_at_their_boundary(null, design, audits):
    claim, draw = NULLS[null]
    false = 0
    for scores in independent(claim, 100, audits, draw):
        evidence = audit.one_run(scores, 1 - LEVEL, claim=claim if design == "by claim" else None)
        false += evidence.refutes(claim)
    assert false <= most_false(audits)


# Mechanisms that make canaries independent.
STATED = {
    "Gaussian": (ta.Gaussian(1.0), _normal(1.0)),
    "weak Gaussian": (ta.Gaussian(4.0), _normal(0.25)),
    "Laplace": (ta.Laplace(scale=0.5), _laplace),
    "answers": (ta.RandomizedResponse(1.0), _plain_answers),
}


@pytest.mark.parametrize("audits", [150, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("null", STATED)
def test_mechanisms_whose_canaries_are_independent(null, audits):
    claim, draw = STATED[null]
    method, every = audit.IndependentCanaries(), independent(claim, 100, audits, draw)
    false = sum(audit.one_run(scores, 1 - LEVEL, method).refutes(claim) for scores in every)
    assert false <= most_false(audits)


def _told_alike(rng, inside):
    """Randomised response with ε = 2, whose surest answers are those of a few canaries."""
    truth = rng.random(inside.size) < 1 / (1 + np.exp(-2.0))
    return np.where(inside == truth, 1.0, -1.0) * rng.random(inside.size)


def _told_at_the_ends(rng, inside):
    """As lucky as ε = 2 allows where few are guessed, and nothing is told of the others."""
    truth = rng.random(inside.size) < 1 / (1 + np.exp(-2.0))
    few = rng.permutation(inside.size) < 68
    return np.where(few, np.where(inside == truth, 2.0, -2.0), 0.0) + rng.random(inside.size)


@pytest.mark.parametrize("draw", [_told_alike, _told_at_the_ends])
def test_two_numbers_of_guesses_share_the_level(draw):
    claim, canaries, audits = ta.guarantee(epsilon=2, delta=1e-5), 300, 2_000
    assert len(GuessPlan(claim).numbers(canaries, LEVEL)) == 2
    false = sum(
        audit.one_run(scores, 1 - LEVEL, claim=claim).refutes(claim)
        for scores in independent(claim, canaries, audits, draw)
    )
    assert false <= most_false(audits)
    assert false >= audits * LEVEL / 20  # they lie on the boundary


@pytest.mark.parametrize("audits", [150, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stated", [gaussian(0.3), gaussian(3.0), ta.guarantee(8, delta=1e-5)])
def test_whatever_is_read_off_one_evidence_holds_together(stated, audits):
    """Bound and verdicts, of every true claim at once, though another claim fixed the guesses."""
    true = [gaussian(1.0), gaussian(1.3), ta.guarantee(gaussian(1.0).epsilon(0.01), delta=0.01)]
    false = 0
    for scores in independent(None, 100, audits, _normal(1.0)):
        evidence = audit.one_run(scores, 1 - LEVEL, claim=stated)
        too_much = evidence.epsilon_lower(0.01).value > true[2].claimed_epsilon
        false += too_much or any(evidence.refutes(claim) for claim in true)
    assert false <= most_false(audits)
