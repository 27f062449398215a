"""One step of a chain that is known up to a box: what a neighbour's leakage says about a state.

Likelihoods u of the neighbouring state obey u_z ≤ e^α[z, z′]·u_z′. The largest log (P_x·u)/(P_y·u),
over all such u and over all rows P_x and P_y between the low and the high ones with sum 1, is for
equal α attained at u in {1, e^α}. For each set of states where u = e^α, P_x has as much mass
there as the box allows and P_y as little: points (D, G) as in ``_temporal``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.worlds.markov.temporal import prefixes

Mask = NDArray[np.bool_]
EPS = float(np.finfo(float).eps)
_ALL_SETS = 8  # up to so many states every set of them is tried


@dataclass(frozen=True, eq=False)
class Points:
    """For each ordered pair of rows: masses D of the lower row and gains G of the upper one."""

    d: Array
    gain: Array

    def __call__(self, alpha: float) -> Array:
        """What each ordered pair inherits from a largest leakage α, rounded up."""
        known, rest = -math.expm1(-alpha), math.exp(-alpha)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            lifts = np.where(self.gain > 0, self.gain * known / (self.d * known + rest), 0.0)
        best = np.log1p(lifts.max(axis=-1) * (1 + 32 * EPS)) * (1 + 4 * EPS)
        return np.asarray(np.minimum(np.where(np.isnan(best), np.inf, best), alpha))


def points(low: Array, high: Array) -> Points:
    """All points of a box of transition matrices; exact for few states or for a single matrix."""
    states = len(low)
    if states <= _ALL_SETS and not np.array_equal(low, high):
        d, gain = _all_sets(low, high)
    else:
        # Sums of ends alone: a bound, as more mass than 1 may be counted.
        pairs = [prefixes(row, low) for row in high]
        d, gain = (np.array([one[part] for one in pairs]) for part in (0, 1))
    same = np.eye(states, dtype=bool)
    return Points(d, np.where(same[:, :, None], 0.0, gain))


def _all_sets(low: Array, high: Array) -> tuple[Array, Array]:
    states = len(low)
    sets = (np.arange(1, 2**states - 1)[:, None] >> np.arange(states)) & 1
    least = np.maximum(low @ sets.T, 1 - high @ (1 - sets).T)
    most = np.minimum(high @ sets.T, 1 - low @ (1 - sets).T)
    slack = (states + 8) * EPS
    least, most = np.clip(least - slack, 0.0, 1.0), np.clip(most + slack, 0.0, 1.0)
    d = np.broadcast_to(least[None], (states, states, sets.shape[0]))
    return d, np.maximum(most[:, None] - least[None], 0.0)


Two = tuple[float, float]


def two_states(low: list[list[float]], high: list[list[float]], alphas: Two) -> Two:
    """What state 0 against 1, and 1 against 0, inherit from such leakages; exact."""
    return (
        max(_lift(high[0][up], low[1][up], alphas[up]) for up in (0, 1)),
        max(_lift(high[1][up], low[0][up], alphas[up]) for up in (0, 1)),
    )


def _lift(most: float, least: float, alpha: float) -> float:
    """Log of (1 + most·(e^α − 1))/(1 + least·(e^α − 1)) if that is above 0, rounded up."""
    if most <= least:
        return 0.0
    rest = math.exp(-alpha)
    below = least * (1 - rest) + rest
    if below == 0:
        return alpha
    gain = (most - least) * -math.expm1(-alpha) / below
    return min(math.log1p(gain * (1 + 32 * EPS)) * (1 + 4 * EPS), alpha)


_TOLERANCE = 1e-9  # a tree that just breaks a limit is kept: that can only raise the bound

Edges = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Cone:
    """What each ordered pair of rows between a low and a high matrix inherits, rounded up."""

    low: Array
    high: Array

    def __call__(self, alpha: Array) -> Array:
        """The largest log (P_x·u)/(P_y·u), for every x and y."""
        top = float(alpha.max())
        logs = potentials(len(alpha)) @ alpha.ravel()
        gaps = logs[:, :, None] - logs[:, None, :] - alpha
        logs = logs[gaps.max(axis=(1, 2)) <= _TOLERANCE * (1 + top)]
        logs -= logs.max(axis=1, keepdims=True)
        most, least = self._means(np.exp(logs))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(most[:, None]) - np.log(least[None])
        found = np.where(np.isnan(ratios), np.inf, ratios).max(axis=-1)
        return np.asarray(np.clip(found + 32 * len(alpha) * EPS * (1 + top), 0.0, top))

    def _means(self, u: Array) -> tuple[Array, Array]:
        """The largest and the least P·u of each row, for every u."""
        if np.array_equal(self.low, self.high):
            means = self.low @ u.T
            return means, means
        order = np.argsort(-u, axis=1)
        falling = np.take_along_axis(u, order, axis=1)
        base, room = self.low[:, order], (self.high - self.low)[:, order]
        free = (1 - self.low.sum(axis=1))[:, None, None]
        return (
            ((base + _filled(room, free)) * falling).sum(axis=-1),
            ((base + _filled(room[..., ::-1], free)[..., ::-1]) * falling).sum(axis=-1),
        )


def _filled(room: Array, free: Array) -> Array:
    """Free mass put into places in their order, as much as each holds."""
    before = room.cumsum(axis=-1) - room
    return np.asarray(np.minimum(np.maximum(free - before, 0.0), room))


@cache
def potentials(states: int) -> Array:
    """For each tree and directions: the logarithms of u, as sums of limits α[z, z′]."""
    found = []
    for walk in _walks(states):
        for signs in itertools.product((False, True), repeat=states - 1):
            logs = np.zeros((states, states, states))
            for (child, parent), above in zip(walk, signs, strict=True):
                logs[child] = logs[parent]
                logs[child][(child, parent) if above else (parent, child)] += 1 if above else -1
            found.append(logs.reshape(states, states**2))
    return np.array(found)


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
