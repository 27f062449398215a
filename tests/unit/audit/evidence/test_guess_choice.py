"""How many guesses to make, and what the choice costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tellapart as ta
from tellapart.audit.counts.one_run_guesses import epsilon_lower
from tellapart.audit.counts.one_run_worst_case import mu_lower
from tellapart.audit.evidence.guess import RankedCanaries, fixed, read_off
from tellapart.audit.evidence.guess_numbers import GuessPlan
from tellapart.curve.guarantees import gaussian
from tellapart.errors import InvalidArgument, Unsupported


def gaussian_scores(canaries, mu, seed=0):
    rng = np.random.default_rng(seed)
    inside = rng.random(canaries) < 0.5
    scores = rng.normal(size=canaries) + mu * inside
    return RankedCanaries.of(scores[inside], scores[~inside])


CLAIMS = [None, gaussian(1.0), gaussian(0.0), ta.guarantee(0.0), ta.guarantee(2, delta=1e-5)]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("canaries", [1, 2, 5, 16, 17, 100, 10**6])
def test_planned_guesses_fit_their_canaries_and_divide_the_level(canaries, claim):
    planned = GuessPlan(claim).numbers(canaries, 0.05)
    assert 1 <= len(planned) <= 2
    assert sum(each.level for each in planned) == pytest.approx(0.05)
    for k_in, k_out, _ in planned:
        assert k_in == k_out >= 1 or canaries == 1
        assert k_in + k_out <= canaries


def test_a_claim_by_its_curve_has_one_number_and_all_of_the_level():
    for claim in (gaussian(0.5), ta.Laplace(1.0).curve(), ta.dp_sgd(1.1, 0.01, 100).curve()):
        ((_, _, level),) = GuessPlan(claim).numbers(1000, 0.05)
        assert level == 0.05


HARD = [
    ta.guarantee(pairs=[(1, 0.01), (3, 1e-4)]),
    ta.guarantee(zcdp=0.5),
    ta.guarantee(rdp=[(2, 0.5), (10, 2)]),
    ta.guarantee(4, 1e-5),
    ta.Laplace(0.5).curve(),
    gaussian(2.5),
    ta.dp_sgd(0.5, 0.01, 100).curve(),
]


@pytest.mark.parametrize("claim", HARD, ids=str)
@pytest.mark.parametrize("canaries", [20, 50, 300, 5_000])
def test_where_any_number_of_guesses_could_refute_the_planned_one_could(canaries, claim):
    planned = GuessPlan(claim).numbers(canaries, 0.05)
    outcomes = [perfect(canaries, k_in, level) for k_in, _, level in planned]
    if not any(found.refutes(claim) for found in outcomes):
        others = {max(int(k), 1) for k in np.geomspace(3, canaries // 2, 6)}
        assert not any(perfect(canaries, k, 0.05).refutes(claim) for k in others)


def perfect(canaries, count, level):
    """All of so many guesses a side are right."""
    apart = np.arange(float(canaries))
    return fixed(RankedCanaries.of(*np.split(apart, 2)[::-1]), count, count, level)


def test_a_chosen_attack_speaks_at_its_own_level():
    found = fixed(gaussian_scores(1000, 1.0), 20, 20, 0.05)
    assert found.epsilon_lower(1e-5) == epsilon_lower(found.guesses, 1e-5, 0.05)
    assert found.mu_lower() == mu_lower(found.guesses, 0.05) > 0
    assert found.refutes(ta.guarantee(mu=0.999 * found.mu_lower()))
    assert not found.refutes(ta.guarantee(mu=1.001 * found.mu_lower()))


def test_numbers_fixed_beforehand_get_all_of_the_level():
    found = fixed(gaussian_scores(100, 1.0), 10, 20, 0.05)
    assert (found.guesses.made, found.level, found.read_off) == (30, 0.05, False)


def test_reading_off_makes_its_guesses_on_the_rest():
    ranking = gaussian_scores(1000, 2.0)
    found = read_off(ranking, 1e-5, 0.05, share=0.25, seed=3)
    rest = ranking.divided(0.25, seed=3)[1]
    assert rest.canaries == 750
    # δ is paid for all canaries: which of them are guessed, the output decides.
    assert (found.guesses.canaries, found.aside) == (1000, 250)
    assert replace(found.guesses, canaries=750) == rest.guesses(found.guesses_in, found.guesses_out)
    assert found.guesses_in == found.guesses_out
    bound = found.epsilon_lower(1e-5)
    assert bound == epsilon_lower(found.guesses, 1e-5, 0.05, chosen=True) > 1
    assert bound < epsilon_lower(found.guesses, 1e-5, 0.05)


def test_curves_need_numbers_fixed_beforehand():
    found = read_off(gaussian_scores(1000, 2.0), 1e-5, 0.05)
    for ask in (
        found.mu_lower,
        lambda: found.refutes(ta.guarantee(1)),
    ):
        with pytest.raises(Unsupported, match="fixed beforehand"):
            ask()


def test_four_canaries_are_the_fewest_to_choose_on():
    with pytest.raises(InvalidArgument, match=r"^canaries must be at least 4"):
        read_off(RankedCanaries.of(np.ones(1), np.zeros(1)), 0, 0.05)


@pytest.mark.parametrize("seed", range(5))
def test_one_score_for_all_leaves_nothing_to_choose_by(seed):
    found = read_off(RankedCanaries.of(np.ones(50), np.ones(50)), 0.0, 0.05, seed=seed)
    assert (found.guesses.made, found.aside, found.epsilon_lower(0.0)) == (100, 0, 0.0)
