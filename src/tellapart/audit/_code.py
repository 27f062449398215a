"""What a function is called, and whether its code is still the same."""

from __future__ import annotations

import functools
import hashlib
from types import CodeType
from typing import Any


def name(function: Any) -> str:
    """The function's full name; that of its type where it has none."""
    bare = _bare(function)
    named = bare if hasattr(bare, "__qualname__") else type(bare)
    return f"{named.__module__}.{named.__qualname__}"


def code(function: Any) -> str:
    """A short name for the function's own code; nothing where it has none that can be read.

    What it calls and what it closes over is not seen.
    """
    bare = _bare(function)
    own = getattr(bare, "__code__", None) or getattr(type(bare).__call__, "__code__", None)
    if own is None:
        return ""
    told = hashlib.sha256()
    _feed(told, own)
    return told.hexdigest()[:16]


def _bare(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__func__", function)


def _feed(told: Any, own: CodeType) -> None:
    told.update(own.co_code)
    told.update(repr((own.co_names, own.co_varnames, own.co_freevars)).encode())
    for one in own.co_consts:
        if isinstance(one, CodeType):
            _feed(told, one)
        elif isinstance(one, frozenset):  # in no order of its own
            told.update(repr(sorted(one, key=repr)).encode())
        else:
            told.update(repr(one).encode())
