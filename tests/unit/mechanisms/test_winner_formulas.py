"""Chances of winning a noisy selection, against sums and integrals done otherwise."""

import math
from itertools import permutations

import numpy as np
import pytest

from tellapart.mechanisms.choice import laplace_max, permute_and_flip

UTILITIES = [
    [0.0],
    [0.0, 0.0],
    [0.0, 1.0],
    [3.0, 1.0, 2.0],
    [0.0, 0.5, 0.5, 5.0],
    [-20.0, 0.0, 1.0],
]


def by_permutation(utility):
    """The mechanism as told: options in random order, each taken with probability e^(u − max)."""
    chances = np.zeros(len(utility))
    orders = list(permutations(range(len(utility))))
    for order in orders:
        still = 1.0
        for option in order:
            take = math.exp(utility[option] - max(utility))
            chances[option] += still * take / len(orders)
            still *= 1 - take
    return chances


@pytest.mark.parametrize("utility", UTILITIES)
def test_permute_and_flip_as_told(utility):
    found = np.exp(permute_and_flip(np.array(utility)))
    assert found == pytest.approx(by_permutation(utility), rel=1e-12)


@pytest.mark.parametrize("utility", UTILITIES)
def test_laplace_max_by_a_plain_sum(utility):
    x = np.linspace(min(utility) - 40, max(utility) + 40, 400_001)
    away = x[:, None] - np.array(utility)
    density = np.exp(-abs(away)) / 2
    below = np.where(away < 0, density, 1 - density)
    step = x[1] - x[0]
    direct = [
        np.sum(density[:, r] * np.prod(np.delete(below, r, axis=1), axis=1)) * step
        for r in range(len(utility))
    ]
    assert np.exp(laplace_max(np.array(utility))) == pytest.approx(direct, rel=1e-6)


GAPS = [0.0, 0.1, 1, 5, 20, 44, 46, 60, 100, 1000]


@pytest.mark.parametrize("gap", GAPS)
def test_two_options_have_formulas(gap):
    """The difference of two Laplace variables exceeds g with probability e^(−g)·(2 + g)/4."""
    worse = permute_and_flip(np.array([0.0, gap]))[0]
    assert worse == pytest.approx(-gap - math.log(2), rel=1e-12)
    worse = laplace_max(np.array([0.0, gap]))[0]
    assert worse == pytest.approx(-gap + math.log((2 + gap) / 4), rel=1e-9)


@pytest.mark.parametrize("chances", [permute_and_flip, laplace_max])
def test_chances_sum_to_one_and_rise_with_utility(chances):
    rng = np.random.default_rng(3)
    for size in (2, 3, 17, 100):
        utility = np.sort(rng.normal(size=size) * 4)
        found = chances(utility)
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)
        assert np.all(np.diff(found) > -1e-12)
