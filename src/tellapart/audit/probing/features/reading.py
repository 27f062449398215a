"""Parsing of any output: numbers and categories, each at its place, and arrays of them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.audit.probing.calling.outputs import EXACT, Broken
from tellapart.audit.probing.features.columns import (
    MISSING,
    NOT_A_NUMBER,
    NUMBER,
    UNSEEN,
    Attribute,
    Member,
    Path,
)

# Beyond these an output is only summed up: components of one sequence, and how deep they lie.
MOST_COMPONENTS = 64
DEEPEST = 3
_MOST_BITS = 1024
_EPOCH = dt.datetime(1970, 1, 1)
_NO_TIME = dt.timedelta()


class Leaf(NamedTuple):
    """What lies at one place of an output: its kind in words, and the number if it is one."""

    words: str
    number: float = math.nan


class Node(NamedTuple):
    """A place of an output; of a sequence, also its elements."""

    leaf: Leaf
    elements: list[Leaf] | None = None


# What needs no unwrapping and has no surprises; most outputs are made of these.
_LISTS = frozenset({list, tuple})
_PLAIN = _LISTS | {float, int, bool, str, bytes, type(None)}
_LEAVES: dict[type, Leaf] = {kind: Leaf(f"is a {kind.__name__}") for kind in _LISTS}


def read(output: Any) -> dict[Path, Node]:
    """Every place of an output and what lies there."""
    nodes: dict[Path, Node] = {}
    _descend(output, (), nodes)
    return nodes


def _descend(value: Any, path: Path, nodes: dict[Path, Node]) -> None:
    value = _plain(value)
    children = _children(value)
    if children is None:
        nodes[path] = Node(leaf(value))
        return
    parts = list(children)
    elements = [leaf(_plain(child)) for _, child in parts]
    words = f"is a {type(value).__name__}" if path else whole(value, _all_leaves(value))
    nodes[path] = Node(Leaf(words), elements if _is_sequence(value) else None)
    if len(path) < DEEPEST:
        for step, child in parts[:MOST_COMPONENTS]:
            _descend(child, (*path, step), nodes)


def whole(value: Any, elements: Iterable[Leaf]) -> str:
    """A whole output in words, unless it is long or holds fractions, which never come again.

    A fraction in a text may have been rounded, and come again.
    """
    short = list(islice(elements, MOST_COMPONENTS + 1))
    drawn = [part.number for part in short if part.words == NUMBER]
    finite = [number for number in drawn if math.isfinite(number)]
    if len(short) > MOST_COMPONENTS or any(math.fmod(number, 1) for number in finite):
        return UNSEEN
    return f"is {shown(value)}"


def _all_leaves(value: Any) -> Iterator[Leaf]:
    """What an output holds at any depth."""
    value = _plain(value)
    children = _children(value)
    if children is None:
        yield leaf(value)
    else:
        for _, child in children:
            yield from _all_leaves(child)


def _plain(value: Any) -> Any:
    """Without what wraps it: scalars of arrays, tables, complex numbers."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.matrix):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic):
        value = value.item()
    elif not isinstance(value, np.ndarray | str | bytes) and hasattr(value, "__array__"):
        value = np.asarray(value)
    return (value.real, value.imag) if isinstance(value, complex) else value


def _is_sequence(value: Any) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return kind in _LISTS
    if isinstance(value, np.ndarray):
        return True
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _children(value: Any) -> Iterator[tuple[Any, Any]] | None:
    kind = type(value)
    if kind in _PLAIN:
        return enumerate(value) if kind in _LISTS else None
    if isinstance(value, np.ndarray):
        if value.ndim == 1:
            return enumerate(value.tolist())
        return zip(np.ndindex(value.shape), value.ravel().tolist(), strict=True)
    if isinstance(value, Broken):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return ((Attribute(field.name), getattr(value, field.name)) for field in fields)
    if isinstance(value, Mapping):
        return iter(value.items())
    if isinstance(value, AbstractSet):
        return ((Member(text), True) for text in sorted(map(shown, value)))
    return enumerate(value) if _is_sequence(value) else None


def leaf(value: Any) -> Leaf:
    """What an output, or a part of it, is in itself."""
    kind = type(value)
    if kind is float and value == value:
        return Leaf(NUMBER, value)
    if kind is int:
        return _whole_number(value)
    if kind in _LISTS:
        return _LEAVES[kind]
    if isinstance(value, Broken):
        return Leaf(value.words)
    if isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | Enum):
        number = _double(value)
        return Leaf(NOT_A_NUMBER if math.isnan(number) else NUMBER, number)
    if isinstance(value, dt.date | dt.timedelta):
        seconds = _seconds(value)
        return Leaf(NOT_A_NUMBER if math.isnan(seconds) else NUMBER, seconds)
    if isinstance(value, str | bytes) and not isinstance(value, Enum):
        return Leaf(f"is {shown(value)}", _spelt(value))
    if value is None or isinstance(value, bool | Enum):
        return Leaf(f"is {shown(value)}")
    return Leaf(f"is a {type(value).__name__}")


def _spelt(text: str | bytes) -> float:
    """The number that a text is from end to end; NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _whole_number(value: int) -> Leaf:
    """What no double holds to the last digit is a kind of its own, beside the nearest double."""
    number = _double(value)
    return Leaf(NUMBER if number == value else f"is {_digits(value)}", number)


def _digits(value: int) -> str:
    """In base 16 where Python may refuse to write so many digits in base 10."""
    return str(value) if value.bit_length() < _MOST_BITS else hex(value)


def _seconds(value: dt.date | dt.timedelta) -> float:
    """Times as numbers: seconds, since 1970 where they are dates."""
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if not isinstance(value, dt.datetime):
        return 86400.0 * (value - _EPOCH.date()).days
    return (value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or _NO_TIME)).total_seconds()


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)


def shown(value: Any) -> str:
    """An output as text: the same for equal ones, lists and tuples and arrays alike."""
    value = _plain(value)
    if type(value) in _LISTS:
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, AbstractSet):
        return "{" + ", ".join(sorted(map(shown, value))) + "}"
    if isinstance(value, Mapping):
        pairs = sorted((shown(key), shown(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, np.ndarray):
        return shown(value.tolist())
    if _is_sequence(value):
        return "[" + ", ".join(map(shown, value)) + "]"
    return _shown_number(value) if type(value) in (int, float) else repr(value)


def _shown_number(value: float) -> str:
    """The same for 2 and 2.0: beside a fraction, an array makes the one of the other."""
    number = _double(value)
    if type(value) is int and number != value:
        return _digits(value)
    return repr(int(number) if abs(number) < EXACT and number.is_integer() else number)


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
