"""Poisson-sampled Gaussian sums under replace-one: a record in the data is this one or that one.

Given all other records of the sample, a record x that is replaced by x′ leaves

    (1 − q)·N(0, I) + q·N(x, I) against (1 − q)·N(0, I) + q·N(x′, I),  |x|, |x′| ≤ μ.

**No such pair leaks more than x = −x′ of norm μ.** For ε ≥ 0 let e^ε′ = 1 + q·(e^ε − 1) and
β = e^(ε′ − ε). By advanced joint convexity, an equality (Balle, Barthe and Gaboardi 2018,
Theorem 2), δ(ε′) is q times the δ(ε) of N(x) against (1 − β)·N(0) + β·N(x′), which is, moved by −x,
that of N(0) against (1 − β)·N(−x) + β·N(x′ − x). Its likelihood ratio is a mean of log-normals of
mean 1 whose logarithms have covariances ⟨y_i, y_j⟩ for y = (−x, x′ − x): at most those of aligned
shifts μ and 2μ. By Kahane's inequality (1986) a mean of such log-normals grows in convex order with
each covariance, and δ is the mean of a convex function of it. The opposite x = −x′ attains the
aligned shifts, for every ε at once; the pair is the same in both orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, ndtr

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import FourRates, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.group_privacy import OneStep
from tellapart.curve.composition.loss_laws import LossLaw
from tellapart.curve.composition.loss_quadrature import Outcomes, SmoothLoss, Spread
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.base import BatchStep, Sampling
from tellapart.neighbours import Neighbours

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
# So many deviations beyond the peak of a tilted bell, no double holds its mass.
_UNSEEN, _POINTS = 42.0, 2_000


@dataclass(frozen=True)
class _TwoBells(Outcomes):
    """Outputs under h0, N(0, 1) with a share ``rate`` of N(−mu, 1)."""

    mu: float
    rate: float
    atoms = ()

    def _odds(self, x: Array) -> Array:
        """The logarithm of how much likelier N(mu) is than N(0), with their shares."""
        return np.asarray(self.mu * x - self.mu**2 / 2 + math.log(self.rate / (1 - self.rate)))

    def spread(self, x: Array) -> Spread:
        ahead, back = self._odds(x), self._odds(-x)
        loss = np.logaddexp(0.0, ahead) - np.logaddexp(0.0, back)
        slope = self.mu * (expit(ahead) + expit(back))
        bell = -x * x / 2 - _LOG_ROOT + math.log1p(-self.rate)
        return Spread(np.asarray(loss), np.asarray(slope), np.asarray(bell + np.logaddexp(0, back)))

    def grid(self, tilts: Array) -> Array:
        ends = [max(float(tilts.max()), 0.0), -max(1 - float(tilts.min()), 0.0)]
        high, low = (tilt * self.mu for tilt in ends)
        return np.linspace(low - _UNSEEN, high + _UNSEEN, _POINTS)


@dataclass(frozen=True)
class ReplacedSampleLoss(SmoothLoss):
    """(1 − rate)·N(0, 1) + rate·N(−mu, 1) against the same with N(mu, 1)."""

    mu: float
    rate: float
    least, largest = -math.inf, math.inf

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.mu**2 + 2 - math.log(self.rate)

    def swapped(self) -> LossLaw:
        return self

    def rates(self, t: Array) -> FourRates:
        x, q, mu = self._output(t), self.rate, self.mu
        return (
            (1 - q) * ndtr(-x) + q * ndtr(-x - mu),
            (1 - q) * ndtr(-x) + q * ndtr(mu - x),
            (1 - q) * ndtr(x) + q * ndtr(x - mu),
            (1 - q) * ndtr(x) + q * ndtr(x + mu),
        )

    def _output(self, t: Array) -> Array:
        """The output with this loss, mu·x = t/2 + asinh(sinh(t/2)·e^(mu²/2)·(1 − rate)/rate).

        That solves a quadratic equation in e^(mu·x).
        """
        half, scale = t / 2, self.mu**2 / 2 + math.log1p(-self.rate) - math.log(self.rate)
        with np.errstate(all="ignore"):
            log_sinh = np.abs(half) + np.log(-np.expm1(-2 * np.abs(half))) - math.log(2)
            logs = log_sinh + scale
            away = np.where(
                logs > 30, logs + math.log(2), np.arcsinh(np.exp(np.minimum(logs, 30.0)))
            )
        return np.asarray((half + np.sign(t) * away) / self.mu)

    @property
    def _outcomes(self) -> _TwoBells:
        return _TwoBells(self.mu, self.rate)

    def points(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        return self._outcomes.points(tilts, frequency)

    def rough(self, c: float, top: float) -> tuple[float, float]:
        return self._outcomes.rough(c, top)


@dataclass(frozen=True, repr=False)
class PoissonReplaceOne(BatchStep):
    """A noisy sum of a Poisson sample, in which your record may be yours or another in its place.

    Each record adds a vector of at most ``norm`` to the sum, so that replacing one moves it by
    twice that, and leaving one out by once. The curve is exact, by the proof above. Build one with
    ``ta.dp_sgd(..., neighbours=ta.Neighbours.REPLACE)``.

    >>> round(PoissonReplaceOne(sigma=1, rate=0.01).repeated(1_000).epsilon(delta=1e-5), 4)
    2.8434
    """

    sigma: float
    rate: float
    norm: float = 1.0
    neighbours: Neighbours = field(init=False, default=Neighbours.REPLACE)

    def __post_init__(self) -> None:
        self._set(
            sigma=_checks.finite_above_zero(sigma=self.sigma),
            rate=_checks.probability(rate=self.rate),
            norm=_checks.finite_at_least_zero(norm=self.norm),
        )

    def _present_test(self) -> TradeoffCurve:
        shift = self.norm / self.sigma
        if self.rate == 0 or shift == 0:
            return nothing()
        if self.rate == 1:
            return GaussianCurve(2 * shift)
        return OneStep(ReplacedSampleLoss(shift, self.rate))

    def _unsampled(self, scheme: Sampling) -> str:
        return "it is a sample already: multiply its rate, and leave .sampled out"
