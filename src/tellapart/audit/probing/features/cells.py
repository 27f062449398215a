"""Feature arrays by place in an output: codes of categories, numbers, and rows of sequences."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.audit.probing.calling.outputs import EXACT, Broken
from tellapart.audit.probing.features.columns import MISSING, NOT_A_NUMBER, NUMBER, UNSEEN, Path
from tellapart.audit.probing.features.reading import MOST_COMPONENTS, Leaf, leaf

Codes = NDArray[np.int32]

_SCALARS = (float, int, str, bytes, type(None), Enum, Broken, np.generic)
_MOST_CELLS = 50_000_000
_FIRST_WORDS = (MISSING, NUMBER, NOT_A_NUMBER, UNSEEN, "is False", "is True")
UNREAD = Broken("")  # stands where a list does, until that is read
MISSING_CODE, NUMBER_CODE, NAN_CODE, UNSEEN_CODE, FALSE_CODE, TRUE_CODE = range(6)


class KindCodes:
    """Kinds and their codes, as they turn up."""

    def __init__(self) -> None:
        self._codes = {word: code for code, word in enumerate(_FIRST_WORDS)}

    def code(self, word: str) -> int:
        """The code of a kind, a new one if it has none."""
        return self._codes.setdefault(word, len(self._codes))

    @property
    def all(self) -> list[str]:
        """Every kind, in the order of codes."""
        return list(self._codes)


@dataclass(frozen=True, eq=False)
class FeatureCells:
    """One place of all outputs, or all elements of the sequences there, one row a call."""

    codes: Codes
    numbers: Array


@dataclass(frozen=True, eq=False)
class Sequences:
    """The elements of sequences at one place; rows end where the sequence does."""

    cells: FeatureCells
    lengths: Array  # NaN where there is no sequence


@dataclass(frozen=True, eq=False)
class Frame:
    """All outputs, place by place."""

    words: KindCodes
    leaves: dict[Path, FeatureCells]
    sequences: dict[Path, Sequences]


def leaves_of(values: Iterable[Any], words: KindCodes) -> FeatureCells:
    """The code and the number of each of these, of which none is a container."""
    codes, numbers = list[int](), list[float]()
    known: dict[Any, tuple[int, float]] = {}
    for value in values:
        kind = type(value)
        if (kind is float and value == value) or (kind is int and abs(value) <= EXACT):
            codes.append(NUMBER_CODE)
            numbers.append(value)
            continue
        key = (kind, value)
        if key not in known:
            read_off = Leaf(UNSEEN) if value is UNREAD else leaf(item(value))
            known[key] = words.code(read_off.words), read_off.number
        code, number = known[key]
        codes.append(code)
        numbers.append(number)
    return FeatureCells(np.array(codes, dtype=np.int32), np.array(numbers, dtype=np.float64))


def fractions_in(cells: FeatureCells) -> NDArray[np.bool_]:
    """Which are numbers, not texts of numbers, that are not whole."""
    numbers = cells.numbers
    whole = ~np.isfinite(numbers) | (numbers == np.trunc(numbers))
    return np.asarray(~whole & (cells.codes == NUMBER_CODE))


def item(value: Any) -> Any:
    """A scalar of an array as a plain one."""
    return value.item() if isinstance(value, np.generic) else value


def row_width(longest: int, count: int) -> int:
    """How much of so many rows is kept: all, unless they are very long."""
    return min(longest, max(MOST_COMPONENTS, _MOST_CELLS // max(count, 1)))


def padded(elements: FeatureCells, lengths: NDArray[Any]) -> FeatureCells:
    """Rows of equal width: those of shorter lists end with what is missing."""
    count = len(lengths)
    width = row_width(int(lengths.max(initial=0)), count)
    starts = np.cumsum(lengths) - lengths
    rows = np.repeat(np.arange(count), lengths)
    places = np.arange(len(rows)) - np.repeat(starts, lengths)
    inside = places < width
    codes = np.full((count, width), MISSING_CODE, dtype=np.int32)
    numbers = np.full((count, width), math.nan)
    codes[rows[inside], places[inside]] = elements.codes[inside]
    numbers[rows[inside], places[inside]] = elements.numbers[inside]
    return FeatureCells(codes, numbers)


def is_scalar(value: Any) -> bool:
    """Whether it is no container, nor anything to be unwrapped."""
    return isinstance(value, _SCALARS) and not isinstance(value, np.complexfloating | np.void)
