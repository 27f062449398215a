"""Tails of a sum of losses from its moment function, by integrals along vertical lines.

With K = log M of the whole composition and a line at c > 1,

    FPR(t) = 1/2πi ∫ e^(K(z) − z·t)/z dz,   TPR(t) = 1/2πi ∫ e^(K(z) − (z − 1)·t)/(z − 1) dz,
    δ(t)   = 1/2πi ∫ e^(K(z) − (z − 1)·t)/(z·(z − 1)) dz;

moving the line across 0 or 1 picks up the masses M(0), M(1) and leaves the complementary rates, so
that near the saddle point of K(z) − z·t some line gives each small number with all its digits. The
integrand dies like a bell, so that few points are enough, however many steps were composed.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, log_ndtr

from tellapart._checks import Array
from tellapart.errors import NotCertified

Complex = NDArray[np.complex128]

# No double is smaller than e^−745.
_VANISHED = -760.0
# e^−36: what is left out, relative to what is summed.
_DIGITS = 36.0
# More points than this on a uniform mesh, and panels that grow are cheaper.
_MOST_UNIFORM = 600
_SHORT, _LONG = np.polynomial.legendre.leggauss(10), np.polynomial.legendre.leggauss(20)


class Moments(Protocol):
    """The moment function of a whole composition."""

    least: float
    largest: float

    def cumulants(self, c: Array) -> tuple[Array, Array, Array]: ...
    def along(self, c: float, y: Array) -> Complex: ...
    def on_mesh(self, c: float, step: float, points: int) -> Complex: ...


class Sums(NamedTuple):
    """Integrals on one line, each divided by e^(K(c) − c·t)."""

    by_z: Array  # kernel 1/z
    by_z_less_one: Array  # kernel e^t/(z − 1), without its e^t
    by_both: Array  # kernel e^t/(z·(z − 1)), without its e^t
    density: Array  # kernel 1


class Line:
    """A vertical line with points and weights that serve every t near the one it was made for."""

    def __init__(self, law: Moments, c: float, t: float) -> None:
        self.c, self.t = c, t
        value, _, variance = (float(x[0]) for x in law.cumulants(np.array([c])))
        self.value, self.spread = value, math.sqrt(variance)
        self._law = law
        end, settled = self._end()
        period = self._period()
        if settled and end * period / (2 * math.pi) <= _MOST_UNIFORM:
            step = 2 * math.pi / period
            y = step * np.arange(int(end / step) + 2)
            weight = np.full(y.shape, step)
            weight[0] /= 2
            log = law.on_mesh(c, step, y.size)
            self._mesh = step
        else:
            y, weight, log = self._panels(end, settled)
            self._mesh = 0.0
        z = c + 1j * y
        kernels = np.stack([1 / z, 1 / (z - 1), 1 / (z * (z - 1)), np.ones_like(z)], axis=1)
        self._y = y
        self._terms = (np.exp(log - value) * weight / math.pi)[:, None] * kernels

    def sums(self, t: Array) -> Sums:
        """All integrals at these t."""
        if self._mesh:
            return Sums(*self._on_mesh(t).T)
        wave = np.exp(-1j * np.multiply.outer(t, self._y))
        return Sums(*(wave @ self._terms).real.T)

    def _on_mesh(self, t: Array) -> Array:
        """On a mesh, waves are products of a few waves: far fewer sines."""
        points, kinds = self._terms.shape
        block = math.isqrt(points) + 1
        rows = -(-points // block)
        padded = np.zeros((rows * block, kinds), dtype=complex)
        padded[:points] = self._terms
        inner = np.exp(-1j * np.multiply.outer(t, self._mesh * np.arange(block)))
        outer = np.exp(-1j * np.multiply.outer(t, self._mesh * block * np.arange(rows)))
        by_block = padded.reshape(rows, block, kinds).transpose(1, 0, 2).reshape(block, -1)
        sums = (inner @ by_block).reshape(t.size, rows, kinds)
        return np.asarray(np.einsum("tr,trk->tk", outer, sums).real)

    def scale(self, t: Array) -> Array:
        """The logarithm of what `sums` left out."""
        return self.value - self.c * t

    def _far(self) -> float:
        """How far t lies from the nearest end of the losses."""
        return min(self.t - self._law.least, self._law.largest - self.t)

    def _end(self) -> tuple[float, bool]:
        """Where the integrand is dead; failing that, where a smooth end to it does no harm."""
        far = self._far()
        last = max(2000 / far, 300 / self.spread) if far > 0 else math.inf
        y = np.geomspace(2, 2**31, 61) / self.spread
        pole = min(abs(self.c), abs(self.c - 1))
        for start in range(0, y.size, 6):
            some = y[start : start + 6]
            size = self._law.along(self.c, some).real - self.value - np.log1p(some / pole)
            dead = np.flatnonzero(size < -_DIGITS - 2)
            if dead.size:
                return float(some[dead[0]]), True
            if some[-1] > last:
                return float(last), False
        raise NotCertified("the law of the loss is not smooth enough for a contour")

    def _period(self) -> float:
        """A mesh of 2π/period confuses t with t ± period: make that harmless on both sides."""
        pole = min(abs(self.c), abs(self.c - 1))
        away = np.array([0.5, 1, 2, 4, 8]) / self.spread
        reach = [_DIGITS / pole]
        for side in (1, -1):
            value = self._law.cumulants(self.c + side * away)[0]
            with np.errstate(all="ignore"):
                bound = (value - self.value - side * away * self.t + _DIGITS + 3) / away
            reach.append(float(np.where(np.isfinite(bound), bound, math.inf).min()))
        return 1.15 * max(reach)

    def _panels(self, end: float, settled: bool) -> tuple[Array, Array, Complex]:
        """Gauss-Legendre panels that grow with y and are halved where two rules disagree."""
        edges = [0.0, 1 / self.spread]
        while edges[-1] < end:
            edges.append(min(1.6 * edges[-1], end))
        panels = np.stack([edges[:-1], edges[1:]], axis=1)
        scale = 1.0
        for _ in range(6):
            found = self._halved(panels, end, settled, 1e-10 * scale)
            y, weight, log = found
            total = abs(float(self._values(y[None], weight[None], log[None])[0]))
            if total >= 0.1 * scale:
                return found
            scale = total
        raise NotCertified("the contour integral cancels itself")

    def _halved(
        self, todo: Array, end: float, settled: bool, allowed: float
    ) -> tuple[Array, Array, Complex]:
        kept: list[tuple[Array, Array, Complex]] = []
        for _ in range(24):
            rough = self._panel(todo, _SHORT, end, settled)
            fine = self._panel(todo, _LONG, end, settled)
            # The longer rule is better than the difference by about as many digits again.
            bad = np.abs(self._values(*rough) - self._values(*fine)) > allowed
            kept.append(tuple(part[~bad].ravel() for part in fine))  # type: ignore[arg-type]
            if not bad.any():
                y, weight, log = (np.concatenate(column) for column in zip(*kept, strict=True))
                return y, weight, log
            low, high = todo[bad].T
            middle = (low + high) / 2
            todo = np.concatenate([np.stack([low, middle], 1), np.stack([middle, high], 1)])
            if len(todo) > 20_000:
                break
        raise NotCertified("the contour integral did not settle")

    def _panel(
        self, edges: Array, rule: tuple[Array, Array], end: float, settled: bool
    ) -> tuple[Array, Array, Complex]:
        nodes, weights = rule
        half = np.diff(edges, axis=1) / 2
        y = edges.mean(axis=1, keepdims=True) + half * nodes
        weight = half * weights
        if not settled:
            # A smooth end to an oscillation that goes on for ever: a sharp one would ring.
            width = end / 14
            weight = weight * erfc((y - end / 2) / width) / 2
        return y, weight, self._law.along(self.c, y.ravel()).reshape(y.shape)

    def _values(self, y: Array, weight: Array, log: Complex) -> Array:
        z = self.c + 1j * y
        wave = np.exp(log - self.value - 1j * y * self.t) / (z * (z - 1))
        return np.asarray((wave * weight).sum(axis=1).real)


class Atlas:
    """Lines at the saddle points of ever more distant t, made when they are asked for.

    Neighbouring lines lie one deviation of the loss apart, so that any t is close to one.
    """

    def __init__(self, law: Moments) -> None:
        self._law = law
        value, mean, variance = law.cumulants(np.array([0.0, 0.5, 1.0]))
        self.masses = float(np.exp(value[0])), float(np.exp(value[2]))
        self._c = [0.5]
        self._t = [float(mean[1])]
        self.deviation = math.sqrt(float(variance[1]))
        self._spread = [self.deviation]
        self._value = [float(value[1])]
        self._first = 0  # the position of c = 1/2 among the rungs
        self._lines: dict[float, Line] = {}

    def rungs(self, low: float, high: float) -> tuple[Array, Array]:
        """Saddle points and their t, reaching at least from low to high."""
        for side, end, asked in ((-1, 0, low), (1, -1, high)):
            while side * (asked - self._t[end]) > 0 and self._extend(side):
                pass
            if side * (asked - self._t[end]) > 4 * self._spread[end] and not self._vanished(end):
                raise NotCertified("the law of the loss changes too fast for a contour")
        return np.array(self._c), np.array(self._t)

    def _vanished(self, end: int) -> bool:
        """Whether no double holds the rates beyond this end."""
        c, t = self._c[end], self._t[end]
        return self._value[end] - c * t + max(t, 0.0) < _VANISHED and not 0 < c < 1

    def _extend(self, side: int) -> bool:
        """One more line on a side, unless the law ends there or no double holds its rates."""
        end = 0 if side < 0 else -1
        c, t, spread = self._c[end], self._t[end], self._spread[end]
        if self._vanished(end):
            return False
        # Long steps first; the short ones are for laws that change fast.
        for sizes in (np.arange(2.0, -2, -1), np.arange(-2.0, -24, -1)):
            steps = side * 2.0**sizes / spread
            value, mean, variance = self._law.cumulants(np.asarray(c + steps, float))
            with np.errstate(all="ignore"):
                # How many digits the old line loses at the new one's t.
                lost = self._value[end] - c * mean - (value - (c + steps) * mean)
                fits = np.flatnonzero((lost < 1) & (side * (mean - t) > 0) & (variance > 0))
            if fits.size:
                break
        else:
            return False
        at = int(fits[0])
        new = (c + steps[at], mean[at], math.sqrt(variance[at]), value[at])
        for column, value in zip((self._c, self._t, self._spread, self._value), new, strict=True):
            column.insert(0, float(value)) if side < 0 else column.append(float(value))
        return True

    def guess(self, log_delta: Array) -> Array:
        """About where log δ(t) has these values, by the saddle point alone."""
        logs = self._saddle()
        while not logs[-1] <= log_delta.min() and self._extend(1):
            logs = self._saddle()
        known = np.isfinite(logs)
        return np.asarray(np.interp(-log_delta, -logs[known], np.array(self._t)[known]))

    def guess_fpr(self, fpr: Array) -> Array:
        """About where FPR(t) has these values: as for a normal law about each rung."""
        rows = self._normal()
        while rows[-1] > np.log(fpr.min()) and self._extend(1):
            rows = self._normal()
        least = float((1 - fpr).min())
        while np.log(-np.expm1(rows[0])) > np.log(least) and self._extend(-1):
            rows = self._normal()
        size = np.log(fpr) - np.log1p(-fpr)
        known = rows - np.log(-np.expm1(rows))
        return np.asarray(np.interp(-size, -known, np.array(self._t)))

    def _normal(self) -> Array:
        """About log FPR at each rung, falling."""
        c, t, spread, value = map(np.array, (self._c, self._t, self._spread, self._value))
        pull = c * spread
        size = value - c * t + np.where(c > 0, log_ndtr(-pull) + pull**2 / 2, 0.0)
        other = value - c * t + np.where(c < 0, log_ndtr(pull) + pull**2 / 2, 0.0)
        logs = np.where(c > 0, size, np.log1p(-np.exp(np.minimum(other, -1e-300))))
        logs = np.minimum.accumulate(logs)
        return np.clip(logs, None, -1e-300)

    def _saddle(self) -> Array:
        """About log δ at each rung beyond the pole at 1; NaN at the others."""
        c, t, spread, value = map(np.array, (self._c, self._t, self._spread, self._value))
        with np.errstate(all="ignore"):
            logs = value - (c - 1) * t - np.log(c * (c - 1) * spread * math.sqrt(2 * math.pi))
        logs = np.where(c > 1 + 1 / spread, logs, np.nan)
        known = np.isfinite(logs)
        logs[known] = np.minimum.accumulate(logs[known])
        return logs

    def line(self, c: float, t: float) -> Line:
        """The line for a rung, pushed off the poles at 0 and 1."""
        if c not in self._lines:
            spread = self._spread[self._c.index(c)]
            self._lines[c] = Line(self._law, _off_poles(c, spread), t)
        return self._lines[c]


def _off_poles(c: float, spread: float) -> float:
    """A line near c that keeps a deviation's distance from 0 and 1, or half-way between them."""
    gap = 1 / spread
    if 0 < c < 1 and min(c, 1 - c) >= gap:
        return c
    if 0 < c < 1 and gap < 0.5:
        return min(max(c, gap), 1 - gap)
    return max(c, 1 + gap) if c >= 0.5 else min(c, -gap)
