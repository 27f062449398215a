"""Moments accountant (Rényi, Chernoff): lines that no attack on a composition crosses.

Two sources, every line of which holds on its own:

- sums of losses that rounding only raised (`DiscretisedLoss.stronger`), on one grid, coarse
  enough to be quick: every error is counted, and few exceed 1e-4·max(1, ε) (rare large losses
  beside many small ones: 0.02);
- moments, for whatever no grid holds: with s > 0 and M(1 + s) the mean of e^(s·loss) under h1,
  δ(ε) ≤ M(1 + s)·e^(−s·ε)·s^s/(1 + s)^(1 + s), as (1 − e^(−x))⁺ is at most that factor times
  e^(s·x) (Canonne, Kamath and Steinke 2020, Proposition 12).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.convolution import TiltedSum, composed
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.certified.discretise import discretised, from_two_profiles, sketched
from tellapart.curve.certified.tilts import Guide
from tellapart.curve.composition.loss_laws import LossLaw
from tellapart.errors import NotCertified

Steps = Sequence[tuple[LossLaw, int]]

# Tilts for these δ show every δ between them and beside them.
_DELTAS = (1e-2, 1e-6, 1e-12, 1e-20)
# What one pass over a grid is meant to be off by, as a share of max(1, ε).
_GAP = 5e-5
_MOST_POINTS = 1 << 19
_COARSER = 24
# Chances below this are told from 0 by moments alone.
_TAIL = 1e-24
_LINES = 5_000
# A cell is a 1/12 of the largest loss, or of a part of it: halves, thirds and quarters fit.
_PARTS = 12
# Room for the rounding of moments, of polygons made of lines, and for lines too close to cross.
_MOMENTS, _ROOM, _PARALLEL = 1e-9, 1e-12, 1e-8


def beneath(steps: Steps, ordered: bool) -> AtomicCurve:
    """What no attacker on all steps exceeds, whatever they are; for both orders unless ordered."""
    orders = [_Order(tuple(steps))]
    swapped = tuple((law.swapped(), count) for law, count in steps)
    if any(new is not old for (new, _), (old, _) in zip(swapped, steps, strict=True)):
        orders.append(_Order(swapped))
    grids = _grids(orders)
    ends = [order.largest for order in orders if math.isfinite(order.largest)]
    lines = _apart(np.concatenate([grid.lines() for grid in grids or orders]), ends)
    profiles = [np.where(lines >= order.largest, 0.0, order.by_moments(lines)) for order in orders]
    for k, grid in enumerate(grids):
        profiles[k] = np.minimum(profiles[k], grid.most_delta(lines))
    most = _largest_advantage(orders[0].steps, lines, profiles)
    ahead, back = (np.minimum(deltas * (1 + _ROOM), most) for deltas in (profiles[0], profiles[-1]))
    if not ordered:
        ahead = back = np.maximum(ahead, back)
    return from_two_profiles(lines, ahead, back)


def _largest_advantage(steps: Steps, lines: Array, profiles: list[Array]) -> float:
    """No less than δ(0), which is the same in both orders, and no δ exceeds.

    TPR ≤ δ + e^ε·FPR leaves an advantage of 1 − (1 − δ)·e^(−ε) where it reaches 1. And steps that
    are coupled as well as each can be differ in none of them with probability Π (1 − TV)^count.
    """
    by_lines = min(float((1 - (1 - deltas) * np.exp(-lines)).min()) for deltas in profiles)
    fpr, tpr, fnr, tnr = np.array([law.rates(np.zeros(1)) for law, _ in steps])[:, :, 0].T
    # Each difference is as sharp as its terms are small.
    apart = np.minimum(tpr - fpr + 1e-14 * tpr, tnr - fnr + 1e-14 * tnr) * (1 + _MOMENTS)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.clip(apart, 0.0, 1.0))
    coupled = math.fsum(count * log for (_, count), log in zip(steps, logs.tolist(), strict=True))
    return min(by_lines, -math.expm1(coupled)) * (1 + _ROOM)


@dataclass(frozen=True)
class _Order:
    """All steps in one order."""

    steps: tuple[tuple[LossLaw, int], ...]

    @cached_property
    def largest(self) -> float:
        """No sum of losses exceeds it, whichever way its terms were rounded."""
        ends = math.fsum(count * law.largest for law, count in self.steps)
        return ends + 1e-15 * math.fsum(count * (1 + law.size) for law, count in self.steps)

    @cached_property
    def guides(self) -> list[Guide]:
        return [Guide(self.steps, delta, _tail(self.steps)) for delta in _DELTAS]

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        """Tilts s and numbers b, so that log δ(ε) ≤ b − s·ε for each: none beyond doubles."""
        s, parts = np.zeros(0), [np.zeros(0)]
        try:
            deviation = math.sqrt(float(self._moments(np.ones(1))[1][0]))
            s = np.geomspace(1e-2, 1e3, 64) / min(max(deviation, 1e-9), 1e9)
            for some in np.split(s, 8):  # the larger, the more points they need
                parts.append(self._moments(1 + some)[0])
        except NotCertified:
            pass
        moments = np.concatenate(parts)
        s = s[: moments.size]
        bound = moments + s * np.log(s) - (1 + s) * np.log1p(s)
        known = np.isfinite(bound)
        return s[known], bound[known]

    def by_moments(self, epsilons: Array) -> Array:
        """The least of Chernoff's bounds on δ."""
        log = np.zeros(epsilons.size)
        for tilt, bound in zip(*(column.tolist() for column in self._bounds), strict=True):
            log = np.minimum(log, bound - tilt * epsilons)
        return np.asarray(np.exp(log))

    def lines(self) -> Array:
        """Values of ε, from 0 to where moments see nothing more."""
        tilts, bounds = self._bounds
        ends = [self.largest, *((bounds - math.log(_TAIL)) / tilts).tolist()]
        return np.linspace(0.0, min(max(min(ends), 0.0), 1e300), _LINES)

    def _moments(self, c: Array) -> tuple[Array, Array]:
        """The logarithm of M(c), no less than it is, and its second derivative."""
        value, variance = np.zeros(c.size), np.zeros(c.size)
        with np.errstate(all="ignore"):
            for law, count in self.steps:
                step = law.cumulants(c)
                rounding = 1e-14 * (1 + np.abs(c) * law.size) + _MOMENTS * np.abs(step.value)
                value = value + count * (step.value + rounding)
                variance = variance + count * step.variance
        return value, variance


@dataclass(frozen=True)
class _Grid:
    """All steps in one order on a grid, none of their losses smaller than it was."""

    sums: tuple[TiltedSum, ...]
    revealed: float
    slip: float

    @property
    def mesh(self) -> float:
        return self.sums[0].mesh

    def lines(self) -> Array:
        """Values of ε above 0, to where nothing more is seen."""
        last = max(total.end for total in self.sums)
        rough = np.unique(np.rint(np.linspace(0, max(last, 1), 512)))
        deltas = self._most_delta(rough)
        seen = np.flatnonzero(deltas > max(2 * self.revealed, _TAIL))
        end = float(rough[min(int(seen[-1]) + 1, rough.size - 1)]) if seen.size else 1.0
        even, fine = np.linspace(1, end, _LINES), np.geomspace(1, max(end, 2), _LINES // 4)
        at = np.unique(np.rint(np.concatenate([even, fine])))
        # A little beyond its grid point each, so that rounding takes none for the one before.
        return np.asarray((at + 1e-9) * self.mesh + self.slip)

    def most_delta(self, epsilons: Array) -> Array:
        """δ at any ε, from above: at the grid point below it, less the slip."""
        at = np.floor((epsilons - self.slip) / self.mesh)
        delta = self._most_delta(np.maximum(at, 0.0))
        return np.where(at < 0, np.minimum(delta + self.slip, 1.0), delta)

    def _most_delta(self, at: Array) -> Array:
        with np.errstate(all="ignore"):
            delta = np.min([total.most_excess(at) for total in self.sums], axis=0) + self.revealed
        return np.where(np.isnan(delta), 1.0, np.minimum(delta, 1.0))


def _grids(orders: list[_Order]) -> list[_Grid]:
    """Every order on the finest grid that is worth its time; none where no grid holds a step."""
    try:
        mesh = min(guide.mesh(_GAP) for order in orders for guide in order.guides)
        tilts = [_tilts(order.guides) for order in orders]
        mesh = _aligned(orders[0].steps, max(mesh, _widest(orders[0].steps) / _MOST_POINTS))
    except NotCertified:
        return []
    for _ in range(_COARSER):
        deadline.check()
        try:
            return _on_mesh(orders, mesh, tilts)
        except NotCertified:
            mesh *= 2
    return []


def _on_mesh(orders: list[_Order], mesh: float, tilts: list[list[float]]) -> list[_Grid]:
    steps = orders[0].steps
    pieces = [(discretised(law, mesh, _tail(steps)), count) for law, count in steps]
    slip = sum(count * piece.slip for piece, count in pieces) * (1 + 1e-9)
    grids = []
    for k, some in enumerate(tilts):
        turned = [(piece.reflected() if k else piece, count) for piece, count in pieces]
        parts, revealed = zip(*(piece.stronger(count) for piece, count in turned), strict=True)
        sums = [composed(parts, mesh, min(tilt, 20 / mesh), _MOST_POINTS) for tilt in some]
        grids.append(_Grid(tuple(sums), sum(revealed), slip))
    return grids


def _tilts(guides: list[Guide]) -> list[float]:
    """Those that all guides ask for, less those that are close to another."""
    asked = sorted({tilt for guide in guides for tilt in guide.tilts})
    return [tilt for k, tilt in enumerate(asked) if k == 0 or tilt > 1.3 * asked[k - 1]]


def _tail(steps: Steps) -> float:
    return _TAIL / sum(count for _, count in steps)


def _widest(steps: Steps) -> float:
    return max(float(np.ptp(sketched(law, _tail(steps))[0])) for law, _ in steps)


def _aligned(steps: Steps, mesh: float) -> float:
    """A mesh that has the ends of the most frequent losses on it, where mass gathers."""
    ends = [(count, end) for law, count in steps for end in (law.largest, -law.least)]
    fine = [(count, end) for count, end in ends if _PARTS * mesh < end < math.inf]
    if not fine:
        return mesh
    cells = max(fine)[1] / _PARTS
    return cells / math.ceil(cells / mesh)


def _apart(lines: Array, ends: Sequence[float]) -> Array:
    """Lines that are all but parallel cross nobody knows where; any but 0 and ends are left out.

    Of two such ends the larger serves both.
    """
    fixed = np.unique([0.0, *ends])
    fixed = fixed[np.append(np.diff(fixed) > _PARALLEL * fixed[1:], True)]
    lines = np.unique(lines)
    after = np.clip(np.searchsorted(fixed, lines), 1, max(fixed.size - 1, 1))
    beside = fixed[np.minimum(np.stack([after - 1, after]), fixed.size - 1)]
    lines = lines[(np.abs(lines - beside) > _PARALLEL * lines).all(axis=0)]
    lines = lines[np.diff(lines, prepend=-1.0) > _PARALLEL * lines]
    return np.union1d(fixed, lines)
