"""Curves of finitely many outcomes: polygons with the corners that the likelihood ratio gives."""

import math
import re
from itertools import combinations, permutations

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.atomic import AtomicCurve, from_atoms, from_corners, three_ratios

NAN, INF = math.nan, math.inf

P, Q = [0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.25, 0.5]

BAD_PMFS = [
    (([], []), "p must not be empty, got []"),
    ((1, 1), "p must be a list of numbers, got 1"),
    (([[1]], [[1]]), "p must be a list of numbers, got [[1]]"),
    (([0.5, 0.6], [0.5, 0.5]), "p must sum to 1, got 1.1"),
    (([0.5, 0.5], [0.5, 0.25]), "q must sum to 1, got 0.75"),
    (([0.5, 0.5], [0.0, 0.0]), "q must sum to 1, got 0.0"),
    (([1.5, -0.5], [0.5, 0.5]), "p must be at least 0 everywhere, got -0.5"),
    (([0.5, 0.5], [2, -1]), "q must be at least 0 everywhere, got -1.0"),
    (([0.5, 0.5], [0.5, 0.3, 0.2]), "q must have as many outcomes as p (2), got 3"),
    (([0.5, NAN], [0.5, 0.5]), "p must not contain NaN, got [0.5, nan]"),
    (([0.5, 0.5], [INF, 0.5]), "q must be finite, got [inf, 0.5]"),
    (([0.5, [0.5]], [0.5, 0.5]), "p must be a list of numbers, got [0.5, [0.5]]"),
]

BAD_POINTS = [
    ([], "points must not be empty, got []"),
    ((0.1, 0.6), "points must be a list of (fpr, tpr) pairs, got (0.1, 0.6)"),
    ([(0.1, 0.2, 0.3)], "points must be a list of (fpr, tpr) pairs, got [(0.1, 0.2, 0.3)]"),
    (0.5, "points must be a list of (fpr, tpr) pairs, got 0.5"),
    ([(0.5, 1.2)], "points must lie in [0, 1], got 1.2"),
    ([(-0.5, 0.2)], "points must lie in [0, 1], got -0.5"),
    ([(0.5, INF)], "points must lie in [0, 1], got inf"),
    ([(0.5, NAN)], "points must not contain NaN, got [(0.5, nan)]"),
    (
        [(0.5, 0.6), (0.1, 0.2)],
        "points must be sorted by rising fpr, got [(0.5, 0.6), (0.1, 0.2)]",
    ),
    ([(0.5, 0.6), (0.7,)], "points must be a list of (fpr, tpr) pairs, got [(0.5, 0.6), (0.7,)]"),
]


@pytest.mark.parametrize(("given", "message"), BAD_PMFS)
def test_bad_pmfs_are_refused_word_for_word(given, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.from_pmfs(*given)


@pytest.mark.parametrize(("points", "message"), BAD_POINTS)
def test_bad_points_are_refused_word_for_word(points, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.attack(points=points)


@pytest.mark.parametrize("bad", [None, "ab", ["a", "b"], [True, False], [0.5 + 0j, 0.5], {"a": 1}])
def test_wrong_types_are_refused(bad):
    for call in (
        lambda: ta.from_pmfs(bad, [0.5, 0.5]),
        lambda: ta.from_pmfs([0.5, 0.5], bad),
        lambda: ta.attack(points=bad),
        lambda: ta.attack(points=[bad, bad]),
    ):
        with pytest.raises(ta.InvalidArgument, match=r"^(p|q|points) must be .*, got "):
            call()


# -- from_pmfs ----------------------------------------------------------------------------------


def test_the_corners_are_the_running_sums_by_falling_ratio():
    curve = ta.from_pmfs(P, Q)
    fpr, fnr = curve.vertices()
    assert fpr.tolist() == [0, 0.125, 0.25, 0.5, 1]
    assert fnr.tolist() == [1, 0.5, 0.25, 0.125, 0]
    assert curve.bound is ta.Bound.EXACT
    assert curve.losses == pytest.approx(np.log([4, 2, 0.5, 0.25]))


def test_no_test_beats_the_curve_and_the_corners_are_attained():
    """Exhaustive: all 2^4 rejection regions."""
    curve = ta.from_pmfs(P, Q)
    sizes = range(5)
    regions = [region for size in sizes for region in combinations(range(4), size)]
    points = [(sum(P[i] for i in r), 1 - sum(Q[i] for i in r)) for r in regions]
    assert all(fnr >= curve.beta(fpr) for fpr, fnr in points)
    assert set(zip(*(v.tolist() for v in curve.vertices()), strict=True)) <= set(points)


def test_the_order_of_outcomes_does_not_matter():
    curves = [
        ta.from_pmfs([P[i] for i in order], [Q[i] for i in order])
        for order in permutations(range(4))
    ]
    assert len({tuple(curve.losses) for curve in curves}) == 1
    assert {curve.beta(0.3) for curve in curves} == {curves[0].beta(0.3)}


def test_outcomes_of_equal_ratio_are_one_atom_and_impossible_ones_none():
    curve = ta.from_pmfs([0.25, 0.25, 0.5, 0], [0.125, 0.125, 0.75, 0])
    assert curve.absent.tolist() == [0.5, 0.5]
    assert curve.present.tolist() == [0.75, 0.25]


def test_outcomes_of_one_world_only_stand_at_both_ends():
    curve = ta.from_pmfs([0.75, 0.25, 0.0], [0.0, 0.5, 0.5])
    assert curve.losses.tolist() == [INF, math.log(2), -INF]
    assert curve.tpr(0) == 0.5
    assert curve.beta(0) == 0.5
    assert curve.beta(0.25) == 0
    assert curve.tpr([0.25, 0.6, 1]).tolist() == [1, 1, 1]
    assert curve.epsilon([0.4, 0.5, 0.75]).tolist() == [INF, math.log(2), 0.0]
    assert curve.delta([0, 0.3, 5]).tolist() == pytest.approx(
        [0.75, 1 - math.exp(0.3) / 4, 0.5], abs=1e-15
    )


def test_one_outcome_tells_nothing():
    curve = ta.from_pmfs([1], [1])
    assert curve.beta([0, 0.3, 1]).tolist() == [1, 0.7, 0]
    assert curve.epsilon(0) == 0


def test_disjoint_worlds_tell_everything():
    curve = ta.from_pmfs([1, 0], [0, 1])
    assert curve.beta([0, 0.3, 1]).tolist() == [0, 0, 0]
    assert curve.tpr(0) == 1
    assert curve.epsilon([0, 0.999, 1]).tolist() == [INF, INF, 0]
    assert curve.area() == 0


def test_masses_far_below_rounding_count():
    """P(accuse) of 1e-300 against 1e-200: the loss is 230, and no float subtraction sees it."""
    curve = ta.from_pmfs([1, 1e-300], [1, 1e-200])
    assert curve.tpr(1e-300) == pytest.approx(1e-200, rel=1e-12)
    assert curve.epsilon(0) == pytest.approx(100 * math.log(10), rel=1e-14)


def test_mirrored_exchanges_the_worlds():
    mirror = ta.from_pmfs(P, Q).mirrored()
    direct = ta.from_pmfs(Q, P)
    assert mirror.losses == pytest.approx(direct.losses)
    assert mirror.absent == pytest.approx(direct.absent)
    assert mirror.present == pytest.approx(direct.present)


def test_the_input_arrays_are_left_alone_and_not_kept():
    p, q = np.array(P), np.array(Q)
    curve = ta.from_pmfs(p, q)
    before = curve.beta(0.3)
    assert p.tolist() == P
    assert p.flags.writeable
    assert q.flags.writeable
    p[:], q[:] = 9.0, 9.0
    assert curve.beta(0.3) == before


def test_the_inside_is_read_only_and_vertices_are_copies():
    curve = ta.from_pmfs(P, Q)
    for array in (curve.losses, curve.absent, curve.present):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0
    curve.vertices()[0][:] = 9.0
    assert curve.vertices()[0].tolist() == [0, 0.125, 0.25, 0.5, 1]


def test_area_is_the_chance_of_a_wrong_ranking():
    wrong = sum(
        P[i] * Q[j] * (1.0 if Q[i] / P[i] > Q[j] / P[j] else 0.5 * (Q[i] / P[i] == Q[j] / P[j]))
        for i in range(4)
        for j in range(4)
    )
    assert ta.from_pmfs(P, Q).area() == pytest.approx(wrong, abs=1e-15)


# -- attack -------------------------------------------------------------------------------------


def test_an_attack_is_the_hull_of_its_points():
    curve = ta.attack(points=[(0.1, 0.6), (0.2, 0.61), (0.5, 0.9)])
    assert curve.bound is ta.Bound.UPPER
    assert curve.tpr([0.1, 0.5]).tolist() == pytest.approx([0.6, 0.9])
    assert curve.tpr(0.2) == pytest.approx(0.675)
    assert curve.tpr(0.05) == pytest.approx(0.3)
    assert curve.tpr(0.75) == pytest.approx(0.95)


def test_an_attack_below_the_diagonal_says_the_opposite():
    wrong, right = ta.attack(points=[(0.9, 0.4)]), ta.attack(points=[(0.1, 0.6)])
    alpha = np.linspace(0, 1, 11)
    assert wrong.tpr(alpha) == pytest.approx(right.tpr(alpha), abs=1e-15)


def test_a_coin_is_no_attack():
    curve = ta.attack(points=[(0.5, 0.5)])
    assert curve.beta([0, 0.25, 1]).tolist() == [1, 0.75, 0]
    assert curve.epsilon(0) == 0


def test_a_perfect_attack():
    curve = ta.attack(points=[(0, 1)])
    assert curve.beta([0, 0.5, 1]).tolist() == [0, 0, 0]


def test_points_with_equal_fpr_are_sorted_enough():
    curve = ta.attack(points=[(0.1, 0.3), (0.1, 0.6), (0.1, 0.2)])
    assert curve.tpr(0.1) == pytest.approx(0.6)


def test_points_come_in_any_container_and_stay_as_they_are():
    points = np.array([[0.1, 0.6], [0.3, 0.7]])
    curve = ta.attack(points=points)
    before = curve.tpr(0.2)
    assert points.flags.writeable
    points[:] = 0
    assert curve.tpr(0.2) == before
    assert ta.attack(((0.1, 0.6), (0.3, 0.7))).tpr(0.2) == before


# -- the builders -------------------------------------------------------------------------------


def test_from_atoms_sorts_joins_and_drops():
    curve = from_atoms(
        np.array([-1.0, 2.0, 2.0, 5.0]),
        np.array([0.5, 0.25, 0.25, 0.0]),
        np.array([0.25, 0.5, 0.25, 0.0]),
        ta.Bound.LOWER,
    )
    assert curve.losses.tolist() == [2.0, -1.0]
    assert curve.absent.tolist() == [0.5, 0.5]
    assert curve.present.tolist() == [0.75, 0.25]
    assert curve.bound is ta.Bound.LOWER


def test_three_ratios():
    curve = three_ratios(1.0, 0.75, 0.25)
    assert curve.losses.tolist() == [1.0, 0.0, -1.0]
    assert curve.absent.sum() == pytest.approx(1)
    assert curve.present / curve.absent == pytest.approx(np.exp(curve.losses))
    assert curve.absent[1] == curve.present[1] == 0.25
    assert curve.absent[0] + curve.absent[2] == pytest.approx(0.75, rel=1e-15)


def test_three_ratios_keep_the_digits_of_a_faint_pair():
    """Whoever takes the outer mass for 1 − middle loses it all."""
    curve = three_ratios(1.0, 1e-30, 1.0)
    assert curve.present[0] == pytest.approx(1e-30 / (1 + math.exp(-1)), rel=1e-15, abs=0)
    assert curve.delta(0) == pytest.approx(1e-30 * math.tanh(0.5), rel=1e-14, abs=0)


def test_from_corners_keeps_the_hull_only():
    fpr = np.array([0, 1, 0.2, 0.5])
    tpr = np.array([0, 1, 0.6, 0.7])
    curve = from_corners(fpr, tpr, 1 - tpr, 1 - fpr, ta.Bound.EXACT)
    assert isinstance(curve, AtomicCurve)
    assert curve.vertices()[0].tolist() == pytest.approx([0, 0.2, 1])
