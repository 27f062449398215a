"""Calls with a timeout, in a subprocess of their own: one that never ends can be cut off."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from tellapart import deadline
from tellapart.audit.probing.calling import child, program
from tellapart.audit.probing.calling.outputs import GONE, HANGS, Broken
from tellapart.errors import Unsupported

# Starting a process and loading a mechanism are not part of a call's time.
_START = 120.0
_QUIET = Lock()

Answers = Callable[[float | None], tuple[str, Any] | None]


def sealed(content: Any) -> bytes:
    """Anything as bytes that another process can read, functions and closures included."""
    import cloudpickle

    try:
        # That it is pickled is our choice: what Python says of that is not for who wrote it. The
        # lock is there as filters of warnings are those of all threads.
        with _QUIET, warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            return bytes(cloudpickle.dumps(content))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
        raise Unsupported(f"mechanism and data cannot be sent to a process: {error}") from error


@contextmanager
def _started(order: dict[str, Any]) -> Iterator[Answers]:
    """A process at work on an order; its messages come one by one, None when it is gone."""
    message = sealed(order)
    words = [sys.executable, "-P", str(Path(child.__file__))]
    worker = program.start(words, subprocess.DEVNULL)
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    reader = Thread(target=_collect, args=(worker, inbox), daemon=True)
    reader.start()
    try:
        _send(worker, pickle.dumps(sys.path), message)
        yield lambda wait: _answer(deadline.waited(inbox, wait))
    finally:
        program.end(worker)
        reader.join()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                _close(pipe)


def _send(worker: subprocess.Popen[bytes], *messages: bytes) -> None:
    if worker.stdin is None:
        raise Unsupported("a process was started without a pipe to it")
    for message in messages:
        try:
            child.write(worker.stdin, message)
        except BrokenPipeError:
            return


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


def _collect(worker: subprocess.Popen[bytes], inbox: SimpleQueue[bytes | None]) -> None:
    while worker.stdout is not None:
        message = child.read(worker.stdout)
        inbox.put(message)
        if message is None:
            return


def _answer(message: bytes | None) -> tuple[str, Any] | None:
    if message is None:
        return None
    kind, content = pickle.loads(message)  # noqa: S301
    return kind, content


def guarded(
    order: dict[str, Any], rounds: int, timeout: float | None, seeds: Callable[[], dict[str, Any]]
) -> list[Any]:
    """The outputs of so many calls; after one that was cut off, the next process goes on.

    ``seeds`` gives each process what it draws from.
    """
    outputs: list[Any] = []
    while len(outputs) < rounds:
        asked = {"afresh": False} | order | seeds() | {"rounds": rounds - len(outputs)}
        with _started(asked) as answers:
            _ready(answers)
            outputs += _until_broken(answers, rounds - len(outputs), timeout)
    return outputs


def _ready(answers: Answers) -> None:
    try:
        first = answers(_START)
    except Empty:
        first = None
    if first is None or first[0] != "ready":
        why = first[1] if first else "it did not start"
        raise Unsupported(f"mechanism and data cannot be loaded in a process: {why}")


def _until_broken(answers: Answers, rounds: int, timeout: float | None) -> Iterator[Any]:
    for _ in range(rounds):
        deadline.before_call()
        try:
            answer = answers(timeout)
        except Empty:
            yield HANGS
            return
        if answer is None:
            yield GONE
            return
        kind, content = answer
        if kind == "unsendable":
            raise Unsupported(f"an output cannot be sent between processes: {content}")
        yield Broken(*content) if kind == "broken" else content
