"""Trade-off curve of two mixtures of Laplace laws: level sets in closed form.

Between two neighbouring atoms a mixture has the density (A·e^−t + B·e^−s)/2, t being the distance
from the left one and s = gap − t that from the right one, so a ratio of two is a Moebius function
of e^2t: it rises or falls all the way and meets every level once at most. Beyond the outermost
atoms it is constant. Rates are sums over the pieces so found, of terms none of which is negative;
logarithms are kept throughout, A seen from the left and B from the right, as a gap much longer
than the noise would swallow their digits.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import hull
from tellapart.curve.base import FourRates, at_ends
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs.level_sets import HELD, Index, Mask, MixturePair, in_noise, in_rows

# A ratio that moves by less over an interval does not move: rounding makes as much.
_STILL = 1e-13
# Whoever has a log-ratio beyond this has no mass left in doubles under one of the two laws.
_FAR = 745.0


class LaplacePieces(NamedTuple):
    """One mixture between its atoms: logarithms of A and B there, and of both tails' masses."""

    falling: Array
    rising: Array
    below: float
    above: float


class LaplacePair(MixturePair):
    """Told apart under Laplace noise of scale 1: ``present`` from ``absent``."""

    @cached_property
    def _gaps(self) -> Array:
        return np.diff(self.atoms)

    @cached_property
    def _h0(self) -> LaplacePieces:
        return log_pieces(self._gaps, self.absent)

    @cached_property
    def _h1(self) -> LaplacePieces:
        return log_pieces(self._gaps, self.present)

    @cached_property
    def _losses(self) -> Array:
        return _at_atoms(self._h1, self._gaps) - _at_atoms(self._h0, self._gaps)

    # -- what is extreme -----------------------------------------------------------------------

    @property
    def losses(self) -> Array:
        """The log-likelihood ratio at every atom, among which are its extremes (L1)."""
        return self._losses.copy()

    @cached_property
    def monotone(self) -> bool:
        """Whether the ratio never turns, so that a threshold on the output is a best test."""
        steps = np.diff(self._losses)
        return not (np.any(steps > _STILL) and np.any(steps < -_STILL))

    # -- rates and profile ---------------------------------------------------------------------

    def _rates(self, threshold: Array) -> FourRates:
        rates = in_rows(self._some_rates, threshold.ravel(), self.atoms.size)
        fpr, tpr, fnr, tnr = np.minimum(rates, 1.0).reshape(4, *threshold.shape)
        none, every = threshold >= self._largest_loss(), threshold < self._smallest_loss()
        return at_ends((fpr, tpr, fnr, tnr), none, every)

    def _some_rates(self, level: Array) -> Array:
        """One column for each level; what is above it and below it, counted separately."""
        whole, cut = self._split(level)
        left, right = self._losses[0] > level, self._losses[-1] > level
        rates = []
        for law, masses in zip((self._h0, self._h1), self._masses, strict=True):
            # A matrix product would add in an order that depends on how many levels there are.
            above, below = (
                np.where(held, masses, 0.0).sum(axis=1) for held in (whole, ~(whole | cut.met))
            )
            gaps = self._gaps[cut.column]
            piece = gaps, law.falling[cut.column], law.rising[cut.column]
            np.add.at(above, cut.row, mass_between(*piece, cut.start, cut.end))
            np.add.at(below, cut.row, mass_between(*piece, 0 * cut.start, cut.start))
            np.add.at(below, cut.row, mass_between(*piece, cut.end, gaps))
            rates.append(above + math.exp(law.below) * left + math.exp(law.above) * right)
            rates.append(below + math.exp(law.below) * ~left + math.exp(law.above) * ~right)
        fpr, tnr, tpr, fnr = rates
        return np.array([fpr, tpr, fnr, tnr])

    def _cell(self, column: Index) -> tuple[Array, Array]:
        return np.zeros(column.shape), self._gaps[column]

    def _crossing(self, column: Index, level: Array, falls: Mask) -> Array:
        """Solve for the distance t from the left: e^(2t − gap) = (λ·A0 − A1)/(B1 − λ·B0)."""
        down = _log_gap(self._h0.falling[column] + level, self._h1.falling[column])
        up = _log_gap(self._h1.rising[column], self._h0.rising[column] + level)
        gaps = self._gaps[column]
        with np.errstate(invalid="ignore"):
            away = (gaps + (down - up)) / 2
        # A ratio that moves by rounding alone meets the level anywhere.
        return np.clip(np.where(np.isnan(away), gaps / 2, away), 0.0, gaps)

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        """What either law has between each two neighbouring atoms."""
        gaps = self._gaps
        h0, h1 = (
            mass_between(gaps, law.falling, law.rising, 0 * gaps, gaps)
            for law in (self._h0, self._h1)
        )
        return h0, h1

    def _delta(self, epsilon: Array) -> Array:
        delta = in_rows(self._profile, epsilon.ravel(), self.atoms.size).reshape(epsilon.shape)
        return np.asarray(np.where(epsilon >= self._largest_loss(), 0.0, np.minimum(delta, 1.0)))

    def _profile(self, level: Array) -> Array:
        """The integral of p − λq where it is positive.

        Over a stretch it is tanh of half the length times what p − λq is at both ends, and at an
        atom that is p·(1 − λ/ratio), which is 0 where the ratio meets the level.
        """
        whole, cut = self._split(level)
        log_p = _at_atoms(self._h1, self._gaps)
        excess = np.exp(log_p) * np.maximum(-np.expm1(level[:, None] - self._losses), 0.0)
        ends = excess[:, :-1] + excess[:, 1:]
        delta = np.where(whole, np.tanh(self._gaps / 2) * ends, 0.0).sum(axis=-1)
        np.add.at(delta, cut.row, np.tanh((cut.end - cut.start) / 2) * ends[cut.row, cut.column])
        tails = [
            math.exp(mass) * np.maximum(-np.expm1(level - loss), 0.0)
            for mass, loss in (
                (self._h1.below, self._losses[0]),
                (self._h1.above, self._losses[-1]),
            )
        ]
        return np.asarray(delta + tails[0] + tails[1])[None]

    def _area(self) -> float:
        if self.monotone and self.atoms.size**2 <= HELD:
            return self._overturned()
        # The error falls with the square of the points, of which large mixtures have fewer.
        points = max(1 << 10, min(self._area_points, (1 << 24) // self.atoms.size))
        inner = np.clip(self._losses, -_FAR, _FAR)
        losses = np.linspace(inner.max(), inner.min(), points)
        # Where noise is small, nearly all outputs have the ratio of some atom.
        steep = inner if inner.size < points else inner.min(keepdims=True)
        losses = np.unique(np.concatenate([losses, steep, np.nextafter(steep, -np.inf)]))[::-1]
        fpr, _, fnr, _ = self._rates(losses)
        return hull.area_under_tangents(fpr, fnr, -np.exp(losses))

    def _overturned(self) -> float:
        """How often noise overturns the order of two atoms: the area, where the ratio only rises.

        The mean of P(two noises differ by more than m) = e^−m·(2 + m)/4, m being two atoms'
        distance.
        """
        apart = np.subtract.outer(self.atoms, self.atoms)
        if self._losses[0] > self._losses[-1]:
            apart = -apart
        m = np.abs(apart)
        tail = np.exp(-m) * (2 + m) / 4
        chances = np.where(apart >= 0, tail, 1 - tail)
        return float(np.exp(self.present) @ chances @ np.exp(self.absent))


def laplace_pair(present: FiniteLaw, absent: FiniteLaw, scale: float) -> LaplacePair:
    """The curve of two laws of a true answer to which Laplace noise of this scale is added."""
    values, logs_1, logs_0 = present.beside(absent)
    return LaplacePair(in_noise(values, scale), logs_0, logs_1)


def log_pieces(gaps: Array, log_weights: Array) -> LaplacePieces:
    """A mixture between its atoms and beyond them, from its log-weights there."""
    left = _decayed(log_weights, gaps)
    right = _decayed(log_weights[::-1], gaps[::-1])[::-1]
    half = math.log(2)
    return LaplacePieces(left[:-1], right[1:], right[0] - half, left[-1] - half)


def _decayed(log_weights: Array, gaps: Array) -> Array:
    """Log-sums of the weights so far, each faded by its distance; no digits are lost on the way."""
    so_far, logs = -math.inf, []
    for weight, gap in zip(log_weights.tolist(), [0.0, *gaps.tolist()], strict=True):
        faded = so_far - gap
        high, low = (faded, weight) if faded > weight else (weight, faded)
        so_far = high if low == -math.inf else high + math.log1p(math.exp(low - high))
        logs.append(so_far)
    return np.array(logs)


def _at_atoms(law: LaplacePieces, gaps: Array) -> Array:
    """Log-densities at every atom; a ratio is the same at the last one and beyond it."""
    inner = np.logaddexp(law.falling, law.rising - gaps) - math.log(2)
    return np.append(inner, law.above)


def mass_between(gaps: Array, falling: Array, rising: Array, start: Array, end: Array) -> Array:
    """What a law has between two places of a gap: exact for sums of e^t and e^−t."""
    ends = [np.exp(np.logaddexp(falling - t, rising - (gaps - t))) / 2 for t in (start, end)]
    return np.asarray(np.tanh((end - start) / 2) * (ends[0] + ends[1]))


def _log_gap(first: Array, other: Array) -> Array:
    """log|e^one − e^other|."""
    return np.asarray(np.maximum(first, other) + np.log(-np.expm1(-np.abs(first - other))))
