"""Amplification by subsampling: the attacker sees the interesting outcome only sometimes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.solve import Falling
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.curve.closed import SymmetricCurve


@dataclass(frozen=True, repr=False)
class SampledCurve(TradeoffCurve):
    """P against (1 − rate)·P + rate·Q: the record is in the sample with probability ``rate``."""

    base: TradeoffCurve
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _checks.inside_unit(rate=self.rate))

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.base.bound

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return self.base._accuracy

    def _mirrored(self) -> UnsampledCurve:
        return UnsampledCurve(self)

    def _behind(self, threshold: Array) -> Array:
        """The threshold on the base's loss: log(1 + (e^t − 1)/rate)."""
        grown = np.expm1(np.minimum(threshold, 700.0)) / self.rate
        far = threshold - math.log(self.rate)
        return np.where(threshold > 40, far, np.log1p(np.maximum(grown, -1.0)))

    def _rates(self, threshold: Array) -> FourRates:
        q = self.rate
        fpr, tpr, fnr, tnr = self.base._rates(self._behind(threshold))
        some = (1 - q) * fpr + q * tpr, q * fnr + (1 - q) * tnr
        all_of_it = threshold < math.log1p(-q)
        columns = zip((fpr, *some, tnr), (1.0, 1.0, 0.0, 0.0), strict=True)
        fpr, tpr, fnr, tnr = (np.where(all_of_it, end, x) for x, end in columns)
        return fpr, tpr, fnr, tnr

    def _threshold_range(self, excess: Falling, like: Array) -> tuple[Array, Array]:
        return _wider(*super()._threshold_range(excess, like))

    def _beta(self, alpha: Array) -> Array:
        return self.rate * self.base._beta(alpha) + (1 - self.rate) * (1 - alpha)

    def _tpr(self, fpr: Array) -> Array:
        return self.rate * self.base._tpr(fpr) + (1 - self.rate) * fpr

    def _delta(self, epsilon: Array) -> Array:
        delta = self.rate * self.base._delta(self._behind(epsilon))
        return np.where(epsilon < math.log1p(-self.rate), -np.expm1(epsilon), delta)

    def _largest_loss(self) -> float:
        return self._ahead(self.base._largest_loss())

    def _ahead(self, loss: float) -> float:
        """The loss that a loss of the base becomes: log(1 + rate·(e^loss − 1))."""
        if loss > 40:
            return loss + math.log(self.rate)
        return math.log1p(self.rate * math.expm1(loss))

    def _delta_at_infinity(self) -> float:
        return self.rate * self.base._delta_at_infinity()


@dataclass(frozen=True, repr=False)
class UnsampledCurve(TradeoffCurve):
    """The mirror of a `SampledCurve`: (1 − rate)·P + rate·Q against P. Its loss is bounded."""

    sampled: SampledCurve

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.sampled.bound

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return self.sampled._accuracy

    def _mirrored(self) -> SampledCurve:
        return self.sampled

    def _rates(self, threshold: Array) -> FourRates:
        # Flags where the loss is below −threshold, not at it.
        fpr, tpr, fnr, tnr = self.sampled._rates(np.nextafter(-threshold, -np.inf))
        return fnr, tnr, fpr, tpr

    def _threshold_range(self, excess: Falling, like: Array) -> tuple[Array, Array]:
        return _wider(*super()._threshold_range(excess, like))

    def _delta(self, epsilon: Array) -> Array:
        """(1 − e^ε·(1 − rate))·δ of the base's mirror, at what is left of ε."""
        q = self.sampled.rate
        left = -np.expm1(np.minimum(epsilon + math.log1p(-q), 0.0))
        behind = epsilon + math.log(q) - np.log(left)
        delta = left * self.sampled.base.mirrored()._delta(np.where(left > 0, behind, 0.0))
        return np.where(left > 0, delta, 0.0)

    def _largest_loss(self) -> float:
        base = self.sampled.base
        if base.mirrored()._delta_at_infinity() > 0:  # what only h0 showed is now bounded, too
            return -math.log1p(-self.sampled.rate)
        return -self.sampled._ahead(base._smallest_loss())

    def _delta_at_infinity(self) -> float:
        return 0.0


@dataclass(frozen=True, repr=False)
class ReplacedCurve(SymmetricCurve):
    """The pair for both orders whose profile at ε ≥ 0 is that of a `SampledCurve`.

    What a sample of the data leaves of a step whose neighbours replace a record.
    """

    sampled: SampledCurve
    bound: Bound = Bound.LOWER

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return self.sampled._accuracy

    def _rates(self, threshold: Array) -> FourRates:
        ahead = self.sampled._rates(np.maximum(threshold, 0.0))
        # In the mirror, flags where the loss is below −threshold, not at it.
        under = np.nextafter(np.maximum(-threshold, 0.0), -np.inf)
        fpr, tpr, fnr, tnr = self.sampled._rates(np.maximum(under, 0.0))
        columns = zip(ahead, (fnr, tnr, fpr, tpr), strict=True)
        a, b, c, d = (np.where(threshold < 0, back, x) for x, back in columns)
        return a, b, c, d

    def _beta(self, alpha: Array) -> Array:
        """As on the sample, then a line of slope −1, then the mirror."""
        few, _, many, _ = (float(x) for x in self.sampled._rates(np.zeros(())))
        near = self.sampled._beta(np.minimum(alpha, few))
        far = np.minimum(self.sampled.mirrored()._beta(np.maximum(alpha, many)), few)
        return np.select([alpha <= few, alpha >= many], [near, far], few + many - alpha)

    def _tpr(self, fpr: Array) -> Array:
        few = float(self.sampled._rates(np.zeros(()))[0])
        near = self.sampled._tpr(np.minimum(fpr, few))
        return np.where(fpr <= few, near, 1 - self._beta(fpr))

    def _profile(self, epsilon: Array) -> Array:
        return self.sampled._delta(epsilon)

    def _epsilon(self, delta: Array) -> Array:
        return self.sampled._epsilon(delta)

    def _largest_loss(self) -> float:
        return self.sampled._largest_loss()

    def _delta_at_infinity(self) -> float:
        return self.sampled._delta_at_infinity()


def _wider(low: Array, high: Array) -> tuple[Array, Array]:
    """A little further: the ends of the losses are rounded on their way through the sample."""
    return low - 1e-12 * (1 + np.abs(low)), high + 1e-12 * (1 + np.abs(high))
