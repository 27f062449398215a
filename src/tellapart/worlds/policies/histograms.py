"""Queries under a Blowfish policy, such as histograms, and how far one record moves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.policies.secret_graphs import Value


@dataclass(frozen=True)
class Histogram:
    """How many records have each value of the domain.

    >>> from tellapart.worlds import policies
    >>> policy = policies.Policy(range(100), policies.DistanceGraph(1), records=10)
    >>> policy.sensitivity(policies.Histogram()).value
    2.0
    """


@dataclass(frozen=True)
class CumulativeHistogram:
    """How many records are at most each value of the domain, whose values are numbers.

    >>> from tellapart.worlds import policies
    >>> policy = policies.Policy(range(100), policies.DistanceGraph(1), records=10)
    >>> policy.sensitivity(policies.CumulativeHistogram()).value
    1.0
    """


PolicyQuery = Sum | Linear | Histogram | CumulativeHistogram | Callable[[tuple[Value, ...]], Any]


def additive(query: PolicyQuery) -> bool:
    """Whether records add to the answer one by one, so that a move alone says what changes."""
    return isinstance(query, Sum | Linear | Histogram | CumulativeHistogram)


def contributions(query: PolicyQuery, domain: tuple[Value, ...]) -> Array:
    """What a record of each value adds to the answer, one row for each value."""
    if isinstance(query, Histogram):
        return np.eye(len(domain))
    numbers = _numbers(domain)
    if isinstance(query, CumulativeHistogram):
        return np.asarray(numbers[:, None] <= np.sort(numbers), dtype=np.float64)
    return numbers[:, None]


def weights(query: PolicyQuery, records: int) -> Array:
    """How much each record counts in an additive query."""
    return weights_of(query, records) if isinstance(query, Sum | Linear) else np.ones(records)


def answers(query: PolicyQuery, domain: tuple[Value, ...], databases: NDArray[np.int64]) -> Array:
    """The answer on each database, given as a row of places in the domain; a row for each."""
    if additive(query):
        added = contributions(query, domain)
        counted = weights(query, databases.shape[1])
        sums = np.zeros((len(databases), added.shape[1]))
        for record, weight in enumerate(counted):
            sums += weight * added[databases[:, record]]
        return sums
    if not callable(query):
        rule = "be Sum(), Linear(weights), Histogram(), CumulativeHistogram() or a function"
        _checks.refuse("query", rule, query)
    rows = [np.ravel(query(tuple(domain[i] for i in row))) for row in databases.tolist()]
    if len({row.size for row in rows}) > 1:
        _checks.refuse("query", "answer with as many numbers everywhere", [r.size for r in rows])
    sums = _checks.reals("answer with numbers", query=rows)
    if not np.all(np.isfinite(sums)):
        _checks.refuse("query", "have finite answers", float(sums[~np.isfinite(sums)][0]))
    return sums


def _numbers(domain: tuple[Value, ...]) -> Array:
    if isinstance(domain[0], tuple):
        _checks.refuse("domain", "be numbers for a sum of records or of counts", domain[0])
    return np.array(domain, dtype=np.float64)
