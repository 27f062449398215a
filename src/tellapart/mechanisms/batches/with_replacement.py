"""Sampling with replacement: a batch of fixed size in which a record may be several times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from scipy.special import xlog1py

from tellapart import _checks
from tellapart._numeric.binomial import log_choose, upper_tail
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import BatchStep, Sampling
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# More copies than are likely to come up so rarely count as revealing all.
_RAREST = 1e-30


@dataclass(frozen=True, repr=False)
class WithReplacement(BatchStep):
    """A noisy sum over so many draws, of which several may be your record.

    The curve is a guarantee (`Bound.LOWER`): given which records were drawn, which does not depend
    on their values, i copies of your record move the sum by i times the sensitivity. So δ(ε) is at
    most the mean of those of Gaussian answers moved i times as far, i ~ Bin(draws, 1/data_size),
    by joint convexity. Neighbours zero out or replace a record, so that all others stay.

    >>> import tellapart as ta
    >>> step = ta.Gaussian(sigma=1, neighbours=ta.Neighbours.ZERO_OUT)
    >>> round(WithReplacement(step, draws=10, data_size=100).epsilon(delta=1e-5), 3)
    8.161
    """

    base: Gaussian
    draws: int
    data_size: int
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                f"sampling with replacement is accounted for Gaussian noise, got {self.base!r}"
            )
        if self.base.neighbours is Neighbours.ADD_REMOVE:
            raise Unsupported(
                "a batch of fixed size drawn with replacement has neighbours that zero out or "
                "replace a record: adding or removing one would change all other draws"
            )
        self._set(
            draws=_checks.whole(0, draws=self.draws),
            data_size=_checks.whole(1, data_size=self.data_size),
            neighbours=self.base.neighbours,
        )

    def _present_test(self) -> TradeoffCurve:
        shift, chance = self.base.sensitivity / self.base.sigma, 1 / self.data_size
        if shift == 0 or self.draws == 0:
            return nothing()
        most = next(i for i in count() if upper_tail(i + 1, self.draws, chance) <= _RAREST)
        copies = np.arange(1, most + 1)
        weights = np.exp(
            log_choose(self.draws, copies)
            + copies * math.log(chance)
            + xlog1py(self.draws - copies, -chance)
        )
        moved = [
            (float(weight), GaussianCurve(float(i) * shift))
            for i, weight in zip(copies, weights, strict=True)
        ]
        sure = float(upper_tail(most + 1, self.draws, chance))
        still = max(1 - sure - math.fsum(weights), 0.0)
        parts = [*moved, (sure, everything(Bound.LOWER)), (still, nothing())]
        return AnnouncedCurve(tuple(part for part in parts if part[0] > 0))

    def _unsampled(self, scheme: Sampling) -> str:
        return "it is a sample already: leave .sampled out"
