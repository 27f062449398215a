"""Scores of outputs by likelihood ratios, estimated on calls that the certificate never sees."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.probing.features.columns import Column, Path, What
from tellapart.audit.probing.features.extract import Features

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

    def beyond(self, threshold: float, higher: bool) -> str:
        """The event that the score lies strictly beyond a threshold, in words."""
        return f"{self.name} {'>' if higher else '<'} {short(threshold)}"

    def within(self, threshold: float, higher: bool) -> str:
        """The event that it does not, in words."""
        return f"{self.name} {'≤' if higher else '≥'} {short(threshold)}"

    @property
    def name(self) -> str:
        """What is compared with a threshold, in words."""
        return "score"


@dataclass(frozen=True)
class PlainScorer(Scorer):
    """A number of the output itself.

    Outputs that have none come before all others, or after; None if there were none such.
    """

    reading: OutputReading
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
            return f"{self.name} is {'a' if number else 'not a'} number"
        words = f"{self.name} {sign} {short(threshold)}"
        if threshold == (FURTHEST if upward else -FURTHEST):  # what lies there lies beyond, too
            words = f"{self.name} is {'' if upward else '-'}inf"
        return f"{words} or is not a number" if upward == self.missing_last else words


@dataclass(frozen=True)
class CellScorer(Scorer):
    """How much likelier one input made the cell that a number, or a category, falls into.

    ``edges`` are the upper ends of cells of numbers, and codes of categories are cells themselves.
    The last cell is that of outputs without such a number.
    """

    reading: OutputReading
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
        return self._event_words(ratios > threshold if higher else ratios < threshold)

    def within(self, threshold: float, higher: bool) -> str:
        ratios = np.array(self.ratios)
        return self._event_words(ratios <= threshold if higher else ratios >= threshold)

    def _event_words(self, inside: NDArray[np.bool_]) -> str:
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
        apart = [ends[cell + 1] for cell in range(last) if cell not in cells]
        if last in cells and 0 < len(apart) <= _MOST_WORDS:
            atoms = [high for high in apart if np.nextafter(high, -np.inf) in ends]
            if atoms == apart:  # all but a few numbers
                yield " and ".join(
                    f"{self.reading.name} ≠ {short(high + 0.0, 17)}" for high in apart
                )
                return
        for first, end in _stretches([cell for cell in cells if cell < last]):
            yield self._between(ends[first], ends[end + 1])
        if last in cells:
            yield f"{self.reading.name} is not a number"

    def _between(self, low: float, high: float) -> str:
        name = self.reading.name
        if high == np.nextafter(low, np.inf):
            return self.reading.equal(high)
        # An edge just below a number that comes often stands for that number.
        above, below = (float(np.nextafter(edge, np.inf)) + 0.0 for edge in (low, high))
        left = f"{name} ≥ {short(above)}" if above in self.edges else f"{name} > {short(low)}"
        right = f"< {short(below)}" if below in self.edges else f"≤ {short(high)}"
        if np.isinf(low):
            return f"{name} is a number" if np.isinf(high) else f"{name} {right}"
        if np.isinf(high):
            return left
        start = f"{short(above)} ≤" if above in self.edges else f"{short(low)} <"
        return f"{start} {name} {right}"


def plain(reading: OutputReading, first: Features, second: Features) -> Iterator[PlainScorer]:
    """The number itself as a score, with outputs that lack it on either end."""
    if any(np.isnan(reading(side)).any() for side in (first, second)):
        yield from (PlainScorer(reading, missing_last) for missing_last in (False, True))
    else:
        yield PlainScorer(reading)


def by_cell(reading: OutputReading, first: Features, second: Features) -> CellScorer:
    """How the cells of one number speak, from outputs on the two inputs."""
    absent_values, present_values = reading(first), reading(second)
    edges = (
        np.array([])
        if reading.categories
        else _edges(np.concatenate([absent_values, present_values]))
    )
    count = (reading.categories or len(edges) + 1) + 1
    absent, present = (
        np.bincount(_cells(values, reading.categories, edges), minlength=count)
        for values in (absent_values, present_values)
    )
    # Half an output more on each side: what was never seen speaks for neither.
    ratios = np.log((present + 0.5) / (len(present_values) + 1)) - np.log(
        (absent + 0.5) / (len(absent_values) + 1)
    )
    return CellScorer(reading, tuple(edges.tolist()), tuple(ratios.tolist()))


def _cells(values: Array, categories: int, edges: Array) -> NDArray[np.intp]:
    missing = np.isnan(values)
    if categories:
        cells = np.where(missing, categories, np.nan_to_num(values))
    else:
        cells = np.where(missing, len(edges) + 1, np.searchsorted(edges, values, side="left"))
    return np.asarray(cells, dtype=np.intp)


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


# Numbers beyond it, and infinite ones, are all the same.
FURTHEST = 1e300
_DIFFERENCES = 64


class OutputReading(ABC):
    """One number, or one code of a category, read off every output; NaN where it has none."""

    @abstractmethod
    def __call__(self, features: Features) -> Array:
        """The numbers of these outputs."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is, in words."""

    @property
    def categories(self) -> int:
        """How many categories the codes stand for; 0 for numbers."""
        return 0

    def equal(self, value: float) -> str:
        """That it is this number."""
        far = abs(value) >= FURTHEST
        return f"{self.name} is {short(math.copysign(math.inf, value) if far else value, 17)}"


@dataclass(frozen=True)
class OfColumn(OutputReading):
    """What a column of the features holds."""

    place: int
    column: Column

    def __call__(self, features: Features) -> Array:
        values = features.matrix[:, self.place]
        return values if self.categories else np.clip(values, -FURTHEST, FURTHEST)

    @property
    def categories(self) -> int:
        return len(self.column.words)

    @property
    def name(self) -> str:
        return self.column.name

    def equal(self, value: float) -> str:
        return self.column.equal(value) if self.categories else super().equal(value)


@dataclass(frozen=True)
class OfDifference(OutputReading):
    """One number of the output less another: noise that both share is gone."""

    places: tuple[int, int]
    names: tuple[str, str]

    def __call__(self, features: Features) -> Array:
        first, second = (np.clip(features.matrix[:, k], -FURTHEST, FURTHEST) for k in self.places)
        return np.asarray(first - second)

    @property
    def name(self) -> str:
        return f"{self.names[0]} − {self.names[1]}"


def readings(columns: tuple[Column, ...]) -> Iterator[OutputReading]:
    """Every number worth looking at by itself."""
    yield from (OfColumn(place, column) for place, column in enumerate(columns))
    yield from itertools.islice(_differences(columns), _DIFFERENCES)


def _differences(columns: tuple[Column, ...]) -> Iterator[OfDifference]:
    """Numbers that lie next to each other in a list, or in lists side by side."""
    places = {column.path: k for k, column in enumerate(columns) if column.what is What.VALUE}
    for path, place in places.items():
        for axis, step in enumerate(_steps(path)):
            for index, inner in enumerate(step):
                further = (*step[:index], inner + 1, *step[index + 1 :])
                beside = (*path[:axis], *_as_step(path[axis], further), *path[axis + 1 :])
                other = places.get(beside)
                if other is not None:
                    names = (columns[place].name, columns[other].name)
                    yield OfDifference((place, other), names)


def _steps(path: Path) -> Iterator[tuple[int, ...]]:
    """The whole numbers of each step: one for a list, several for an array, none otherwise."""
    for step in path:
        several = step if type(step) is tuple else (step,)
        yield several if all(type(number) is int for number in several) else ()


def _as_step(like: object, numbers: tuple[int, ...]) -> Path:
    return (numbers,) if type(like) is tuple else numbers
