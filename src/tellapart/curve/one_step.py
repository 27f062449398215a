"""The curve of one step, straight from the tails of its loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellapart._checks import Array
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.losses import LossLaw

# No loss is larger than this.
_FURTHEST = 1e300


@dataclass(frozen=True)
class OneStep(TradeoffCurve):
    """A step known by the law of its loss."""

    law: LossLaw
    bound: Bound = Bound.EXACT

    def mirrored(self) -> OneStep:
        return self._mirror

    @cached_property
    def _mirror(self) -> OneStep:
        swapped = self.law.swapped()
        if swapped is self.law:
            return self
        mirror = OneStep(swapped, self.bound)
        mirror.__dict__["_mirror"] = self
        return mirror

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        flat = np.ravel(threshold).astype(float)
        far = np.abs(flat) > _FURTHEST
        found = np.stack(self.law.rates(np.where(far, 0.0, flat)))
        found[:, flat > _FURTHEST] = np.array([0.0, 0.0, 1.0, 1.0])[:, None]
        found[:, flat < -_FURTHEST] = np.array([1.0, 1.0, 0.0, 0.0])[:, None]
        fpr, tpr, fnr, tnr = found.reshape(4, *np.shape(threshold))
        return fpr, tpr, fnr, tnr

    def _largest_loss(self) -> float:
        return self.law.largest

    def _smallest_loss(self) -> float:
        return self.law.least

    def _delta_at_infinity(self) -> float:
        return 0.0
