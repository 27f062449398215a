"""Columns of score tables: their names, and those of pandas, Polars and Arrow tables and dicts.

None of these packages is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data.ranked import Mask
from tellapart.data.table import HEAD, Batch
from tellapart.errors import BadScores, InvalidArgument, NoColumn

_RULE = "table must be a pandas, Polars or Arrow table or a dict of columns"


def from_zero(index: int) -> str:
    """How a row of an array or a frame is named."""
    return f"in row {index} (counted from 0)"


def both_sides(where: str, members: int, non_members: int) -> None:
    """Refuse scores of one side alone: nothing can be told apart from nothing."""
    for name, value, count in (("members", 1, members), ("non-members", 0, non_members)):
        if count == 0:
            rows = f"{members + non_members:,} rows"
            raise BadScores(f"{where} must have rows of {name} (member = {value}), got 0 of {rows}")


# What the column of runs is mostly called.
_RUN = "run"


@dataclass(frozen=True)
class Names:
    """The columns that hold the score, who is a member and, where wanted, run and group.

    Scores and members that are not named are looked for (see `layout`).
    """

    score: str | None = None
    member: str | None = None
    run: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        """Scores that are read off the column of members tell them apart whatever was trained."""
        columns = list(self.wanted.values())
        for part, name in self.wanted.items():
            if columns.count(name) > 1 and part != name:
                _checks.refuse(part, "be a column of its own", name)

    @property
    def wanted(self) -> dict[str, str]:
        """Each part that is asked for, with its column."""
        every = {"score": self.score, "member": self.member, "run": self.run, "group": self.group}
        return {part: name for part, name in every.items() if name is not None}


@dataclass(frozen=True)
class Slice:
    """Some rows of one file."""

    scores: Array
    member: Mask
    run: Any = None
    group: Any = None


def together(slices: Iterable[Slice]) -> Slice:
    """All rows at once."""
    parts = list(slices)
    runs, groups = (
        None if none else np.concatenate([getattr(part, kind) for part in parts])
        for kind, none in (("run", parts[0].run is None), ("group", parts[0].group is None))
    )
    scores = np.concatenate([part.scores for part in parts])
    return Slice(scores, np.concatenate([part.member for part in parts]), runs, groups)


def no_column(
    where: object, name: str, there: list[str], what: str = "column", also: str = ""
) -> NoColumn:
    """The error of a table or a file without this column."""
    error = NoColumn(f"{where} must have {_a(what)} {name!r}{also}, has {listed(there)}")
    error.column = name
    return error


def _a(what: str) -> str:
    return f"an {what}" if what == "array" else f"a {what}"


def position(there: list[str], name: str, where: object, what: str = "column") -> int:
    """Where a column stands; one that is there twice is refused, as nobody knows which is meant."""
    if name not in there:
        raise no_column(where, name, there, what)
    if there.count(name) > 1:
        raise BadScores(f"{where} must have one {what} {name!r}, has {there.count(name)}")
    return there.index(name)


def refuse_unread(
    there: Sequence[str], wanted: Iterable[str], where: object, what: str = "column"
) -> None:
    """Refuse a column of runs that nobody asked for: it may say that scores are not independent."""
    if _RUN in there and _RUN not in wanted:
        raise NoColumn(
            f"{where} has {_a(what)} {_RUN!r}, and scores of one run may not be independent",
            f". If these are run ids, add --{_RUN}-column {_RUN}, in Python {_RUN}={_RUN!r} "
            "(independence is then checked); otherwise rename it",
        )


class FrameTable:
    """A pandas, Polars or Arrow table or a dict of columns."""

    what, named = "column", True

    def __init__(self, table: Any) -> None:
        self._table = _opened(table)
        self.names = _names(self._table)
        self.notes: list[str] = []
        self.aligned = not isinstance(self._table, Mapping)  # a dict has lists of any length

    def __str__(self) -> str:
        return "table"

    def head(self, name: str) -> list[Any]:
        """The first values of a column."""
        return first_values(self._column(name))

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These columns, all rows at once."""
        held = tuple(self._column(name) for name in names)
        for name in names[1:]:
            same_order(name, raw(self._table, name), names[0], raw(self._table, names[0]))
        for name, values in zip(names[1:], held[1:], strict=True):
            one_length(name, len(held[0]), len(values))
        yield Batch(held, len(held[0]), from_zero)

    def _column(self, name: str) -> Any:
        values = raw(self._table, name)
        missing = _missing(values)  # asked before missing numbers are turned into NaN
        array = values.to_numpy() if hasattr(values, "to_numpy") else values
        return np.ma.MaskedArray(array, missing) if missing.any() else array


def first_values(column: Any) -> list[Any]:
    """The first values of a column, None where there is none."""
    return [None if value is np.ma.masked else value for value in column[:HEAD]]


def same_order(name: str, values: Any, other: str, first: Any) -> None:
    """Refuse rows of pandas that have the same names in another order.

    All is matched by place, so that labels would go to the scores of other records.
    """
    for axis in ("index", "columns"):
        names: Any = getattr(values, axis, None)
        firsts: Any = getattr(first, axis, None)
        if not (hasattr(names, "equals") and hasattr(firsts, "equals")) or names.equals(firsts):
            continue
        if len(names) == len(firsts) and set(names) == set(firsts):
            by = f".loc[{other}.index]" if axis == "index" else f"[{other}.columns]"
            raise BadScores(
                f"{name} must be in the order of {other}, and its {axis} has the same names in "
                f"another one: give {name}{by}, or both as .to_numpy() if they belong together "
                "by place"
            )


def one_length(name: str, rows: int, size: int, where: str = "") -> None:
    """Refuse labels that are more or fewer than the scores."""
    if size != rows:
        raise BadScores(f"{name} must have one label for each of {rows} scores, got {size}{where}")


def raw(table: Any, name: str) -> Any:
    """One column by its name, as the table holds it, with whatever is missing from it."""
    opened = _opened(table)
    at = position(_names(opened), name, "table")
    values = opened[_keys(opened)[at]]
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise InvalidArgument(
            f"column {name!r} must hold a value for each row, got {type(values).__name__}"
        )
    return values


def names(table: Any) -> list[str]:
    """The names of a table's columns."""
    return _names(_opened(table))


def _missing(values: Any) -> Mask:
    """Which rows hold nothing."""
    if hasattr(values, "is_null") and hasattr(values, "null_count"):  # Polars, Arrow
        return np.asarray(values.is_null().to_numpy(), dtype=np.bool_)
    if hasattr(values, "isna") and values.dtype != np.float64:  # pandas; NaN is named as such
        return np.asarray(values.isna().to_numpy(), dtype=np.bool_)
    return np.zeros(0, dtype=np.bool_)


def listed(names: list[str]) -> str:
    """The columns that are there, for a message."""
    shown = ", ".join(repr(name if len(name) <= 80 else f"{name[:77]}...") for name in names[:20])
    return (shown or "no columns") + (", ..." if len(names) > 20 else "")


def _opened(table: Any) -> Any:
    for later in ("collect", "compute"):  # Polars' LazyFrame, Spark, Dask
        if hasattr(table, later) and not isinstance(table, Mapping):
            raise InvalidArgument(
                f"{_RULE}, got {type(table).__name__}: give what its {later}() returns"
            )
    if isinstance(table, Mapping) or hasattr(table, "column_names"):
        return table
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return table
    if hasattr(table, "__arrow_c_stream__"):
        try:
            return importlib.import_module("pyarrow").table(table)
        except ImportError:
            raise InvalidArgument(f"{_RULE}, got {type(table).__name__}") from None
    raise InvalidArgument(f"{_RULE}, got {type(table).__name__}")


def _names(table: Any) -> list[str]:
    return [str(name) for name in _keys(table)]


def _keys(table: Any) -> list[Any]:
    """The names of columns as the table has them: pandas knows whole numbers and tuples, too."""
    if isinstance(table, Mapping):
        return list(table)
    if hasattr(table, "column_names"):
        return list(table.column_names)
    return list(table.columns)
