"""Densities of sums, folded in the open: for laws with tails too heavy for a contour.

A law on (0, ∞) is kept as the logarithm of its density, in panels of log u. The density of a sum
of two is an integral of products, all positive: no digit is lost however small it is, and however
many scales it has, a narrow bulk and rare large terms. Powers take a fold or two for each binary
digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart.errors import NotCertified

Indices = NDArray[np.intp]
# How far off the logarithm of a density may be, from log u and that logarithm: above 1, anything.
Tolerance = Callable[[Array, Array], Array]

_REFUSED = "these losses are too rough to fold; ask mechanism.bracket(delta)"
# Chebyshev points of a panel; the matrices turn values there into coefficients.
_POINTS = 14
_ANGLES = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
_NODES = np.cos(_ANGLES)
_CHEBYSHEV = np.cos(np.outer(np.arange(_POINTS), _ANGLES)) * 2 / _POINTS
_CHEBYSHEV[0] /= 2
_POWERS = np.zeros((_POINTS, _POINTS))
for _k in range(_POINTS):
    _POWERS[: _k + 1, _k] = cheb2poly(np.eye(_POINTS)[_k])[: _k + 1]
# Gauss-Legendre points within a panel, or between neighbouring ends of two laws' panels.
_INNER, _WEIGHTS = leggauss(16)
# A panel is fine enough when its last coefficients are small and its logarithm varies little: of
# e^30, as products of two panels may, 16 points integrate all but 1e-13.
_VARIES = 15.0
_ULP = 2.0**-52
# e^−34: what is left out, relative to what is summed.
_NEGLIGIBLE = 34.0
_MOST_ROUNDS = 30
_MOST_PANELS = 300
# Pieces end so far below log(u/2): log(u − w) is singular at w = u, log 2 beyond the last of them,
# and a Gauss rule of 16 points has its digits only where that is more than its width away.
_NEAR_HALF = np.array([1.0, 3.0, 9.0])
# So many (sum, panel) pairs at once stay in the cache.
_AT_ONCE = 1 << 11


@dataclass(frozen=True, eq=False)
class Law:
    """The logarithm of a density on (0, ∞) at u = e^v: a polynomial on each of some panels of v."""

    edges: Array
    coefficients: Array  # of powers, one column a panel

    @cached_property
    def ends(self) -> Array:
        """The panels' ends, as u."""
        return np.asarray(np.exp(self.edges))

    @cached_property
    def _middles(self) -> Array:
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    @cached_property
    def _halves(self) -> Array:
        return np.asarray((self.edges[1:] - self.edges[:-1]) / 2)

    def panel(self, v: Array) -> Indices:
        """The panel in which each v lies, the nearest for those beyond the ends."""
        found = np.searchsorted(self.edges, v, side="right") - 1
        return np.asarray(np.clip(found, 0, self._middles.size - 1))

    def at(self, panel: Indices, v: Array) -> Array:
        """The logarithm of the density at columns of v, each column within one panel."""
        here = (v - self._middles[panel]) / self._halves[panel]
        columns = self.coefficients[:, panel]
        found = columns[-1] * here
        for column in columns[-2:0:-1]:
            found += column
            found *= here
        found += columns[0]
        return np.asarray(found)

    def lifted(self, by: float) -> Law:
        """The same shape, its logarithm higher."""
        columns = self.coefficients.copy()
        columns[0] += by
        return Law(self.edges, columns)

    def pieces(self, low: Array, high: Array) -> tuple[Array, Array, Indices]:
        """Points v, the log of density times weight there, and whose interval of v they are in."""
        left = np.clip(self.edges[None, :-1], low[:, None], high[:, None])
        right = np.clip(self.edges[None, 1:], low[:, None], high[:, None])
        row, panel = np.nonzero(right > left)
        middle, half = (right + left)[row, panel] / 2, (right - left)[row, panel] / 2
        v = middle + np.multiply.outer(_INNER, half)
        logs = self.at(panel, v) + v + np.log(_WEIGHTS)[:, None] + np.log(half)
        return v, logs, row

    def mass(self) -> float:
        """The whole integral."""
        return float(np.exp(self.pieces(self.edges[:1], self.edges[-1:])[1]).sum())


def law(log_density: Callable[[Array], Array], edges: Array, tolerance: Tolerance) -> Law:
    """Panels fine enough for a log-density of v, between these ends."""
    low, high = edges[:-1], edges[1:]
    kept: list[tuple[Array, Array, Array]] = []
    for _ in range(_MOST_ROUNDS):
        deadline.check()
        v = (low + high) / 2 + np.multiply.outer(_NODES, (high - low) / 2)
        logs = log_density(v.ravel()).reshape(v.shape)
        allowed = np.where(np.isfinite(logs), tolerance(v, logs), np.inf).min(axis=0)
        alive = allowed < 1
        low, high, logs, allowed = low[alive], high[alive], logs[:, alive], allowed[alive]
        known = np.isfinite(logs).all(axis=0)
        logs = np.where(known, logs, 0.0)
        columns = _CHEBYSHEV @ logs
        varies = np.ptp(logs, axis=0)
        # The rounding of v alone is worth as much as the slope.
        allowed += 16 * _ULP * varies * (1 + (1 + np.abs(high)) / (high - low))
        fine = known & (varies < _VARIES) & (np.abs(columns[-2:]).max(axis=0) < allowed)
        kept.append((low[fine], high[fine], (_POWERS @ columns[:, fine]).T))
        low, high = low[~fine], high[~fine]
        middle = (low + high) / 2
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        if not low.size or low.size > _MOST_PANELS:
            break
    starts, ends, rows = (np.concatenate(part) for part in zip(*kept, strict=True))
    order = np.argsort(starts)
    starts, ends, rows = starts[order], ends[order], rows[order]
    if low.size or not starts.size or np.any(starts[1:] != ends[:-1]):
        raise NotCertified(_REFUSED)
    return Law(np.append(starts, ends[-1]), np.ascontiguousarray(rows.T))


def fold(one: Law, other: Law, tolerance: Tolerance) -> Law:
    """The law of an independent sum of two."""

    def log_density(v: Array) -> Array:
        u = np.exp(v)
        first = _below_half(one, other, u)
        second = first if other is one else _below_half(other, one, u)
        return np.asarray(np.logaddexp(first, second))

    wide = one if one.ends[-1] >= other.ends[-1] else other
    low, high = np.log(one.ends[[0, -1]] + other.ends[[0, -1]])
    shift = np.log1p(min(one.ends[-1], other.ends[-1]) / wide.ends[-1])
    inside = wide.edges + shift
    inside = inside[(inside > low + 1e-12) & (inside < high - 1e-12)]
    return law(log_density, np.concatenate([[low], inside, [high]]), tolerance)


def _below_half(one: Law, other: Law, u: Array) -> Array:
    """The logarithm of ∫ one(w)·other(u − w) dw over w ≤ u/2, in the variable log w."""
    parts = np.array_split(u, -(-u.size * one.edges.size // _AT_ONCE))
    return np.concatenate([_some_below_half(one, other, part) for part in parts])


def _some_below_half(one: Law, other: Law, u: Array) -> Array:
    with np.errstate(divide="ignore"):
        mirrored = np.log(np.maximum(u[:, None] - other.ends, 0.0))
    high = np.minimum(np.minimum(np.log(u / 2), one.edges[-1]), mirrored[:, 0])
    high = np.maximum(high, one.edges[0])
    low = np.minimum(np.maximum(one.edges[0], mirrored[:, -1]), high)
    # Between neighbouring ends of either law's panels both are smooth.
    edges = np.broadcast_to(one.edges, (u.size, one.edges.size))
    cuts = np.concatenate([edges, mirrored, np.log(u / 2)[:, None] - _NEAR_HALF], axis=1)
    cuts = np.sort(np.clip(cuts, low[:, None], high[:, None]), axis=1)
    row, column = np.nonzero(np.diff(cuts, axis=1) > 0)
    if not row.size:
        return np.full(u.shape, -np.inf)
    left, right = cuts[row, column], cuts[row, column + 1]
    middle, half, rest = (left + right) / 2, (right - left) / 2, u[row]
    here, there = one.panel(middle), other.panel(np.log(rest - np.exp(middle)))

    def logs(some: Any, points: Array) -> Array:
        v = middle[some] + np.multiply.outer(points, half[some])
        beyond = np.log(rest[some] - np.exp(v))
        return np.asarray(one.at(here[some], v) + other.at(there[some], beyond) + v)

    size = np.log(half)
    about = logs(slice(None), np.array([-1.0, 0.0, 1.0])).max(axis=0) + size
    top = np.full(u.shape, -np.inf)
    np.maximum.at(top, row, about)
    alive = np.flatnonzero(about > top[row] - _NEGLIGIBLE)
    row = row[alive]
    found = _WEIGHTS @ np.exp(logs(alive, _INNER) + (size[alive] - top[row]))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.bincount(row, weights=found, minlength=u.size)) + top)
