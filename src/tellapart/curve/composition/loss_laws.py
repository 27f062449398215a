"""Privacy loss distributions (PLD) of one step, by their moments: all that a composition needs.

A step is a pair of laws P (record absent) and Q (record present); its loss is log dQ/dP. The
moment function M(z) = E_P exp(z·loss) multiplies under composition, M(0) and M(1) are the masses
that are not revealing at once, and swapping the hypotheses turns M(z) into M(1 − z).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart.curve.base import FourRates

Complex = NDArray[np.complex128]


class Cumulants(NamedTuple):
    """log M and its first two derivatives on the real line: at c, the mean and spread if tilted."""

    value: Array
    mean: Array
    variance: Array


class LossLaw(ABC):
    """The loss of one step, by its moments and its tails."""

    least: float
    largest: float
    # The largest number met on the way to a loss: that many times a few ulp is its rounding.
    size: float

    @abstractmethod
    def cumulants(self, c: Array) -> Cumulants:
        """The logarithm of M(c), its derivative and second derivative, at real c."""

    @abstractmethod
    def along(self, c: float, y: Array) -> Complex:
        """The logarithm of M(c + iy) for y ≥ 0, up to multiples of 2πi."""

    @abstractmethod
    def rates(self, t: Array) -> FourRates:
        """FPR, TPR, FNR and TNR of flagging where the loss of one step exceeds t.

        Those below 1/2 are right within 32·u·(1 − log rate)·(1 + √size/8), u = 2^−53, for a
        threshold within 16·u·(1 + |t| + size) of the one asked, the same for all four.
        """

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        """The logarithm of M(c + iy) at y = 0, step, 2·step, …; faster where a law knows how."""
        return self.along(c, step * np.arange(points, dtype=float))

    def decay(self, c: float, y: Array) -> Array:
        """The logarithm of a bound on |M(c + iy')|/M(c) at all y' ≥ y.

        What follows holds for smooth laws, whose moments fall along a line. Atoms come back.
        """
        return np.asarray(self.along(c, y).real - self.cumulants(np.array([c])).value)

    def swapped(self) -> LossLaw:
        """The same step with the hypotheses exchanged."""
        return Swapped(self)


@dataclass(frozen=True)
class Swapped(LossLaw):
    """The step with h0 and h1 exchanged: M(1 − z)."""

    law: LossLaw

    @property
    def least(self) -> float:  # type: ignore[override]
        return -self.law.largest

    @property
    def largest(self) -> float:  # type: ignore[override]
        return -self.law.least

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.law.size

    def cumulants(self, c: Array) -> Cumulants:
        value, mean, variance = self.law.cumulants(1 - c)
        return Cumulants(value, -mean, variance)

    def rates(self, t: Array) -> FourRates:
        """Flags where the loss of the law behind is below −t, not at it."""
        fpr, tpr, fnr, tnr = self.law.rates(np.nextafter(-t, -np.inf))
        return fnr, tnr, fpr, tpr

    def along(self, c: float, y: Array) -> Complex:
        return np.conj(self.law.along(1 - c, y))

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        return np.conj(self.law.on_mesh(1 - c, step, points))

    def decay(self, c: float, y: Array) -> Array:
        return self.law.decay(1 - c, y)

    def swapped(self) -> LossLaw:
        return self.law


@dataclass(frozen=True)
class GaussianLoss(LossLaw):
    """Two normal laws of deviation 1, mu apart: the loss is normal, too."""

    mu: float
    least = -math.inf
    largest = math.inf

    def cumulants(self, c: Array) -> Cumulants:
        square = self.mu**2
        return Cumulants(square * c * (c - 1) / 2, square * (c - 0.5), square + 0 * c)

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.mu**2

    def rates(self, t: Array) -> FourRates:
        """Both from one rounded output, so that they belong to the same threshold."""
        ahead = t / self.mu + self.mu / 2
        behind = ahead - self.mu
        return ndtr(-ahead), ndtr(-behind), ndtr(behind), ndtr(ahead)

    def along(self, c: float, y: Array) -> Complex:
        return np.asarray(self.mu**2 / 2 * (c * (c - 1) - y**2 + 1j * y * (2 * c - 1)), complex)

    def swapped(self) -> LossLaw:
        return self


@dataclass(frozen=True)
class LaplaceLoss(LossLaw):
    """Two Laplace laws of scale 1, ``shift`` apart: two atoms and all between them."""

    shift: float

    @property
    def least(self) -> float:  # type: ignore[override]
        return -self.shift

    @property
    def largest(self) -> float:  # type: ignore[override]
        return self.shift

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.shift

    def rates(self, t: Array) -> FourRates:
        m, inside = self.shift, (t >= -self.shift) & (t < self.shift)
        all_of_it, none = np.where(t < -m, 1.0, 0.0), np.where(t < -m, 0.0, 1.0)
        fpr = np.where(inside, 0.5 * np.exp(-(m + np.where(inside, t, 0.0)) / 2), all_of_it)
        fnr = np.where(inside, 0.5 * np.exp(-(m - np.where(inside, t, 0.0)) / 2), none)
        return fpr, 1 - fnr, fnr, 1 - fpr

    def cumulants(self, c: Array) -> Cumulants:
        """By weights of the two atoms and of what lies between, all positive."""
        m, a = self.shift, c - 0.5
        logs = np.stack([(c - 1) * m, -c * m, -m / 2 + _log_mean_exp(a * m) + np.log(m)])
        logs -= math.log(2)
        top = logs.max(axis=0)
        weight = np.exp(logs - top)
        total = weight.sum(axis=0)
        weight /= total
        between, spread = _tilted_uniform(a * m)
        mean = m * (weight[0] - weight[1] + weight[2] * between)
        square = m**2 * (weight[0] + weight[1] + weight[2] * (spread + between**2))
        return Cumulants(np.log(total) + top, mean, square - mean**2)

    def along(self, c: float, y: Array) -> Complex:
        """By log(cosh a + m·sinh a/(2a)) − m/2 for a = (c − 1/2 + iy)·m, in real arithmetic."""
        m = self.shift
        tilt, turn = (c - 0.5) * m, y * m
        top = np.abs(tilt)
        ahead, back = np.exp(tilt - top) / 2, np.exp(-tilt - top) / 2
        even, odd = ahead + back, ahead - back  # the hyperbolic functions of the tilt
        cosine, sine = np.cos(turn), np.sin(turn)
        size = tilt**2 + turn**2
        small = size < 1e-6
        share = m / (2 * np.where(small, 1.0, size))
        real = share * (odd * cosine * tilt + even * sine * turn)
        imaginary = share * (even * sine * tilt - odd * cosine * turn)
        if small.any():
            square = (tilt + 1j * turn) ** 2
            series = m / 2 * np.exp(-top) * (1 + square / 6 * (1 + square / 20))
            real = np.where(small, series.real, real)
            imaginary = np.where(small, series.imag, imaginary)
        real, imaginary = real + even * cosine, imaginary + odd * sine
        logs = np.empty(real.shape, dtype=complex)
        logs.real = np.log(real**2 + imaginary**2) / 2 + top - m / 2
        logs.imag = np.arctan2(imaginary, real)
        return logs

    def decay(self, c: float, y: Array) -> Array:
        """The atoms never fade; what lies between them falls like 1/y, by its ends."""
        m, a = self.shift, np.abs(c - 0.5)
        ends = np.log1p(np.exp(-2 * a * m)) + a * m - m / 2 - math.log(2)  # of both atoms
        value = self.cumulants(np.asarray(c, dtype=float)).value
        share = np.exp(ends - value)
        return np.asarray(np.log(np.minimum(share * (1 + 1 / y), 1.0)))

    def swapped(self) -> LossLaw:
        return self


def thinned(losses: Array, rate: float) -> Array:
    """What losses become on a sample: log(1 + rate·(e^loss − 1))."""
    if rate == 1:
        return losses
    change = rate * np.expm1(np.minimum(losses, 40.0))
    with np.errstate(all="ignore"):
        near = np.log1p(change)
        # Close to −1 the change has lost what the record's absence leaves: that is added up.
        low = np.log(1 - rate + rate * np.exp(losses))
        far = losses + math.log(rate) + np.log1p((1 - rate) / rate * np.exp(-losses))
    return np.where(losses > 40, far, np.where(change < -0.5, low, near))


def _log_mean_exp(a: Array) -> Array:
    """The logarithm of the mean of e^(a·u) over u in (−1, 1): log(sinh(a)/a)."""
    size = np.maximum(np.abs(a), 1e-4)
    large = size + np.log(-np.expm1(-2 * size)) - np.log(2 * size)
    return np.where(np.abs(a) < 1e-4, a**2 / 6, large)


def _tilted_uniform(a: Array) -> tuple[Array, Array]:
    """Mean and variance of the law with density ∝ e^(a·u) on (−1, 1)."""
    safe = np.where(np.abs(a) < 1e-2, 1.0, a)
    coth = 1 / np.tanh(safe)
    mean = np.where(np.abs(a) < 1e-2, a / 3 - a**3 / 45, coth - 1 / safe)
    far = np.minimum(np.abs(safe), 300.0)
    variance = 1 / safe**2 - 1 / np.sinh(far) ** 2
    return mean, np.where(np.abs(a) < 1e-2, 1 / 3 - a**2 / 15, variance)


@dataclass(frozen=True, eq=False)
class AtomicLoss(LossLaw):
    """Finitely many losses, each with its probability under h0."""

    losses: Array
    absent: Array

    @property
    def least(self) -> float:  # type: ignore[override]
        return float(self.losses.min())

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(self.losses.max())

    @property
    def size(self) -> float:  # type: ignore[override]
        return float(np.abs(self.losses).max())

    @property
    def present(self) -> Array:
        """Each probability under h1."""
        return times_exp(self.absent, self.losses)

    def rates(self, t: Array) -> FourRates:
        order = np.argsort(self.losses)
        at = np.searchsorted(self.losses[order], t, side="right")
        tails = []
        for mass in (self.absent[order], self.present[order]):
            below = np.concatenate([[0.0], np.cumsum(mass)])[at]
            above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])[at]
            tails.append((np.minimum(above, 1.0), np.minimum(below, 1.0)))
        (fpr, tnr), (tpr, fnr) = tails
        return fpr, tpr, fnr, tnr

    def cumulants(self, c: Array) -> Cumulants:
        logs = np.multiply.outer(c, self.losses) + np.log(self.absent)
        top = logs.max(axis=-1)
        mass = np.exp(logs - top[..., None])
        total = mass.sum(axis=-1)
        mean = mass @ self.losses / total
        square = (mass * (self.losses - mean[..., None]) ** 2).sum(axis=-1) / total
        return Cumulants(np.log(total) + top, mean, square)

    def decay(self, c: float, y: Array) -> Array:
        """Atoms never fade."""
        return np.zeros(y.shape)

    def along(self, c: float, y: Array) -> Complex:
        logs = c * self.losses + np.log(self.absent)
        top = float(logs.max())
        wave = np.exp(1j * np.multiply.outer(y, self.losses))
        return np.asarray(np.log(wave @ np.exp(logs - top)) + top)


# Tables of more entries than this are worked through in parts.
_MOST = 1 << 20


class LaplaceSum:
    """The total loss of Laplace steps with these shifts, each taken so often."""

    def __init__(self, shifts: Array, counts: Array) -> None:
        self._shifts, self._counts = shifts, counts

    def cumulants(self, c: Array) -> Cumulants:
        """As `LaplaceLoss.cumulants`, for all shifts at once."""
        parts = LaplaceLoss(self._shifts).cumulants(np.asarray(c)[..., None])  # type: ignore[arg-type]
        return Cumulants(*(part @ self._counts for part in parts))

    def along(self, c: float, y: Array) -> Complex:
        """As `LaplaceLoss.along`, for all shifts at once."""
        logs = np.empty(y.shape, dtype=complex)
        rows = max(1, _MOST // self._shifts.size)
        for start in range(0, y.size, rows):
            part = slice(start, start + rows)
            table = LaplaceLoss(self._shifts).along(c, y[part, None])  # type: ignore[arg-type]
            logs[part] = table @ self._counts
        return logs

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        """The same on a mesh."""
        return self.along(c, step * np.arange(points, dtype=float))

    def decay(self, c: float, y: Array) -> Array:
        """As `LaplaceLoss.decay`, for all shifts at once."""
        table = LaplaceLoss(self._shifts).decay(c, y[:, None])  # type: ignore[arg-type]
        return np.asarray(table @ self._counts)
