"""Shuffled epochs: batches cut from a random order of the records, as most data loaders do."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.composition.loss_laws import thinned
from tellapart.curve.composition.random_allocation import allocated
from tellapart.curve.composition.shuffled_epochs import shuffled_attack
from tellapart.curve.guarantees import nothing
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Sampling
from tellapart.mechanisms.combine import Enclosed, Fineness
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Beyond this shift the masses of an attack are not held by doubles.
_LARGEST_SHIFT = 20.0


@dataclass(frozen=True, repr=False)
class ShuffledEpoch(Enclosed):
    """An epoch of noisy steps on batches that are cut from one random order of all records.

    Neighbours zero a record out or replace it, so that all others stay where they are. Truly
    removing a record from batches of fixed size would move the others.

    **The curve is a guarantee** (`Bound.LOWER`): given the order of the records, which does not
    depend on their values, both worlds answer alike but for the one step that has the record, and
    that step is a Gaussian answer, whatever came before. So the epoch leaks no more than one
    Gaussian answer, by joint convexity over the orders. A record that falls on none of the steps,
    as an epoch drops its last records or is cut short, moves nothing: with the share ``used``
    of the records that take part, δ(ε) ≤ used·δ of the Gaussian, for every ε ≥ 0. No
    amplification by the random order is claimed: no tight bound is known.

    **The other side of its bracket is an attack** (`Bound.UPPER`). Zeroing out: all other records
    point the other way (Chua et al. 2024). Replacing: one value is that of all the others, which
    point the other way; that is the pair of random allocation. ``last`` is the size of a smaller
    batch after the ``times`` full ones, as a share of one; the attacker does not look at it.

    >>> import tellapart as ta
    >>> step = ta.Gaussian(sigma=1, neighbours=ta.Neighbours.ZERO_OUT)
    >>> epoch = step.shuffled_batches(steps=100)
    >>> most, least = (side.epsilon(delta=1e-5) for side in epoch.bracket(delta=1e-5))
    >>> round(least, 2), round(most, 2)
    (4.07, 4.38)
    """

    base: Gaussian
    times: int
    last: float = 0.0
    used: float = 1.0
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                "shuffled batches are accounted for Gaussian noise: "
                f"ta.Gaussian(sigma, ...).shuffled_batches(steps=...), got {self.base!r}"
            )
        if self.base.neighbours is Neighbours.ADD_REMOVE:
            raise Unsupported(
                "shuffled batches are of fixed size, and adding or removing a record would move "
                "others from batch to batch: give the Gaussian neighbours=Neighbours.ZERO_OUT, or "
                "Neighbours.REPLACE and the sensitivity that belongs to it (of clipped sums, "
                "twice the clipping norm)"
            )
        self._set(
            times=_checks.whole(1, 10**9, steps=self.times),
            last=_checks.probability(last=self.last),
            used=_checks.probability(used=self.used),
            neighbours=self.base.neighbours,
        )

    def __repr__(self) -> str:
        last = f", last={self.last!r}" if self.last else ""
        used = f", used={self.used!r}" if self.used < 1 else ""
        return f"{self.base!r}.shuffled_batches(steps={self.times!r}{last}{used})"

    @property
    def closes(self) -> bool:
        return False

    @property
    def _shift(self) -> float:
        return self.base.sensitivity / self.base.sigma

    @property
    def _seen(self) -> float:
        """How likely a record is to be in one of the batches of full size."""
        return self.used * self.times / (self.times + self.last)

    def _present_test(self) -> TradeoffCurve:
        if self._shift == 0 or self.used == 0:
            return nothing()
        answer = GaussianCurve(self._shift, Bound.LOWER)
        if self.used == 1:
            return answer
        return AnnouncedCurve(((self.used, answer), (1 - self.used, nothing())))

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One epoch on this side of the truth: the guarantee, or what attacks reach."""
        if side is Bound.LOWER or self._shift == 0 or self._seen == 0:
            return self._present_test()
        if self._shift > _LARGEST_SHIFT:
            raise NotCertified(
                f"a noise of {short(1 / self._shift, 3)} sensitivities gives no meaningful "
                f"privacy: brackets of shuffled batches begin at {short(1 / _LARGEST_SHIFT)}"
            )
        if self.neighbours is Neighbours.ZERO_OUT:
            return shuffled_attack(self._shift, self.times, self._seen, fineness.delta)
        epoch = allocated(self._shift, self.times, fineness.width, fineness.tail, side)
        return _sometimes(epoch, self._seen)

    def _unsampled(self, scheme: Sampling) -> str:
        return "shuffled batches are those of the whole data: leave .sampled out"


def _sometimes(attack: AtomicCurve, seen: float) -> AtomicCurve:
    """An attack on a record that is seen with some probability, h0 being that it never is."""
    if seen == 1:
        return attack
    present = seen * attack.present + (1 - seen) * attack.absent
    return from_atoms(thinned(attack.losses, seen), attack.absent, present, Bound.UPPER)
