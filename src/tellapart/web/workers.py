"""A pool of worker processes in two lanes (forkserver): what takes long never holds up the others.

Most questions are answered in a fraction of a second, in the quick lane. One that is not goes on in
the slow lane if that has room; if not, its process is ended and it is asked again there, in its
turn. Each process has limits of time and memory. A visitor has one question at work at a time, and
who leaves takes the question along. `processes` has what they are.
"""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tellapart.errors import Busy, TooLong
from tellapart.web.forkserver import (
    FORKS,
    Crashed,
    Template,
    Worker,
    command,
    environment,
    started,
)

_GRACE = 0.15  # seconds after which a question that nobody waits for is given up
_ANSWERS = 1_000  # of one process, before another takes its place
_HEAVY = 512  # questions that are known to take long


class _Slow(Exception):
    """A question did not end in the quick lane."""


@dataclass(frozen=True)
class WorkerLimits:
    """Seconds and bytes of one question, and how many are answered at once."""

    seconds: float
    memory: int
    quick: int = 3
    slow: int = 1
    slow_after: float = 1.0
    waiting: int = 256
    patience: float = 20.0  # seconds in which a question must get its turn
    own: int = 8  # questions of one visitor, of which one is at work


class _Lane:
    """So many turns at once, in order; who waits too long, or behind too many, is refused."""

    def __init__(self, turns: int, waiting: int, patience: float) -> None:
        self._turns, self._most, self._patience = asyncio.Semaphore(turns), waiting, patience
        self.waiting = 0

    @property
    def free(self) -> bool:
        return not self._turns.locked()

    async def enter(self) -> None:
        if self.waiting >= self._most:
            raise Busy(_BUSY)
        self.waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._turns.acquire()
        except TimeoutError:
            raise Busy(_BUSY) from None
        finally:
            self.waiting -= 1

    def leave(self) -> None:
        self._turns.release()


@dataclass
class _Visitor:
    """Whose questions wait for each other."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    questions: int = 0


_BUSY = "the page is busy with other questions: ask again in a minute, or on your own machine"
_OWN = "you have asked more than is answered at once: wait for the answers"
_TIME = "this takes longer than the page allows: ask for less, or on your own machine"
_MEMORY = "this needs more memory than the page allows: ask for less, or on your own machine"


class WorkerPool:
    """Processes that have loaded a module and are ready to answer; `close` ends them all.

    ``hushed`` processes tell of a bug by where it is, without the words of the error.
    """

    def __init__(
        self,
        limits: WorkerLimits,
        loads: str,
        *,
        hushed: bool = False,
        forks: bool = FORKS,
    ) -> None:
        self._limits = limits
        self._command = command(limits.seconds, limits.memory, loads, hushed)
        self._environment = environment()
        self._forks = forks
        self._template: Template | None = None
        self._processes: list[asyncio.subprocess.Process] = []
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._quick = _Lane(limits.quick, limits.waiting, limits.patience)
        self._slow = _Lane(limits.slow, limits.waiting, limits.patience)
        self._visitors: dict[str, _Visitor] = {}
        self._heavy: OrderedDict[bytes, None] = OrderedDict()
        self._settling: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Have processes ready before anyone asks; who asks first waits until they are."""
        self._idle += [await self._new() for _ in range(self._limits.quick)]

    @property
    def state(self) -> dict[str, int]:
        """How many questions are at work, and how many wait."""
        waiting = self._quick.waiting + self._slow.waiting
        return {"at_work": len(self._busy), "waiting": waiting, "idle": len(self._idle)}

    async def ask(
        self,
        function: str,
        *given: Any,
        visitor: str | None = None,
        quick: bool = False,
    ) -> Any:
        """What a function of the module says, which a process finds out.

        Questions of one ``visitor`` wait for each other. One that must be ``quick`` is given up
        where others go on in the slow lane. `Busy` where its turn never comes, `TooLong` where it
        takes too much. Who cancels this ends it.
        """
        message = pickle.dumps((function, given))
        async with self._own_turn(visitor):
            done, value = await self._answer(message, quick)
        if not done:
            raise TooLong(_MEMORY)
        return value

    async def close(self) -> None:
        """End every process; who still waits for one is told that it is gone."""
        self._closed = True
        for worker in (*self._idle, *self._busy):
            worker.close()
        self._idle = []
        await asyncio.gather(*self._settling)
        if self._template is not None:
            await asyncio.to_thread(self._template.close)
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    # -- turns -------------------------------------------------------------------------------

    @asynccontextmanager
    async def _own_turn(self, name: str | None) -> AsyncIterator[None]:
        if name is None:
            yield
            return
        visitor = self._visitors.setdefault(name, _Visitor())
        if visitor.questions >= self._limits.own:
            raise Busy(_OWN)
        visitor.questions += 1
        try:
            async with visitor.turn:
                yield
        finally:
            visitor.questions -= 1
            if not visitor.questions:
                del self._visitors[name]

    async def _answer(self, message: bytes, quick: bool) -> tuple[bool, Any]:
        name = hashlib.sha256(message).digest()
        try:
            if name in self._heavy:
                raise _Slow
            return await self._quickly(message, name, promote=not quick)
        except _Slow:
            self._remember(name)
        if quick:
            raise TooLong(_TIME)
        await self._slow.enter()
        try:
            async with self._working() as worker:
                self._put_behind(worker)
                start = time.monotonic()
                reply = await self._until(worker.ask(message), self._limits.seconds)
        finally:
            self._slow.leave()
        if time.monotonic() - start < self._limits.slow_after:
            self._heavy.pop(name, None)  # the machine was busy then
        return reply

    async def _quickly(self, message: bytes, name: bytes, promote: bool) -> tuple[bool, Any]:
        """An answer of the quick lane, or of one that changed lanes where the slow one has room."""
        limits, lane = self._limits, self._quick
        await lane.enter()
        try:
            async with self._working() as worker:
                asked = asyncio.ensure_future(worker.ask(message))
                try:
                    done, _ = await asyncio.wait({asked}, timeout=limits.slow_after)
                    if done:
                        return asked.result()
                    if not promote or not self._slow.free:
                        raise _Slow
                    self._remember(name)
                    await self._slow.enter()
                    lane.leave()
                    lane = self._slow
                    self._put_behind(worker)
                    return await self._until(asked, limits.seconds - limits.slow_after)
                except asyncio.CancelledError:
                    self._settle(worker, asked)
                    raise
                finally:
                    if worker in self._busy:
                        asked.cancel()
        finally:
            lane.leave()

    async def _until(self, asked: Any, seconds: float) -> tuple[bool, Any]:
        try:
            async with asyncio.timeout(seconds):
                reply: tuple[bool, Any] = await asked
        except TimeoutError:
            raise TooLong(_TIME) from None
        return reply

    def _remember(self, name: bytes) -> None:
        self._heavy[name] = None
        self._heavy.move_to_end(name)
        if len(self._heavy) > _HEAVY:
            self._heavy.popitem(last=False)

    # -- processes ---------------------------------------------------------------------------

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[Worker]:
        """A process to ask; one that gave no answer is ended, and none is asked for ever."""
        worker = await self._ready_worker()
        self._busy.add(worker)
        answers = worker.answers
        try:
            yield worker
        finally:
            if worker in self._busy:
                self._busy.discard(worker)
                self._return(worker, answered=worker.answers > answers)

    def _return(self, worker: Worker, answered: bool) -> None:
        if answered and not self._closed and worker.answers < _ANSWERS:
            self._idle.append(worker)
        else:
            worker.close()

    def _settle(self, worker: Worker, asked: asyncio.Future[Any]) -> None:
        """Nobody waits any more: a moment for what is soon answered, which is cheaper to keep."""
        self._busy.discard(worker)

        async def settled() -> None:
            done, _ = await asyncio.wait({asked}, timeout=_GRACE)
            answered = bool(done) and not asked.cancelled() and asked.exception() is None
            asked.cancel()
            self._return(worker, answered)

        task = asyncio.ensure_future(settled())
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _ready_worker(self) -> Worker:
        while not self._closed:
            fresh = not self._idle
            worker = await self._new() if fresh else self._idle.pop()
            try:
                if not worker.reader.at_eof() and await worker.ready():
                    return worker
            except asyncio.CancelledError:
                self._return(worker, answered=True)  # it was not even asked
                raise
            worker.close()
            if fresh:
                break
        raise Crashed

    async def _new(self) -> Worker:
        if not self._forks:
            return await self._loaded()
        if self._template is None or not self._template.alive:
            if self._template is not None:
                self._template.close()
            self._template = Template(self._command, self._environment)
        return await self._template.fork()

    async def _loaded(self) -> Worker:
        """A process that loads everything itself."""
        worker, process = await started(self._command, self._environment)
        self._processes = [running for running in self._processes if running.returncode is None] + [
            process
        ]
        return worker

    def _put_behind(self, worker: Worker) -> None:
        worker.answers = _ANSWERS  # it stays behind: another takes its place
        if self._template is not None:
            self._template.put_behind(worker.pid)
