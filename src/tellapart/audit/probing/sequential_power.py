"""The power and the expected sample size of a sequential probe, before any call is made.

The test is played on the least private mechanism that a claim of (ε, δ) with a larger ε allows:
randomised response that at times reveals all (Kairouz, Oh and Viswanath 2015). It has four outputs,
so a play needs no more than how often each pair of outputs came. Events are sought and bets are
placed as a probe does, and outputs that never change are tried in other processes; only the wealth
is looked at less often than after each pair, which errs towards more calls and less power. A share
of a thousand plays is off by a point or two.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tellapart import deadline
from tellapart._checks import Array
from tellapart.audit.alternatives import alternative
from tellapart.audit.evidence.e_process import PairCounts, Wager
from tellapart.audit.evidence.sequential_test import FIRST_PAIRS, could_win, planned
from tellapart.audit.probing.events import SOUGHT_LEVEL, SOUGHT_MORE, promise
from tellapart.audit.probing.exchangeability import FORKS, STARTS_AFRESH
from tellapart.curve.closed import GuaranteeCurve

# How often the test is played, and how often in a batch the wealth is looked at.
_PLAYED, _PLAYED_ROUGHLY = 1_000, 400
_LOOKS, _LOOKS_ROUGHLY = 8, 4
_SEED = 25
# How many calls are made on each input in processes of their own, where outputs never change.
_ELSEWHERE = len(STARTS_AFRESH) * FORKS


class SequentialPlan(NamedTuple):
    """How surely a sequential probe refutes, and after how many calls on each input it stops."""

    power: float
    calls: float  # on average, whether it refutes or not


def could_be_decided(claim: GuaranteeCurve, calls: int, level: float) -> bool:
    """Whether a probe until decided refutes a claim if so many calls all go against it."""
    return could_win(_wager(claim, level), max(calls - FIRST_PAIRS, 0))


def _wager(claim: GuaranteeCurve, level: float) -> Wager:
    return Wager(claim.claimed_epsilon, claim.claimed_delta, 1 - level, both_orders=False)


def sequential_plan(
    claim: GuaranteeCurve, strength: float, calls: int, level: float, *, roughly: bool = False
) -> SequentialPlan:
    """What a probe until decided does on the least private mechanism of a larger ε."""
    plays = _PLAYED_ROUGHLY if roughly else _PLAYED
    looks = _LOOKS_ROUGHLY if roughly else _LOOKS
    rng = np.random.default_rng(_SEED)
    masses = _masses(cast(GuaranteeCurve, alternative(claim).curve(strength)))
    some = masses > 0
    tested, reference, kinds = (each[:, some] for each in _events())
    masses, sides = masses[some], (tested, reference)
    wager = _wager(claim, level)
    first = min(FIRST_PAIRS, calls)
    seen, before = np.zeros((plays, 4)), np.zeros((plays, 4))
    pairs = rng.multinomial(first, masses, plays).astype(float)
    events = kinds[_sought(pairs, sides, first, wager.delta)]
    stopped, refuted, total = 0.0, 0, first
    won, elsewhere = np.zeros(plays, dtype=bool), rng.random(plays)
    for batch in planned(first, calls):
        deadline.check()
        total += batch.size
        for size in np.diff(np.linspace(0, batch.size, min(looks, batch.size) + 1).astype(int)):
            fresh = rng.multinomial(int(size), masses, len(seen))
            pairs = pairs + fresh
            seen = seen + (fresh[:, None, :] @ events)[:, 0]
            won = won | wager.enough(PairCounts(*seen.T))
        # Outputs that never change in processes of their own either are no noise that calls share.
        same = elsewhere < masses[np.argmax(pairs, axis=1)] ** _ELSEWHERE
        settled = won & ((np.count_nonzero(pairs, axis=1) > 1) | same)
        hope = batch.hope(wager, PairCounts(*seen.T), PairCounts(*before.T))
        going = ~settled & (won | hope)
        refuted += int(settled.sum())
        stopped += total * int((~going).sum())
        if not going.any():
            break
        seen, before, pairs, events = seen[going], before[going], pairs[going], events[going]
        won, elsewhere = won[going], elsewhere[going]
        if batch.seek:
            events, before = kinds[_sought(pairs, sides, total, wager.delta)], seen
    else:
        stopped += total * len(seen)  # where all calls serve to find the first event
    return SequentialPlan(refuted / plays, stopped / plays)


def _masses(truth: GuaranteeCurve) -> Array:
    """How likely each pair of outputs is: the second rises with the input that has the record."""
    rest = 1 - truth.claimed_delta
    tells, lies = rest * expit(truth.claimed_epsilon), rest * expit(-truth.claimed_epsilon)
    absent = np.array([truth.claimed_delta, tells, lies, 0.0])
    masses = np.outer(absent, absent[::-1]).ravel()
    return np.asarray(masses / masses.sum())


def _sought(pairs: Array, sides: tuple[Array, Array], total: int, delta: float) -> NDArray[np.intp]:
    """For each play, the place of the event that a probe would choose by the calls so far."""
    tested, reference = (pairs @ side.T for side in sides)
    hoped = promise(
        tested, reference, total, delta=delta, level=SOUGHT_LEVEL, kept=int(SOUGHT_MORE * total)
    )
    return np.asarray(np.argmax(hoped, axis=1))


class _Events(NamedTuple):
    """Whether each event happens with the record, and without it, at each pair of outputs.

    ``kinds`` tells with only, without only, both and neither apart.
    """

    tested: Array
    reference: Array
    kinds: Array


@cache
def _events() -> _Events:
    """Half-lines of the outputs, on the input with the record or on that without it."""
    outputs = np.arange(4)
    absent, present = (each.ravel() for each in np.meshgrid(outputs, outputs, indexing="ij"))
    tested, reference = [], []
    for upward, clears, cut in product((True, False), (False, True), (1, 2, 3)):
        sides = present, absent
        first, second = ((side >= cut) == upward for side in sides)
        tested.append(~second if clears else first)
        reference.append(~first if clears else second)
    x, y = np.array(tested, dtype=float), np.array(reference, dtype=float)
    kinds = [x * (1 - y), (1 - x) * y, x * y, (1 - x) * (1 - y)]
    return _Events(x, y, np.stack(kinds, axis=-1))
