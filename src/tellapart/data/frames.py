"""Columns of a pandas, Polars or Arrow table, or of a dict, without importing any of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from tellapart.data import columns
from tellapart.data.ranked import Mask
from tellapart.errors import BadScores, InvalidArgument, NoColumn

_RULE = "table must be a pandas, Polars or Arrow table or a dict of columns"


def no_column(where: object, name: str, there: list[str]) -> NoColumn:
    """The error of a table or a file without this column."""
    return NoColumn(f"{where} must have a column {name!r}, has {listed(there)}")


def position(there: list[str], name: str, where: object, what: str = "column") -> int:
    """Where a column stands; one that is there twice is refused, as nobody knows which is meant."""
    if name not in there:
        raise no_column(where, name, there)
    if there.count(name) > 1:
        raise BadScores(f"{where} must have one {what} {name!r}, has {there.count(name)}")
    return there.index(name)


def column(table: Any, name: str) -> Any:
    """One column by its name, as something NumPy reads; missing values are refused."""
    found = raw(table, name)
    missing = _missing(found)
    if missing.any():
        columns.refuse(name, columns.NOT_NULL, None, columns.from_zero(int(np.argmax(missing))))
    return found.to_numpy() if hasattr(found, "to_numpy") else found


def raw(table: Any, name: str) -> Any:
    """One column by its name, as the table holds it, with whatever is missing from it."""
    opened = _opened(table)
    position(_names(opened), name, "table")
    return opened[name]


def _missing(found: Any) -> Mask:
    """Which rows hold nothing; asked before missing numbers are turned into NaN."""
    if hasattr(found, "is_null") and hasattr(found, "null_count"):  # Polars, Arrow
        return np.asarray(found.is_null().to_numpy(), dtype=np.bool_)
    if hasattr(found, "isna") and found.dtype != np.float64:  # pandas; NaN is named as such
        return np.asarray(found.isna().to_numpy(), dtype=np.bool_)
    return np.zeros(0, dtype=np.bool_)


def listed(names: list[str]) -> str:
    """The columns that are there, for a message."""
    shown = ", ".join(repr(one if len(one) <= 80 else f"{one[:77]}...") for one in names[:20])
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
        return [str(one) for one in table]
    return [str(one) for one in getattr(table, "column_names", None) or table.columns]
