"""Original, released and control table, column by column: numbers, dates and categories."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.data import columns, labels
from tellapart.errors import InvalidArgument

Mask = NDArray[np.bool_]
_NAMES = ("original", "released", "control")


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """Three tables with the same columns, a row of numbers for each record.

    Categories are whole numbers, the same in all three; a missing number is NaN.
    """

    columns: tuple[str, ...]
    numeric: Mask
    original: Array
    released: Array
    control: Array

    @property
    def pool(self) -> Array:
        """All records that are attacked, the original ones first."""
        return np.concatenate([self.original, self.control])

    @property
    def spans(self) -> Array:
        """The range of each column of the release: the unit of its distances."""
        made = np.ones(len(self.columns))
        for column in np.flatnonzero(self.numeric):
            known = self.released[:, column][~np.isnan(self.released[:, column])]
            made[column] = (np.ptp(known) if known.size else 0.0) or 1.0
        return made


def aligned(original: Any, released: Any, control: Any) -> AlignedTables:
    """Tables of any make, checked and brought to one form."""
    tables = dict(zip(_NAMES, (original, released, control), strict=True))
    names = columns.names(released)
    for what, table in tables.items():
        there = columns.names(table)
        if sorted(there) != sorted(names):
            rule = f"have the columns of released ({', '.join(sorted(names))})"
            _checks.refuse(what, rule, sorted(there))
    if not names or len(set(names)) < len(names):
        _checks.refuse("released", "have columns, each of another name", names)
    read = {what: labels.read(table, names) for what, table in tables.items()}
    for what, rows in read.items():
        if not rows[0].rows:
            _checks.refuse(what, "have a row or more", 0)
    parts = [_column(name, [read[what][k].rows for what in _NAMES]) for k, name in enumerate(names)]
    made = [np.column_stack([values[k] for _, values in parts]) for k in range(len(_NAMES))]
    return AlignedTables(tuple(names), np.array([numeric for numeric, _ in parts]), *made)


def _column(name: str, sides: list[list[Any]]) -> tuple[bool, list[Array]]:
    """Whether a column holds numbers, and its values in all tables."""
    kinds = [_kind(side) for side in sides]
    known = {kind for kind in kinds if kind}
    if len(known) > 1 and known & {"numbers", "dates"}:
        pairs = zip(_NAMES, kinds, strict=True)
        said = ", ".join(f"{kind or 'nothing'} in {what}" for what, kind in pairs)
        raise InvalidArgument(f"column {name!r} must be of one kind in all tables, has {said}")
    if known <= {"numbers", "dates"} and known:
        return True, [_numbers(name, side) for side in sides]
    codes: dict[tuple[type, Any], int] = {}
    return False, [_codes(side, codes) for side in sides]


def _kind(side: list[Any]) -> str:
    some = [value for value in side if value is not None]
    if not some:
        return ""
    if all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in some):
        return "numbers"
    return "dates" if all(isinstance(value, date) for value in some) else "categories"


def _numbers(name: str, side: list[Any]) -> Array:
    values = np.array([np.nan if value is None else _number(value) for value in side])
    if np.isinf(values).any():
        _checks.refuse(f"column {name!r}", "be finite", float(values[np.isinf(values)][0]))
    return values + 0.0  # one number of 0.0 and -0.0


def _number(value: Any) -> float:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return float(np.datetime64(value, "us").astype(np.int64)) / 1e6
    return float(value)


def _codes(side: list[Any], codes: dict[tuple[type, Any], int]) -> Array:
    """A whole number for each value; that True is 1 in Python makes them no one category."""
    return np.array([float(codes.setdefault(_key(value), len(codes))) for value in side])


def _key(value: Any) -> tuple[type, Any]:
    try:
        hash(value)
    except TypeError:
        return str, repr(value)
    return type(value), value
