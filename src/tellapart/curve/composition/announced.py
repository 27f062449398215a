"""Announced mixtures: a step is one of several, drawn at random, and an attacker is told which.

By joint convexity of the hockey-stick divergence (Balle, Barthe and Gaboardi 2018, §2) a step that
does not tell leaks no more, so the curve bounds any such mixture from below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart.curve.base import Bound, FourRates, TradeoffCurve


@dataclass(frozen=True, repr=False)
class AnnouncedCurve(TradeoffCurve):
    """One of several tests, each with its probability: δ(ε) is the mean of theirs in both orders.

    >>> from tellapart.curve.closed import GaussianCurve
    >>> from tellapart.curve.guarantees import nothing
    >>> half = AnnouncedCurve(((0.5, GaussianCurve(1.0)), (0.5, nothing())))
    >>> half.delta(1.0) == GaussianCurve(1.0).delta(1.0) / 2
    True
    """

    parts: tuple[tuple[float, TradeoffCurve], ...]
    bound: Bound = Bound.LOWER

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return max(curve._accuracy for _, curve in self.parts)

    def _mirrored(self) -> AnnouncedCurve:
        if all(curve.mirrored() is curve for _, curve in self.parts):
            return self
        mirrors = tuple((weight, curve.mirrored()) for weight, curve in self.parts)
        return AnnouncedCurve(mirrors, self.bound)

    def _rates(self, threshold: Array) -> FourRates:
        tables = [curve._rates(threshold) for _, curve in self.parts]
        columns = (self._mean(column) for column in zip(*tables, strict=True))
        fpr, tpr, fnr, tnr = (np.minimum(column, 1.0) for column in columns)
        return fpr, tpr, fnr, tnr

    def _delta(self, epsilon: Array) -> Array:
        return self._mean(tuple(curve._delta(epsilon) for _, curve in self.parts))

    def _mean(self, values: tuple[Array, ...]) -> Array:
        weighted = (weight * x for (weight, _), x in zip(self.parts, values, strict=True))
        return np.asarray(sum(weighted))

    def _largest_loss(self) -> float:
        return max(curve._largest_loss() for _, curve in self.parts)

    def _smallest_loss(self) -> float:
        return min(curve._smallest_loss() for _, curve in self.parts)

    def _delta_at_infinity(self) -> float:
        return math.fsum(weight * curve._delta_at_infinity() for weight, curve in self.parts)
