"""Queries: weighted sums of records, whose laws the models know exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported


@dataclass(frozen=True)
class Sum:
    """The sum of all records.

    >>> Sum().over(3)
    array([1., 1., 1.])
    """

    def over(self, records: int) -> Array:
        """The weight of each record."""
        return np.ones(records)


@dataclass(frozen=True, eq=False)
class Linear:
    """A sum in which each record counts with its own weight.

    >>> Linear([1, 0]).over(2)
    array([1., 0.])
    """

    weights: Array

    def __post_init__(self) -> None:
        weights = np.array(_checks.vector(weights=self.weights))
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def over(self, records: int) -> Array:
        """The weight of each record."""
        if self.weights.size != records:
            _checks.refuse("weights", f"be one for each of {records} records", self.weights.size)
        return self.weights


@dataclass(frozen=True)
class Vector:
    """Several answers about the same records, all of which the attacker sees.

    Each is Sum(), Linear(weights) or a function of the tuple of records; for tables only.

    >>> len(Vector([Sum(), Linear([1, 0])]).queries)
    2
    """

    queries: tuple[Any, ...]

    def __post_init__(self) -> None:
        _checks.instance((list, tuple), "a list of queries", queries=self.queries)
        if not self.queries:
            _checks.refuse("queries", "not be empty", self.queries)
        for query in self.queries:
            if not (isinstance(query, Sum | Linear) or callable(query)):
                rule = "each be Sum(), Linear(weights) or a function of records"
                _checks.refuse("queries", rule, query)
        object.__setattr__(self, "queries", tuple(self.queries))


Query = Sum | Linear


def weights_of(query: object, records: int) -> Array:
    """The weight of each record under a query that is a weighted sum."""
    if isinstance(query, Vector):
        raise Unsupported(
            "the law of several answers at once needs every database listed; describe the data "
            "by a JointTable"
        )
    _checks.instance(
        Query, "Sum() or Linear(weights); other functions need a JointTable", query=query
    )
    return query.over(records)  # type: ignore[attr-defined,no-any-return]
