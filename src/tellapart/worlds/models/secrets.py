"""Secrets: events about the records that an adversary wants to tell apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tellapart import _checks


@dataclass(frozen=True)
class RecordValue:
    """One person's record has this value.

    >>> RecordValue(0, 1)
    RecordValue(record=0, value=1.0)
    """

    record: int
    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", _checks.whole(0, record=self.record))
        object.__setattr__(self, "value", _checks.finite(value=self.value))

    @property
    def values(self) -> tuple[float, ...]:
        """The one value, as a list."""
        return (self.value,)


@dataclass(frozen=True)
class RecordIn:
    """One person's record has one of these values.

    >>> RecordIn(0, [2, 1]).values
    (2.0, 1.0)
    """

    record: int
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "record", _checks.whole(0, record=self.record))
        values = _checks.vector(values=self.values)
        object.__setattr__(self, "values", tuple(float(value) for value in values))


@dataclass(frozen=True)
class Predicate:
    """Whatever a function says of the whole list of records; for tables only.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Predicate, Sum, tell_apart
    >>> coins = JointTable([[0, 1]] * 2, [[0.25, 0.25], [0.25, 0.25]])
    >>> alike = Predicate(lambda d: d[0] == d[1])
    >>> differ = Predicate(lambda d: d[0] != d[1])
    >>> round(tell_apart(coins, Sum(), ta.Laplace(1), alike, differ).epsilon, 4)
    1.0
    """

    function: Callable[[tuple[float, ...]], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            _checks.refuse("function", "be a function of the tuple of records", self.function)


Secret = RecordValue | RecordIn | Predicate
