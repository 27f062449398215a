"""Convolution of privacy losses: tails of subsampled Gaussian steps from the density of their sum.

Slower than a contour, a tenth of a second to a few, but it answers where a contour cannot: few
steps, or rare large losses beside many small ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.curve.loss_tails import Tails
from tellapart.errors import NotCertified

Indices = NDArray[np.intp]
# How far off the logarithm of a density may be, from log u and that logarithm: above 1, anything.
Tolerance = Callable[[Array, Array], Array]

_REFUSED = "these losses are too rough to convolve; ask mechanism.bracket(delta)"
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
class LogDensity:
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
        panel = np.searchsorted(self.edges, v, side="right") - 1
        return np.asarray(np.clip(panel, 0, self._middles.size - 1))

    def at(self, panel: Indices, v: Array) -> Array:
        """The logarithm of the density at columns of v, each column within one panel."""
        here = (v - self._middles[panel]) / self._halves[panel]
        columns = self.coefficients[:, panel]
        logs = columns[-1] * here
        for column in columns[-2:0:-1]:
            logs += column
            logs *= here
        logs += columns[0]
        return np.asarray(logs)

    def lifted(self, by: float) -> LogDensity:
        """The same shape, its logarithm higher."""
        columns = self.coefficients.copy()
        columns[0] += by
        return LogDensity(self.edges, columns)

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


def in_panels(
    log_density: Callable[[Array], Array], edges: Array, tolerance: Tolerance
) -> LogDensity:
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
    return LogDensity(np.append(starts, ends[-1]), np.ascontiguousarray(rows.T))


def convolved(density: LogDensity, other: LogDensity, tolerance: Tolerance) -> LogDensity:
    """The law of an independent sum of two."""

    def log_density(v: Array) -> Array:
        u = np.exp(v)
        first = _below_half(density, other, u)
        second = first if other is density else _below_half(other, density, u)
        return np.asarray(np.logaddexp(first, second))

    wide = density if density.ends[-1] >= other.ends[-1] else other
    low, high = np.log(density.ends[[0, -1]] + other.ends[[0, -1]])
    shift = np.log1p(min(density.ends[-1], other.ends[-1]) / wide.ends[-1])
    inside = wide.edges + shift
    inside = inside[(inside > low + 1e-12) & (inside < high - 1e-12)]
    return in_panels(log_density, np.concatenate([[low], inside, [high]]), tolerance)


def _below_half(density: LogDensity, other: LogDensity, u: Array) -> Array:
    """The logarithm of ∫ one(w)·other(u − w) dw over w ≤ u/2, in the variable log w."""
    parts = np.array_split(u, -(-u.size * density.edges.size // _AT_ONCE))
    return np.concatenate([_some_below_half(density, other, part) for part in parts])


def _some_below_half(density: LogDensity, other: LogDensity, u: Array) -> Array:
    with np.errstate(divide="ignore"):
        mirrored = np.log(np.maximum(u[:, None] - other.ends, 0.0))
    high = np.minimum(np.minimum(np.log(u / 2), density.edges[-1]), mirrored[:, 0])
    high = np.maximum(high, density.edges[0])
    low = np.minimum(np.maximum(density.edges[0], mirrored[:, -1]), high)
    # Between neighbouring ends of either law's panels both are smooth.
    edges = np.broadcast_to(density.edges, (u.size, density.edges.size))
    cuts = np.concatenate([edges, mirrored, np.log(u / 2)[:, None] - _NEAR_HALF], axis=1)
    cuts = np.sort(np.clip(cuts, low[:, None], high[:, None]), axis=1)
    row, column = np.nonzero(np.diff(cuts, axis=1) > 0)
    if not row.size:
        return np.full(u.shape, -np.inf)
    left, right = cuts[row, column], cuts[row, column + 1]
    middle, half, rest = (left + right) / 2, (right - left) / 2, u[row]
    here, there = density.panel(middle), other.panel(np.log(rest - np.exp(middle)))

    def logs(some: Any, points: Array) -> Array:
        v = middle[some] + np.multiply.outer(points, half[some])
        beyond = np.log(rest[some] - np.exp(v))
        return np.asarray(density.at(here[some], v) + other.at(there[some], beyond) + v)

    size = np.log(half)
    about = logs(slice(None), np.array([-1.0, 0.0, 1.0])).max(axis=0) + size
    top = np.full(u.shape, -np.inf)
    np.maximum.at(top, row, about)
    alive = np.flatnonzero(about > top[row] - _NEGLIGIBLE)
    row = row[alive]
    masses = _WEIGHTS @ np.exp(logs(alive, _INNER) + (size[alive] - top[row]))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.bincount(row, weights=masses, minlength=u.size)) + top)


Steps = tuple[tuple[MixtureLoss, int], ...]

# Tails down to such sizes keep their digits; a deeper table is made when it is asked for.
_DEPTHS = (1e-12, 1e-35, 1e-90, 1e-290)
# What is e^−33 below that is left out; what is above it is resolved to this share.
_MARGIN = 33.0
_RESOLVED = 2e-13
# By so much, in deviations of the sum, may its masses miss 1: as far may ε be off, about.
_MASS = 1e-10
_THRESHOLDS_AT_ONCE = 200


class Convolution:
    """The tails of a sum of losses, each with its own digits however small it is."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._sums: dict[float, _Sum] = {}

    def tails(self, t: Array) -> Tails:
        return self.both_ways(t)[0]

    def both_ways(self, t: Array) -> tuple[Tails, Tails]:
        """The tails at t, and at −t with the hypotheses exchanged."""
        out = np.empty((2, len(Tails._fields), t.size))
        todo = np.arange(t.size)
        # The least deep that is there serves what it can; others are made when they are needed.
        for depth in [size for size in _DEPTHS if size <= max(self._sums, default=1.0)]:
            tails = self._sum(depth).both_ways(t[todo])
            out[:, :, todo] = tails
            todo = todo[np.minimum(tails[0, 1], tails[0, 3]) < depth]
            if not todo.size:
                break
        return Tails(*out[0]), Tails(*out[1])

    def known(self, size: float) -> tuple[Array, Tails, Tails]:
        """Some thresholds and their tails both ways, down to about this size."""
        return self._sum(next((depth for depth in _DEPTHS if depth <= size), _DEPTHS[-1])).known

    def guess_fpr(self, fpr: Array) -> Array:
        t, tails, _ = self.known(float(np.minimum(fpr, 1 - fpr).min()))
        return _where_fpr(fpr, t, tails)

    def guess_delta(self, log_delta: Array) -> Array:
        t, tails, _ = self.known(math.exp(max(float(log_delta.min()), -700.0)))
        return _where_delta(log_delta, t, tails)

    def deviation(self) -> float:
        return _deviation(self._steps)

    def _sum(self, depth: float) -> _Sum:
        if depth not in self._sums:
            self._sums[depth] = _Sum(self._steps, depth)
        return self._sums[depth]


class ReflectedConvolution:
    """The tails of a convolution with the hypotheses exchanged."""

    def __init__(self, behind: Convolution) -> None:
        self._behind = behind

    def tails(self, t: Array) -> Tails:
        return self._behind.both_ways(-t)[1]

    def guess_fpr(self, fpr: Array) -> Array:
        t, _, back = self._behind.known(float(np.minimum(fpr, 1 - fpr).min()))
        return _where_fpr(fpr, -t, back)

    def guess_delta(self, log_delta: Array) -> Array:
        t, _, back = self._behind.known(math.exp(max(float(log_delta.min()), -700.0)))
        return _where_delta(log_delta, -t, back)

    def deviation(self) -> float:
        return self._behind.deviation()


class _PartialSum(NamedTuple):
    """The law of some of the steps' losses, above their least sum."""

    density: LogDensity
    steps: int
    least: float


class _Sum:
    """The density of a sum of losses, resolved where either hypothesis has more than so little."""

    def __init__(self, steps: Steps, depth: float) -> None:
        self._depth = math.log(depth)
        spread = _deviation(steps)
        if not 0 < spread < math.inf:
            raise NotCertified("losses beyond what doubles hold cannot be convolved")
        self._off = _MASS / min(1.0, spread)
        self._total = sum(count for _, count in steps)
        whole, _, self._least = self._joined([self._power(loss, count) for loss, count in steps])
        self._density = whole
        v, logs, _ = whole.pieces(whole.edges[:1], whole.edges[-1:])
        lifted = float(np.exp(logs + self._least + np.exp(v)).sum())
        self._check_mass(lifted)

    def _power(self, loss: MixtureLoss, count: int) -> _PartialSum:
        """One step taken so often, by its binary digits."""
        doubled, parts = _PartialSum(self._single(loss), 1, loss.least), []
        while True:
            deadline.check()
            if count & doubled.steps:
                parts.append(doubled)
            if 2 * doubled.steps > count:
                return self._joined(parts)
            doubled = self._joined([doubled, doubled])

    def _joined(self, parts: list[_PartialSum]) -> _PartialSum:
        """Independent parts together, with mass 1."""
        so_far = parts[0]
        for part in parts[1:]:
            deadline.check()
            steps, least = so_far.steps + part.steps, so_far.least + part.least
            so_far = _PartialSum(
                self._convolved(so_far.density, part.density, steps, least), steps, least
            )
        return so_far

    def _single(self, loss: MixtureLoss) -> LogDensity:
        reach = math.sqrt(2 * (_MARGIN - self._depth + math.log(self._total)))
        ends = loss.above_least(np.linspace(-reach, reach + loss.reach, 13))
        return in_panels(
            loss.log_density_above_least, ends, lambda v, _: np.full(v.shape, _RESOLVED)
        )

    def _convolved(
        self, density: LogDensity, other: LogDensity, steps: int, least: float
    ) -> LogDensity:
        """Both laws' sum, which stands for so many steps, with mass 1."""
        share = self._depth + math.log(steps / self._total)

        def tolerance(v: Array, logs: Array) -> Array:
            # By the larger of its masses under the two hypotheses.
            size = logs + v + np.maximum(least + np.exp(v), 0.0)
            return np.asarray(_RESOLVED * np.exp(np.clip(share - size, 0.0, _MARGIN)))

        both = convolved(density, other, tolerance)
        mass = both.mass()
        self._check_mass(mass)
        return both.lifted(-math.log(mass))

    def _check_mass(self, mass: float) -> None:
        if not abs(mass - 1) < self._off:
            off = f"convolved losses came out with a mass off 1 by {short(mass - 1, 2)}"
            raise NotCertified(f"{off}; mechanism.bracket(delta) may answer")

    def both_ways(self, t: Array) -> Array:
        """The tails at t, and at −t with the hypotheses exchanged."""
        parts = np.array_split(t, -(-t.size // _THRESHOLDS_AT_ONCE))
        return np.concatenate([self._both_ways(part) for part in parts], axis=-1)

    def _both_ways(self, t: Array) -> Array:
        edges = self._density.edges
        with np.errstate(divide="ignore"):
            v = np.clip(np.log(t - self._least), edges[0], edges[-1])
        ends = np.full(t.shape, edges[0]), np.full(t.shape, edges[-1])
        fpr, tpr, delta = self._beyond(t, v, ends[1], 1)
        tnr, fnr, back = self._beyond(t, ends[0], v, -1)
        inside = (v > edges[0]) & (v < edges[-1])
        with np.errstate(divide="ignore"):
            log = np.where(inside, self._density.at(self._density.panel(v), v), -np.inf)
        density, lifted = np.exp(log), np.exp(log + t)
        there = np.stack([fpr, tpr, fnr, tnr, delta, density])
        return np.stack([there, np.stack([fnr, tnr, fpr, tpr, back, lifted])])

    def _beyond(self, t: Array, low: Array, high: Array, side: int) -> tuple[Array, Array, Array]:
        """The masses between low and high under both hypotheses, and the mean of |1 − e^(t − s)|+.

        On the other side the mean is under the other hypothesis.
        """
        v, logs, row = self._density.pieces(low, high)
        s = self._least + np.exp(v)
        absent, present = np.exp(logs), np.exp(logs + s)
        gain = -np.expm1(side * (t[row] - s)) * (present if side > 0 else absent)
        sums = (x.sum(axis=0) for x in (absent, present, np.maximum(gain, 0.0)))
        masses = np.stack([np.bincount(row, weights=x, minlength=t.size) for x in sums])
        return masses[0], masses[1], masses[2]

    @cached_property
    def known(self) -> tuple[Array, Tails, Tails]:
        """Some thresholds and their tails both ways."""
        edges = self._density.edges
        v = np.unique(np.concatenate([edges[:-1] + k / 4 * np.diff(edges) for k in range(4)]))
        t = self._least + np.exp(v[1:])
        there, back = self.both_ways(t)
        return t, Tails(*there), Tails(*back)


def _deviation(steps: Steps) -> float:
    """Of the sum, tilted half way between the hypotheses."""
    parts = (n * float(loss.cumulants(np.array([0.5])).variance[0]) for loss, n in steps)
    return math.sqrt(sum(parts))


def _where_fpr(fpr: Array, t: Array, tails: Tails) -> Array:
    with np.errstate(divide="ignore"):
        logit = np.log(tails.fpr) - np.log(tails.tnr)
    return _where(np.log(fpr) - np.log1p(-fpr), t, logit)


def _where_delta(log_delta: Array, t: Array, tails: Tails) -> Array:
    with np.errstate(divide="ignore"):
        return _where(log_delta, t, np.log(tails.delta))


def _where(asked: Array, t: Array, values: Array) -> Array:
    """About where a falling function has these values."""
    order = np.argsort(-t)
    rising, t = np.maximum.accumulate(np.nan_to_num(values[order], neginf=-1e9)), t[order]
    return np.asarray(np.interp(asked, rising, t))
