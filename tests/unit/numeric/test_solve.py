"""Roots are bracketed to the last digits, from the side that was asked for."""

import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart._numeric import solve


def neighbours(low, high):
    return np.abs(high - low) <= 8 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))


def test_the_bracket_closes_on_the_root_and_keeps_its_sides():
    target = np.array([0.1, 0.5, 2.0, 7.0])

    def f(x):
        return target - x**3

    low, high = solve.falling_root(f, np.zeros(4), np.full(4, 10.0))
    assert np.all(f(low) > 0)
    assert np.all(f(high) <= 0)
    assert np.all(neighbours(low, high))
    assert high == pytest.approx(np.cbrt(target), rel=1e-14)


def test_a_root_is_the_same_alone_and_in_company():
    """Searches that rest on one another compare such roots bit by bit."""
    target = np.array([1e-9, 0.1, 0.5, 2.0, 7.0, 900.0])
    ends = np.zeros(6), np.full(6, 10.0)
    together = solve.falling_root(lambda x: target - x**3, *ends)
    for i, wanted in enumerate(target):
        alone = solve.falling_root(lambda x, y=wanted: y - x**3, ends[0][:1], ends[1][:1])
        assert [side[0] for side in alone] == [side[i] for side in together]


def test_roots_found_by_leaving_out_those_that_are_done_are_the_same():
    """And so few are asked towards the end that this pays."""
    target = np.geomspace(1e-12, 900, 5_000)
    ends = np.zeros(5_000), np.full(5_000, 10.0)
    asked = []

    def f(x, at):
        asked.append(x.size)
        return target[at] - x**3

    apart = solve.falling_roots(f, *ends)
    for side, other in zip(apart, solve.falling_root(lambda x: f(x, ...), *ends), strict=True):
        assert np.array_equal(side, other)
    assert min(asked) < solve._FEW


def test_many_roots_are_searched_only_where_there_are_some():
    with pytest.raises(ta.NotCertified, match="does not hold one"):
        solve.falling_roots(lambda x, _: x, np.zeros(500), np.ones(500))


def test_a_jump_is_bracketed_from_both_sides():
    def f(x):
        return np.where(x < math.pi, 1.0, -1.0)

    low, high = solve.falling_root(f, np.zeros(1), np.full(1, 100.0))
    assert low[0] < math.pi <= high[0]
    assert np.all(neighbours(low, high))


@pytest.mark.parametrize("begin", [1.0, 2.5, 7 / 3])
def test_where_a_function_stays_zero_the_bracket_ends_where_that_begins(begin):
    def f(x):
        return np.where(x < begin, 1.0, np.where(x < 9, 0.0, -1.0))

    low, high = solve.falling_root(f, np.zeros(1), np.full(1, 10.0))
    assert low[0] < begin <= high[0]
    assert np.all(neighbours(low, high))


def test_infinite_values_are_no_obstacle():
    def f(x):
        return np.where(x < 2, np.inf, np.where(x < 3, 1.0, -np.inf))

    low, high = solve.falling_root(f, np.zeros(1), np.full(1, 10.0))
    assert low[0] < 3 <= high[0]
    assert np.all(neighbours(low, high))


@pytest.mark.parametrize("root", [-1e80, -3.0, 0.3, 2e9, 1e200])
def test_ends_far_beyond_the_root_are_no_obstacle(root):
    def f(x):
        return np.where(x < root, 1.0, -1.0)

    for ends in ((-1e299, 1e299), (-1e299, 2 * abs(root) + 1), (-2 * abs(root) - 1, 1e299)):
        low, high = solve.falling_root(f, *(np.full(1, end) for end in ends))
        assert low[0] < root <= high[0]
        assert np.all(neighbours(low, high))


def test_a_bracket_that_stays_wide_is_no_answer(monkeypatch):
    monkeypatch.setattr(solve, "_ROUNDS", 3)
    with pytest.raises(ta.NotCertified, match="did not settle"):
        solve.falling_root(lambda x: np.where(x < 0.3, 1.0, -1.0), np.zeros(1), np.ones(1))


def test_a_root_at_the_upper_end_is_kept():
    low, high = solve.falling_root(lambda x: 1 - x, np.zeros(1), np.ones(1))
    assert high[0] == 1
    assert low[0] < 1


def test_its_input_is_left_alone():
    low, high = np.zeros(2), np.full(2, 5.0)
    solve.falling_root(lambda x: 1 - x, low, high)
    assert low.tolist() == [0.0, 0.0]
    assert high.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(("low", "high"), [(2.0, 3.0), (-3.0, 0.5), (math.nan, 3.0)])
def test_an_interval_without_a_root_is_not_searched(low, high):
    message = "a root was searched in an interval that does not hold one"
    with pytest.raises(ta.NotCertified, match=f"^{re.escape(message)}\\Z"):
        solve.falling_root(lambda x: 1 - x, np.array([low]), np.array([high]))


def test_climb_stops_beyond_the_root_on_the_asked_side():
    root = np.array([0.5, 30.0, 1e6])

    def f(x):
        return root - x

    assert np.all(f(solve.climb(f, np.zeros(3), 1.0)) <= 0)
    assert np.all(f(solve.climb(f, np.full(3, 2e6), -1.0)) > 0)


def test_climb_stays_where_it_need_not_move():
    assert solve.climb(lambda x: -np.ones_like(x), np.zeros(2), 1.0).tolist() == [0.0, 0.0]


def test_climb_gives_up_with_a_reason():
    message = "no threshold separates the asked rate"
    with (
        np.errstate(all="ignore"),
        pytest.raises(ta.NotCertified, match=f"^{re.escape(message)}\\Z"),
    ):
        solve.climb(lambda x: np.ones_like(x), np.zeros(1), 1.0)


def test_whole_numbers_are_neighbours_on_both_sides_of_the_root():
    root = np.array([0.0, 0.5, 1.0, 17.0, 1e6 + 0.25])

    def f(x):
        return root - x

    low, high = solve.falling_whole(f, np.full(5, -1.0), np.full(5, 2e6))
    assert high.tolist() == [0.0, 1.0, 1.0, 17.0, 1e6 + 1]
    assert (high - low).tolist() == [1.0] * 5


def test_whole_numbers_are_asked_for_strictly_between_the_ends():
    asked = []

    def f(x):
        asked.extend(x.tolist())
        return 3 - x

    assert solve.falling_whole(f, np.array([-1.0]), np.array([9.0]))[1].tolist() == [3.0]
    assert -1 < min(asked) <= max(asked) < 9


def test_whole_numbers_beyond_all_doubles_end_the_search():
    low, high = solve.falling_whole(lambda x: 2.0**70 - x, np.array([0.0]), np.array([2.0**80]))
    assert low[0] < 2.0**70 == high[0]
    assert np.all(neighbours(low, high))


def cube_less(target):
    return lambda x, part: (target[part] - x**3, -3 * x**2)


def test_newton_reaches_roots_from_anywhere_in_the_bracket():
    target = np.array([1e-12, 0.1, 2.0, 7.0, 999.0])
    for start in (1e-9, 0.5, 9.9):
        root, hit = solve.newton_root(cube_less(target), np.full(5, start), (0.0, 10.0))
        assert root == pytest.approx(np.cbrt(target), rel=1e-14)
        assert hit.all()


def test_newton_needs_no_finite_ends():
    root, _ = solve.newton_root(
        lambda x, part: (5 - x, -np.ones_like(x)), np.zeros(1), (-np.inf, np.inf)
    )
    assert root.tolist() == [5.0]


def test_newton_says_where_a_function_jumps_over_its_root():
    def f(x, part):
        return np.where(x < math.pi, 1.0, -1.0), np.zeros_like(x)

    root, hit = solve.newton_root(f, np.array([0.5]), (0.0, 100.0), stride=1.0)
    assert root[0] == pytest.approx(math.pi, rel=1e-14)
    assert not hit.any()


def test_newton_gives_up_with_a_reason():
    with pytest.raises(ta.NotCertified, match="did not settle"):
        solve.newton_root(
            lambda x, part: (np.ones_like(x), np.full(x.shape, -1.0)),
            np.zeros(1),
            (-np.inf, np.inf),
            stride=1.0,
        )
