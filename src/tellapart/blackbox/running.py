"""A program that was started: lines go in, lines come out, and nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import IO

from tellapart import deadline

# A line longer than this is no answer.
LONGEST = 1 << 26
# How much of what it complained of is told.
_TAIL = 400
# How long threads and a program that has said its last word are waited for, in seconds.
_GRACE = 1.0


# Those that were started and not yet ended.
_ALIVE: set[subprocess.Popen[bytes]] = set()


def start(words: Sequence[str], complaints: int) -> subprocess.Popen[bytes]:
    """A process with a group of its own, and pipes to it; `end` it."""
    process = subprocess.Popen(  # noqa: S603 (the command is what was asked for)
        list(words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        start_new_session=True,
    )
    _ALIVE.add(process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """With what it started itself: a fork that hangs would hold a pipe open."""
    # Its number is its group's, and cannot become another's before it is waited for.
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    _ALIVE.discard(process)


def end_all() -> None:
    """For who leaves at once, without coming by where each would be ended."""
    for process in list(_ALIVE):
        end(process)


class Running:
    """One process of a program; `stop` ends it, with all that it started itself.

    Reading and writing have threads of their own: whoever waits for an answer can stop waiting,
    and no pipe that is full can hold up the other.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._process = start(words, subprocess.PIPE)
        self._orders: SimpleQueue[Iterable[bytes] | None] = SimpleQueue()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._complaints = b""
        self._said_all = False
        self._threads = [
            _thread(self._write, self._process.stdin),
            _thread(self._read, self._process.stdout),
            _thread(self._listen, self._process.stderr),
        ]

    # -- talking to it -----------------------------------------------------------------------

    def ask(self, lines: Iterable[bytes]) -> None:
        """Hand it these lines, as fast as it takes them."""
        self._orders.put(lines)

    def ask_no_more(self) -> None:
        """Let it see the end of its input."""
        self._orders.put(None)

    def line(self, wait: float | None = None) -> bytes | None:
        """The next line it prints, None if there is none; `queue.Empty` after so many seconds."""
        if self._said_all:
            return None
        found = deadline.waited(self._lines, wait)
        self._said_all = found is None
        return found

    @property
    def has_more(self) -> bool:
        """Whether something is there that nobody has read, be it the end."""
        return not self._lines.empty()

    @property
    def complaints(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._complaints.decode(errors="replace").strip()

    # -- ending it ---------------------------------------------------------------------------

    def ended(self) -> int | None:
        """How it ended, minus the signal if one ended it; None if it would go on."""
        until = time.monotonic() + _GRACE
        while not (over := self._is_over()) and time.monotonic() < until:
            time.sleep(0.002)
        self.stop()
        return self._process.returncode if over else None

    def stop(self) -> None:
        """End it, and what it started, if it is still there."""
        if self._process.returncode is not None:
            return
        end(self._process)
        self._orders.put(None)
        for thread in self._threads:
            thread.join(_GRACE)

    def _is_over(self) -> bool:
        """Whether it has ended, without waiting for it: `stop` must still know its number."""
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        asked = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, asked) is not None

    # -- threads -----------------------------------------------------------------------------

    def _write(self, pipe: IO[bytes]) -> None:
        # It may end, or close its input, before it has read everything.
        with suppress(OSError), pipe:
            while (lines := self._orders.get()) is not None:
                pipe.writelines(lines)
                pipe.flush()

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            while line := pipe.readline(LONGEST):
                if line.strip():
                    self._lines.put(line)
        self._lines.put(None)

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            while said := os.read(pipe.fileno(), 1 << 16):
                self._complaints = (self._complaints + said)[-_TAIL:]


def _thread(work: Callable[[IO[bytes]], None], pipe: IO[bytes] | None) -> Thread:
    made = Thread(target=work, args=(pipe,), daemon=True)
    made.start()
    return made
