"""Privacy losses with atoms and a density between, by Gauss-Legendre quadrature over outputs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.safe import complex_log1p
from tellapart.curve.composition.loss_laws import Complex, Cumulants, LossLaw
from tellapart.errors import NotCertified

# Terms smaller than e^−46 of the largest are lost in a double anyway.
NEGLIGIBLE = 46.0


class Nodes(NamedTuple):
    """Losses and log-masses at the points of an integral, on a line of the complex plane."""

    loss: NDArray[Any]
    base: NDArray[Any]

    def moments(self, c: float, y: Array) -> Complex:
        """The logarithm of M(c + iy)."""
        z = c + 1j * y
        if self._near_one(c, float(y.max())):
            excess = np.expm1(np.multiply.outer(z, self.loss))
            drift = np.multiply.outer(z, np.expm1(self.loss))
            return complex_log1p((excess - drift) @ np.exp(self.base))
        size = self.base.real + c * self.loss.real - float(y.min()) * self.loss.imag
        top = float(size.max())
        alive = size > top - NEGLIGIBLE
        terms = np.multiply.outer(z, self.loss[alive]) + self.base[alive] - top
        return np.asarray(np.log(np.exp(terms).sum(axis=-1)) + top)

    def moments_on_mesh(self, c: float, step: float, points: int) -> Complex:
        """The same on a mesh: e^((j + k)·w) − 1 from those of j and k, without new sines."""
        block = math.isqrt(points) + 1
        inner = self._waves(0.0, step * np.arange(block, dtype=float))
        ahead = step * block * np.arange(-(-points // block), dtype=float)
        starts = c + 1j * ahead
        if self._near_one(c, step * points):
            outer = self._waves(c, ahead)
            mass = np.exp(self.base)
            excess = _product(outer, inner, mass)
            z = (starts[:, None] + 1j * step * np.arange(block)).ravel()
            return complex_log1p(excess - z * (np.expm1(self.loss) @ mass))[:points]
        top = float((self.base.real + c * self.loss.real).max())
        outer = np.exp(np.multiply.outer(starts, self.loss) + self.base - top)
        moments = (outer @ (1 + inner).T).ravel()
        return np.asarray((np.log(moments) + top)[:points])

    def _waves(self, c: float, y: Array) -> Complex:
        """e^((c + iy)·loss) − 1, for all y and losses; by real sines where losses are real."""
        if np.iscomplexobj(self.loss):
            return np.asarray(np.expm1(np.multiply.outer(c + 1j * y, self.loss)))
        turn = np.multiply.outer(y, self.loss)
        waves = np.empty(turn.shape, dtype=complex)
        waves.real = -2 * np.sin(turn / 2) ** 2
        waves.imag = np.sin(turn)
        return waves * np.exp(c * self.loss) + np.expm1(c * self.loss) if c else waves

    def _near_one(self, c: float, furthest: float) -> bool:
        """Whether M stays so near 1 that the part of the sum with mean 0 is better left out."""
        if c * self.loss.real.max() > 300:
            return False
        drift = np.expm1(np.minimum(self.loss.real, 300.0) + 1j * self.loss.imag)
        spread = float(np.abs(np.exp(self.base) * drift).sum())
        return abs(c + 1j * furthest) * spread < 1


def _product(outer: Complex, inner: Complex, mass: Complex) -> Complex:
    """Σ mass·((1 + outer)(1 + inner) − 1), each product by its small terms."""
    alone = (outer @ mass)[:, None] + (inner @ mass)[None, :]
    return (alone + (outer * mass) @ inner.T).ravel()


def dyadic(y: Array) -> list[NDArray[np.intp]]:
    """Positions of y in groups that share a scale, none too large for the cache."""
    if y.size <= 32:
        return [np.arange(y.size)]
    order = np.argsort(y, kind="stable")
    scale = np.floor(np.log2(np.maximum(y[order], 1e-300)))
    starts = np.flatnonzero(np.diff(scale, prepend=scale[0] - 1))
    # The smallest scales all live on the coarsest mesh: join them.
    groups = np.split(order, starts[1:])
    joined: list[NDArray[np.intp]] = []
    for group in groups:
        if joined and len(joined[-1]) + len(group) <= 32:
            joined[-1] = np.concatenate([joined[-1], group])
        else:
            joined.extend(np.array_split(group, -(-len(group) // 256)))
    return joined


_X, _W = leggauss(32)
# Over one panel the logarithm of the integrand turns and falls by at most about this much.
_PER_PANEL = 14.0
_WIDEST = 1.5
# The moment along a line is bounded from each y to r times it, for some y at once, at most so many;
# by masses no fainter than this.
_RUNG, _RUNGS_AT_ONCE, _MOST_DECAY_RUNGS = 2**0.25, 16, 320
_FAINT = 1e-12
# More would take gigabytes.
_MOST_PANELS = 1 << 15


class Spread(NamedTuple):
    """Points of the smooth part of a law: losses, their slope in the output, log-densities."""

    loss: Array
    slope: Array
    log_density: Array


class Outcomes(ABC):
    """Outcomes with a density over an output x, and some atoms; the loss rises with x.

    The tilted density, as one of the loss, has at most three turning points.
    """

    @abstractmethod
    def spread(self, x: Array) -> Spread:
        """The smooth part at outputs x."""

    @abstractmethod
    def grid(self, tilts: Array) -> Array:
        """Rising outputs that show where the smooth part lies, for all of these tilts."""

    @property
    @abstractmethod
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Losses that have a mass of their own, and that mass under h0."""

    def points(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        """Losses and log-masses of all outcomes, fine enough for these tilts and frequencies."""
        x, weight = self._mesh(tilts, frequency)
        smooth = self.spread(x)
        losses, masses = np.array(self.atoms).reshape(-1, 2).T
        logs = np.log(weight) + smooth.log_density
        return np.append(smooth.loss, losses), np.append(logs, np.log(masses))

    def _mesh(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        """Panels between which the integrand neither turns nor falls too much."""
        x = self.grid(tilts)
        loss, slope, log_density = self.spread(x)
        logs = np.multiply.outer(tilts, loss) + log_density
        kept = np.flatnonzero((logs > logs.max(axis=1, keepdims=True) - NEGLIGIBLE).any(axis=0))
        if not kept.size:
            raise NotCertified("no double holds the moments of a step that leaks so much")
        part = slice(max(int(kept[0]) - 1, 0), min(int(kept[-1]) + 2, x.size))
        falls = np.abs(np.gradient(log_density, x))[part]
        x, slope = x[part], slope[part]
        turns = (np.abs(tilts).max() + frequency) * slope + falls
        density = np.maximum(1 / _WIDEST, turns / _PER_PANEL)
        count = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
        if not count[-1] < _MOST_PANELS:
            raise NotCertified("the losses of a step vary too much for a sum over its outputs")
        edges = np.interp(np.linspace(0, count[-1], math.ceil(count[-1]) + 2), count, x)
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + _X)).ravel(), (half * _W).ravel()

    def rough(self, c: float, top: float) -> tuple[float, float]:
        """The tilted mass of the atoms, and a bound on ends and variation of the rest."""
        fixed = sum(mass * math.exp(c * loss - top) for loss, mass in self.atoms)
        loss, slope, log_density = self.spread(self.grid(np.array([c])))
        with np.errstate(all="ignore"):
            density = np.exp(c * loss + log_density - np.log(slope) - top)
        varies = density[0] + density[-1] + np.abs(np.diff(density)).sum()
        return fixed, 1.1 * float(varies)  # a grid misses little of a few turning points


class SmoothLoss(LossLaw):
    """A law of the loss by points of an integral."""

    @abstractmethod
    def points(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        """Losses and log-masses of all outcomes, fine enough for these tilts and frequencies."""

    @abstractmethod
    def rough(self, c: float, top: float) -> tuple[float, float]:
        """The tilted mass of the atoms, and a bound on ends and variation of the rest."""

    def cumulants(self, c: Array) -> Cumulants:
        flat = np.ravel(c).astype(float)
        with np.errstate(all="ignore"):
            rows = [self._cumulants(part) for part in np.array_split(flat, -(-flat.size // 8))]
            cumulants = np.concatenate(rows, axis=1)
        return Cumulants(*cumulants.reshape(3, *np.shape(c)))

    def _cumulants(self, c: Array) -> Array:
        loss, base = _points_between(self, float(np.floor(c.min())), float(np.ceil(c.max())))
        tilted = np.multiply.outer(c, loss)
        top = (tilted + base).max(axis=-1, keepdims=True)
        mass = np.exp(tilted + base - top)
        total = mass.sum(axis=-1)
        mean = mass @ loss / total
        square = (mass * (loss - mean[:, None]) ** 2).sum(axis=-1) / total
        value = np.log(total) + top[:, 0]
        # Near M = 1 the terms with mean 0 are left out, which keeps the digits of what is left.
        close = np.abs(value) < 0.1
        if close.any():
            drift = np.multiply.outer(c[close], np.expm1(np.minimum(loss, 300.0)))
            excess = np.expm1(np.minimum(tilted[close], 300.0)) - drift
            value[close] = np.log1p(excess @ np.exp(base))
        return np.stack([value, mean, square])

    def along(self, c: float, y: Array) -> Complex:
        logs = np.empty(y.shape, dtype=complex)
        for part in dyadic(y):
            logs[part] = self._nodes(c, float(y[part].max())).moments(c, y[part])
        return logs

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        return self._nodes(c, step * points).moments_on_mesh(c, step, points)

    def _nodes(self, c: float, frequency: float) -> Nodes:
        loss, base = self.points(np.array([min(c, 0.0), max(c, 1.0)]), frequency)
        return Nodes(loss, base)

    def decay(self, c: float, y: Array) -> Array:
        """The atoms never fade; the rest falls like its variation over y, or as its spread says.

        1 − |M|²/M(c)² is E[1 − cos(y·Δ)] for the difference Δ of two tilted losses, and
        1 − cos x ≥ x²/2 − x⁴/24, which grows up to x = √6: from y to r·y it is at least
        E[(y·Δ)²/2 − (y·Δ)⁴/24; |Δ| ≤ √6/(r·y)].
        """
        pairs, fixed, variation = _tilted_pairs(self, c)
        y = np.asarray(y, dtype=float)
        rungs, bounds = np.zeros(0), np.zeros(0)
        while True:
            start = rungs[-1] * _RUNG if rungs.size else float(y.min())
            some = start * _RUNG ** np.arange(_RUNGS_AT_ONCE, dtype=float)
            falls = np.minimum(fixed + variation / some, 1.0)
            spread = np.sqrt(np.maximum(1 - 0.9 * pairs.apart(some), 0.0))
            rungs, bounds = np.append(rungs, some), np.append(bounds, np.minimum(falls, spread))
            # Nothing larger follows where the variation is what bounds.
            last = np.searchsorted(rungs, y.max(), side="right") - 1
            if falls[-1] <= np.max(bounds[last:], initial=0.0) or rungs.size > _MOST_DECAY_RUNGS:
                break
        ahead = np.maximum.accumulate(np.append(falls[-1], bounds[::-1]))[:0:-1]
        return np.log(ahead[np.searchsorted(rungs, y, side="right") - 1])


class _Pairs(NamedTuple):
    """Rising losses, and the sums of their masses times powers from 0 to 4 up to each."""

    loss: Array
    mass: Array
    sums: Array

    @classmethod
    def of(cls, loss: Array, mass: Array) -> _Pairs:
        order = np.flatnonzero(mass > _FAINT)  # less mass, less spread
        order = order[np.argsort(loss[order])]
        x, mass = (loss - mass @ loss)[order], mass[order]
        square = x * x
        terms = mass * np.stack([np.ones_like(x), x, square, square * x, square * square])
        sums = np.zeros((5, x.size + 1))
        np.cumsum(terms, axis=1, out=sums[:, 1:])
        return cls(x, mass, sums)

    def apart(self, y: Array) -> Array:
        """E[(y·Δ)²/2 − (y·Δ)⁴/24; |Δ| ≤ √6/(r·y)] for the difference Δ of two losses, r a rung."""
        x, reach = self.loss, math.sqrt(6) / _RUNG
        first = np.searchsorted(x, x - (reach / y)[:, None])
        total, mean, square, cube, fourth = self.sums[:, None, :-1] - self.sums[:, first]
        # Far out, differences of sums have few digits: what they mean has bounds.
        squares = (x * total - 2 * mean) * x + square
        fourths = (((x * total - 4 * mean) * x + 6 * square) * x - 4 * cube) * x + fourth
        scale = (y * y)[:, None]
        squares = np.clip(scale * squares, 0.0, reach**2 * total)
        least = squares**2 / np.maximum(total, 1e-300)
        fourths = np.clip(scale**2 * fourths, least, reach**2 * squares)
        return np.asarray((squares - fourths / 12) @ self.mass)


@lru_cache(maxsize=16)
def _points_between(law: SmoothLoss, least: float, most: float) -> tuple[Array, Array]:
    """Points for all tilts between two, so that few sets of them serve many."""
    return law.points(np.array([least, most]), 0.0)


@lru_cache(maxsize=4)  # the end of one line is asked for piece by piece
def _tilted_pairs(law: SmoothLoss, c: float) -> tuple[_Pairs, float, float]:
    """The tilted law for the spread of two losses, its mass in atoms, and the variation beside."""
    loss, base = _points_between(law, float(np.floor(c)), float(np.ceil(c)))
    logs = c * loss + base
    mass = np.exp(logs - logs.max())
    scale = float(mass.sum())
    fixed, variation = (x / scale for x in law.rough(c, float(logs.max())))
    return _Pairs.of(loss, mass / scale), fixed, variation
