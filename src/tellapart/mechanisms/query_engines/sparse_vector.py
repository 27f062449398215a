"""The sparse vector technique: AboveThreshold, with one positive answer or several.

Answers are compared with a noisy threshold, one after another, each with noise of its own; only
"above" and "below" are published, and after c times "above" it ends. The bound here:

**The threshold is given away**, shifted by the sensitivity in one of the two worlds, so that there
all answers only fall, by at most e = ε₂/c in units of their noise. The shift costs a Laplace pair
L_{ε₁}. Given it, an answer is "above" with probability p in one world and q ≤ p in the other, and
(p, q) lies on or above the trade-off curve of Laplace noise shifted by e.

**The rest is a game.** Let v_c(y), y = e^a, be the largest δ(a) = E[(1 − y·e^−loss)₊] that any
adaptive choice of questions reaches with c positive answers left: v_0(y) = (1 − y)₊, and v_c is
the least function that is at least v_{c−1} and at least

    p·v_{c−1}(y·q/p) + (1 − p)·v_c(y·(1 − q)/(1 − p))    for all (p, q).

Each v is a supremum of privacy profiles, so convex in y, and then the above is jointly convex in
(p, q): it is largest at q = p, where it says nothing, or on the curve; and on the curve it is at
most the largest of its values at the corners of any polygon around it. At these corners
(1 − q)/(1 − p) ≥ r > 1, so that v_c at y asks for v_c at r·y and beyond only: from y = e^ε₂, where
it is 0, down to smaller y in one pass. Between nodes chords are taken, which lie above convex
functions, and from (0, 1) to the first node. Then δ(ε) ≤ E[v_c(e^(ε − loss))] over the losses of
L_{ε₁}; v_c as a sum of w_j·(1 − y/y_j)₊ makes it Σ w_j·δ_{L_{ε₁}}(ε − log y_j).

Without the game v_c(y) ≤ (1 − y·e^−ε₂)₊, as the losses are at most ε₂ (Lyu, Su and Li 2017,
Theorem 2); the smaller of both is taken, and 0 from ε₁ + ε₂ on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import LaplaceCurve
from tellapart.curve.guarantees import everything, nothing, profile_lines
from tellapart.mechanisms.base import ADD_REMOVE, EpsilonAtDelta
from tellapart.neighbours import Neighbours

# Corners of the polygon around a Laplace curve, by how much of the loss lies between two; nodes of
# y for each factor r, and in all; positive answers and losses for which the game is played.
_SPAN, _FEWEST_CORNERS, _MOST_CORNERS = 0.05, 16, 200
_PER_FACTOR, _MOST_NODES = 32, 6_000
_MOST_ANSWERS, _LARGEST = 100, 300.0
# At how many ε the answer is worked out, and what rounding may add up to: an ulp for each node and
# eight for each answer.
_EPSILONS, _ROOM = 600, 2e-12


@dataclass(frozen=True, repr=False)
class AboveThreshold(EpsilonAtDelta):
    """Says which of many answers exceed a threshold, by noise, until so many did.

    Laplace noise of ``threshold_scale`` is added to the threshold, once, and of ``query_scale`` to
    every answer; ``sensitivity`` is how far one record moves any answer, and ``monotone`` says that
    it moves all of them the same way, as counts do. The number of questions is not limited, and
    each may depend on the answers before. The curve is a guarantee (`Bound.LOWER`); at δ = 0 it has
    ε = ε₁ + ε₂, ε₁ = sensitivity/threshold_scale, ε₂ = 2·answers·sensitivity/query_scale, or half
    of that if monotone (Lyu, Su and Li 2017).

    >>> import tellapart as ta
    >>> once = ta.AboveThreshold(threshold_scale=2, query_scale=4)
    >>> once.epsilon(delta=0), round(once.epsilon(delta=0.01), 4)
    (1.0, 0.9602)
    >>> round(once.advantage(), 3), round(ta.guarantee(epsilon=1).delta(0), 3)
    (0.291, 0.462)
    """

    threshold_scale: float
    query_scale: float
    sensitivity: float = 1.0
    answers: int = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            threshold_scale=_checks.above_zero(threshold_scale=self.threshold_scale),
            query_scale=_checks.above_zero(query_scale=self.query_scale),
            sensitivity=_checks.finite_above_zero(sensitivity=self.sensitivity),
            answers=_checks.whole(1, 10**9, answers=self.answers),
        )
        if not isinstance(self.monotone, bool):
            _checks.refuse("monotone", "be True or False", self.monotone)

    @classmethod
    def with_epsilon(
        cls,
        epsilon: float,
        sensitivity: float = 1.0,
        answers: int = 1,
        monotone: bool = False,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """The noise that is ε-DP, split for the least error of comparisons (Lyu et al. 2017, §4.2).

        ε₁ : ε₂ is 1 : (2·answers)^(2/3), or 1 : answers^(2/3) if monotone.
        """
        e = _checks.finite_above_zero(epsilon=epsilon)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        count = _checks.whole(1, 10**9, answers=answers)
        moves = count * (1 if monotone else 2)
        share = 1 / (1 + moves ** (2 / 3))
        scales = size / (share * e), moves * size / ((1 - share) * e)
        return cls(*scales, size, count, monotone, neighbours=neighbours)

    @property
    def _losses(self) -> tuple[float, float]:
        """ε₁ of the threshold, and ε₂ of all positive answers."""
        moves = self.answers * (1 if self.monotone else 2)
        return self.sensitivity / self.threshold_scale, moves * self.sensitivity / self.query_scale

    def _present_test(self) -> TradeoffCurve:
        threshold, queries = self._losses
        whole = threshold + queries
        if whole == 0:
            return nothing()
        if not math.isfinite(whole):
            return everything(Bound.LOWER)
        # Close to the end δ falls steeply.
        share = np.concatenate([np.linspace(0, 1, _EPSILONS), 1 - np.geomspace(1e-6, 1e-2, 60)])
        epsilons = whole * np.unique(share)
        with np.errstate(all="ignore"):
            deltas = _shifted(threshold, epsilons - queries)
            if self.answers <= _MOST_ANSWERS and whole + queries <= _LARGEST:
                game = _value(threshold, queries, self.answers)
                if game is not None:
                    deltas = np.minimum(deltas, _mixed(threshold, epsilons, *game) + _ROOM)
        return profile_lines(epsilons, np.where(epsilons >= whole, 0.0, np.clip(deltas, 0.0, 1.0)))


def _shifted(threshold: float, epsilons: Array) -> Array:
    """δ of the Laplace pair of the threshold; none of it where its noise has no end."""
    if threshold == 0:
        return np.maximum(-np.expm1(epsilons), 0.0)
    return np.asarray(LaplaceCurve(threshold)._delta(epsilons)) * (1 + 1e-13)


def _corners(shift: float) -> tuple[Array, Array, Array, Array]:
    """Corners of a polygon around the curve of Laplace noise: p, 1 − p, q and 1 − q.

    The curve is q = e^−shift/(2t), p = 1 − t/2 for t from e^−shift to 1, and straight beyond; the
    corners are where tangents meet.
    """
    tangents = int(np.clip(math.ceil(shift / _SPAN), _FEWEST_CORNERS, _MOST_CORNERS))
    t = np.exp(np.linspace(-shift, 0.0, tangents + 1))
    meet = 2 * t[:-1] * t[1:] / (t[:-1] + t[1:])
    q = math.exp(-shift) / t[:-1] * (1 - meet / (2 * t[:-1]))
    return 1 - meet / 2, meet / 2, q, 1 - q


def _value(threshold: float, queries: float, answers: int) -> tuple[Array, Array] | None:
    """Nodes y and v_c on them, from y = 0 on; None where they would be too many."""
    above, below, above_there, below_there = _corners(queries / answers)
    growth, shrink = below_there / below, above_there / above
    factor = math.log(float(growth.min()))
    reach = threshold + 2 * queries  # a positive answer leads to smaller y
    if not factor > 0 or (per := int(min(_PER_FACTOR, _MOST_NODES * factor / reach))) < 2:
        return None
    count = math.ceil(reach * per / factor)
    y = np.append(0.0, np.exp(queries - factor / per * np.arange(count, -1.0, -1.0)))
    value = np.maximum(1 - y, 0.0)
    for _ in range(answers):
        before, value = value, np.zeros(y.size)
        value[0], last = 1.0, y.size - 2
        while last > 0:
            # All of these ask for nodes beyond them.
            block = np.arange(max(1, last - per + 2), last + 1)
            at = y[block, None]
            hit = above * np.interp(at * shrink, y, before)
            missed = below * np.interp(at * growth, y, value)
            value[block] = np.maximum((hit + missed).max(axis=1), before[block])
            last = int(block[0]) - 1
    return y, value


def _mixed(threshold: float, epsilons: Array, y: Array, value: Array) -> Array:
    """E[v(e^(ε − loss))] over the losses of the threshold's noise."""
    slopes = np.append(np.diff(value) / np.diff(y), 0.0)
    weights, at = np.diff(slopes) * y[1:], np.log(y[1:])
    return np.array([float(weights @ _shifted(threshold, e - at)) for e in epsilons])
