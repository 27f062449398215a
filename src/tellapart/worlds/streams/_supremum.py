"""Leakage of streams without end: the least α that L(α) + ε does not exceed, from above."""

from __future__ import annotations

import math

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.worlds.streams._temporal import EPS, Carry, plus

# Where no finite α has been confirmed up to here, none is claimed.
_FURTHEST = 1e5


def inherited(step: Carry | None, epsilon: float) -> float:
    """What a time in a stream of equal budgets inherits at most, however long the stream.

    Every α with L(α) + ε ≤ α bounds all leakages, by induction; L is rounded up, so an α that
    passes is a bound whatever the rounding. L − α is a maximum of functions that change sign
    once, so the least such α is found by bisection.
    """
    if step is None or epsilon == 0:
        return 0.0
    if math.isinf(epsilon):
        return step.at(math.inf)

    def excess(alpha: Array) -> Array:
        return np.asarray(plus(step(alpha), epsilon) - alpha)

    high = _enough(step, epsilon)
    if math.isinf(high):
        return math.inf
    _, settled = solve.falling_root(excess, np.asarray(0.0), np.asarray(high))
    return step.at(float(settled))


def _enough(step: Carry, epsilon: float) -> float:
    """Some α with L(α) + ε ≤ α, or infinity where rows with zeros leave none.

    A prefix with D = 0 and Q = G carries almost α + log Q: at ε = log(1/Q) nothing holds it.
    """
    if step.free and epsilon >= -math.log(min(step.free, 1.0)) - 8 * step.states * EPS:
        return math.inf
    high = 2 * epsilon + 1.0
    while high < _FURTHEST:
        deadline.check()
        if plus(step.at(high), epsilon) <= high:
            return high
        high *= 2
    most = float(plus(step.at(math.inf), epsilon))
    return most if plus(step.at(most), epsilon) <= most else math.inf
