"""Order statistics and empirical counts of one side of an attack's scores: the protocol."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import InvalidArgument

Whole = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Told what is being done and which share of it is done.
Progress = Callable[[str, float], None]


@runtime_checkable
class Ranked(Protocol):
    """Scores of one side, known by their ranks; equal scores keep a rank each.

    Every answer is exact. 0.0 and -0.0 are one score.
    """

    @property
    def count(self) -> int:
        """How many scores there are."""

    def descending(self, ranks: ArrayLike) -> Array:
        """The k-th largest score for every rank k, from 1."""

    def ascending(self, ranks: ArrayLike) -> Array:
        """The k-th smallest score for every rank k, from 1."""

    def above(self, values: ArrayLike) -> Whole:
        """How many scores are strictly greater than each value."""

    def below(self, values: ArrayLike) -> Whole:
        """How many scores are strictly less than each value."""

    def between(self, low: float, high: float) -> Array:
        """All scores greater than low and at most high, sorted."""

    def split(self, share: float, seed: int) -> tuple[Ranked, Ranked]:
        """Two parts drawn without looking at the scores; the first holds about this share."""


@dataclass(frozen=True)
class Negated:
    """The same side with every score's sign turned, so that the lowest score comes first."""

    of: Ranked

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self.of.count

    def descending(self, ranks: ArrayLike) -> Array:
        return 0.0 - self.of.ascending(ranks)

    def ascending(self, ranks: ArrayLike) -> Array:
        return 0.0 - self.of.descending(ranks)

    def above(self, values: ArrayLike) -> Whole:
        return self.of.below(-checked_values(values))

    def below(self, values: ArrayLike) -> Whole:
        return self.of.above(-checked_values(values))

    def between(self, low: float, high: float) -> Array:
        # Of the turned interval [-high, -low) the other end is closed: step over both ends.
        first, last = math.nextafter(-high, -math.inf), math.nextafter(-low, -math.inf)
        return 0.0 - self.of.between(first, last)[::-1]

    def split(self, share: float, seed: int) -> tuple[Negated, Negated]:
        first, second = self.of.split(share, seed)
        return Negated(first), Negated(second)


def checked_ranks(ranks: ArrayLike, count: int) -> Whole:
    """Whole numbers from 1 to the number of scores."""
    array = _checks.reals("be a rank or an array of ranks", ranks=ranks)
    wrong = (array < 1) | (array > count) | (array != np.floor(array))
    if wrong.any():
        _checks.refuse("ranks", f"be whole numbers from 1 to {count}", float(array[wrong].flat[0]))
    return array.astype(np.int64)


def checked_values(values: ArrayLike) -> Array:
    """Thresholds: numbers, infinite ones too."""
    return _checks.reals(values=values)


def checked_split(count: int, share: Any, seed: Any) -> tuple[float, int]:
    """A share strictly between 0 and 1, a seed, and at least two scores to split."""
    part, start = _checks.inside_unit(share=share), _checks.whole(0, seed=seed)
    if count < 2:
        raise InvalidArgument(f"a split must have at least 2 scores, got {count}")
    return part, start
