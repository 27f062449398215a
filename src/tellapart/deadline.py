"""Limits on time and memory that an answer may take: none, unless someone who waits sets one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import TypeVar

from tellapart.errors import LimitReached

__all__ = [
    "within",
]

TIME_IS_UP = "this takes longer than the time limit: allow more, or ask for less"
T = TypeVar("T")

_END: ContextVar[float] = ContextVar("_END", default=math.inf)
_MEMORY: ContextVar[float] = ContextVar("_MEMORY", default=math.inf)


@contextmanager
def within(seconds: float = math.inf, memory: float = math.inf) -> Iterator[None]:
    """What is worked out here is given up at this time, or where one array needs so many bytes.

    A limit that is already set can only be tightened.

    >>> import tellapart as ta
    >>> with within(seconds=0):  # doctest: +IGNORE_EXCEPTION_DETAIL
    ...     ta.dp_sgd(1.0, 0.01, 1_000).curve().epsilon(1e-5)
    Traceback (most recent call last):
    ...
    tellapart.errors.LimitReached: this takes longer than the time limit: ...
    """
    end = _END.set(min(time.monotonic() + seconds, _END.get()))
    most = _MEMORY.set(min(memory, _MEMORY.get()))
    try:
        yield
    finally:
        _END.reset(end)
        _MEMORY.reset(most)


def left() -> float:
    """The seconds that are left, at least 0; infinite where there is no limit."""
    return max(_END.get() - time.monotonic(), 0.0)


def waited(box: SimpleQueue[T], seconds: float | None) -> T:
    """What comes next out of a box, while time is left; `queue.Empty` after so many seconds."""
    until = math.inf if seconds is None else seconds
    allowed = min(until, left())
    try:
        return box.get(timeout=None if math.isinf(allowed) else allowed)
    except Empty:
        check()
        raise


def budget() -> tuple[float, float]:
    """What is left of time and memory, for `within` in another thread or process."""
    return left(), _MEMORY.get()


def check() -> None:
    """Refuse to go on once time is up; to be called in every loop that may take long."""
    if time.monotonic() >= _END.get():
        raise LimitReached(TIME_IS_UP)


def check_memory(size: float) -> None:
    """Refuse an array of so many bytes before it is made, where that is more than allowed."""
    if size > _MEMORY.get():
        raise LimitReached(
            f"this needs {size / 2**20:,.0f} MiB of memory, and {_MEMORY.get() / 2**20:,.0f} MiB "
            "are allowed: ask for less"
        )
