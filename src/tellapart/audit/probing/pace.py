"""Time budgets: how long calls take, what fits into ``seconds=``, and what to say if too few do.

Every audit that takes ``seconds=`` makes its calls within `spending`, whose purse is asked before
each call. A stop by the clock cannot harm the level, however long calls take and whatever that
tells of their outputs. How many calls a test takes is settled beforehand, by calls that are timed
and not counted; where the time is up before all of them are made there is no verdict, and with a
verdict that is sometimes not given a true claim is refuted no more often. Tests that may end at
any time (e-processes) end with the calls that were made: the wealth of a true claim is small at
all times at once, by Ville's inequality. Of several tests that share the level, those that came to
their end are valid by the union bound, whichever they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from tellapart import _checks, deadline, run
from tellapart._numeric.text import short
from tellapart.audit.probing.calling.caller import SOME, Caller
from tellapart.audit.probing.calling.calls import MOST_APART, calls_apart, draw
from tellapart.audit.probing.calling.independence import traced
from tellapart.audit.probing.exchangeability import refuse_if_all_broke
from tellapart.errors import LimitReached

# Unless told: about so many seconds, as many calls on each input, and how few are few.
MINUTE, USUAL, LEAST, FEW = 60.0, 100_000, 200, 2_000
# So many calls are timed, twice unless they are slow, apart from all others; the places of their
# random numbers.
_TIMED, _SLOW = 8, 0.5
_PLACES = (2, 3)
# Of the time that is left so much is planned for: calls may turn out slower than those timed.
_PLANNED, _MORE = 0.8, 1.1


def takes_long(seconds: float) -> bool:
    """Whether that is more than a minute, but for rounding: then it is said beforehand."""
    return seconds > 1.01 * MINUTE


class SlowProbe(UserWarning):
    """Calls take so long that a probe of default size takes minutes, or finds gross leaks alone."""


class Purse(deadline.CallPurse):
    """The seconds of one audit, and what to say where they do not suffice."""

    def __init__(self, seconds: float | None, what: str = "calls", hint: str = "") -> None:
        given = math.inf if seconds is None else _checks.finite_above_zero(seconds=seconds)
        super().__init__(given)
        self.given, self.what, self.hint = given, what, hint
        self.needed: float = 0  # calls in all, as far as is known

    @property
    def limited(self) -> bool:
        """Whether there is a budget at all."""
        return math.isfinite(self.given)

    @property
    def plannable(self) -> float:
        """Seconds that may be planned for."""
        return _PLANNED * self.left

    def affords(self, calls: float) -> bool:
        """Whether so many more fit, if they are as slow as those made so far."""
        return not self.limited or calls * self.each <= self.left

    def refuse(self, each: float | None = None) -> NoReturn:
        """No verdict: say what was run, and what a verdict would take."""
        if each is None and not self.each:
            raise LimitReached(
                f"no verdict: a budget of {short(self.given)} s was spent before it was known how "
                f"long {self.what} take. Allow a minute, or give no budget"
            )
        price = max(self.each if each is None else each, 1e-9)
        allow = _rounded_up(_MORE * max(self.needed, self.calls + 1) * price / _PLANNED)
        more = " or more" if self.elsewhere else ""  # of tasks that were not finished
        needed = math.ceil(max(self.needed, self.calls + 1))
        hint = f", {self.hint}" if self.hint else ""
        raise LimitReached(
            f"no verdict: a budget of {short(self.given)} s is too little. "
            f"{self.what.capitalize()} made: {self.calls:,}{more}, of about {short(price, 2)} s "
            f"each; needed for a verdict: {needed:,}. Allow {allow} s{hint}"
        )


def _rounded_up(seconds: float) -> str:
    """At least so many seconds, by two digits."""
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    rounded = math.ceil(seconds / unit) * unit
    return f"{rounded:.0f}" if rounded >= 10 else short(rounded, 2)


@contextmanager
def spending(purse: Purse) -> Iterator[Purse]:
    """Make calls within a budget; where it does not suffice for a verdict, say so."""
    try:
        with deadline.paying(purse):
            yield purse
    except LimitReached as error:
        # Another limit, on time or memory, has words of its own.
        if not purse.limited or deadline.left() <= 0 or str(error) != deadline.TIME_IS_UP:
            raise
        purse.refuse()


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
        if took[0] > _SLOW:
            break
    return max(min(took) / _TIMED, 1e-9)


def affordable(each: float, allowed: float, most: int = USUAL, least: int = LEAST) -> int:
    """How many times ``each`` seconds fit into those allowed: 1, 2 or 5 times a power of ten."""
    wanted = min(max(allowed / each, least), most)
    steps = (front * 10**power for power in range(10) for front in (1, 2, 5))
    return max(least, *(int(step) for step in steps if step <= wanted * (1 + 1e-9)))


def fitting(caller: Caller, each: float, allowed: float, most: int = USUAL) -> int:
    """How many calls on each input fit, with those that are made beside them; 0 where none do."""
    low, high = 0, most
    while low < high:
        middle = -(-(low + high) // 2)
        fits = 2 * each * (middle + calls_apart(caller, middle)) <= allowed
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def in_all(calls: int, *, batches: bool = False) -> int:
    """About how many outputs it takes that so many on each input can be tested.

    Some are asked for to find out how to call the code, some are timed, and some made apart.
    """
    share = min(max(calls if batches else calls // 8, 2 * _TIMED), MOST_APART)
    apart = SOME * share if batches else share
    return 2 * (calls + apart + _TIMED + (3 * SOME if batches else 3))
