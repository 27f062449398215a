"""Scores of outputs: learnt on calls that the certificate never sees."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart.blackbox.columns import Column, Path, What
from tellapart.blackbox.features import Features

_BINS = 32
# A number that comes this often is a place of its own.
_OFTEN = 0.005
_FURTHEST = 1e300
_DIFFERENCES = 64


class Scorer(ABC):
    """A number for every output, larger (or smaller) where one input made it likelier."""

    @abstractmethod
    def __call__(self, features: Features) -> Array:
        """The scores of these outputs, all finite."""

    @abstractmethod
    def beyond(self, threshold: float, higher: bool) -> str:
        """The event that the score lies strictly beyond a threshold, in words."""


@dataclass(frozen=True)
class ByColumn(Scorer):
    """A number of the output itself; an output that has none comes before all others."""

    place: int
    column: Column

    @property
    def name(self) -> str:
        """What is compared with a threshold, in words."""
        return self.column.name

    def __call__(self, features: Features) -> Array:
        values = np.clip(features.matrix[:, self.place], -_FURTHEST, _FURTHEST)
        return np.where(np.isnan(values), -np.finfo(float).max, values)

    def beyond(self, threshold: float, higher: bool) -> str:
        return self.column.above(threshold) if higher else self.column.below(threshold)


@dataclass(frozen=True)
class ByDifference(Scorer):
    """One number of the output less another: noise that both share is gone."""

    places: tuple[int, int]
    names: tuple[str, str]

    def __call__(self, features: Features) -> Array:
        one, two = (np.clip(features.matrix[:, k], -_FURTHEST, _FURTHEST) for k in self.places)
        return np.where(np.isnan(one - two), -np.finfo(float).max, one - two)

    @property
    def name(self) -> str:
        return f"{self.names[0]} − {self.names[1]}"

    def beyond(self, threshold: float, higher: bool) -> str:
        return f"{self.name} {'>' if higher else '<'} {threshold:.6g}"


@dataclass(frozen=True)
class ByCell(Scorer):
    """How much likelier one input made the cell that a number, or a category, falls into.

    ``edges`` are the upper ends of cells of numbers, and codes of categories are cells themselves.
    The last cell is that of outputs without such a number.
    """

    place: int
    column: Column
    edges: tuple[float, ...]
    ratios: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        cells = _cells(features.matrix[:, self.place], self.column, np.array(self.edges))
        return np.array(self.ratios)[cells]

    @property
    def smooth(self) -> bool:
        """Whether it cuts up numbers of which none comes often."""
        steps = np.array(self.edges)
        return steps.size > 0 and not np.any(steps[1:] == np.nextafter(steps[:-1], np.inf))

    def beyond(self, threshold: float, higher: bool) -> str:
        ratios = np.array(self.ratios)
        inside = np.flatnonzero(ratios > threshold if higher else ratios < threshold)
        return " or ".join(self._words(inside.tolist())) or "nothing at all"

    def _words(self, cells: list[int]) -> Iterator[str]:
        last = len(self.ratios) - 1
        if self.column.is_category:
            yield from (self.column.equal(cell) for cell in cells if cell < last)
            return
        ends = (-np.inf, *self.edges, np.inf)
        for first, end in _stretches([cell for cell in cells if cell < last]):
            low, high = ends[first], ends[end + 1]
            if np.isinf(low) and np.isinf(high):
                yield f"{self.column.name} is a number"
            elif np.isinf(low):
                yield f"{self.column.name} ≤ {high:.6g}"
            elif np.isinf(high):
                yield self.column.above(low)
            elif high == np.nextafter(low, np.inf):
                yield self.column.equal(high)
            else:
                yield self.column.between(low, high)
        if last in cells:
            yield f"{self.column.name} is no number"


def candidates(first: Features, second: Features) -> Iterator[Scorer]:
    """Every score worth trying, from outputs on the two inputs."""
    for place, column in enumerate(first.columns):
        one, two = first.matrix[:, place], second.matrix[:, place]
        if not column.is_category:
            yield ByColumn(place, column)
        yield _by_cell(place, column, one, two)
    yield from itertools.islice(_differences(first.columns), _DIFFERENCES)


def _differences(columns: tuple[Column, ...]) -> Iterator[ByDifference]:
    """Numbers that lie next to each other in a list, or in lists side by side."""
    places = {one.path: k for k, one in enumerate(columns) if one.what is What.VALUE}
    for path, place in places.items():
        for axis, step in enumerate(_steps(path)):
            for index, inner in enumerate(step):
                further = (*step[:index], inner + 1, *step[index + 1 :])
                other = places.get(
                    (*path[:axis], *_as_step(path[axis], further), *path[axis + 1 :])
                )
                if other is not None:
                    names = (columns[place].name, columns[other].name)
                    yield ByDifference((place, other), names)


def _steps(path: Path) -> Iterator[tuple[int, ...]]:
    """The whole numbers of each step: one for a list, several for an array, none otherwise."""
    for step in path:
        several = step if type(step) is tuple else (step,)
        yield several if all(type(one) is int for one in several) else ()


def _as_step(like: object, numbers: tuple[int, ...]) -> Path:
    return (numbers,) if type(like) is tuple else numbers


def _by_cell(place: int, column: Column, one: Array, two: Array) -> ByCell:
    edges = np.array([]) if column.is_category else _edges(np.concatenate([one, two]))
    count = (len(column.words) if column.is_category else len(edges) + 1) + 1
    absent, present = (
        np.bincount(_cells(values, column, edges), minlength=count) for values in (one, two)
    )
    # Half an output more on each side: what was never seen speaks for neither.
    ratios = np.log((present + 0.5) / (len(two) + 1)) - np.log((absent + 0.5) / (len(one) + 1))
    return ByCell(place, column, tuple(edges.tolist()), tuple(ratios.tolist()))


def _cells(
    values: Array, column: Column, edges: Array
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    missing = np.isnan(values)
    if column.is_category:
        found = np.where(missing, len(column.words), np.nan_to_num(values)).astype(np.intp)
    else:
        found = np.where(missing, len(edges) + 1, np.searchsorted(edges, values, side="left"))
    return np.asarray(found, dtype=np.intp)


def _edges(values: Array) -> Array:
    """Upper ends of cells: quantiles of all numbers, and both sides of one that comes often."""
    known = np.clip(values[~np.isnan(values)], -_FURTHEST, _FURTHEST)
    if known.size == 0:
        return known
    levels = np.linspace(0, 1, _BINS + 1)[1:-1]
    cuts = np.quantile(known, levels, method="inverted_cdf")
    seen, times = np.unique(known, return_counts=True)
    atoms = seen[times >= max(_OFTEN * known.size, 2)][:256]
    return np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, -np.inf)]))


def _stretches(cells: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of neighbouring cells."""
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[place - 1] + 1:
            yield cells[start], cells[place - 1]
            start = place
