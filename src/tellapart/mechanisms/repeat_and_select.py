"""Repeat and select: hyper-parameter tuning, where the best of several runs is published.

**An attack** is an order of outputs by which the best of K runs tells much. First come the outputs
that the one world likes best, S, then those that the other likes best, E, then all others. Where S
is likelier in the first world, the best run lies there more often than in the other, and seldom in
E: with g as in `best_of` it is in E with probability g(P(S) + P(E)) − g(P(S)). Whoever flags when
it is in E has that as FPR under the one law and as TPR under the other. Every pair of thresholds
for S and E is an attack on the mechanism that ranks by this order, so that their hull is a curve
from above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified.discretise import from_points_of_two
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.best_of import (
    FixedNumber,
    Published,
    Trials,
    best_of_curve,
    rounding_room,
)
from tellapart.curve.composition.group_privacy import tangent_losses
from tellapart.curve.guarantees import everything, nothing
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Combined, Enclosed, Fineness, Step

# Thresholds that are tried for either set, and room for the rounding of the formulas.
_THRESHOLDS, _ROOM = 800, 1e-9


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


def two_block_attack(test: TradeoffCurve, trials: Trials) -> AtomicCurve:
    """The curve, from above, of the best of K runs for some order of their outputs."""
    losses = tangent_losses(test)
    if losses.size > _THRESHOLDS:
        losses = losses[np.linspace(0, losses.size - 1, _THRESHOLDS).astype(int)]
    losses = np.concatenate([[losses[0] - 1], losses])
    with np.errstate(all="ignore"):
        ahead = _points(test, losses, trials)
        symmetric = test.mirrored() is test
        back = ahead if symmetric else _points(test.mirrored(), -losses[::-1], trials)
        return from_points_of_two(ahead, back)


def _points(test: TradeoffCurve, losses: Array, trials: Trials) -> tuple[Array, Array]:
    """FPR and TPR of "the best is in E", for S = {loss ≤ s} and E = {loss > t}, s ≤ t."""
    fpr, tpr, fnr, tnr = test._rates(losses)
    s, t = np.triu_indices(losses.size)
    room = _ROOM + rounding_room(test)
    most = trials.best_within(tnr[s], np.minimum(fpr[t], 1 - tnr[s])) * (1 + room)
    least = trials.best_within(fnr[s], np.minimum(tpr[t], 1 - fnr[s])) * (1 - room)
    return _hull(np.minimum(most, 1.0), np.maximum(least, 0.0))


def _hull(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    """The points of which none has a larger TPR at no larger FPR: few of very many."""
    order = np.lexsort((-tpr, fpr))
    fpr, tpr = fpr[order], tpr[order]
    best = np.maximum.accumulate(tpr)
    kept = np.append(True, best[1:] > best[:-1]) & (tpr > fpr)
    return fpr[kept], tpr[kept]
