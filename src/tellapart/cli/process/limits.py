"""Limits on time and memory: a command says so in time instead of being killed."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tellapart import deadline
from tellapart._numeric.text import short
from tellapart.cli.process.exits import Exit
from tellapart.errors import InvalidArgument

if TYPE_CHECKING:
    from tellapart.run import Progress

HELP = "Every command takes --time-limit SECONDS, and gives up then with exit code 3."
_OPTION = "--time-limit"
# The share of the machine's memory that an answer may take.
_SHARE = 0.5
# Work that does not ask whether it may go on is ended so much later, in seconds.
_GRACE = 2.0
_TURN = 0.25
# What takes longer is said beforehand, in seconds.
_LONG = 10.0
# After so many seconds a part of the work says how long all of it takes.
_SOON = 1.0
# What ends processes that would outlive this one, for those that start any.
_ENDERS: list[Callable[[], None]] = []


def taken(words: list[str]) -> tuple[float, list[str]]:
    """The time limit among what was typed, infinite unless given, and all other words."""
    values: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name != _OPTION:
            others.append(word)
            continue
        value = value if equals else next(rest, "")
        if not value:
            raise InvalidArgument(f"{_OPTION} must be followed by a value, such as 60")
        values.append(value)
    if len(values) > 1:
        raise InvalidArgument(f"{_OPTION} must be given once")
    return (_seconds(values[0]) if values else math.inf), others


def expect(seconds: float) -> None:
    """Say up front what is going to take long, by an estimate that may be off by a factor of 2."""
    if seconds > _LONG:
        shown = f"{float(f'{seconds:.1g}'):,.0f}"  # one digit, as it has no more
        Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(
            f"tellapart: this takes about {shown} s; {_OPTION} SECONDS gives up earlier"
        )


def foreseen(progress: Progress) -> Progress:
    """The same progress, which once says how long the whole takes, from how long a part took."""
    began = time.monotonic()
    waiting = True

    def tell(share: float) -> None:
        nonlocal waiting
        progress(share)
        took = time.monotonic() - began
        if waiting and share > 0 and took > _SOON:
            waiting = False
            expect(took / share)

    return tell


def _seconds(text: str) -> float:
    from tellapart import _checks  # with NumPy, which not every command needs

    try:
        given = float(text)
    except ValueError:
        _checks.refuse(_OPTION, "be a number of seconds", text)
    return _checks.finite_above_zero(**{_OPTION: given})


def end_with(*enders: Callable[[], None]) -> None:
    """Have these called where a limit ends the process at once."""
    _ENDERS.extend(enders)


@contextmanager
def kept(seconds: float) -> Iterator[None]:
    """What is worked out here asks whether it may go on; what does not ask is ended soon after.

    A thread sees to the latter: a long call into compiled code reaches no other end.
    """
    memory = _SHARE * _memory()
    done = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(done, time.monotonic() + seconds + _GRACE, memory), daemon=True
    )
    watch.start()
    try:
        with deadline.within(seconds, memory):
            yield
    finally:
        done.set()
        watch.join()


def _watch(done: threading.Event, end: float, memory: float) -> None:
    held = _holder()
    while not done.wait(_TURN):
        if time.monotonic() >= end:
            _give_up(deadline.TIME_IS_UP)
        if held() > memory:
            _give_up(
                f"this takes more than {short(memory / 2**30, 3)} GiB of memory, half of "
                "what there is: ask for less"
            )


def _give_up(why: str) -> None:
    for end in _ENDERS:
        end()
    with suppress(OSError, ValueError):
        print(f"tellapart: {why}", file=sys.stderr, flush=True)  # noqa: T201
    os._exit(Exit.NO_VERDICT)


def _memory() -> float:
    """The bytes of memory that this process may count on."""
    try:
        whole = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # where nobody says
        return math.inf
    try:  # a container's share
        return min(whole, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no container, or "max"
        return whole


def _holder() -> Callable[[], float]:
    """How many bytes this process holds now; 0 where that cannot be seen."""
    place = Path("/proc/self/statm")
    if not place.exists():
        return lambda: 0.0
    page = os.sysconf("SC_PAGE_SIZE")
    return lambda: float(int(place.read_text().split()[1]) * page)
