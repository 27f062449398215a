"""What a mixture of bets against a claim is worth, from counts of pairs alone.

A bet of the fraction c on "more often with the record" multiplies the wealth, at each pair
(x with the record, y without), by 1 + λ·(x − e^ε·y − δ), where λ = c·u and u = 1/(e^ε + δ):

    x alone: 1 + c·(1 − δ)·u    y alone: 1 − c    both: 1 − c·(1 − u)    neither: 1 − c·δ·u

so that the wealth depends on four counts, for all ε at once. As ε falls, u rises, and of the
four only the last factor falls: on a range of ε the others are taken at its upper end and the
last at its lower end, which bounds the wealth from below on the whole range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tellapart._checks import Array

# The wealth is spread evenly over these fractions: small ones find small excesses in time,
# large ones large excesses at once. None risks all, so that no single pair ruins the audit.
FRACTIONS = np.array([0.03, 0.1, 0.3, 0.5, 0.7, 0.9])
_ROUNDING = 16 * np.finfo(float).eps
_NARROW = 1e-10
_ROUNDS = 500


class Counted(NamedTuple):
    """How many pairs, so far, had the event on which side; arrays hold one entry per time."""

    with_only: Array
    without_only: Array
    both: Array
    neither: Array

    def swapped(self) -> Counted:
        """The same pairs with the two worlds exchanged."""
        return Counted(self.without_only, self.with_only, self.both, self.neither)


def log_wealth(counted: Counted, low: Array, high: Array, delta: float, both_orders: bool) -> Array:
    """At least this much, in logs, for every ε from low to high. Rounding errs downwards."""
    one = _one_order(counted, low, high, delta)
    if not both_orders:
        return one
    other = _one_order(counted.swapped(), low, high, delta)
    return np.asarray(np.logaddexp(one, other) - math.log(2))


def _one_order(counted: Counted, low: Array, high: Array, delta: float) -> Array:
    near, far = _unit(low, delta), _unit(high, delta)
    total, size = np.zeros(1), np.zeros(1)
    c = FRACTIONS.reshape(-1, *(1 for _ in np.shape(counted.both + near)))
    for count, log in (
        (counted.with_only, np.log1p(c * (1 - delta) * far)),
        (counted.without_only, np.log1p(-c)),
        (counted.both, np.log1p(-c * (1 - far))),
        (counted.neither, np.log1p(-c * delta * near)),
    ):
        total, size = total + count * log, size + count * abs(log)
    each = total - _ROUNDING * (size + 1)
    return np.asarray(np.logaddexp.reduce(each, axis=0) - math.log(len(FRACTIONS)))


def _unit(epsilon: Array, delta: float) -> Array:
    """1/(e^ε + δ), for any ε."""
    least = np.exp(-np.asarray(epsilon, dtype=float))
    return np.asarray(least / (1 + delta * least))


def refuted_below(
    counted: Counted, delta: float, target: float, both_orders: bool, first: float = 1.0
) -> Array:
    """The end of the range of ε, from 0 on, at all of which the wealth reaches the target.

    Marches in steps on which the wealth is bounded from below as a whole, so that a claim that
    is not refuted is never jumped over. Errs to a smaller ε, by less than 1e-9.
    """
    reached = np.zeros(np.shape(counted.both))
    step = np.full(reached.shape, first)
    for _ in range(_ROUNDS):
        holds = log_wealth(counted, reached, reached + step, delta, both_orders) >= target
        reached = np.where(holds, reached + step, reached)
        step = np.where(holds, 2 * step, step / 2)
        if np.all(step < _NARROW):
            break
    return reached
