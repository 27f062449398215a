"""Random allocation (balls in bins): in each epoch a record takes part in one step, at random."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.random_allocation import allocated
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.combine import Enclosed, Fineness
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

    >>> import tellapart as ta
    >>> epoch = ta.Gaussian(sigma=1).allocated(steps=100)
    >>> round(epoch.curve().epsilon(delta=1e-5), 3)
    0.621
    """

    base: Gaussian
    times: int
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
        self._set(times=times, neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        return f"{self.base!r}.allocated(steps={self.times!r})"

    def _present_test(self) -> TradeoffCurve:
        return self.enclosed(_USUAL, Bound.LOWER)

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One epoch on this side of the truth, h0 = absent."""
        shift = self.base.sensitivity / self.base.sigma
        if self.times == 1 or shift == 0:
            return self.base._present_test()
        if shift > _LARGEST_SHIFT:  # ratios that no double holds
            if side is Bound.UPPER:
                raise NotCertified(
                    f"a noise of {short(1 / shift, 3)} sensitivities gives no meaningful privacy: "
                    f"brackets of random allocation begin at {short(1 / _LARGEST_SHIFT)}"
                )
            return GaussianCurve(shift, side)  # an epoch leaks no more than one answer
        return allocated(shift, self.times, fineness.width, fineness.tail, side)
