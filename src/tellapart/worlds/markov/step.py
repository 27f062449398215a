"""Leakage through one transition matrix of a Markov chain: the step operator, rounded up.

Rows P_x and P_y are those of one matrix, or any between a low and a high one (a box). What is known
of the neighbouring state has likelihoods u with u_z ≤ e^α[z, z′]·u_z′; a step turns these limits
into the largest log (P_x·u)/(P_y·u) for each ordered pair (x, y).

- One limit α for all pairs: u is in {1, e^α}. Where u = e^α, P_y has mass D and P_x has D + G, so
  that the answer is log(1 + G·(e^α − 1)/(1 + D·(e^α − 1))): Cao's L(α), by points (D, G).
- A limit for each pair: for few states the extreme u belong to trees of limits that are met; for
  many the dual values of a linear programme prove a bound.

Reference: Cao, Yoshikawa, Xiao, Xiong (ICDE 2017).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

Mask = NDArray[np.bool_]
Two = tuple[float, float]
Edges = tuple[tuple[int, int], ...]
Links = NDArray[np.intp]

EPS = float(np.finfo(float).eps)
FEW = 4  # up to so many states trees of limits are enumerated
_LARGE = 600.0  # above this exponent e^α is not formed
_ALL_SETS = 8  # up to so many states every set of them is tried
_TOLERANCE = 1e-9  # a tree that just breaks a limit is kept: that can only raise the bound
_STEEPEST = 25.0  # steeper limits upset the solver; leaving one out can only raise the bound
_ROWS = 20_000  # limits in one linear programme, if it serves more than one pair


@dataclass(frozen=True, eq=False)
class Box:
    """Lowest and highest transition probabilities of one step."""

    low: Array
    high: Array


# -- one limit for all pairs -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lifts:
    """L(α) of one matrix, or of each ordered pair of its rows, by points along the last axis."""

    d: Array  # points with D > 0
    gain: Array
    free: Array  # the largest G with D = 0: nothing but α limits what it carries
    states: int

    def __call__(self, alpha: float) -> Array:
        """What a leakage α about the neighbouring state says, rounded up; never above α."""
        rounding = 1 + _rounding(self.states)
        most = np.log1p(self._limited(alpha).max(axis=-1, initial=0.0) * rounding)
        if self.free.any():
            most = np.maximum(most, _unlimited(self.free * rounding, alpha))
        return np.asarray(np.minimum(most * (1 + 4 * EPS), alpha))

    def largest(self, alpha: float) -> float:
        """The largest of these, by one logarithm, so that long recursions are fast."""
        lift = float(self._limited(alpha).max(initial=0.0))
        return _log_lift(lift, self._freest, alpha, self.states)

    @cached_property
    def _freest(self) -> float:
        return float(self.free.max())

    def _limited(self, alpha: float) -> Array:
        known, rest = -math.expm1(-alpha), math.exp(-alpha)
        with np.errstate(over="ignore"):
            return np.asarray(self.gain * known / (self.d * known + rest))


def _log_lift(lift: float, free: float, alpha: float, states: int) -> float:
    rounding = 1 + _rounding(states)
    most = math.log1p(lift * rounding)
    if free:
        most = max(most, float(_unlimited(np.asarray(free * rounding), alpha)))
    return min(most * (1 + 4 * EPS), alpha)


def _rounding(states: int) -> float:
    """Two sums of at most that many terms, and some ten operations, each off by half an ulp."""
    return (states + 8) * EPS


def _unlimited(gain: Array, alpha: float) -> Array:
    """log(1 + G(e^α − 1)), rounded for α where e^α is not formed."""
    if alpha <= _LARGE:
        return np.log1p(gain * math.expm1(alpha))
    with np.errstate(divide="ignore", invalid="ignore"):
        # A sum of two large numbers of unlike sign, so its rounding is that of α.
        far = np.logaddexp(0.0, alpha + np.log(gain)) + 8 * EPS * alpha
    return np.where(gain > 0, far, 0.0)


def _lifts(d: Array, gain: Array, states: int) -> Lifts:
    limited = d > 0
    free = np.where(limited, 0.0, gain).max(axis=-1, initial=0.0)
    return Lifts(np.where(limited, d, 1.0), np.where(limited, gain, 0.0), free, states)


def matrix_lifts(transition: Array) -> Lifts:
    """L of the worst two rows of a matrix, by its frontier of points: O(n³ log n)."""
    d, gain = np.zeros(0), np.zeros(0)
    for row in transition:
        more_d, more_gain = _prefixes(row, transition)
        d, gain = _frontier(np.append(d, more_d), np.append(gain, more_gain))
    return _lifts(d, gain, len(transition))


def pair_lifts(low: Array, high: Array) -> Lifts:
    """L of every ordered pair of rows in a box; exact for few states or for a single matrix."""
    states = len(low)
    if states <= _ALL_SETS and not np.array_equal(low, high):
        d, gain = _all_sets(low, high)
    else:
        # Sums of ends alone: a bound, as more mass than 1 may be counted.
        pairs = [_prefixes(row, low) for row in high]
        d, gain = (np.array([points[part] for points in pairs]) for part in (0, 1))
    same = np.eye(states, dtype=bool)
    return _lifts(d, np.where(same[:, :, None], 0.0, gain), states)


def _prefixes(q: Array, others: Array) -> tuple[Array, Array]:
    """D and G of one row against each other, for states in falling order of q_j/d_j > 1.

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


def _all_sets(low: Array, high: Array) -> tuple[Array, Array]:
    """For each set of states P_x has as much mass there as the box allows, P_y as little."""
    states = len(low)
    sets = (np.arange(1, 2**states - 1)[:, None] >> np.arange(states)) & 1
    least = np.maximum(low @ sets.T, 1 - high @ (1 - sets).T)
    most = np.minimum(high @ sets.T, 1 - low @ (1 - sets).T)
    slack = (states + 8) * EPS
    least, most = np.clip(least - slack, 0.0, 1.0), np.clip(most + slack, 0.0, 1.0)
    d = np.broadcast_to(least[None], (states, states, sets.shape[0]))
    return d, np.maximum(most[:, None] - least[None], 0.0)


# -- a limit for each pair ---------------------------------------------------------------------


def two_states(low: list[list[float]], high: list[list[float]], alphas: Two) -> Two:
    """What state 0 against 1, and 1 against 0, inherit from such leakages; exact.

    There is one ratio of likelihoods only, and it is largest at an end.
    """
    return (
        max(_lift(high[0][up], low[1][up], alphas[up]) for up in (0, 1)),
        max(_lift(high[1][up], low[0][up], alphas[up]) for up in (0, 1)),
    )


def _lift(most: float, least: float, alpha: float) -> float:
    """``Lifts`` of the one point (least, most − least), without the cost of arrays."""
    if most <= least:
        return 0.0
    if not least:
        return _log_lift(0.0, most, alpha, 2)
    known, rest = -math.expm1(-alpha), math.exp(-alpha)
    return _log_lift((most - least) * known / (least * known + rest), 0.0, alpha, 2)


@dataclass(frozen=True, eq=False)
class Cone:
    """What each ordered pair of rows in a box inherits from limits for each pair, rounded up."""

    low: Array
    high: Array

    def __call__(self, alpha: Array) -> Array:
        """The largest log (P_x·u)/(P_y·u), for every x and y."""
        top = float(alpha.max())
        logs = potentials(len(alpha)) @ alpha.ravel()
        gaps = logs[:, :, None] - logs[:, None, :] - alpha
        logs = logs[gaps.max(axis=(1, 2)) <= _TOLERANCE * (1 + top)]
        most, least = self._log_means(logs)
        with np.errstate(invalid="ignore"):
            ratios = most[:, None] - least[None]
        largest = np.where(np.isnan(ratios), np.inf, ratios).max(axis=-1)
        return np.asarray(np.clip(largest + 32 * len(alpha) * EPS * (1 + top), 0.0, top))

    def _log_means(self, logs: Array) -> tuple[Array, Array]:
        """Logarithms of the largest and the least P·u of each row, for every u."""
        if np.array_equal(self.low, self.high):
            means = _log_mean(self.low[:, None], logs)
            return means, means
        order = np.argsort(-logs, axis=1)
        falling = np.take_along_axis(logs, order, axis=1)
        base, room = self.low[:, order], (self.high - self.low)[:, order]
        free = (1 - self.low.sum(axis=1))[:, None, None]
        # Mass that rounding alone puts where u is largest would count as much as any.
        slack = (len(self.low) + 8) * EPS
        least = _spread(room[..., ::-1], np.maximum(free - slack, 0.0))[..., ::-1]
        return (
            _log_mean(base + _spread(room, free + slack), falling),
            _log_mean(base + least, falling),
        )


def _log_mean(weights: Array, logs: Array) -> Array:
    """Log Σ w·e^logs along the last axis, also where the largest terms have no weight."""
    held = weights > 0
    top = np.where(held, logs, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(held, weights * np.exp(np.minimum(logs - top, 0.0)), 0.0)
        return np.asarray(np.log(terms.sum(axis=-1)) + top[..., 0])


def _spread(room: Array, free: Array) -> Array:
    """Free mass put into places in their order, as much as each holds."""
    before = room.cumsum(axis=-1) - room
    return np.asarray(np.minimum(np.maximum(free - before, 0.0), room))


@cache
def potentials(states: int) -> Array:
    """For each tree and directions: the logarithms of u, as sums of limits α[z, z′]."""
    rows = []
    for walk in _walks(states):
        for signs in itertools.product((False, True), repeat=states - 1):
            logs = np.zeros((states, states, states))
            for (child, parent), above in zip(walk, signs, strict=True):
                logs[child] = logs[parent]
                logs[child][(child, parent) if above else (parent, child)] += 1 if above else -1
            rows.append(logs.reshape(states, states**2))
    return np.array(rows)


def _walks(states: int) -> Iterator[Edges]:
    """Every tree on the states, as edges (child, parent) in an order that starts at state 0."""
    every = list(itertools.combinations(range(states), 2))
    for edges in itertools.combinations(every, states - 1):
        walk, reached = [], [0]
        for node in reached:  # grows as it is walked
            for edge in edges:
                other = edge[0] + edge[1] - node
                if node in edge and other not in reached:
                    reached.append(other)
                    walk.append((other, node))
        if len(reached) == states:
            yield tuple(walk)


def each_pair(transition: Array, leaked: Array) -> Array:
    """What each ordered pair of rows of a matrix inherits from leakages about its entries."""
    states = len(transition)
    if states == 2:
        rows = transition.tolist()
        result = np.zeros((2, 2))
        result[0, 1], result[1, 0] = two_states(rows, rows, (leaked[0, 1], leaked[1, 0]))
        return result
    result = pair_lifts(transition, transition)(float(leaked.max()))
    if states <= FEW and leaked.max() < np.inf:
        return np.minimum(result, Cone(transition, transition)(leaked))
    return _by_programme(transition, leaked, result)


def _by_programme(transition: Array, leaked: Array, bounds: Array) -> Array:
    """The same for many states, by linear programmes whose answers are not trusted.

    Any flows f ≥ 0 between states prove q·u ≤ c·d·u for all u that keep the limits A, with
    c = max over j of v_j/d_j, v_j = q_j − Σ_k f_jk + Σ_i e^A[i,j]·f_ij. The solver's dual values
    are taken as flows, so that every number is an upper bound.
    """
    limits = np.where(leaked > _STEEPEST, np.inf, leaked)
    factors = np.where(np.isinf(limits), 0.0, np.exp(np.minimum(limits, _STEEPEST)))
    pairs = [(x, y) for x, y in np.argwhere(bounds > 0) if _is_finite(transition, limits, x, y)]
    linked = np.argwhere(np.isfinite(limits) & ~np.eye(len(leaked), dtype=bool))
    at_once = max(1, _ROWS // max(len(linked), 1))
    result = bounds.copy()
    for start in range(0, len(pairs), at_once):
        some = pairs[start : start + at_once]
        for (x, y), flow in zip(some, _flows(transition, factors, linked, some), strict=True):
            bound = proved(transition[x], transition[y], factors, linked, flow)
            result[x, y] = min(result[x, y], bound)
    return result


def _is_finite(transition: Array, limits: Array, x: int, y: int) -> bool:
    """Whether every state that x visits is limited by one that y visits."""
    limited = np.isfinite(limits[transition[x] > 0][:, transition[y] > 0])
    return bool(limited.any(axis=1).all())


def _flows(
    transition: Array, factors: Array, linked: Links, pairs: Sequence[tuple[int, int]]
) -> Array:
    """The dual values of all pairs' programmes, solved as one with a block for each.

    Where the solver gives up there are no flows, which prove little but nothing false.
    """
    import scipy.optimize  # slow to import, and no other world needs it
    import scipy.sparse

    optimize: Any = scipy.optimize
    sparse: Any = scipy.sparse
    states, blocks, rows = len(transition), len(pairs), np.arange(len(linked))
    upper, lower = linked.T
    places = (np.append(rows, rows), np.append(upper, lower))
    limits = sparse.csr_array(
        (np.append(np.ones(rows.size), -factors[upper, lower]), places),
        shape=(rows.size, states),
    )
    x, y = np.array(pairs).T
    cells = np.arange(blocks * states)
    ends = np.arange(0, blocks * states + 1, states)
    solved = optimize.linprog(
        -transition[x].ravel(),
        A_ub=sparse.kron(sparse.eye_array(blocks), limits, format="csr"),
        b_ub=np.zeros(blocks * rows.size),
        A_eq=sparse.csr_array((transition[y].ravel(), cells, ends)),
        b_eq=np.ones(blocks),
        method="highs",
    )
    if solved.status != 0:
        return np.zeros((blocks, rows.size))
    flows: Array = np.maximum(-np.asarray(solved.ineqlin.marginals), 0.0)
    return flows.reshape(blocks, rows.size)


def proved(q: Array, d: Array, factors: Array, linked: Links, flow: Array) -> float:
    """Log c for these flows, rounded up; loads where d is 0 are sent to where it is not."""
    upper, lower = linked.T
    out = np.bincount(upper, flow, len(q))
    into = np.bincount(lower, flow * factors[upper, lower], len(q))
    load = q - out + into + (len(q) + 8) * EPS * (q + out + into)
    visited = d > 0
    for j in np.flatnonzero(~visited & (load > 0)):
        ways = np.flatnonzero(visited & (factors[j] > 0))
        if not ways.size:
            return float("inf")
        k = ways[np.argmin(factors[j, ways] / d[ways])]
        load[k] += load[j] * factors[j, k] * (1 + 8 * EPS)
    ratio = float((load[visited] / d[visited]).max())
    return max(float(np.log(ratio)), 0.0) + 8 * EPS
