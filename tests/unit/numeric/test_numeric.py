"""The small numerical building blocks: products, splits, hulls and sums."""

import math

import mpmath
import numpy as np
import pytest

from tellapart._numeric import hull
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.safe import complex_log1p, log_ratio, times_exp, to_ends
from tellapart._numeric.text import count_in_words, too_many

# -- safe ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "exponent", "value"),
    [
        (0.5, 1.0, math.e / 2),
        (1e-300, 700.0, 1e-300 * math.exp(700)),
        (1e-300, 800.0, math.exp(800 - 300 * math.log(10))),
        (1.0, -700.0, math.exp(-700)),
        (1.0, -5000.0, 0.0),
        (0.0, 5000.0, 0.0),
        (0.0, math.inf, 0.0),
        (1.0, -math.inf, 0.0),
    ],
)
def test_times_exp(x, exponent, value):
    assert times_exp(x, exponent) == pytest.approx(value, rel=1e-12, abs=0)


def test_times_exp_may_overflow_only_where_the_product_does():
    with np.errstate(over="ignore"):
        assert times_exp(1.0, 5000.0) == np.inf


def test_log_ratio_knows_empty_masses():
    found = log_ratio(np.array([0.0, 0.5, 0.5, 5e-324]), np.array([0.5, 0.0, 0.25, 1.0]))
    assert found.tolist() == [-np.inf, np.inf, math.log(2), math.log(5e-324)]
    assert np.isnan(log_ratio(np.zeros(1), np.zeros(1)))


def test_the_logarithm_of_a_complex_number_near_one_keeps_its_digits():
    z = np.array([1e-9 + 0j, 1e-12 + 1e-7j, -3e-5 + 2e-3j])
    logarithm = complex_log1p(z)
    series = z - z**2 / 2 + z**3 / 3 - z**4 / 4 + z**5 / 5 - z**6 / 6
    np.testing.assert_allclose(logarithm.real, series.real, rtol=1e-12)
    np.testing.assert_allclose(logarithm.imag, series.imag, rtol=1e-12)


@pytest.mark.parametrize("away", [1e-30, 1e-12, 1e-6, 0.3, 0.5, 0.7, 1 - 1e-6, 1 - 1e-12])
def test_the_logarithm_of_a_complex_number_keeps_its_digits_on_the_way_to_minus_one(away):
    z = np.array([-away * (1 + 1e-3j), -away * (1 - 0.7j), away * 1j])
    with mpmath.workdps(100):
        exact = [complex(mpmath.log(1 + mpmath.mpc(one))) for one in z.tolist()]
    logarithm = complex_log1p(z)
    np.testing.assert_allclose(np.abs(logarithm - exact) / np.abs(exact), 0.0, atol=1e-15)


# -- quadrature ---------------------------------------------------------------------------------


def test_integrate_is_exact_for_polynomials_on_many_intervals():
    low, high = np.array([0.0, -1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    found = integrate(lambda x: 5 * x**4, low, high, nodes=3)
    assert found == pytest.approx(high**5 - low**5, abs=1e-14)
    assert found.shape == (3,)


# -- split --------------------------------------------------------------------------------------


def test_splitting_a_cell_keeps_both_totals_and_both_ratios():
    low, high = np.array([-1.0, 0.0, 0.25]), np.array([0.0, 0.5, 0.75])
    absent = np.array([0.5, 0.25, 0.25])
    present = absent * np.exp(np.array([-0.4, 0.3, 0.5]))
    absent_up, present_up = to_ends(low, high, absent, present)
    absent_down, present_down = absent - absent_up, present - present_up
    assert present_up == pytest.approx(absent_up * np.exp(high), rel=1e-12)
    assert present_down == pytest.approx(absent_down * np.exp(low), rel=1e-12)
    assert np.all(absent_down >= 0)
    assert np.all(present_down >= 0)


def test_an_infinite_ratio_takes_no_mass_of_the_absent_world():
    absent_up, present_up = to_ends(
        np.array([0.0]), np.array([np.inf]), np.array([0.25]), np.array([0.5])
    )
    assert absent_up.tolist() == [0.0]
    assert 0 <= present_up[0] <= 0.5


# -- hull ---------------------------------------------------------------------------------------


def four(points):
    fpr, tpr = np.array(points, dtype=float).T
    return fpr, tpr, 1 - tpr, 1 - fpr


def test_best_points_are_the_upper_hull():
    rates = four([(0, 0), (1, 1), (0.5, 0.6), (0.2, 0.6), (0.3, 0.5), (0.6, 0.9), (0.4, 0.75)])
    best = hull.best_points(*rates)
    assert [(rates[0][i], rates[1][i]) for i in best] == [(0, 0), (0.2, 0.6), (0.6, 0.9), (1, 1)]


def test_points_on_a_line_are_no_corners():
    best = hull.best_points(*four([(0, 0), (1, 1), (0.25, 0.25), (0.5, 0.5)]))
    assert best.tolist() == [0, 1]


def test_repeated_points_count_once():
    best = hull.best_points(*four([(0, 0), (1, 1), (0.2, 0.6), (0.2, 0.6), (0, 0)]))
    assert len(best) == 3


def test_a_point_on_the_axis_counts():
    best = hull.best_points(*four([(0, 0), (1, 1), (0, 0.3)]))
    assert best.tolist() == [0, 2, 1]


def test_active_lines_make_up_the_maximum():
    slopes, heights = np.array([0.0, 1.0, 2.0, 1.5]), np.array([0.5, 0.2, 0.05, 0.4])
    active, crossings = hull.active_lines(slopes, heights)
    assert active.tolist() == [2, 1, 0]  # steepest first; the fourth is below the others
    x = np.linspace(0, 1, 1001)
    best = np.max(1 - heights[:, None] - np.exp(slopes)[:, None] * x, axis=0)
    piece = np.searchsorted(np.exp(crossings), x)
    steep, height = slopes[active][piece], heights[active][piece]
    assert 1 - height - np.exp(steep) * x == pytest.approx(best, abs=1e-12)


def test_of_parallel_lines_the_highest_stays():
    active, _ = hull.active_lines(np.array([1.0, 1.0]), np.array([0.3, 0.1]))
    assert active.tolist() == [1]


def test_area_beneath_is_never_too_large():
    for points in (5, 20, 400):
        x = np.linspace(0, 1, points)
        y = (1 - np.sqrt(x)) ** 2  # convex and falling, area 1/6
        area = hull.area_beneath(x, y)
        assert area <= 1 / 6
    assert area == pytest.approx(1 / 6, abs=5e-3)


@pytest.mark.parametrize("size", [10**6, 1_049_999, 9_960_000, 2**100, 3**200, 10**30 - 1])
def test_large_counts_are_said_as_doubles_are(size):
    assert count_in_words(size) == f"{size:.1e}".replace("e+0", "e").replace("e+", "e")


def test_counts_are_exact_while_small_and_said_beyond_any_double():
    assert [count_in_words(one) for one in (0, 7, 999_999)] == ["0", "7", "999999"]
    assert count_in_words(2**10_000) == "2.0e3010"
    assert count_in_words(10**20_000) == "1.0e20000"
    assert count_in_words(10**20_000 - 1) == "1.0e20000"


def test_a_power_is_compared_and_said_without_being_worked_out():
    assert too_many(2, 20, 2**20) is None
    assert too_many(2, 21, 2**20) == count_in_words(2**21)
    assert too_many(1, 10**7, 1) is None
    assert too_many(3, 1000, 2**20) == count_in_words(3**1000)
    assert too_many(10, 10**7, 2**20) == "1.0e10000000"
    assert too_many(2, 10**300, 2**20) == "10^3.0e299"
