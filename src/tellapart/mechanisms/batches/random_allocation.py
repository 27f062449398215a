"""Random allocation (balls in bins): in each epoch a record takes part in one step, at random."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.random_allocation import allocated
from tellapart.curve.composition.several_participations import allocated_often
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.combine import Enclosed, Fineness, Step, compose
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Curves are within some 5e-4 of ε of the truth; what lies beyond 1e-20 of a law reveals all.
_LARGEST_SHIFT = 20.0
_USUAL = Fineness(width=0.025, tail=1e-20)


@dataclass(frozen=True, repr=False)
class Allocated(Enclosed):
    """An epoch of noisy steps of which your record takes part in exactly one, drawn at random.

    Steps may depend on earlier outputs. Neighbours add or remove one record, whose step is drawn
    on its own: the batches of all others stay as they are. Shuffled batches of fixed size are
    another mechanism. The curve lies on the guarantee's side; ``bracket`` has both.

    With several ``participations``, k of t steps, the guarantee is that of k blocks of about t/k
    steps, with one participation in each (`several_participations` has the proof), and the other
    side of the bracket is an attack: the two do not meet.

    >>> import tellapart as ta
    >>> epoch = ta.Gaussian(sigma=1).allocated(steps=100)
    >>> round(epoch.curve().epsilon(delta=1e-5), 3)
    0.621
    >>> often = ta.Gaussian(sigma=2).allocated(steps=100, participations=10)
    >>> most, least = (side.epsilon(delta=1e-5) for side in often.bracket(delta=1e-5, gap=1e-3))
    >>> round(least, 2), round(most, 2)
    (2.12, 2.14)
    """

    base: Gaussian
    times: int
    participations: int = 1
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                "random allocation is accounted for Gaussian noise: "
                f"ta.Gaussian(sigma).allocated(steps=...), got {self.base!r}"
            )
        if self.base.neighbours is not Neighbours.ADD_REMOVE:
            raise Unsupported(
                "random allocation is accounted for neighbours that add or remove one record, "
                f"not for {self.base.neighbours}: give the Gaussian Neighbours.ADD_REMOVE"
            )
        times = _checks.whole(1, 10**9, steps=self.times)
        often = _checks.whole(1, times, participations=self.participations)
        self._set(times=times, participations=often, neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        often = f", participations={self.participations!r}" if self.participations > 1 else ""
        return f"{self.base!r}.allocated(steps={self.times!r}{often})"

    @property
    def closes(self) -> bool:
        return self.participations in (1, self.times)

    def stand_ins(self) -> tuple[Step, ...]:
        if self.participations == 1:
            return ((self, 1),)
        size, larger = divmod(self.times, self.participations)
        blocks = ((size, self.participations - larger), (size + 1, larger))
        return tuple((Allocated(self.base, steps), count) for steps, count in blocks if count)

    def _present_test(self) -> TradeoffCurve:
        return self.enclosed(_USUAL, Bound.LOWER)

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One epoch on this side of the truth, h0 = absent."""
        shift = self.base.sensitivity / self.base.sigma
        if shift == 0:
            return self.base._present_test()
        if self.participations == self.times:
            return GaussianCurve(shift * math.sqrt(self.times))
        if self.participations > 1 and side is Bound.LOWER:
            blocks = compose(epoch.repeated(count) for epoch, count in self.stand_ins())
            return blocks._present_test()
        if shift > _LARGEST_SHIFT:  # ratios that no double holds
            if side is Bound.UPPER:
                raise NotCertified(
                    f"a noise of {short(1 / shift, 3)} sensitivities gives no meaningful privacy: "
                    f"brackets of random allocation begin at {short(1 / _LARGEST_SHIFT)}"
                )
            return GaussianCurve(shift, side)  # an epoch leaks no more than one answer
        if self.participations > 1:
            return allocated_often(shift, self.times, self.participations)
        return allocated(shift, self.times, fineness.width, fineness.tail, side)
