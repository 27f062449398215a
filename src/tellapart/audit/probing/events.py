"""The distinguishing event: which output, beyond which cut, tells two neighbouring inputs apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart._checks import Array
from tellapart.audit.probing.calling.outputs import CallOutputs
from tellapart.audit.probing.classifiers import combined, fitted
from tellapart.audit.probing.features.columns import Path, What
from tellapart.audit.probing.features.extract import Encoding, Features, learn
from tellapart.audit.probing.scorers import (
    CellScorer,
    OfColumn,
    PlainScorer,
    Scorer,
    by_cell,
    plain,
    readings,
)

# So many scores or fewer are events by themselves; more are ranked.
_FEW_SCORES = 64
# Scores of which so few differ come again and again, the commonest one aside.
_AGAIN = 0.2
_CUTS = 128
_FEW_CELLS = 8
# The share of the level for the one rank of which most is hoped; the others have the rest.
FAVOUR = 0.5
# Far tails flatter most, so ranks are weighed as if so many shared the level.
_LOOKS = 20
# How many deviations what was counted may flatter.
_DOUBT = 1.0
# How many deviations another event must promise more than one of what was expected to show most.
_UNEXPECTED = 0.75
# Of a test that goes on: at what level, and on how many times the calls, an event should pay.
SOUGHT_LEVEL, SOUGHT_MORE = 0.05, 8.0
# Up to where cells are learnt, and then their sums.
_SHARES = (0.4, 0.7)
# What a single cut must promise more: its exact test takes seconds.
_SLOWER = 0.02


@dataclass(frozen=True)
class Event:
    """The most promising score, the way it points, and where to cut it.

    ``promise`` is the ε that it should show, counted with so much ``doubt``. ``rate`` is how often
    it should happen where it should not. ``clears`` says that outputs not beyond the cut are what
    incriminates, with inputs exchanged.
    """

    promise: float
    doubt: float
    scorer: Scorer
    higher: bool
    cut: float
    rate: float
    by_rank: bool
    clears: bool
    read: Encoding

    def scores(self, outputs: CallOutputs) -> Array:
        """The scores of these outputs."""
        return self.scorer(self.read(outputs))

    def happened(self, outputs: CallOutputs) -> NDArray[np.bool_]:
        """Whether each output lies beyond the cut."""
        scores = self.scores(outputs)
        return np.asarray(scores > self.cut if self.higher else scores < self.cut)

    def words(self) -> str:
        """The event that incriminates, as people say it."""
        if self.clears:
            return self.scorer.within(self.cut, self.higher)
        return self.scorer.beyond(self.cut, self.higher)


@dataclass(frozen=True)
class EventSearch:
    """What is sought: an event that shows the largest ε at ``delta``, and by which means.

    The number at ``expected`` is what shows most if all is as claimed, but for too little noise.
    Of many events that say nearly the same, luck picks one; so its own are preferred to those that
    hardly promise more.
    """

    delta: float
    features: Callable[[Any], Any] | None = None
    classifier: Any = None
    expected: Path | None = None

    def __call__(self, aside: tuple[CallOutputs, CallOutputs], level: float, kept: int) -> Event:
        """The event that should show most on ``kept`` calls, from some that are set aside."""
        read = learn(*aside, self.features)
        known = [read(outputs) for outputs in aside]
        weigh = _Weighing(self.delta, level, kept, read)
        events = list(_candidates(known, weigh, self.classifier))
        best = max(events, key=_worth)
        if self.expected is None:
            return best
        usual = max(filter(self._is_usual, events), key=_worth, default=best)
        plainly = _worth(best) - _worth(usual) > _UNEXPECTED * best.doubt
        return best if plainly else usual

    def _is_usual(self, event: Event) -> bool:
        """Whether an event is of the number that was expected to show most, as it is.

        Or of one whose values repeat, which those of continuous noise do not, however large it is.
        """
        if not isinstance(event.scorer, PlainScorer | CellScorer):
            return False
        reading = event.scorer.reading
        if not isinstance(reading, OfColumn) or reading.column.what is not What.VALUE:
            return False
        expected = reading.column.path == self.expected and isinstance(event.scorer, PlainScorer)
        return expected or not event.by_rank


@dataclass(frozen=True)
class _Weighing:
    """For how many calls, and at which level, events are to show an ε at ``delta``."""

    delta: float
    level: float
    kept: int
    read: Encoding


def _candidates(known: list[Features], weigh: _Weighing, classifier: Any) -> Iterator[Event]:
    """Events of every kind.

    A score is never weighed on calls it was learnt on: cells are learnt on the first part, what
    many of them say together on the second, and the third is for weighing.
    """
    half, most = (int(share * len(known[0])) for share in _SHARES)
    first, second, last, unlearnt = (
        [features.rows(part) for features in known]
        for part in (slice(half), slice(half, most), slice(most, None), slice(half, None))
    )
    cells = []
    for reading in readings(known[0].columns):
        if not reading.categories:
            for scorer in plain(reading, *known):
                yield from _events(scorer, known, weigh)
        cells.append(by_cell(reading, *first))
        if len(cells[-1].ratios) <= _FEW_CELLS:  # so few that learning can hardly flatter
            yield from _events(by_cell(reading, *known), known, weigh)
        else:
            yield from _events(cells[-1], unlearnt, weigh)
    for both in combined(cells, *second):
        yield from _events(both, last, weigh)
    if classifier is not None:
        learnt = fitted(classifier, *(features.rows(slice(most)) for features in known))
        yield from _events(learnt, last, weigh)


def _worth(event: Event) -> float:
    return event.promise - event.scorer.handicap - (0.0 if event.by_rank else _SLOWER)


def _events(scorer: Scorer, known: list[Features], weigh: _Weighing) -> Iterator[Event]:
    """The best cut of a score, for each way in which it may point and be certified."""
    sides = [np.sort(scorer(features)) for features in known]
    seen, times = np.unique(np.concatenate(sides), return_counts=True)
    cuts, total = _cuts(seen), len(sides[0])
    for higher, by_rank, clears in product((True, False), _ways(times), (False, True)):
        reference, tested = (_beyond(side, cuts, higher) for side in sides)
        if clears:
            reference, tested = total - tested, total - reference
        hoped = promise(
            tested,
            reference,
            total,
            delta=weigh.delta,
            level=weigh.level,
            kept=weigh.kept,
            looks=_LOOKS if by_rank else 1,
        )
        best = int(np.argmax(hoped))
        yield Event(
            promise=float(hoped[best]),
            doubt=float(_doubt(tested[best], reference[best])),
            scorer=scorer,
            higher=higher,
            cut=float(cuts[best]),
            rate=float(reference[best]) / total,
            by_rank=by_rank,
            clears=clears,
            read=weigh.read,
        )


def _ways(times: NDArray[np.intp]) -> tuple[bool, ...]:
    """Few scores are cut, many ranked, and those that come again and again may be either.

    Scores of which none comes twice are many, though few of them were drawn.
    """
    if times.max() == 1:
        return (True,)
    if times.size <= _FEW_SCORES:
        return (False,)
    others = int(times.sum() - times.max())
    return (False, True) if times.size <= _AGAIN * others else (True,)


def _cuts(seen: Array) -> Array:
    """Scores that were seen, so that equal ones fall on one side; denser towards both ends."""
    even = np.linspace(0, seen.size - 1, _CUTS).astype(int)
    ends = np.geomspace(1, max(seen.size, 2), _CUTS // 2).astype(int) - 1
    places = np.unique(np.concatenate([even, ends, seen.size - 1 - ends]).clip(0, seen.size - 1))
    lowest = max(seen[0] - 1.0, -np.finfo(float).max)
    return np.concatenate([[lowest], seen[places]])


def _beyond(ordered: Array, cuts: Array, higher: bool) -> Array:
    if higher:
        return np.asarray(ordered.size - np.searchsorted(ordered, cuts, side="right"), dtype=float)
    return np.asarray(np.searchsorted(ordered, cuts, side="left"), dtype=float)


def promise(
    tested: Array,
    reference: Array,
    total: int,
    *,
    delta: float,
    level: float,
    kept: int,
    looks: int = 1,
) -> Array:
    """Roughly the bound on ε that the kept calls will give, with doubt about what was counted.

    The doubt about the tested rate is taken off before δ is: an event that happens with δ alone,
    and never on the reference, shows nothing.
    """
    deviations = _DOUBT - float(ndtri(level / looks)) * math.sqrt(total / kept)
    own, both = 1 / np.sqrt(tested + 0.5), _doubt(tested, reference)
    least = tested / total * np.exp(-deviations * own) - delta
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(least, 0.0)) - np.log((reference + 0.5) / (total + 1))
    return np.asarray(ratio - deviations * (both - own))


def _doubt(tested: Array, reference: Array) -> Array:
    """The standard error of a log ratio of two counts."""
    return np.asarray(np.sqrt(1 / (tested + 0.5) + 1 / (reference + 0.5)))
