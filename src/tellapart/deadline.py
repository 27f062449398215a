"""Limits on time and memory that an answer may take: none, unless someone who waits sets one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
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


class CallPurse:
    """Seconds that calls of the code under audit may take: whoever makes one asks before it.

    One that was begun is let finish, so that at most one call goes beyond. What is worked out from
    outputs, as far as it is `unpaid`, takes nothing from it.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds, self._began = seconds, time.monotonic()
        self.extended = 0.0  # by what was unpaid
        self.calls = 0  # made in this thread, by the outputs asked for
        self.elsewhere = False  # whether workers made others
        self._first: float | None = None  # when the first of them was begun

    @property
    def took(self) -> float:
        """Seconds since it was filled."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self.seconds - self.took, 0.0)

    @property
    def each(self) -> float:
        """Seconds a call, since the first."""
        return 0.0 if self._first is None else (self.took - self._first) / max(self.calls, 1)

    def check(self) -> None:
        """Refuse to go on where nothing is left."""
        if self.left <= 0:
            raise LimitReached(TIME_IS_UP)

    def pay(self, outputs: int) -> None:
        """Take note of one more call, of so many outputs; refused where nothing is left."""
        self.check()
        self.calls += outputs
        self._first = self.took if self._first is None else self._first

    def extend(self, seconds: float) -> None:
        """Let it last so many seconds longer."""
        self.seconds += seconds
        self.extended += seconds

    def add(self, other: CallPurse) -> None:
        """Take note of the calls paid for from a purse within this one."""
        self.calls += other.calls
        self.elsewhere |= other.elsewhere
        self.extend(other.extended)
        if self._first is None and other._first is not None:
            self._first = self.took - other.took + other._first


_PURSE: ContextVar[CallPurse | None] = ContextVar("_PURSE", default=None)


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


@contextmanager
def paying(purse: CallPurse) -> Iterator[None]:
    """Calls that are made here are paid for from this purse, which another's rest may limit."""
    around = _PURSE.get()
    if around is not None and around.left < purse.left:
        purse.seconds = purse.took + around.left
    before = _PURSE.set(purse)
    try:
        yield
    finally:
        _PURSE.reset(before)
        if around is not None:
            around.add(purse)


@contextmanager
def unpaid() -> Iterator[None]:
    """What is worked out here, between calls, takes nothing from the purse for calls."""
    purse, began = _PURSE.get(), time.monotonic()
    try:
        yield
    finally:
        if purse is not None:
            purse.extend(time.monotonic() - began)


def before_call(outputs: int = 1) -> None:
    """Refuse one more call, of so many outputs, once time or the purse for calls is up."""
    check()
    purse = _PURSE.get()
    if purse is not None:
        purse.pay(outputs)


def left_for_calls() -> float:
    """The seconds that calls may still take; infinite where there is no purse."""
    purse = _PURSE.get()
    return math.inf if purse is None else purse.left


Limits = tuple[tuple[float, float], float]


def carried() -> Callable[[], Limits]:
    """What is left of all limits, for `on_worker`, at whatever time and in whatever thread asked.

    Who hands out tasks may do so in threads of its own, which know no limits.
    """
    end, memory, purse = _END.get(), _MEMORY.get(), _PURSE.get()

    def limits() -> Limits:
        left_in_all = max(end - time.monotonic(), 0.0)
        return (left_in_all, memory), math.inf if purse is None else purse.left

    return limits


def sent_elsewhere() -> None:
    """Note that calls are made by workers, where they are not counted."""
    purse = _PURSE.get()
    if purse is not None:
        purse.elsewhere = True


@contextmanager
def on_worker(limits: tuple[float, float], calls: float) -> Iterator[None]:
    """The limits of whoever sent a task, which threads and processes do not know by themselves."""
    with within(*limits):
        if _PURSE.get() is not None or math.isinf(calls):  # here, or no limit
            yield
            return
        with paying(CallPurse(calls)):
            yield


def left() -> float:
    """The seconds that are left, at least 0; infinite where there is no limit."""
    return max(_END.get() - time.monotonic(), 0.0)


def waited(box: SimpleQueue[T], seconds: float | None) -> T:
    """What comes next out of a box, while time is left; `queue.Empty` after so many seconds."""
    until = math.inf if seconds is None else seconds
    allowed = min(until, left(), left_for_calls())
    try:
        return box.get(timeout=None if math.isinf(allowed) else allowed)
    except Empty:
        check()
        purse = _PURSE.get()
        if purse is not None:
            purse.check()
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
