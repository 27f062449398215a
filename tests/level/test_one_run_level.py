"""How often an audit of one run claims more than is true: at most its level, at the boundary.

Where the number of right guesses has a law, its chance is summed exactly. Elsewhere 400 audits
are simulated: if the level of 0.1 held with equality, more than 73 false claims would come with
probability 3e-7; a correct method fails a test with less.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm
from steinke import steinke_epsilon_lower

import tellapart as ta
from tellapart import audit
from tellapart.audit import Guessing, Scores, Split, judge, one_run
from tellapart.audit.counts.one_run_guesses import Guesses, epsilon_lower, mu_lower, refutes_curve
from tellapart.audit.evidence.guess import RankedCanaries, read_off

LEVEL = 0.1
AUDITS = 400
MOST_FALSE = 73


def test_the_limit_of_false_claims_has_the_probability_stated():
    assert binom.sf(MOST_FALSE, AUDITS, LEVEL) < 1e-6


@pytest.mark.parametrize("level", [0.2, 0.05, 0.001])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("canaries", [1, 2, 5, 20, 200])
def test_randomised_response_is_overclaimed_at_most_at_the_level(canaries, epsilon, level):
    # All canaries guessed by their answers: right ones are binomial, exactly.
    right = np.arange(canaries + 1)
    chance = binom.pmf(right, canaries, 1 / (1 + np.exp(-epsilon)))
    most = 0.0
    for bound in (epsilon_lower, steinke_epsilon_lower):
        claims = np.array([bound(Guesses(canaries, canaries, v), 0.0, level) for v in right])
        false = chance[claims > epsilon].sum()
        assert false <= level
        most = max(most, false)
    # Not by claiming nothing: as many false claims as whole numbers of right guesses allow.
    tails = binom.sf(right - 1, canaries, 1 / (1 + np.exp(-epsilon)))
    assert most == pytest.approx(max(tails[tails < level], default=0.0), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 0.05])
@pytest.mark.parametrize("canaries", [5, 20, 200])
def test_a_chance_of_revealing_a_canary_is_within_delta(canaries, delta):
    # Each canary is revealed with chance δ, else answered at random: right by δ + (1 − δ)·q.
    q = delta + (1 - delta) / (1 + np.exp(-1.0))
    right = np.arange(canaries + 1)
    claims = [epsilon_lower(Guesses(canaries, canaries, v), delta, 0.05) for v in right]
    assert binom.pmf(right, canaries, q)[np.array(claims) > 1].sum() <= 0.05


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("canaries", [1, 5, 20, 200])
def test_gaussian_dp_is_refuted_at_most_at_the_level(canaries, mu):
    # All canaries guessed by the sign of a score N(±μ/2, 1): right ones are binomial.
    right = np.arange(canaries + 1)
    chance = binom.pmf(right, canaries, norm.cdf(mu / 2))
    claims = np.array([mu_lower(Guesses(canaries, canaries, v), 0.05) for v in right])
    assert chance[claims > mu].sum() <= 0.05
    claim = ta.guarantee(mu=mu)
    refuted = [refutes_curve(Guesses(canaries, canaries, v), claim, 0.05) for v in right]
    assert chance[refuted].sum() <= 0.05


def responses(rng, inside, noise):
    """Randomised response with ε = 1: an answer, told apart by noise or left tied."""
    answers = inside ^ (rng.random(inside.size) > 1 / (1 + np.exp(-1.0)))
    return answers + noise * rng.random(inside.size)


def nothing(rng, inside):
    return rng.random(inside.size)


def nothing_but_ties(rng, inside):
    return rng.integers(0, 3, inside.size).astype(float)


def answers(rng, inside):
    return responses(rng, inside, 0.5)


def tied_answers(rng, inside):
    return responses(rng, inside, 0.0)


def revealing(rng, inside):
    """Each canary is revealed with chance 0.05, else answered with ε = 1."""
    shown = rng.random(inside.size) < 0.05
    return np.where(shown, np.where(inside, 3.0, -3.0), responses(rng, inside, 0.5))


def all_or_nothing(rng, inside):
    """With chance 0.05 every canary is revealed: δ = 0.05, ε = 0."""
    return inside + rng.random(inside.size) if rng.random() < 0.05 else rng.random(inside.size)


def gaussian(rng, inside):
    return rng.normal(size=inside.size) + inside


def by_grid(canaries, delta, seed):
    return None


def by_part(canaries, delta, seed):
    return audit.Split(share=0.2, delta=delta, seed=seed)


def beforehand(canaries, delta, seed):
    return audit.Guessing(canaries // 4, canaries // 4)


def audits(canaries, scored):
    for seed in range(AUDITS):
        rng = np.random.default_rng([seed, canaries])
        inside = rng.random(canaries) < 0.5
        scores = scored(rng, inside)
        yield seed, audit.Scores(scores[inside], scores[~inside])


@pytest.mark.parametrize("chosen", [by_grid, by_part, beforehand])
@pytest.mark.parametrize("canaries", [20, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("scored", "epsilon", "delta"),
    [
        (nothing, 0.0, 0.0),
        (nothing_but_ties, 0.0, 0.0),
        (answers, 1.0, 0.0),
        (tied_answers, 1.0, 0.0),
        (revealing, 1.0, 0.05),
        (all_or_nothing, 0.0, 0.05),
    ],
)
def test_chosen_guesses_overclaim_at_most_at_the_level(scored, epsilon, delta, canaries, chosen):
    false = sum(
        audit.one_run(scores, 1 - LEVEL, chosen(canaries, delta, seed)).epsilon_lower(delta).value
        > epsilon
        for seed, scores in audits(canaries, scored)
    )
    assert false <= MOST_FALSE


@pytest.mark.parametrize("canaries", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_a_chosen_gaussian_bound_overclaims_at_most_at_the_level(canaries):
    false = sum(
        audit.one_run(scores, 1 - LEVEL).mu_lower().value > 1
        for _, scores in audits(canaries, gaussian)
    )
    assert false <= MOST_FALSE


def test_uncorrected_choice_would_be_caught():
    # The best of many numbers at the full level overclaims: these tests have the power to see it.
    false = 0
    for _, scores in audits(150, nothing):
        ranking = RankedCanaries.of(scores.members.values, scores.non_members.values)
        bounds = [epsilon_lower(ranking.guesses(k, k), 0.0, LEVEL) for k in range(1, 76, 5)]
        false += max(bounds) > 0
    assert false > MOST_FALSE


@pytest.mark.parametrize("seed", range(8))
def test_one_seed_keeps_the_level_where_scores_tie(seed):
    # Half of 20 canaries get each of two scores, none leaks: all divisions of the coins, exactly.
    false = 0.0
    for low in range(11):
        for high in range(11):
            inside = np.repeat([0.0, 1.0], [low, high])
            outside = np.repeat([0.0, 1.0], [10 - low, 10 - high])
            chosen = read_off(RankedCanaries.of(inside, outside), 0.0, 0.05, share=0.3, seed=seed)
            if chosen.epsilon_lower(0.0) > 0:
                false += binom.pmf(low, 10, 0.5) * binom.pmf(high, 10, 0.5)
    assert false <= 0.05


def test_an_output_that_picks_whom_to_reveal_may_pick_where_it_ranks():
    # Eight of 1000 canaries are revealed, which is (0, 0.008)-DP, at places that are guessed. If
    # the level of 0.05 held with equality, more than 18 of 100 audits were false with chance 5e-7.
    m, share, delta = 1000, 0.99, 0.008
    marked = (
        RankedCanaries.of(np.arange(0.0, m, 2), np.arange(1.0, m, 2)).divided(share, 0)[1].scores
    )
    bottom, top = marked[:5], marked[5:]
    places = np.setdiff1d(np.arange(float(m)), marked)
    claim, false = ta.guarantee(epsilon=0.0, delta=delta), 0
    for audit_seed in range(100):
        rng = np.random.default_rng(audit_seed)
        inside = rng.random(m) < 0.5
        shown = rng.permutation(m)[:8]
        to_top, to_bottom = (shown[inside[shown] == told][:5] for told in (True, False))
        scores = np.full(m, np.nan)
        scores[to_top], scores[to_bottom] = top[::-1][: len(to_top)], bottom[: len(to_bottom)]
        rest = np.setdiff1d(np.concatenate([places, marked]), scores)
        scores[np.isnan(scores)] = rng.permutation(rest)
        seen = Scores(scores[inside], scores[~inside])
        evidence = one_run(seen, 0.95, Split(share=share, delta=delta))
        false += evidence.refutes(claim)
    assert false <= 18


@pytest.mark.parametrize("method", [None, Guessing(100, 0), Guessing(300, 300)])
def test_what_is_said_to_be_found_is_found(method):
    # With a power of 0.9, fewer than 328 of 400 audits would find it with probability 4e-7.
    claim = ta.guarantee(epsilon=1.0)
    rng = np.random.default_rng(4)

    def audited(epsilon):
        inside = rng.random(600) < 0.5
        answers = inside ^ (rng.random(600) > 1 / (1 + np.exp(-epsilon)))
        scores = answers + 0.5 * rng.random(600)
        return one_run(Scores(scores[inside], scores[~inside]), 0.95, method)

    strength = judge(claim, audited(1.0)).detectable
    assert strength < 3
    assert sum(audited(strength).refutes(claim) for _ in range(400)) >= 328
