"""Leakage about every record from the records on one side of it, for Laplace noise on a sum.

With noise of scale b the likelihood of an output moves by at most a factor e^(|x|/b) when a sum
moves by x. So if the records beyond a neighbour say at most A[z, z′] about it, neighbour and
records beyond say at most A[z, z′] + |w·(v_z − v_z′)|/b, w being the neighbour's weight; one step
of the chain turns that into what they say about the record itself. What both sides say, and the
record's own |w·(v_x − v_y)|/b, add up to a bound for the whole sum: given the record the sides are
independent, and the answer with noise and one side is again such a likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.fitting._steps import EPS, Mask, Points, Two, points, two_states


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
    rows: tuple[list[list[float]], list[list[float]]] = ([], [])
    last: Box | None = None
    before: tuple[Two, float, bool] | None = None
    for t, box in enumerate(boxes):
        now = (told, budgets[t], certain[t + 1])
        if box is last and now == before:
            found[t + 1] = found[t]  # the stream has settled
            continue
        if box is not last:
            rows = (box.low.tolist(), box.high.tolist())
        # α of state 1 over 0 limits where u_1 is large, α of 0 over 1 where u_0 is.
        alphas = (_plus(told[0], budgets[t]), _plus(told[1], budgets[t]))
        last, before = box, now
        told = (0.0, 0.0) if certain[t + 1] else two_states(*rows, alphas)
        found[t + 1, 0, 1], found[t + 1, 1, 0] = told
    return found


def _plus(one: float, other: float) -> float:
    return (one + other) * (1 + EPS)


def _many(boxes: Sequence[Box], own: Array, apart: Array, possible: Mask) -> Array:
    found = np.zeros((own.size, *apart.shape))
    step: Points | None = None
    last: Box | None = None
    before: tuple[float, bytes] | None = None
    for t, box in enumerate(boxes):
        both = possible[t][:, None] & possible[t]
        alpha = float(np.where(both, found[t] + own[t] * apart, 0.0).max()) * (1 + 2 * EPS)
        now = (alpha, possible[t + 1].tobytes())
        if box is last and now == before:
            found[t + 1] = found[t]
            continue
        if step is None or box is not last:
            step = points(box.low, box.high)
        met = possible[t + 1][:, None] & possible[t + 1]
        found[t + 1] = np.where(met, step(alpha), 0.0)
        last, before = box, now
    return found
