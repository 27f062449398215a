"""A pool of worker processes that answer, each ended at a limit: none can hold up the others.

Most questions are answered in a fraction of a second. One that takes longer is called long, and
makes room: others start beside it, while few long ones may go on at once. A window has one
question of each kind at a time, and a newer one ends a long one before it.
"""

from __future__ import annotations

import importlib
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Any, TypeVar

from tellapart.errors import LimitReached

Result = TypeVar("Result")

_BUSY = "the page is busy with other questions that take long: ask again in a minute"
_TIME = "this takes longer than the page allows: ask for less, or use the command line"
_READY = "ready"
_MEMORY = "this needs more memory than the page allows: ask for less, or use the command line"
_START = 120.0  # seconds in which a process that loads everything must have done so


class Superseded(Exception):
    """The same window has asked something else meanwhile."""


class Crashed(Exception):
    """The process that should have answered is gone: a bug of ours."""


@dataclass(frozen=True)
class WorkerLimits:
    """Seconds and bytes of one question, and how many are answered at once."""

    seconds: float
    memory: int
    quick: int = 2  # that are not long, or not yet
    long: int = 2
    long_after: float = 1.0
    waiting: int = 16
    patience: float = 20.0  # seconds in which a question must get its turn


class _Worker:
    """One process; a thread of its own reads what it says, so that nobody waits for ever."""

    def __init__(self, limits: WorkerLimits, loads: str) -> None:
        path = [entry or os.getcwd() for entry in sys.path]
        usual = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-P",
                __file__,
                repr(limits.seconds),
                str(limits.memory),
                loads,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **usual,
                **os.environ,
                "PYTHONPATH": os.pathsep.join(path),
                "PYTHONWARNINGS": ",".join(sys.warnoptions),
            },
            start_new_session=True,
        )
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._reader = Thread(target=self._collect, daemon=True)
        self._reader.start()
        self._warm = False

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def warmed(self) -> bool:
        """Wait until everything is loaded; whether that went well."""
        if not self._warm:
            with suppress(Empty):
                self._warm = self._inbox.get(timeout=_START) == _READY
        return self._warm

    def send(self, message: bytes) -> None:
        """Hand it a question."""
        if self._process.stdin is not None:
            with suppress(OSError):  # it is gone, which whoever waits for its answer is told
                self._process.stdin.write(message)
                self._process.stdin.flush()

    def answer(self, seconds: float) -> Any:
        """What it says; None if it is gone, `queue.Empty` if it needs longer than this."""
        return self._inbox.get(timeout=max(seconds, 0))

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _collect(self) -> None:
        with suppress(EOFError, pickle.UnpicklingError, OSError, ValueError):
            while self._process.stdout is not None:
                self._inbox.put(pickle.load(self._process.stdout))  # noqa: S301 (our own process)
        self._inbox.put(None)


@dataclass
class _Turn:
    """One question on its way."""

    key: Hashable
    worker: _Worker | None = None
    long: bool = False
    superseded: bool = False
    answered: bool = False


class WorkerPool:
    """Processes that have loaded a module and are ready to answer; `close` ends them all."""

    def __init__(self, limits: WorkerLimits, loads: str = "tellapart.web.questions") -> None:
        self._limits, self._loads = limits, loads
        self._changed = Condition()
        self._turns: list[_Turn] = []
        self._closed = False
        self._idle = [_Worker(limits, loads) for _ in range(limits.quick)]

    def ask(self, function: Callable[[Any], Result], given: Any, key: Hashable) -> Result:
        """What the function says, which a process finds out; ``key`` tells who asks for what.

        `LimitReached` where it takes too long, too much, or its turn never comes.
        """
        message = pickle.dumps((function, given))
        turn = self._turn(key)
        try:
            worker = turn.worker
            if worker is None or not worker.warmed():
                raise Crashed
            worker.send(message)
            turn.answered, value = self._answer(turn, worker)
        finally:
            self._done(turn)
        if not turn.answered:
            raise LimitReached(value)
        return value  # type: ignore[no-any-return]

    def close(self) -> None:
        """End every process; who still waits for one is told that it is gone."""
        with self._changed:
            self._closed = True
            workers = [
                *self._idle,
                *(turn.worker for turn in self._turns if turn.worker is not None),
            ]
            self._idle = []
            self._changed.notify_all()
        for worker in workers:
            worker.close()

    # -- turns -------------------------------------------------------------------------------

    def _turn(self, key: Hashable) -> _Turn:
        """A process to ask, once there is room for one more question."""
        turn, limits = _Turn(key), self._limits
        with self._changed:
            self._supersede(key)
            if sum(other.worker is None for other in self._turns) >= limits.waiting:
                raise LimitReached(_BUSY)
            self._turns.append(turn)
            try:
                self._wait(turn)
                turn.worker = self._free_worker()
            finally:
                if turn.worker is None:
                    self._turns.remove(turn)
                self._changed.notify_all()
        return turn

    def _wait(self, turn: _Turn) -> None:
        until = time.monotonic() + self._limits.patience
        while not self._closed and not turn.superseded and not self._first(turn):
            if not self._changed.wait(until - time.monotonic()):
                raise LimitReached(_BUSY)
        if turn.superseded:
            raise Superseded
        if self._closed:
            raise Crashed

    def _first(self, turn: _Turn) -> bool:
        """Whether it is this one's turn: in order, and beside long ones."""
        quick = sum(other.worker is not None and not other.long for other in self._turns)
        waiting = next(other for other in self._turns if other.worker is None)
        return waiting is turn and quick < self._limits.quick

    def _supersede(self, key: Hashable) -> None:
        for turn in self._turns:
            # A question that will soon be answered is cheaper than a new process.
            if turn.key == key and (turn.worker is None or turn.long):
                turn.superseded = True
                if turn.worker is not None:
                    turn.worker.kill()
        self._changed.notify_all()

    def _free_worker(self) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        return _Worker(self._limits, self._loads)

    def _answer(self, turn: _Turn, worker: _Worker) -> tuple[bool, Any]:
        limits = self._limits
        try:
            reply = worker.answer(limits.long_after)
        except Empty:
            self._call_long(turn)
            try:
                reply = worker.answer(limits.seconds - limits.long_after)
            except Empty:
                raise LimitReached(_TIME) from None
        if turn.superseded:
            raise Superseded
        if reply is None:
            raise Crashed
        done, value = reply
        return done, value

    def _call_long(self, turn: _Turn) -> None:
        with self._changed:
            if sum(other.long for other in self._turns) >= self._limits.long:
                raise LimitReached(_BUSY)
            turn.long = True
            self._keep_ready()

    def _done(self, turn: _Turn) -> None:
        """Make room for the next; a process that gave no answer is not asked again."""
        worker = turn.worker
        with self._changed:
            self._turns.remove(turn)
            if worker is not None and turn.answered and not self._closed:
                self._idle.append(worker)
                worker = None
            self._keep_ready()
        if worker is not None:
            worker.close()

    def _keep_ready(self) -> None:
        """As many processes as there may be quick questions, no fewer and no more."""
        quick = sum(turn.worker is not None and not turn.long for turn in self._turns)
        while not self._closed and len(self._idle) + quick < self._limits.quick:
            # In front, as those at the end are asked first, and have loaded everything.
            self._idle.insert(0, _Worker(self._limits, self._loads))
        while len(self._idle) > self._limits.quick:
            self._idle.pop(0).close()
        self._changed.notify_all()


# -- the other end: a process that runs this file by its path, with what it must load --------------


def _serve(seconds: float, memory: int, loads: str) -> None:
    """Answer one by one, by pickles; a bug ends the process, and is told of on its terminal."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anyone prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends, and then this
    importlib.import_module(loads)
    _bounded(memory)
    answer = pickle.dumps(_READY)
    while True:
        target.write(answer)
        target.flush()
        try:
            function, given = pickle.load(source)  # noqa: S301 (the server's own)
            with _ended_by_the_system(seconds):
                answer = pickle.dumps((True, function(given)))
        except EOFError:
            return  # the server has no more questions
        except MemoryError:
            answer = pickle.dumps((False, _MEMORY))


def _bounded(memory: int) -> None:
    """So much more than what it has by now; where systems count it, which Linux does."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def _ended_by_the_system(seconds: float) -> Iterator[None]:
    """Should the server be gone that would end it, whatever it is doing."""
    if not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(math.ceil(seconds) + 5)
    try:
        yield
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    _serve(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
