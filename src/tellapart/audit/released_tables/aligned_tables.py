"""Original, released and control table, column by column: numbers, dates and categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.released_tables import exact_columns
from tellapart.data import columns
from tellapart.errors import InvalidArgument

Mask = NDArray[np.bool_]
_NAMES = ("original", "released", "control")


@dataclass(frozen=True, eq=False)
class AlignedTables:
    """Three tables with the same columns, a row of numbers for each record.

    Categories are whole numbers, the same in all three; a missing number is NaN. From numbers that
    differ in digits that doubles do not have, ``offsets`` are taken off (see `exact_columns`).
    ``rounded`` has the columns that some table has in a coarser type than another, with that type.
    """

    columns: tuple[str, ...]
    numeric: Mask
    offsets: Array
    original: Array
    released: Array
    control: Array
    rounded: Mapping[str, str]

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
    read = {
        what: {name: exact_columns.read(table, name) for name in names}
        for what, table in tables.items()
    }
    for what, held in read.items():
        rows = {name: len(column.values) for name, column in held.items()}
        if len(set(rows.values())) > 1:
            _checks.refuse(what, "have columns of one length", rows)
        if not max(rows.values()):
            _checks.refuse(what, "have a row or more", 0)
    parts = [_column(name, [read[what][name] for what in _NAMES]) for name in names]
    made = [np.column_stack([part.values[k] for part in parts]) for k in range(len(_NAMES))]
    numeric, offsets = (
        np.array([part[k] for part in parts], dtype=kind) for k, kind in ((0, bool), (2, float))
    )
    rounded = {name: part.rounded for name, part in zip(names, parts, strict=True) if part.rounded}
    first, second, third = made
    return AlignedTables(tuple(names), numeric, offsets, first, second, third, rounded)


class _Column(NamedTuple):
    numeric: bool
    values: list[Array]  # of each table
    offset: float = 0.0
    rounded: str = ""  # to what, where tables differ in that


def _column(name: str, sides: list[exact_columns.ReadColumn]) -> _Column:
    """Whether a column holds numbers, and its values in all tables."""
    kinds = [side.kind for side in sides]
    known = {kind for kind in kinds if kind}
    if len(known) > 1:
        pairs = zip(_NAMES, kinds, strict=True)
        said = ", ".join(f"{kind or 'nothing'} in {what}" for what, kind in pairs)
        raise InvalidArgument(f"column {name!r} must be of one kind in all tables, has {said}")
    held = [side.values for side in sides]
    if known - {exact_columns.CATEGORIES}:
        precision, differs = exact_columns.coarsest(sides)
        values, offset = exact_columns.joint(name, held, known.pop(), precision)
        return _Column(True, values, offset, precision.name if differs else "")
    codes: dict[Any, int] = {}
    return _Column(False, [_codes(values, codes) for values in held])


def _codes(side: list[Any], codes: dict[Any, int]) -> Array:
    """A whole number for each value."""
    keys = (exact_columns.category(value) for value in side)
    return np.array([float(codes.setdefault(key, len(codes))) for key in keys])
