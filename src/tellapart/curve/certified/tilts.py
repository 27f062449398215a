"""Exponential tilts (Chernoff, saddle points) and a mesh for a bracket, from a sketch of losses.

No bound needs them: everything here may be wrong without harm, as a poor tilt or mesh only makes
a bracket wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tellapart._checks import Array
from tellapart.curve.certified.discretise import sketched
from tellapart.curve.composition.loss_laws import LossLaw
from tellapart.errors import NotCertified

# One tilt serves about so many deviations of the sum.
_SERVES = 6.0
# The variance of losses that a double takes for one and the same.
_NARROWEST = 1e-32


class Guide:
    """The sum of all losses under h1, in one order, roughly."""

    def __init__(self, steps: Sequence[tuple[LossLaw, int]], delta: float, tail: float) -> None:
        self._steps = [(*sketched(law, tail), count) for law, count in steps]
        if not all(losses.size for losses, _, _ in self._steps):
            raise NotCertified("a step of these losses is beyond what a bracket can hold")
        self._count = sum(count for _, count in steps)
        _, _, variance = self._cumulants(np.zeros(1))
        self._scale = 1 / math.sqrt(max(float(variance[0]), _NARROWEST))
        tilt, self.epsilon = self._saddle(math.log(delta))
        rungs = max(1, math.ceil(math.sqrt(-2 * math.log(delta)) / _SERVES))
        self.tilts = [tilt * k / rungs for k in range(rungs, 0, -1)]

    def mesh(self, gap: float) -> float:
        """A mesh for this gap: ε moves by about (1 + tilt)·mesh²/12 a step, or half that.

        Such is the variance that sending losses to grid points adds to each.
        """
        allowed = gap * max(1.0, self.epsilon) / self._count
        # No loss moves by more than the mesh, however large the tilt.
        return max(0.9 * math.sqrt(8 * allowed / (1 + self.tilts[0])), allowed / 4)

    def learn(self, most: float, least: float) -> None:
        """The best tilts for the ends of a bracket that was too wide, and some below them.

        Where a few large losses outweigh all others in the tilted world, a little less is better.
        """
        best = [self._best(epsilon) for epsilon in (most, least) if 0 < epsilon < math.inf]
        asked = sorted([*(share * s for s in best for share in (1.0, 0.8, 0.5)), *self.tilts[-1:]])
        self.tilts = [s for k, s in enumerate(asked) if k == 0 or s > 1.1 * asked[k - 1]][::-1]

    def _cumulants(self, s: Array) -> tuple[Array, Array, Array]:
        """The logarithm of E e^(s·sum), its mean and its variance if so tilted."""
        sums = np.zeros((3, s.size))
        for losses, masses, count in self._steps:
            logs = np.multiply.outer(s, losses) + np.log(masses)
            top = logs.max(axis=1)
            weight = np.exp(logs - top[:, None])
            total = weight.sum(axis=1)
            mean = (weight * losses).sum(axis=1) / total
            square = (weight * (losses - mean[:, None]) ** 2).sum(axis=1) / total
            sums += count * np.stack([np.log(total) + top, mean, square])
        return sums[0], sums[1], sums[2]

    def _log_delta(self, s: Array) -> tuple[Array, Array, Array]:
        """Chernoff's log δ at the tilts s, the saddle point's, and the mean."""
        value, mean, variance = self._cumulants(s)
        chernoff = value - s * mean
        width = np.sqrt(2 * np.pi * np.maximum(variance, 0.0))
        return chernoff, chernoff - np.log1p(s * (1 + s) * width), mean

    def _saddle(self, wanted: float) -> tuple[float, float]:
        """The tilt whose saddle point has this log δ, and about where."""
        s = self._scale * 1e-4 * 1.25 ** np.arange(94.0)
        chernoff, log_delta, mean = self._log_delta(np.asarray(s, dtype=float))
        # Where it stands still the tilted sum sits on its largest value: no tilt goes further.
        still = np.flatnonzero((chernoff[6:-6] - chernoff[12:] < 1) & (s[6:-6] > self._scale))
        last = int(still[0]) + 6 if still.size else s.size - 1
        k = min(int(np.argmax(log_delta <= wanted)) if (log_delta <= wanted).any() else last, last)
        if k == 0 or log_delta[k] > wanted:
            return float(s[k]), float(mean[k])
        # A finer table, thrice: no root is asked for here, and log δ need not fall everywhere.
        for _ in range(3):
            s = np.linspace(float(s[k - 1]), float(s[k]), 9)
            _, log_delta, mean = self._log_delta(s)
            k = max(1, int(np.argmax(log_delta <= wanted)))
        return float(s[k]), float(mean[k - 1])

    def _best(self, epsilon: float) -> float:
        """The least tilt whose Chernoff bound on what exceeds this loss is about the best."""
        s = np.asarray(self._scale * 1e-4 * 1.3 ** np.arange(74.0), dtype=float)
        for _ in range(3):
            value = self._cumulants(s)[0] - s * epsilon
            k = int(np.argmax(value <= value.min() + 0.1))
            s = np.linspace(float(s[max(k - 1, 0)]), float(s[k]), 11)
        return float(s[-1])
