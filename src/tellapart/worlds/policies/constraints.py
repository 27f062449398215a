"""Public knowledge in Blowfish policies: constraints such as known counts and marginals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart.worlds.policies.secret_graphs import Value

Database = tuple[Value, ...]


@dataclass(frozen=True)
class KnownCount:
    """Everyone knows how many records have one of these values.

    ``values`` is a list of values, or a function that says whether a value counts.

    >>> KnownCount([1], 2)
    KnownCount(values=(1,), count=2)
    """

    values: Any
    count: int

    def __post_init__(self) -> None:
        if not callable(self.values):
            _checks.instance(Iterable, "a list of values or a function", values=self.values)
            object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "count", _checks.whole(0, count=self.count))

    def counted(self, domain: tuple[Value, ...]) -> list[tuple[NDArray[np.bool_], int]]:
        """Which values of the domain are counted, with how many records have them."""
        if callable(self.values):
            chosen = [bool(self.values(value)) for value in domain]
        else:
            for value in self.values:
                if value not in domain:
                    _checks.refuse("values", "be in the domain", value)
            chosen = [value in self.values for value in domain]
        return [(np.array(chosen), self.count)]


@dataclass(frozen=True)
class KnownMarginal:
    """Everyone knows how many records have each value of one attribute.

    ``counts`` maps the attribute's values to numbers of records; values left out have none.

    >>> KnownMarginal(0, {"a": 2, "b": 1}).counts["a"]
    2
    """

    attribute: int
    counts: Mapping[Any, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attribute", _checks.whole(0, attribute=self.attribute))
        _checks.instance(Mapping, "a mapping of values to counts", counts=self.counts)
        counts = {value: _checks.whole(0, counts=count) for value, count in self.counts.items()}
        object.__setattr__(self, "counts", counts)

    def counted(self, domain: tuple[Value, ...]) -> list[tuple[NDArray[np.bool_], int]]:
        """Which values of the domain are counted together, with how many records have them."""
        if not isinstance(domain[0], tuple) or self.attribute >= len(domain[0]):
            rule = f"be tuples that have an attribute {self.attribute}"
            _checks.refuse("domain", rule, domain[0])
        own = [value[self.attribute] for value in domain]
        for value in self.counts:
            if value not in own:
                _checks.refuse("counts", f"be of values of attribute {self.attribute}", value)
        return [
            (np.array([held == value for held in own]), self.counts.get(value, 0))
            for value in dict.fromkeys(own)
        ]


Constraint = KnownCount | KnownMarginal | Callable[[Database], Any]


def check_constraint(constraint: Any, domain: tuple[Value, ...]) -> None:
    """Refuse what does not speak of this domain."""
    if isinstance(constraint, KnownCount | KnownMarginal):
        constraint.counted(domain)
    elif not callable(constraint):
        rule = "be KnownCount, KnownMarginal or a function of a database"
        _checks.refuse("constraints", rule, constraint)


def meeting(
    constraints: tuple[Constraint, ...], domain: tuple[Value, ...], every: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The databases, as rows of places in the domain, that agree with all constraints."""
    functions = []
    for constraint in constraints:
        if not isinstance(constraint, KnownCount | KnownMarginal):
            functions.append(constraint)
            continue
        for chosen, count in constraint.counted(domain):
            every = every[chosen[every].sum(axis=1) == count]
    for function in functions:
        held = [bool(function(tuple(domain[i] for i in row))) for row in every.tolist()]
        every = every[np.array(held, dtype=bool)]
    return every
