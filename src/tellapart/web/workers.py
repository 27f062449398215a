"""A pool of worker processes in two lanes (forkserver): what takes long never holds up the others.

Most questions are answered in a fraction of a second, in the quick lane. One that is not goes on in
the slow lane if that has room; if not, its process is ended and it is asked again there, in its
turn. Each process has limits of time and memory. A visitor has one question at work at a time, and
who leaves takes the question along.

Processes come from a template: one process that has loaded everything and forks, so that a new one
is there in a hundredth of a second. Where systems cannot fork, each loads everything itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import math
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, BinaryIO

from tellapart.errors import LimitReached

FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds")
_START = 120.0  # seconds in which a process that loads everything must have done so
_GRACE = 0.15  # seconds after which a question that nobody waits for is given up
_ANSWERS = 1_000  # of one process, before another takes its place
_HEAVY = 512  # questions that are known to take long
_LENGTH = struct.Struct("!Q")
_FORK, _KILL, _BEHIND = b"f", b"k", b"b"


class Busy(LimitReached):
    """A question did not get its turn."""


class TooLong(LimitReached):
    """A question took longer, or more memory, than it may."""


class Crashed(Exception):
    """The process that should have answered is gone: a bug of ours."""


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


# -- processes, as the server sees them ------------------------------------------------------------


@dataclass(eq=False)
class _Worker:
    """One process, and the way to it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    end: Callable[[int], None]
    pid: int = 0
    answers: int = 0

    async def ready(self) -> bool:
        """Wait until everything is loaded; whether that went well."""
        if not self.pid:
            with suppress(TimeoutError, OSError, EOFError):
                async with asyncio.timeout(_START):
                    self.pid = await self._next()
        return self.pid > 0

    async def ask(self, message: bytes) -> tuple[bool, Any]:
        """Its answer; `Crashed` if it is gone."""
        try:
            self.writer.write(_LENGTH.pack(len(message)) + message)
            done, value = await self._next()
        except (OSError, EOFError):
            raise Crashed from None
        self.answers += 1
        return done, value

    async def _next(self) -> Any:
        (length,) = _LENGTH.unpack(await self.reader.readexactly(_LENGTH.size))
        return pickle.loads(await self.reader.readexactly(length))  # noqa: S301 (our own process)

    def close(self) -> None:
        """End it, whatever it is doing."""
        if self.pid:
            self.end(self.pid)
        self.writer.close()


class _Template:
    """The process that others are forked from."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603
                [*command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """Whether it can fork."""
        return self.process.poll() is None

    async def fork(self) -> _Worker:
        """One more process."""
        ours, theirs = socket.socketpair()
        with theirs, suppress(OSError):  # it is gone, which whoever asks the new one is told
            socket.send_fds(self._control, [_FORK + _LENGTH.pack(0)], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        return _Worker(reader, writer, self.kill)

    def kill(self, pid: int) -> None:
        """End this process, which is its own: nobody else can have the number until it says so."""
        self._send(_KILL, pid)

    def put_behind(self, pid: int) -> None:
        """Let others go first where processes compete."""
        self._send(_BEHIND, pid)

    def _send(self, order: bytes, pid: int) -> None:
        with suppress(OSError):
            self._control.sendall(order + _LENGTH.pack(pid))

    def close(self) -> None:
        """End it, and with it all of its processes."""
        self._control.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()  # it still loads what it will never need
            self.process.wait()


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
        loads: str = "tellapart.web.jobs",
        *,
        hushed: bool = False,
        forks: bool = FORKS,
    ) -> None:
        self._limits = limits
        arguments = (repr(limits.seconds), str(limits.memory), loads, str(int(hushed)))
        self._command = [sys.executable, "-P", __file__, *arguments]
        self._environment = _environment()
        self._forks = forks
        self._template: _Template | None = None
        self._processes: list[asyncio.subprocess.Process] = []
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
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
    async def _working(self) -> AsyncIterator[_Worker]:
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

    def _return(self, worker: _Worker, answered: bool) -> None:
        if answered and not self._closed and worker.answers < _ANSWERS:
            self._idle.append(worker)
        else:
            worker.close()

    def _settle(self, worker: _Worker, asked: asyncio.Future[Any]) -> None:
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

    async def _ready_worker(self) -> _Worker:
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

    async def _new(self) -> _Worker:
        if not self._forks:
            return await self._loaded()
        if self._template is None or not self._template.alive:
            if self._template is not None:
                self._template.close()
            self._template = _Template(self._command, self._environment)
        return await self._template.fork()

    async def _loaded(self) -> _Worker:
        """A process that loads everything itself."""
        process = await asyncio.create_subprocess_exec(
            *self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment
        )
        self._processes = [one for one in self._processes if one.returncode is None] + [process]
        if process.stdout is None or process.stdin is None:
            raise Crashed

        def end(_: int) -> None:
            with suppress(ProcessLookupError):
                process.kill()

        return _Worker(process.stdout, process.stdin, end)

    def _put_behind(self, worker: _Worker) -> None:
        worker.answers = _ANSWERS  # it stays behind: another takes its place
        if self._template is not None:
            self._template.put_behind(worker.pid)


def _environment() -> dict[str, str]:
    path = [entry or os.getcwd() for entry in sys.path]
    return {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONWARNINGS": ",".join(sys.warnoptions),
    }


# -- the other end: a process that runs this file by its path, with what it must load --------------


def _template(control: socket.socket, serve: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """Fork, and end, as the server says; once it is gone, so are all."""
    children: set[int] = set()
    while True:
        order, sent = _order(control)
        while children:
            gone = os.waitpid(-1, os.WNOHANG)[0]
            if not gone:
                break
            children.discard(gone)
        if not order:
            break
        pid = _LENGTH.unpack(order[1:])[0]
        if order[:1] == _FORK:
            pid = os.fork()
            if not pid:
                control.close()
                with socket.socket(fileno=sent[0]) as own:
                    serve(own.makefile("rb"), own.makefile("wb"))
                os._exit(0)
            children.add(pid)
            os.close(sent[0])
        elif pid in children:
            if order[:1] == _KILL:
                os.kill(pid, signal.SIGKILL)
            else:
                os.setpriority(os.PRIO_PROCESS, pid, 10)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _order(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next order, and the connection that came along; none once the server is gone."""
    order, size = b"", 1 + _LENGTH.size
    sent: list[int] = []
    while len(order) < size:
        part, files, _, _ = socket.recv_fds(control, size - len(order), 1)
        if not part:
            return b"", []
        order, sent = order + part, sent + files
    return order, sent


def _serve(
    module: ModuleType, source: BinaryIO, target: BinaryIO, seconds: float, memory: int
) -> None:
    """Answer one by one, by pickles; a bug ends the process, and is told of on its terminal."""
    _bounded(memory)
    answer = pickle.dumps(os.getpid())
    while True:
        target.write(_LENGTH.pack(len(answer)) + answer)
        target.flush()
        head = source.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return  # the server has no more questions
        function, given = pickle.loads(source.read(*_LENGTH.unpack(head)))  # noqa: S301
        try:
            with _ended_by_the_system(seconds):
                answer = pickle.dumps((True, getattr(module, function)(*given)))
        except MemoryError:
            answer = pickle.dumps((False, None))


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


def _hush(kind: type[BaseException], _: BaseException, trace: Any) -> None:
    """Where a bug is, without the words of the error: they may quote what was asked."""
    import json
    import traceback

    at = [f"{os.path.basename(one.filename)}:{one.lineno}" for one in traceback.extract_tb(trace)]
    sys.stderr.write(json.dumps({"event": "bug", "kind": kind.__name__, "at": at[-6:]}) + "\n")


def _main(seconds: float, memory: int, loads: str, hushed: bool, control: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends, and then this
    if hushed:
        sys.excepthook = _hush
    if control is None:
        target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anyone prints is no answer
    module = importlib.import_module(loads)
    getattr(module, "warm", int)()
    if control is None:
        _serve(module, sys.stdin.buffer, target, seconds, memory)
        return
    import gc

    gc.freeze()  # what is loaded stays, and is shared by all
    with socket.socket(fileno=control) as orders:
        _template(orders, lambda source, target: _serve(module, source, target, seconds, memory))


if __name__ == "__main__":
    _seconds, _memory, _loads, _hushed, *_control = sys.argv[1:]
    _fd = int(_control[0]) if _control else None
    _main(float(_seconds), int(_memory), _loads, _hushed == "1", _fd)
