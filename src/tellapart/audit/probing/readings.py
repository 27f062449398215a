"""Single numbers of an output, as events speak of them."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart.audit.probing.features.columns import Column, Path, What
from tellapart.audit.probing.features.extract import Features

# Numbers beyond it, and infinite ones, are all the same.
FURTHEST = 1e300
_DIFFERENCES = 64


class Reading(ABC):
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
        return f"{self.name} is {math.copysign(math.inf, value) if far else value:.17g}"


@dataclass(frozen=True)
class OfColumn(Reading):
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
class OfDifference(Reading):
    """One number of the output less another: noise that both share is gone."""

    places: tuple[int, int]
    names: tuple[str, str]

    def __call__(self, features: Features) -> Array:
        one, two = (np.clip(features.matrix[:, k], -FURTHEST, FURTHEST) for k in self.places)
        return np.asarray(one - two)

    @property
    def name(self) -> str:
        return f"{self.names[0]} − {self.names[1]}"


def readings(columns: tuple[Column, ...]) -> Iterator[Reading]:
    """Every number worth looking at by itself."""
    yield from (OfColumn(place, column) for place, column in enumerate(columns))
    yield from itertools.islice(_differences(columns), _DIFFERENCES)


def _differences(columns: tuple[Column, ...]) -> Iterator[OfDifference]:
    """Numbers that lie next to each other in a list, or in lists side by side."""
    places = {one.path: k for k, one in enumerate(columns) if one.what is What.VALUE}
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
        yield several if all(type(one) is int for one in several) else ()


def _as_step(like: object, numbers: tuple[int, ...]) -> Path:
    return (numbers,) if type(like) is tuple else numbers
