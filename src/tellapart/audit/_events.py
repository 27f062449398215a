"""Which event tells two inputs apart best, as far as some calls can say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart._checks import Array
from tellapart.audit._scorers import ByCell, Scorer, candidates
from tellapart.blackbox.features import Features

# So many scores or fewer are events by themselves; more are ranked.
_FEW_SCORES = 64
_CUTS = 128
# About how many looks share the level where scores are ranked.
_LOOKS = 20
_DOUBT = 0.5
# What cells of a number that hardly repeats must promise beyond the number itself, which is
# certified at all ranks at once and in a fraction of the time.
_EXTRA = 0.1


@dataclass(frozen=True)
class Event:
    """The most promising score, the way it points, and where to cut it.

    ``clears`` says that outputs not beyond the cut are what incriminates, with inputs exchanged.
    """

    promise: float
    scorer: Scorer
    higher: bool
    cut: float
    few: bool
    clears: bool

    def happened(self, features: Features) -> NDArray[np.bool_]:
        """Whether each output lies beyond the cut."""
        scores = self.scorer(features)
        return np.asarray(scores > self.cut if self.higher else scores < self.cut)

    def words(self) -> str:
        """The event, as people say it."""
        return self.scorer.beyond(self.cut, self.higher)


def best_event(
    learnt: list[Features], weighed: list[Features], delta: float, level: float, more: float
) -> Event:
    """The event that should show the largest ε on ``more`` times the calls it was weighed on."""
    events = (
        event
        for scorer in candidates(learnt[0], learnt[1])
        for event in _events(scorer, weighed, delta, level, more)
    )
    return max(events, key=_worth)


def _worth(event: Event) -> float:
    return event.promise - _EXTRA * (isinstance(event.scorer, ByCell) and event.scorer.smooth)


def _events(
    scorer: Scorer, weighed: list[Features], delta: float, level: float, more: float
) -> list[Event]:
    """The best cut of a score, for each way in which it may point."""
    absent, present = (scorer(one) for one in weighed)
    seen = np.unique(np.concatenate([absent, present]))
    few = seen.size <= _FEW_SCORES
    places = np.unique(np.linspace(0, seen.size - 1, _CUTS).astype(int))
    # A cut lies between scores that were seen, so that equal ones fall on one side.
    cuts = seen[places]
    lowest = max(cuts[0] - 1.0, -np.finfo(float).max)
    cuts = np.concatenate([[lowest], cuts])
    z = float(ndtri(level if few else level / _LOOKS))
    found = []
    for higher in (True, False):
        counts = [_beyond(side, cuts, higher) for side in (absent, present)]
        accuse = _promise(counts[1], len(present), counts[0], len(absent), delta, z, more)
        clear = _promise(
            len(absent) - counts[0],
            len(absent),
            len(present) - counts[1],
            len(present),
            delta,
            z,
            more,
        )
        for clears, promise in ((False, accuse), (True, clear)):
            best = int(np.argmax(promise))
            cut = float(cuts[best])
            found.append(Event(float(promise[best]), scorer, higher, cut, few, clears))
    return found


def _beyond(side: Array, cuts: Array, higher: bool) -> Array:
    ordered = np.sort(side)
    if higher:
        return np.asarray(ordered.size - np.searchsorted(ordered, cuts, side="right"), dtype=float)
    return np.asarray(np.searchsorted(ordered, cuts, side="left"), dtype=float)


def _promise(
    tested: Array,
    of_tested: int,
    reference: Array,
    of_reference: int,
    delta: float,
    z: float,
    more: float,
) -> Array:
    """Roughly the bound on ε that ``more`` times the calls will give, with doubt about these."""
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(tested / of_tested - delta, 0.0))
    ratio = ratio - np.log((reference + 0.5) / (of_reference + 1))
    noise = np.sqrt(1 / ((tested + 0.5) * more) + 1 / ((reference + 0.5) * more))
    doubt = np.sqrt(1 / (tested + 0.5) + 1 / (reference + 0.5))
    return np.asarray(ratio + z * noise - _DOUBT * doubt)
