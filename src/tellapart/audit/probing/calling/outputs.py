"""Samples of a mechanism's outputs: arrays where they are numbers, a list where they are not.

Nothing is dropped. A call that raised, hung or ended its process gave an output too, `Broken`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart.errors import TellapartError, Unsupported

_NUMBERS = (float, int, np.floating, np.integer)
_FLAGS = {bool, np.bool_}
# Whole numbers up to this one are doubles, all of them.
EXACT = 2**53
_DOUBLE = 8  # bytes


@dataclass(frozen=True, order=True)
class Broken:
    """A call that gave no value; for an attacker that is an output like any other.

    Two are the same output if their words are: messages may hold anything, like addresses.
    """

    words: str
    message: str = field(default="", compare=False)

    @classmethod
    def by(cls, error: BaseException) -> Broken:
        """What an exception is to an attacker: its type."""
        return cls(f"raises {type(error).__name__}", str(error))

    def __str__(self) -> str:
        return f"{self.words}: {self.message}" if self.message else self.words


HANGS = Broken("hangs")
GONE = Broken("ends its process")
# What sys.exit raises asks for the same.
ENDS = (GONE, Broken.by(SystemExit()))


@dataclass(frozen=True, eq=False)
class CallOutputs:
    """Outputs in the order of the calls.

    ``values`` is an array of numbers, flags or equally long vectors of them, one row a call; or
    a list of whatever the mechanism returned.
    """

    values: NDArray[Any] | list[Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> CallOutputs:
        return CallOutputs(self.values[part])

    def listed(self) -> list[Any]:
        """One object a call."""
        return _objects(self.values)

    def first_broken(self) -> Broken | None:
        """The first call that gave no value, if every call gave none."""
        if isinstance(self.values, np.ndarray) or not self.values:
            return None
        first = self.values[0]
        whole = all(isinstance(value, Broken) for value in self.values)
        return first if whole and isinstance(first, Broken) else None


def packed(values: Sequence[Any] | NDArray[Any]) -> CallOutputs:
    """Outputs as an array if that loses nothing but the type of their container."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return CallOutputs(np.array(values))
    with looking():
        return _packed(list(values))


@contextmanager
def looking() -> Iterator[None]:
    """Outputs of foreign types may do anything when looked at."""
    try:
        yield
    except (TellapartError, MemoryError):
        raise
    except Exception as error:
        raise Unsupported(
            f"an output cannot be read: it raises {type(error).__name__}: {error}; "
            "return numbers, texts, lists or dictionaries"
        ) from error


def _packed(values: list[Any]) -> CallOutputs:
    kinds = {type(value) for value in values}
    if _all_numbers(kinds) or (kinds and kinds <= _FLAGS):
        array = _array(values)
        return CallOutputs(values if array is None else array)
    # What a mask hides would show in an array, and not beside outputs of other kinds.
    masked = any(issubclass(kind, np.ma.MaskedArray) for kind in kinds)
    if not masked and kinds and all(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        return _stacked(values)
    return CallOutputs(values)


def joined(parts: Sequence[CallOutputs]) -> CallOutputs:
    """Outputs one after the other."""
    arrays = [part.values for part in parts if isinstance(part.values, np.ndarray)]
    shapes = {(array.shape[1:], array.dtype.kind == "b") for array in arrays}
    if arrays and len(arrays) == len(parts) and len(shapes) == 1 and _alike(arrays):
        return CallOutputs(np.concatenate(arrays))
    return CallOutputs([value for part in parts for value in _objects(part.values)])


def _alike(arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether one array holds them all, whole numbers to the last digit."""
    if np.result_type(*{array.dtype for array in arrays}).kind != "f":
        return True
    return not any(beyond_doubles(array) for array in arrays)


def _objects(values: NDArray[Any] | list[Any]) -> list[Any]:
    """One object a call: plain numbers, or rows as they are."""
    return values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)


def _all_numbers(kinds: set[type]) -> bool:
    """Numbers that are nothing else: a flag or a named member is a category."""
    return bool(kinds) and all(
        issubclass(kind, _NUMBERS) and not issubclass(kind, bool | Enum | np.timedelta64)
        for kind in kinds
    )


def _array(values: list[Any]) -> NDArray[Any] | None:
    """Numbers in one array; None where whole numbers fit none to the last digit."""
    try:
        array = np.asarray(values)
    except OverflowError:
        return None
    if array.dtype.kind == "f" and any(_lost(value) for value in values):
        return None
    return array if array.dtype.kind in "biuf" else None


def _lost(value: Any) -> bool:
    """Whether it is a whole number that a double may not hold."""
    return isinstance(value, int | np.integer) and not -EXACT <= value <= EXACT


def beyond_doubles(values: NDArray[Any]) -> bool:
    """Whether there are whole numbers that doubles may not hold."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < _DOUBLE or not values.size:
        return False
    return bool(values.max() > EXACT or values.min() < -EXACT)


def _stacked(vectors: list[Any]) -> CallOutputs:
    """Vectors as rows, if all are of one length and hold numbers only, or flags only."""
    if (
        len(
            {
                np.shape(vector) if isinstance(vector, np.ndarray) else len(vector)
                for vector in vectors
            }
        )
        != 1
    ):
        return CallOutputs(vectors)
    if all(isinstance(vector, np.ndarray) for vector in vectors):
        flags = {vector.dtype.kind for vector in vectors}
        if flags == {"b"} or (flags <= set("iuf") and _alike(vectors)):
            return CallOutputs(np.stack([np.asarray(vector) for vector in vectors]))
        return CallOutputs(vectors)
    inner = {type(entry) for vector in vectors for entry in vector}
    if not (_all_numbers(inner) or (inner and inner <= _FLAGS)):
        return CallOutputs(vectors)
    array = _array([entry for vector in vectors for entry in vector])
    return CallOutputs(vectors if array is None else array.reshape(len(vectors), -1))
