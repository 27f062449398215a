"""Closed forms: Gaussian DP (μ-GDP), Laplace, logistic and (ε, δ) trade-off functions.

All are symmetric: exchanging the two worlds changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import erf, erfcx, expit, ndtr, ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.safe import times_exp
from tellapart.curve.base import Bound, FourRates, TradeoffCurve, at_ends

_SQRT2 = math.sqrt(2)
# Where e^(−x²) has long been 0.
_FAR = 40.0


class SymmetricCurve(TradeoffCurve):
    """A curve that is its own mirror image, so that its profile at ε ≥ 0 says it all."""

    def _mirrored(self) -> Self:
        return self

    def _profile(self, epsilon: Array) -> Array:
        """δ(ε) for ε ≥ 0."""
        return super()._delta(epsilon)

    def _delta(self, epsilon: Array) -> Array:
        delta = self._profile(np.abs(epsilon))
        low = np.minimum(epsilon, 0.0)
        if np.any(low < 0):  # 1 − e^ε + e^ε·δ(−ε), a sum of positive terms
            delta = np.where(low < 0, np.exp(low) * delta - np.expm1(low), delta)
        return delta


@dataclass(frozen=True, repr=False)
class GuaranteeCurve(SymmetricCurve):
    """What every (ε, δ)-DP mechanism guarantees: f(α) = max(0, 1−δ−e^ε·α, e^−ε·(1−δ−α)).

    Attained by randomised response with a chance δ of revealing all (Kairouz, Oh and Viswanath
    2015, Theorem 3.4), so no smaller promise follows from (ε, δ).
    """

    claimed_epsilon: float
    claimed_delta: float = 0.0
    bound: Bound = Bound.LOWER

    def __post_init__(self) -> None:
        _checks.finite_at_least_zero(claimed_epsilon=self.claimed_epsilon)
        _checks.probability(claimed_delta=self.claimed_delta)

    def _words(self) -> str:
        delta = f", delta={self.claimed_delta!r}" if self.claimed_delta else ""
        return f"guarantee(epsilon={self.claimed_epsilon!r}{delta})"

    def _rates(self, threshold: Array) -> FourRates:
        e, d = self.claimed_epsilon, self.claimed_delta
        knot, rest = self._knot(), d + (1 - d) * expit(e)
        never, certain, likely = threshold == np.inf, threshold >= e, threshold >= -e
        fpr = np.where(certain, 0.0, np.where(likely, knot, 1 - d))
        tpr = np.where(never, 0.0, np.where(certain, d, np.where(likely, rest, 1.0)))
        fnr = np.where(never, 1.0, np.where(certain, 1 - d, np.where(likely, knot, 0.0)))
        tnr = np.where(certain, 1.0, np.where(likely, rest, d))
        return fpr, tpr, fnr, tnr

    def _knot(self) -> float:
        """Where the two lines meet, on the diagonal FPR = FNR."""
        return float((1 - self.claimed_delta) * expit(-self.claimed_epsilon))

    def vertices(self) -> tuple[Array, Array]:
        """The corners of the curve as false-positive and false-negative rates."""
        knot, end = self._knot(), 1 - self.claimed_delta
        return np.array([0.0, 0.0, knot, end, 1.0]), np.array([1.0, end, knot, 0.0, 0.0])

    def _beta(self, alpha: Array) -> Array:
        left = (1 - self.claimed_delta) - times_exp(alpha, self.claimed_epsilon)
        right = times_exp(1 - self.claimed_delta - alpha, -self.claimed_epsilon)
        return np.maximum(np.where(alpha <= self._knot(), left, right), 0.0)

    def _tpr(self, fpr: Array) -> Array:
        left = self.claimed_delta + times_exp(fpr, self.claimed_epsilon)
        right = 1 - times_exp(1 - self.claimed_delta - fpr, -self.claimed_epsilon)
        return np.minimum(np.where(fpr <= self._knot(), left, right), 1.0)

    def _fpr_at_small(self, tpr: Array) -> Array:
        left = times_exp(np.maximum(tpr - self.claimed_delta, 0.0), -self.claimed_epsilon)
        return np.where(left <= self._knot(), left, self._fpr_at_large(tpr))

    def _profile(self, epsilon: Array) -> Array:
        e, d = self.claimed_epsilon, self.claimed_delta
        return np.asarray(d + (1 - d) * expit(e) * -np.expm1(np.minimum(epsilon - e, 0.0)))

    def _epsilon(self, delta: Array) -> Array:
        e, d = self.claimed_epsilon, self.claimed_delta
        if d == 1:
            return np.where(delta < 1, np.inf, 0.0)
        spent = np.minimum((delta - d) / ((1 - d) * expit(e)), 1.0)
        return np.where(delta < d, np.inf, np.maximum(0.0, e + np.log1p(-spent)))

    def _largest_loss(self) -> float:
        return self.claimed_epsilon

    def _delta_at_infinity(self) -> float:
        return self.claimed_delta

    def _area(self) -> float:
        return float((1 - self.claimed_delta) ** 2 * expit(-self.claimed_epsilon))


@dataclass(frozen=True, repr=False)
class LaplaceCurve(SymmetricCurve):
    """Two Laplace laws of scale 1 whose centres lie ``shift`` apart."""

    shift: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_at_least_zero(shift=self.shift)

    def _rates(self, threshold: Array) -> FourRates:
        m = self.shift
        inside = (threshold >= -m) & (threshold < m)
        below = threshold < -m
        fpr = np.where(inside, 0.5 * np.exp(-(m + threshold) / 2), np.where(below, 1.0, 0.0))
        fnr = np.where(inside, 0.5 * np.exp(-(m - threshold) / 2), np.where(below, 0.0, 1.0))
        return fpr, 1 - fnr, fnr, 1 - fpr

    def _beta(self, alpha: Array) -> Array:
        return self._pieces(alpha, complement=False)

    def _tpr(self, fpr: Array) -> Array:
        return self._pieces(fpr, complement=True)

    def _pieces(self, alpha: Array, complement: bool) -> Array:
        """1 − e^m·α, then e^−m/(4α), then e^−m·(1 − α): β itself or its complement."""
        half = math.exp(-min(self.shift, 1400.0) / 2)
        steep = times_exp(alpha, self.shift)
        rest = np.where(alpha <= 0.5, half / (4 * alpha) * half, half * (1 - alpha) * half)
        if complement:
            return np.where(steep <= 0.5, steep, 1 - rest)
        return np.where(steep <= 0.5, 1 - steep, rest)

    def _fpr_at_small(self, tpr: Array) -> Array:
        return times_exp(tpr, -self.shift)

    def _profile(self, epsilon: Array) -> Array:
        return -np.expm1(np.minimum((epsilon - self.shift) / 2, 0.0))

    def _epsilon(self, delta: Array) -> Array:
        return np.maximum(0.0, self.shift + 2 * np.log1p(-delta))

    def _largest_loss(self) -> float:
        return self.shift

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _area(self) -> float:
        return math.exp(-self.shift) * (2 + self.shift) / 4 if self.shift < 1e9 else 0.0


@dataclass(frozen=True, repr=False)
class GaussianCurve(SymmetricCurve):
    """Two normal laws of deviation 1 whose centres lie ``mu`` apart, 0 < mu < ∞."""

    mu: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_above_zero(mu=self.mu)

    def _rates(self, threshold: Array) -> FourRates:
        ahead, behind = threshold / self.mu + self.mu / 2, threshold / self.mu - self.mu / 2
        return ndtr(-ahead), ndtr(-behind), ndtr(behind), ndtr(ahead)

    def _beta(self, alpha: Array) -> Array:
        return np.asarray(ndtr(-ndtri(alpha) - self.mu))

    def _tpr(self, fpr: Array) -> Array:
        return np.asarray(ndtr(ndtri(fpr) + self.mu))

    def _fpr_at_small(self, tpr: Array) -> Array:
        return np.asarray(ndtr(ndtri(tpr) - self.mu))

    def _profile(self, epsilon: Array) -> Array:
        """Φ(−√2·x) − e^ε·Φ(−√2·y) with y = x + μ/√2, free of overflow and cancellation.

        As e^ε·φ(√2·y) = φ(√2·x), it is e^(−x²)/2 times a difference of scaled tails erfcx.
        """
        if self.mu < 0.1:
            return self._close_tails(epsilon)
        x = np.minimum((epsilon / self.mu - self.mu / 2) / _SQRT2, _FAR)
        scale, near, far = np.exp(-x * x) / 2, erfcx(np.abs(x)), erfcx(x + self.mu / _SQRT2)
        delta = np.where(x < 0, 1 - scale * (near + far), scale * (near - far))
        return np.asarray(np.where(epsilon == 0, erf(self.mu / math.sqrt(8)), delta))

    def _close_tails(self, epsilon: Array) -> Array:
        """The same for small μ: the odd Taylor terms of erfcx about the midpoint of x and y."""
        x = np.minimum((epsilon / self.mu - self.mu / 2) / _SQRT2, _FAR)
        half = self.mu / (2 * _SQRT2)
        middle = x + half
        value = erfcx(middle)
        slopes = [value, 2 * middle * value - 2 / math.sqrt(math.pi)]
        for n in range(1, 9):
            slopes.append(2 * middle * slopes[n] + 2 * n * slopes[n - 1])
        odd = sum(half**k / math.factorial(k) * slopes[k] for k in (9, 7, 5, 3, 1))
        return np.asarray(np.maximum(-np.exp(-x * x) * odd, 0.0))

    def _epsilon_ceiling(self, excess: solve.Falling, delta: Array) -> Array:
        """As δ(ε) ≤ Φ(μ/2 − ε/μ), no more than μ²/2 − μ·Φ⁻¹(δ) is needed, but for rounding."""
        most = np.maximum(self.mu * (self.mu / 2 - ndtri(delta)), 0.0)
        return solve.climb(excess, most * (1 + 1e-12), 1.0)

    def _largest_loss(self) -> float:
        return math.inf

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _area(self) -> float:
        return float(ndtr(-self.mu / _SQRT2))


@dataclass(frozen=True, repr=False)
class LogisticCurve(SymmetricCurve):
    """Two logistic laws of scale 1 whose centres lie ``shift`` apart: the odds grow by e^shift.

    The worst case of the exponential mechanism (Dong, Durfee and Rogers 2020): TPR-odds are
    e^shift times FPR-odds, for the attack that does best at each FPR.
    """

    shift: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_at_least_zero(shift=self.shift)

    def _rates(self, threshold: Array) -> FourRates:
        e = self.shift
        level = np.clip(threshold, -e, e)
        # expm1((e − ℓ)/2) / expm1(e), written with exponents at most 0.
        whole = -math.expm1(-e) if e else 1.0
        fpr = np.exp(-(e + level) / 2) * -np.expm1(-(e - level) / 2) / whole
        fnr = np.exp(-(e - level) / 2) * -np.expm1(-(e + level) / 2) / whole
        tpr, tnr = -np.expm1(-(e - level) / 2) / whole, -np.expm1(-(e + level) / 2) / whole
        return at_ends((fpr, tpr, fnr, tnr), threshold >= e, threshold < -e)

    def _beta(self, alpha: Array) -> Array:
        odds = times_exp(alpha, self.shift) / (1 - alpha)
        return np.asarray(np.where(alpha == 1, 0.0, 1 / (1 + odds)))

    def _tpr(self, fpr: Array) -> Array:
        return np.asarray(np.where(fpr == 0, 0.0, fpr / (fpr + times_exp(1 - fpr, -self.shift))))

    def _fpr_at_small(self, tpr: Array) -> Array:
        away = times_exp(tpr, -self.shift)
        return np.asarray(away / (away + 1 - tpr))

    def _profile(self, epsilon: Array) -> Array:
        whole = -math.expm1(-self.shift) if self.shift else 1.0
        return np.expm1(np.minimum(epsilon - self.shift, 0.0) / 2) ** 2 / whole

    def _epsilon(self, delta: Array) -> Array:
        root = np.sqrt(delta * -math.expm1(-self.shift))
        return np.maximum(0.0, self.shift + 2 * np.log1p(-np.minimum(root, 1.0)))

    def _largest_loss(self) -> float:
        return self.shift

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _area(self) -> float:
        e = self.shift
        if e < 1e-4:
            return 0.5 - e / 6
        shrink = -math.expm1(-e)
        return (e / shrink - 1) * math.exp(-e) / shrink
