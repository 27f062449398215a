"""Columns of a table, cleaned: numbers, truth values and labels, or the row that is none."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.data.ranked import Mask
from tellapart.errors import BadScores

NUMBER = "be a number"
NOT_NAN = "not be NaN"
FINITE = "be finite (cap infinite scores at a finite one)"
DOUBLE = "fit a double"
TRUTH = "be True or False, or 1 or 0"
NOT_NULL = "not be missing"

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
    elif array.dtype.kind != "O":  # no truth among these, and perhaps very many of them
        wrong = np.ones(array.size, dtype=np.bool_)
    else:
        wrong = np.array([not _is_truth(one) for one in array.tolist()], dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        refuse(name, TRUTH, array[row], place(row))
    return array.astype(np.bool_)


def _is_truth(one: Any) -> bool:
    return isinstance(one, int | np.bool_ | np.integer) and one in (0, 1)


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
        for row, one in enumerate(every):
            if one is None or one != one:
                refuse(name, NOT_NULL, one, place(row))
            if type(one) is not type(every[0]):
                refuse(name, f"all be {type(every[0]).__name__}, as the first is", one, place(row))
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
        isinstance(one, bool | np.bool_) for one in values
    )


def _from_objects(name: str, values: Any, place: Place) -> Array:
    for row, one in enumerate(values):
        no_number = isinstance(one, bool | np.bool_ | np.timedelta64)
        if no_number or not isinstance(one, numbers.Real):
            refuse(name, NUMBER, one, place(row))
    try:
        return np.array([float(one) for one in values], dtype=np.float64)
    except OverflowError:
        refuse(name, DOUBLE, max(values, key=abs), "")


def both_sides(where: str, members: int, others: int) -> None:
    """Refuse scores of one side alone: nothing can be told apart from nothing."""
    for name, value, count in (("members", 1, members), ("others", 0, others)):
        if count == 0:
            rows = f"{members + others:,} rows"
            raise BadScores(f"{where} must have rows of {name} (member = {value}), got 0 of {rows}")
