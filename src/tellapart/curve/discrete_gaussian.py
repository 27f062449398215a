"""The trade-off curve of discrete Gaussian noise, from tail sums at any scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, FourRates
from tellapart.curve.closed import GaussianCurve, SymmetricCurve

# Up to this deviation tails are summed; beyond it five terms of a series are as good.
_SUMMED = 1000.0
# So many deviations out, no double can hold the mass.
_UNSEEN = 40.0


@dataclass(frozen=True, repr=False)
class DiscreteGaussianCurve(SymmetricCurve):
    """Two discrete Gaussian laws on the integers whose centres lie ``shift`` (whole) apart."""

    sigma: float
    shift: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_above_zero(sigma=self.sigma)
        _checks.whole(1, shift=self.shift)

    def _rates(self, threshold: Array) -> FourRates:
        # The loss shift·(2z − shift)/(2σ²) exceeds the threshold for integers z above this one.
        cut = np.floor(self._level(threshold))
        return (
            above(self.sigma, cut),
            above(self.sigma, cut - self.shift),
            above(self.sigma, self.shift - cut - 1),
            above(self.sigma, -cut - 1),
        )

    def _level(self, loss: Array) -> Array:
        """The output, between integers, that has this loss."""
        return self.sigma * (self.sigma * loss / self.shift) + self.shift / 2

    def _beta(self, alpha: Array) -> Array:
        return self.table()._beta(alpha) if self.sigma < _SUMMED else super()._beta(alpha)

    def _tpr(self, fpr: Array) -> Array:
        return self.table()._tpr(fpr) if self.sigma < _SUMMED else super()._tpr(fpr)

    def _profile(self, epsilon: Array) -> Array:
        return self.table()._delta(epsilon) if self.sigma < _SUMMED else self._expanded(epsilon)

    def table(self) -> AtomicCurve:
        """All outputs whose probability in either world a double can hold."""
        return _atoms(self.sigma, int(self.shift))

    def _expanded(self, epsilon: Array) -> Array:
        """The profile of the continuous law, corrected for the integers (see `_tail`).

        Summing w = P(z − shift) − e^ε·P(z) over the integers above its zero is integrating it
        from the half-integer before the first of them, less odd derivatives there.
        """
        s, shift = self.sigma, self.shift
        mu = shift / s
        furthest = mu * (_UNSEEN + mu / 2)  # beyond this loss nothing is left
        level = np.minimum(epsilon, furthest)
        zero = self._level(level)
        start = np.floor(zero) + 0.5

        def w(x: Array) -> Array:
            density = np.exp(level[..., None] - (x / s) ** 2 / 2) / (s * math.sqrt(2 * math.pi))
            return density * np.expm1((x - zero[..., None]) / s * mu)

        delta = GaussianCurve(mu)._profile(level) - integrate(w, zero, start, 8)
        delta = delta + _correction(s, (start - shift) / s, 0.0)
        delta = np.clip(delta - _correction(s, start / s, level), 0.0, 1.0)
        return np.where(epsilon < furthest, delta, 0.0)

    def _largest_loss(self) -> float:
        return math.inf

    def _delta_at_infinity(self) -> float:
        return 0.0


def above(sigma: float, x: Array) -> Array:
    """P(Z > x) for whole x, where P(Z = z) is proportional to exp(−z²/(2σ²))."""
    x = np.asarray(x, dtype=float)
    outer = np.where(x >= 0, x + 1, -x)  # sum from here on, where terms fall
    tail = _summed(sigma, outer) if sigma < _SUMMED else _tail(sigma, outer)
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


def _tail(sigma: float, start: Array) -> Array:
    """Σ_{z ≥ start} by the midpoint Euler-Maclaurin formula, for a large σ.

    The first term left out is below 1e-16 of the sum, however far out.
    """
    u = np.minimum((start - 0.5) / sigma, _UNSEEN)
    return np.asarray(np.maximum(ndtr(-u) + _correction(sigma, u, 0.0), 0.0))


def _correction(sigma: float, u: Array, log_factor: Array | float) -> Array:
    """e^log_factor times what sums differ from integrals by: odd derivatives at u·σ."""
    exponent = log_factor - u**2 / 2
    u = np.clip(u, -1e30, 1e30)
    odd = [
        u,
        u**3 - 3 * u,
        u**5 - 10 * u**3 + 15 * u,
        u**7 - 21 * u**5 + 105 * u**3 - 105 * u,
    ]
    weights = [-1 / 24, 7 / 5760, -31 / 967680, 127 / 154828800]
    pairs = enumerate(zip(weights, odd, strict=True))
    total = sum(w * h * sigma ** -(2 * k + 2) for k, (w, h) in pairs)
    return np.asarray(np.exp(exponent) / math.sqrt(2 * math.pi) * total)


@lru_cache(maxsize=32)
def _atoms(sigma: float, shift: int) -> AtomicCurve:
    """All outputs whose probability in either world a double can hold."""
    reach = math.ceil(39 * sigma) + 1
    around = np.arange(-reach, reach + 1, dtype=np.float64)
    z = np.unique(np.concatenate([around, around + shift]))
    losses = shift / sigma * ((z - shift / 2) / sigma)
    absent, present = np.exp(log_mass(sigma, z)), np.exp(log_mass(sigma, z - shift))
    return from_atoms(losses, absent, present, Bound.EXACT)
