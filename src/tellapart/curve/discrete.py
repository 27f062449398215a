"""The curve of discrete Gaussian noise, from tail sums at any scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import Bound
from tellapart.curve.closed import SymmetricCurve

# Up to this deviation tails are summed; beyond it five terms of a series are as good.
_SUMMED = 1000.0


@dataclass(frozen=True)
class DiscreteGaussianCurve(SymmetricCurve):
    """Two discrete Gaussian laws on the integers whose centres lie ``shift`` (whole) apart."""

    sigma: float
    shift: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_above_zero(sigma=self.sigma)
        _checks.whole(1, shift=self.shift)

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        # The loss shift·(2z − shift)/(2σ²) exceeds the threshold for integers z above this one.
        cut = np.floor(self.sigma * (self.sigma * threshold / self.shift) + self.shift / 2)
        return (
            above(self.sigma, cut),
            above(self.sigma, cut - self.shift),
            above(self.sigma, self.shift - cut - 1),
            above(self.sigma, -cut - 1),
        )

    def _largest_loss(self) -> float:
        return math.inf

    def _delta_at_infinity(self) -> float:
        return 0.0


def above(sigma: float, x: Array) -> Array:
    """P(Z > x) for whole x, where P(Z = z) is proportional to exp(−z²/(2σ²))."""
    x = np.asarray(x, dtype=float)
    outer = np.where(x >= 0, x + 1, -x)  # sum from here on, where terms fall
    tail = _summed(sigma, outer) if sigma < _SUMMED else _expanded(sigma, outer)
    return np.where(x >= 0, tail, 1 - tail)


def log_mass(sigma: float, x: Array) -> Array:
    """Log P(Z = x) for whole x."""
    return np.asarray(-((x / sigma) ** 2) / 2 - math.log(_total(sigma)))


def _total(sigma: float) -> float:
    if sigma >= _SUMMED:  # Poisson summation: the next term is e^(−2π²σ²)
        return sigma * math.sqrt(2 * math.pi)
    sums = _tail_sums(sigma)
    return float(sums[0] + sums[1])


@lru_cache(maxsize=32)
def _tail_sums(sigma: float) -> Array:
    """Σ_{z ≥ k} exp(−z²/(2σ²)) for k = 0, 1, …, ending at 0."""
    z = np.arange(math.ceil(39 * sigma) + 2)
    sums = np.append(np.cumsum(np.exp(-((z / sigma) ** 2) / 2)[::-1])[::-1], 0.0)
    sums.flags.writeable = False
    return sums


def _summed(sigma: float, start: Array) -> Array:
    sums = _tail_sums(sigma)
    index = np.minimum(start, len(sums) - 1).astype(np.intp)
    return np.asarray(sums[index] / _total(sigma))


def _expanded(sigma: float, start: Array) -> Array:
    """Midpoint Euler-Maclaurin; the first term left out is below 1e-16 of the sum."""
    u = np.minimum((start - 0.5) / sigma, 40.0)
    odd = [u, u**3 - 3 * u, u**5 - 10 * u**3 + 15 * u]
    odd.append(u**7 - 21 * u**5 + 105 * u**3 - 105 * u)
    weights = [-1 / 24, 7 / 5760, -31 / 967680, 127 / 154828800]
    terms = [
        w * h * sigma ** -(2 * k + 1) for k, (w, h) in enumerate(zip(weights, odd, strict=True))
    ]
    correction = np.exp(-(u**2) / 2) * sum(terms)
    tail = ndtr(-u) + correction / (sigma * math.sqrt(2 * math.pi))
    return np.asarray(np.maximum(tail, 0.0))  # where both terms underflow
