"""Joint laws that data do not rule out, and what Laplace noise gives away about any of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart.worlds.markov.bounds import least_scale
from tellapart.worlds.markov.chain_sets import filled, middle
from tellapart.worlds.markov.step import EPS
from tellapart.worlds.models.base import ImpossibleSecret, check_values
from tellapart.worlds.models.queries import Query, Sum, weights_of
from tellapart.worlds.models.table import Function, JointTable

_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Mixture:
    """Answers that rise, with the least and the largest weight of each."""

    answers: Array
    low: Array
    high: Array

    @classmethod
    def gathered(cls, answers: Array, low: Array, high: Array) -> Self:
        """From cells, of which those with equal answers are added up and impossible ones left."""
        possible = high > 0
        distinct, places = np.unique(answers[possible], return_inverse=True)
        least = np.bincount(places, low[possible], distinct.size).astype(float)
        most = np.bincount(places, high[possible], distinct.size).astype(float)
        return cls(distinct, least, most)

    def log_most(self, outputs: Array, scale: float) -> Array:
        """The largest log-likelihood of each output."""
        return self._extreme(outputs, scale, nearest=True)

    def log_least(self, outputs: Array, scale: float) -> Array:
        """The smallest log-likelihood of each output."""
        return self._extreme(outputs, scale, nearest=False)

    def _extreme(self, outputs: Array, scale: float, nearest: bool) -> Array:
        distances = np.abs(outputs[:, None] - self.answers) / scale
        order = np.argsort(distances if nearest else -distances, axis=1, kind="stable")
        closest = distances.min(axis=1, keepdims=True)
        likely = np.exp(closest - np.take_along_axis(distances, order, axis=1))
        extra = (self.high - self.low)[order]
        low = self.low[order]
        whole = low.sum(axis=1, keepdims=True) + extra.cumsum(axis=1)
        seen = (low * likely).sum(axis=1, keepdims=True) + (extra * likely).cumsum(axis=1)
        means = np.divide(seen, whole, out=np.full_like(whole, np.nan), where=whole > 0)
        if nearest:
            return np.asarray(np.log(np.nanmax(means, axis=1)) - closest[:, 0])
        with np.errstate(divide="ignore"):
            logs = np.log(np.nanmin(means, axis=1)) - closest[:, 0]
        return np.asarray(np.maximum(logs, -distances.max(axis=1)))


def most_apart(mixtures: Sequence[Mixture], scale: float) -> float:
    """The largest log-ratio between likelihoods of an output under two secrets, rounded up."""
    return max(_apart(one, other, scale) for one, other in itertools.permutations(mixtures, 2))


def _apart(one: Mixture, other: Mixture, scale: float) -> float:
    outputs = np.union1d(one.answers, other.answers)
    size = max(one.answers.size, other.answers.size)
    parts = np.array_split(outputs, -(-outputs.size * size // _AT_ONCE))
    best = max(
        float((one.log_most(part, scale) - other.log_least(part, scale)).max()) for part in parts
    )
    return max(best, 0.0) * (1 + 4 * EPS) + 8 * (size + 8) * EPS


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class TableSet:
    """Every joint law that an attacker may believe in: cells between a low and a high table.

    Axes are records, along which their ``values`` run. ``confidence`` is that of the data the set
    comes from, if it does.

    >>> low, high = [[0.3, 0.1], [0.1, 0.3]], [[0.5, 0.2], [0.2, 0.5]]
    >>> TableSet([[0, 1], [0, 1]], low, high).contains(
    ...     JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    ... )
    True
    """

    values: tuple[Array, ...]
    low: Array
    high: Array
    confidence: float | None = None

    def __post_init__(self) -> None:
        low = np.array(_checks.probabilities(low=self.low))
        high = np.array(_checks.probabilities(high=self.high))
        if low.shape != high.shape or low.ndim == 0 or len(self.values) != low.ndim:
            _checks.refuse("high", "have the shape of low, an axis per record", high.shape)
        if np.any(low > high) or low.sum() > 1 + _ROUNDING or high.sum() < 1 - _ROUNDING:
            rule = "have a law between it and high"
            _checks.refuse("low", rule, (float(low.sum()), float(high.sum())))
        domains = tuple(
            check_values(size, **{f"values[{i}]": given})
            for i, (size, given) in enumerate(zip(low.shape, self.values, strict=True))
        )
        if self.confidence is not None:
            _checks.inside_unit(confidence=self.confidence)
        low.flags.writeable = high.flags.writeable = False
        for name, value in {"values": domains, "low": low, "high": high}.items():
            object.__setattr__(self, name, value)

    def epsilon_bound(self, scale: float, query: Query | Function | None = None) -> Array:
        """At most how much Laplace noise gives away about each record under any law here.

        As ``table_epsilon_bound``.
        """
        return table_epsilon_bound(self, scale, query)

    def scale_bound(self, epsilon: float, query: Query | Function | None = None) -> float:
        """A scale of Laplace noise that keeps the promise ε for every law here.

        As ``table_scale_bound``.
        """
        return table_scale_bound(self, epsilon, query)

    def contains(self, model: JointTable) -> bool:
        """Whether every cell of the table lies between its bounds."""
        _checks.instance(JointTable, "a JointTable", model=model)
        cells = model.probabilities
        if cells.shape != self.low.shape:
            _checks.refuse("model", f"have the shape {self.low.shape}", cells.shape)
        kept = (cells >= self.low - _ROUNDING) & (cells <= self.high + _ROUNDING)
        return bool(kept.all())

    def members(self, number: int, seed: int) -> list[JointTable]:
        """Some laws of the set, its middle first: what they leak bounds the worst from below."""
        number = _checks.whole(1, number=number)
        rng = np.random.default_rng(_checks.whole(0, seed=seed))
        laws = itertools.islice(self._laws(rng), number)
        return [JointTable(self.values, one.reshape(self.low.shape)) for one in laws]

    def _laws(self, rng: np.random.Generator) -> Iterator[Array]:
        low, high = self.low.ravel(), self.high.ravel()
        yield middle(low, high)
        while True:
            deadline.check()
            yield filled(low, high, rng.permutation(low.size))


def table_epsilon_bound(
    model: JointTable | TableSet, scale: float, query: Query | Function | None = None
) -> Array:
    """At most how much Laplace noise on an answer gives away about each record of a table.

    That is for each record an upper bound of the Pufferfish ε, over any two of its values. For a
    ``JointTable`` it is exact. For a ``TableSet`` it holds for every law in the set: likelihoods
    of an output are ratios of sums of cells, largest where cells beyond some likelihood are as
    high as they may be and all others as low; that cells sum to 1 is not used. ``query`` is the
    sum by default, or any function of the tuple of records. A record with fewer than two possible
    values reads NaN.

    >>> table = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    >>> table_epsilon_bound(table, scale=1).round(4)
    array([1.5694, 1.5694])
    """
    scale = _checks.finite_above_zero(scale=scale)
    return _epsilons(_mixtures(model, query), scale)


def table_scale_bound(
    model: JointTable | TableSet, epsilon: float, query: Query | Function | None = None
) -> float:
    """A scale of Laplace noise that keeps the promise ε for every record and every law.

    The least one by ``table_epsilon_bound``, rounded up.

    >>> together = JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]])
    >>> round(table_scale_bound(together, epsilon=1), 4)
    1.5875
    """
    epsilon = _checks.finite_above_zero(epsilon=epsilon)
    mixtures = _mixtures(model, query)
    if not any(len(one) > 1 for one in mixtures):
        raise ImpossibleSecret("model must have a record with two possible values, got none")
    answers = np.concatenate([one.answers for record in mixtures for one in record])
    widest = float(np.ptp(answers))
    if widest == 0:
        _checks.refuse("query", "have answers that differ", float(answers[0]))

    def worst(scale: float) -> float:
        return float(np.nanmax(_epsilons(mixtures, scale)))

    return least_scale(worst, widest / epsilon * (1 + 1e-9), epsilon)


def _epsilons(mixtures: list[list[Mixture]], scale: float) -> Array:
    return np.array(
        [most_apart(one, scale) if len(one) > 1 else np.nan for one in mixtures], dtype=float
    )


def _mixtures(model: JointTable | TableSet, query: Query | Function | None) -> list[list[Mixture]]:
    """For each record, what the answer may be given each of its possible values."""
    _checks.instance(JointTable | TableSet, "a JointTable or a TableSet", model=model)
    cells = model.probabilities if isinstance(model, JointTable) else model.low
    high = cells if isinstance(model, JointTable) else model.high
    answers = _answers(model.values, high > 0, Sum() if query is None else query)
    found = []
    for record in range(cells.ndim):
        parts = [np.moveaxis(one, record, 0) for one in (answers, cells, high)]
        given = [
            Mixture.gathered(*(one.ravel() for one in each)) for each in zip(*parts, strict=True)
        ]
        found.append([one for one in given if one.answers.size])
    return found


def _answers(values: tuple[Array, ...], possible: NDArray[np.bool_], query: Any) -> Array:
    """The answer for every database; a function is asked of possible ones only."""
    shape = possible.shape
    if callable(query):
        databases = itertools.product(*(one.tolist() for one in values))
        asked = zip(databases, possible.ravel(), strict=True)
        found = [_checks.finite(answer=query(one)) if held else 0.0 for one, held in asked]
        return np.array(found).reshape(shape)
    total = np.zeros(shape)
    for record, weight in enumerate(weights_of(query, len(values))):
        along = [1] * len(shape)
        along[record] = -1
        total = total + weight * values[record].reshape(along)
    return np.asarray(total)
