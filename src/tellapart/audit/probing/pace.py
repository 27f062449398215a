"""How long calls take, from the first ones: what fits into a budget of seconds, and a notice."""

from __future__ import annotations

import time
from typing import Any

from tellapart import _checks, run
from tellapart.audit.probing.calling.caller import Caller
from tellapart.audit.probing.calling.calls import draw
from tellapart.audit.probing.calling.independence import traced
from tellapart.audit.probing.exchangeability import refuse_if_all_broke

# Unless told: about so many seconds, as many calls on each input, and how few are few.
MINUTE, USUAL, LEAST, FEW = 60.0, 100_000, 200, 2_000
# So many calls are timed, twice, apart from all others; the places of their random numbers.
_TIMED = 8
_PLACES = (2, 3)


class SlowProbe(UserWarning):
    """Calls take so long that a probe of default size takes minutes, or finds gross leaks alone."""


def budget(seconds: float | None) -> float:
    """The seconds that calls may take: a minute unless told."""
    return MINUTE if seconds is None else _checks.finite_above_zero(seconds=seconds)


def refuse_hopeless(caller: Caller, inputs: tuple[Any, Any], seed: int) -> None:
    """Raise where the first calls on both inputs raise, every one: so would all others.

    That some raise is an output like any other; here not one call gave a value. Unless the calls
    that found out how to call it raised as well, none is made.
    """
    if not caller.failed:
        return
    with run.here():
        first, second = (
            draw(caller, data, _TIMED, (seed, place))
            for place, data in zip(_PLACES, inputs, strict=True)
        )
    refuse_if_all_broke(traced(first), traced(second))


def seconds_a_call(caller: Caller, data: Any, seed: int) -> float:
    """How long one call takes, by a few that are made apart from all others."""
    took = []
    for turn in range(2):  # something else may hold up one of them
        begun = time.perf_counter()
        with run.here():  # the first calls of workers take what it takes to start them
            draw(caller, data, _TIMED, (seed, _PLACES[0], turn))
        took.append(time.perf_counter() - begun)
    return max(min(took) / _TIMED, 1e-9)


def affordable(each: float, allowed: float, most: int = USUAL, least: int = LEAST) -> int:
    """How many times ``each`` seconds fit into those allowed: 1, 2 or 5 times a power of ten."""
    wanted = min(max(allowed / each, least), most)
    steps = (front * 10**power for power in range(10) for front in (1, 2, 5))
    return max(least, *(int(step) for step in steps if step <= wanted * (1 + 1e-9)))
