"""Outputs side by side: at each place, the number and the kind that every call gave.

Four ways to one result: arrays of numbers at the speed of arrays, scalars and flat lists in one
pass over their elements, nested ones shape by shape, and everything else output by output.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.blackbox.cells import (
    FALSE_CODE,
    MISSING_CODE,
    NAN_CODE,
    NUMBER_CODE,
    TRUE_CODE,
    UNREAD,
    UNSEEN_CODE,
    Cells,
    Codes,
    Frame,
    Sequences,
    Words,
    fractions_in,
    is_scalar,
    item,
    leaves_of,
    padded,
    row_width,
)
from tellapart.blackbox.columns import Path
from tellapart.blackbox.inputs import fingerprint
from tellapart.blackbox.nested import by_shape
from tellapart.blackbox.outputs import Outputs, beyond_doubles, looking
from tellapart.blackbox.reading import MOST_COMPONENTS, Leaf, Node, leaf, read, shown, whole


def framed(outputs: Outputs, slowly: bool = False) -> Frame:
    """Outputs side by side; ``slowly`` reads one after the other whatever they are."""
    values = outputs.values
    if slowly:
        with looking():
            return _one_by_one(outputs.listed())
    if isinstance(values, np.ndarray):
        return _of_scalars(values) if values.ndim == 1 else _of_rows(values)
    with looking():
        flat = [one.tolist() if _is_vector(one) else one for one in values]
        if all(_is_flat(one) for one in flat):
            return _of_lists(flat)
        return by_shape(values) or _one_by_one(values)


# -- arrays --------------------------------------------------------------------------------------


def _cells(values: NDArray[Any], words: Words) -> Cells:
    if values.dtype.kind == "b":
        codes = np.where(values, np.int32(TRUE_CODE), np.int32(FALSE_CODE))
        return Cells(codes, np.broadcast_to(math.nan, values.shape))
    if beyond_doubles(values):
        flat = leaves_of(values.ravel().tolist(), words)
        return Cells(flat.codes.reshape(values.shape), flat.numbers.reshape(values.shape))
    numbers = values.astype(np.float64, copy=False)
    absent = np.isnan(numbers)
    if not absent.any():
        return Cells(np.broadcast_to(np.int32(NUMBER_CODE), values.shape), numbers)
    return Cells(np.where(absent, np.int32(NAN_CODE), np.int32(NUMBER_CODE)), numbers)


def _of_scalars(values: NDArray[Any]) -> Frame:
    words = Words()
    return Frame(words, {(): _cells(values, words)}, {})


def _of_rows(values: NDArray[Any]) -> Frame:
    words, count = Words(), len(values)
    rows = values.reshape(count, math.prod(values.shape[1:]))
    # Cut off where lists are: rows may lie beside lists on one input alone.
    cells = _cells(rows[:, : row_width(rows.shape[1], count)], words)
    steps: list[Any] = list(np.ndindex(values.shape[1:]))[:MOST_COMPONENTS]
    if values.ndim == 2:
        steps = [place for (place,) in steps]
    leaves: dict[Path, Cells] = {(): Cells(_whole_rows(values, words), np.full(count, math.nan))}
    for place, step in enumerate(steps):
        leaves[(step,)] = Cells(cells.codes[:, place], cells.numbers[:, place])
    width = np.full(count, float(rows.shape[1]))
    return Frame(words, leaves, {(): Sequences(cells, width)})


def _whole_rows(values: NDArray[Any], words: Words) -> Codes:
    """The codes of whole rows, where these are short and without fractions."""
    rows = values.reshape(len(values), -1)
    found = np.full(len(rows), UNSEEN_CODE, dtype=np.int32)
    if rows.shape[1] > MOST_COMPONENTS:
        return found
    known: dict[bytes, int] = {}
    fractions = np.isfinite(rows) & (rows != np.trunc(rows)) if rows.dtype.kind == "f" else None
    able = range(len(rows)) if fractions is None else np.flatnonzero(~fractions.any(axis=1))
    for place in able:
        key = rows[place].tobytes()
        if key not in known:
            known[key] = words.code(f"is {shown(values[place].tolist())}")
        found[place] = known[key]
    return found


# -- scalars and flat lists ----------------------------------------------------------------------


def _is_flat(output: Any) -> bool:
    if type(output) in (list, tuple):
        return all(is_scalar(one) for one in output)
    return is_scalar(output)


def _is_vector(output: Any) -> bool:
    return isinstance(output, np.ndarray) and output.ndim == 1


def _of_lists(values: list[Any]) -> Frame:
    words = Words()
    is_list = np.array([type(one) in (list, tuple) for one in values], dtype=bool)
    lists = [values[place] for place in np.flatnonzero(is_list)]
    root = leaves_of((UNREAD if type(one) in (list, tuple) else one for one in values), words)
    if not lists:
        return Frame(words, {(): root}, {})
    lengths = np.zeros(len(values), dtype=np.int64)
    lengths[is_list] = [len(one) for one in lists]
    elements = leaves_of((one for row in lists for one in row), words)
    cells = padded(elements, lengths)
    root.codes[is_list] = _whole_lists(lists, _with_fractions(elements, lengths[is_list]), words)
    leaves: dict[Path, Cells] = {(): root}
    for place in range(min(cells.codes.shape[1], MOST_COMPONENTS)):
        leaves[(place,)] = Cells(cells.codes[:, place], cells.numbers[:, place])
    return Frame(words, leaves, {(): Sequences(cells, np.where(is_list, lengths, math.nan))})


def _with_fractions(elements: Cells, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lists hold a number that is not whole."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(rows[fractions_in(elements)], minlength=len(lengths)) > 0


def _whole_lists(lists: list[Any], fractions: NDArray[np.bool_], words: Words) -> list[int]:
    known: dict[bytes | None, int] = {}
    found = []
    for one, no_word in zip(lists, fractions.tolist(), strict=True):
        key = None if no_word else fingerprint(one)
        code = UNSEEN_CODE if no_word else known.get(key)
        if code is None:
            code = words.code(whole(one, (leaf(item(part)) for part in one)))
            if key is not None:
                known[key] = code
        found.append(code)
    return found


# -- everything else -----------------------------------------------------------------------------


def _one_by_one(values: list[Any]) -> Frame:
    words, count = Words(), len(values)
    nodes = _all_read(values)
    leaves: dict[Path, Cells] = {}
    elements: dict[Path, list[list[Leaf] | None]] = {}
    for row, found in enumerate(nodes):
        for path, node in found.items():
            if path not in leaves:
                empty = np.full(count, MISSING_CODE, dtype=np.int32), np.full(count, math.nan)
                leaves[path] = Cells(*empty)
            leaves[path].codes[row] = words.code(node.leaf.words)
            leaves[path].numbers[row] = node.leaf.number
            if node.elements is not None:
                elements.setdefault(path, [None] * count)[row] = node.elements
    sequences = {path: _sequences(rows, words) for path, rows in elements.items()}
    return Frame(words, leaves, sequences)


def _all_read(values: list[Any]) -> list[dict[Path, Node]]:
    known: dict[bytes, dict[Path, Node]] = {}
    found = []
    for one in values:
        key = fingerprint(one)
        if key is None or key not in known:
            found.append(read(one))
            if key is not None:
                known[key] = found[-1]
        else:
            found.append(known[key])
    return found


def _sequences(rows: list[list[Leaf] | None], words: Words) -> Sequences:
    flat = [one for row in rows for one in row or ()]
    codes = np.array([words.code(one.words) for one in flat], dtype=np.int32)
    found = np.array([one.number for one in flat], dtype=np.float64)
    lengths = np.array([len(row or ()) for row in rows], dtype=np.int64)
    known = np.array([math.nan if row is None else len(row) for row in rows])
    return Sequences(padded(Cells(codes, found), lengths), known)
