"""The trade-off curve of truncated Laplace noise, which is cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.safe import times_exp
from tellapart.curve.base import Bound, FourRates
from tellapart.curve.closed import SymmetricCurve


@dataclass(frozen=True, repr=False)
class TruncatedLaplaceCurve(SymmetricCurve):
    """Two Laplace laws of scale 1, cut off at ±cutoff, whose centres lie ``shift`` apart.

    Needs cutoff > shift / 2: otherwise the two laws share no output at all.
    """

    shift: float
    cutoff: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_at_least_zero(shift=self.shift)
        if not self.shift / 2 < _checks.finite(cutoff=self.cutoff):
            _checks.refuse("cutoff", f"exceed half the shift {self.shift}", self.cutoff)

    def _rates(self, threshold: Array) -> FourRates:
        m, c, leak = self.shift, self._largest_loss(), self._delta_at_infinity()
        where = [threshold == np.inf, threshold >= c, threshold < -c]
        near, far = (threshold + m) / 2, (threshold - m) / 2  # the cut, seen from both centres
        return (
            np.select(where, [0.0, 0.0, 1 - leak], self.noise_above(near)),
            np.select(where, [0.0, leak, 1.0], self.noise_above(far)),
            np.select(where, [1.0, 1 - leak, 0.0], self.noise_above(-far)),
            np.select(where, [1.0, 1.0, leak], self.noise_above(-near)),
        )

    def noise_above(self, x: Array) -> Array:
        """P(noise > x) of the truncated law."""
        size = np.minimum(np.abs(x), self.cutoff)
        tail = np.exp(-size) * np.expm1(size - self.cutoff) / (2 * math.expm1(-self.cutoff))
        return np.where(x >= 0, tail, 1 - tail)

    def noise_cut(self, fpr: Array) -> Array:
        """The x with P(noise > x) = fpr."""
        small = np.minimum(fpr, 1 - fpr)
        cap = math.expm1(self.cutoff) if self.cutoff < 700 else math.inf
        near = self.cutoff - np.log1p(2 * small * cap)
        far = -np.log(math.exp(-self.cutoff) - 2 * small * math.expm1(-self.cutoff))
        size = np.clip(np.where(2 * small * cap < 1, near, far), 0.0, self.cutoff)
        return np.where(fpr <= 0.5, size, -size)

    def _beta(self, alpha: Array) -> Array:
        beta = self.noise_above(self.shift - self.noise_cut(alpha))
        if self.cutoff < self.shift:
            return beta
        # Below the lower centre the ratio is constant: a straight line down to 0.
        line = times_exp(np.maximum(1 - alpha - self._delta_at_infinity(), 0.0), -self.shift)
        return np.where(alpha >= 0.5, line, beta)

    def _tpr(self, fpr: Array) -> Array:
        tpr = self.noise_above(self.noise_cut(fpr) - self.shift)
        if self.cutoff < self.shift:
            return tpr
        line = self._delta_at_infinity() + times_exp(fpr, self.shift)
        return np.where(line <= 0.5, line, tpr)

    def _fpr_at_small(self, tpr: Array) -> Array:
        if self.cutoff < self.shift:
            return self.noise_above(self.noise_cut(tpr) + self.shift)
        line = np.maximum(tpr - self._delta_at_infinity(), 0.0)
        return np.asarray(times_exp(line, -self.shift))

    def _profile(self, epsilon: Array) -> Array:
        """Rises from its limit by ∫ e^s·FPR(s) ds, each factor of which is positive."""
        m, a, c = self.shift, self.cutoff, self._largest_loss()
        level = np.minimum(epsilon, c)
        slack = 2 * math.exp((c - m) / 2) - math.exp(c - a) - np.exp((level + c) / 2 - a)
        grown = np.expm1((level - c) / 2) * np.maximum(slack, 0.0) / (2 * math.expm1(-a))
        return np.asarray(self._delta_at_infinity() + grown)

    def _largest_loss(self) -> float:
        return min(self.shift, 2 * self.cutoff - self.shift)

    def _delta_at_infinity(self) -> float:
        if self.cutoff < self.shift:
            return float(self.noise_above(np.array(self.cutoff - self.shift)))
        fall = times_exp(-math.expm1(-self.shift), self.shift - self.cutoff)
        return float(fall) / (-2 * math.expm1(-self.cutoff))

    def _area(self) -> float:
        """∫ FNR dFPR over the output, piece by smooth piece; tails beyond e^−40 add nothing."""
        m, a = self.shift, self.cutoff

        def slice_of(x: Array) -> Array:
            density = np.exp(-np.abs(x)) / (-2 * math.expm1(-a))
            return density * self.noise_above(m - x)

        edges = np.clip([-40.0, 0.0, m, m + 40.0], m - a, a)
        return float(integrate(slice_of, edges[:-1], edges[1:]).sum())
