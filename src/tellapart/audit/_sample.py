"""One side of an attack's scores in memory; sorted only where many questions ask for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tellapart._checks import Array
from tellapart.data.ranked import Whole, checked_ranks, checked_split, checked_values

# So few questions of so many scores are answered faster without sorting them.
_FEW, _MANY = 32, 10_000


class Sample:
    """Scores of one side, that answer every question about ranks.

    >>> side = Sample([0.3, 0.9, 0.3, 0.1])
    >>> side.descending([1, 2]).tolist(), side.above(0.3).tolist(), side.below(0.3).tolist()
    ([0.9, 0.3], 1, 1)
    """

    __slots__ = ("_scores", "_sorted")
    _scores: Array
    _sorted: bool

    def __init__(self, scores: ArrayLike) -> None:
        # Adding zero copies, and makes one score of 0.0 and -0.0.
        self._hold(np.asarray(scores, dtype=np.float64) + 0.0, in_order=False)

    def _hold(self, scores: Array, in_order: bool) -> None:
        scores.flags.writeable = False
        self._scores, self._sorted = scores, in_order

    @classmethod
    def _of_sorted(cls, values: Array) -> Sample:
        made = cls.__new__(cls)
        made._hold(values, in_order=True)
        return made

    def __repr__(self) -> str:
        return f"Sample({self.count} scores)"

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self._scores.size

    @property
    def values(self) -> Array:
        """All scores, sorted."""
        if not self._sorted:
            self._hold(np.sort(self._scores), in_order=True)
        return self._scores

    def _unsorted(self, questions: int) -> bool:
        return not self._sorted and questions <= _FEW and self.count >= _MANY

    def _places(self, places: Whole) -> Array:
        if places.size and self._unsorted(places.size):
            found = np.partition(self._scores, np.unique(places))
            return np.asarray(found[places])
        return np.asarray(self.values[places])

    def descending(self, ranks: ArrayLike) -> Array:
        return self._places(self.count - checked_ranks(ranks, self.count))

    def ascending(self, ranks: ArrayLike) -> Array:
        return self._places(checked_ranks(ranks, self.count) - 1)

    def above(self, values: ArrayLike) -> Whole:
        asked = checked_values(values)
        if self._unsorted(asked.size):
            found = [np.count_nonzero(self._scores > value) for value in asked.flat]
            return np.array(found, dtype=np.int64).reshape(asked.shape)
        return self.count - self._up_to(asked, "right")

    def below(self, values: ArrayLike) -> Whole:
        asked = checked_values(values)
        if self._unsorted(asked.size):
            found = [np.count_nonzero(self._scores < value) for value in asked.flat]
            return np.array(found, dtype=np.int64).reshape(asked.shape)
        return self._up_to(asked, "left")

    def _up_to(self, values: Array, side: str) -> Whole:
        found = np.searchsorted(self.values, values, side=side)  # type: ignore[call-overload]
        return np.asarray(found, dtype=np.int64)

    def between(self, low: float, high: float) -> Array:
        first, last = np.searchsorted(self.values, [low, high], side="right")
        return self.values[first:last]

    def split(self, share: float, seed: int) -> tuple[Sample, Sample]:
        """Two parts drawn by rank, so that neither scores nor the order of rows decide.

        The first holds this share of the scores, rounded, and both hold at least one.
        """
        part, start = checked_split(self.count, share, seed)
        size = min(max(round(part * self.count), 1), self.count - 1)
        draw = np.random.default_rng(start)
        chosen = np.zeros(self.count, dtype=bool)
        chosen[draw.choice(self.count, size, replace=False, shuffle=False)] = True
        return self._of_sorted(self.values[chosen]), self._of_sorted(self.values[~chosen])
