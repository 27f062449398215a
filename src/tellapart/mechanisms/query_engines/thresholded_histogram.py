"""Thresholded histograms: noisy counts of the keys in the data, shown from a threshold on.

Keys that no record has are never shown, so that one who alone has a key gives it away where its
noisy count passes the threshold (Korolova et al. 2009; stability-based histograms).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from tellapart import _checks
from tellapart.curve.algebra import WorstCase, worst_case
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.composition.infinite_loss import FiniteMass, with_infinite_loss
from tellapart.curve.guarantees import nothing
from tellapart.mechanisms.base import EpsilonAtDelta
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.noise import AdditiveNoise, Gaussian, Laplace
from tellapart.mechanisms.query_engines.partition_selection import refuse_other_neighbours

_NOISES = (Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace)
# Up to so many keys each number of new ones is looked at by itself, beyond them in groups.
_EACH, _GROUPS = 16, 16
_LEAST = 1e-300


@dataclass(frozen=True, repr=False)
class ThresholdedHistogram(EpsilonAtDelta):
    """Counts by key with noise, shown where they reach a threshold, for keys that occur at all.

    ``noise`` has as its sensitivity the most that one person adds to one count; ``keys`` is in how
    many counts one person is. If j of a person's keys are new, nobody else having them, each is
    shown with probability τ = P(sensitivity + noise ≥ threshold), which without the person never
    happens, and the other counts move. The curve is the worst over j of these products, reached
    where the other counts are far above the threshold: less than the sum of its parts. For more
    than 16 keys several j share one bound (`Bound.LOWER`).

    >>> import tellapart as ta
    >>> counts = ta.ThresholdedHistogram(ta.Gaussian(sigma=5), threshold=25, keys=3)
    >>> f"{counts.curve().delta(1.5):.3e}"
    '2.380e-06'
    """

    noise: AdditiveNoise
    threshold: float
    keys: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_other_neighbours(self.neighbours)
        if not isinstance(self.noise, _NOISES):
            names = ", ".join(kind.__name__ for kind in _NOISES)
            _checks.refuse("noise", f"be one of {names}", self.noise)
        refuse_other_neighbours(self.noise.neighbours)
        self._set(
            threshold=_checks.finite(threshold=self.threshold),
            keys=_checks.whole(1, 10**6, keys=self.keys),
        )

    @classmethod
    def with_delta(cls, noise: AdditiveNoise, delta: float, keys: int = 1) -> Self:
        """The least threshold at which one who is alone with all keys shows any with this δ.

        >>> import tellapart as ta
        >>> round(ta.ThresholdedHistogram.with_delta(ta.Laplace(1), delta=1e-6).threshold, 4)
        14.1224
        """
        d = _checks.inside_unit(delta=delta)
        histogram = cls(noise, 0.0, keys)
        each = -math.expm1(math.log1p(-d) / histogram.keys) * (1 - 1e-12)
        with np.errstate(all="ignore"):
            cut = float(noise.noise.cut(np.array([each]))[0])
        step = 1.0 if noise.noise.whole else 0.0  # at the cut itself a whole number may lie
        return cls(noise, noise.sensitivity + cut + step, histogram.keys)

    def new_key(self) -> float:
        """The probability τ that a key which one person alone has is shown.

        >>> import tellapart as ta
        >>> f"{ta.ThresholdedHistogram(ta.Gaussian(sigma=2), threshold=10).new_key():.4e}"
        '3.3977e-06'
        """
        away = np.asarray(float(self.threshold - self.noise.sensitivity))
        with np.errstate(all="ignore"):
            chance = float(self.noise.noise.above(away) + self.noise.noise.at(away))
        return max(chance, _LEAST)  # noise of every kind reaches any threshold

    def _present_test(self) -> TradeoffCurve:
        if self.keys <= _EACH:
            return worst_case([self._pair(new, self.keys - new) for new in range(self.keys + 1)])
        # More new keys, and more others that move, only tell more.
        ends = np.unique(np.linspace(0, self.keys, _GROUPS + 1).astype(int))
        first, last = [0, *(ends[:-1] + 1)], [0, *ends[1:]]
        pairs = (self._pair(b, self.keys - a) for a, b in zip(first, last, strict=True))
        return WorstCase(tuple(pairs), Bound.LOWER)

    def _pair(self, new: int, moved: int) -> TradeoffCurve:
        """So many new keys, and others whose counts move."""
        rest = self.noise.repeated(moved)._present_test() if moved else nothing()
        shown = self.new_key()
        hidden = new * (math.log1p(-shown) if shown < 1 else -math.inf) if new else 0.0
        return with_infinite_loss(rest, FiniteMass(0.0, hidden))
