"""Noise distributions: what is added to an answer, and the curve of two answers a shift apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve import discrete_gaussian
from tellapart.curve.atomic import from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import LaplaceCurve
from tellapart.curve.guarantees import everything, gaussian, nothing
from tellapart.curve.truncated_laplace import TruncatedLaplaceCurve


def missed(coverage: float, cells: int = 1) -> float:
    """How often one answer may lie outside, where all of so many are to lie inside this often.

    Exact for independent noise: 1 − coverage^(1/cells).
    """
    share = _checks.inside_unit(coverage=coverage)
    if _checks.whole(1, cells=cells) == 1:
        return 1 - share
    return -math.expm1(math.log(share) / cells)


class NoiseLaw(ABC):
    """A symmetric, log-concave law: of two shifts the larger is always easier to detect.

    Its likelihood ratio rises with the output, so the best test of a shift is a cut-off.
    """

    whole: ClassVar[bool] = False  # lives on the integers
    rotational: ClassVar[bool] = False  # looks the same in every direction

    @abstractmethod
    def curve(self, shift: float) -> TradeoffCurve:
        """The curve of two answers that lie this far apart."""

    @abstractmethod
    def log_ratio(self, x: Array, shift: float) -> Array:
        """The log-likelihood ratio of x, noise centred at ``shift`` against 0."""

    @abstractmethod
    def above(self, x: Array) -> Array:
        """P(noise > x)."""

    @abstractmethod
    def cut(self, fpr: Array) -> Array:
        """The least x with P(noise > x) ≤ fpr."""

    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise."""

    def at(self, x: Array) -> Array:
        """P(noise = x): 0 unless the noise is discrete."""
        return np.zeros_like(x)


@dataclass(frozen=True)
class LaplaceLaw(NoiseLaw):
    """Density proportional to exp(−|x|/scale)."""

    scale: float

    def curve(self, shift: float) -> TradeoffCurve:
        ratio = shift / self.scale
        return LaplaceCurve(ratio) if ratio < math.inf else everything()

    def log_ratio(self, x: Array, shift: float) -> Array:
        return np.clip(2 * x - shift, -shift, shift) / self.scale

    def above(self, x: Array) -> Array:
        tail = np.exp(-np.abs(x) / self.scale) / 2
        return np.where(x >= 0, tail, 1 - tail)

    def cut(self, fpr: Array) -> Array:
        far = np.log(2 * np.minimum(fpr, 1 - fpr))
        return np.asarray(self.scale * np.where(fpr <= 0.5, -far, far))

    def deviation(self) -> float:
        return math.sqrt(2) * self.scale


@dataclass(frozen=True)
class GaussianLaw(NoiseLaw):
    """Normal noise of deviation sigma."""

    rotational: ClassVar[bool] = True

    sigma: float

    def curve(self, shift: float) -> TradeoffCurve:
        return gaussian(shift / self.sigma)

    def log_ratio(self, x: Array, shift: float) -> Array:
        return _normal_log_ratio(x - shift / 2, shift, self.sigma)

    def above(self, x: Array) -> Array:
        return np.asarray(ndtr(-x / self.sigma))

    def cut(self, fpr: Array) -> Array:
        return np.asarray(-self.sigma * ndtri(fpr))

    def deviation(self) -> float:
        return self.sigma


@dataclass(frozen=True)
class TruncatedLaplaceLaw(NoiseLaw):
    """Laplace noise conditioned on |x| ≤ cutoff."""

    scale: float
    cutoff: float

    def _unit(self, shift: float) -> TruncatedLaplaceCurve:
        return TruncatedLaplaceCurve(shift / self.scale, self.cutoff / self.scale)

    def curve(self, shift: float) -> TradeoffCurve:
        if shift >= 2 * self.cutoff:
            return everything()
        return self._unit(shift)

    def log_ratio(self, x: Array, shift: float) -> Array:
        inside = np.clip(2 * x - shift, -shift, shift) / self.scale
        centred, shifted = np.abs(x) <= self.cutoff, np.abs(x - shift) <= self.cutoff
        return np.select([centred & shifted, shifted, centred], [inside, np.inf, -np.inf], 0.0)

    def above(self, x: Array) -> Array:
        return self._unit(0.0).noise_above(x / self.scale)

    def cut(self, fpr: Array) -> Array:
        return self.scale * self._unit(0.0).noise_cut(fpr)

    def deviation(self) -> float:
        end = self.cutoff / self.scale
        if end < 1e-16:  # as good as uniform
            return self.cutoff / math.sqrt(3)
        return self.scale * math.sqrt(2 * gammainc(3, end) / -math.expm1(-end))


@dataclass(frozen=True)
class DiscreteLaplaceLaw(NoiseLaw):
    """Two-sided geometric noise: P(x) proportional to exp(−|x|/scale) on the integers."""

    whole: ClassVar[bool] = True

    scale: float

    def curve(self, shift: float) -> TradeoffCurve:
        """Corners (a^j, a^(Δ+1−j))/(1 + a), j = Δ … 1, with a = e^(−1/scale)."""
        if shift == 0 or math.isinf(self.scale):
            return nothing()
        if math.isinf(shift / self.scale):
            return everything()
        steps = int(shift)
        a, whole = 1 / self.scale, 1 + math.exp(-1 / self.scale)
        # Outputs at or above the higher centre, those between, those at or below the lower.
        between = np.arange(steps - 1, 0, -1)
        inner = np.exp(-a * between) * -math.expm1(-a) / whole
        losses = a * np.concatenate([[steps], 2 * between - steps, [-steps]])
        absent = np.concatenate([[math.exp(-a * steps) / whole], inner, [1 / whole]])
        return from_atoms(losses, absent, absent[::-1].copy(), Bound.EXACT)

    def log_ratio(self, x: Array, shift: float) -> Array:
        return np.clip(2 * x - shift, -shift, shift) / self.scale

    def above(self, x: Array) -> Array:
        x = np.floor(x)
        outer = np.where(x >= 0, x + 1, -x)
        tail = np.exp(-outer / self.scale) / (1 + math.exp(-1 / self.scale))
        return np.where(x >= 0, tail, 1 - tail)

    def cut(self, fpr: Array) -> Array:
        return _whole_cut(self, fpr)

    def deviation(self) -> float:
        half = 0.5 / self.scale
        if half > 700:
            return 0.0
        return 1 / (math.sqrt(2) * math.sinh(half)) if half else math.inf

    def at(self, x: Array) -> Array:
        mass = np.exp(-np.abs(x) / self.scale) * math.tanh(0.5 / self.scale)
        return np.where(x == np.floor(x), mass, 0.0)


@dataclass(frozen=True)
class DiscreteGaussianLaw(NoiseLaw):
    """P(x) proportional to exp(−x²/(2·sigma²)) on the integers."""

    whole: ClassVar[bool] = True

    sigma: float

    def curve(self, shift: float) -> TradeoffCurve:
        if shift == 0 or math.isinf(self.sigma):
            return nothing()
        return discrete_gaussian.DiscreteGaussianCurve(self.sigma, shift)

    def log_ratio(self, x: Array, shift: float) -> Array:
        return _normal_log_ratio(x - shift / 2, shift, self.sigma)

    def above(self, x: Array) -> Array:
        return discrete_gaussian.above(self.sigma, np.floor(x))

    def cut(self, fpr: Array) -> Array:
        return _whole_cut(self, fpr)

    def deviation(self) -> float:
        """Sigma itself but for terms of order e^(−2π²σ²), which rounding hides beyond σ = 2."""
        if self.sigma > 2:
            return self.sigma
        x = np.arange(1.0, 100.0)
        with np.errstate(all="ignore"):
            return float(np.sqrt(2 * np.sum(x**2 * self.at(x))))

    def at(self, x: Array) -> Array:
        return np.where(x == np.floor(x), np.exp(discrete_gaussian.log_mass(self.sigma, x)), 0.0)


def _normal_log_ratio(beyond_middle: Array, shift: float, sigma: float) -> Array:
    ratio = beyond_middle / sigma * (shift / sigma)
    return np.where(beyond_middle == 0, 0.0, ratio)


def _whole_cut(law: NoiseLaw, fpr: Array) -> Array:
    """The least whole x with P(noise > x) ≤ fpr."""

    def too_likely(x: Array) -> Array:
        return law.above(x) - fpr

    inside = (fpr > 0) & (fpr < 1)
    result = np.where(fpr <= 0, np.inf, -np.inf)
    if inside.any():
        result[inside] = _whole_cuts(law, fpr[inside])
    return result


def _whole_cuts(law: NoiseLaw, fpr: Array) -> Array:
    """Each sought by itself, or among all that lie between those of the ends where these are few.

    So a rate's cut does not depend on what else is asked, but for rounding.
    """

    def sought(rates: Array) -> Array:
        def too_likely(x: Array) -> Array:
            return law.above(x) - rates

        start = np.zeros_like(rates)
        low, high = solve.climb(too_likely, start, -1.0), solve.climb(too_likely, start, 1.0)
        return solve.falling_whole(too_likely, low, high)[1]

    if fpr.size <= 2:
        return sought(fpr)
    first, last = sought(np.array([fpr.max(), fpr.min()]))
    if last - first > fpr.size:
        return sought(fpr)
    listed = np.arange(first, last + 1)
    above = np.minimum.accumulate(law.above(listed))
    return listed[np.minimum(np.searchsorted(-above, -fpr), listed.size - 1)]
