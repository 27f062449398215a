"""Lists of pairs, dictionaries of lists and the like: outputs of one shape, read by columns.

A shape says which containers lie where; what they hold lies in columns, one row an output.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.blackbox.cells import (
    MISSING_CODE,
    UNSEEN_CODE,
    Cells,
    Codes,
    Frame,
    Sequences,
    Words,
    fractions_in,
    is_scalar,
    leaves_of,
    row_width,
)
from tellapart.blackbox.columns import Path
from tellapart.blackbox.inputs import fingerprint
from tellapart.blackbox.reading import DEEPEST, MOST_COMPONENTS, shown

_SEQUENCES = (list, tuple)
_SCALAR = 0
# More shapes than this for each output are not worth columns.
_MOST_SHAPES = 0.25
Rows = NDArray[np.int64]


def by_shape(values: list[Any]) -> Frame | None:
    """Outputs side by side, shape by shape; None if some are made of anything else."""
    groups: dict[Hashable, tuple[list[int], list[list[Any]]]] = {}
    most = 8 + _MOST_SHAPES * len(values)
    for row, value in enumerate(values):
        held: list[Any] = []
        shape = _shape(value, held)
        if shape is None or len(groups) > most:
            return None
        rows, columns = groups.setdefault(shape, ([], []))
        rows.append(row)
        columns.append(held)
    reader = _Reader(values)
    for shape, (rows, columns) in groups.items():
        reader.read(shape, np.array(rows), columns)
    return reader.frame()


def _shape(value: Any, held: list[Any]) -> Hashable:
    """Which containers lie where; what they hold is added to a list. None if it has no shape."""
    kind = type(value)
    if kind in _SEQUENCES:
        parts, steps = [_shape(one, held) for one in value], None
    elif kind is dict:
        parts, steps = [_shape(one, held) for one in value.values()], tuple(value)
    elif is_scalar(value):
        held.append(value)
        return _SCALAR
    else:
        return None
    return None if None in parts else (kind, steps, tuple(parts))


@dataclass(frozen=True)
class _Reader:
    """A frame as it fills up, group of outputs by group."""

    values: list[Any]
    words: Words = field(default_factory=Words)
    leaves: dict[Path, Cells] = field(default_factory=dict)
    sequences: dict[Path, list[tuple[Rows, list[Cells]]]] = field(default_factory=dict)

    def read(self, shape: Any, rows: Rows, held: list[list[Any]]) -> None:
        """All outputs of one shape."""
        columns = [leaves_of(column, self.words) for column in zip(*held, strict=True)]
        self._walk(shape, (), rows, iter(columns), shown=True)
        if shape != _SCALAR:
            self.leaves[()].codes[rows] = self._whole(rows, columns)

    def _walk(
        self, shape: Any, path: Path, rows: Rows, columns: Iterator[Cells], shown: bool
    ) -> Cells:
        """One place and all below it; what the place is as an element of what it lies in."""
        if shape == _SCALAR:
            cells = next(columns)
            if shown:
                self._put(path, rows, cells)
            return cells
        kind, steps, parts = shape
        code = self.words.code(f"is a {kind.__name__}")
        cells = Cells(np.full(len(rows), code, np.int32), np.full(len(rows), math.nan))
        if shown:
            self._put(path, rows, cells)
        elements = [
            self._walk(
                part,
                (*path, place if steps is None else steps[place]),
                rows,
                columns,
                shown and len(path) < DEEPEST and place < MOST_COMPONENTS,
            )
            for place, part in enumerate(parts)
        ]
        if shown and steps is None:
            self.sequences.setdefault(path, []).append((rows, elements))
        return cells

    def _put(self, path: Path, rows: Rows, cells: Cells) -> None:
        if path not in self.leaves:
            count = len(self.values)
            self.leaves[path] = Cells(
                np.full(count, MISSING_CODE, dtype=np.int32), np.full(count, math.nan)
            )
        self.leaves[path].codes[rows] = cells.codes
        self.leaves[path].numbers[rows] = cells.numbers

    def _whole(self, rows: Rows, columns: list[Cells]) -> Codes:
        """The codes of whole outputs, where these are short and without fractions."""
        found = np.full(len(rows), UNSEEN_CODE, dtype=np.int32)
        if len(columns) > MOST_COMPONENTS:
            return found
        fractions = np.zeros(len(rows), dtype=bool)
        for one in columns:
            fractions |= fractions_in(one)
        known: dict[bytes | None, int] = {}
        for place in np.flatnonzero(~fractions):
            value = self.values[rows[place]]
            key = fingerprint(value)
            if key is None or key not in known:
                known[key] = self.words.code(f"is {shown(value)}")
            found[place] = known[key]
        return found

    def frame(self) -> Frame:
        """All that was read."""
        return Frame(
            self.words,
            self.leaves,
            {path: self._side_by_side(parts) for path, parts in self.sequences.items()},
        )

    def _side_by_side(self, parts: list[tuple[Rows, list[Cells]]]) -> Sequences:
        count = len(self.values)
        width = row_width(max(len(elements) for _, elements in parts), count)
        codes = np.full((count, width), MISSING_CODE, dtype=np.int32)
        numbers, lengths = np.full((count, width), math.nan), np.full(count, math.nan)
        for rows, elements in parts:
            lengths[rows] = len(elements)
            for place, cells in enumerate(elements[:width]):
                codes[rows, place], numbers[rows, place] = cells.codes, cells.numbers
        return Sequences(Cells(codes, numbers), lengths)
