"""Feature frames: outputs side by side, at each place the number and the category of every call.

Four ways to one result: arrays of numbers at the speed of arrays, scalars and flat lists in one
pass over their elements, nested ones shape by shape, and everything else output by output.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.audit.probing.calling.caller import fingerprint
from tellapart.audit.probing.calling.outputs import CallOutputs, beyond_doubles, looking
from tellapart.audit.probing.features.columns import Path
from tellapart.audit.probing.features.reading import (
    DEEPEST,
    FALSE_CODE,
    MISSING_CODE,
    MOST_COMPONENTS,
    NAN_CODE,
    NUMBER_CODE,
    TRUE_CODE,
    UNREAD,
    UNSEEN_CODE,
    Codes,
    FeatureCells,
    Frame,
    KindCodes,
    Leaf,
    Node,
    Sequences,
    fractions_in,
    is_scalar,
    item,
    leaf,
    leaves_of,
    padded,
    read,
    row_width,
    shown,
    whole,
)

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
        parts, steps = [_shape(part, held) for part in value], None
    elif kind is dict:
        parts, steps = [_shape(part, held) for part in value.values()], tuple(value)
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
    words: KindCodes = field(default_factory=KindCodes)
    leaves: dict[Path, FeatureCells] = field(default_factory=dict)
    sequences: dict[Path, list[tuple[Rows, list[FeatureCells]]]] = field(default_factory=dict)

    def read(self, shape: Any, rows: Rows, held: list[list[Any]]) -> None:
        """All outputs of one shape."""
        columns = [leaves_of(column, self.words) for column in zip(*held, strict=True)]
        self._walk(shape, (), rows, iter(columns), shown=True)
        if shape != _SCALAR:
            self.leaves[()].codes[rows] = self._whole(rows, columns)

    def _walk(
        self, shape: Any, path: Path, rows: Rows, columns: Iterator[FeatureCells], shown: bool
    ) -> FeatureCells:
        """One place and all below it; what the place is as an element of what it lies in."""
        if shape == _SCALAR:
            cells = next(columns)
            if shown:
                self._put(path, rows, cells)
            return cells
        kind, steps, parts = shape
        code = self.words.code(f"is a {kind.__name__}")
        cells = FeatureCells(np.full(len(rows), code, np.int32), np.full(len(rows), math.nan))
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

    def _put(self, path: Path, rows: Rows, cells: FeatureCells) -> None:
        if path not in self.leaves:
            count = len(self.values)
            self.leaves[path] = FeatureCells(
                np.full(count, MISSING_CODE, dtype=np.int32), np.full(count, math.nan)
            )
        self.leaves[path].codes[rows] = cells.codes
        self.leaves[path].numbers[rows] = cells.numbers

    def _whole(self, rows: Rows, columns: list[FeatureCells]) -> Codes:
        """The codes of whole outputs, where these are short and without fractions."""
        codes = np.full(len(rows), UNSEEN_CODE, dtype=np.int32)
        if len(columns) > MOST_COMPONENTS:
            return codes
        fractions = np.zeros(len(rows), dtype=bool)
        for cells in columns:
            fractions |= fractions_in(cells)
        known: dict[bytes | None, int] = {}
        for place in np.flatnonzero(~fractions):
            value = self.values[rows[place]]
            key = fingerprint(value)
            if key is None or key not in known:
                known[key] = self.words.code(f"is {shown(value)}")
            codes[place] = known[key]
        return codes

    def frame(self) -> Frame:
        """All that was read."""
        return Frame(
            self.words,
            self.leaves,
            {path: self._side_by_side(parts) for path, parts in self.sequences.items()},
        )

    def _side_by_side(self, parts: list[tuple[Rows, list[FeatureCells]]]) -> Sequences:
        count = len(self.values)
        width = row_width(max(len(elements) for _, elements in parts), count)
        codes = np.full((count, width), MISSING_CODE, dtype=np.int32)
        numbers, lengths = np.full((count, width), math.nan), np.full(count, math.nan)
        for rows, elements in parts:
            lengths[rows] = len(elements)
            for place, cells in enumerate(elements[:width]):
                codes[rows, place], numbers[rows, place] = cells.codes, cells.numbers
        return Sequences(FeatureCells(codes, numbers), lengths)


def framed(outputs: CallOutputs, slowly: bool = False) -> Frame:
    """Outputs side by side; ``slowly`` reads one after the other whatever they are."""
    values = outputs.values
    if slowly:
        with looking():
            return _one_by_one(outputs.listed())
    if isinstance(values, np.ndarray):
        return _of_scalars(values) if values.ndim == 1 else _of_rows(values)
    with looking():
        flat = [value.tolist() if _is_vector(value) else value for value in values]
        if all(_is_flat(value) for value in flat):
            return _of_lists(flat)
        return by_shape(values) or _one_by_one(values)


# -- arrays --------------------------------------------------------------------------------------


def _cells(values: NDArray[Any], words: KindCodes) -> FeatureCells:
    if values.dtype.kind == "b":
        codes = np.where(values, np.int32(TRUE_CODE), np.int32(FALSE_CODE))
        return FeatureCells(codes, np.broadcast_to(math.nan, values.shape))
    if beyond_doubles(values):
        flat = leaves_of(values.ravel().tolist(), words)
        return FeatureCells(flat.codes.reshape(values.shape), flat.numbers.reshape(values.shape))
    numbers = values.astype(np.float64, copy=False)
    absent = np.isnan(numbers)
    if not absent.any():
        return FeatureCells(np.broadcast_to(np.int32(NUMBER_CODE), values.shape), numbers)
    return FeatureCells(np.where(absent, np.int32(NAN_CODE), np.int32(NUMBER_CODE)), numbers)


def _of_scalars(values: NDArray[Any]) -> Frame:
    words = KindCodes()
    return Frame(words, {(): _cells(values, words)}, {})


def _of_rows(values: NDArray[Any]) -> Frame:
    words, count = KindCodes(), len(values)
    rows = values.reshape(count, math.prod(values.shape[1:]))
    # Cut off where lists are: rows may lie beside lists on one input alone.
    cells = _cells(rows[:, : row_width(rows.shape[1], count)], words)
    steps: list[Any] = list(np.ndindex(values.shape[1:]))[:MOST_COMPONENTS]
    if values.ndim == 2:
        steps = [place for (place,) in steps]
    leaves: dict[Path, FeatureCells] = {
        (): FeatureCells(_whole_rows(values, words), np.full(count, math.nan))
    }
    for place, step in enumerate(steps):
        leaves[(step,)] = FeatureCells(cells.codes[:, place], cells.numbers[:, place])
    width = np.full(count, float(rows.shape[1]))
    return Frame(words, leaves, {(): Sequences(cells, width)})


def _whole_rows(values: NDArray[Any], words: KindCodes) -> Codes:
    """The codes of whole rows, where these are short and without fractions."""
    rows = values.reshape(len(values), -1)
    codes = np.full(len(rows), UNSEEN_CODE, dtype=np.int32)
    if rows.shape[1] > MOST_COMPONENTS:
        return codes
    known: dict[bytes, int] = {}
    fractions = np.isfinite(rows) & (rows != np.trunc(rows)) if rows.dtype.kind == "f" else None
    able = range(len(rows)) if fractions is None else np.flatnonzero(~fractions.any(axis=1))
    for place in able:
        key = rows[place].tobytes()
        if key not in known:
            known[key] = words.code(f"is {shown(values[place].tolist())}")
        codes[place] = known[key]
    return codes


# -- scalars and flat lists ----------------------------------------------------------------------


def _is_flat(output: Any) -> bool:
    if type(output) in (list, tuple):
        return all(is_scalar(part) for part in output)
    return is_scalar(output)


def _is_vector(output: Any) -> bool:
    return isinstance(output, np.ndarray) and output.ndim == 1


def _of_lists(values: list[Any]) -> Frame:
    words = KindCodes()
    is_list = np.array([type(value) in (list, tuple) for value in values], dtype=bool)
    lists = [values[place] for place in np.flatnonzero(is_list)]
    root = leaves_of((UNREAD if type(value) in (list, tuple) else value for value in values), words)
    if not lists:
        return Frame(words, {(): root}, {})
    lengths = np.zeros(len(values), dtype=np.int64)
    lengths[is_list] = [len(row) for row in lists]
    elements = leaves_of((element for row in lists for element in row), words)
    cells = padded(elements, lengths)
    root.codes[is_list] = _whole_lists(lists, _with_fractions(elements, lengths[is_list]), words)
    leaves: dict[Path, FeatureCells] = {(): root}
    for place in range(min(cells.codes.shape[1], MOST_COMPONENTS)):
        leaves[(place,)] = FeatureCells(cells.codes[:, place], cells.numbers[:, place])
    return Frame(words, leaves, {(): Sequences(cells, np.where(is_list, lengths, math.nan))})


def _with_fractions(elements: FeatureCells, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lists hold a number that is not whole."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(rows[fractions_in(elements)], minlength=len(lengths)) > 0


def _whole_lists(lists: list[Any], fractions: NDArray[np.bool_], words: KindCodes) -> list[int]:
    known: dict[bytes | None, int] = {}
    codes = []
    for row, no_word in zip(lists, fractions.tolist(), strict=True):
        key = None if no_word else fingerprint(row)
        code = UNSEEN_CODE if no_word else known.get(key)
        if code is None:
            code = words.code(whole(row, (leaf(item(part)) for part in row)))
            if key is not None:
                known[key] = code
        codes.append(code)
    return codes


# -- everything else -----------------------------------------------------------------------------


def _one_by_one(values: list[Any]) -> Frame:
    words, count = KindCodes(), len(values)
    nodes = _all_read(values)
    leaves: dict[Path, FeatureCells] = {}
    elements: dict[Path, list[list[Leaf] | None]] = {}
    for row, places in enumerate(nodes):
        for path, node in places.items():
            if path not in leaves:
                empty = np.full(count, MISSING_CODE, dtype=np.int32), np.full(count, math.nan)
                leaves[path] = FeatureCells(*empty)
            leaves[path].codes[row] = words.code(node.leaf.words)
            leaves[path].numbers[row] = node.leaf.number
            if node.elements is not None:
                elements.setdefault(path, [None] * count)[row] = node.elements
    sequences = {path: _sequences(rows, words) for path, rows in elements.items()}
    return Frame(words, leaves, sequences)


def _all_read(values: list[Any]) -> list[dict[Path, Node]]:
    known: dict[bytes, dict[Path, Node]] = {}
    nodes = []
    for value in values:
        key = fingerprint(value)
        if key is None or key not in known:
            nodes.append(read(value))
            if key is not None:
                known[key] = nodes[-1]
        else:
            nodes.append(known[key])
    return nodes


def _sequences(rows: list[list[Leaf] | None], words: KindCodes) -> Sequences:
    flat = [leaf_read for row in rows for leaf_read in row or ()]
    codes = np.array([words.code(leaf_read.words) for leaf_read in flat], dtype=np.int32)
    numbers = np.array([leaf_read.number for leaf_read in flat], dtype=np.float64)
    lengths = np.array([len(row or ()) for row in rows], dtype=np.int64)
    known = np.array([math.nan if row is None else len(row) for row in rows])
    return Sequences(padded(FeatureCells(codes, numbers), lengths), known)
