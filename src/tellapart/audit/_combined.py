"""Scores that listen to many numbers of an output at once, each weighed by what it adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.logistic import logistic
from tellapart.audit._readings import Reading
from tellapart.audit._scorers import ByCell, Scorer
from tellapart.blackbox.features import Features

# Numbers that say nothing by themselves are left out, and of the others the most telling kept.
_TELLING = 3.0
_MOST_PARTS = 48
_NAMED = 3
_WIDEST = 50.0


@dataclass(frozen=True)
class Additive(Scorer):
    """The sum of what several numbers say, each by its cell and with its weight."""

    parts: tuple[ByCell, ...]
    weights: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        pairs = zip(self.parts, self.weights, strict=True)
        return np.asarray(sum(weight * part(features) for part, weight in pairs))

    @property
    def name(self) -> str:
        return f"what {_listed(part.reading for part in self.parts)} say together"

    def beyond(self, threshold: float, higher: bool) -> str:
        return f"{self.name} {'>' if higher else '<'} {threshold:.6g}"


@dataclass(frozen=True)
class Linear(Scorer):
    """A weighed sum of several numbers themselves; one that is missing counts as its mean."""

    parts: tuple[Reading, ...]
    means: tuple[float, ...]
    widths: tuple[float, ...]
    weights: tuple[float, ...]

    def __call__(self, features: Features) -> Array:
        scales = zip(self.parts, self.means, self.widths, self.weights, strict=True)
        return np.asarray(
            sum(
                weight * _standard(part(features), mean, width)
                for part, mean, width, weight in scales
            )
        )

    @property
    def name(self) -> str:
        return f"a weighed sum of {_listed(self.parts)}"

    def beyond(self, threshold: float, higher: bool) -> str:
        return f"{self.name} {'>' if higher else '<'} {threshold:.6g}"


def combined(cells: list[ByCell], first: Features, second: Features) -> Iterator[Scorer]:
    """Sums over the cells and over the numbers, weighed on calls the cells were not learnt on."""
    said = [(part, part(first), part(second)) for part in cells]
    telling = sorted(((_apart(one, two), k) for k, (_, one, two) in enumerate(said)), reverse=True)
    kept = [said[k] for strength, k in telling[:_MOST_PARTS] if strength > _TELLING]
    if len(kept) < 2:
        return
    fit = _weighed([one for _, one, _ in kept], [two for _, _, two in kept])
    yield Additive(tuple(part for part, _, _ in kept), fit)
    numbers = tuple(part.reading for part, _, _ in kept if not part.reading.categories)
    if len(numbers) < 2:
        return
    sides = [[part(features) for part in numbers] for features in (first, second)]
    columns = [np.concatenate(both) for both in zip(*sides, strict=True)]
    means = tuple(float(np.nanmean(column)) for column in columns)
    widths = tuple(float(np.nanstd(column)) or 1.0 for column in columns)
    scaled = (
        [_standard(*each) for each in zip(side, means, widths, strict=True)] for side in sides
    )
    yield Linear(numbers, means, widths, _weighed(*scaled))


def _apart(one: Array, two: Array) -> float:
    """By how many deviations the means of two sides differ."""
    spread = np.sqrt(one.var() / len(one) + two.var() / len(two))
    return float(abs(two.mean() - one.mean()) / spread) if spread > 0 else 0.0


def _weighed(first: list[Array], second: list[Array]) -> tuple[float, ...]:
    design = np.concatenate([np.column_stack(first), np.column_stack(second)])
    return logistic(design, np.repeat([0.0, 1.0], [len(first[0]), len(second[0])]))


def _standard(values: Array, mean: float, width: float) -> Array:
    return np.nan_to_num(np.clip((values - mean) / width, -_WIDEST, _WIDEST))


def _listed(parts: Iterable[Reading]) -> str:
    names = [part.name for part in parts]
    if len(names) > _NAMED:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    return f"{', '.join(names[:-1])} and {names[-1]}"
