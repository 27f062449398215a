"""Choosing one rank on scores set aside, for a test on scores it never saw."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tellapart._checks import Array
from tellapart.audit.evidence.thresholds import End, directions, look_at
from tellapart.audit.scores import Scores

_RATIO = 1.25
# How much doubt about the scores set aside counts against a place, in deviations.
_DOUBT = 0.5


class ChosenRank(NamedTuple):
    """The place that promises most, as far as the scores set aside can tell."""

    end: End
    higher: bool
    rank: int


def best_rank(aside: Scores, kept: Scores, delta: float, level: float) -> ChosenRank:
    """The end, direction and rank whose test on the kept scores should show the largest ε."""
    best, chosen = -np.inf, ChosenRank(End.ACCUSE, directions(aside.orientation)[0], 1)
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
    sides = (aside.others, kept.others, aside.members, kept.members)
    few, reference, few_tested, tested = (side.count for side in sides)
    if end is End.CLEAR:
        few, reference, few_tested, tested = few_tested, tested, few, reference
    steps = np.arange(np.log(max(few / 2, 1.0)) / np.log(_RATIO) + 1e-9)
    places = np.unique(np.round(_RATIO**steps)).astype(int)
    looks = look_at(aside, end, higher, places.tolist(), level)
    beyond = np.array([look.beyond for look in looks], dtype=float)
    ranks = np.maximum(np.round(places * reference / few), 1.0)
    count = beyond * tested / few_tested
    with np.errstate(divide="ignore"):
        ratio = np.log(np.maximum(count / tested - delta, 0.0)) - np.log(ranks / reference)
    noise = np.sqrt(1 / np.maximum(count, 0.5) + 1 / ranks)
    doubt = np.sqrt(1 / np.maximum(beyond, 0.5) + 1 / places)
    return ranks, ratio + float(ndtri(level)) * noise - _DOUBT * doubt
