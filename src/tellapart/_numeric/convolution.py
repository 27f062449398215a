"""Convolution by tilted FFT: sums of many independent steps on a grid, every error bounded.

Masses m_k at the losses k·mesh are first tilted, m_k·e^(tilt·k·mesh)/M, which moves the bulk of
the sum to where numbers are asked for: a plain FFT has no digits below 1e-16 of its largest
value. Let u = 2^−53 and N the length of the transform. With masses that sum to 1 every number
inside an FFT is a partial sum of at most 1 in size, of which each of log2 N passes spoils less
than 8·u, so that each value φ of a step's spectrum is within e = 8·u·log2 N of the truth. With
a = |φ| + e and the product Φ = Π φ^n over the steps,

    |Φ computed − Φ| ≤ Π a^n · (Σ n·e/a + rounding of the logarithms),

and each mass of the sum, an inverse FFT, is within (1/N)·Σ_k of that and of 8·u·log2 N·|Φ_k|.
What lies outside the circular window is bounded by Chernoff's inequality on the masses given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart.errors import NotCertified

_U = 2.0**-53
# Tilted masses below e^−34 of the total may lie outside the window, unless more is allowed.
_OUTSIDE = 34.0
# Masses below this, next to what a double holds, count as this much or as none, as a side asks.
_FAINTEST = 1e-300
# Spectra below e^−90 count as 0.
_DEAD = 90.0
MOST_POINTS = 1 << 23


class GridMasses(NamedTuple):
    """A step: masses (at least 0, any total) at start, start + 1, …, and how often it is taken."""

    start: int
    masses: Array
    times: int

    @property
    def end(self) -> int:
        return self.start + len(self.masses) - 1


class _Tilted(NamedTuple):
    masses: Array
    log: float  # of what they were divided by
    grain: float  # the relative error of one mass, at most
    mean: float
    variance: float


@dataclass(frozen=True)
class TiltedSum:
    """What all steps add up to: ``masses`` at start, start + 1, …, in the tilted world.

    The mass at k is masses·e^(log − tilt·mesh·k), wrong by a factor within e^±log_error and, in
    the tilted world, by ``error`` each, but for wrapped mass, which can only have been added.
    ``below`` and ``above`` bound the tilted mass outside the window.
    """

    mesh: float
    tilt: float
    start: int
    masses: Array
    error: float
    log: float
    log_error: float
    below: float
    above: float
    mean: float
    spread: float
    _tables: dict[float, Array] = field(default_factory=dict, repr=False)

    @property
    def end(self) -> int:
        return self.start + len(self.masses) - 1

    def most_above(self, at: Array) -> Array:
        """No less than the mass above each grid point."""
        mass, slip = self._decayed(self.tilt, at)
        wrong = slip + self.error * self._counted(self.tilt, at) + self._unseen(at)
        return self._scaled(mass + wrong, at)

    def least_above(self, at: Array) -> Array:
        """No more than the mass above each grid point."""
        mass, slip = self._decayed(self.tilt, at)
        wrong = slip + self.error * self._counted(self.tilt, at) + self.below + self.above
        return self._scaled(np.maximum(mass - wrong, 0.0), at, -1)

    def most_excess(self, at: Array) -> Array:
        """No less than Σ over k > at of mass·(1 − e^((at − k)·mesh)): what exceeds a loss."""
        mass, slip = self._decayed(self.tilt, at)
        less, slip_less = self._decayed(self.tilt + 1, at)
        wrong = slip + slip_less + self.error * self._counted_excess(at) + self._unseen(at)
        return self._scaled(np.maximum(mass - less, 0.0) + wrong, at)

    def _scaled(self, value: Array, at: Array, side: int = 1) -> Array:
        """Back from the tilted world, rounded to a side."""
        exponent = self.log - self.tilt * self.mesh * at
        exponent = exponent + side * (self.log_error + 8 * _U * (4 + np.abs(exponent)))
        mass = np.exp(np.minimum(np.log(np.maximum(value, _FAINTEST)) + exponent, 1.0))
        # What no double holds, here or in the tilted world, is nothing seen from below. Seen from
        # above it is nothing only where no mass can lie.
        if side < 0:
            return np.where(value >= _FAINTEST, mass, 0.0)
        some = (at < self.end) | (self.above > 0)
        return np.where(some, np.maximum(mass, _FAINTEST), 0.0)

    def _unseen(self, at: Array) -> Array:
        """The mass above each grid point but outside the window, as it counts there, at most."""
        after = np.exp(-self.tilt * self.mesh * np.maximum(self.end - at, 0.0))
        return np.asarray(self.above * after + np.where(at < self.start - 1, self.below, 0.0))

    def _counted(self, rate: float, at: Array) -> Array:
        """Σ of e^(−rate·(k − at)·mesh) over the window's grid points k > at, or a little more."""
        a = rate * self.mesh
        number = np.clip(self.end - at, 0, len(self.masses)).astype(float)
        skipped = np.exp(-a * np.maximum(self.start - 1 - at, 0.0))
        if a < 1e-12:
            return number
        sums = math.exp(-a) * np.expm1(-a * number) / math.expm1(-a)
        return np.asarray(skipped * sums * (1 + 1e-9))

    def _counted_excess(self, at: Array) -> Array:
        """As `_counted`, each times 1 − e^((at − k)·mesh) ≤ (k − at)·mesh, without cancellation."""
        a = self.tilt * self.mesh
        every = self._counted(self.tilt, at)
        if a < 1e-12:
            return every
        near = self.mesh * math.exp(-a) / math.expm1(-a) ** 2 * (1 + 1e-9)
        return np.where(at < self.start - 1, every, np.minimum(every, near))

    def _decayed(self, rate: float, at: Array) -> tuple[Array, Array]:
        """Σ of masses·e^(−rate·(k − at)·mesh) over k > at, and the rounding error of that sum."""
        deadline.check()
        a = rate * self.mesh
        size = len(self.masses)
        if rate not in self._tables:
            self._tables[rate] = _running(self.masses[::-1], a)
        table = self._tables[rate]
        place = self.end - 1 - at
        inside = table[np.clip(place, 0, size - 1).astype(np.intp)]
        skipped = np.exp(-a * np.maximum(place - size + 1, 0.0))
        total = np.where(place < 0, 0.0, inside * skipped)
        return total, 4 * _U * (size + 100.0) * total


def _running(values: Array, a: float) -> Array:
    """Σ over j ≤ i of e^(−a·(i − j + 1))·values[j], in blocks in which e^a cannot overflow."""
    size = len(values)
    block = size if a * size < 200 else max(1, int(200 / a))
    rows = -(-size // block)
    padded = np.zeros(rows * block)
    padded[:size] = values
    grown = np.exp(a * np.arange(block))
    sums = np.cumsum(padded.reshape(rows, block) * grown, axis=1)
    sums *= math.exp(-a) / grown
    shrunk, carry = np.exp(-a * np.arange(1, block + 1)), 0.0
    for row in sums:
        row += carry * shrunk
        carry = float(row[-1])
    return sums.ravel()[:size]


def composed(
    parts: Sequence[GridMasses],
    mesh: float,
    tilt: float,
    most: int = MOST_POINTS,
    outside: float = _OUTSIDE,
) -> TiltedSum:
    """The sum of all steps as seen in the tilted world; `NotCertified` if it needs more points.

    About e^−outside of it may lie beyond the window, and is counted as such.
    """
    from scipy.fft import irfft, next_fast_len, rfft

    tilted = [_tilted(part, mesh, tilt) for part in parts]
    counts = [part.times for part in parts]
    log = math.fsum(n * step.log for n, step in zip(counts, tilted, strict=True))
    log_error = sum(
        n * (step.grain + 4 * _U * abs(step.log)) for n, step in zip(counts, tilted, strict=True)
    )
    mean = math.fsum(n * step.mean for n, step in zip(counts, tilted, strict=True))
    spread = math.sqrt(sum(n * step.variance for n, step in zip(counts, tilted, strict=True)))
    window = _Window(parts, tilted, mesh, log, spread)
    low, high = window.ends(outside)
    if not high - low < most:
        raise NotCertified(f"the sum of the losses needs more than {most} grid points")
    size = int(next_fast_len(high - low + 1, real=True))  # type: ignore[no-untyped-call]
    product = _Product(size, sum(counts), len(parts))
    for part, step in zip(parts, tilted, strict=True):
        folded = np.bincount(np.arange(len(step.masses)) % size, step.masses, size)
        log_error += part.times * _U * (len(step.masses) // size)  # of the folding
        product.times(rfft(folded), part.times)
    spectrum, error = product.done()
    masses = irfft(spectrum, n=size)
    offset = sum(part.times * part.start for part in parts)
    masses = np.maximum(np.roll(masses, (offset - low) % size), 0.0)
    below, above = window.outside(low, low + size - 1)
    return TiltedSum(mesh, tilt, low, masses, error, log, log_error, below, above, mean, spread)


def _tilted(part: GridMasses, mesh: float, tilt: float) -> _Tilted:
    index = np.arange(part.start, part.end + 1, dtype=float)
    exponents = (tilt * mesh) * index
    with np.errstate(divide="ignore"):
        top = float((np.log(part.masses) + exponents).max())
    exponents -= top
    masses = times_exp(part.masses, exponents)
    total = float(masses.sum())
    masses /= total
    # A product of two roundings, the top taken off, and the exponential of what is left.
    grain = _U * (16 + 4 * float(max(-exponents[0], exponents[0], -exponents[-1], exponents[-1])))
    grain += 8 * _U * abs(top)
    mean = float(masses @ index)
    index -= mean
    index *= index
    return _Tilted(masses, top + math.log(total), grain, mean, float(masses @ index))


def _log_moments(masses: Array, losses: Array, tilts: Array) -> Array:
    """The logarithm of Σ masses·e^(tilt·loss), for each tilt."""
    kept = masses > 0
    logs = np.log(masses[kept]) + np.multiply.outer(tilts, losses[kept])
    top = logs.max(axis=1)
    return np.asarray(np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top)


def _thinned_out(masses: Array, every: int) -> Array:
    """Each mass sent to the two nearest of every so many grid points, its mean kept.

    The mean of a convex function, such as e^(a·loss), can only grow by that (Jensen).
    """
    rows = -(-len(masses) // every)
    padded = np.zeros(rows * every)
    padded[: len(masses)] = masses
    share = np.arange(every) / every
    up, down = (padded.reshape(rows, every) @ part for part in (share, 1 - share))
    return np.asarray(np.append(down, 0.0) + np.append(0.0, up))


class _Window:
    """Which grid points hold almost all of the tilted sum, and what is outside at most."""

    def __init__(
        self,
        parts: Sequence[GridMasses],
        tilted: Sequence[_Tilted],
        mesh: float,
        log: float,
        spread: float,
    ) -> None:
        self._support = (
            sum(part.times * part.start for part in parts),
            sum(part.times * part.end for part in parts),
        )
        scale = max(spread, 1e-3) * mesh
        self._away = np.array([1.0, 1.5, 2.2, 3.2, 5.0, 9.0]) / scale
        both = np.concatenate([-self._away, self._away])
        # So that what thinning adds to the exponents, (away·every·mesh)²/12 at most, is little.
        every = max(1, min(64, int(spread / 20)))
        growth = np.zeros(both.size)
        for part, step in zip(parts, tilted, strict=True):
            masses = _thinned_out(step.masses, every)
            losses = mesh * (part.start + every * np.arange(masses.size, dtype=float))
            growth += part.times * _log_moments(masses, losses, both)
        slack = sum(part.times for part in parts) * 1e-13 + 1e-9 * abs(log)
        self._growth = growth + slack
        self._mesh = mesh

    def ends(self, outside: float) -> tuple[int, int]:
        down, up = np.split(self._growth, 2)
        low = float(((-down - outside) / self._away).max()) / self._mesh
        high = float(((up + outside) / self._away).min()) / self._mesh
        return max(math.floor(low), self._support[0]), min(math.ceil(high), self._support[1])

    def outside(self, low: int, high: int) -> tuple[float, float]:
        """Chernoff's bounds on the tilted mass below and above: e^(K(t ± a) − K(t) ∓ a·loss)."""
        down, up = np.split(self._growth, 2)
        least, largest = low * self._mesh, high * self._mesh
        below = float(np.exp(np.minimum(down + self._away * least, 0.0)).min())
        above = float(np.exp(np.minimum(up - self._away * largest, 0.0)).min())
        return (
            0.0 if low <= self._support[0] else max(below, _FAINTEST),
            0.0 if high >= self._support[1] else max(above, _FAINTEST),
        )


class _Product:
    """The spectrum of a sum from those of its steps, with the error of each value."""

    def __init__(self, size: int, steps: int, parts: int) -> None:
        self._size = size
        self._alive = np.arange(size // 2 + 1)
        self._entry = 8 * _U * math.log2(max(size, 2)) * (1 + 1e-6)
        self._log = np.zeros(self._alive.size, dtype=complex)
        self._bound = np.zeros(self._alive.size)  # log Π a^n
        self._relative = np.zeros(self._alive.size)  # Σ n·e/a
        self._rounding = np.zeros(self._alive.size)
        self._ulp = (4 + parts) * _U
        self._grown = math.exp(min(2 * steps * self._entry, 700.0))

    def times(self, spectrum: Array, count: int) -> None:
        value = spectrum[self._alive]
        largest = np.abs(value) + self._entry
        self._bound += count * np.log(largest)
        self._relative += count * self._entry / largest
        kept = self._bound > -_DEAD
        if not kept.all():
            names = ("_alive", "_log", "_bound", "_relative", "_rounding")
            for name in names:
                setattr(self, name, getattr(self, name)[kept])
            value = value[kept]
        with np.errstate(divide="ignore"):
            log = np.log(np.where(value == 0, 1e-300, value))
        self._log += count * log
        self._rounding += count * self._ulp * (1 + np.abs(log))

    def done(self) -> tuple[Array, float]:
        """All values, and how far each mass of the inverse transform is from the truth."""
        spectrum = np.zeros(self._size // 2 + 1, dtype=complex)
        value = np.exp(self._log)
        spectrum[self._alive] = value
        with np.errstate(over="ignore"):
            wrong = np.exp(self._bound) * (self._relative + np.expm1(self._rounding))
        wrong += (self._entry + 4 * _U) * np.abs(value)
        dead = (spectrum.size - self._alive.size) * math.exp(-_DEAD) * self._grown
        # Each value but the first stands for two, itself and its conjugate.
        return spectrum, 2 * (float(wrong.sum()) + dead) / self._size * (1 + 1e-6)
