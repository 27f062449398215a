"""Progress with the time left: a bar at terminals, a line a minute elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from tellapart._numeric.text import short

Tell = Callable[[float], None]

# Where nobody watches a bar, so many seconds pass between two lines.
PERIOD = 60.0
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


def in_words(seconds: float) -> str:
    """A time as people say it.

    >>> in_words(0.33), in_words(42), in_words(150), in_words(9_000), in_words(1e7)
    ('0.33 s', '42 s', '2.5 min', '2.5 h', '116 days')
    """
    if seconds < 100:
        return f"{short(seconds, 2)} s"
    if seconds < 100 * _MINUTE:
        return f"{short(seconds / _MINUTE, 2)} min"
    if seconds < 2 * _DAY:
        return f"{short(seconds / _HOUR, 2)} h"
    return f"{round(seconds / _DAY):,} days"


class TimeLeft:
    """How long the rest takes, if it goes on as it went; what was done before took no time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._first: float | None = None

    @property
    def took(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def after(self, share: float) -> float | None:
        """The seconds left where this share is done; None where nothing can be said yet."""
        if self._first is None:
            self._first = share
        gone = share - self._first
        return None if gone <= 0 else self.took * (1 - share) / gone


class Lines:
    """A line a minute, for logs: what is being done, the share of it, and the time left."""

    def __init__(
        self, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out, self._clock = out, clock
        self._left: dict[str, TimeLeft] = {}
        self._last = clock()

    def __call__(self, what: str, share: float) -> None:
        """Say it, if a minute has gone since something was said."""
        left = self._left.setdefault(what, TimeLeft(self._clock)).after(share)
        if self._clock() - self._last < PERIOD:
            return
        self._last = self._clock()
        rest = "" if left is None else f", about {in_words(left)} left"
        out = self._out or sys.stderr
        if out is not None:
            out.write(f"{what}: {share:.0%}{rest}\n")
            out.flush()


@contextmanager
def shown(progress: Tell | bool | None, what: str, total: int) -> Iterator[Tell | None]:
    """The function that is told which share is done: the given one, that of a bar, or none.

    The bar counts to ``total``, in units of ``what``, such as models.
    """
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        yield progress
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal and not console.is_jupyter:
        lines = Lines()
        yield lambda share: lines(what, share)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), Remaining())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=total)
        left = TimeLeft()
        first = [-1.0]

        def tell(share: float) -> None:
            first[0] = share if first[0] < 0 else first[0]  # what was kept already took no time
            gone = (share - first[0]) * total
            words = what if gone < 1 else f"{what}, {short(left.took / gone, 3)} s each"
            bar.update(task, completed=round(share * total), description=words)

        yield tell
