"""Curves from two densities lie below the truth, whatever jumps or is left outside."""

import math
import re

import numpy as np
import pytest

import tellapart as ta

NAN, INF = math.nan, math.inf


def laplace(centre):
    return lambda x: np.exp(-abs(x - centre)) / 2


def normal(centre):
    return lambda x: np.exp(-((x - centre) ** 2) / 2) / math.sqrt(2 * math.pi)


def flat(x):
    return np.ones_like(x)


def ask(p=flat, q=flat, support=(0, 1), breaks=(), cells=10):
    return ta.from_densities(p, q, support, breaks, cells)


ONE_EACH = "return one number per point (shape (11,))"
BAD = [
    ({"support": (1, 0)}, "support must be two finite numbers, the smaller first, got (1, 0)"),
    ({"support": (0, 0)}, "support must be two finite numbers, the smaller first, got (0, 0)"),
    (
        {"support": (0, 1, 2)},
        "support must be two finite numbers, the smaller first, got (0, 1, 2)",
    ),
    ({"support": (0, INF)}, "support must be finite, got (0, inf)"),
    ({"support": (NAN, 1)}, "support must not contain NaN, got (nan, 1)"),
    ({"support": 5}, "support must be a list of numbers, got 5"),
    ({"support": ()}, "support must not be empty, got ()"),
    ({"breaks": [2]}, "breaks must lie strictly inside the support, got [2]"),
    ({"breaks": [0]}, "breaks must lie strictly inside the support, got [0]"),
    ({"breaks": (0.5, 1)}, "breaks must lie strictly inside the support, got (0.5, 1)"),
    ({"breaks": [NAN]}, "breaks must not contain NaN, got [nan]"),
    ({"breaks": [None]}, "breaks must be a list of numbers, got [None]"),
    ({"breaks": None}, "breaks must be a list of numbers, got None"),
    ({"breaks": 0.5}, "breaks must be a list of numbers, got 0.5"),
    ({"breaks": [[0.5]]}, "breaks must be a list of numbers, got [[0.5]]"),
    ({"cells": 0}, "cells must be at least 1, got 0"),
    ({"cells": 10.5}, "cells must be a whole number, got 10.5"),
    ({"cells": True}, "cells must be a whole number, got True"),
    ({"p": lambda x: 1.0}, f"p must {ONE_EACH}, got 1.0"),
    ({"q": lambda x: x[:2] * 0}, f"q must {ONE_EACH}, got array([0., 0.])"),
    ({"q": lambda x: "x"}, f"q must {ONE_EACH}, got 'x'"),
    ({"p": lambda x: None}, f"p must {ONE_EACH}, got None"),
    ({"p": lambda x: [[]]}, f"p must {ONE_EACH}, got [[]]"),
    ({"p": None}, "p must be a function of an array of outputs, got None"),
    ({"q": "density"}, "q must be a function of an array of outputs, got 'density'"),
    ({"p": [0.5, 0.5]}, "p must be a function of an array of outputs, got [0.5, 0.5]"),
    ({"p": lambda x: x - x - 1}, "p must be at least 0 on the support, got -1.0"),
    ({"q": lambda x: x * NAN}, "q must be at least 0 on the support, got nan"),
    ({"p": lambda x: 2 * flat(x)}, "p must integrate to 1 over the support, got 2.0"),
    ({"q": lambda x: flat(x) / 4}, "q must integrate to 1 over the support, got 0.25"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_refused_word_for_word(given, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ask(**given)


def test_a_whole_number_of_cells_may_be_a_float():
    assert ask(cells=10.0).beta(0.3) == ask(cells=10).beta(0.3)


def test_a_homemade_laplace_is_the_laplace_curve_from_below():
    exact = ta.Laplace(1).curve()
    alpha, epsilon = np.linspace(0, 1, 51), np.linspace(-2, 2, 41)
    found = ta.from_densities(laplace(0), laplace(1), (-40, 41), breaks=(0, 1), cells=5000)
    assert found.bound is ta.Bound.LOWER
    assert np.all(found.beta(alpha) <= exact.beta(alpha) + 1e-13)
    assert np.all(found.delta(epsilon) >= exact.delta(epsilon) - 1e-13)
    assert found.beta(alpha) == pytest.approx(exact.beta(alpha), abs=1e-4)


def test_a_homemade_gaussian_is_the_gaussian_curve_from_below():
    exact = ta.Gaussian(1).curve()
    alpha = np.linspace(0, 1, 51)
    errors = []
    for cells in (500, 5000):
        found = ta.from_densities(normal(0), normal(1), (-12, 13), cells=cells)
        gap = exact.beta(alpha) - found.beta(alpha)
        assert np.all(gap >= -1e-13)
        errors.append(gap.max())
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 50  # the square of the cell width


def test_mass_outside_the_support_counts_as_revealing():
    found = ta.from_densities(laplace(0), laplace(1), (-2, 3), breaks=(0, 1), cells=1000)
    cut = (math.exp(-2) + math.exp(-3)) / 2
    assert found.tpr(0) == pytest.approx(cut, rel=1e-6)
    assert found.epsilon(cut / 2) == INF
    exact = ta.Laplace(1).curve()
    alpha = np.linspace(0, 1, 21)
    assert np.all(found.beta(alpha) <= exact.beta(alpha))


def test_no_finite_epsilon_without_delta():
    """Rounding hides masses below 1e-15, so none is promised away."""
    found = ask(cells=10)
    assert found.epsilon(0) == INF
    assert found.epsilon(1e-14) == pytest.approx(0, abs=1e-12)
    assert found.beta(0.3) == pytest.approx(0.7, abs=1e-12)


def test_jumps_are_seen_from_both_sides():
    """Uniform on [0, 1] against uniform on [¼, 1¼]: δ = ¼ and nothing else."""

    def between(low, high):
        return lambda x: np.where((x > low) & (x < high), 1.0, 0.0)

    found = ta.from_densities(
        between(0, 1), between(0.25, 1.25), (-1, 2), breaks=(0, 0.25, 1, 1.25), cells=300
    )
    exact = ta.UniformNoise(width=1, sensitivity=0.25).curve()
    alpha = np.linspace(0, 1, 21)
    assert found.beta(alpha) == pytest.approx(exact.beta(alpha), abs=1e-9)


def test_the_order_of_breaks_does_not_matter():
    one = ta.from_densities(laplace(0), laplace(1), (-40, 41), breaks=(1, 0), cells=100)
    two = ta.from_densities(laplace(0), laplace(1), (-40, 41), breaks=[0, 1], cells=100)
    assert one.beta(0.2) == two.beta(0.2)


def test_one_cell_is_sound():
    found = ta.from_densities(flat, lambda x: 2 * x, (0, 1), cells=1)
    alpha = np.linspace(0, 1, 11)
    assert np.all(found.beta(alpha) <= (1 - alpha) ** 2 + 1e-12)  # rejects large x
