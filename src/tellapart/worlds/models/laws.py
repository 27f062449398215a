"""Laws of true answers (finite, normal, vectors), as someone sees them who knows a secret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported

MOST_VALUES = 2**24


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """How likely each true answer is, by logarithms, so that tails never vanish.

    Values rise, each has positive probability, and weights sum to 1.

    >>> FiniteLaw.of({2: 0.75, 0: 0.25, 1: 0}).values
    array([0., 2.])
    """

    values: Array
    log_weights: Array

    def __post_init__(self) -> None:
        values = _checks.vector(values=self.values)
        logs = _checks.reals("be a list of numbers", log_weights=self.log_weights)
        if logs.shape != values.shape:
            _checks.refuse("log_weights", f"be as many as the values {values.shape}", logs.shape)
        if np.any(np.diff(values) <= 0):
            _checks.refuse("values", "rise", self.values)
        if np.any(logs == np.inf):
            _checks.refuse("log_weights", "not be infinite", np.inf)
        whole = float(logpoly.total(logs))
        if not abs(whole) <= 1e-9:
            _checks.refuse("log_weights", "be of weights with sum 1", math.exp(min(whole, 700.0)))
        kept = logs > -np.inf
        _keep(self, values=values[kept], log_weights=logs[kept] - whole)

    @classmethod
    def of(cls, weights: Mapping[float, float]) -> Self:
        """From a mapping of values to probabilities."""
        _checks.instance(Mapping, "a mapping of values to probabilities", weights=weights)
        if not weights:
            _checks.refuse("weights", "not be empty", weights)
        values = _checks.vector(values=list(weights))
        shares = _checks.pmf(weights=list(weights.values()))
        with np.errstate(divide="ignore"):
            return cls.gathered(values, np.log(shares))

    @classmethod
    def gathered(cls, values: Array, log_weights: Array) -> Self:
        """From values in any order, of which equal ones are added up."""
        order = np.argsort(values, kind="stable")
        distinct, starts = np.unique(values[order], return_index=True)
        return cls(distinct, _added(log_weights[order], starts))

    @property
    def weights(self) -> Array:
        """Plain probabilities; those below 1e-308 read 0 here and only here."""
        return np.exp(self.log_weights)

    @property
    def log_least(self) -> float:
        """The logarithm of the smallest positive probability."""
        return float(self.log_weights.min())

    @property
    def mean(self) -> float:
        """The average true answer."""
        return math.fsum(self.weights * self.values)

    @property
    def variance(self) -> float:
        """How much the true answer itself varies."""
        return math.fsum(self.weights * (self.values - self.mean) ** 2)

    def log_mgf(self, rate: float) -> float:
        """What the tail of Laplace noise sees of an answer: log E[e^(rate·f)]."""
        return float(logpoly.total(self.log_weights + _checks.finite(rate=rate) * self.values))

    def convolved(self, other: FiniteLaw) -> FiniteLaw:
        """The law of the sum of two independent answers."""
        _checks.instance(FiniteLaw, "a FiniteLaw", other=other)
        if _on_grid(self.values) and _on_grid(other.values):
            return _grid_product(self, other)
        size = self.values.size * other.values.size
        if size > MOST_VALUES:
            raise Unsupported(
                f"{count_in_words(size)} pairs of values are too many to add up; give values in "
                "whole units, whose sums coincide"
            )
        values = np.add.outer(self.values, other.values).ravel()
        logs = np.add.outer(self.log_weights, other.log_weights).ravel()
        return FiniteLaw.gathered(values, logs)

    def beside(self, other: FiniteLaw) -> tuple[Array, Array, Array]:
        """All values of either law, with both laws' log-weights; -inf where a law has none."""
        _checks.instance(FiniteLaw, "a FiniteLaw", other=other)
        values = np.union1d(self.values, other.values)
        return values, _spread(self, values), _spread(other, values)


@dataclass(frozen=True)
class NormalLaw:
    """A true answer that is normal, with this mean and variance.

    >>> NormalLaw(0, 2).convolved(NormalLaw(1, 3))
    NormalLaw(mean=1.0, variance=5.0)
    """

    mean: float
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _checks.finite(mean=self.mean))
        variance = _checks.finite_at_least_zero(variance=self.variance)
        object.__setattr__(self, "variance", variance)

    def log_mgf(self, rate: float) -> float:
        """What the tail of Laplace noise sees of an answer: log E[e^(rate·f)]."""
        rate = _checks.finite(rate=rate)
        return rate * self.mean + rate**2 * self.variance / 2

    def convolved(self, other: NormalLaw) -> NormalLaw:
        """The law of the sum of two independent answers."""
        _checks.instance(NormalLaw, "a NormalLaw", other=other)
        return NormalLaw(self.mean + other.mean, self.variance + other.variance)


def _keep(law: object, **arrays: Array) -> None:
    """Set fields of a frozen record, as arrays that stay as they are from now on."""
    for name, array in arrays.items():
        kept = np.array(array)
        kept.flags.writeable = False
        object.__setattr__(law, name, kept)


def _added(logs: Array, starts: Any) -> Array:
    """Log-sums over stretches that begin at these places."""
    largest = np.maximum.reduceat(logs, starts)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    counts = np.diff(np.append(starts, logs.size))
    with np.errstate(divide="ignore"):
        sums = np.add.reduceat(np.exp(logs - np.repeat(shift, counts)), starts)
        return np.asarray(np.log(sums) + shift)


def _on_grid(values: Array) -> bool:
    """Whether these are whole numbers not spread too thinly for a polynomial."""
    whole = np.all(values == np.rint(values)) and np.abs(values).max() < 2**52
    return bool(whole and values[-1] - values[0] <= 64 * values.size + 1024)


def _grid_product(first: FiniteLaw, other: FiniteLaw) -> FiniteLaw:
    grids = [np.arange(law.values[0], law.values[-1] + 1) for law in (first, other)]
    logs = logpoly.multiply(_spread(first, grids[0]), _spread(other, grids[1]))
    return FiniteLaw(grids[0][0] + grids[1][0] + np.arange(logs.size), logs)


def _spread(law: FiniteLaw, values: Array) -> Array:
    """Log-weights at values that include all of the law's own."""
    logs = np.full(values.size, -np.inf)
    logs[np.searchsorted(values, law.values)] = law.log_weights
    return logs


@dataclass(frozen=True, eq=False)
class VectorLaw:
    """How likely each list of true answers is, by logarithms.

    ``points`` has one row for each list of answers; equal rows are added up.
    """

    points: Array
    log_weights: Array

    def __post_init__(self) -> None:
        points = _checks.reals("be rows of numbers", points=self.points)
        logs = _checks.reals("be a list of numbers", log_weights=self.log_weights)
        if points.ndim != 2 or points.size == 0 or not np.all(np.isfinite(points)):
            _checks.refuse("points", "be rows of finite numbers", self.points)
        if logs.shape != points.shape[:1]:
            _checks.refuse("log_weights", f"be {len(points)}, one for each row", logs.shape)
        whole = float(logpoly.total(logs))
        if not abs(whole) <= 1e-9:
            _checks.refuse("log_weights", "be of weights with sum 1", float(np.exp(whole)))
        kept = logs > -np.inf
        rows, group = np.unique(points[kept], axis=0, return_inverse=True)
        sums = np.full(len(rows), -np.inf)
        np.logaddexp.at(sums, group.ravel(), logs[kept] - whole)
        for name, array in {"points": rows, "log_weights": sums}.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def answers(self) -> int:
        """How many answers are given at once."""
        return int(self.points.shape[1])

    def beside(self, other: VectorLaw) -> tuple[Array, Array, Array]:
        """All lists of answers of either law, with both laws' log-weights."""
        _checks.instance(VectorLaw, "a VectorLaw", other=other)
        if other.answers != self.answers:
            _checks.refuse("other", f"have {self.answers} answers", other.answers)
        both = np.concatenate([self.points, other.points])
        rows, group = np.unique(both, axis=0, return_inverse=True)
        logs = np.full((2, len(rows)), -np.inf)
        own = group.ravel()[: len(self.points)], group.ravel()[len(self.points) :]
        logs[0, own[0]], logs[1, own[1]] = self.log_weights, other.log_weights
        return rows, logs[0], logs[1]
