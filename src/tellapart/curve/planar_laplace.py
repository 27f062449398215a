"""The trade-off curve of planar Laplace noise (geo-indistinguishability), by one integral."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import kve

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, FourRates
from tellapart.curve.closed import SymmetricCurve

# The density changes by at most e^4 within a panel, which twelve nodes integrate to rounding.
_NODES = 12
_STEEPEST = 4.0
_DEEPEST = 800.0
# Bessel functions of larger arguments are not to be had in double precision.
FURTHEST = 1e8
_NEWTON = 20

_ABSENT, _PRESENT = 0, 1


@dataclass(frozen=True, repr=False)
class PlanarLaplaceCurve(SymmetricCurve):
    """Two planar Laplace laws of scale 1 whose centres lie ``shift`` apart, 0 < shift < ∞.

    In elliptic coordinates around the two centres the log-likelihood ratio is shift·cos v, and
    the angle v has a density that Bessel functions K₀ and K₁ express. Under h1 it is that of
    π − v under h0; keeping both angles keeps the digits of both corners.
    """

    shift: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        if not 0 < _checks.finite(shift=self.shift) <= FURTHEST:
            _checks.refuse("shift", f"lie in (0, {short(FURTHEST)}]", self.shift)

    def _rates(self, threshold: Array) -> FourRates:
        cosine = np.clip(threshold / self.shift, -1.0, 1.0)
        v, opposite = np.arccos(cosine), np.arccos(-cosine)
        none, every = cosine == 1, cosine == -1

        def rate(world: int, angle: Array, at_none: float) -> Array:
            ends = np.where(none, at_none, 1 - at_none)
            return np.where(none | every, ends, _mass_below(world, self.shift, angle))

        return (
            rate(_ABSENT, v, 0.0),
            rate(_PRESENT, v, 0.0),
            rate(_ABSENT, opposite, 1.0),
            rate(_PRESENT, opposite, 1.0),
        )

    def _beta(self, alpha: Array) -> Array:
        beta = _mass_below(_ABSENT, self.shift, self._angles(alpha)[1])
        return np.where(alpha == 0, 1.0, np.where(alpha == 1, 0.0, beta))

    def _tpr(self, fpr: Array) -> Array:
        tpr = _mass_below(_PRESENT, self.shift, self._angles(fpr)[0])
        return np.where(fpr == 0, 0.0, np.where(fpr == 1, 1.0, tpr))

    def _angles(self, fpr: Array) -> tuple[Array, Array]:
        """The angle that rejects this often under h0, and its distance from π."""
        small = np.minimum(fpr, 0.5)
        v = _angle_with_mass(_ABSENT, self.shift, small)
        opposite = _angle_with_mass(_PRESENT, self.shift, np.minimum(1 - fpr, 0.5))
        left = fpr <= 0.5
        return np.where(left, v, np.pi - opposite), np.where(left, np.pi - v, opposite)

    def _profile(self, epsilon: Array) -> Array:
        """∫ (1 − e^(ε−loss)) over the rejected angles, seen from h1: no term is negative."""
        level = np.minimum(epsilon, self.shift)
        edges, _ = _panels(_PRESENT, self.shift)
        last = np.arccos(level / self.shift)[..., None]
        low, high = np.minimum(edges[:-1], last), np.minimum(edges[1:], last)

        def gain(v: Array) -> Array:
            below_top = (level - self.shift)[..., None, None] + 2 * self.shift * np.sin(v / 2) ** 2
            lost = -np.expm1(below_top)
            return _density(_PRESENT, self.shift, v) * np.maximum(lost, 0.0)

        return np.asarray(integrate(gain, low, high, _NODES).sum(axis=-1).clip(None, 1.0))

    def _largest_loss(self) -> float:
        return self.shift

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _area(self) -> float:
        def slice_of(v: Array) -> Array:
            return _density(_ABSENT, self.shift, v) * _mass_below(_ABSENT, self.shift, np.pi - v)

        edges, _ = _panels(_ABSENT, self.shift)
        return float(integrate(slice_of, edges[:-1], edges[1:], _NODES).sum())


def _density(world: int, shift: float, v: Array) -> Array:
    """(s²/π)·e^(∓s·cos v)·(K₀(s)·sin²v + K₁(s)/s) with s = shift/2, minus under h0."""
    s = shift / 2
    # s·K₁(s) tends to 1 and s²·K₀(s) to 0, though K₁ and K₀ overflow.
    wide, flat = (s**2 * kve(0, s), s * kve(1, s)) if s > 1e-100 else (0.0, 1.0)
    bessel = wide * np.sin(v) ** 2 + flat
    # 1 ± cos v as squares: no digits are lost where one of them vanishes.
    away = 2 * (np.cos(v / 2) if world == _ABSENT else np.sin(v / 2)) ** 2
    return np.asarray(np.exp(-s * away) * bessel / np.pi)


@lru_cache(maxsize=64)
def _panels(world: int, shift: float) -> tuple[Array, Array]:
    """Angles that cut (0, π) into panels, and the mass below each of them."""
    # Equal steps of the exponent s·(1 ± cos v), as far as its exponential can be told from 0.
    last = min(1.0, _DEEPEST / shift)
    steps = int(np.ceil(last * shift / _STEEPEST)) + 1
    from_peak = 2 * np.arcsin(np.sqrt(np.linspace(0, last, steps + 1)))
    edges = from_peak if world == _PRESENT else np.pi - from_peak
    edges = np.unique(np.concatenate([edges, np.linspace(0, np.pi, 25)]))
    masses = integrate(lambda v: _density(world, shift, v), edges[:-1], edges[1:], _NODES)
    below = np.concatenate([[0.0], np.cumsum(masses)])
    return edges, below / below[-1]


def _mass_below(world: int, shift: float, v: Array) -> Array:
    """P(angle < v): whole panels, then a part of one."""
    edges, below = _panels(world, shift)
    start = np.clip(np.searchsorted(edges, v) - 1, 0, None)
    part = integrate(lambda x: _density(world, shift, x), edges[start], v, _NODES)
    return np.minimum(below[start] + part, 1.0)


def _angle_with_mass(world: int, shift: float, mass: Array) -> Array:
    """The angle below which lies this mass, at most 1/2, by Newton steps within one panel.

    No search of `solve`: the root may be the edge of a panel, even 0, where no bracket closes.
    """
    edges, below = _panels(world, shift)
    panel = np.clip(np.searchsorted(below, mass) - 1, 0, len(edges) - 2)
    low, high = edges[panel], edges[panel + 1]
    v = low
    for _ in range(_NEWTON):
        short = mass - _mass_below(world, shift, v)
        step = np.where(short == 0, 0.0, short / _density(world, shift, v))
        moved = np.clip(v + step, low, high)
        settled = np.abs(moved - v) <= 4 * np.finfo(float).eps * moved
        v = moved
        if settled.all():
            break
    return v
