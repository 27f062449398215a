"""Black-box access to any other program, in whatever language: lines of JSON in and out.

For every call the program reads one line, ``{"data": ..., "seed": 123}``, and prints one line, its
output, which may be any JSON value (``NaN`` and ``Infinity`` too). ``{"error": "text"}`` says that
the call failed, which is an output like any other. The seed, a whole number below 2^31, is new for
every call: a program may draw its noise from it, or ignore it. It must read on until its input
ends, print nothing else, and write what is for people to its standard error.

Many calls are made of one process, and every batch of them of a new one, which sees the end of its
input: a program need not flush its output, and no process outlives its batch. One that repeats
itself when it is started again is not judged.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

import numpy as np

from tellapart import _checks, deadline
from tellapart.audit.probing.calling.outputs import HANGS, Broken
from tellapart.errors import BadProgram, InvalidArgument

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
        line = deadline.waited(self._lines, wait)
        self._said_all = line is None
        return line

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


# Every language has whole numbers up to here.
_SEEDS = 2**31
# How often, and for how many calls, a program is started to see whether it repeats itself; of
# calls that may hang there are fewer. Of three starts in quick succession two share a second.
_STARTS, _CALLS, _SLOW_CALLS = 3, 256, 32
# How long a line too many is waited for, after the last answer, in seconds.
_AFTER = 0.25
_LONGEST = 80


class _Odd(Exception):
    """What was expected and what came instead."""


@dataclass(frozen=True)
class Program:
    """Any program as a mechanism: it reads a line of JSON for every call and prints another.

    ``command`` is one text, divided as a shell would, or a list of words; no shell runs it. With
    a ``timeout``, in seconds for each answer, calls are made one by one; one that takes longer is
    cut off and counts as an output, "hangs", and so is a program that ends with an error.

    >>> from tellapart import audit
    >>> audit.Program("Rscript release.R --epsilon 1", timeout=5)
    Program(command='Rscript release.R --epsilon 1', timeout=5)
    """

    command: str | Sequence[str]
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not self.words:
            _checks.refuse("command", "name a program", self.command)
        if self.timeout is not None:
            _checks.finite_above_zero(timeout=self.timeout)

    @property
    def words(self) -> tuple[str, ...]:
        """The program and its arguments."""
        if not isinstance(self.command, str):
            if not isinstance(self.command, Sequence) or not all(
                isinstance(word, str) for word in self.command
            ):
                _checks.refuse("command", "be a text or a list of words", self.command)
            return tuple(self.command)
        try:
            return tuple(shlex.split(self.command))
        except ValueError as error:
            raise InvalidArgument(
                f"command must be words as in a shell, got {self.command!r} ({error})"
            ) from error

    def __call__(
        self, data: Any, rng: np.random.Generator | None = None, size: int | None = None
    ) -> Any:
        """One output, or a list of so many."""
        count = 1 if size is None else _checks.whole(1, size=size)
        lines = _lines(data, count, np.random.default_rng() if rng is None else rng)
        answers = self._at_once(lines) if self.timeout is None else self._one_by_one(lines)
        return answers[0] if size is None else answers

    def repeats_itself(self, data: Any, rng: np.random.Generator) -> bool:
        """Whether starts give the same outputs, call by call, although these vary.

        Outputs that hardly ever vary may do so by chance: then nothing is said that could be.
        """
        count = _CALLS if self.timeout is None else _SLOW_CALLS
        asked = (_lines(data, count, rng) for _ in range(_STARTS))
        starts = [tuple(map(repr, self._by_one_process(lines))) for lines in asked]
        whole = [answers for answers in starts if len(answers) == count and len(set(answers)) > 1]
        return len(set(whole)) < len(whole)

    def _by_one_process(self, lines: _ProgramInput) -> list[Any]:
        """Outputs up to the first call that is cut off."""
        if self.timeout is None:
            return self._at_once(lines)
        with self._running() as process:
            return list(self._until_broken(process, lines))

    def _at_once(self, lines: _ProgramInput) -> list[Any]:
        count = len(lines.seeds)
        outputs: list[Any] = []
        with self._running() as process:
            process.ask(lines)
            process.ask_no_more()
            for place in range(count):
                line = process.line()
                if line is None:
                    raise _too_few(process.ended(), place, count)
                outputs.append(_read(line))
            _nothing_more(process)
        return outputs

    def _one_by_one(self, lines: _ProgramInput) -> list[Any]:
        """After a call that was cut off, another process goes on."""
        outputs: list[Any] = []
        while len(outputs) < len(lines.seeds):
            with self._running() as process:
                outputs += self._until_broken(process, lines.after(len(outputs)))
        return outputs

    def _until_broken(self, process: Running, lines: _ProgramInput) -> Iterator[Any]:
        count = len(lines.seeds)
        for place, line in enumerate(lines):
            if process.has_more:
                _nothing_more(process)
            process.ask([line])
            try:
                answer = process.line(self.timeout)
            except Empty:
                yield HANGS
                return
            if answer is None:
                yield _ended(process, place, count)
                return
            yield _read(answer)
        process.ask_no_more()
        _nothing_more(process)

    @contextmanager
    def _running(self) -> Iterator[Running]:
        try:
            process = Running(self.words)
        except OSError as error:
            raise BadProgram(
                f"command must name a program that can be started, got {self._shown} "
                f"({error.strerror or error})"
            ) from error
        try:
            yield process
        except _Odd as odd:
            process.stop()
            complaint = (
                f"; its standard error ends: {process.complaints}" if process.complaints else ""
            )
            raise BadProgram(f"command {self._shown} must {odd}{complaint}") from None
        finally:
            process.stop()

    @property
    def _shown(self) -> str:
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


@dataclass(frozen=True)
class _ProgramInput:
    """What a program reads: the same data each time, with another seed."""

    data: bytes
    seeds: list[int]

    def __iter__(self) -> Iterator[bytes]:
        for seed in self.seeds:
            yield b'{"data": %b, "seed": %d}\n' % (self.data, seed)

    def after(self, place: int) -> _ProgramInput:
        """Those that are left."""
        return _ProgramInput(self.data, self.seeds[place:])


def _lines(data: Any, count: int, rng: np.random.Generator) -> _ProgramInput:
    return _ProgramInput(_as_json(data), rng.integers(_SEEDS, size=count).tolist())


def _as_json(data: Any) -> bytes:
    try:
        return json.dumps(data, default=_plain).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadProgram(
            f"data must be something that JSON can hold, for a program to read ({error})"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is none of it")


def _read(line: bytes) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise _Odd(
            f"answer every line with one line of JSON, got {_cut(line)} (what is for people "
            "belongs on standard error)"
        ) from None
    if isinstance(value, dict) and list(value) == ["error"]:
        return Broken(f"fails: {str(value['error'])[:_LONGEST]}")
    return value


def _nothing_more(process: Running) -> None:
    try:
        line = process.line(_AFTER)
    except Empty:
        return
    if line is not None:
        _read(line)
        raise _Odd(f"answer every line with one line alone, got one more: {_cut(line)}")


def _too_few(code: int | None, place: int, count: int) -> _Odd:
    hint = " (it must read on until its input ends)" if not code else ""
    return _Odd(f"answer {count} lines, got {place} and then {_how(code)}{hint}")


def _ended(process: Running, place: int, count: int) -> Broken:
    """A program that ends by an error: an output of the call that it was at."""
    code = process.ended()
    if not code:
        raise _too_few(code, place, count)
    return Broken(f"ends with {_how(code)}", process.complaints)


def _how(code: int | None) -> str:
    if code is None:
        return "the end of its output"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _cut(line: bytes) -> str:
    return repr(_checks.shortened(line.decode(errors="replace").strip(), _LONGEST))
