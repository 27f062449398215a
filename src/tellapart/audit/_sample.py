"""One side of an attack's scores in memory, sorted once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tellapart._checks import Array
from tellapart.data.ranked import Whole, checked_ranks, checked_split, checked_values


class Sample:
    """Scores of one side, sorted, so that every question about ranks is a look-up.

    >>> side = Sample([0.3, 0.9, 0.3, 0.1])
    >>> side.descending([1, 2]).tolist(), side.above(0.3).tolist(), side.below(0.3).tolist()
    ([0.9, 0.3], 1, 1)
    """

    __slots__ = ("values",)
    values: Array

    def __init__(self, scores: ArrayLike) -> None:
        # Adding zero copies, and makes one score of 0.0 and -0.0.
        self._hold(np.sort(np.asarray(scores, dtype=np.float64) + 0.0))

    def _hold(self, values: Array) -> None:
        values.flags.writeable = False
        self.values = values

    @classmethod
    def _of_sorted(cls, values: Array) -> Sample:
        made = cls.__new__(cls)
        made._hold(values)
        return made

    def __repr__(self) -> str:
        return f"Sample({self.count} scores)"

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self.values.size

    def descending(self, ranks: ArrayLike) -> Array:
        return np.asarray(self.values[self.count - checked_ranks(ranks, self.count)])

    def ascending(self, ranks: ArrayLike) -> Array:
        return np.asarray(self.values[checked_ranks(ranks, self.count) - 1])

    def above(self, values: ArrayLike) -> Whole:
        return self.count - self._up_to(checked_values(values), "right")

    def below(self, values: ArrayLike) -> Whole:
        return self._up_to(checked_values(values), "left")

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
