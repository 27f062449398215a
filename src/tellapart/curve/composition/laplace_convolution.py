"""Convolution of a few Laplace steps, exactly: their loss has atoms that no contour resolves.

The measure √(dP·dQ) of the loss of one Laplace step of shift m is e^(−m/2) times two halves at ±m
and a density of 1/4 between them. Products of steps convolve it: into atoms, and a polynomial on
each panel between their possible places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric import hull, solve
from tellapart.curve.base import Around, Bound, FourRates
from tellapart.curve.closed import SymmetricCurve

# Beyond this many steps the polynomials of a panel lose digits, and contours do not.
MOST_REPEATED = 10
LogWeight = Callable[[Array], Array]
# An area is taken at so many thresholds, most of them where the losses nearly all are.
_AREA_POINTS, _NEAR, _STEEPEST = 1 << 12, 20.0, 600.0
_PIECE = 16.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True, eq=False, repr=False)
class PanelsCurve(SymmetricCurve):
    """A symmetric law of the loss with atoms, and polynomials between some edges.

    ``places`` and ``atoms`` give e^(top/2)·√(dP·dQ) at its atoms, ``edges`` and ``powers`` its
    density, by powers of the distance from a panel's left edge in units of the panel.
    """

    top: float
    places: Array
    atoms: Array
    edges: Array
    powers: Array
    bound: Bound = Bound.EXACT

    def _rates(self, threshold: Array) -> FourRates:
        # Of many FPRs that one atom decides all are asked at the same threshold.
        different, places = np.unique(threshold, return_inverse=True)
        t = np.clip(different, -2 * self.top, 2 * self.top)
        # Under h0 the measure is tilted by e^(−loss/2), under h1 by e^(loss/2); what is not above
        # is, seen in the mirror, at or above.
        rates = (
            self._beyond(t, -0.5, self._lighter, strict=True),
            self._beyond(t, 0.5, self._heavier, strict=True),
            self._beyond(-t, -0.5, self._lighter, strict=False),
            self._beyond(-t, 0.5, self._heavier, strict=False),
        )
        places = places.reshape(np.shape(threshold))
        fpr, tpr, fnr, tnr = (rate[places] for rate in rates)
        return fpr, tpr, fnr, tnr

    def _around(self, excess: Callable[[FourRates], Array], like: Array) -> Around:
        """As of any curve, but thresholds that stay where they are cost nothing.

        Each is sought within its panel, where few steps find it, or at an atom, where it is known.
        """
        at, known = np.full_like(like, np.nan), np.empty((4, *like.shape))

        def rates(threshold: Array) -> FourRates:
            moved = threshold != at
            if moved.any():
                known[:, moved], at[moved] = self._rates(threshold[moved]), threshold[moved]
            fpr, tpr, fnr, tnr = known.copy()
            return fpr, tpr, fnr, tnr

        # Rates jump between an atom and the double before it.
        knots = np.unique(np.append(self.edges, self.places))
        knots = np.unique(np.append(np.nextafter(knots, -np.inf), knots))
        low, high = solve.falling_whole(
            lambda knot: excess(rates(knots[knot.astype(int)])),
            np.zeros_like(like),
            np.full_like(like, len(knots) - 1.0),
        )
        ends = (knots[end.astype(int)] for end in (low, high))
        low, high = solve.falling_root(lambda threshold: excess(rates(threshold)), *ends)
        return rates(low), rates(high)

    @cached_property
    def _widest(self) -> float:
        """Of all panels: points must not depend on what else is asked."""
        return float(np.diff(self.edges).max())

    @cached_property
    def _lighter(self) -> Array:
        return self._from_each_edge(-0.5)

    @cached_property
    def _heavier(self) -> Array:
        return self._from_each_edge(0.5)

    def _from_each_edge(self, tilt: float) -> Array:
        """The mass of the density beyond each edge, tilted by e^(tilt·loss)."""
        every = np.arange(len(self.powers))
        masses = self._in_panel(every, self.edges[:-1], tilt)
        return np.append(np.cumsum(masses[::-1])[::-1], 0.0)

    def _in_panel(self, panel: NDArray[np.intp], start: Array, tilt: float) -> Array:
        """The tilted mass of the density from a start to the end of its panel."""
        low, high = self.edges[panel][..., None], self.edges[panel + 1][..., None]
        x, weights = _points(start[..., None], high, tilt, self._widest)
        with np.errstate(all="ignore"):
            # From the end where the mass is: the powers of the other would cancel there, and the
            # panels are each other's mirror images.
            away, of = (high - x, -1 - panel) if tilt > 0 else (x - low, panel)
            at, powers = away / (high - low), self.powers[of]
            density = np.zeros_like(x)
            for k in reversed(range(self.powers.shape[1])):
                density = density * at + powers[..., k, None]
            part = weights * density * np.exp(tilt * x - self.top / 2)
        # Two steps of the same shift have a panel of no width.
        return np.where(start < high[..., 0], part.sum(axis=-1), 0.0)

    def _beyond(self, t: Array, tilt: float, beyond: Array, strict: bool) -> Array:
        """The tilted mass of losses above t, or at it if not strict: whole panels are known."""
        edge = t[..., None]
        inside = self.places > edge if strict else self.places >= edge
        with np.errstate(all="ignore"):
            atoms = self.atoms * np.exp(tilt * self.places - self.top / 2)
            from_atoms = np.where(inside, atoms, 0.0).sum(axis=-1)
        panel = np.clip(np.searchsorted(self.edges, t, side="right") - 1, 0, len(self.powers) - 1)
        start = np.clip(t, self.edges[panel], self.edges[panel + 1])
        mass = from_atoms + self._in_panel(panel, start, tilt) + beyond[panel + 1]
        return np.asarray(np.minimum(mass, 1.0))

    def _profile(self, epsilon: Array) -> Array:
        """∫ (e^(x/2) − e^(ε − x/2)) over losses x > ε, a sum of positive terms."""
        at = np.asarray(epsilon, dtype=float)
        inside = np.minimum(at, self.top)[..., None]

        def log_gain(x: Array) -> Array:
            return np.asarray(x / 2 + np.log(-np.expm1(np.minimum(inside - x, -0.0))))

        delta = np.minimum(self._above(np.minimum(at, self.top), log_gain), 1.0)
        return np.where(at >= self.top, 0.0, delta)

    def _above(self, t: Array, log_weight: LogWeight) -> Array:
        """The weighted mass of losses above t."""
        edge = t[..., None]
        inside = self.places > edge
        with np.errstate(all="ignore"):
            logs = log_weight(self.places + 0 * edge) - self.top / 2
            total = np.where(inside, self.atoms * np.exp(logs), 0.0).sum(axis=-1)
            mirrored = self.powers[::-1]
            for low, high, powers in zip(self.edges[:-1], self.edges[1:], mirrored, strict=True):
                start = np.clip(edge, low, high)
                x, weights = _points(start, np.full_like(start, high), 0.5, self._widest)
                density = np.polynomial.polynomial.polyval((high - x) / (high - low), powers)
                logs = log_weight(x) - self.top / 2
                part = weights * density * np.exp(logs)
                total = total + np.where(start[..., 0] < high, part.sum(axis=-1), 0.0)
        return np.asarray(total)

    def _largest_loss(self) -> float:
        return self.top

    def _area(self) -> float:
        """From thresholds where possible: their points need no root, and slopes are known."""
        if self.bound is Bound.UPPER or self.top > _STEEPEST:
            return super()._area()
        least = np.nextafter(-self.top, -np.inf)
        near = np.linspace(-min(self.top, _NEAR), min(self.top, _NEAR), _AREA_POINTS)
        far = np.linspace(-self.top, self.top, _AREA_POINTS // 8)
        t = np.append(np.unique(np.concatenate([near, far, self.places]))[::-1], least)
        fpr, _, fnr, _ = self._rates(t)
        return hull.area_under_tangents(fpr, fnr, -np.exp(t))

    def _delta_at_infinity(self) -> float:
        return 0.0


def _points(start: Array, end: Array, tilt: float, widest: float) -> tuple[Array, Array]:
    """Where to read what grows like e^(tilt·x) between two ends, and with what weights.

    In pieces that double in width, from the end where nearly all of it is: a rule of 16 points
    has its digits while e^(tilt·x) grows by e^8 in a piece, and beyond the third that is e^−16 of
    what counts. One piece would have none for losses of 100.
    """
    width = end - start
    doubled = _PIECE * 2.0 ** np.arange(math.ceil(math.log2(max(widest, _PIECE) / _PIECE)) + 1)
    cuts = np.minimum(np.append(0.0, doubled), width)
    half = np.diff(cuts)[..., None] / 2
    away = cuts[..., :-1, None] + half * (1 + _NODES)
    away, weights = (column.reshape(*width.shape[:-1], -1) for column in (away, half * _WEIGHTS))
    return (end - away if tilt > 0 else start + away), weights


def repeated_laplace(shift: float, count: int, bound: Bound = Bound.EXACT) -> PanelsCurve:
    """Laplace noise seen so many times, each time ``shift`` apart in units of its scale."""
    k, m = count, shift
    places = m * (2 * np.arange(k + 1.0) - k)
    atoms = np.array([math.comb(k, i) for i in range(k + 1)]) / 2.0**k
    powers = np.zeros((k, k))
    box = np.zeros((k, k))  # the j-fold box of width 1 on its panels, by powers
    box[0, 0] = 1.0
    for j in range(1, k + 1):
        points = np.array([math.comb(k - j, i) for i in range(k - j + 1)]) / 2.0 ** (k - j)
        weight = math.comb(k, j) * (m / 2) ** j / (2 * m)
        for i, share in enumerate(points):
            powers[i : i + j] += weight * share * box[:j]
        box = _next_box(box)
    return PanelsCurve(k * m, places, atoms, places, powers, bound)


def two_laplace(shift: float, other_shift: float, bound: Bound = Bound.EXACT) -> PanelsCurve:
    """Two Laplace steps of different shifts."""
    small, large = sorted((shift, other_shift))
    top, knee = small + large, large - small
    edges = np.array([-top, -knee, knee, top])
    flat = 0.25 + small / 8
    powers = np.array([[0.25, small / 8], [flat, 0.0], [flat, -small / 8]])
    return PanelsCurve(top, edges, np.full(4, 0.25), edges, powers, bound)


def _next_box(box: Array) -> Array:
    """One box more: ∫ of the panel up to v, and of the panel before from v on."""
    grown = np.zeros((box.shape[0], box.shape[1] + 1))
    grown[:, 1:] = box / np.arange(1, box.shape[1] + 1)
    before = np.vstack([np.zeros(grown.shape[1]), grown[:-1]])
    wider = grown - before
    wider[1:, 0] += grown.sum(axis=1)[:-1]
    return np.asarray(wider[:, :-1])
