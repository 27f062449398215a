"""The p-value of right guesses against the worst mechanism, found by linear programming."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom
from steinke import steinke_p_value

from tellapart.audit.counts.one_run_guesses import (
    Guesses,
    at_most,
    epsilon_lower,
    exactly,
    p_value,
    p_value_if_chosen,
)
from tellapart.errors import InvalidArgument


def worst_case(canaries, tests, epsilon, delta):
    """The largest chance that any (ε, δ)-DP mechanism is guessed v times of r, for any (r, v).

    A mechanism may be averaged over all renamings of canaries and coins, so only the numbers of
    guesses and of right ones matter. With p their joint law, it is (ε, δ)-DP if and only if both
    Σ (k·p_k − e^ε·(r − k + 1)·p_{k−1})⁺ and the wrong guesses' share sum to at most mδ.
    """
    cells = [(r, v, k) for r, v in tests for k in range(r + 1)]
    at = {(r, v, k): i for i, (r, v, k) in enumerate(cells)}
    n, factor, rows = len(cells), math.exp(epsilon), []
    for r, v, k in cells:
        if k > 0:  # a right guess, seen from the world where it is wrong
            rows.append({at[r, v, k]: k, at[r, v, k - 1]: -factor * (r - k + 1)})
        if k < r:  # a wrong guess, seen from the world where it is right
            rows.append({at[r, v, k]: r - k, at[r, v, k + 1]: -factor * (k + 1)})
    uppers = np.zeros((len(rows) + 1, n + len(rows)))
    for i, row in enumerate(rows):
        for j, value in row.items():
            uppers[i, j] = value / canaries
        uppers[i, n + i] = -1
    uppers[-1, n:] = 1
    limits = np.append(np.zeros(len(rows)), delta)
    total = np.append(np.ones(n), np.zeros(len(rows)))[None]
    wins = -np.append([k >= v for _, v, k in cells], np.zeros(len(rows)))
    found = linprog(wins, A_ub=uppers, b_ub=limits, A_eq=total, b_eq=[1], bounds=(0, None))
    return -found.fun


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-3, 0.01, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("canaries", "made"), [(1, 1), (7, 7), (40, 40), (60, 20), (30, 3)])
def test_it_is_the_chance_under_the_worst_mechanism(canaries, made, epsilon, delta):
    for right in {1, (made + 1) // 2, math.ceil(0.8 * made), made}:
        found = p_value(Guesses(canaries, made, right), epsilon, delta)
        worst = worst_case(canaries, [(made, right)], epsilon, delta)
        assert found >= worst - 1e-7  # the solver's tolerance
        if found < 0.9:  # near 1 the bound need not be attained
            assert found == pytest.approx(worst, abs=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.01), (1.0, 1e-3), (1.0, 0.02), (2.0, 1e-4)])
def test_numbers_of_guesses_read_off_the_output_stay_within_the_level(epsilon, delta):
    # The mechanism may choose which of three numbers of guesses its output suggests.
    level, canaries = 0.05, 60
    tests = []
    for made in (10, 25, 60):
        refuting = [
            right
            for right in range(made + 1)
            if p_value_if_chosen(Guesses(canaries, made, right), epsilon, delta, level) < level
        ]
        tests += [(made, min(refuting))] if refuting else []
    assert tests
    assert worst_case(canaries, tests, epsilon, delta) <= level + 1e-7


counts = st.integers(1, 3000).flatmap(
    lambda m: st.integers(1, m).flatmap(
        lambda r: st.tuples(st.just(m), st.just(r), st.integers(0, r))
    )
)


@given(counts, st.floats(0, 8), st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.05]))
def test_sharper_than_the_published_bound_where_a_test_looks(count, epsilon, delta):
    guesses = Guesses(*count)
    sharp, published = (f(guesses, epsilon, delta) for f in (p_value, steinke_p_value))
    assert sharp <= published * (1 + 1e-7) or published > 0.5


@given(counts, st.floats(0, 8), st.floats(0, 2), st.sampled_from([0.0, 1e-5, 1e-3, 0.05]))
def test_a_weaker_promise_is_no_less_likely(count, epsilon, more, delta):
    guesses = Guesses(*count)
    weaker = p_value(guesses, epsilon + more, delta)
    assert p_value(guesses, epsilon, delta) <= weaker * (1 + 1e-8)
    assert p_value(guesses, epsilon, delta) <= p_value(guesses, epsilon, 2 * delta)


@given(counts, st.sampled_from([0.0, 1e-5, 1e-3]), st.sampled_from([0.05, 0.001, 0.3]))
def test_the_bound_is_refuted_and_a_little_more_is_not(count, delta, level):
    guesses = Guesses(*count)
    for chosen in (False, True):
        found = epsilon_lower(guesses, delta, level, chosen=chosen)

        def p(epsilon, chosen=chosen):
            if chosen:
                return p_value_if_chosen(guesses, epsilon, delta, level)
            return p_value(guesses, epsilon, delta)

        assert found == 0 or p(found) < level
        assert p(found + 1e-6 * max(found, 1)) >= level


@given(counts, st.sampled_from([0.0, 1e-5]))
def test_above_skips_what_would_not_be_used(count, delta):
    guesses = Guesses(*count)
    plain = epsilon_lower(guesses, delta, 0.05)
    assert epsilon_lower(guesses, delta, 0.05, above=plain + 0.01) == 0
    if plain > 0.02:
        again = epsilon_lower(guesses, delta, 0.05, above=plain - 0.01)
        assert again == pytest.approx(plain, rel=1e-8)


@pytest.mark.parametrize("right", [0, 500, 700, 990, 1000])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 30.0, 700.0])
def test_pure_privacy_is_the_binomial_tail(right, epsilon):
    made = 1000
    expected = binom.cdf(made - right, made, 1 / (1 + math.exp(epsilon)))
    assert p_value(Guesses(made, made, right), epsilon, 0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("made", [1, 2, 10, 1000, 10**6])
def test_all_right_meets_the_ceiling(made):
    # q^r < level: the most that r guesses can show.
    root = 0.05 ** (1 / made)
    ceiling = max(0.0, math.log(root / (1 - root)))
    assert epsilon_lower(Guesses(made, made, made), 0, 0.05) == pytest.approx(ceiling, rel=1e-7)


def test_no_guess_or_no_right_one_shows_nothing():
    for guesses in (Guesses(10, 0, 0), Guesses(10, 10, 0), Guesses(10, 10, 5)):
        assert epsilon_lower(guesses, 0, 0.05) == 0
        assert epsilon_lower(guesses, 1e-5, 0.05, chosen=True) == 0
    assert p_value(Guesses(10, 0, 0), 1, 0.1) == 1
    assert p_value(Guesses(10, 10, 10), 1, 1) == 1
    assert epsilon_lower(Guesses(10, 10, 10), 1, 0.05) == 0


def test_far_tails_are_finite_and_small():
    # The chance itself underflows; what δ adds does not.
    assert p_value(Guesses(10**4, 10**4, 10**4), 0, 1e-6) == pytest.approx(1e-6, rel=1e-6)
    assert p_value(Guesses(10**9, 10**9, 10**9), 0, 1e-6) == pytest.approx(1e-6, rel=1e-6)
    assert p_value(Guesses(10**4, 10**4, 9990), 0, 1e-6) == pytest.approx(1e-6, rel=1e-2)


@pytest.mark.parametrize(("wrong", "made"), [(0, 5), (5, 5), (30, 100), (26000, 10**5)])
def test_terms_err_downward_and_tails_hold_their_digits(wrong, made):
    for miss in (0.5, 0.26894142136999512, 1e-9):
        exact = binom.pmf(wrong, made, miss)
        assert exactly(wrong, made, miss) == pytest.approx(exact, rel=1e-8)
        assert at_most(wrong, made, miss) == pytest.approx(binom.cdf(wrong, made, miss), rel=1e-11)
    assert exactly(0, made, 0.0) == 1
    assert exactly(1, made, 0.0) == 0


def test_a_billion_canaries():
    half = Guesses(10**9, 10**9, 500_100_000)
    assert epsilon_lower(half, 0, 0.05) == pytest.approx(
        4 * (1e-4 - 1.645 * 0.5 / 10**4.5), rel=1e-3
    )


@pytest.mark.parametrize(
    ("count", "named"),
    [((0, 0, 0), "canaries"), ((5, 6, 0), "made"), ((5, 4, 5), "right"), ((5, 2.5, 1), "made")],
)
def test_counts_that_cannot_be_are_refused(count, named):
    with pytest.raises(InvalidArgument, match=f"^{named} must"):
        Guesses(*count)
