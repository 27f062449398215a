"""Laws of the worst case of a one-run audit: what a certificate must and need not say."""

from __future__ import annotations

import numpy as np
import pytest
from least_favourable import least_favourable

import tellapart as ta
from tellapart.audit.counts import one_run_guesses, one_run_worst_case
from tellapart.audit.counts.one_run_guesses import Guesses
from tellapart.audit.counts.one_run_worst_case import CurveTest, curve_test, mu_lower
from tellapart.curve.guarantees import gaussian

CLAIMS = [gaussian(0.6), ta.Laplace(scale=1.0).curve(), ta.guarantee(epsilon=1, delta=1e-3)]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
@pytest.mark.parametrize(("canaries", "made", "right"), [(50, 20, 17), (30, 30, 21), (200, 12, 12)])
def test_a_certificate_is_what_another_programme_finds(claim, canaries, made, right):
    grid = np.linspace(0, 2.0, 6)
    found = one_run_worst_case._solved(Guesses(canaries, made, right), grid, claim.delta)
    _, most = least_favourable(canaries, made, right, claim.delta, grid)
    # The other one is solved to the solver's tolerance of 1e-7, on either side.
    assert found.p_value(claim.delta) == pytest.approx(most, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("other", CLAIMS, ids=str)
def test_the_certificate_of_one_curve_bounds_the_chance_of_every_other(other):
    grid = np.linspace(0, 2.0, 6)
    guesses = Guesses(50, 20, 17)
    found = one_run_worst_case._solved(guesses, grid, gaussian(0.6).delta)
    _, most = least_favourable(50, 20, 17, other.delta, grid)
    assert found.p_value(other.delta) >= most - 1e-7


def test_a_finer_list_only_lowers_the_chance():
    claim, guesses = gaussian(0.6), Guesses(100, 40, 33)
    coarse, fine = (
        one_run_worst_case._solved(guesses, np.linspace(0, 2.4, count), claim.delta)
        for count in (5, 9)
    )
    assert fine.p_value(claim.delta) <= coarse.p_value(claim.delta)


@pytest.mark.parametrize("claim", [*CLAIMS, ta.dp_sgd(1.1, 0.05, 50).curve()], ids=str)
def test_no_fewer_right_guesses_are_needed_than_by_the_programme_no_more_than_by_recursion(claim):
    test = CurveTest(claim, 200, 60, 0.05)
    least = test.least_refuting
    assert not test.refutes(least - 1)
    assert all(test.refutes(right) for right in range(least, 61))
    by_recursion = next(right for right in range(61) if test.by_recursion(right))
    assert by_recursion - 3 <= least <= by_recursion


@pytest.mark.parametrize("right", [30, 40, 50, 60])
def test_the_bound_on_mu_is_never_below_the_recursion_and_falls_with_the_level(right):
    guesses = Guesses(300, 60, right)
    for level in (0.2, 0.05, 0.001):
        assert mu_lower(guesses, level) >= one_run_guesses.mu_lower(guesses, level)
    assert mu_lower(guesses, 0.2) >= mu_lower(guesses, 0.05) >= mu_lower(guesses, 0.001)


def test_without_a_solution_the_recursion_decides(monkeypatch):
    claim = gaussian(0.61)
    assert CurveTest(claim, 1000, 120, 0.05).refutes(107)
    monkeypatch.setattr(one_run_worst_case, "_solved", lambda *_: None)
    mu_lower.cache_clear()
    test = CurveTest(claim, 1000, 120, 0.05)
    assert not test.refutes(107)
    assert test.refutes(109)
    assert test.p_value(109) == 1.0
    mu_lower.cache_clear()
    curve_test.cache_clear()
