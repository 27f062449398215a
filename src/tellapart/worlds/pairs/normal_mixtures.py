"""Two mixtures of normal laws of deviation 1 on the same atoms: densities, masses, crossings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.worlds.pairs.level_sets import in_rows

Mask = NDArray[np.bool_]
# Φ(−REACH) is 0 in doubles.
REACH = 40.0
EPS = float(np.finfo(float).eps)


class Posteriors(NamedTuple):
    """Of each law at each output: the log-density over that of the nearest atom, and the mean."""

    absent: Array
    present: Array
    absent_mean: Array
    present_mean: Array

    @property
    def loss(self) -> Array:
        """The log-likelihood ratio."""
        return self.present - self.absent


@dataclass(frozen=True, eq=False)
class Bells:
    """Log-weights of two laws at rising ``atoms``, each of which at least one of them has."""

    atoms: Array
    absent: Array
    present: Array

    @cached_property
    def gains(self) -> Array:
        """The log-ratio of the weights at each atom; ±inf where one law has none."""
        return self.present - self.absent

    @property
    def size(self) -> int:
        return self.atoms.size

    def seen(self, outputs: Array) -> Posteriors:
        """What either law makes of these outputs."""
        parts = in_rows(self._seen, outputs, self.size)
        return Posteriors(*parts)

    def heights(self, outputs: Array) -> Array:
        """The log-density at each output of each atom, over that of the nearest place."""
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        away = self.atoms - nearest[:, None]
        return np.asarray(away * ((outputs - nearest)[:, None] - away / 2))

    def _seen(self, outputs: Array) -> Array:
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        away, heights = self.atoms - nearest[:, None], self.heights(outputs)
        posteriors = [posterior(logs + heights, away) for logs in (self.absent, self.present)]
        return np.array(
            [
                posteriors[0][0],
                posteriors[1][0],
                nearest + posteriors[0][1],
                nearest + posteriors[1][1],
            ]
        )

    def log_height(self, outputs: Array) -> Array:
        """The log-density of the nearest atom, which `seen` leaves out."""
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        return np.asarray(-((outputs - nearest) ** 2) / 2 - math.log(2 * math.pi) / 2)

    def masses(self, start: Array, end: Array) -> tuple[Array, Array]:
        """What either law has between two outputs, from the tail that has the digits."""
        weights = np.exp(np.array([self.absent, self.present]))

        def between(rows: Array) -> Array:
            low, high = (rows[:, i, None] - self.atoms for i in range(2))
            upper = low > 0
            near, two = np.where(upper, -low, high), np.where(upper, -high, low)
            shares = np.maximum(ndtr(near) - ndtr(two), 0.0)
            # A matrix product would add in an order that depends on how many outputs there are.
            return np.array([(shares * law).sum(axis=1) for law in weights])

        absent, present = in_rows(between, np.stack([start, end], axis=-1), self.size)
        return absent, present

    def crossing(self, start: Array, end: Array, level: Array, falls: Mask) -> Array:
        """Where the log-ratio meets a level in cells in which it does so once."""
        sign = np.where(falls, 1.0, -1.0)

        def excess(place: Array, cell: NDArray[np.intp]) -> tuple[Array, Array]:
            seen = self.seen(place)
            slope = seen.present_mean - seen.absent_mean
            return sign[cell] * (seen.loss - level[cell]), sign[cell] * slope

        return solve.newton_root(
            excess, (start + end) / 2, (start, end), relative=2 * EPS, finest=1e-18
        )[0]

    def limits(self) -> tuple[float, float]:
        """What the log-ratio tends to far below and far above."""
        return float(self.gains[0]), float(self.gains[-1])


def posterior(logs: Array, away: Array) -> tuple[Array, Array]:
    """Log-sums over atoms, and means of the atoms weighed by the terms."""
    largest = logs.max(axis=1)
    shares = np.exp(logs - largest[:, None])
    total = shares.sum(axis=1)
    return largest + np.log(total), (shares * away).sum(axis=1) / total
