"""Trade-off curve of two normal answers with Laplace noise: the data's own spread hides some.

The sum of a normal and a Laplace variable has a log-concave density, so that the likelihood
ratio of two shifted copies rises with the output and a cut-off on it is a best test. Far out the
Laplace tail is all that is left and the ratio tends to e^shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.quadrature import integrate
from tellapart.curve.base import Bound, FourRates, TradeoffCurve, at_ends
from tellapart.curve.closed import LaplaceCurve, SymmetricCurve
from tellapart.curve.guarantees import nothing
from tellapart.worlds.pairs.normal_mixtures import REACH

_SQRT2 = math.sqrt(2)
_NODES = 24
# The square of such a deviation is lost beside 1, and leaving it out only helps the attacker.
_NEGLIGIBLE = 1e-9
# e^−DEEPEST is 0 in doubles.
_DEEPEST = 750.0


@dataclass(frozen=True, repr=False)
class NormalLaplaceCurve(SymmetricCurve):
    """Two laws of normal plus Laplace noise whose centres lie ``shift`` apart.

    ``deviation`` is that of the normal part; both are in units of the Laplace scale.
    """

    shift: float
    deviation: float
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        _checks.finite_above_zero(shift=self.shift)
        _checks.finite_above_zero(deviation=self.deviation)

    def _largest_loss(self) -> float:
        return self.shift

    def _delta_at_infinity(self) -> float:
        return 0.0

    def loss(self, output: Array) -> Array:
        """The log-likelihood ratio at outputs counted from the lower centre."""
        s, upper = self.deviation, output - self.shift
        # Where both are bells times slow factors, what the bells differ by is formed at once.
        bells = self.shift / s * ((upper + output) / (2 * s))
        near = bells + _log_slow(upper, s) - _log_slow(output, s)
        far = log_density(upper, s) - log_density(output, s)
        inside = np.maximum(np.abs(upper), np.abs(output)) <= s**2
        return np.clip(np.where(inside, near, far), -self.shift, self.shift)

    @property
    def _end(self) -> float:
        """An output beyond which the ratio is e^shift in doubles, or no mass is left."""
        s = self.deviation
        return self.shift + (s * (s + 10.0) + 1.0 if s <= REACH else REACH * s)

    def _output(self, loss: Array) -> Array:
        """Where the log-ratio is this, for 0 ≤ loss ≤ shift; the end if it is nowhere."""
        middle = self.shift / 2
        result = np.where(loss > 0, self._end, middle)
        inside = (loss > 0) & (loss < self.loss(np.array(self._end)))
        if inside.any():
            asked = loss[inside]
            ends = np.zeros_like(asked), np.full_like(asked, self._end - middle)
            result[inside] = (
                middle + solve.falling_root(lambda away: asked - self.loss(middle + away), *ends)[1]
            )
        return result

    def _rates(self, threshold: Array) -> FourRates:
        away = self._output(np.clip(np.abs(threshold), 0.0, self.shift))
        rates = self._at(np.where(threshold >= 0, away, self.shift - away))
        return at_ends(rates, threshold >= self.shift, threshold < -self.shift)

    def _at(self, output: Array) -> FourRates:
        """The rates of the test that rejects beyond an output."""
        s, upper = self.deviation, output - self.shift
        return tail(output, s), tail(upper, s), tail(-upper, s), tail(-output, s)

    def _beta(self, alpha: Array) -> Array:
        return np.where(alpha == 0, 1.0, np.where(alpha == 1, 0.0, self._at(self._cut(alpha))[2]))

    def _tpr(self, fpr: Array) -> Array:
        return np.where(fpr == 0, 0.0, np.where(fpr == 1, 1.0, self._at(self._cut(fpr))[1]))

    def _fpr_at_small(self, tpr: Array) -> Array:
        fpr = self._at(self.shift + self._cut(tpr))[0]
        return np.where(tpr == 0, 0.0, fpr)

    def _cut(self, rate: Array) -> Array:
        """The output, counted from its centre, that a law exceeds this often."""
        small = np.clip(np.minimum(rate, 1 - rate), 1e-320, None)
        s = self.deviation

        def excess(output: Array) -> Array:
            return np.asarray(np.log(tail(output, s)) - np.log(small))

        start = np.zeros_like(small)
        inside = excess(start) > 0
        low = np.where(inside, start, -1.0)
        cut = solve.falling_root(excess, low, solve.climb(excess, start + 1.0, 1.0))[1]
        return np.where(inside, cut, 0.0) * np.where(rate <= 0.5, 1.0, -1.0)

    def _profile(self, epsilon: Array) -> Array:
        """∫ (1 − e^(ε−loss)) over the rejected outputs, seen from h1: no term is negative."""
        level = np.minimum(epsilon, self.shift)
        first = np.minimum(self._output(level), self._end)[..., None]
        low, high = (np.maximum(edge, first) for edge in (self._edges[:-1], self._edges[1:]))

        def gain(output: Array) -> Array:
            lost = -np.expm1(level[..., None, None] - self.loss(output))
            density = np.exp(log_density(output - self.shift, self.deviation))
            return np.asarray(density * np.maximum(lost, 0.0))

        inner = integrate(gain, low, high, _NODES).sum(axis=-1)
        beyond = tail(np.array(self._end - self.shift), self.deviation)
        return np.asarray(np.minimum(inner - beyond * np.expm1(level - self.shift), 1.0))

    @cached_property
    def _edges(self) -> Array:
        start = max(self.shift / 2, self.shift - REACH * self.deviation - _DEEPEST)
        return panels(start, self._end, (0.0, self.shift), self.deviation)

    def _area(self) -> float:
        """The chance that the upper law gives less than the lower one."""
        s, d = self.deviation, self.shift
        reach = min(REACH * s, s**2 + REACH * s) + _DEEPEST
        if d > 2 * reach:
            return 0.0
        edges = panels(-d - reach, reach, (-d, 0.0), s)

        def slice_of(z: Array) -> Array:
            return np.asarray(np.exp(log_density(z, s)) * tail(z + d, s))

        return float(integrate(slice_of, edges[:-1], edges[1:], _NODES).sum())


def normal_laplace(shift: float, deviation: float) -> TradeoffCurve:
    """Two normal answers of this deviation so far apart, both in units of the Laplace scale."""
    if shift == 0:
        return nothing()
    if deviation < _NEGLIGIBLE:
        return LaplaceCurve(shift)
    return NormalLaplaceCurve(shift, deviation)


def log_density(x: Array, deviation: float) -> Array:
    """The log-density of the sum of a normal variable and a Laplace one of scale 1."""
    z, s = np.abs(x) / deviation, deviation
    near = _log_slow(x, s) - z**2 / 2
    bell = np.exp(-((z - s) ** 2) / 2) * erfcx((z + s) / _SQRT2) / 4
    with np.errstate(divide="ignore"):  # where the near form counts
        far = s**2 / 2 - np.abs(x) + np.log(ndtr(z - s) / 2 + bell)
    return np.where(z <= s, near, far)


def tail(x: Array, deviation: float) -> Array:
    """How often the sum exceeds x; each tail with its own digits."""
    z, s = np.abs(x) / deviation, deviation
    bell = np.exp(-(z**2) / 2)
    own = bell * (2 * erfcx(z / _SQRT2) - erfcx((z + s) / _SQRT2)) / 4
    near = bell * erfcx(np.maximum(s - z, 0.0) / _SQRT2) / 4
    far = np.exp(np.minimum(s**2 / 2 - np.abs(x), 0.0)) * ndtr(z - s) / 2
    masses = own + np.where(z <= s, near, far)
    return np.asarray(np.where(x >= 0, masses, 1 - masses))


def log_tail(x: float, deviation: float) -> float:
    """The logarithm of the tail, more than ten deviations beyond deviation² from the centre."""
    z, s = x / deviation, deviation
    return s**2 / 2 - x - math.log(2) + float(log_ndtr(z - s))


def panels(start: float, end: float, kinks: tuple[float, ...], deviation: float) -> Array:
    """Edges between which densities are smooth: where the Laplace kinks are rounded, closer."""
    step = max(deviation, 1.0)
    edges = [np.linspace(start, end, max(2, math.ceil((end - start) / step) + 1))]
    if deviation < 1:
        edges += [kink + deviation * np.arange(-12.0, 13.0) for kink in kinks]
    every = np.unique(np.concatenate(edges))
    return np.asarray(every[(every >= start) & (every <= end)])


def _log_slow(x: Array, s: float) -> Array:
    """The log-density without its bell e^(−x²/2s²), within s² of the centre."""
    z = np.minimum(np.abs(x) / s, s)
    return np.asarray(np.log(erfcx((s - z) / _SQRT2) + erfcx((s + z) / _SQRT2)) - math.log(4))
