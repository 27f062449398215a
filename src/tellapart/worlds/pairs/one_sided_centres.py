"""Mixtures of Laplace or normal laws with all centres on one side of a cut, at 0.

Each is one hypothesis of a one-sided question, in units of the noise. The centres lie at distances
d from the cut: evenly spread over an interval, or finitely many. All quantities are means over d of
terms that cannot be negative, so no digits cancel, however close or far the centres lie: where two
laws of finitely many centres are close, `laplace` and `gaussian` keep fewer digits of rates at a
likelihood ratio.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import erf, erfcx, exprel, gammainc, log_ndtr, ndtr

from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate


class Centres(ABC):
    """One hypothesis: at which distances d from the cut its centres lie, in units of the noise."""

    reach: ClassVar[float]  # noise further out than this has no mass that a double can hold

    @abstractmethod
    def furthest(self) -> float:
        """The largest distance."""

    @abstractmethod
    def tail(self, x: Array, sign: Array | float) -> Array:
        """The mean of P(noise > x + sign·d), for signs ±1."""


def mean_tail(
    tail_mean: Callable[[Array, Array], Array], x: Array, sign: Array | float, width: float
) -> Array:
    """The mean of P(noise > y) over y between x and x + sign·width, split where the tail turns.

    ``tail_mean(y, w)`` is that mean from y ≥ 0 to y + w, of symmetric noise.
    """
    low = x + np.minimum(sign, 0.0) * width
    below = np.clip(-low, 0.0, width)
    share = below / width if width else np.where(low < 0, 1.0, 0.0)
    left = 1 - tail_mean(np.maximum(-low - width, 0.0), below)
    return np.asarray(share * left + (1 - share) * tail_mean(np.maximum(low, 0.0), width - below))


def log_mean_exp(exponents: Array, weights: Array) -> Array:
    """The log of Σ w·e^x along the last axis; near 0 its error is as small as the x are."""
    top = exponents.max(axis=-1)
    lower = exponents - top[..., None]
    fall = (np.expm1(lower) * weights).sum(axis=-1)
    whole = (np.exp(lower) * weights).sum(axis=-1)
    return np.asarray(top + np.where(fall < -0.5, np.log(whole), np.log1p(fall)))


# -- Laplace noise of scale 1 -------------------------------------------------------------------


class LaplaceCentres(Centres):
    """Beyond the furthest centre, and beyond the cut, an output's density ratio is constant."""

    reach: ClassVar[float] = 750.0  # e^−750 is 0

    @abstractmethod
    def floor(self) -> float:
        """Log of the mean of e^−d: the density ratio to a centre at the cut, across the cut."""

    @abstractmethod
    def rise(self) -> float:
        """How much the log ratio grows from the cut to the furthest centre."""

    @abstractmethod
    def climbed(self, rise: Array) -> Array:
        """The output at which the log ratio has grown this much since the cut."""

    @abstractmethod
    def gain(self, output: Array) -> Array:
        """Mean of 1 − e^−(d − output): what the centres beyond an output add to the profile."""

    @abstractmethod
    def share(self, output: Array) -> Array:
        """Mean of 1 − e^−min(d, output), each d weighed by its density at the output."""

    @abstractmethod
    def pull(self) -> float:
        """Mean of d·e^−d."""


@dataclass(frozen=True)
class LaplaceUniform(LaplaceCentres):
    """Centres spread evenly over the distances from 0 to ``width``."""

    width: float

    def furthest(self) -> float:
        return self.width

    def tail(self, x: Array, sign: Array | float) -> Array:
        return mean_tail(_laplace_tail_mean, x, sign, self.width)

    def floor(self) -> float:
        w = self.width
        return math.log1p(-float(_ramp(np.array(w))) / w) if 0 < w < 1 else math.log(exprel(-w))

    def rise(self) -> float:
        return self.width

    def climbed(self, rise: Array) -> Array:
        """The ratio is 2x − 1 − e^−w·x² up to a factor, with x = e^output: a quadratic."""
        w = self.width
        if w == 0:
            return np.zeros_like(rise)
        root = np.sqrt(np.expm1(rise - w) / math.expm1(-w))
        near = np.log1p(np.expm1(np.minimum(rise, 1.0)) / (1 + root))
        far = rise + np.log1p(root * np.exp(-rise)) - np.log1p(root)
        return np.asarray(np.minimum(np.where(rise < 1, near, far), w))

    def gain(self, output: Array) -> Array:
        left = np.maximum(self.width - np.maximum(output, 0.0), 0.0)
        return np.asarray(_ramp(left) / self.width if self.width else left)

    def share(self, output: Array) -> Array:
        x = np.clip(output, 0.0, self.width)
        before, after = -np.expm1(-x), -np.expm1(x - self.width)
        shares = (gammainc(2, x) + before * after) / (before + after)
        return np.where(x > 0, shares, 0.0)

    def pull(self) -> float:
        return float(gammainc(2, self.width)) / self.width if self.width else 0.0


@dataclass(frozen=True, eq=False)
class LaplacePoints(LaplaceCentres):
    """Finitely many centres."""

    distances: Array
    weights: Array

    def furthest(self) -> float:
        return float(self.distances.max())

    def tail(self, x: Array, sign: Array | float) -> Array:
        moved = x[..., None] + np.asarray(sign)[..., None] * self.distances
        return np.asarray((_laplace_tail(moved) * self.weights).sum(axis=-1))

    def floor(self) -> float:
        return float(log_mean_exp(-self.distances, self.weights))

    def rise(self) -> float:
        return float(self._knots[1][-1])

    @cached_property
    def _knots(self) -> tuple[Array, Array, Array]:
        """Where the ratio bends, its log since the cut there, and what slows its growth after.

        From a knot k on the ratio is A + B·e^(2·output), B = Σ w·e^−d over the centres ahead; the
        last column is log(1 + A/(B·e^2k)).
        """
        at = np.unique(np.append(self.distances, 0.0))
        bent = np.minimum(self.distances, 2 * at[:, None] - self.distances)
        log_ratio = log_mean_exp(bent, self.weights)
        ahead = np.where(self.distances > at[:-1, None], -self.distances, -np.inf)
        slack = log_ratio[:-1] - 2 * at[:-1] - log_mean_exp(ahead, self.weights)
        return at, log_ratio - self.floor(), np.append(np.maximum(slack, 0.0), 0.0)

    def climbed(self, rise: Array) -> Array:
        at, grown, slower = self._knots
        before = np.clip(np.searchsorted(grown, rise, side="right") - 1, 0, at.size - 1)
        more = np.maximum(rise - grown[before], 0.0)
        # e^(2·(output − at)) − 1 = (e^more − 1)·e^slower, in logs as any of them may overflow.
        growth = more + np.log(-np.expm1(-more)) + slower[before]
        output = at[before] + np.logaddexp(0.0, growth) / 2
        return np.asarray(np.minimum(output, np.append(at, at[-1])[before + 1]))

    def gain(self, output: Array) -> Array:
        left = np.maximum(self.distances - np.maximum(output, 0.0)[..., None], 0.0)
        return np.asarray((-np.expm1(-left) * self.weights).sum(axis=-1))

    def share(self, output: Array) -> Array:
        x = np.maximum(output, 0.0)[..., None]
        apart = np.abs(self.distances - x)
        likely = self.weights * np.exp(apart.min(axis=-1, keepdims=True) - apart)
        kept = -np.expm1(-np.minimum(self.distances, x))
        return np.asarray((likely * kept).sum(axis=-1) / likely.sum(axis=-1))

    def pull(self) -> float:
        return float((self.distances * np.exp(-self.distances)) @ self.weights)


def _laplace_tail(x: Array) -> Array:
    """P(noise > x)."""
    small = np.exp(-np.abs(x)) / 2
    return np.where(x >= 0, small, 1 - small)


def _laplace_tail_mean(x: Array, width: Array) -> Array:
    """The mean of P(noise > y) over y from x ≥ 0 to x + width."""
    return np.asarray(np.exp(-x) / 2 * exprel(-width))


def _ramp(x: Array) -> Array:
    """That is x − 1 + e^−x, by its series where that cancels."""
    small = np.minimum(x, 0.5)
    series = np.zeros_like(x)
    for k in range(16, 1, -1):
        series = (1 - series) * small / k
    return np.where(x < 0.5, series * small, x + np.expm1(-x))


# -- normal noise of deviation 1 ----------------------------------------------------------------

# A centre at distance d changes the normal density at an output t by the factor e^(t·d − d²/2).
# Means over evenly spread centres are Gauss-Legendre sums of positive terms, where they count.
_SQRT2 = math.sqrt(2)
_SQRT_HALF_PI = math.sqrt(math.pi / 2)
# Terms below e^−42 of the largest one change no digit of a sum.
_DEEPEST = 42.0
# Below this Φ is 0 beside 1, and Mills' ratio soon too large.
_DEEP = -9.2
# Enough for a bell cut off at that depth; and for a factor that changes by less than e².
_NODES, _FEW_NODES = 48, 12


class GaussianCentres(Centres):
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
    def shrunk(self, factor: float) -> GaussianCentres:
        """The same with all distances multiplied."""


@dataclass(frozen=True)
class GaussianUniform(GaussianCentres):
    """Centres spread evenly over the distances from 0 to ``width``."""

    width: float

    def furthest(self) -> float:
        return self.width

    def shrunk(self, factor: float) -> GaussianUniform:
        return GaussianUniform(self.width * factor)

    def tail(self, x: Array, sign: Array | float) -> Array:
        return mean_tail(_normal_tail_mean, x, sign, self.width)

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
        logs = wide - math.log(w)
        if w < 1:
            logs = np.where(w * (1 + np.abs(x)) < 1, self._narrow(x), logs)
        return np.asarray(turned + logs)

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
class GaussianPoints(GaussianCentres):
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


def _normal_tail_mean(x: Array, width: Array) -> Array:
    """The mean of Φ(−y) over y from x ≥ 0 to x + width."""
    start, step = x[..., None], np.minimum(width, 1.0)[..., None]
    narrow = integrate(lambda y: ndtr(-start - y * step), 0 * x, 0 * x + 1, _FEW_NODES)
    wide = (_integrated_tail(x) - _integrated_tail(x + width)) / width
    return np.where(width * (1 + x) < 1, narrow, wide)


def _integrated_tail(x: Array) -> Array:
    """The integral of Φ(−y) over y from x ≥ 0 on."""
    return np.asarray(np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * _steepness(x))
