"""Worker processes (forkserver), both ends: a template that forks, and pickles there and back.

The server starts one process that loads everything, and has it fork: a new one is there in a
hundredth of a second. Where systems cannot fork, each process loads everything itself. This file is
also what such a process runs, by its path.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import math
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO

FORKS = hasattr(os, "fork") and hasattr(socket, "send_fds")
_START = 120.0  # seconds in which a process that loads everything must have done so
_LENGTH = struct.Struct("!Q")
_FORK, _KILL, _BEHIND = b"f", b"k", b"b"


class Crashed(Exception):
    """The process that should have answered is gone: a bug of ours."""


# -- processes, as the server sees them ------------------------------------------------------------


@dataclass(eq=False)
class Worker:
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


class Template:
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

    async def fork(self) -> Worker:
        """One more process."""
        ours, theirs = socket.socketpair()
        with theirs, suppress(OSError):  # it is gone, which whoever asks the new one is told
            socket.send_fds(self._control, [_FORK + _LENGTH.pack(0)], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        return Worker(reader, writer, self.kill)

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


def command(seconds: float, memory: int, loads: str, hushed: bool) -> list[str]:
    """What starts a process, or the template of many."""
    arguments = (repr(seconds), str(memory), loads, str(int(hushed)))
    return [sys.executable, "-P", __file__, *arguments]


def environment() -> dict[str, str]:
    """What a process sees: the same modules as this one, and a thread for itself."""
    path = [entry or os.getcwd() for entry in sys.path]
    return {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONWARNINGS": ",".join(sys.warnoptions),
    }


async def started(
    command: list[str], seen: dict[str, str]
) -> tuple[Worker, asyncio.subprocess.Process]:
    """A process that loads everything itself."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=seen
    )
    if process.stdout is None or process.stdin is None:
        raise Crashed

    def end(_: int) -> None:
        with suppress(ProcessLookupError):
            process.kill()

    return Worker(process.stdout, process.stdin, end), process


# -- the other end: a process that runs this file by its path, with what it must load --------------


def _template(
    control: socket.socket, serve: Callable[[BinaryIO, BinaryIO], None], later: Iterator[object]
) -> None:
    """Fork, and end, as the server says; once it is gone, so are all.

    What can be made ready ``later`` is, step by step, while nobody says anything.
    """
    children: set[int] = set()
    while True:
        while not select.select([control], [], [], 0)[0] and next(later, None) is not None:
            pass
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
            gc.freeze()  # what is loaded stays, and is shared by all
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

    at = [
        f"{os.path.basename(frame.filename)}:{frame.lineno}"
        for frame in traceback.extract_tb(trace)
    ]
    sys.stderr.write(json.dumps({"event": "bug", "kind": kind.__name__, "at": at[-6:]}) + "\n")


def _main(seconds: float, memory: int, loads: str, hushed: bool, control: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends, and then this
    if hushed:
        sys.excepthook = _hush
    if control is None:
        target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anyone prints is no answer
    module = importlib.import_module(loads)
    steps: Iterator[object] = iter(getattr(module, "warm", tuple)())
    next(steps, None)
    if control is None:
        _serve(module, sys.stdin.buffer, target, seconds, memory)
        return
    with socket.socket(fileno=control) as orders:

        def serve(source: BinaryIO, target: BinaryIO) -> None:
            _serve(module, source, target, seconds, memory)

        _template(orders, serve, steps)


if __name__ == "__main__":
    _seconds, _memory, _loads, _hushed, *_control = sys.argv[1:]
    _fd = int(_control[0]) if _control else None
    _main(float(_seconds), int(_memory), _loads, _hushed == "1", _fd)
