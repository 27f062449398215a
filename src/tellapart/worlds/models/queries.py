"""What is asked of the records: a weighted sum, whose law the models know exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array


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


Query = Sum | Linear


def weights_of(query: object, records: int) -> Array:
    """The weight of each record under a query that is a weighted sum."""
    _checks.instance(Query, "Sum() or Linear(weights)", query=query)
    return query.over(records)  # type: ignore[attr-defined,no-any-return]
