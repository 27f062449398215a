"""The subprocess of a call that may time out: it calls a mechanism and writes each output.

Run by path, so that it starts without the rest of the package. Messages on both pipes are pickles
behind their length. What the mechanism prints goes nowhere.
"""

from __future__ import annotations

import copy
import os
import pickle
import random
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

_LENGTH = struct.Struct("<Q")
# How often it is looked whether someone still waits, in seconds.
_TURN = 0.5


def write(pipe: IO[bytes], message: bytes) -> None:
    """One message."""
    pipe.write(_LENGTH.pack(len(message)) + message)
    pipe.flush()


def read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None if the other end is gone."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = pipe.read(length)
    return body if len(body) == length else None


def seed_globals(seed: int) -> None:
    """Give the generators that a process shares numbers of their own."""
    _SEEDERS.get("random", random.seed)(seed)
    # A mechanism that uses NumPy has loaded it by now, or will seed it by itself.
    if "numpy" in sys.modules:
        _SEEDERS.get("numpy", sys.modules["numpy"].random.seed)(seed % 2**32)


# What seeds the shared generators once mechanisms no longer can.
_SEEDERS: dict[str, Callable[[int], Any]] = {}


def ignore_seeds() -> None:
    """From now on generators that a mechanism seeds draw what chance has it."""
    import numpy.random as numpy_random
    from numpy.random import _generator

    _SEEDERS.update(random=random.seed, numpy=numpy_random.seed)
    fresh = numpy_random.default_rng

    class Python(random.Random):
        def seed(self, *_: Any, **__: Any) -> None:
            super().seed()

    class Legacy(numpy_random.RandomState):
        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__()

        def seed(self, *_: Any, **__: Any) -> None:
            super().seed()

    def unseeded(seed: Any = None) -> Any:
        made = (numpy_random.Generator, numpy_random.BitGenerator, numpy_random.RandomState)
        return fresh(seed) if isinstance(seed, made) else fresh()

    random.Random = Python  # type: ignore[misc]
    random.seed = lambda *_, **__: None
    numpy_random.seed = lambda *_, **__: None
    numpy_random.RandomState = Legacy  # type: ignore[misc]
    numpy_random.default_rng = _generator.default_rng = unseeded


def end_with(parent: int) -> None:
    """End this process, and all of its group, once its parent is gone: nobody else would."""
    while os.getppid() == parent:
        time.sleep(_TURN)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _serve() -> None:
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with open(os.devnull, "r+b") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    sys.path[:] = pickle.loads(read(source) or b"")  # noqa: S301
    import cloudpickle

    def say(kind: str, content: Any) -> None:
        write(target, cloudpickle.dumps((kind, content)))

    try:
        order = pickle.loads(read(source) or b"")  # noqa: S301
        if order.pop("ignore_seeds", False):  # before the mechanism looks any of them up
            ignore_seeds()
        if isinstance(order["mechanism"], bytes):
            order["mechanism"] = pickle.loads(order["mechanism"])  # noqa: S301
    except Exception as error:  # noqa: BLE001 (whatever keeps a mechanism from being loaded)
        return say("lost", f"{type(error).__name__}: {error}")
    say("ready", None)
    return _each_afresh(say, **order) if order.pop("afresh") else _in_turn(say, **order)


def leave_unless(home: int) -> None:
    """End a copy of the process that a mechanism made: its output would be counted twice."""
    if os.getpid() != home:
        os._exit(0)


def _in_turn(
    say: Callable[[str, Any], None],
    mechanism: Callable[..., Any],
    data: Any,
    extra: dict[str, Any],
    rounds: int,
    seed: int,
    copies: bool,
) -> None:
    seed_globals(seed)
    home = os.getpid()
    for _ in range(rounds):
        try:
            value = mechanism(copy.deepcopy(data) if copies else data, **extra)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (an output like any other)
            leave_unless(home)
            say("broken", (f"raises {type(error).__name__}", str(error)))
            continue
        leave_unless(home)
        try:
            say("output", value)
        except Exception as error:  # noqa: BLE001 (whatever keeps an output from being sent)
            say("unsendable", f"{type(value).__name__}: {error}")


def _each_afresh(
    say: Callable[[str, Any], None], rounds: int, seed: int, extra: dict[str, Any], **order: Any
) -> None:
    """Each call is the first of its process."""
    for place in range(rounds):
        own = {"rng": extra["rng"].spawn(1)[0]} if "rng" in extra else {}
        heard, spoken = os.pipe()
        child = os.fork()
        if child == 0:
            _in_turn(say, rounds=1, seed=seed + place, extra=extra | own, **order)
            os.write(spoken, b".")
            os._exit(0)
        os.close(spoken)
        os.waitpid(child, 0)
        # The call ended its process, by whatever code: the others can still be made from here.
        if not os.read(heard, 1):
            say("broken", ("ends its process", ""))
        os.close(heard)


if __name__ == "__main__":
    _serve()
