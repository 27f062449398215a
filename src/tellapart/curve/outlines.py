"""Polygons from what is known of both orders of a test: lines from below, points from above."""

from __future__ import annotations

import math

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import hull
from tellapart.curve.atomic import AtomicCurve, from_atoms, from_corners
from tellapart.curve.base import Bound

Points = tuple[Array, Array]


def from_two_profiles(epsilons: Array, ahead: Array, back: Array) -> AtomicCurve:
    """The most that lines 1 − δ − e^ε·α allow, and the same lines of the mirrored test.

    ε ≥ 0 for both. Each line holds on its own, so that leaving one out only helps an attacker.
    """
    # δ(0) is the same for both: it is the largest advantage.
    ahead, back = (np.where(epsilons == 0, np.minimum(ahead, back), x) for x in (ahead, back))
    left, right = _Chain(epsilons, ahead), _Chain(epsilons, back)
    while True:
        deadline.check()
        (e, d), (f, g) = left.last(), right.last()
        both = -math.expm1(-e - f)
        if both > 0:
            # 1 − d − e^−f·(1 − g) and its mirror, by what they lack: small ε leave no digits else.
            fpr = (g * math.exp(-f) - math.expm1(-f) - d) * math.exp(-e) / both
            fnr = (d * math.exp(-e) - math.expm1(-e) - g) * math.exp(-f) / both
        else:  # both are the line α + β = 1 − δ: meet half-way
            height = 1 - min(d, g)
            fpr = (height + left.reached_fpr() - right.reached_fpr()) / 2
            fnr = height - fpr
        if fpr < left.reached_fpr() and left.drop():
            continue
        if fnr < right.reached_fpr() and right.drop():
            continue
        break
    absent, present = left.masses(1 - fnr)
    other_present, other_absent = right.masses(1 - fpr)
    losses = np.concatenate([[np.inf], left.slopes(), -right.slopes()[::-1], [-np.inf]])
    return from_atoms(
        losses,
        np.concatenate([absent, other_absent[::-1]]),
        np.concatenate([present, other_present[::-1]]),
        Bound.LOWER,
    )


class _Chain:
    """Lines, steepest first, that make up a maximum, and TPR where each hands over to the next."""

    def __init__(self, epsilons: Array, deltas: Array) -> None:
        active, _ = hull.active_lines(epsilons, deltas)
        e, d = epsilons[active], deltas[active]
        with np.errstate(over="ignore"):
            corners = d[:-1] + np.diff(d) / -np.expm1(np.diff(e))
            feet = np.exp(np.log(np.diff(d)) - np.log(-np.expm1(np.diff(e))) - e[:-1])
        self._e, self._d = e.tolist(), d.tolist()
        self._tpr, self._fpr = corners.tolist(), feet.tolist()

    def last(self) -> tuple[float, float]:
        return self._e[-1], self._d[-1]

    def reached_fpr(self) -> float:
        return float(self._fpr[-1]) if self._fpr else 0.0

    def drop(self) -> bool:
        """Leave out the flattest line, unless it is the only one."""
        if not self._fpr:
            return False
        for column in (self._e, self._d, self._tpr, self._fpr):
            column.pop()
        return True

    def slopes(self) -> Array:
        return np.array(self._e)

    def masses(self, end: float) -> tuple[Array, Array]:
        """Masses of what is fully revealing and of each line up to TPR = end: h0, h1."""
        corners = np.array([self._d[0], *self._tpr, max(end, *self._tpr, self._d[0])])
        present = np.maximum(np.diff(corners), 0.0)
        absent = present * np.exp(-self.slopes())
        return np.concatenate([[0.0], absent]), np.concatenate([[self._d[0]], present])


def from_points_of_two(ahead: Points, back: Points) -> AtomicCurve:
    """The hull of attacks: (FPR, TPR) of one order, and those of the other, mirrored."""
    fpr, tpr = ahead
    fnr, tnr = back
    ends = np.array([0.0, 1.0])
    kept = np.concatenate([[True, True], tpr > fpr, tnr > fnr])
    return from_corners(
        np.concatenate([ends, fpr, 1 - tnr])[kept],
        np.concatenate([ends, tpr, 1 - fnr])[kept],
        np.concatenate([1 - ends, 1 - tpr, fnr])[kept],
        np.concatenate([1 - ends, 1 - fpr, tnr])[kept],
        Bound.UPPER,
    )
