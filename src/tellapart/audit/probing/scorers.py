"""Scores of outputs: learnt on calls that the certificate never sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.audit.probing.features.extract import Features
from tellapart.audit.probing.readings import FURTHEST, Reading

_BINS = 32
# A number that comes this often is a place of its own.
_OFTEN = 0.005
_MOST_ATOMS = 256
_MOST_WORDS = 6
_LAST = np.finfo(float).max


class Scorer(ABC):
    """A number for every output, larger (or smaller) where one input made it likelier."""

    @property
    def handicap(self) -> float:
        """What it must promise, in ε, beyond scores that are easier to put in words."""
        return 0.05

    @abstractmethod
    def __call__(self, features: Features) -> Array:
        """The scores of these outputs, all finite."""

    @abstractmethod
    def beyond(self, threshold: float, higher: bool) -> str:
        """The event that the score lies strictly beyond a threshold, in words."""

    def within(self, threshold: float, higher: bool) -> str:
        """The event that it does not, in words."""
        return f"{self.name} {'≤' if higher else '≥'} {threshold:.6g}"

    @property
    def name(self) -> str:
        """What is compared with a threshold, in words."""
        return "score"


@dataclass(frozen=True)
class Plain(Scorer):
    """A number of the output itself.

    Outputs that have none come before all others, or after; None if there were none such.
    """

    reading: Reading
    missing_last: bool | None = None

    @property
    def handicap(self) -> float:
        return 0.0

    @property
    def name(self) -> str:
        return self.reading.name

    def __call__(self, features: Features) -> Array:
        values = self.reading(features)
        missing = np.isnan(values)
        return np.where(missing, _LAST if self.missing_last else -_LAST, values)

    def beyond(self, threshold: float, higher: bool) -> str:
        return self._words(threshold, ">" if higher else "<", higher)

    def within(self, threshold: float, higher: bool) -> str:
        return self._words(threshold, "≤" if higher else "≥", not higher)

    def _words(self, threshold: float, sign: str, upward: bool) -> str:
        if abs(threshold) == _LAST:
            number = upward != self.missing_last
            return f"{self.name} is {'a' if number else 'no'} number"
        words = f"{self.name} {sign} {threshold:.6g}"
        if threshold == (FURTHEST if upward else -FURTHEST):  # what lies there lies beyond, too
            words = f"{self.name} is {'' if upward else '-'}inf"
        return f"{words} or is no number" if upward == self.missing_last else words


@dataclass(frozen=True)
class ByCell(Scorer):
    """How much likelier one input made the cell that a number, or a category, falls into.

    ``edges`` are the upper ends of cells of numbers, and codes of categories are cells themselves.
    The last cell is that of outputs without such a number.
    """

    reading: Reading
    edges: tuple[float, ...]
    ratios: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        cells = _cells(self.reading(features), self.reading.categories, np.array(self.edges))
        return np.array(self.ratios)[cells]

    @property
    def handicap(self) -> float:
        steps = np.array(self.edges)
        atoms = steps.size == 0 or np.any(steps[1:] == np.nextafter(steps[:-1], np.inf))
        # Where no number comes often, ranks of the number itself say the same at once.
        return 0.0 if atoms else 0.25

    def beyond(self, threshold: float, higher: bool) -> str:
        ratios = np.array(self.ratios)
        return self._told(ratios > threshold if higher else ratios < threshold)

    def within(self, threshold: float, higher: bool) -> str:
        ratios = np.array(self.ratios)
        return self._told(ratios <= threshold if higher else ratios >= threshold)

    def _told(self, inside: NDArray[np.bool_]) -> str:
        words = list(self._words(np.flatnonzero(inside).tolist()))
        if len(words) > _MOST_WORDS:
            words = [*words[: _MOST_WORDS - 1], f"{len(words) - _MOST_WORDS + 1} more such events"]
        return " or ".join(words) or "nothing at all"

    def _words(self, cells: list[int]) -> Iterator[str]:
        last = len(self.ratios) - 1
        if self.reading.categories:
            yield from (self.reading.equal(cell) for cell in cells if cell < last)
            return
        ends = (-np.inf, *self.edges, np.inf)
        for first, end in _stretches([cell for cell in cells if cell < last]):
            yield self._between(ends[first], ends[end + 1])
        if last in cells:
            yield f"{self.reading.name} is no number"

    def _between(self, low: float, high: float) -> str:
        name = self.reading.name
        if high == np.nextafter(low, np.inf):
            return self.reading.equal(high)
        # An edge just below a number that comes often stands for that number.
        above, below = (float(np.nextafter(edge, np.inf)) for edge in (low, high))
        left = f"{name} ≥ {above:.6g}" if above in self.edges else f"{name} > {low:.6g}"
        right = f"< {below:.6g}" if below in self.edges else f"≤ {high:.6g}"
        if np.isinf(low):
            return f"{name} is a number" if np.isinf(high) else f"{name} {right}"
        if np.isinf(high):
            return left
        start = f"{above:.6g} ≤" if above in self.edges else f"{low:.6g} <"
        return f"{start} {name} {right}"


def plain(reading: Reading, first: Features, second: Features) -> Iterator[Plain]:
    """The number itself as a score, with outputs that lack it on either end."""
    if any(np.isnan(reading(one)).any() for one in (first, second)):
        yield from (Plain(reading, missing_last) for missing_last in (False, True))
    else:
        yield Plain(reading)


def by_cell(reading: Reading, first: Features, second: Features) -> ByCell:
    """How the cells of one number speak, from outputs on the two inputs."""
    one, two = reading(first), reading(second)
    edges = np.array([]) if reading.categories else _edges(np.concatenate([one, two]))
    count = (reading.categories or len(edges) + 1) + 1
    absent, present = (
        np.bincount(_cells(values, reading.categories, edges), minlength=count)
        for values in (one, two)
    )
    # Half an output more on each side: what was never seen speaks for neither.
    ratios = np.log((present + 0.5) / (len(two) + 1)) - np.log((absent + 0.5) / (len(one) + 1))
    return ByCell(reading, tuple(edges.tolist()), tuple(ratios.tolist()))


def _cells(values: Array, categories: int, edges: Array) -> NDArray[np.intp]:
    missing = np.isnan(values)
    if categories:
        found = np.where(missing, categories, np.nan_to_num(values))
    else:
        found = np.where(missing, len(edges) + 1, np.searchsorted(edges, values, side="left"))
    return np.asarray(found, dtype=np.intp)


def _edges(values: Array) -> Array:
    """Upper ends of cells: quantiles of all numbers, and both sides of one that comes often."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return known
    levels = np.linspace(0, 1, _BINS + 1)[1:-1]
    cuts = np.quantile(known, levels, method="inverted_cdf")
    seen, times = np.unique(known, return_counts=True)
    atoms = seen[times >= max(_OFTEN * known.size, 2)][:_MOST_ATOMS]
    return np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, -np.inf)]))


def _stretches(cells: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbouring cells."""
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[place - 1] + 1:
            yield cells[start], cells[place - 1]
            start = place
