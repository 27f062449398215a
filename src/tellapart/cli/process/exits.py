"""Exit codes and signals: how a command ended, as one number that a script can act on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType

from tellapart.errors import BudgetSpent, Infeasible, InvalidArgument, TellapartError


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
    "reach, budget spent); 2 wrong use or unreadable input; 3 no verdict; 70 a bug in tellapart; "
    "130 interrupted; 143 terminated."
)


class Terminated(KeyboardInterrupt):
    """Someone asked the process to end: what stops at Ctrl-C stops at this, too."""


# What is said of a command that a signal ended.
ENDED = {Exit.INTERRUPTED: "interrupted", Exit.TERMINATED: "terminated"}
# The first kind that an error is of says the code; what is of none is a bug.
_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (Infeasible, Exit.NO),
    (BudgetSpent, Exit.NO),
    (InvalidArgument, Exit.WRONG_USE),
    (OSError, Exit.WRONG_USE),
    (TellapartError, Exit.NO_VERDICT),
    (MemoryError, Exit.NO_VERDICT),
    (Terminated, Exit.TERMINATED),
    (KeyboardInterrupt, Exit.INTERRUPTED),
)


def code_of(error: BaseException) -> Exit:
    """The exit code of a command that this error ended."""
    from cyclopts import CycloptsError  # whoever asks has it; signals are heard before it is there

    if isinstance(error, CycloptsError):
        return Exit.WRONG_USE
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.BUG)


def verdict(refuted: bool | None) -> Exit:
    """The exit code of a verdict; None where nothing was judged, or nothing could be refuted."""
    if refuted is None:
        return Exit.NO_VERDICT
    return Exit.NO if refuted else Exit.DONE


class Signals:
    """What asked a command to end, and what that does: raise where it is at work.

    A program that is still being loaded ends on the spot instead. Nothing has begun then, and an
    exception amid imports is swallowed or turned into another by some of them.
    """

    def __init__(self, *, loading: bool) -> None:
        self.loading = loading
        self.came: list[KeyboardInterrupt] = []  # kept for who swallows it
        self._usual = {
            number: handler
            for number in (signal.SIGINT, signal.SIGTERM)
            if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
        }

    def hear(self) -> None:
        """Until `restore`; signals that were ignored from the start stay so."""
        for number in self._usual:
            signal.signal(number, self._end)

    def restore(self) -> None:
        """A further signal has its usual effect: it ends the process whatever it is at."""
        for number, handler in self._usual.items():
            signal.signal(number, handler)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        if self.loading:
            with suppress(OSError):
                os.write(2, f"tellapart: {ENDED[Exit(128 + number)]}\n".encode())
            os._exit(128 + number)
        self.restore()
        self.came.append(Terminated() if number == signal.SIGTERM else KeyboardInterrupt())
        raise self.came[0]


@contextmanager
def signals_heard(*, as_program: bool) -> Iterator[Signals]:
    """Signals to this command, which is the process or was called in one."""
    signals = Signals(loading=as_program)
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    signals.hear()
    try:
        yield signals
    finally:
        signals.restore()
        if as_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said: no traceback after it
