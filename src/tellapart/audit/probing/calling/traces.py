"""Hashes of outputs, from which to tell whether calls share noise: a code, and a size, for each.

Equal outputs have equal codes whatever they were packed with, so that traces of blocks that were
run apart can be joined.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.audit.probing.calling.outputs import Broken, Outputs, beyond_doubles, looking, packed

Codes = NDArray[np.uint64]

_ODD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class CallTrace:
    """A code for each call, a number where outputs are numbers, and the break if all broke."""

    codes: Codes
    sizes: Array | None
    broken: Broken | None

    @property
    def constant(self) -> bool:
        """Whether all calls gave the same output."""
        return bool((self.codes == self.codes[0]).all())


def traced(outputs: Outputs) -> CallTrace:
    """The trace of these outputs."""
    return CallTrace(codes_of(outputs), _sized(outputs), outputs.first_broken())


def joined_traces(parts: Sequence[CallTrace]) -> CallTrace:
    """Traces one after the other."""
    sizes = [part.sizes for part in parts if part.sizes is not None]
    broken = [part.broken for part in parts]
    return CallTrace(
        np.concatenate([part.codes for part in parts]),
        np.concatenate(sizes) if len(sizes) == len(parts) else None,
        None if None in broken else broken[0],
    )


def codes_of(outputs: Outputs) -> Codes:
    """A code for each output: equal ones have equal codes."""
    values = outputs.values
    if isinstance(values, np.ndarray):
        return _of_numbers(values)
    codes = np.empty(len(values), dtype=np.uint64)
    plain = np.array([type(value) in (float, int) for value in values], dtype=bool)
    numbers = packed([values[place] for place in np.flatnonzero(plain)])
    if isinstance(numbers.values, np.ndarray):
        codes[plain] = _of_numbers(numbers.values)
    else:
        plain[:] = False
    with looking():
        for place in np.flatnonzero(~plain):
            codes[place] = _code(values[place])
    return codes


def _of_numbers(values: NDArray[Any]) -> Codes:
    rows = values.reshape(len(values), -1)
    codes = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        bits = np.ascontiguousarray(column.astype(np.float64) + 0.0).view(np.uint64)
        codes = _mixed(codes * np.uint64(_ODD) + bits + _rest(column))
    return codes


def _rest(column: NDArray[Any]) -> Codes | np.uint64:
    """What the nearest doubles leave out of whole numbers."""
    if not beyond_doubles(column):
        return np.uint64(0)
    left = ((value - int(float(value))) % 2**64 for value in column.tolist())
    return np.fromiter(left, dtype=np.uint64, count=len(column))


def _mixed(codes: Codes) -> Codes:
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(codes ^ (codes >> np.uint64(31)))


def _code(value: Any) -> int:
    """The code of one output, as it would be among others of its kind."""
    if not isinstance(value, str | bytes | dict | Broken | None):
        alone = packed([value])
        if isinstance(alone.values, np.ndarray):
            return int(_of_numbers(alone.values)[0])
    try:
        shown = pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        shown = repr(value).encode()
    return zlib.crc32(shown)


def _sized(outputs: Outputs) -> Array | None:
    """One number a call, where outputs are numbers."""
    values = outputs.values
    if not isinstance(values, np.ndarray):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(values.reshape(len(values), -1).astype(np.float64).sum(axis=1))
