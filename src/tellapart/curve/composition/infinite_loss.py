"""Tests that may reveal all: with some chance an output shows up that only one world produces.

If h0 puts mass a where h1 has none, and h1 puts b where h0 has none, what is left, normalised on
both sides, is an ordinary test f, and the whole has

    β(α) = (1 − b)·f(α/(1 − a)) for α ≤ 1 − a, and 0 beyond.

Under composition 1 − a and 1 − b multiply. They are kept as logarithms, so that neither a chance
of 1e-300 nor what is left after a million steps is lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import everything

# Beyond this threshold only what is revealing is accused.
_FURTHEST = 1e300


class Kept(NamedTuple):
    """log(1 − a) and log(1 − b): how likely each world is to produce what both can."""

    absent: float = 0.0
    present: float = 0.0

    def swapped(self) -> Kept:
        return Kept(self.present, self.absent)

    @property
    def shift(self) -> float:
        """What normalising takes off every loss."""
        return self.present - self.absent

    @property
    def sure(self) -> tuple[float, float]:
        """The masses a and b that reveal all."""
        return -math.expm1(self.absent), -math.expm1(self.present)


NOTHING_SURE = Kept()


def kept_of(absent: Array, present: Array, both: NDArray[np.bool_]) -> Kept:
    """What is kept if only the outcomes in ``both`` leave a doubt."""
    logs = []
    for mass in (absent, present):
        sure = float(mass[~both].sum())
        left = math.log1p(-sure) if sure < 0.5 else _log(float(mass[both].sum()))
        logs.append(left)
    return Kept(*logs)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def revealing(rest: TradeoffCurve, kept: Kept) -> TradeoffCurve:
    """The test that reveals all with some chance, and otherwise shows what ``rest`` shows."""
    if kept == NOTHING_SURE:
        return rest
    if math.isinf(kept.absent) or math.isinf(kept.present):
        return everything(rest.bound)
    if isinstance(rest, AtomicCurve):
        a, b = kept.sure
        return from_atoms(
            np.concatenate([[np.inf], rest.losses + kept.shift, [-np.inf]]),
            np.concatenate([[0.0], rest.absent * math.exp(kept.absent), [a]]),
            np.concatenate([[b], rest.present * math.exp(kept.present), [0.0]]),
            rest.bound,
            keep_empty=True,
        )
    return RevealingCurve(rest, kept)


@dataclass(frozen=True)
class RevealingCurve(TradeoffCurve):
    """A test that reveals all with some chance, around what it shows otherwise."""

    rest: TradeoffCurve
    kept: Kept

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.rest.bound

    @property
    def _accuracy(self) -> float:  # type: ignore[override]
        return self.rest._accuracy

    def mirrored(self) -> RevealingCurve:
        return self._mirror

    @cached_property
    def _mirror(self) -> RevealingCurve:
        rest, kept = self.rest.mirrored(), self.kept.swapped()
        if rest is self.rest and kept == self.kept:
            return self
        mirror = RevealingCurve(rest, kept)
        mirror.__dict__["_mirror"] = self
        return mirror

    def symmetrised(self) -> TradeoffCurve:
        if self.kept.shift:
            return super().symmetrised()
        # Both orders are scaled alike, so their envelope is the scaled envelope.
        both = self.rest.symmetrised()
        return self if both is self.rest else RevealingCurve(both, self.kept)

    @property
    def _left(self) -> tuple[float, float]:
        return math.exp(self.kept.absent), math.exp(self.kept.present)

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        (a, b), (left, right) = self.kept.sure, self._left
        # At the ends only what is revealing decides, whatever the rest.
        far = np.abs(threshold) > _FURTHEST
        fpr, tpr, fnr, tnr = self.rest._rates(np.where(far, 0.0, threshold) - self.kept.shift)
        where = [threshold == np.inf, threshold > _FURTHEST, threshold < -_FURTHEST]
        return (
            np.select(where, [0.0, 0.0, left], left * fpr),
            np.select(where, [0.0, b, 1.0], np.minimum(b + right * tpr, 1.0)),
            np.select(where, [1.0, right, 0.0], right * fnr),
            np.select(where, [1.0, 1.0, a], np.minimum(a + left * tnr, 1.0)),
        )

    def _delta(self, epsilon: Array) -> Array:
        return self.kept.sure[1] + self._left[1] * self.rest._delta(epsilon - self.kept.shift)

    def _epsilon(self, delta: Array) -> Array:
        shift, (_, b) = self.kept.shift, self.kept.sure
        spent = np.clip((delta - b) / self._left[1], 0.0, 1.0)
        found = np.where(delta < b, np.inf, np.maximum(self.rest._epsilon(spent) + shift, 0.0))
        # The rest answers from 0 on; between 0 and the shift its loss was negative.
        low = (found == shift) & (shift > 0)
        if low.any():
            found = np.where(low, 0.0, found)
            low &= delta < self._delta(np.zeros(1))[0]
        # At the shift itself rounding may leave δ an ulp above what was asked.
        beyond = low & (self._delta(np.full(1, shift))[0] >= delta)
        found = np.where(beyond, shift, found)
        low &= ~beyond
        if low.any():
            asked = delta[low]

            def excess(epsilon: Array) -> Array:
                return np.asarray(np.log1p((self._delta(epsilon) - asked) / asked))

            top = np.full(asked.shape, shift)
            found[low] = solve.falling_root(excess, np.zeros_like(top), top)[1]
        return found

    def _beta(self, alpha: Array) -> Array:
        part = alpha / self._left[0]
        found = self._left[1] * self.rest._beta(np.minimum(part, 1.0))
        return np.where(part < 1, found, 0.0)

    def _tpr(self, fpr: Array) -> Array:
        part = fpr / self._left[0]
        found = self.kept.sure[1] + self._left[1] * self.rest._tpr(np.minimum(part, 1.0))
        return np.where(part < 1, np.minimum(found, 1.0), 1.0)

    def _fpr(self, tpr: Array) -> Array:
        part = np.clip((tpr - self.kept.sure[1]) / self._left[1], 0.0, 1.0)
        return np.asarray(self._left[0] * self.rest._fpr(part))

    def _largest_loss(self) -> float:
        return self.rest._largest_loss() + self.kept.shift

    def _smallest_loss(self) -> float:
        return self.rest._smallest_loss() + self.kept.shift

    def _delta_at_infinity(self) -> float:
        return self.kept.sure[1]
