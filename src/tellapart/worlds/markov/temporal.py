"""What a leakage about one time says about the next: Cao's L(α), rounded up, and its recursion.

Rows q and d of a transition matrix; the attacker's likelihoods x of the neighbouring state obey
x_j/x_k ≤ e^α. The largest log (q·x)/(d·x) has x in {1, e^α}: e^α on a prefix of the states in
decreasing order of q_j/d_j, all with q_j > d_j. With prefix sums D of d and G of q − d it is
log(1 + G·(e^α − 1)/(1 + D·(e^α − 1))), which grows with G and falls with D: one frontier of points
(D, G) stands for all rows of a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array

EPS = float(np.finfo(float).eps)

# Above this exponent e^α is not formed.
_LARGE = 600.0


@dataclass(frozen=True, eq=False)
class Carry:
    """How much of a leakage is carried from one time to the next, never too little."""

    d: Array  # points with D > 0
    gain: Array
    free: float  # the largest G with D = 0: nothing but α limits what it carries
    states: int

    def __call__(self, alpha: Array) -> Array:
        """L(α), for α up to infinity; never above α."""
        return np.array([self.at(float(one)) for one in alpha.flat]).reshape(alpha.shape)

    def at(self, alpha: float) -> float:
        """L of one α: the logarithm of the best point only, so that long recursions are fast."""
        rounding = 1 + _rounding(self.states)
        most = _unlimited(self.free * rounding, alpha) if self.free else 0.0
        if self.d.size:
            known, rest = -math.expm1(-alpha), math.exp(-alpha)
            with np.errstate(over="ignore"):
                best = float((self.gain * known / (self.d * known + rest)).max())
            most = max(most, math.log1p(best * rounding))
        return min(most * (1 + 4 * EPS), alpha)


def _rounding(states: int) -> float:
    """Two sums of at most that many terms, and some ten operations, each off by half an ulp."""
    return (states + 8) * EPS


def _unlimited(gain: float, alpha: float) -> float:
    """log(1 + G(e^α − 1)), rounded for α where e^α is not formed."""
    if alpha <= _LARGE:
        return math.log1p(gain * math.expm1(alpha))
    far = alpha + math.log(gain)
    return max(far, 0.0) + math.log1p(math.exp(-abs(far))) + 8 * EPS * alpha


def carry(transition: Array) -> Carry:
    """The map L of one matrix, by its frontier of prefix sums: O(n³ log n)."""
    d, gain = np.zeros(0), np.zeros(0)
    for row in transition:
        more_d, more_gain = prefixes(row, transition)
        d, gain = _frontier(np.append(d, more_d), np.append(gain, more_gain))
    limited = d > 0
    free = float(gain[~limited].max(initial=0.0))
    return Carry(d[limited], gain[limited], free, len(transition))


def prefixes(q: Array, others: Array) -> tuple[Array, Array]:
    """D and G of every prefix, of one row against each of the others.

    The order is that of (q − d)/d, whose relative error stays small where the rows are close.
    """
    more = np.maximum(q - others, 0.0)
    less = np.where(more > 0, others, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lift = np.where(more > 0, more / less, 0.0)
    order = np.argsort(-lift, axis=-1, kind="stable")
    return (
        np.take_along_axis(less, order, axis=-1).cumsum(axis=-1),
        np.take_along_axis(more, order, axis=-1).cumsum(axis=-1),
    )


def _frontier(d: Array, gain: Array) -> tuple[Array, Array]:
    """The points that no other one beats in both: compared, not computed, so nothing is lost."""
    order = np.lexsort((-gain, d))
    d, gain = d[order], gain[order]
    best = np.maximum.accumulate(np.append(0.0, gain))
    kept = gain > best[:-1]
    return d[kept], gain[kept]


def ratios(d: Array, gain: Array, alpha: Array, states: int) -> Array:
    """log(1 + G(e^α − 1)/(1 + D(e^α − 1))), rounded up; e^α may be infinite."""
    d, gain, alpha = np.broadcast_arrays(d, gain, alpha)
    more = gain * (1 + _rounding(states))
    with np.errstate(all="ignore"):
        rest = np.exp(-alpha)
        known = -np.expm1(-alpha)
        bounded = np.log1p(more * known / (d * known + rest))
        free = np.log1p(more * np.expm1(np.minimum(alpha, _LARGE)))
        # A sum of two large numbers of unlike sign, so its rounding is that of α.
        far = np.logaddexp(0.0, alpha + np.log(gain)) + 8 * EPS * alpha
    free = np.where(alpha > _LARGE, far, free)
    found = np.where(gain > 0, np.where(d > 0, bounded, free), 0.0)
    return np.asarray(np.minimum(found * (1 + 4 * EPS), alpha))


def plus(*parts: Array | float) -> Array:
    """A sum of numbers of at least 0, rounded up."""
    total = np.asarray(parts[0], dtype=float)
    for part in parts[1:]:
        exact = (total == 0) | (np.asarray(part) == 0)
        total = np.where(exact, total + part, np.nextafter(total + part, np.inf))
    return total


def _sum(inherited: float, epsilon: float) -> float:
    """``plus`` of two numbers, without the cost of arrays."""
    total = float(inherited) + float(epsilon)
    return math.nextafter(total, math.inf) if inherited and epsilon else total


def recursion(maps: Sequence[Carry | None], epsilons: Array) -> Array:
    """What each time inherits from all earlier ones: 0 at first, then L(inherited + ε).

    The leakage at a time is this plus its own ε.
    """
    inherited = np.zeros(len(epsilons))
    last: tuple[Carry | None, float] | None = None
    for t, step in enumerate(maps):
        alpha = _sum(inherited[t], epsilons[t])
        if last is not None and last[0] is step and last[1] == alpha:
            inherited[t + 1] = inherited[t]  # a constant stream has settled
        elif step is not None:
            inherited[t + 1] = step.at(alpha)
        last = (step, alpha)
    return inherited
