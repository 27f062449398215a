"""Laplace noise on an answer whose law is known up to a box of weights.

An output o has, given a secret, the likelihood Σ w·e^(−|o − f|/b)/Σ w over answers f. For weights
between a low and a high one this mean is largest with high weights on the answers nearest to o and
low ones on the rest, and the other way round for the least: all such cuts are tried. For any fixed
weights the ratio of two likelihoods is largest at an answer, so answers are all outputs to try.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.fitting._steps import EPS

_AT_ONCE = 2**20


@dataclass(frozen=True, eq=False)
class Mixture:
    """Answers that rise, with the least and the largest weight of each."""

    answers: Array
    low: Array
    high: Array

    @classmethod
    def gathered(cls, answers: Array, low: Array, high: Array) -> Self:
        """From cells, of which those with equal answers are added up and impossible ones left."""
        possible = high > 0
        distinct, places = np.unique(answers[possible], return_inverse=True)
        least = np.bincount(places, low[possible], distinct.size).astype(float)
        most = np.bincount(places, high[possible], distinct.size).astype(float)
        return cls(distinct, least, most)

    def log_most(self, outputs: Array, scale: float) -> Array:
        """The largest log-likelihood of each output."""
        return self._extreme(outputs, scale, nearest=True)

    def log_least(self, outputs: Array, scale: float) -> Array:
        """The smallest log-likelihood of each output."""
        return self._extreme(outputs, scale, nearest=False)

    def _extreme(self, outputs: Array, scale: float, nearest: bool) -> Array:
        distances = np.abs(outputs[:, None] - self.answers) / scale
        order = np.argsort(distances if nearest else -distances, axis=1, kind="stable")
        closest = distances.min(axis=1, keepdims=True)
        likely = np.exp(closest - np.take_along_axis(distances, order, axis=1))
        extra = (self.high - self.low)[order]
        low = self.low[order]
        whole = low.sum(axis=1, keepdims=True) + extra.cumsum(axis=1)
        seen = (low * likely).sum(axis=1, keepdims=True) + (extra * likely).cumsum(axis=1)
        means = np.divide(seen, whole, out=np.full_like(whole, np.nan), where=whole > 0)
        if nearest:
            return np.asarray(np.log(np.nanmax(means, axis=1)) - closest[:, 0])
        with np.errstate(divide="ignore"):
            logs = np.log(np.nanmin(means, axis=1)) - closest[:, 0]
        return np.asarray(np.maximum(logs, -distances.max(axis=1)))


def most_apart(mixtures: Sequence[Mixture], scale: float) -> float:
    """The largest log-ratio between likelihoods of an output under two secrets, rounded up."""
    return max(_apart(one, other, scale) for one, other in itertools.permutations(mixtures, 2))


def _apart(one: Mixture, other: Mixture, scale: float) -> float:
    outputs = np.union1d(one.answers, other.answers)
    size = max(one.answers.size, other.answers.size)
    parts = np.array_split(outputs, -(-outputs.size * size // _AT_ONCE))
    best = max(
        float((one.log_most(part, scale) - other.log_least(part, scale)).max()) for part in parts
    )
    return max(best, 0.0) * (1 + 4 * EPS) + 8 * (size + 8) * EPS
