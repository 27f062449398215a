"""Thresholds of rank tests: at ranks fixed beforehand, or chosen on held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.solve import first_wholes
from tellapart._numeric.text import short
from tellapart.audit.counts.rank_test import RankCounts, epsilons, p_values
from tellapart.audit.evidence.base import event_in_words
from tellapart.audit.scores import Orientation, Scores
from tellapart.data.ranked import Ranked, Whole

# Ranks 1, 3, 9, 27, ...: denser grids cost more in looks than they gain in places.
_RATIO = 3
# The share of each level that pays for not drawing how ties are broken.
TIES = 0.05
# Rounded up, as p-values are.
_SURE = (1 - TIES) * (1 + 1e-6)


class End(Enum):
    """From which end a rank counts, and so which inequality of a claim it tests.

    FLAG: the most suspicious non-members; members beyond them show TPR > e^ε·FPR + δ.
    CLEAR: the least suspicious members; non-members beyond them show TNR > e^ε·FNR + δ.
    """

    FLAG = "flag"
    CLEAR = "clear"


@dataclass(frozen=True)
class Look:
    """One threshold, at a rank fixed beforehand, and how many lie beyond it.

    ``rank`` of the ``reference`` side (non-members, or members where the look clears) lie at or
    beyond ``threshold``, and ``beyond`` of the ``tested`` side do; ``level`` is the look's own.
    """

    end: End
    higher: bool  # whether beyond means above
    rank: int
    reference: int
    beyond: int
    tested: int
    threshold: float
    level: float
    event: str = ""  # what lies beyond, where other words than a score's say it
    sides: tuple[str, str] = ("members", "non-members")

    @property
    def rates(self) -> tuple[float, float]:
        """The observed (FPR, TPR) of the attack that flags beyond this threshold."""
        rate, share = self.rank / self.reference, self.beyond / self.tested
        return (rate, share) if self.end is End.FLAG else (1 - share, 1 - rate)

    def __str__(self) -> str:
        event = self.event or f"score {'>' if self.higher else '<'} {short(self.threshold)}"
        who, whom = self.sides if self.end is End.FLAG else self.sides[::-1]
        # The one whose score is the threshold does not lie beyond it, and is counted all the same.
        return event_in_words(
            event, (self.beyond, self.tested, who), (self.rank, self.reference, whom), "at most "
        )

    @property
    def rate(self) -> str:
        """The name of the rate of the reference side."""
        return "FPR" if self.end is End.FLAG else "FNR"


def geometric_ranks(count: int) -> list[int]:
    """The ranks to look at among so many scores: 1, 3, 9, 27, ... up to half of them.

    >>> geometric_ranks(100)
    [1, 3, 9, 27]
    """
    ranks = [1]
    while ranks[-1] * _RATIO <= count / 2:
        ranks.append(ranks[-1] * _RATIO)
    return ranks


def directions(orientation: Orientation) -> list[bool]:
    """Which ways "suspicious" may point: up, down, or both where nobody said."""
    known = {Orientation.HIGHER: [True], Orientation.LOWER: [False]}
    return known.get(orientation, [True, False])


def look_at(
    scores: Scores, end: End, higher: bool, ranks: Sequence[int], level: float
) -> list[Look]:
    """Count beyond these ranks; where scores tie, as many as breaking ties by chance would.

    Breaking ties by chance, without regard to who is who, is post-processing: it makes laws
    continuous and no claim false. Here nothing is drawn. A look refutes what all but one in
    twenty of the ways to break the ties would refute at 19/20 of its level: by Markov's
    inequality that happens to a true claim with at most the level.
    """
    reference, tested = scores.non_members, scores.members
    if end is End.CLEAR:
        reference, tested = tested, reference
    upward = higher if end is End.FLAG else not higher
    asked = np.asarray(ranks, dtype=np.int64)
    cuts = reference.descending(asked) if upward else reference.ascending(asked)
    before, within = _around(reference, cuts, upward)
    beyond, tied = _around(tested, cuts, upward)
    beyond = beyond + _surely_beyond(asked - before, within, tied)
    share = level * (1 - TIES)
    return [
        Look(end, upward, int(k), reference.count, int(c), tested.count, float(cut), share)
        for k, c, cut in zip(asked, beyond, cuts, strict=True)
    ]


def _surely_beyond(rank: Whole, reference: Whole, tested: Whole) -> Whole:
    """How many tied tested come before the rank-th of the tied reference, in 19 of 20 orders."""
    none = np.zeros(len(tested))

    def unsure(before: Array) -> NDArray[np.bool_]:
        # In a random order the rank's depth is uniform: the test of a claim that allows nothing.
        place = RankCounts(*np.array([rank, reference, before, tested], dtype=np.float64))
        return np.asarray(~(p_values(place, epsilons(0.0), none) >= _SURE))

    return (first_wholes(unsure, none, (tested + 1).astype(np.float64)) - 1).astype(np.int64)


def _around(side: Ranked, cuts: Array, upward: bool) -> tuple[Whole, Whole]:
    """How many lie beyond each cut, and how many on it."""
    above, below = side.above(cuts), side.below(cuts)
    return (above if upward else below), side.count - above - below


def columns(looks: Sequence[Look]) -> RankCounts:
    """The numbers of several looks, as columns."""
    if not looks:
        _checks.refuse("looks", "not be empty", looks)
    rows = [(look.rank, look.reference, look.beyond, look.tested) for look in looks]
    return RankCounts(*np.array(rows, dtype=np.float64).T)


_HELD_OUT_RATIO = 1.25
# How much doubt about the scores set aside counts against a place, in deviations.
_DOUBT = 0.5


class ChosenRank(NamedTuple):
    """The place that promises most, as far as the scores set aside can tell."""

    end: End
    higher: bool
    rank: int


def best_rank(aside: Scores, kept: Scores, delta: float, level: float) -> ChosenRank:
    """The end, direction and rank whose test on the kept scores should show the largest ε."""
    best, chosen = -np.inf, ChosenRank(End.FLAG, directions(aside.orientation)[0], 1)
    for higher in directions(aside.orientation):
        for end in End:
            ranks, promise = _promises(aside, kept, end, higher, delta, level)
            place = int(np.argmax(promise))
            if promise[place] > best:
                best, chosen = float(promise[place]), ChosenRank(end, higher, int(ranks[place]))
    return chosen


def _promises(
    aside: Scores, kept: Scores, end: End, higher: bool, delta: float, level: float
) -> tuple[Array, Array]:
    """For ranks of the kept scores, roughly the bound on ε each will give."""
    sides = (aside.non_members, kept.non_members, aside.members, kept.members)
    few, reference, few_tested, tested = (side.count for side in sides)
    if end is End.CLEAR:
        few, reference, few_tested, tested = few_tested, tested, few, reference
    steps = np.arange(np.log(max(few / 2, 1.0)) / np.log(_HELD_OUT_RATIO) + 1e-9)
    places = np.unique(np.round(_HELD_OUT_RATIO**steps)).astype(int)
    looks = look_at(aside, end, higher, places.tolist(), level)
    beyond = np.array([look.beyond for look in looks], dtype=float)
    ranks = np.maximum(np.round(places * reference / few), 1.0)
    count = beyond * tested / few_tested
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(count / tested - delta, 0.0)) - np.log(ranks / reference)
    noise = np.sqrt(1 / np.maximum(count, 0.5) + 1 / ranks)
    doubt = np.sqrt(1 / np.maximum(beyond, 0.5) + 1 / places)
    return ranks, ratio + float(ndtri(level)) * noise - _DOUBT * doubt
