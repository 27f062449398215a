"""A folder that keeps the outputs of finished calls, so that a killed probe goes on.

Outputs are kept as they are, in some hundred calls a file, whatever they say: what is left out is
a matter of when a run was stopped, never of what it found. Files hold numbers and plain values
alone; reading them runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import _files, run
from tellapart.audit.probing.calling.caller import Caller, Size
from tellapart.audit.probing.calling.outputs import Broken, Outputs, joined
from tellapart.errors import Unsupported

# So many calls are lost at most, of mechanisms that are called one by one.
PIECE = 256
_KINDS = "biufcSU"


@dataclass(frozen=True)
class KeptCalls:
    """Where finished calls lie, one file for each piece of a block."""

    folder: Path

    def block(self, caller: Caller, data: Any, count: int, key: Sequence[int]) -> Outputs:
        """The outputs of one block of calls: those kept, and the others made and kept.

        Each piece has numbers of its own, by the seed and its place, so that it does not matter
        which of them were made before.
        """
        size = count if caller.size is Size.MANY else PIECE
        starts = range(0, count, size)
        return joined(
            [
                self._piece(caller, data, min(size, count - start), (*key, place))
                for place, start in enumerate(starts)
            ]
        )

    def _piece(self, caller: Caller, data: Any, count: int, key: tuple[int, ...]) -> Outputs:
        known = self._read(key, count)
        if known is not None:
            return known
        outputs = caller.block(data, count, run.generator(key))
        text = json.dumps({"calls": count, "outputs": _written(outputs.values)})
        _files.whole(self._path(key), lambda part: part.write_text(text, encoding="utf-8"))
        # As whoever goes on will read it: what differs then would differ now.
        return _outputs(json.loads(text)["outputs"])

    def _path(self, key: tuple[int, ...]) -> Path:
        return self.folder / f"calls-{'-'.join(map(str, key[1:]))}.json"

    def _read(self, key: tuple[int, ...], count: int) -> Outputs | None:
        """What is kept of these calls; None where there is nothing that can be read."""
        try:
            found = json.loads(self._path(key).read_text(encoding="utf-8"))
            outputs = _outputs(found["outputs"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return outputs if len(outputs) == count else None


def _outputs(found: Any) -> Outputs:
    values = _read(found)
    if not isinstance(values, np.ndarray | list):
        raise TypeError("outputs are an array or a list")
    return Outputs(values)


# -- plain values as JSON, each with its type ----------------------------------------------------


def _written(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in _CONTAINERS:
        return {kind.__name__: [_written(one) for one in value]}
    if kind is dict:
        return {"dict": [[_written(key), _written(one)] for key, one in value.items()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is Broken:
        return {"broken": [value.words, value.message]}
    if kind is np.ndarray and value.dtype.kind in _KINDS:
        dense = np.ascontiguousarray(value)
        return {"array": [value.dtype.str, list(value.shape), dense.tobytes().hex()]}
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return {"number": [value.dtype.str, value.tobytes().hex()]}
    raise Unsupported(
        f"folder keeps numbers, texts, arrays, lists and dictionaries, and an output is or holds a "
        f"{kind.__module__}.{kind.__qualname__}: return one of those, or leave folder out"
    )


def _read(found: Any) -> Any:
    if isinstance(found, dict):
        ((kind, value),) = found.items()
        return _READ[kind](value)
    if found is None or type(found) in (bool, int, float, str):
        return found
    raise TypeError("a value is plain or has a type")


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a container holds a list")
    return [_read(one) for one in value]


def _array(value: Any) -> Any:
    name, shape, content = value
    return np.frombuffer(bytes.fromhex(content), dtype=_plain(name)).reshape(shape).copy()


def _number(value: Any) -> Any:
    name, content = value
    (found,) = np.frombuffer(bytes.fromhex(content), dtype=_plain(name))
    return found


def _plain(name: Any) -> np.dtype[Any]:
    kind = np.dtype(str(name))
    if kind.kind not in _KINDS:
        raise TypeError("arrays hold numbers, flags or texts")
    return kind


_CONTAINERS: dict[type, Callable[[list[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
}
_READ: dict[str, Callable[[Any], Any]] = {
    "dict": lambda pairs: {_read(key): _read(one) for key, one in pairs},
    "bytes": bytes.fromhex,
    "broken": lambda both: Broken(str(both[0]), str(both[1])),
    "array": _array,
    "number": _number,
} | {
    kind.__name__: (lambda items, make=make: make(_items(items)))
    for kind, make in _CONTAINERS.items()
}
