"""The recursion for claimed curves against its plain form and against linear programming."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

import tellapart as ta
from tellapart.audit.counts import one_run_guesses
from tellapart.audit.counts.one_run_guesses import Guesses, mu_lower, refutes_curve
from tellapart.audit.counts.one_run_worst_case import Certificate, CurveTest

counts = st.integers(1, 300).flatmap(
    lambda m: st.integers(1, m).flatmap(
        lambda r: st.tuples(st.just(m), st.just(r), st.integers(0, r))
    )
)


def plain(guesses, fpr_at, level):
    """The recursion as published, all steps of it: the implied mass over what there is."""
    m, made, right = guesses.canaries, guesses.made, guesses.right
    r, h = level * right / m, level * (made - right) / m
    for i in range(right - 1, -1, -1):
        above = max(h, fpr_at(min(r, 1.0)))
        r, h = r + i / (made - i) * (above - h), above
        if r > 1:
            return math.inf
    return (r + h) / (made / m)


@given(counts, st.floats(0.01, 4), st.sampled_from([0.05, 0.001, 0.4]))
def test_a_gaussian_claim_is_judged_as_by_the_plain_recursion(count, mu, level):
    guesses = Guesses(*count)
    mass = plain(guesses, lambda tpr: norm.cdf(norm.ppf(tpr) - mu), level)
    found = mu_lower(guesses, level)
    if abs(mass - 1) > 1e-5:
        assert refutes_curve(guesses, ta.guarantee(mu=mu), level) == (mass > 1)
        assert (found >= mu) == (mass > 1)


@given(counts, st.sampled_from([0.05, 0.001]))
def test_mu_is_refuted_and_a_little_more_is_not(count, level):
    guesses = Guesses(*count)
    found = mu_lower(guesses, level)

    def mass(mu):
        return plain(guesses, lambda tpr: norm.cdf(norm.ppf(tpr) - mu), level)

    assert found == 0 or mass(found) > 1
    assert mass(found + 1e-6 * max(found, 1)) <= 1 + 1e-9


CLAIMS = {
    "laplace": lambda: ta.Laplace.with_epsilon(1).curve(),
    "promise": lambda: ta.guarantee(1, 1e-3),
    "pairs": lambda: ta.guarantee(pairs=[(0.5, 0.1), (1, 0.01), (3, 1e-6)]),
    "one_order": lambda: ta.from_pmfs([0.5, 0.3, 0.2], [0.3, 0.2, 0.5]),
    "nothing": lambda: ta.guarantee(mu=0),
}


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("canaries", [20, 200])
def test_any_claim_is_judged_as_by_the_plain_recursion(name, canaries):
    claim = CLAIMS[name]()
    both = claim.symmetrised()
    judged = []
    for made in {5, canaries // 3, canaries}:
        for right in range(made // 2, made + 1, max(1, made // 12)):
            guesses = Guesses(canaries, made, right)
            mass = plain(guesses, both.fpr, 0.05)
            if abs(mass - 1) > 1e-4:
                assert refutes_curve(guesses, claim, 0.05) == (mass > 1)
                judged.append(mass > 1)
    assert len(judged) > 10
    assert any(judged)
    assert not all(judged)


def test_a_claim_is_held_only_to_the_weaker_of_its_two_orders():
    claim = ta.from_pmfs([0.3, 0.5, 0.2], [0.02, 0.58, 0.4])
    every = [Guesses(200, 100, right) for right in range(50, 101)]
    alone = [plain(one, claim.fpr, 0.05) > 1 for one in every]
    both = [plain(one, claim.symmetrised().fpr, 0.05) > 1 for one in every]
    assert sum(alone) > sum(both) > 0  # the order that is claimed is the stronger one
    assert [refutes_curve(one, claim, 0.05) for one in every] == both
    assert [refutes_curve(one, claim.mirrored(), 0.05) for one in every] == both


def most_likely(guesses, epsilon, delta):
    """The largest chance of so many right guesses under what the recursion uses of a promise."""
    m, made = guesses.canaries, guesses.made
    k = np.arange(made + 1)
    rows, limits = [], []
    for j in range(1, made + 1):
        r, h = np.where(k >= j, k, 0) / m, np.where(k >= j - 1, made - k, 0) / m
        rows += [r - math.exp(epsilon) * h, r - math.exp(-epsilon) * h]
        limits += [delta, 1 - math.exp(-epsilon) * (1 - delta)]
    wins = -(k >= guesses.right).astype(float)
    total = np.ones((1, made + 1))
    found = linprog(wins, A_ub=np.array(rows), b_ub=limits, A_eq=total, b_eq=[1], bounds=(0, None))
    return -found.fun


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (0, 0.1), (0.3, 1e-3), (1, 0.01), (2, 0)])
@pytest.mark.parametrize(
    ("m", "made", "right"), [(4, 1, 1), (30, 30, 25), (50, 20, 17), (40, 9, 9)]
)
def test_it_rejects_exactly_below_the_most_likely_chance(m, made, right, epsilon, delta):
    guesses, claim = Guesses(m, made, right), ta.guarantee(epsilon, delta)
    chance = most_likely(guesses, epsilon, delta)
    assert not refutes_curve(guesses, claim, max(chance - 1e-5, 1e-12))
    if chance < 0.999:
        assert refutes_curve(guesses, claim, chance + 1e-5)


def test_a_lower_table_never_overstates_a_curve():
    steps = ta.Gaussian(1).sampled(0.1).repeated(20).curve()
    for claim in [build().symmetrised() for build in CLAIMS.values()] + [steps.symmetrised()]:
        table = one_run_guesses.tabulated(claim, 0.003, 0.9)
        asked = np.geomspace(0.003, 0.9, 997)
        exact = np.asarray(claim.fpr(asked))
        found = np.array([table(tpr) for tpr in asked])
        assert np.all(found <= exact * (1 + 1e-12))
        np.testing.assert_allclose(found, exact, rtol=2e-3, atol=1e-6)


def test_no_right_guess_and_claims_of_everything_are_never_refuted():
    assert mu_lower(Guesses(10, 10, 0), 0.05) == 0
    assert mu_lower(Guesses(10, 0, 0), 0.05) == 0
    assert not refutes_curve(Guesses(10, 10, 0), ta.guarantee(0), 0.05)
    assert not refutes_curve(Guesses(100, 100, 100), ta.guarantee(mu=math.inf), 0.05)
    assert not refutes_curve(Guesses(100, 100, 100), ta.guarantee(0, 1), 0.05)


@pytest.mark.parametrize("level", [1e-300, 0.999999999999])
def test_levels_at_the_ends(level):
    guesses = Guesses(50, 50, 50)
    assert refutes_curve(guesses, ta.guarantee(0.1), level) == (level > 0.5)


def test_above_skips_what_would_not_be_used():
    guesses = Guesses(1000, 100, 95)
    plain_answer = mu_lower(guesses, 0.05)
    assert mu_lower(guesses, 0.05, above=plain_answer + 0.01) == 0
    assert mu_lower(guesses, 0.05, above=0.5) == pytest.approx(plain_answer, rel=1e-8)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_tabulated_claim_is_never_above_the_claim(epsilon, delta):
    claim = ta.guarantee(epsilon=epsilon, delta=delta)
    least, most = 1e-5, 0.1
    fpr_at = one_run_guesses.tabulated(claim, least, most)
    last = np.geomspace(least, most, one_run_guesses._KNOTS)[-3:]
    # In the last intervals, where no chord lies ahead, as well as everywhere.
    for tpr in [*np.geomspace(least, most, 997), *np.linspace(*last[[0, 2]], 50)]:
        assert fpr_at(float(tpr)) <= claim.fpr(float(tpr))


def test_a_weaker_claim_is_never_refuted_earlier_however_far_its_leaks_go():
    # One record in a hundred is told outright, or nearly so: ln b of 8, 68, 240 and 627 matter.
    before = [0.0] * 6
    for noise in (0.3, 0.1, 0.05, 0.03):
        test = CurveTest(ta.Gaussian(noise).sampled(0.01).curve(), 100, 40, 0.05)
        chances = [test.p_value(right) for right in range(26, 32)]
        assert all(now >= then - 1e-6 for now, then in zip(chances, before, strict=True))
        before = chances


@pytest.mark.parametrize(
    "claim",
    [
        ta.guarantee(mu=40),  # b would not fit into a number
        ta.guarantee(mu=math.inf),
        ta.guarantee(0, 1),
        ta.Gaussian(0.3).sampled(0.5).repeated(200).curve(),
        ta.Laplace.with_epsilon(800).curve(),
    ],
)
def test_claims_of_almost_nothing_are_not_refuted_by_any_guesses(claim):
    test = CurveTest(claim, 100, 40, 0.05)
    assert test.p_value(40) > 0.99
    assert test.least_refuting == 41


def test_a_chance_that_is_no_number_is_one():
    nothing = Certificate(np.array([0.0, 1.0]), np.array([0.1, 0.1]), 0.01)
    assert nothing.p_value(lambda ratios: ratios * math.nan) == 1
    assert nothing.p_value(lambda ratios: ratios * 0) < 0.011
