"""Repeat and select: hyper-parameter tuning, where the best of several runs is published."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.best_of import FixedNumber, Published, Trials, best_of_curve
from tellapart.curve.composition.selection_attack import two_block_attack
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Combined, Enclosed, Fineness, Step


@dataclass(frozen=True, repr=False)
class BestOf(Combined, Enclosed):
    """The best of so many runs by their own outputs, published alone; build one with ``best_of``.

    A guarantee (Bound.LOWER), by the bound proved in docs/tuning.md or, where that is smaller, by
    what all runs show together. The other side of its bracket is an attack: an order of outputs
    under which so much is reached, where the base's own curve is exact.

    >>> import tellapart as ta
    >>> tuned = ta.Gaussian(sigma=4).best_of(ta.geometric(mean=10))
    >>> most, least = (side.epsilon(delta=1e-5) for side in tuned.bracket(delta=1e-5))
    >>> round(least, 3), round(most, 3)
    (1.422, 1.432)
    """

    base: Mechanism
    trials: Trials

    def __post_init__(self) -> None:
        self._set(neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        return f"{self.base!r}.best_of({self.trials!r})"

    def steps(self) -> tuple[Step, ...]:
        return ((self, 1),)

    @property
    def closes(self) -> bool:
        """Guarantee and attack do not meet."""
        return False

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """The guarantee, or what an order of outputs reaches; nothing where the base is bounded."""
        if side is Bound.LOWER:
            return self._present_test()
        test = self.base._present_test()
        if test.bound is not Bound.EXACT:
            return nothing(Bound.LOWER)
        return two_block_attack(test, self.trials)

    def _grouped(self, size: int) -> Mechanism:
        return BestOf(self.base.for_group(size), self.trials)

    def _present_test(self) -> TradeoffCurve:
        test = self.base._present_test()
        if test.bound is Bound.UPPER:
            raise Unsupported("what an attack has shown (Bound.UPPER) promises nothing of its best")
        return best_of_curve(test, self.trials, self._all_runs(test))

    def _all_runs(self, test: TradeoffCurve) -> list[Published]:
        """The curves of so many runs seen, and how likely; none where they cannot be composed."""
        counts, chances, unlisted = self.trials.counts(every=isinstance(test, GaussianCurve))
        try:
            runs = [self.base.repeated(count)._present_test() for count in counts]
        except (Unsupported, NotCertified):
            return []
        return [*zip(chances, runs, strict=True), (unlisted, everything(Bound.LOWER))]


def number_of_runs(trials: object) -> Trials:
    """A law of the number of runs as given, or the number itself."""
    if isinstance(trials, Trials):
        return trials
    if isinstance(trials, bool) or not isinstance(trials, int):
        _checks.refuse(
            "trials",
            "be a number of runs, or a law of it: ta.geometric(mean=10), ta.poisson(mean=10) or "
            "ta.negative_binomial(shape=0.5, mean=10)",
            trials,
        )
    return FixedNumber(trials)
