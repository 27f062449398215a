"""Outputs side by side: at each place, the number and the kind that every call gave.

Three ways to one result: arrays of numbers at the speed of arrays, scalars and flat lists in one
pass over their elements, and everything else output by output.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.blackbox.columns import MISSING, NOT_A_NUMBER, NUMBER, UNSEEN, Path
from tellapart.blackbox.outputs import Broken, Outputs, looking
from tellapart.blackbox.reading import MOST_COMPONENTS, Leaf, Node, leaf, read, whole

Codes = NDArray[np.int32]

_SCALARS = (float, int, str, bytes, type(None), Enum, Broken, np.generic)
_MOST_CELLS = 50_000_000
_FITS = 2**1000  # whole numbers that a double holds, if not to the last digit
_FIRST_WORDS = (MISSING, NUMBER, NOT_A_NUMBER, UNSEEN, "is False", "is True")
_UNREAD = Broken("")  # stands where a list does, until that is read
_MISSING, _NUMBER, _NAN, _UNSEEN, _FALSE, _TRUE = range(6)


class Words:
    """Kinds and their codes, as they turn up."""

    def __init__(self) -> None:
        self._codes = {word: code for code, word in enumerate(_FIRST_WORDS)}

    def code(self, word: str) -> int:
        return self._codes.setdefault(word, len(self._codes))

    @property
    def all(self) -> list[str]:
        return list(self._codes)


@dataclass(frozen=True, eq=False)
class Cells:
    """One place of all outputs, or all elements of the sequences there, one row a call."""

    codes: Codes
    numbers: Array


@dataclass(frozen=True, eq=False)
class Sequences:
    """The elements of sequences at one place; rows end where the sequence does."""

    cells: Cells
    lengths: Array  # NaN where there is no sequence


@dataclass(frozen=True, eq=False)
class Frame:
    """All outputs, place by place."""

    words: Words
    leaves: dict[Path, Cells]
    sequences: dict[Path, Sequences]


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
        return _of_lists(flat) if all(_is_flat(one) for one in flat) else _one_by_one(values)


# -- arrays --------------------------------------------------------------------------------------


def _cells(values: NDArray[Any]) -> Cells:
    if values.dtype.kind == "b":
        codes = np.where(values, np.int32(_TRUE), np.int32(_FALSE))
        return Cells(codes, np.broadcast_to(math.nan, values.shape))
    numbers = values.astype(np.float64, copy=False)
    absent = np.isnan(numbers)
    if not absent.any():
        return Cells(np.broadcast_to(np.int32(_NUMBER), values.shape), numbers)
    return Cells(np.where(absent, np.int32(_NAN), np.int32(_NUMBER)), numbers)


def _of_scalars(values: NDArray[Any]) -> Frame:
    return Frame(Words(), {(): _cells(values)}, {})


def _of_rows(values: NDArray[Any]) -> Frame:
    words, count = Words(), len(values)
    cells = _cells(values.reshape(count, -1))
    steps: list[Any] = list(np.ndindex(values.shape[1:]))[:MOST_COMPONENTS]
    if values.ndim == 2:
        steps = [place for (place,) in steps]
    leaves: dict[Path, Cells] = {(): Cells(_whole_rows(values, words), np.full(count, math.nan))}
    for place, step in enumerate(steps):
        leaves[(step,)] = Cells(cells.codes[:, place], cells.numbers[:, place])
    width = np.full(count, float(cells.codes.shape[1]))
    return Frame(words, leaves, {(): Sequences(cells, width)})


def _whole_rows(values: NDArray[Any], words: Words) -> Codes:
    """The codes of whole rows, where these are short and without fractions."""
    rows = values.reshape(len(values), -1)
    found = np.full(len(rows), _UNSEEN, dtype=np.int32)
    if rows.shape[1] > MOST_COMPONENTS:
        return found
    known: dict[bytes, int] = {}
    fractions = np.isfinite(rows) & (rows != np.trunc(rows)) if rows.dtype.kind == "f" else None
    able = range(len(rows)) if fractions is None else np.flatnonzero(~fractions.any(axis=1))
    for place in able:
        key = rows[place].tobytes()
        if key not in known:
            # As `whole` says it, but at once: plain numbers in lists are shown as Python does.
            known[key] = words.code(f"is {values[place].tolist()!r}")
        found[place] = known[key]
    return found


# -- scalars and flat lists ----------------------------------------------------------------------


def _is_flat(output: Any) -> bool:
    if type(output) in (list, tuple):
        return all(_is_scalar(one) for one in output)
    return _is_scalar(output)


def _is_vector(output: Any) -> bool:
    return isinstance(output, np.ndarray) and output.ndim == 1


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS) and not isinstance(value, np.complexfloating | np.void)


def _of_lists(values: list[Any]) -> Frame:
    words = Words()
    is_list = np.array([type(one) in (list, tuple) for one in values], dtype=bool)
    lists = [values[place] for place in np.flatnonzero(is_list)]
    root = _leaves((_UNREAD if type(one) in (list, tuple) else one for one in values), words)
    if not lists:
        return Frame(words, {(): root}, {})
    lengths = np.zeros(len(values), dtype=np.int64)
    lengths[is_list] = [len(one) for one in lists]
    elements = _leaves((one for row in lists for one in row), words)
    cells = _padded(elements, lengths)
    root.codes[is_list] = _whole_lists(lists, _with_fractions(elements, lengths[is_list]), words)
    leaves: dict[Path, Cells] = {(): root}
    for place in range(min(cells.codes.shape[1], MOST_COMPONENTS)):
        leaves[(place,)] = Cells(cells.codes[:, place], cells.numbers[:, place])
    return Frame(words, leaves, {(): Sequences(cells, np.where(is_list, lengths, math.nan))})


def _leaves(values: Iterable[Any], words: Words) -> Cells:
    codes, found = list[int](), list[float]()
    known: dict[Any, int] = {}
    for value in values:
        kind = type(value)
        if (kind is float and value == value) or (kind is int and abs(value) < _FITS):
            codes.append(_NUMBER)
            found.append(value)
            continue
        key = (kind, value)
        code = known.get(key)
        if code is None or code in (_NUMBER, _NAN):
            read_off = Leaf(UNSEEN) if value is _UNREAD else leaf(_item(value))
            code = known[key] = words.code(read_off.words)
            found.append(read_off.number)
        else:
            found.append(math.nan)
        codes.append(code)
    return Cells(np.array(codes, dtype=np.int32), np.array(found, dtype=np.float64))


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _padded(elements: Cells, lengths: NDArray[Any]) -> Cells:
    """Rows of equal width: those of shorter lists end with what is missing."""
    count = len(lengths)
    width = min(int(lengths.max(initial=0)), max(MOST_COMPONENTS, _MOST_CELLS // max(count, 1)))
    starts = np.cumsum(lengths) - lengths
    rows = np.repeat(np.arange(count), lengths)
    places = np.arange(len(rows)) - np.repeat(starts, lengths)
    inside = places < width
    codes = np.full((count, width), _MISSING, dtype=np.int32)
    found = np.full((count, width), math.nan)
    codes[rows[inside], places[inside]] = elements.codes[inside]
    found[rows[inside], places[inside]] = elements.numbers[inside]
    return Cells(codes, found)


def _with_fractions(elements: Cells, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lists hold a number that is not whole."""
    found = elements.numbers
    fractions = np.isfinite(found) & (found != np.trunc(found))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(rows[fractions], minlength=len(lengths)) > 0


def _whole_lists(lists: list[Any], fractions: NDArray[np.bool_], words: Words) -> list[int]:
    known: dict[bytes | None, int] = {}
    found = []
    for one, no_word in zip(lists, fractions.tolist(), strict=True):
        key = None if no_word else _key(one)
        code = _UNSEEN if no_word else known.get(key)
        if code is None:
            code = words.code(whole(one, (leaf(_item(part)) for part in one)))
            if key is not None:
                known[key] = code
        found.append(code)
    return found


def _key(value: Any) -> bytes | None:
    """The same only for the same content; not always the same for it."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None


# -- everything else -----------------------------------------------------------------------------


def _one_by_one(values: list[Any]) -> Frame:
    words, count = Words(), len(values)
    nodes = _all_read(values)
    leaves: dict[Path, Cells] = {}
    elements: dict[Path, list[list[Leaf] | None]] = {}
    for row, found in enumerate(nodes):
        for path, node in found.items():
            if path not in leaves:
                empty = np.full(count, _MISSING, dtype=np.int32), np.full(count, math.nan)
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
        key = _key(one)
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
    return Sequences(_padded(Cells(codes, found), lengths), known)
