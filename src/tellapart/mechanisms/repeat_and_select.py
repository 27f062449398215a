"""Repeat and select: hyper-parameter tuning, where the best of several runs is published."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import _checks
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.best_of import FixedNumber, Published, Trials, best_of_curve
from tellapart.curve.guarantees import everything
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Combined, Step


@dataclass(frozen=True, repr=False)
class BestOf(Combined):
    """The best of so many runs by their own outputs, published alone; build one with ``best_of``.

    A guarantee (Bound.LOWER), by the bound proved in docs/tuning.md or, where that is smaller, by
    what all runs show together.
    """

    base: Mechanism
    trials: Trials

    def __post_init__(self) -> None:
        self._set(neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        return f"{self.base!r}.best_of({self.trials!r})"

    def steps(self) -> tuple[Step, ...]:
        return ((self, 1),)

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
