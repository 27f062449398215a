"""Which pair of states leaks: leakage kept for every ordered pair, one linear programme each.

Likelihoods z of the neighbouring state obey z_j ≤ e^A[j,k]·z_k. The largest (q·z)/(d·z) is a linear
programme. Its answer is not trusted: any flows f ≥ 0 between states prove

    q·z ≤ c·d·z   for every such z,   with c = max over j of v_j/d_j,
    v_j = q_j − Σ_k f_jk + Σ_i e^A[i,j]·f_ij,

and the solver's dual values are taken as flows. So every number is an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.worlds.markov.temporal import EPS, plus, prefixes, ratios

Links = NDArray[np.intp]

# Ratios beyond e^this upset the solver; leaving such a limit out can only raise the bound.
_STEEPEST = 25.0

# As many limits as one programme has at most, if it serves more than one pair.
_ROWS = 20_000


def closed(budgets: Array) -> Array:
    """Budgets that also use detours: x against y leaks no more than x against z against y."""
    found = budgets.copy()
    for middle in range(len(found)):
        found = np.minimum(found, plus(found[:, middle, None], found[None, middle, :]))
    return found


def recursion(maps: Sequence[Array | None], budgets: Sequence[Array]) -> list[Array]:
    """What each time inherits about every ordered pair: 0 at first, then from its neighbour."""
    inherited = [np.zeros_like(budgets[0])]
    for matrix, budget in zip(maps, budgets[:-1], strict=True):
        leaked = plus(inherited[-1], budget)
        inherited.append(np.zeros_like(budget) if matrix is None else carried(matrix, leaked))
    return inherited


def carried(transition: Array, leaked: Array) -> Array:
    """The log-ratio that each ordered pair of rows inherits from leakages about its entries."""
    if len(transition) == 2:
        return _two_states(transition, leaked)
    scalar = _scalar(transition, leaked)
    limits = np.where(leaked > _STEEPEST, np.inf, leaked)
    factors = np.where(np.isinf(limits), 0.0, np.exp(np.minimum(limits, _STEEPEST)))
    pairs = [(x, y) for x, y in np.argwhere(scalar > 0) if _is_finite(transition, limits, x, y)]
    linked = np.argwhere(np.isfinite(limits) & ~np.eye(len(leaked), dtype=bool))
    at_once = max(1, _ROWS // max(len(linked), 1))
    found = scalar.copy()
    for start in range(0, len(pairs), at_once):
        some = pairs[start : start + at_once]
        for (x, y), flow in zip(some, _flows(transition, factors, linked, some), strict=True):
            bound = proved(transition[x], transition[y], factors, linked, flow)
            found[x, y] = min(found[x, y], bound)
    return found


def _two_states(transition: Array, leaked: Array) -> Array:
    """One ratio of likelihoods only, largest at an end: exact."""
    found = np.zeros((2, 2))
    for x, y in ((0, 1), (1, 0)):
        up = int(transition[x, 1] > transition[y, 1])
        d, gain = transition[y, up], transition[x, up] - transition[y, up]
        found[x, y] = ratios(d, np.maximum(gain, 0.0), leaked[up, 1 - up], 2)
    return found


def _scalar(transition: Array, leaked: Array) -> Array:
    """What the largest leakage alone would say about each pair."""
    worst = np.asarray(leaked.max())
    found = np.zeros_like(leaked)
    for x, row in enumerate(transition):
        d, gain = prefixes(row, transition)
        found[x] = ratios(d, gain, worst, len(row)).max(axis=-1)
    return found


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
