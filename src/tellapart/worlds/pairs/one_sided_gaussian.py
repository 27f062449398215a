"""One hypothesis under normal noise of deviation 1: its centres lie on one side of the cut, at 0.

A centre at distance d changes the density at an output t by the factor e^(t·d − d²/2). Means over
evenly spread centres are Gauss-Legendre sums of positive terms, taken where the terms count.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erf, erfcx, log_ndtr, ndtr

from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart.worlds.pairs.one_sided_base import Side, log_mean_exp, mean_tail

_SQRT2 = math.sqrt(2)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
# Terms below e^−42 of the largest one change no digit of a sum.
_DEEPEST = 42.0
# Below this Φ is 0 beside 1, and Mills' ratio soon too large.
_DEEP = -9.2
# Enough for a bell cut off at that depth; and for a factor that changes by less than e².
_NODES, _FEW_NODES = 48, 12


class GaussianSide(Side):
    """The density ratio grows without bound on this side of the cut, and vanishes on the other."""

    reach: ClassVar[float] = 40.0  # Φ(−40) is 0

    @abstractmethod
    def log_weight(self, output: Array) -> Array:
        """Log of the mean of e^(output·d − d²/2): the density ratio to a centre at the cut."""

    @abstractmethod
    def gain(self, output: Array) -> Array:
        """The mean profile of one centre against the cut, where an output is the threshold."""

    @abstractmethod
    def share(self, output: Array) -> Array:
        """Mean of 1 − m(t + d)/m(t), m being Mills' ratio, for an output t across the cut.

        Each d is weighed by how likely its centre, at −d, makes t.
        """

    @abstractmethod
    def mean(self, falling: Callable[[Array], Array]) -> float:
        """The mean of a function of d that falls as fast as a normal tail."""

    @abstractmethod
    def shrunk(self, factor: float) -> GaussianSide:
        """The same with all distances multiplied."""


@dataclass(frozen=True)
class GaussianUniform(GaussianSide):
    """Centres spread evenly over the distances from 0 to ``width``."""

    width: float

    def furthest(self) -> float:
        return self.width

    def shrunk(self, factor: float) -> GaussianUniform:
        return GaussianUniform(self.width * factor)

    def tail(self, x: Array, sign: Array | float) -> Array:
        return mean_tail(_tail_mean, x, sign, self.width)

    def log_weight(self, output: Array) -> Array:
        w = self.width
        if w == 0:
            return np.zeros_like(output)
        # Counting distances from the other end maps outputs beyond the middle to those before it.
        x = np.minimum(output, w - output)
        turned = np.where(output > w / 2, w * (output - w / 2), 0.0)
        behind = _mills(-x) - np.exp(w * (x - w / 2)) * _mills(w - x)
        inside = _SQRT_HALF_PI * (erf(x / _SQRT2) + erf((w - x) / _SQRT2))
        wide = np.where(x < 0, np.log(behind), np.maximum(x, 0.0) ** 2 / 2 + np.log(inside))
        found = wide - math.log(w)
        if w < 1:
            found = np.where(w * (1 + np.abs(x)) < 1, self._narrow(x), found)
        return np.asarray(turned + found)

    def _narrow(self, x: Array) -> Array:
        def growth(d: Array) -> Array:
            return np.expm1(d * self.width * (x[..., None] - d * self.width / 2))

        return np.log1p(integrate(growth, np.zeros_like(x), np.ones_like(x), _FEW_NODES))

    def gain(self, output: Array) -> Array:
        if self.width == 0:
            return np.zeros_like(output)

        def slice_of(x: Array) -> Array:
            return (1 - x / self.width) * _steps(output[..., None], x)

        return integrate(slice_of, *_window(output, self.width), _NODES)

    def share(self, output: Array) -> Array:
        if self.width == 0:
            return np.zeros_like(output)
        low, high = _window(-output, self.width)
        peak = _exponent(-output, np.clip(-output, 0.0, self.width))

        def likely(d: Array) -> Array:
            return np.exp(_exponent(-output[..., None], d) - peak[..., None])

        def kept(d: Array) -> Array:
            return likely(d) * _fall_of_mills(output[..., None], d)

        return integrate(kept, low, high, _NODES) / integrate(likely, low, high, _NODES)

    def mean(self, falling: Callable[[Array], Array]) -> float:
        if self.width == 0:
            return float(falling(np.zeros(())))
        end = np.asarray(min(self.width, math.sqrt(2 * _DEEPEST) * _SQRT2))
        return float(integrate(falling, np.zeros(()), end, _NODES) / self.width)


@dataclass(frozen=True, eq=False)
class GaussianPoints(GaussianSide):
    """Finitely many centres."""

    distances: Array
    weights: Array

    def furthest(self) -> float:
        return float(self.distances.max())

    def shrunk(self, factor: float) -> GaussianPoints:
        return GaussianPoints(self.distances * factor, self.weights)

    def tail(self, x: Array, sign: Array | float) -> Array:
        moved = x[..., None] + np.asarray(sign)[..., None] * self.distances
        return np.asarray((ndtr(-moved) * self.weights).sum(axis=-1))

    def log_weight(self, output: Array) -> Array:
        return log_mean_exp(_exponent(output[..., None], self.distances), self.weights)

    def gain(self, output: Array) -> Array:
        t = output[..., None]
        low, high = _window(t, self.distances)
        each = integrate(lambda x: _steps(t[..., None], x), low, high, _NODES)
        return np.asarray((each * self.weights).sum(axis=-1))

    def share(self, output: Array) -> Array:
        exponents = _exponent(-output[..., None], self.distances)
        likely = self.weights * np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        kept = likely * _fall_of_mills(output[..., None], self.distances)
        return np.asarray(kept.sum(axis=-1) / likely.sum(axis=-1))

    def mean(self, falling: Callable[[Array], Array]) -> float:
        return float(falling(self.distances) @ self.weights)


def _exponent(output: Array, distance: Array) -> Array:
    return distance * (output - distance / 2)


def _mills(x: Array) -> Array:
    """Φ(−x)/φ(x)."""
    return np.asarray(_SQRT_HALF_PI * erfcx(x / _SQRT2))


def _steepness(x: Array) -> Array:
    """1 − x·m(x), by which Mills' ratio falls."""
    return np.maximum(1 - x * _mills(x), 0.0)


def _fall_of_mills(t: Array, d: Array) -> Array:
    """1 − m(t + d)/m(t), from the slope where the two are close."""
    t, d = np.broadcast_arrays(t, d)
    close = integrate(
        lambda x: _steepness(t[..., None] + x), np.zeros_like(d), np.minimum(d, 1.0), _FEW_NODES
    )
    far = np.where(d * (1 + np.abs(t)) >= 1, 1 - _mills(t + d) / _mills(t), close / _mills(t))
    # Far below the cut Mills' ratio overflows; what moves it there is the density.
    low = -np.expm1(d * (t + d / 2) + log_ndtr(-t - d) - log_ndtr(-t))
    return np.where((t < _DEEP) & (t + d < 0), low, far)


def _steps(t: Array, x: Array) -> Array:
    """How fast the profile of a centre x against the cut grows with x, t being the threshold.

    Φ(x − t) − e^(tx − x²/2)·Φ(−t) has the derivative φ(t − x)·(1 − (t − x)·m(t)) in x.
    """
    density = np.exp(-((t - x) ** 2) / 2) / math.sqrt(2 * math.pi)
    low = np.exp(_exponent(t, x)) * (x - t)  # Φ(−t) is 1
    return np.where(t < _DEEP, low, density * (_steepness(t) + x * _mills(t)))


def _window(centre: Array, width: Array | float) -> tuple[Array, Array]:
    """The part of [0, width] on which a bell around the centre is not negligible."""
    nearest = np.clip(centre, 0.0, width)
    extra = _extra(np.abs(centre - nearest))
    return np.maximum(nearest - extra, 0.0), np.minimum(nearest + extra, width)


def _extra(distance: Array) -> Array:
    """How much further than this from its middle a bell falls by another e^−42."""
    return np.asarray(2 * _DEEPEST / (np.sqrt(distance**2 + 2 * _DEEPEST) + distance))


def _tail_mean(x: Array, width: Array) -> Array:
    """The mean of Φ(−y) over y from x ≥ 0 to x + width."""
    start, step = x[..., None], np.minimum(width, 1.0)[..., None]
    narrow = integrate(lambda y: ndtr(-start - y * step), 0 * x, 0 * x + 1, _FEW_NODES)
    wide = (_integrated_tail(x) - _integrated_tail(x + width)) / width
    return np.where(width * (1 + x) < 1, narrow, wide)


def _integrated_tail(x: Array) -> Array:
    """The integral of Φ(−y) over y from x ≥ 0 on."""
    return np.asarray(np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * _steepness(x))
