"""Sampling with replacement: a batch of fixed size in which a record may be several times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.binomial import pmf, upper_tail
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.composition.random_allocation import contracted, curve_on_side, normal_cells
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Sampling
from tellapart.mechanisms.combine import Enclosed, Fineness
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# More copies than are likely to come up so rarely count as revealing all.
_RAREST = 1e-30
# An attack looks at cells of the output of this width, out to so many deviations beyond the means.
# Of masses that are not fainter, binomial weights and normal cells have so many digits.
_WIDTH, _REACH = 0.01, 9.0
_FAINTEST, _WEIGHT_ERROR = 1e-50, 1e-9


@dataclass(frozen=True, repr=False)
class WithReplacement(Enclosed):
    """A noisy sum over so many draws, of which several may be your record.

    The curve is a guarantee (`Bound.LOWER`): given which records were drawn, which does not depend
    on their values, i copies of your record move the sum by i times the sensitivity. So δ(ε) is at
    most the mean of those of Gaussian answers moved i times as far, i ~ Bin(draws, 1/data_size),
    by joint convexity. Neighbours zero out or replace a record, so that all others stay.

    **The other side of its bracket is an attack** (`Bound.UPPER`). Zeroing out: all other records
    point the other way, so that i copies move the sum of all by 2i with your record, and by i
    without. Replacing: one value is that of all the others, and i copies of the other move the sum
    by i times the sensitivity.

    >>> import tellapart as ta
    >>> step = ta.Gaussian(sigma=1, neighbours=ta.Neighbours.ZERO_OUT)
    >>> drawn = WithReplacement(step, draws=10, data_size=100)
    >>> most, least = (side.epsilon(delta=1e-5) for side in drawn.bracket(delta=1e-5))
    >>> round(least, 3), round(most, 3)
    (7.612, 8.161)
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

    @property
    def closes(self) -> bool:
        return False

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One step on this side of the truth: the guarantee, or what an attack reaches."""
        shift = self.base.sensitivity / self.base.sigma
        if side is Bound.LOWER or shift == 0 or self.draws == 0:
            return self._present_test()
        weights, rest = self._copies(_WEIGHT_ERROR * _FAINTEST)
        ahead, back = (2, 1) if self.neighbours is Neighbours.ZERO_OUT else (1, 0)
        copies = shift * np.arange(weights.size)
        edges = np.arange(-_REACH, ahead * copies[-1] + _REACH, _WIDTH)
        present, absent = (
            weights @ np.array([normal_cells(edges - move * copy) for copy in copies])
            for move in (ahead, back)
        )
        # Tests that never flag a cell so faint; more copies are lost in the error of the others.
        kept = np.minimum(absent, present) > _FAINTEST
        error = _WEIGHT_ERROR + rest / _FAINTEST
        return curve_on_side(contracted(absent[kept], present[kept]), error, Bound.UPPER)

    def _copies(self, rarest: float) -> tuple[Array, float]:
        """How likely each number of copies is, from none on, and more than those."""
        chance = 1 / self.data_size
        most = next(i for i in count() if upper_tail(i + 1, self.draws, chance) <= rarest)
        weights = pmf(np.arange(most + 1), self.draws, chance)
        return weights, float(upper_tail(most + 1, self.draws, chance))

    def _present_test(self) -> TradeoffCurve:
        shift = self.base.sensitivity / self.base.sigma
        if shift == 0 or self.draws == 0:
            return nothing()
        weights, rest = self._copies(_RAREST)
        moved = [(float(weight), GaussianCurve(i * shift)) for i, weight in enumerate(weights) if i]
        still = max(1 - rest - math.fsum(weights[1:]), 0.0)
        parts = [*moved, (rest, everything(Bound.LOWER)), (still, nothing())]
        return AnnouncedCurve(tuple(part for part in parts if part[0] > 0))

    def _unsampled(self, scheme: Sampling) -> str:
        return "it is a sample already: leave .sampled out"
