"""One hypothesis under Laplace noise of scale 1: its centres lie on one side of the cut, at 0.

Every quantity is a mean over the centres' distances d of a term that cannot be negative, so no
digits cancel, however close or far the centres lie.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import exprel, gammainc

from tellapart._checks import Array
from tellapart.worlds.pairs.one_sided_base import Side, log_mean_exp, mean_tail


class LaplaceSide(Side):
    """Beyond the furthest centre, and beyond the cut, an output's density ratio is constant."""

    reach: ClassVar[float] = 750.0  # e^−750 is 0

    @abstractmethod
    def floor(self) -> float:
        """Log of the mean of e^−d: the density ratio to a centre at the cut, across the cut."""

    @abstractmethod
    def rise(self) -> float:
        """How much the log ratio grows from the cut to the furthest centre."""

    @abstractmethod
    def climbed(self, rise: Array) -> Array:
        """The output at which the log ratio has grown this much since the cut."""

    @abstractmethod
    def gain(self, output: Array) -> Array:
        """Mean of 1 − e^−(d − output): what the centres beyond an output add to the profile."""

    @abstractmethod
    def share(self, output: Array) -> Array:
        """Mean of 1 − e^−min(d, output), each d weighed by its density at the output."""

    @abstractmethod
    def pull(self) -> float:
        """Mean of d·e^−d."""


@dataclass(frozen=True)
class LaplaceUniform(LaplaceSide):
    """Centres spread evenly over the distances from 0 to ``width``."""

    width: float

    def furthest(self) -> float:
        return self.width

    def tail(self, x: Array, sign: Array | float) -> Array:
        return mean_tail(_tail_mean, x, sign, self.width)

    def floor(self) -> float:
        w = self.width
        return math.log1p(-float(_ramp(np.array(w))) / w) if 0 < w < 1 else math.log(exprel(-w))

    def rise(self) -> float:
        return self.width

    def climbed(self, rise: Array) -> Array:
        """The ratio is 2x − 1 − e^−w·x² up to a factor, with x = e^output: a quadratic."""
        w = self.width
        if w == 0:
            return np.zeros_like(rise)
        root = np.sqrt(np.expm1(rise - w) / math.expm1(-w))
        near = np.log1p(np.expm1(np.minimum(rise, 1.0)) / (1 + root))
        far = rise + np.log1p(root * np.exp(-rise)) - np.log1p(root)
        return np.asarray(np.minimum(np.where(rise < 1, near, far), w))

    def gain(self, output: Array) -> Array:
        left = np.maximum(self.width - np.maximum(output, 0.0), 0.0)
        return np.asarray(_ramp(left) / self.width if self.width else left)

    def share(self, output: Array) -> Array:
        x = np.clip(output, 0.0, self.width)
        before, after = -np.expm1(-x), -np.expm1(x - self.width)
        found = (gammainc(2, x) + before * after) / (before + after)
        return np.where(x > 0, found, 0.0)

    def pull(self) -> float:
        return float(gammainc(2, self.width)) / self.width if self.width else 0.0


@dataclass(frozen=True, eq=False)
class LaplacePoints(LaplaceSide):
    """Finitely many centres."""

    distances: Array
    weights: Array

    def furthest(self) -> float:
        return float(self.distances.max())

    def tail(self, x: Array, sign: Array | float) -> Array:
        moved = x[..., None] + np.asarray(sign)[..., None] * self.distances
        return np.asarray((_tail(moved) * self.weights).sum(axis=-1))

    def floor(self) -> float:
        return float(log_mean_exp(-self.distances, self.weights))

    def rise(self) -> float:
        return float(self._knots[1][-1])

    @cached_property
    def _knots(self) -> tuple[Array, Array, Array]:
        """Where the ratio bends, its log since the cut there, and what slows its growth after.

        From a knot k on the ratio is A + B·e^(2·output), B = Σ w·e^−d over the centres ahead; the
        last column is log(1 + A/(B·e^2k)).
        """
        at = np.unique(np.append(self.distances, 0.0))
        bent = np.minimum(self.distances, 2 * at[:, None] - self.distances)
        log_ratio = log_mean_exp(bent, self.weights)
        ahead = np.where(self.distances > at[:-1, None], -self.distances, -np.inf)
        slack = log_ratio[:-1] - 2 * at[:-1] - log_mean_exp(ahead, self.weights)
        return at, log_ratio - self.floor(), np.append(np.maximum(slack, 0.0), 0.0)

    def climbed(self, rise: Array) -> Array:
        at, grown, slower = self._knots
        before = np.clip(np.searchsorted(grown, rise, side="right") - 1, 0, at.size - 1)
        more = np.maximum(rise - grown[before], 0.0)
        # e^(2·(output − at)) − 1 = (e^more − 1)·e^slower, in logs as any of them may overflow.
        growth = more + np.log(-np.expm1(-more)) + slower[before]
        found = at[before] + np.logaddexp(0.0, growth) / 2
        return np.asarray(np.minimum(found, np.append(at, at[-1])[before + 1]))

    def gain(self, output: Array) -> Array:
        left = np.maximum(self.distances - np.maximum(output, 0.0)[..., None], 0.0)
        return np.asarray((-np.expm1(-left) * self.weights).sum(axis=-1))

    def share(self, output: Array) -> Array:
        x = np.maximum(output, 0.0)[..., None]
        apart = np.abs(self.distances - x)
        likely = self.weights * np.exp(apart.min(axis=-1, keepdims=True) - apart)
        kept = -np.expm1(-np.minimum(self.distances, x))
        return np.asarray((likely * kept).sum(axis=-1) / likely.sum(axis=-1))

    def pull(self) -> float:
        return float((self.distances * np.exp(-self.distances)) @ self.weights)


def _tail(x: Array) -> Array:
    """P(noise > x)."""
    small = np.exp(-np.abs(x)) / 2
    return np.where(x >= 0, small, 1 - small)


def _tail_mean(x: Array, width: Array) -> Array:
    """The mean of P(noise > y) over y from x ≥ 0 to x + width."""
    return np.asarray(np.exp(-x) / 2 * exprel(-width))


def _ramp(x: Array) -> Array:
    """That is x − 1 + e^−x, by its series where that cancels."""
    small = np.minimum(x, 0.5)
    series = np.zeros_like(x)
    for k in range(16, 1, -1):
        series = (1 - series) * small / k
    return np.where(x < 0.5, series * small, x + np.expm1(-x))
