"""What a function is called, and whether its code and what it was told are still the same."""

from __future__ import annotations

import functools
import hashlib
import numbers
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tellapart.audit import _datasets, _sources

_PLAIN = (str, bytes, numbers.Number, range, type(None))


def name(function: Any) -> str:
    """The function's full name; that of its type where it has none."""
    bare = _bare(function)
    named = bare if hasattr(bare, "__qualname__") else type(bare)
    return f"{named.__module__}.{named.__qualname__}"


def code(function: Any, whole_files: bool = False) -> str:
    """A short name for the function's code and its settings; nothing where it has none.

    Settings are plain values and arrays: arguments bound to it, defaults, what it closes over,
    what its object holds; of its module, plain values and the functions it names. The user's
    files that its module imports, and those that they import, count as a whole; with
    ``whole_files`` so does its own. Whatever else it uses is not seen.
    """
    if function is None or _own(_bare(function)) is None:
        return ""
    told, seen = hashlib.sha256(), _Seen()
    _feed(told, function, seen)
    paths = _sources.files(seen.spaces)
    if not whole_files:
        paths -= {_sources.file(space) for space in seen.spaces}
    told.update(contents(paths))
    return told.hexdigest()[:16]


def contents(paths: Iterable[Path]) -> bytes:
    """What is in files, wherever they lie."""
    return b"".join(sorted(hashlib.sha256(path.read_bytes()).digest() for path in paths))


@dataclass(frozen=True)
class _Seen:
    """Code that is told, and the modules that it lies in."""

    codes: set[int] = field(default_factory=set)
    spaces: list[dict[str, Any]] = field(default_factory=list)


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _own(bare: Any) -> CodeType | None:
    return getattr(bare, "__code__", None) or getattr(type(bare).__call__, "__code__", None)


def _feed(told: Any, function: Any, seen: _Seen) -> None:
    while isinstance(function, functools.partial):
        _settings(told, {"": function.args, **function.keywords}, seen)
        function = function.func
    _settings(told, _held(getattr(function, "__self__", None)), seen)
    bare = getattr(function, "__func__", function)
    own = _own(bare)
    if own is None or id(own) in seen.codes:
        return
    seen.codes.add(id(own))
    _feed_code(told, own)
    if not isinstance(bare, FunctionType):
        _settings(told, _held(bare), seen)
        bare = getattr(type(bare).__call__, "__func__", type(bare).__call__)
    if isinstance(bare, FunctionType):
        seen.spaces.append(bare.__globals__)
        _settings(told, {"": bare.__defaults__, **(bare.__kwdefaults__ or {})}, seen)
        _settings(told, _closed_over(bare), seen)
        _settings(told, _named(bare, own), seen)


def _feed_code(told: Any, own: CodeType) -> None:
    told.update(own.co_code)
    told.update(repr((own.co_names, own.co_varnames, own.co_freevars)).encode())
    for one in own.co_consts:
        if isinstance(one, CodeType):
            _feed_code(told, one)
        elif isinstance(one, frozenset):  # in no order of its own
            told.update(repr(sorted(one, key=repr)).encode())
        else:
            told.update(repr(one).encode())


def _settings(told: Any, values: dict[str, Any], seen: _Seen) -> None:
    for name, value in sorted(values.items()):
        if _plain(value) or isinstance(value, np.ndarray):
            told.update(f"{name} {_datasets.fingerprint(value)};".encode())
        elif isinstance(value, FunctionType | functools.partial):
            told.update(f"{name} {value.__class__.__name__};".encode())
            _feed(told, value, seen)


def _plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (
        isinstance(value, tuple) and all(_plain(one) for one in value)
    )


def _held(thing: Any) -> dict[str, Any]:
    return dict(getattr(thing, "__dict__", {})) if not isinstance(thing, type) else {}


def _closed_over(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != type(cell)()}


def _named(function: FunctionType, own: CodeType) -> dict[str, Any]:
    """What a function finds in its module: plain values, and functions made there."""
    found = {name: function.__globals__.get(name) for name in _names(own)}
    return {
        name: value
        for name, value in found.items()
        if _plain(value)
        or (isinstance(value, FunctionType) and value.__module__ == function.__module__)
    }


def _names(own: CodeType) -> Iterator[str]:
    yield from own.co_names
    for one in own.co_consts:
        if isinstance(one, CodeType):
            yield from _names(one)
