"""Infinite privacy loss, the mass δ(∞): outputs that only one of the two worlds produces.

If h0 puts mass a where h1 has none, and h1 puts b where h0 has none, what is left, normalised on
both sides, is an ordinary test f, and the whole has

    β(α) = (1 − b)·f(α/(1 − a)) for α ≤ 1 − a, and 0 beyond.

Under composition 1 − a and 1 − b multiply. They are kept as logarithms, so that neither a chance
of 1e-300 nor what is left after a million steps is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.curve.guarantees import everything

# Beyond this threshold only what is revealing is flagged.
_FURTHEST = 1e300


class FiniteMass(NamedTuple):
    """log(1 − a) and log(1 − b): how likely each world is to produce what both can."""

    absent: float = 0.0
    present: float = 0.0

    def swapped(self) -> FiniteMass:
        return FiniteMass(self.present, self.absent)

    @property
    def shift(self) -> float:
        """What normalising takes off every loss."""
        return self.present - self.absent

    @property
    def delta_infinity(self) -> tuple[float, float]:
        """The masses a and b that reveal all: δ(∞) with the record absent, and present."""
        return -math.expm1(self.absent), -math.expm1(self.present)


ALL_FINITE = FiniteMass()


def finite_mass_of(absent: Array, present: Array, both: NDArray[np.bool_]) -> FiniteMass:
    """What is left if only the outcomes in ``both`` leave a doubt."""
    logs = []
    for mass in (absent, present):
        infinite = float(mass[~both].sum())
        logs.append(math.log1p(-infinite) if infinite < 0.5 else _log(float(mass[both].sum())))
    return FiniteMass(*logs)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def with_infinite_loss(rest: TradeoffCurve, finite_mass: FiniteMass) -> TradeoffCurve:
    """The test that reveals all with some chance, and otherwise shows what ``rest`` shows."""
    if finite_mass == ALL_FINITE:
        return rest
    if math.isinf(finite_mass.absent) or math.isinf(finite_mass.present):
        return everything(rest.bound)
    if isinstance(rest, AtomicCurve):
        a, b = finite_mass.delta_infinity
        return from_atoms(
            np.concatenate([[np.inf], rest.losses + finite_mass.shift, [-np.inf]]),
            np.concatenate([[0.0], rest.absent * math.exp(finite_mass.absent), [a]]),
            np.concatenate([[b], rest.present * math.exp(finite_mass.present), [0.0]]),
            rest.bound,
            keep_empty=True,
        )
    return InfiniteLossCurve(rest, finite_mass)


@dataclass(frozen=True, repr=False)
class InfiniteLossCurve(TradeoffCurve):
    """A test that reveals all with some chance, around what it shows otherwise."""

    rest: TradeoffCurve
    finite_mass: FiniteMass

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.rest.bound

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return self.rest._accuracy

    def _mirrored(self) -> InfiniteLossCurve:
        rest, finite_mass = self.rest.mirrored(), self.finite_mass.swapped()
        if rest is self.rest and finite_mass == self.finite_mass:
            return self
        return InfiniteLossCurve(rest, finite_mass)

    def _symmetrised(self) -> TradeoffCurve:
        if self.finite_mass.shift:
            return super()._symmetrised()
        # Both orders are scaled alike, so their envelope is the scaled envelope.
        both = self.rest.symmetrised()
        return self if both is self.rest else InfiniteLossCurve(both, self.finite_mass)

    @property
    def _left(self) -> tuple[float, float]:
        return math.exp(self.finite_mass.absent), math.exp(self.finite_mass.present)

    def _rates(self, threshold: Array) -> FourRates:
        (a, b), (left, right) = self.finite_mass.delta_infinity, self._left
        # At the ends only what is revealing decides, whatever the rest.
        far = np.abs(threshold) > _FURTHEST
        fpr, tpr, fnr, tnr = self.rest._rates(
            np.where(far, 0.0, threshold) - self.finite_mass.shift
        )
        where = [threshold == np.inf, threshold > _FURTHEST, threshold < -_FURTHEST]
        return (
            np.select(where, [0.0, 0.0, left], left * fpr),
            np.select(where, [0.0, b, 1.0], np.minimum(b + right * tpr, 1.0)),
            np.select(where, [1.0, right, 0.0], right * fnr),
            np.select(where, [1.0, 1.0, a], np.minimum(a + left * tnr, 1.0)),
        )

    def _delta(self, epsilon: Array) -> Array:
        return self.finite_mass.delta_infinity[1] + self._left[1] * self.rest._delta(
            epsilon - self.finite_mass.shift
        )

    def _epsilon(self, delta: Array) -> Array:
        shift, (_, b) = self.finite_mass.shift, self.finite_mass.delta_infinity
        spent = np.clip((delta - b) / self._left[1], 0.0, 1.0)
        epsilon = np.where(delta < b, np.inf, np.maximum(self.rest._epsilon(spent) + shift, 0.0))
        # The rest answers from 0 on; between 0 and the shift its loss was negative.
        low = (epsilon == shift) & (shift > 0)
        if low.any():
            epsilon = np.where(low, 0.0, epsilon)
            low &= delta < self._delta(np.zeros(1))[0]
        # At the shift itself rounding may leave δ an ulp above what was asked.
        beyond = low & (self._delta(np.full(1, shift))[0] >= delta)
        epsilon = np.where(beyond, shift, epsilon)
        low &= ~beyond
        if low.any():
            asked = delta[low]

            def excess(epsilon: Array) -> Array:
                return np.asarray(np.log1p((self._delta(epsilon) - asked) / asked))

            top = np.full(asked.shape, shift)
            epsilon[low] = solve.falling_root(excess, np.zeros_like(top), top)[1]
        return epsilon

    def _beta(self, alpha: Array) -> Array:
        part = alpha / self._left[0]
        beta = self._left[1] * self.rest._beta(np.minimum(part, 1.0))
        return np.where(part < 1, beta, 0.0)

    def _tpr(self, fpr: Array) -> Array:
        part = fpr / self._left[0]
        tpr = self.finite_mass.delta_infinity[1] + self._left[1] * self.rest._tpr(
            np.minimum(part, 1.0)
        )
        return np.where(part < 1, np.minimum(tpr, 1.0), 1.0)

    def _fpr(self, tpr: Array) -> Array:
        part = np.clip((tpr - self.finite_mass.delta_infinity[1]) / self._left[1], 0.0, 1.0)
        return np.asarray(self._left[0] * self.rest._fpr(part))

    def _largest_loss(self) -> float:
        return self.rest._largest_loss() + self.finite_mass.shift

    def _smallest_loss(self) -> float:
        return self.rest._smallest_loss() + self.finite_mass.shift

    def _delta_at_infinity(self) -> float:
        return self.finite_mass.delta_infinity[1]
