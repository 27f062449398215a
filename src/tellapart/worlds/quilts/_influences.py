"""What records of a chain tell of another: log-ratios of their laws given two of its values.

Given a record, those before and those after it are independent, so that the log-ratios of a pair
of records, one on either side, add up. They are kept for each ordered pair of values of each
chain, on the last axis; the influence is the largest along it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import logs_of
from tellapart.worlds.models.chain import MarkovChain

Places = NDArray[np.int64] | int
_STILL = 2.0**-51


class Influences(ABC):
    """Log-ratios of what stands at a distance from a node, before it or after it."""

    length: int

    @abstractmethod
    def left(self, node: Places, distance: Places) -> Array:
        """Of the record so far before the node; the largest over its values."""

    @abstractmethod
    def right(self, node: Places, distance: Places) -> Array:
        """Of the record so far after the node; the largest over its values."""

    def pair(self, nodes: NDArray[np.int64], left: int | None, right: int | None) -> Array:
        """The influence of one quilt on each of many nodes."""
        found: Any = 0.0
        if left is not None:
            found = found + self.left(nodes, left)
        if right is not None:
            found = found + self.right(nodes, right)
        return np.asarray(found.max(axis=-1))


class Bounded(Influences):
    """Bounds for all chains with this least stationary probability and eigengap."""

    def __init__(self, length: int, least: float, gap: float) -> None:
        self.length, self._least, self._gap = length, least, gap

    def left(self, node: Places, distance: Places) -> Array:
        return 2 * self.right(node, distance)

    def right(self, node: Places, distance: Places) -> Array:
        node, distance = np.broadcast_arrays(node, distance)
        if self._least == 0:
            return np.full((*distance.shape, 1), np.inf)
        off = np.exp(-self._gap * distance / 2) / self._least
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.log1p(off) - np.log1p(-off)
        return np.where(off < 1, bound, np.inf)[..., None]


class Exact(Influences):
    """The influences in one or several chains, side by side."""

    def __init__(self, chains: list[MarkovChain]) -> None:
        self.length = chains[0].length
        self._chains = [_Chain(chain) for chain in chains]

    def left(self, node: Places, distance: Places) -> Array:
        each = [one.left(node, distance) for one in self._chains]
        return np.concatenate([*each, _nothing(node, distance)], axis=-1)

    def right(self, node: Places, distance: Places) -> Array:
        each = [one.right(node, distance) for one in self._chains]
        return np.concatenate([*each, _nothing(node, distance)], axis=-1)


def _nothing(node: Places, distance: Places) -> Array:
    """Two values alike, so that influences are at least 0 where no two values are possible."""
    return np.zeros((*np.broadcast_shapes(np.shape(node), np.shape(distance)), 1))


class _Chain:
    """One chain: P^d in logarithms as far as it was asked for, and the law of every record.

    As published, a record of the quilt may have any value that the chain takes at some time, also
    where its own law excludes it: the bound is never too small for that.
    """

    def __init__(self, chain: MarkovChain) -> None:
        step = logs_of(chain.transition)
        laws = _log_laws(logs_of(chain.initial), step, chain.length)
        taken = np.flatnonzero((laws > -np.inf).any(axis=0))
        laws, self._step = laws[:, taken], step[np.ix_(taken, taken)]
        apart = np.eye(taken.size) == 0
        self._x, self._y = np.nonzero(apart)
        self._possible = (laws[:, self._x] > -np.inf) & (laws[:, self._y] > -np.inf)
        with np.errstate(invalid="ignore"):
            odds = laws[:, self._y] - laws[:, self._x]
        self._odds = np.where(self._possible, odds, 0.0)
        self._power = np.where(apart, -np.inf, 0.0)
        nothing = np.full((1, self._x.size), np.inf)
        self._forward, self._backward = nothing, nothing

    def left(self, node: Places, distance: Places) -> Array:
        self._extend(distance)
        found = self._backward[distance] + self._odds[node]
        return np.where(self._possible[node], found, -np.inf)

    def right(self, node: Places, distance: Places) -> Array:
        self._extend(distance)
        return np.where(self._possible[node], self._forward[distance], -np.inf)

    def _extend(self, distance: Places) -> None:
        forward, backward = [], []
        for _ in range(len(self._forward), int(np.max(distance, initial=0)) + 1):
            self._power = logpoly.total(self._power[:, :, None] + self._step, axis=1)
            there, back = self._power, self._power.T
            forward.append(_ratio(there[self._x], there[self._y]).max(axis=1))
            backward.append(_ratio(back[self._x], back[self._y]).max(axis=1))
        if forward:
            self._forward = np.vstack([self._forward, *forward])
            self._backward = np.vstack([self._backward, *backward])


def _ratio(one: Array, other: Array) -> Array:
    """Log-ratios; what has probability 0 in the first place tells nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(one == -np.inf, -np.inf, one - other)


def _log_laws(initial: Array, step: Array, length: int) -> Array:
    """The law of every record, which stays the same once a step moves it by rounding only."""
    laws = np.empty((length, initial.size))
    laws[0] = initial
    for t in range(1, length):
        laws[t] = logpoly.total(laws[t - 1][:, None] + step, axis=0)
        if _same(laws[t], laws[t - 1]):
            laws[t:] = laws[t - 1]
            break
    return laws


def _same(one: Array, other: Array) -> bool:
    finite = one > -np.inf
    if not np.array_equal(finite, other > -np.inf):
        return False
    off = np.abs(one[finite] - other[finite])
    return bool(np.all(off <= _STILL * (1 + np.abs(one[finite]))))
