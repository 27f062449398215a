"""Columns evaluated: what lies at a place, and what a sequence is as a whole."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.blackbox.cells import Cells, Frame, Sequences
from tellapart.blackbox.columns import MISSING, Column, What

SUMMARIES = (What.SUM, What.LARGEST, What.SMALLEST, What.SECOND, What.WHERE)


def evaluated(column: Column, frame: Frame, count: int) -> Array:
    """The numbers of one column; NaN where an output has none."""
    if column.what is What.VALUE:
        cells = frame.leaves.get(column.path)
        return np.full(count, math.nan) if cells is None else cells.numbers
    if column.what is What.CATEGORY:
        return _categories(column, frame, count)
    found = frame.sequences.get(column.path)
    if found is None:
        return np.full(count, math.nan)
    if found.cells.codes.shape[1] == 0:
        # All are empty: of each there is a length, and it holds none of anything.
        told = column.what in (What.LENGTH, What.COUNT)
        return found.lengths if told else np.full(count, math.nan)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(found.lengths), math.nan, _summary(column, frame, found))


def _categories(column: Column, frame: Frame, count: int) -> Array:
    codes = {word: float(code) for code, word in enumerate(column.words)}
    cells = frame.leaves.get(column.path)
    if cells is None:
        return np.full(count, codes.get(MISSING, float(column.unseen)))
    table = np.array([codes.get(word, float(column.unseen)) for word in frame.words.all])
    return np.asarray(table[cells.codes])


def _summary(column: Column, frame: Frame, found: Sequences) -> Array:
    if column.what is What.LENGTH:
        return found.lengths
    if column.what in (What.COUNT, What.FIRST):
        return _sought(column, frame, found.cells)
    numbers = found.cells.numbers
    absent = np.isnan(numbers)
    summary = _of_numbers(column.what, numbers, absent)
    return np.where(absent.all(axis=1), math.nan, summary)


def _of_numbers(what: What, numbers: Array, absent: NDArray[np.bool_]) -> Array:
    if what in (What.SUM, What.MEAN):
        total = np.where(absent, 0.0, numbers).sum(axis=1)
        return np.asarray(total if what is What.SUM else total / (~absent).sum(axis=1))
    if what is What.LARGEST:
        return np.asarray(np.fmax.reduce(numbers, axis=1))
    if what is What.SMALLEST:
        return np.asarray(np.fmin.reduce(numbers, axis=1))
    low = np.where(absent, -math.inf, numbers)
    if what is What.WHERE:
        return np.asarray(np.argmax(low, axis=1), dtype=np.float64)
    if numbers.shape[1] < 2:
        return np.full(len(numbers), math.nan)
    second = np.partition(low, -2, axis=1)[:, -2]
    return np.where((~absent).sum(axis=1) < 2, math.nan, second)


def _sought(column: Column, frame: Frame, cells: Cells) -> Array:
    there = cells.codes == frame.words.code(column.of)
    if column.what is What.COUNT:
        return np.asarray(there.sum(axis=1), dtype=np.float64)
    return np.where(there.any(axis=1), np.argmax(there, axis=1), math.nan)
