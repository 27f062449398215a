"""Whole numbers with geometric noise, right and wrong. The data is a count, changed by 1."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from tellapart._checks import Array
from tellapart.zoo.specimen import batched

# Counts lie in 0..TOP.
TOP = 5
# Noise that is cut off beyond this size.
CUT = 5
# A claim, and the ratio 1 + 2^−k by which code that halves instead of multiplying meets it.
COARSE_EPSILON = 0.6


def _geometric_noise(ratio: float, rng: Generator, size: int) -> Array:
    """Two-sided geometric noise: P(k) falls by ``ratio`` with every step away from 0."""
    return np.asarray(rng.geometric(1 - ratio, size) - rng.geometric(1 - ratio, size))


def coarse_ratio(epsilon: float) -> float:
    """1/(1 + 2^−k) for the k nearest below log2(1/ε): rounded the wrong way."""
    return 1 / (1 + 2.0 ** -math.floor(math.log2(1 / epsilon)))


@batched
def geometric(data: int, rng: Generator, size: int) -> Array:
    """A count with two-sided geometric (discrete Laplace) noise."""
    return np.asarray(data + _geometric_noise(math.exp(-1), rng, size))


@batched
def geometric_truncated(data: int, rng: Generator, size: int) -> Array:
    """The noisy count moved to the nearest possible count, which costs nothing."""
    return np.clip(data + _geometric_noise(math.exp(-1), rng, size), 0, TOP)


@batched
def geometric_coarse(data: int, rng: Generator, size: int) -> Array:
    """For exact arithmetic the ratio is rounded to 1 + 2^−k, in the wrong direction."""
    return np.clip(data + _geometric_noise(coarse_ratio(COARSE_EPSILON), rng, size), 0, TOP)


@batched
def geometric_one_sided(data: int, rng: Generator, size: int) -> Array:
    """The noise is never negative."""
    return np.asarray(data + rng.geometric(1 - math.exp(-1), size) - 1)


@batched
def geometric_cut_noise(data: int, rng: Generator, size: int) -> Array:
    """The noise, not the answer, is cut off at ±5: the ends show the count."""
    return np.asarray(data + np.clip(_geometric_noise(math.exp(-1), rng, size), -CUT, CUT))
