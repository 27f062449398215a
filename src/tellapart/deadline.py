"""Limits on time and memory that an answer may take: none, unless someone who waits sets one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeVar

from tellapart.errors import LimitReached

__all__ = [
    "within",
]

TIME_IS_UP = "this takes longer than the time limit: allow more, or ask for less"
T = TypeVar("T")

_END: ContextVar[float] = ContextVar("_END", default=math.inf)
_MEMORY: ContextVar[float] = ContextVar("_MEMORY", default=math.inf)


class Receipt(NamedTuple):
    """Calls that a worker has made, and the seconds that its tasks took."""

    calls: int
    seconds: float

    def plus(self, other: Receipt) -> Receipt:
        """Both together."""
        return Receipt(self.calls + other.calls, self.seconds + other.seconds)


class CallPurse:
    """Seconds that calls of the code under audit may take: whoever makes one asks before it.

    One that was begun is let finish, so that at most one call goes beyond. What is worked out from
    outputs, as far as it is `unpaid`, takes nothing from it, and neither does starting workers.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds, self._began = seconds, time.monotonic()
        self.extended = 0.0  # by what was unpaid
        self.calls = 0  # by the outputs asked for, here and in all tasks that workers finished
        self.elsewhere = False  # whether workers make some
        self.on_workers = Receipt(0, 0.0)  # how many of them workers made, in how many seconds
        self._first = 0.0  # what was spent when the first of them was begun

    @property
    def took(self) -> float:
        """Seconds since it was filled."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(self.seconds - self.took, 0.0)

    @property
    def spent(self) -> float:
        """Seconds of the purse that are gone."""
        return self.took - self.extended

    @property
    def each(self) -> float:
        """Seconds a call, since the first; with workers at most what it takes one of them."""
        if not self.calls:
            return 0.0
        by_the_clock, (calls, seconds) = (self.spent - self._first) / self.calls, self.on_workers
        return min(by_the_clock, seconds / calls) if calls else by_the_clock

    def check(self) -> None:
        """Refuse to go on where nothing is left."""
        if self.left <= 0:
            raise LimitReached(TIME_IS_UP)

    def pay(self, outputs: int) -> None:
        """Take note of one more call, of so many outputs; refused where nothing is left."""
        took = time.monotonic() - self._began  # one look at the clock: mechanisms may be quick
        if took >= self.seconds:
            raise LimitReached(TIME_IS_UP)
        if not self.calls:
            self._first = took - self.extended
        self.calls += outputs

    def note(self, receipt: Receipt) -> None:
        """Take note of the calls of a task that a worker has finished."""
        if receipt.calls and not self.calls:
            self._first = max(self.spent - receipt.seconds, 0.0)
        self.calls += receipt.calls
        self.on_workers = self.on_workers.plus(receipt)

    def extend(self, seconds: float) -> None:
        """Let it last so many seconds longer."""
        self.seconds += seconds
        self.extended += seconds

    def add(self, other: CallPurse) -> None:
        """Take note of the calls paid for from a purse within this one."""
        self.extend(other.extended)
        if other.calls and not self.calls:
            self._first = self.spent - other.spent + other._first
        self.calls += other.calls
        self.elsewhere |= other.elsewhere
        self.on_workers = self.on_workers.plus(other.on_workers)


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


def sent_elsewhere() -> bool:
    """Note that calls are made by workers; whether these are the first that a purse pays for."""
    purse = _PURSE.get()
    if purse is None or math.isinf(purse.left):
        return False
    first, purse.elsewhere = not purse.elsewhere, True
    return first


def paid_elsewhere(receipts: Iterable[Receipt]) -> None:
    """Take note of the calls that workers have made."""
    purse = _PURSE.get()
    for receipt in receipts:
        if purse is not None:
            purse.note(receipt)


@contextmanager
def on_worker(limits: tuple[float, float], calls: float) -> Iterator[Callable[[], Receipt]]:
    """The limits of whoever sent a task, which threads and processes do not know by themselves.

    Yields what tells of the calls that were made there; none are where they were counted already.
    """
    with within(*limits):
        if _PURSE.get() is not None or math.isinf(calls):  # here, or no limit
            yield lambda: Receipt(0, 0.0)
            return
        purse = CallPurse(calls)
        with paying(purse):
            yield lambda: Receipt(purse.calls, purse.spent)


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
