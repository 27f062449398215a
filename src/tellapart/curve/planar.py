"""The curve of planar Laplace noise, by an integral over one angle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import kve

from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart.curve.base import Bound
from tellapart.curve.closed import SymmetricCurve

# Where the integrand has fallen by e^−42 from its peak, the rest is below rounding.
_NEGLIGIBLE = 42.0


@dataclass(frozen=True)
class PlanarLaplaceCurve(SymmetricCurve):
    """Two planar Laplace laws of scale 1 whose centres lie ``shift`` apart, 0 < shift < ∞.

    In elliptic coordinates around the two centres the log-likelihood ratio is shift·cos v, and
    the angle v has an elementary density in each world (maths of S20, Bessel K₀ and K₁).
    """

    shift: float
    bound: Bound = Bound.EXACT

    def _density(self, v: Array) -> Array:
        """Density of the angle under h0; under h1 it is that of π − v."""
        s = self.shift / 2
        bessel = s**2 * kve(0, s) * np.sin(v) ** 2 + s * kve(1, s)
        return np.asarray(np.exp(-s * (1 + np.cos(v))) * bessel / np.pi)

    def _angle(self, threshold: Array) -> Array:
        return np.asarray(np.arccos(np.clip(threshold / self.shift, -1.0, 1.0)))

    def _below(self, v: Array) -> Array:
        """P(angle < v) under h0, where the density rises towards v."""
        s = self.shift / 2
        start = np.arccos(np.minimum(np.cos(v) + _NEGLIGIBLE / s, 1.0))
        return integrate(self._density, start, v)

    def _beyond(self, v: Array) -> Array:
        """P(angle > v) under h0, where the density peaks at π."""
        s = self.shift / 2
        start = np.maximum(v, np.arccos(min(_NEGLIGIBLE / s - 1, 1.0)))
        return integrate(self._density, start, np.full_like(v, np.pi))

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        v = self._angle(threshold)
        opposite = np.pi - v
        rates = (self._below(v), self._beyond(opposite), self._below(opposite), self._beyond(v))
        fpr, tpr, fnr, tnr = (np.minimum(rate, 1.0) for rate in rates)
        return fpr, tpr, fnr, tnr

    def _delta(self, epsilon: Array) -> Array:
        """∫ (1 − e^(ε−loss)) over the rejected angles, seen from h1: no term is negative."""
        v, s = self._angle(epsilon), self.shift / 2
        end = np.minimum(v, np.arccos(max(1 - _NEGLIGIBLE / s, -1.0)))
        level = np.clip(epsilon, -self.shift, self.shift)[..., None]

        def gain(angle: Array) -> Array:
            return self._density(np.pi - angle) * -np.expm1(level - self.shift * np.cos(angle))

        inner = np.clip(integrate(gain, np.zeros_like(v), end), 0.0, 1.0)
        return np.where(epsilon >= -self.shift, inner, -np.expm1(epsilon))

    def _largest_loss(self) -> float:
        return self.shift

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _area(self) -> float:
        edges = np.pi * np.linspace(0, 1, 33)

        def slice_of(v: Array) -> Array:
            return self._density(v) * self._below(np.pi - v)

        return float(integrate(slice_of, edges[:-1], edges[1:]).sum())
