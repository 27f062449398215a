"""One step of a chain of few states, with a limit for every pair of them.

The likelihoods u with u_z ≤ e^α[z, z′]·u_z′ form a cone. Along each of its edges enough limits are
tight to tie all states together: a tree of them, in one of two directions each. For given rows a
ratio of means is largest along an edge, and for a given u rows are extreme that put their free
mass where u is largest, or smallest: so all trees are tried, and for each the best rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.fitting._steps import EPS

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
