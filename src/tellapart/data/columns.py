"""Columns of score tables: numbers, truth values and labels, or the row that is none.

From pandas, Polars and Arrow tables and dicts, without importing any of them, and from files.
"""

from __future__ import annotations

import importlib
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data.ranked import Mask, Progress
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores, InvalidArgument, NoColumn

NUMBER = "be a number"
NOT_NAN = "not be NaN"
FINITE = "be finite (cap infinite scores at a finite one)"
DOUBLE = "fit a double"
TRUTH = "be True or False, or 1 or 0"
WHOLE_TRUTH = "be True or False, or 1 or 0 as whole numbers"
NOT_NULL = "not be missing"

_RULE = "table must be a pandas, Polars or Arrow table or a dict of columns"

Place = Callable[[int], str]


def refuse(name: str, rule: str, value: object, where: str) -> NoReturn:
    """Say which value breaks which rule, and where it stands."""
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise BadScores(f"{name} must {rule}, got {shown} {where}".rstrip())


def from_zero(index: int) -> str:
    """How a row of an array or a frame is named."""
    return f"in row {index} (counted from 0)"


def scores(name: str, values: Any, place: Place = from_zero) -> Array:
    """Finite numbers, one per row."""
    array = _flat(name, values, place)
    if array.dtype.kind not in "iuf" or _holds_truths(values):
        array = _from_objects(name, values if isinstance(values, list | tuple) else array, place)
    with np.errstate(over="ignore"):
        result = array.astype(np.float64, copy=False)
    bad = ~np.isfinite(result)
    if bad.any():
        row = int(np.argmax(bad))
        refuse(name, NOT_NAN if np.isnan(result[row]) else FINITE, float(result[row]), place(row))
    return result


def truths(name: str, values: Any, place: Place = from_zero) -> Mask:
    """True and False, also as 1 and 0."""
    array = _flat(name, values, place)
    if array.dtype.kind == "b":
        return np.asarray(array, dtype=np.bool_)
    if array.dtype.kind in "iu":
        wrong = (array != 0) & (array != 1)
    elif array.dtype.kind != "O":  # no truth among these, whatever they look like
        return _no_truths(name, array, place)
    else:
        wrong = np.array([not _is_truth(value) for value in array.tolist()], dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        refuse(name, TRUTH, array[row], place(row))
    return array.astype(np.bool_)


def _no_truths(name: str, array: NDArray[Any], place: Place) -> Mask:
    """Refuse numbers and texts by the first that is not even spelt like a truth."""
    if array.size == 0:
        return np.zeros(0, dtype=np.bool_)
    alike: dict[str, list[Any]] = {"f": [0, 1], "c": [0, 1], "U": ["0", "1"], "S": [b"0", b"1"]}
    wrong = ~np.isin(array, alike.get(array.dtype.kind, []))
    row = int(np.argmax(wrong))
    refuse(name, TRUTH if wrong[row] else WHOLE_TRUTH, array[row], place(row))


def _is_truth(value: Any) -> bool:
    return isinstance(value, int | np.bool_ | np.integer) and value in (0, 1)


def labels(name: str, values: Any, rows: int, place: Place = from_zero) -> NDArray[Any]:
    """One label per row, none of them missing."""
    array = _flat(name, values, place)
    if array.size != rows:
        refuse(name, f"have one label per score, {rows} in all", array.size, "")
    if array.dtype.kind in "mM" and np.isnat(array).any():
        refuse(name, NOT_NULL, None, place(int(np.argmax(np.isnat(array)))))
    if array.dtype.kind == "f" and np.isnan(array).any():
        refuse(name, NOT_NULL, math.nan, place(int(np.argmax(np.isnan(array)))))
    if array.dtype.kind == "O":
        every = array.tolist()
        for row, label in enumerate(every):
            if label is None or label != label:
                refuse(name, NOT_NULL, label, place(row))
            if type(label) is not type(every[0]):
                rule = f"all be {type(every[0]).__name__}, as the first is"
                refuse(name, rule, label, place(row))
    return array


def _flat(name: str, values: Any, place: Place) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(values)
        if missing.any():
            refuse(name, NOT_NULL, None, place(int(np.argmax(missing))))
        values = values.data
    try:
        array = np.asarray(values)
    except ValueError:
        refuse(name, "be one list of numbers", values, "")
    if array.ndim != 1:
        refuse(name, "be one list of numbers", array.shape, "as its shape")
    return array


def _holds_truths(values: Any) -> bool:
    """Whether a list mixes in True or False, which NumPy would quietly turn into numbers."""
    return isinstance(values, list | tuple) and any(
        isinstance(value, bool | np.bool_) for value in values
    )


def _from_objects(name: str, values: Any, place: Place) -> Array:
    for row, value in enumerate(values):
        no_number = isinstance(value, bool | np.bool_ | np.timedelta64)
        if no_number or not isinstance(value, numbers.Real):
            refuse(name, NUMBER, value, place(row))
    try:
        return np.array([float(value) for value in values], dtype=np.float64)
    except OverflowError:
        refuse(name, DOUBLE, max(values, key=abs), "")


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
    """The columns that hold the score, who is a member and, where wanted, run and group."""

    score: str = "score"
    member: str = "member"
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


Reader = Callable[[Sequence[Source], Names, FileLimits, Progress], Iterator[Slice]]


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
        raise BadScores(
            f"{where} has {_a(what)} {_RUN!r}. If these are run ids, add --{_RUN}-column {_RUN}, "
            f"in Python {_RUN}={_RUN!r} (independence is then checked); otherwise rename it"
        )


def column(table: Any, name: str) -> Any:
    """One column by its name, as something NumPy reads; missing values are refused."""
    values = raw(table, name)
    missing = _missing(values)
    if missing.any():
        refuse(name, NOT_NULL, None, from_zero(int(np.argmax(missing))))
    return values.to_numpy() if hasattr(values, "to_numpy") else values


def refuse_unread_in(table: Any, wanted: Iterable[str | None]) -> None:
    """Refuse a table with a column of runs that nobody asked for, as files are."""
    refuse_unread(_names(_opened(table)), [name for name in wanted if name is not None], "table")


def raw(table: Any, name: str) -> Any:
    """One column by its name, as the table holds it, with whatever is missing from it."""
    opened = _opened(table)
    position(_names(opened), name, "table")
    return opened[name]


def names(table: Any) -> list[str]:
    """The names of a table's columns."""
    return _names(_opened(table))


def _missing(values: Any) -> Mask:
    """Which rows hold nothing; asked before missing numbers are turned into NaN."""
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
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    return [str(name) for name in getattr(table, "column_names", None) or table.columns]
