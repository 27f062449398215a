"""A test of which the attacker sees the interesting outcome only some of the time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import Bound, TradeoffCurve


@dataclass(frozen=True)
class SampledCurve(TradeoffCurve):
    """P against (1 − rate)·P + rate·Q: the record is in the sample with probability ``rate``."""

    base: TradeoffCurve
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _checks.inside_unit(rate=self.rate))

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.base.bound

    def mirrored(self) -> UnsampledCurve:
        return UnsampledCurve(self)

    def _behind(self, threshold: Array) -> Array:
        """The threshold on the base's loss: log(1 + (e^t − 1)/rate)."""
        grown = np.expm1(np.minimum(threshold, 700.0)) / self.rate
        far = threshold - math.log(self.rate)
        return np.where(threshold > 40, far, np.log1p(np.maximum(grown, -1.0)))

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        q = self.rate
        fpr, tpr, fnr, tnr = self.base._rates(self._behind(threshold))
        some = (1 - q) * fpr + q * tpr, q * fnr + (1 - q) * tnr
        all_of_it = threshold < math.log1p(-q)
        columns = zip((fpr, *some, tnr), (1.0, 1.0, 0.0, 0.0), strict=True)
        fpr, tpr, fnr, tnr = (np.where(all_of_it, end, x) for x, end in columns)
        return fpr, tpr, fnr, tnr

    def _beta(self, alpha: Array) -> Array:
        return self.rate * self.base._beta(alpha) + (1 - self.rate) * (1 - alpha)

    def _tpr(self, fpr: Array) -> Array:
        return self.rate * self.base._tpr(fpr) + (1 - self.rate) * fpr

    def _delta(self, epsilon: Array) -> Array:
        found = self.rate * self.base._delta(self._behind(epsilon))
        return np.where(epsilon < math.log1p(-self.rate), -np.expm1(epsilon), found)

    def _largest_loss(self) -> float:
        return self._ahead(self.base._largest_loss())

    def _ahead(self, loss: float) -> float:
        """The loss that a loss of the base becomes: log(1 + rate·(e^loss − 1))."""
        if loss > 40:
            return loss + math.log(self.rate)
        return math.log1p(self.rate * math.expm1(loss))

    def _delta_at_infinity(self) -> float:
        return self.rate * self.base._delta_at_infinity()


@dataclass(frozen=True)
class UnsampledCurve(TradeoffCurve):
    """The mirror of a `SampledCurve`: (1 − rate)·P + rate·Q against P. Its loss is bounded."""

    sampled: SampledCurve

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.sampled.bound

    def mirrored(self) -> SampledCurve:
        return self.sampled

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        # Accuses where the loss is below −threshold, not at it.
        fpr, tpr, fnr, tnr = self.sampled._rates(np.nextafter(-threshold, -np.inf))
        return fnr, tnr, fpr, tpr

    def _delta(self, epsilon: Array) -> Array:
        """(1 − e^ε·(1 − rate))·δ of the base's mirror, at what is left of ε."""
        q = self.sampled.rate
        left = -np.expm1(np.minimum(epsilon + math.log1p(-q), 0.0))
        behind = epsilon + math.log(q) - np.log(left)
        found = left * self.sampled.base.mirrored()._delta(np.where(left > 0, behind, 0.0))
        return np.where(left > 0, found, 0.0)

    def _largest_loss(self) -> float:
        base = self.sampled.base
        if base.mirrored()._delta_at_infinity() > 0:  # what only h0 showed is now bounded, too
            return -math.log1p(-self.sampled.rate)
        return -self.sampled._ahead(base._smallest_loss())

    def _delta_at_infinity(self) -> float:
        return 0.0
