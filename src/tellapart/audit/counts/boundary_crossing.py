"""Boundary crossing by two empirical processes: the power of tests at many ranks at once.

Take the k-th largest of n non-member scores; a test at that rank refutes where c or more of the m
members lie beyond it. In terms of the false-positive rate at each score, which is uniform for
non-members, that is V_(c) < U_(k) for order statistics from the suspicious end; members have the
law P[V ≤ u] = g(u), g the true ROC curve. From the other end, where non-members are counted beyond
the k-th least suspicious member, it is V_(m−k+1) < U_(n−d+1). So every test has one shape, and

    no test refutes  ⟺  U_(a) < V_(b) for every (a, b) of a list that rises in both.

Given U_(a), the next one asked for is a Markov step, U_(a') = u + (1 − u)·Beta(a' − a, n − a' + 1),
and so is g(V_(b)), which is uniform, independently. As in Noé's recursion for one empirical process
(Noé 1972; Shorack and Wellner 1986, chapter 9), the joint law of both is carried from one boundary
to the next, what lies beyond it left out.

It is carried on grids. Both steps are stochastically increasing: a U rounded down before each step
stays below the true one, a V rounded up above it, by coupling, so what then crosses crosses in
truth; rounded the other way, what crosses in truth crosses. The two enclose the power, a few points
apart. Halfway between them the rounding cancels but for its square.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betainccinv, betaincinv, ndtr

from tellapart._checks import Array

Whole = NDArray[np.int64]

# Points of a grid, over so many deviations to either side, and of a table of a Beta law.
_POINTS, _WIDE = 160, 4.0
_ROWS = 10
_TABLE, _LEFT_OUT = 1024, 1e-10


@dataclass(frozen=True)
class Boundaries:
    """Which order statistics must stay in order, lest a test refute: U_(a) < V_(b) for each pair.

    ``always`` says that some test refutes whatever is drawn.
    """

    always: bool
    roundings: tuple[_Rounded, ...]  # that cross less often than in truth, and more often

    @classmethod
    def of(cls, first: Whole, second: Whole, uniforms: int, members: int) -> Boundaries:
        """For pairs (a, b) of ranks among so many of either sample."""
        can = second <= members
        kept = _needed(first[can], second[can])
        always = bool(np.any(second <= 0) or np.any(first > uniforms))
        if always or not kept.size:
            return cls(always, ())
        counts = (uniforms, members)
        return cls(False, tuple(_Rounded.of(kept, counts, apart=apart) for apart in (True, False)))

    def power(self, roc: Callable[[Array], Array]) -> float:
        """The chance that some test refutes, where this is the ROC of the truth.

        Halfway between both roundings, less the square of their distance. That the square is more
        than the middle is off was seen on finer grids, and is not proven; `enclosed` is.
        """
        if not self.roundings:
            return float(self.always)
        least, most = self.enclosed(roc)
        return max((least + most) / 2 - (most - least) ** 2, least, 0.0)

    def enclosed(self, roc: Callable[[Array], Array]) -> tuple[float, float]:
        """What that chance surely lies between, where some test can refute but need not."""
        least, most = (1 - rounded.in_order(roc) for rounded in self.roundings)
        return least, most


@dataclass(frozen=True)
class _Rounded:
    """Order statistics on grids: their points, and the chances of steps from grid to grid."""

    rates: Array
    limits: Array
    uniform: tuple[Array, ...]
    members: tuple[Array, ...]

    @classmethod
    def of(cls, pairs: Whole, counts: tuple[int, int], *, apart: bool) -> _Rounded:
        """Rounded ``apart``, U down and g(V) up, or towards each other."""
        rates, uniform = _steps(pairs[:, 0], counts[0], up=not apart)
        limits, members = _steps(pairs[:, 1], counts[1], up=apart)
        return cls(rates, limits, uniform, members)

    def in_order(self, roc: Callable[[Array], Array]) -> float:
        """The chance that all pairs stay in order."""
        law = np.ones((1, 1))
        allowed = np.clip(roc(self.rates), 0.0, 1.0)
        each = zip(self.uniform, self.members, allowed, self.limits, strict=True)
        for uniform, members, share, limit in each:
            law = _product(_product(uniform.T, law), members)
            law *= limit >= share[:, None]
        return float(law.sum())


def _product(first: Array, second: Array) -> Array:
    """The product of two matrices, a few rows at a time: so small that none is cut for threads.

    To wait for each other takes threads many times as long as these products do, where other
    programs keep the processors busy.
    """
    rows = _ROWS if len(first) % _ROWS == 0 else 1
    parts = np.ascontiguousarray(first).reshape(-1, rows, first.shape[1])
    return np.asarray((parts @ second).reshape(len(first), -1))


def _needed(first: Whole, second: Whole) -> Whole:
    """Pairs of which none follows from another: U_(a) < V_(b) from a' ≥ a and b' ≤ b."""
    kept: list[tuple[int, int]] = []
    for a, b in sorted(zip(first.tolist(), second.tolist(), strict=True), reverse=True):
        if a > 0 and (not kept or b < kept[-1][1]):
            if kept and kept[-1][0] == a:
                kept.pop()
            kept.append((a, b))
    return np.array(kept[::-1], dtype=np.int64).reshape(-1, 2)


def _steps(ranks: Whole, count: int, *, up: bool) -> tuple[Array, tuple[Array, ...]]:
    """Grids for order statistics of uniforms, and the chances of each step between their points."""
    spread = ndtr(np.linspace(-_WIDE, _WIDE, _POINTS))
    grids = betaincinv(ranks[:, None], (count - ranks + 1)[:, None], spread)
    # Whatever lies beyond the last point, where it must not be moved inwards, goes to the end.
    grids[:, -1 if up else 0] = 1.0 if up else 0.0
    start, before, steps = np.zeros(1), 0, list[Array]()
    for rank, grid in zip(ranks.tolist(), grids, strict=True):
        below = _step_law(rank - before, count - rank + 1, start, grid)
        if up:  # the mass up to each point goes to it
            below[:, -1] = 1.0
            steps.append(np.diff(below, axis=1, prepend=0.0))
        else:  # the mass from each point on stays at it
            steps.append(np.diff(below, axis=1, append=1.0))
        start, before = grid, rank
    return grids, tuple(steps)


def _step_law(a: int, b: int, start: Array, grid: Array) -> Array:
    """The chance that start + (1 − start)·Beta(a, b) stays below each point of a grid."""
    ends = betaincinv(a, b, _LEFT_OUT), betainccinv(a, b, _LEFT_OUT)
    places = np.linspace(*ends, _TABLE)
    table = betainc(a, b, places)
    left = 1 - start[:, None]
    share = (grid - start[:, None]) / np.where(left > 0, left, 1.0)
    below = np.interp(share, places, table, left=0.0, right=1.0)
    return np.where(left > 0, below, grid >= 1.0)
