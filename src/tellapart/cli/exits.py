"""How a command ended, as one number that a script can act on; no other number is ever given."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType

from cyclopts import CycloptsError

from tellapart.errors import Infeasible, InvalidArgument, TellapartError


class Exit(IntEnum):
    """What an exit code says; 0 and 1 are answers, and nothing but an answer gives them."""

    DONE = 0
    NO = 1
    WRONG_USE = 2
    NO_VERDICT = 3
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 128 + signal.SIGINT
    TERMINATED = 128 + signal.SIGTERM


HELP = (
    "Exit codes: 0 done, or the answer is yes; 1 the answer is no (claim refuted, limit out of "
    "reach); 2 wrong use or unreadable input; 3 no verdict; 70 a bug in tellapart; 130 "
    "interrupted; 143 terminated."
)


class Terminated(KeyboardInterrupt):
    """Someone asked the process to end: what stops at Ctrl-C stops at this, too."""


# The first kind that an error is of says the code; what is of none is a bug.
_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (Infeasible, Exit.NO),
    (InvalidArgument, Exit.WRONG_USE),
    (CycloptsError, Exit.WRONG_USE),
    (OSError, Exit.WRONG_USE),
    (TellapartError, Exit.NO_VERDICT),
    (MemoryError, Exit.NO_VERDICT),
    (Terminated, Exit.TERMINATED),
    (KeyboardInterrupt, Exit.INTERRUPTED),
)


def code_of(error: BaseException) -> Exit:
    """The exit code of a command that this error ended."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.BUG)


def verdict(refuted: bool | None) -> Exit:
    """The exit code of a verdict; None where nothing was judged, or nothing could be refuted."""
    if refuted is None:
        return Exit.NO_VERDICT
    return Exit.NO if refuted else Exit.DONE


@contextmanager
def ended_by() -> Iterator[list[KeyboardInterrupt]]:
    """What asked the command to end, raised where it is at work and kept for who swallows it.

    A second signal has its usual effect: it ends the process whatever it is at. Signals that were
    ignored from the start, as in a script's background job, stay so.
    """
    came: list[KeyboardInterrupt] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def end(number: int, _frame: FrameType | None) -> None:
        restore()
        came.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise came[0]

    usual = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    for number in usual:
        signal.signal(number, end)
    try:
        yield came
    finally:
        restore()
