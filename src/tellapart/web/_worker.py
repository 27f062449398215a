"""The other end of the page's questions: a process that answers them one by one.

Run by path, with what it must load, so that it starts as quickly as that allows. Both pipes carry
pickles. A bug ends the process: what Python says of it goes to the terminal where the page was
started, and nowhere else.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import pickle
import signal
import sys
from collections.abc import Iterator

READY = "ready"
_MEMORY = "this needs more memory than the page allows: ask for less, or use the command line"


def _serve(seconds: float, memory: int, loads: str) -> None:
    source, target = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what anyone prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends, and then this
    importlib.import_module(loads)
    _bounded(memory)
    answer = pickle.dumps(READY)
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


@contextlib.contextmanager
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
