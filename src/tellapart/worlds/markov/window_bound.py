"""An upper bound of Pufferfish ε for long Markov chains, by windows around a record.

Let U and V be the states r records before and after the one in question. Given these, the records
beyond are independent of it, so for any output the likelihood under a value x is a mixture over
U and V of what the window shows, each part blurred alike for all x. A ratio of two such mixtures
is at most the largest ratio of their parts:

    ε ≤ max over u, v and o of log P(u, v, window shows o | x) − log P(u, v, window shows o | y).

What U and V tell of the record fades with r, so the bound comes as close to the truth as wanted.
A record near an end has all records on that side in its window.
"""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.marginals import log_marginals
from tellapart.worlds.models.base import Mask, logs_of
from tellapart.worlds.models.grid import Grid, emitted, grid_of
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.pairs.finite_outputs import log_likelihoods

_MOST_RADIUS, _MOST_ATOMS = 96, 1024
_FADED, _ROUNDING = 1e-11, 1e-11


def window_bound(chain: MarkovChain, query: Query, scale: float) -> Array | None:
    """At most this much is told of each record; None where no window is worth while.

    For sums on a grid in which all records count alike.
    """
    weights = weights_of(query, chain.length)
    reach = int(grid_of(weights[:1], [chain.domain(0)]).steps[0].max())
    radius = min(forgotten(chain.transition), _MOST_RADIUS, _MOST_ATOMS // (2 * reach + 1))
    if radius < 1 or 2 * radius >= chain.length:
        return None
    return Windows(chain, weights, scale, radius).epsilons()


def forgotten(transition: Array) -> int:
    """How far away a state is forgotten."""
    sizes = np.sort(np.abs(np.linalg.eigvals(transition)))
    slowest = float(sizes[-2]) if sizes.size > 1 else 0.0
    if slowest >= 1 - 1e-9:
        return _MOST_RADIUS
    return max(2, int(np.ceil(np.log(_FADED) / np.log(max(slowest, 1e-9)))))


class Windows:
    """Windows of one radius around all records of a chain."""

    def __init__(self, chain: MarkovChain, weights: Array, scale: float, radius: int) -> None:
        self.length, self.radius, self.release = chain.length, radius, Laplace(scale)
        grid = grid_of(weights[: radius + 1], [chain.domain(0)] * (radius + 1))
        self.width = grid.width
        self.parts = SegmentSums(chain, grid, radius + 1)
        self.shares = log_marginals(chain.initial, chain.transition, chain.length)

    def epsilons(self) -> Array:
        r, length = self.radius, self.length
        far = self.parts.between[r - 1]
        states = range(len(far))
        epsilons = np.full(length, -np.inf)
        for t in range(r):
            rest = length - 1 - t
            for v in states:
                apart = self._apart(self.parts.start[t], far[:, v])
                epsilons[t] = max(epsilons[t], float(self._told(apart, np.array([t]))[0]))
            for u in states:
                if self.shares[rest - r, u] > -np.inf:
                    apart = self._apart(far[u], self.parts.end[t])
                    epsilons[rest] = max(
                        epsilons[rest], float(self._told(apart, np.array([rest]))[0])
                    )
        for u in states:
            inner = np.arange(r, length - r)
            inner = inner[self.shares[inner - r, u] > -np.inf]
            for v in states:
                apart = self._apart(far[u], far[:, v])
                epsilons[inner] = np.maximum(epsilons[inner], self._told(apart, inner))
        return np.asarray(epsilons + _ROUNDING * (1 + np.abs(epsilons)))

    def _apart(self, before: Array, after: Array) -> Array:
        """For any two states the largest log-ratio of what the window shows with each."""
        rows = logpoly.multiply_each(before, after)
        possible = rows.max(axis=1) > -np.inf
        moved = self.parts.emitted(rows, possible)
        sums = np.asarray(self.width * np.arange(moved.shape[1]), dtype=float)
        seen = log_likelihoods(sums, moved, self.release)
        with np.errstate(invalid="ignore"):
            apart = (seen[:, None] - seen[None]).max(axis=2)
        # A part that a state cannot show adds nothing to it, and tells all of any other.
        apart = np.where(possible, apart, np.inf)
        return np.where(possible[:, None], apart, -np.inf)

    def _told(self, apart: Array, records: Array) -> Array:
        """The same given each state, for the worst two that these records may have."""
        shares = self.shares[records]
        held = (shares[:, :, None] > -np.inf) & (shares[:, None, :] > -np.inf)
        with np.errstate(invalid="ignore"):
            given = apart - shares[:, :, None] + shares[:, None, :]
        return np.asarray(np.where(held, given, -np.inf).max(axis=(1, 2)))


class SegmentSums:
    """Log-polynomials in the sum of all records that lie between, in steps of the grid.

    ``start[i]`` is of the records before record i, with its state; ``end[i]`` of i records that
    follow, given the state before them; ``between[i]`` of i records between two states, given the
    first and with the second. Each for less than ``length`` records.
    """

    def __init__(self, chain: MarkovChain, grid: Grid, length: int) -> None:
        self.length, self.states = length, chain.initial.size
        self.steps = grid.steps[0]
        logs = logs_of(chain.transition)
        every = np.ones(self.states, dtype=bool)
        self.start = [logs_of(chain.initial)[:, None]]
        self.end = [np.zeros((self.states, 1))]
        self.between = [np.array([row[:, None] for row in logs])]
        for _ in range(1, self.length):
            self.start.append(logpoly.mix(emitted(self.start[-1], self.steps, every), logs))
            self.end.append(logpoly.mix(emitted(self.end[-1], self.steps, every), logs.T))
            last = self.between[-1]
            further = [logpoly.mix(emitted(row, self.steps, every), logs) for row in last]
            self.between.append(np.array(further))
        # Which states each record may have.
        self.possible = np.array([row.max(axis=1) > -np.inf for row in self.start])

    def law(self, before: Array, after: Array) -> Array | None:
        """For each state the law of the sum; None where fewer than two states can be."""
        rows = logpoly.multiply_each(before, after)
        whole = logpoly.total(rows, axis=1)
        possible = whole > -np.inf
        if possible.sum() < 2:
            return None
        rows[possible] -= whole[possible, None]
        return self.emitted(rows, possible)

    def emitted(self, rows: Array, possible: Mask) -> Array:
        """With the record's own state added to the sum."""
        return emitted(rows, self.steps, possible)

    def starts(self, end: int) -> list[tuple[int, int]]:
        """For each state the first of so many records that may have it, if any may."""
        some = self.possible[:end]
        states = [state for state in range(self.states) if some[:, state].any()]
        return [(int(some[:, state].argmax()), state) for state in states]
