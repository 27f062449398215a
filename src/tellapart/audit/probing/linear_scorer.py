"""Scores that listen to many numbers of an output at once, each weighed by what it adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tellapart._checks import Array
from tellapart.audit.probing.features.extract import Features
from tellapart.audit.probing.readings import Reading
from tellapart.audit.probing.scorers import ByCell, Scorer

_ROUNDS = 25
_STILL = 1e-6


def logistic(design: Array, label: Array, ridge: float = 1.0) -> tuple[float, ...]:
    """Weights of the columns by Newton's method, kept small by a ridge.

    >>> design, label = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> [round(weight, 2) for weight in logistic(design, label)]
    [0.45]
    """
    rows = np.column_stack([design, np.ones(len(design))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9  # where the two samples differ in size, that is no evidence
    weights = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        chance = expit(rows @ weights)
        slope = rows.T @ (label - chance) - penalty * weights
        bend = (rows.T * (chance * (1 - chance))) @ rows + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        # A step that changes the odds a hundredfold overshoots.
        furthest = float(np.abs(rows @ step).max(initial=0.0))
        weights = weights + step * min(1.0, 5.0 / furthest if furthest > 0 else 1.0)
        if float(np.abs(step).max(initial=0.0)) < _STILL:
            break
    return tuple(weights[:-1].tolist())


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
