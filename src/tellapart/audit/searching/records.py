"""Neighbouring data sets as lists of records (numbers, vectors, rows): one added or replaced."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from tellapart import _checks
from tellapart.audit.searching.answers import distinct
from tellapart.audit.searching.domain import Domain, Pair, by_rank, ordered, unique
from tellapart.mechanisms.base import ADD_REMOVE
from tellapart.neighbours import Neighbours

Record = tuple[Any, ...]

# Of so many extreme records at most patterns are made.
_CORNERS = 30


class BoundedNumber(NamedTuple):
    """A number within bounds, whole where they are; ``odd`` are values beside them, as NaN."""

    low: float
    high: float
    odd: tuple[Any, ...] = ()

    @property
    def corners(self) -> tuple[Any, ...]:
        """The values that tell most: bounds first."""
        middle = self._kind((self.low + self.high) / 2)
        zero = (self._kind(0),) if self.low < 0 < self.high else ()
        values = (self._kind(self.low), self._kind(self.high), *self.odd, *zero, middle)
        return tuple(unique(values))

    def draw(self, rng: np.random.Generator) -> Any:
        """A value at random, often a telling one."""
        if rng.random() < 0.5:
            return self.corners[rng.integers(len(self.corners))]
        if self._kind is int:
            return int(rng.integers(int(self.low), int(self.high) + 1))
        return float(rng.uniform(self.low, self.high))

    @property
    def _kind(self) -> type[int] | type[float]:
        return int if all(isinstance(bound, int | np.integer) for bound in self[:2]) else float


class Among(NamedTuple):
    """One of some options."""

    corners: tuple[Any, ...]

    def draw(self, rng: np.random.Generator) -> Any:
        """An option at random."""
        return self.corners[rng.integers(len(self.corners))]


Field = BoundedNumber | Among


class Changed(NamedTuple):
    """Records that both inputs hold, and the one that only the second holds, or instead."""

    common: tuple[Record, ...]
    place: int
    was: Record | None
    becomes: Record


class Records(Domain[Changed]):
    """Lists of records, each of the same fields."""

    rows: tuple[int, int]
    neighbours: Neighbours

    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """What a record consists of."""

    @abstractmethod
    def made(self, record: Record) -> Any:
        """A record as the mechanism gets it."""

    def pair(self, draft: Changed) -> Pair:
        """The records without the one in question, or with another instead; and with it."""
        before, after = draft.common[: draft.place], draft.common[draft.place :]
        was = () if draft.was is None else (draft.was,)
        first, second = (*before, *was, *after), (*before, draft.becomes, *after)
        return [self.made(record) for record in first], [self.made(record) for record in second]

    @property
    def _sizes(self) -> tuple[int, int]:
        """How few and how many records both inputs may share."""
        fewest, most = self.rows
        return (fewest, most - 1) if self._adds else (max(fewest, 1) - 1, most - 1)

    @property
    def _adds(self) -> bool:
        return self.neighbours is ADD_REMOVE

    def check_rows(self) -> None:
        """Refuse sizes in which nothing can be added or replaced."""
        _checks.member(Neighbours, neighbours=self.neighbours)
        if self.neighbours is Neighbours.ZERO_OUT:
            rule = "be ADD_REMOVE or REPLACE: no field says what a zeroed-out record looks like"
            _checks.refuse("neighbours", rule, self.neighbours)
        if not (isinstance(self.rows, tuple) and len(self.rows) == 2):
            _checks.refuse("rows", "be the fewest and the most rows", self.rows)
        fewest, most = (_checks.whole(0, 10**6, rows=count) for count in self.rows)
        if most < max(fewest + self._adds, 1):
            room = "room for one row more" if self._adds else "a row to replace"
            _checks.refuse("rows", f"leave {room}", self.rows)

    # -- patterns ----------------------------------------------------------------------------

    def telling(self) -> Iterator[Changed]:
        """An extreme record beside none, one, few and many others, alike or not; at either end."""
        corners = self._corners()
        was: list[Record | None] = [None] if self._adds else list(corners[::-1])
        for becomes, common, old in by_rank(corners, self._commons(corners), was):
            if old != becomes:
                yield Changed(common, len(common), old, becomes)
                if len(unique(common)) > 1:
                    yield Changed(common, 0, old, becomes)

    def _corners(self) -> list[Record]:
        """Every field extreme at once, then each by itself."""
        fields = self.fields()
        lows, highs = (tuple(column.corners[at] for column in fields) for at in (0, 1))
        apart = (
            (*lows[:at], value, *lows[at + 1 :])
            for at, column in enumerate(fields)
            for value in column.corners[1:]
        )
        return unique([highs, lows, *islice(apart, _CORNERS)])

    def _commons(self, corners: list[Record]) -> list[tuple[Record, ...]]:
        fewest, most = self._sizes
        sizes = [size for size in dict.fromkeys((0, 1, 3, 2, fewest, most)) if size <= most]
        shared: list[tuple[Record, ...]] = []
        for size in (size for size in sizes if size >= fewest):
            shared += [(corner,) * size for corner in (corners[1], corners[0])]
            shared.append(tuple(corners[k % 2] for k in range(size)))
        return unique(shared)

    # -- chance ------------------------------------------------------------------------------

    def drawn(self, count: int, rng: np.random.Generator) -> list[Changed]:
        """Records at random, some of them alike."""
        return [self._random(rng) for _ in range(count)]

    def _random(self, rng: np.random.Generator) -> Changed:
        fewest, most = self._sizes
        size = int(rng.integers(fewest, most + 1))
        pool = [self._record(rng) for _ in range(rng.integers(1, size + 2))]
        common = tuple(pool[rng.integers(len(pool))] for _ in range(size))
        was = None if self._adds else self._record(rng)
        return Changed(common, int(rng.choice([0, size])), was, self._record(rng))

    def _record(self, rng: np.random.Generator) -> Record:
        return tuple(column.draw(rng) for column in self.fields())

    def near(self, draft: Changed, count: int, rng: np.random.Generator) -> list[Changed]:
        """A shared record more, less or changed, or another record in question."""
        return [self._mutated(draft, rng) for _ in range(count)]

    def _mutated(self, draft: Changed, rng: np.random.Generator) -> Changed:
        fewest, most = self._sizes
        common = list(draft.common)
        way = int(rng.integers(5))
        if way == 0 and len(common) < most:
            twin = common[rng.integers(len(common))] if common else draft.becomes
            common.append(twin if rng.random() < 0.5 else self._record(rng))
        elif way == 1 and len(common) > fewest:
            del common[rng.integers(len(common))]
        elif way == 2 and common:
            at = int(rng.integers(len(common)))
            common[at] = self._edited(common[at], rng)
        elif way == 3 and draft.was is not None:
            draft = draft._replace(was=self._edited(draft.was, rng))
        else:
            draft = draft._replace(becomes=self._edited(draft.becomes, rng))
        return draft._replace(common=tuple(common), place=min(draft.place, len(common)))

    def _edited(self, record: Record, rng: np.random.Generator) -> Record:
        at = int(rng.integers(len(record)))
        return (*record[:at], self.fields()[at].draw(rng), *record[at + 1 :])


@dataclass(frozen=True)
class Numbers(Records):
    """A list of numbers from ``low`` to ``high``, or of vectors of them, one for each record.

    ``rows`` are the fewest and the most records. ``width`` makes a record a list of so many
    numbers. Bounds that are whole numbers stand for whole numbers. ``odd`` holds what may come
    besides, as NaN: only what your data can hold. One record is added, or one is replaced: with
    other neighbours than the claim's nothing is refuted.

    >>> Numbers(0.0, 1.0).pair(Changed(((0.5,),), 1, None, (1.0,)))
    ([0.5], [0.5, 1.0])
    """

    low: float
    high: float
    rows: tuple[int, int] = (0, 6)
    width: int | None = None
    neighbours: Neighbours = ADD_REMOVE
    odd: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        ordered(self.low, self.high)
        if self.width is not None:
            _checks.whole(1, 10**6, width=self.width)
        object.__setattr__(self, "odd", distinct(0, odd=self.odd))
        self.check_rows()

    def fields(self) -> tuple[Field, ...]:
        return (BoundedNumber(self.low, self.high, self.odd),) * (self.width or 1)

    def made(self, record: Record) -> Any:
        return record[0] if self.width is None else list(record)


@dataclass(frozen=True)
class Tables(Records):
    """A list of rows, each a dictionary with a value in every column.

    A column is a pair of bounds, whole numbers if they are, or a list of options. ``rows`` are
    the fewest and the most of them. One row is added, or one is replaced: with other neighbours
    than the claim's nothing is refuted.

    >>> table = Tables({"age": (0, 120), "job": ["none", "some"]})
    >>> table.pair(Changed((), 0, None, (37, "some")))
    ([], [{'age': 37, 'job': 'some'}])
    """

    columns: Mapping[str, tuple[float, float] | list[Any]]
    rows: tuple[int, int] = (0, 6)
    neighbours: Neighbours = ADD_REMOVE
    _fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _checks.instance(Mapping, "a dictionary of columns", columns=self.columns)
        if not self.columns:
            _checks.refuse("columns", "not be empty", self.columns)
        columns = tuple(_column(name, described) for name, described in self.columns.items())
        object.__setattr__(self, "_fields", columns)
        self.check_rows()

    def fields(self) -> tuple[Field, ...]:
        return self._fields

    def made(self, record: Record) -> Any:
        return dict(zip(self.columns, record, strict=True))


def _column(name: str, described: Any) -> Field:
    if isinstance(described, tuple) and len(described) == 2:
        ordered(*described)
        return BoundedNumber(*described)
    if not isinstance(described, list):
        _checks.refuse(f"column {name}", "be two bounds or a list of options", described)
    return Among(distinct(2, **{f"column {name}": described}))
