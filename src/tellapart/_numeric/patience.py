"""How long an answer may take: without end, unless someone who waits for it sets one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tellapart.errors import TellapartError

_END: ContextVar[float] = ContextVar("_END", default=math.inf)


class TakesLonger(TellapartError):
    """Says that time is up: no answer, and none that a part of it would be mistaken for."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is worked out here, and takes longer, is given up."""
    token = _END.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _END.reset(token)


def go_on() -> None:
    """Refuse to go on once time is up; to be called where an answer may take long."""
    if time.monotonic() >= _END.get():
        raise TakesLonger(
            "this takes longer than a page should: ask for fewer steps, or run it as a command, "
            "which takes its time"
        )
