"""Leakage about every record from the records on one side of it, for Laplace noise on a sum.

With noise of scale b the likelihood of an output moves by at most a factor e^(|x|/b) when a sum
moves by x. So if the records beyond a neighbour say at most A[z, z′] about it, neighbour and
records beyond say at most A[z, z′] + |w·(v_z − v_z′)|/b, w being the neighbour's weight; one step
of the chain turns that into what they say about the record itself. What both sides say, and the
record's own |w·(v_x − v_y)|/b, add up to a bound for the whole sum: given the record the sides are
independent, and the answer with noise and one side is again such a likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart.worlds.markov.step import EPS, Cone, Mask, Two, points, two_states

Step = Callable[[Array, float], Array]

_STILL, _SETTLED = 1e-12, 1e-10
_FEW = 4  # up to so many states every pair of them has its own limit


@dataclass(frozen=True, eq=False)
class Box:
    """Lowest and highest transition probabilities of one step."""

    low: Array
    high: Array


def one_side(boxes: Sequence[Box], own: Array, apart: Array, possible: Mask) -> Array:
    """What the records before each one say about it, for every ordered pair of its values.

    ``boxes[t]`` leads from record t + 1 to record t; ``own`` are the records' |weights|/b,
    ``apart`` the |v_x − v_y| and ``possible`` the states that each record may have.
    """
    if apart.shape[0] == 2:
        return _two(boxes, own, float(apart[0, 1]), possible)
    return _many(boxes, own, apart, possible)


def _two(boxes: Sequence[Box], own: Array, apart: float, possible: Mask) -> Array:
    found = np.zeros((own.size, 2, 2))
    told: Two = (0.0, 0.0)
    budgets: list[float] = (own * apart).tolist()
    certain: list[bool] = np.logical_not(possible.all(axis=1)).tolist()
    ends = _runs(boxes, own, possible)
    t = 0
    while t < len(boxes):
        deadline.check()
        if t == 0 or boxes[t] is not boxes[t - 1]:
            rows = (boxes[t].low.tolist(), boxes[t].high.tolist())
        before = told
        # α of state 1 over 0 limits where u_1 is large, α of 0 over 1 where u_0 is.
        alphas = (_plus(told[0], budgets[t]), _plus(told[1], budgets[t]))
        told = (0.0, 0.0) if certain[t + 1] else two_states(*rows, alphas)
        end = t + 1
        if t and ends[t - 1] > t and _settled(before, told):
            # What tells no more than itself bounds all to come.
            told, end = before, int(ends[t])
        found[t + 1 : end + 1, 0, 1], found[t + 1 : end + 1, 1, 0] = told
        t = end
    return found


def _settled(before: Two, told: Two) -> bool:
    return all(now <= old <= now + _STILL for old, now in zip(before, told, strict=True))


def _plus(one: float, other: float) -> float:
    return (one + other) * (1 + EPS)


def _many(boxes: Sequence[Box], own: Array, apart: Array, possible: Mask) -> Array:
    found = np.zeros((own.size, *apart.shape))
    unlike = ~np.eye(len(apart), dtype=bool)
    ends = _runs(boxes, own, possible)
    step: Step | None = None
    t = 0
    while t < len(boxes):
        deadline.check()
        if step is None or boxes[t] is not boxes[t - 1]:
            step = _step(boxes[t])
        met = possible[t + 1][:, None] & possible[t + 1] & unlike

        def told(leaked: Array, t: int = t, step: Step = step, met: Mask = met) -> Array:
            return np.where(met, step(*_limits(leaked + own[t] * apart, possible[t])), 0.0)

        found[t + 1] = told(found[t])
        t += 1
        if ends[t - 1] > t and np.abs(found[t] - found[t - 1]).max() <= _STILL:
            most = _lasting(told, found[t], met)
            if most is not None:
                end = int(ends[t - 1])
                found[t : end + 1], t = most, end
    return found


def _lasting(told: Callable[[Array], Array], found: Array, met: Mask) -> Array | None:
    """A little more than was found, if it tells no more than itself: so it bounds all to come."""
    for more in (_SETTLED * (1 + found), _SETTLED * found / found.max(initial=EPS)):
        most = np.where(met, found + more, 0.0)
        if np.all(told(most) <= most):
            return most
    return None


def _runs(boxes: Sequence[Box], own: Array, possible: Mask) -> NDArray[np.intp]:
    """For each step the end of the run of steps that are all alike."""
    kinds = np.fromiter(map(id, boxes), dtype=np.int64, count=len(boxes))
    same = (own[1:] == own[:-1]) & (possible[1:] == possible[:-1]).all(axis=1)
    goes_on = (kinds[1:] == kinds[:-1]) & same[:-1] & same[1:]
    last = np.append(np.flatnonzero(~goes_on), len(boxes) - 1)
    return np.asarray(last[np.searchsorted(last, np.arange(len(boxes)))] + 1)


def _limits(leaked: Array, possible: Mask) -> tuple[Array, float]:
    """How unlike likelihoods may be, rounded up, and the largest such limit.

    A state that cannot be limits no other.
    """
    alpha = leaked * (1 + 2 * EPS)
    both = possible[:, None] & possible
    top = float(np.where(both, alpha, 0.0).max())
    return np.where(both, alpha, 2 * top), top


def _step(box: Box) -> Step:
    if len(box.low) <= _FEW:
        cone = Cone(box.low, box.high)
        return lambda alpha, top: cone(alpha)
    every = points(box.low, box.high)
    return lambda alpha, top: every(top)
