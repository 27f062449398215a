"""Checkpoints of calls: a folder keeps finished ones, so that a killed probe goes on.

Outputs are kept as they are, in some hundred calls a file, whatever they say: what is left out is
a matter of when a run was stopped, never of what it found. Files hold numbers and plain values
alone; reading them runs nothing.

A probe that goes on is the same probe. What it will call was settled before its first call, by the
seed and each call's place, and its manifest names everything that the verdict rests on: whoever
stops it, looks and goes on cannot ask for more calls, another claim or another confidence, so the
level holds as if nobody had looked. Code that draws noise of its own gives new outputs for calls
that were not kept, as independent of the others as all calls are.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import _files, run
from tellapart.audit import checkpoints
from tellapart.audit.checkpoints import opened_folder
from tellapart.audit.probing.calling.caller import Caller, Size
from tellapart.audit.probing.calling.outputs import Broken, CallOutputs, joined
from tellapart.audit.probing.calling.program import Program
from tellapart.errors import InvalidArgument, Unsupported

# So many calls are lost at most, of mechanisms that are called one by one.
PIECE = 32
_KINDS = "biufcSU"


@dataclass(frozen=True)
class KeptCalls:
    """Where finished calls lie, one file for each piece of a block."""

    folder: Path

    def block(self, caller: Caller, data: Any, count: int, key: Sequence[int]) -> CallOutputs:
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

    def _piece(self, caller: Caller, data: Any, count: int, key: tuple[int, ...]) -> CallOutputs:
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

    def _read(self, key: tuple[int, ...], count: int) -> CallOutputs | None:
        """What is kept of these calls; None where there is nothing that can be read."""
        try:
            record = json.loads(self._path(key).read_text(encoding="utf-8"))
            outputs = _outputs(record["outputs"])
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return outputs if len(outputs) == count else None


def _outputs(record: Any) -> CallOutputs:
    values = _read(record)
    if not isinstance(values, np.ndarray | list):
        raise TypeError("outputs are an array or a list")
    return CallOutputs(values)


# -- plain values as JSON, each with its type ----------------------------------------------------


def _written(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in _CONTAINERS:
        return {kind.__name__: [_written(item) for item in value]}
    if kind is dict:
        return {"dict": [[_written(key), _written(item)] for key, item in value.items()]}
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


def _read(record: Any) -> Any:
    if isinstance(record, dict):
        ((kind, value),) = record.items()
        return _READ[kind](value)
    if record is None or type(record) in (bool, int, float, str):
        return record
    raise TypeError("a value is plain or has a type")


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a container holds a list")
    return [_read(item) for item in value]


def _array(value: Any) -> Any:
    name, shape, content = value
    return np.frombuffer(bytes.fromhex(content), dtype=_plain(name)).reshape(shape).copy()


def _number(value: Any) -> Any:
    name, content = value
    (number,) = np.frombuffer(bytes.fromhex(content), dtype=_plain(name))
    return number


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
    "dict": lambda pairs: {_read(key): _read(item) for key, item in pairs},
    "bytes": bytes.fromhex,
    "broken": lambda both: Broken(str(both[0]), str(both[1])),
    "array": _array,
    "number": _number,
} | {
    kind.__name__: (lambda items, make=make: make(_items(items)))
    for kind, make in _CONTAINERS.items()
}


def opened_calls(
    folder: str | os.PathLike[str],
    mechanism: Callable[..., Any],
    inputs: tuple[Any, Any],
    asked: Mapping[str, Any],
) -> KeptCalls:
    """The folder of this probe, begun or gone on with; that of another is refused."""
    where, known = opened_folder(folder, {**_manifest(mechanism, inputs), **asked}, "probe")
    if known is not None and known.get("calls_per_file") != PIECE:
        raise InvalidArgument(
            f"folder must be of this version, with {PIECE} calls a file, and the calls in {where} "
            "were kept in files of another size, which cannot be gone on with: name another folder"
        )
    return KeptCalls(where)


def _manifest(mechanism: Callable[..., Any], inputs: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "probe": "calls",
        "mechanism": checkpoints.function_name(mechanism),
        "code": _program_fingerprint(mechanism)
        if isinstance(mechanism, Program)
        else _whole(mechanism),
        "d0": checkpoints.data_fingerprint(inputs[0]),
        "d1": checkpoints.data_fingerprint(inputs[1]),
        "versions": checkpoints.versions(),
        "calls_per_file": PIECE,
    }


def _whole(mechanism: Callable[..., Any]) -> str:
    """Code with all that is in its files: calls are made again more quickly than models trained."""
    return checkpoints.code_fingerprint(mechanism, whole_files=True)


def _program_fingerprint(mechanism: Program) -> str:
    """A command, and what is in the files that it names; the program may lie on the path."""
    digest = hashlib.sha256(repr(mechanism.words).encode())
    program, *arguments = mechanism.words
    for word in (shutil.which(program) or program, *arguments):
        if Path(word).is_file():
            digest.update(Path(word).read_bytes())
            digest.update(checkpoints.contents(checkpoints.files_of_script(Path(word))))
    return digest.hexdigest()[:32]
