"""Sums over cells of a rate's law: what a claim allows, and what a truth would show, at ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betainccinv, betaincinv

from tellapart import deadline
from tellapart._checks import Array
from tellapart.audit._rank_test import Looked, masses

_MIDDLE, _UPPER = 24, 20


@dataclass(frozen=True)
class Cells:
    """The law of the reference's rate at each rank, cut into cells once for many curves.

    A chance that grows with the rate is at most the sum with each cell's far end, at least the
    sum with its near end: both sides of every probability, whatever the curve.
    """

    looks: Looked
    levels: Array
    cuts: Array
    masses: Array

    @classmethod
    def of(cls, looks: Looked, levels: Array) -> Cells:
        """Cells that are fine where sums near the levels are decided."""
        law = [one[:, None] for one in looks.rate_law()]
        middle = betaincinv(*law, np.linspace(0.005, 0.95, _MIDDLE))
        upper = betainccinv(*law, np.geomspace(0.04, levels * 1e-3, _UPPER, axis=1))
        cuts = np.concatenate([middle, upper], axis=1)
        return cls(looks, levels, cuts, masses((law[0], law[1]), cuts))

    def most(self, beyond: Array, roc: Array) -> Array:
        """At most this likely are so many beyond, if the curve's ROC at the cuts is this."""
        chance = self._chance(beyond, roc)
        most = np.sum(self.masses[:, :-1] * chance, axis=1) + self.masses[:, -1]
        return np.asarray(np.minimum(most, 1.0))

    def least(self, beyond: Array, roc: Array) -> Array:
        """At least this likely are so many beyond."""
        return np.asarray(np.sum(self.masses[:, 1:] * self._chance(beyond, roc), axis=1))

    def critical(self, roc: Array) -> Array:
        """The least counts beyond that refute, at each look's level, a claim with this ROC."""
        low, high = np.zeros(len(self.levels)), self.looks.tested + 1
        while np.any(high - low > 1):
            deadline.check()
            middle = np.floor((low + high) / 2)
            refutes = self.most(middle, roc) <= self.levels
            low, high = np.where(refutes, low, middle), np.where(refutes, middle, high)
        return high

    def _chance(self, beyond: Array, roc: Array) -> Array:
        count = np.maximum(beyond, 0.5)[:, None]
        rest = np.maximum(self.looks.tested - beyond + 1, 0.5)[:, None]
        chance = betainc(count, rest, np.clip(roc, 0.0, 1.0))
        chance = np.where(beyond[:, None] > self.looks.tested[:, None], 0.0, chance)
        return np.where(beyond[:, None] <= 0, 1.0, chance)
