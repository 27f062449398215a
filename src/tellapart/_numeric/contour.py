"""Contour integrals (Mellin-Bromwich, saddle points): tails of a sum from its moment function.

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
from scipy.special import log_ndtr

from tellapart import deadline
from tellapart._checks import Array
from tellapart.errors import NotCertified

Complex = NDArray[np.complex128]

# No double is smaller than e^−745.
_VANISHED = -760.0
# A sum that is smaller than this share of its terms has lost too many digits.
_CANCELS = 1e-6
REFUSED = "so few digits are left here that no number is given; ask mechanism.bracket(delta)"
# e^−36: what is left out, relative to what is summed.
_DIGITS = 36.0
# Steps from one line to further ones, in deviations of the tilt.
_WALKS = (1.3 * np.arange(1.0, 9), 2.0 ** np.arange(-23.0, 1))
# Laws that need more points, or lines, than this are too rough for a contour.
_MOST_POINTS = 20_000
_MOST_RUNGS = 300


class MomentFunction(Protocol):
    """The moment function of a whole composition."""

    least: float
    largest: float

    def cumulants(self, c: Array) -> tuple[Array, Array, Array]: ...
    def along(self, c: float, y: Array) -> Complex: ...
    def on_mesh(self, c: float, step: float, points: int) -> Complex: ...
    def decay(self, c: float, y: Array) -> Array: ...


class Sums(NamedTuple):
    """Integrals on one line, each divided by e^(K(c) − c·t)."""

    by_z: Array  # kernel 1/z
    by_z_less_one: Array  # kernel e^t/(z − 1), without its e^t
    by_both: Array  # kernel e^t/(z·(z − 1)), without its e^t
    density: Array  # kernel 1


class ContourLine:
    """A vertical line with points and weights that serve every t near the one it was made for."""

    def __init__(self, law: MomentFunction, c: float, t: float, room: float) -> None:
        self.c, self.t = c, t
        value, _, variance = (float(x[0]) for x in law.cumulants(np.array([c])))
        if not (variance > 0 and math.isfinite(value)):
            raise NotCertified(REFUSED)
        self.value, self.spread = value, math.sqrt(variance)
        self._law = law
        period = self._period() + 2 * room
        if not math.isfinite(period):
            raise NotCertified(REFUSED)
        self._mesh = 2 * math.pi / period
        points = int(self._end() / self._mesh) + 2
        if points > _MOST_POINTS:
            raise NotCertified(REFUSED)
        weight = np.full(points, self._mesh / math.pi)
        weight[0] /= 2
        z = c + 1j * self._mesh * np.arange(points)
        kernels = np.stack([1 / z, 1 / (z - 1), 1 / (z * (z - 1)), np.ones_like(z)], axis=1)
        log = law.on_mesh(c, self._mesh, points)
        self._terms = (np.exp(log - value) * weight)[:, None] * kernels
        self._size = np.abs(self._terms).sum(axis=0)

    def sums(self, t: Array) -> Sums:
        """All integrals at these t; refused where so much cancels that few digits are left."""
        totals = self._on_mesh(t)
        cancelled = np.abs(totals[:, :3]) < _CANCELS * self._size[:3]
        alive = self.scale(t) + np.maximum(t, 0.0) > _VANISHED
        if np.any(cancelled & alive[:, None]):
            raise NotCertified(REFUSED)
        return Sums(*totals.T)

    def _on_mesh(self, t: Array) -> Array:
        """On a mesh, waves are products of a few waves: far fewer sines."""
        deadline.check()
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

    def _end(self) -> float:
        """Where the integrand is dead, for good."""
        pole = min(abs(self.c), abs(self.c - 1))
        y = np.outer(2.0 ** np.arange(1, 32), [1, math.sqrt(2)]).ravel()[:61] / self.spread
        for start in range(0, y.size, 12):
            some = y[start : start + 12]
            size = self._law.decay(self.c, some) - np.log1p(some / pole)
            dead = np.flatnonzero(size < -_DIGITS - 2)
            if dead.size:
                return float(some[dead[0]])
            if some[-1] > _MOST_POINTS * self._mesh:
                break
        raise NotCertified(REFUSED)

    def _period(self) -> float:
        """A mesh of 2π/period confuses t with t ± period: make that harmless on both sides."""
        pole = min(abs(self.c), abs(self.c - 1))
        away = np.array([[0.5, 1, 2, 4, 8], [-0.5, -1, -2, -4, -8]]) / self.spread
        value = self._law.cumulants((self.c + away).ravel())[0].reshape(away.shape)
        with np.errstate(all="ignore"):
            bound = (value - self.value - away * self.t + _DIGITS + 3) / np.abs(away)
        reach = np.where(np.isfinite(bound), bound, math.inf).min(axis=1)
        return 1.15 * max(_DIGITS / pole, float(reach.max()))


class Atlas:
    """Lines at the saddle points of ever more distant t, made when they are asked for.

    Neighbouring lines lie one deviation of the loss apart, so that any t is close to one.
    """

    def __init__(self, law: MomentFunction) -> None:
        self._law = law
        value, mean, variance = law.cumulants(np.array([0.0, 0.5, 1.0]))
        if not (variance[1] > 0 and np.isfinite(value).all()):
            raise NotCertified(REFUSED)
        self._c = [0.5]
        self._t = [float(mean[1])]
        self.deviation = math.sqrt(float(variance[1]))
        self._spread = [self.deviation]
        self._value = [float(value[1])]
        self._first = 0  # the position of c = 1/2 among the rungs
        self._lines: dict[float, ContourLine] = {}

    def rungs(self, low: float, high: float) -> tuple[Array, Array]:
        """Saddle points and their t, reaching at least from low to high."""
        for side, end, asked in ((-1, 0, low), (1, -1, high)):
            while side * (asked - self._t[end]) > 0 and self._extend(side):
                pass
            if side * (asked - self._t[end]) > 4 * self._spread[end] and not self._vanished(end):
                raise NotCertified(REFUSED)
        return np.array(self._c), np.array(self._t)

    def _vanished(self, end: int) -> bool:
        """Whether no double holds the rates beyond this end."""
        c, t = self._c[end], self._t[end]
        return self._value[end] - c * t + max(t, 0.0) < _VANISHED and not 0 < c < 1

    def _extend(self, side: int) -> bool:
        """More lines on a side, unless the law ends there or no double holds its rates."""
        end = 0 if side < 0 else -1
        if self._vanished(end) or len(self._c) > _MOST_RUNGS:
            return False
        before = len(self._c)
        # A walk of long steps first; short ones are for laws that change fast.
        for sizes in _WALKS:
            c = self._c[end] + side * sizes / self._spread[end]
            value, mean, variance = self._law.cumulants(c)
            spread = np.sqrt(np.maximum(variance, 0.0))
            self._walk(side, np.stack([c, mean, spread, value], axis=1).tolist())
            if len(self._c) > before:
                return True
        return False

    def _walk(self, side: int, rungs: list[list[float]]) -> None:
        """Add the furthest rung that is near the last one, and so on."""
        furthest: list[float] | None = None
        for rung in rungs:
            if furthest is not None and not self._near(side, rung):
                self._add(side, furthest)
                furthest = None
            if not self._near(side, rung):
                return
            furthest = rung
        if furthest is not None:
            self._add(side, furthest)

    def _near(self, side: int, rung: list[float]) -> bool:
        """Whether the line at the end loses few digits at this one's t, which is beyond it."""
        end = 0 if side < 0 else -1
        c, t, spread, value = rung
        lost = self._value[end] - value + (c - self._c[end]) * t
        return lost < 1 and side * (t - self._t[end]) > 0 and spread > 0

    def _add(self, side: int, rung: list[float]) -> None:
        for column, value in zip((self._c, self._t, self._spread, self._value), rung, strict=True):
            column.insert(0, value) if side < 0 else column.append(value)

    def guess(self, log_delta: Array) -> Array:
        """About where log δ(t) has these values, by the saddle point alone."""
        logs = self._saddle()
        while not logs[-1] <= log_delta.min() and self._extend(1):
            logs = self._saddle()
        known = np.isfinite(logs)
        if not known.any():  # the law ends before a line beyond the pole
            raise NotCertified(REFUSED)
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

    def line(self, c: float, t: float) -> ContourLine:
        """The line for a rung, pushed off the poles at 0 and 1."""
        if c not in self._lines:
            at = self._c.index(c)
            spread = self._spread[at]
            near = [self._t[k] for k in (at - 1, at + 1) if 0 <= k < len(self._t)]
            room = max([4 * spread, *(abs(other - t) for other in near)])
            self._lines[c] = ContourLine(self._law, self._off_poles(c, t, spread), t, room)
        return self._lines[c]

    def _off_poles(self, c: float, t: float, spread: float) -> float:
        """A line near c that keeps about a deviation's distance from 0 and 1.

        Nearer where the law is so skewed that such a distance would cost digits.
        """
        gaps = 2.0 ** -np.arange(8) / spread
        if 0 < c < 1 and min(c, 1 - c) >= gaps[0]:
            return c
        if 0 < c < 1 and gaps[0] < 0.5:
            return min(max(c, float(gaps[0])), 1 - float(gaps[0]))
        moved = np.maximum(c, 1 + gaps) if c >= 0.5 else np.minimum(c, -gaps)
        both = np.append(moved, c)
        value = self._law.cumulants(both)[0] - both * t
        with np.errstate(invalid="ignore"):
            cheap = np.flatnonzero(value[:-1] - value[-1] < 3)
        return float(moved[cheap[0] if cheap.size else -1])
