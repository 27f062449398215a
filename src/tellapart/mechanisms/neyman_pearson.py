"""The Neyman-Pearson (likelihood-ratio) attack itself, to be run on an output."""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart.curve.base import Rates, TradeoffCurve
from tellapart.curve.composition.compose import composed
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.loss_laws import LaplaceLoss
from tellapart.errors import Unsupported
from tellapart.mechanisms.laws import LaplaceLaw, NoiseLaw

# Log-likelihood ratios this close, as a share of the largest one, are equal but for rounding.
_TIE = 1e-12
# Losses of so many coordinates have 2 to this power atoms.
_MOST_MOVED = 16


@dataclass(frozen=True, eq=False)
class ShiftTest:
    """The best test of two known answers behind one noisy output.

    It flags (says "present") when the output lies beyond a threshold on the side of
    ``present``. Build one with a noise mechanism's ``test``.
    """

    law: NoiseLaw
    absent: Array
    direction: Array
    shift: float

    def curve(self) -> TradeoffCurve:
        """The trade-off curve of this pair of answers."""
        return self.law.curve(self.shift)

    @overload
    def log_ratio(self, output: float) -> float: ...
    @overload
    def log_ratio(self, output: ArrayLike) -> Array: ...
    def log_ratio(self, output: ArrayLike) -> float | Array:
        """The log-likelihood ratio of an output, "present" against "absent"."""
        along = self._along(output=output)
        with np.errstate(all="ignore"):
            return shaped(self.law.log_ratio(along, self.shift), along)

    @overload
    def threshold(self, fpr: float) -> float: ...
    @overload
    def threshold(self, fpr: ArrayLike) -> Array: ...
    def threshold(self, fpr: ArrayLike) -> float | Array:
        """The output beyond which to flag so that non-members are flagged at this FPR."""
        asked = _checks.probabilities(fpr=fpr)
        self._refuse_vectors()
        cut = self._cut(asked)
        return shaped(self.absent + self.direction * cut, asked)

    def rates(self, threshold: ArrayLike) -> Rates:
        """The four rates of the attack that flags beyond this output."""
        self._refuse_vectors()
        cut = self._along(threshold=threshold)
        away = self.shift - cut
        with np.errstate(all="ignore"):
            fpr, tpr = self.law.above(cut), self.law.above(-away)
            fnr = self.law.above(away) + self.law.at(away)
            tnr = self.law.above(-cut) + self.law.at(cut)
        return Rates(*(shaped(rate, cut) for rate in (fpr, tpr, fnr, tnr)))

    @overload
    def flags(self, output: float, fpr: float) -> float: ...
    @overload
    def flags(self, output: ArrayLike, fpr: float) -> Array: ...
    def flags(self, output: ArrayLike, fpr: float) -> float | Array:
        """With which probability the best attack of this FPR predicts member, given this output.

        0 or 1 for continuous noise; on the threshold itself a discrete attack tosses a coin.
        """
        along = self._along(output=output)
        size = np.asarray(_checks.probability(fpr=fpr))
        cut = self._cut(size)
        with np.errstate(all="ignore"):
            share = (size - self.law.above(cut)) / self.law.at(cut)
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 0.0)
        return shaped(np.where(along > cut, 1.0, np.where(along == cut, share, 0.0)), along)

    def accuses(self, output: ArrayLike, fpr: float) -> float | Array:
        """The old name of `flags`, which goes with 0.3."""
        warnings.warn("`accuses` is `flags` since tellapart 0.2", DeprecationWarning, stacklevel=2)
        return self.flags(output, fpr)

    def _cut(self, fpr: Array) -> Array:
        with np.errstate(all="ignore"):
            return self.law.cut(fpr)

    def _refuse_vectors(self) -> None:
        if self.absent.ndim:
            raise Unsupported("a vector output has no single threshold; use flags(output, fpr)")

    def _along(self, **named: ArrayLike) -> Array:
        """How far an output lies from ``absent`` in the direction of ``present``."""
        ((name, _),) = named.items()
        seen = _checks.reals(**named)
        if self.absent.ndim:
            if seen.shape[-1:] != self.absent.shape:
                rule = f"have {self.absent.size} coordinates along its last axis"
                _checks.refuse(name, rule, seen.shape)
            return np.asarray((seen - self.absent) @ self.direction)
        return np.asarray((seen - self.absent) * self.direction)


class _Cut(NamedTuple):
    """A log-likelihood ratio, and the probability with which it is flagged itself."""

    loss: float
    share: float


@dataclass(frozen=True, eq=False)
class LaplaceVectorTest:
    """The best test of two known vectors behind one output with Laplace noise.

    A shift of several coordinates is the composition of the shifts of each: losses add up.
    Build one with ``Laplace.test``.
    """

    law: LaplaceLaw
    absent: Array
    move: Array

    def curve(self) -> TradeoffCurve:
        """How well this pair of answers can be told apart."""
        return composed((LaplaceLoss(float(shift)), 1) for shift in self._shifts())

    def log_ratio(self, output: ArrayLike) -> float | Array:
        """How strongly an output speaks for "present": log of the likelihood ratio."""
        seen = _checks.reals(output=output)
        if seen.shape[-1:] != self.absent.shape:
            rule = f"have {self.absent.size} coordinates along its last axis"
            _checks.refuse("output", rule, seen.shape)
        along = (seen - self.absent) * np.sign(self.move)
        with np.errstate(all="ignore"):
            ratios = self.law.log_ratio(along, np.abs(self.move))  # type: ignore[arg-type]
        return shaped(np.asarray(ratios.sum(axis=-1)), seen[..., 0])

    def threshold(self, fpr: float) -> float:
        """The log-likelihood ratio beyond which to flag so that non-members are with this FPR."""
        return self._cut(_checks.probability(fpr=fpr)).loss

    def rates(self, threshold: ArrayLike) -> Rates:
        """The four rates of the attack that flags beyond this log-likelihood ratio."""
        return self.curve().rates(threshold)

    def flags(self, output: ArrayLike, fpr: float) -> float | Array:
        """With which probability the best attack of this FPR predicts member, given this output.

        0 or 1, but for outputs on the threshold itself, where the attack tosses a coin.
        """
        size = _checks.probability(fpr=fpr)
        ratio, cut = np.asarray(self.log_ratio(output)), self._cut(size)
        tied = np.abs(ratio - cut.loss) <= _TIE * float(self._shifts().sum())
        return shaped(np.where(tied, cut.share, np.where(ratio > cut.loss, 1.0, 0.0)), ratio)

    def _cut(self, fpr: float) -> _Cut:
        """Where the FPR falls through what was asked, and how often to flag there.

        Losses have atoms where every coordinate's is at an end: there the FPR jumps.
        """
        curve, most = self.curve(), float(self._shifts().sum())
        if isinstance(curve, ComposedCurve):  # an integral, whose jumps are blurred
            raise Unsupported(
                "the threshold has a formula for two coordinates, or for several that move "
                "equally; compare log_ratio(output) with a threshold of your own"
            )
        low, high = -2 * most, 2 * most
        if fpr >= 1:
            return _Cut(low, 1.0)
        while (middle := (low + high) / 2) not in (low, high):
            if curve.rates(middle).fpr <= fpr:
                high = middle
            else:
                low = middle
        above, under = (float(curve.rates(loss).fpr) for loss in (high, low))
        if under - above <= _TIE:
            return _Cut(high, 0.0)
        atoms = np.zeros(1)
        for shift in self._shifts():
            atoms = np.unique(np.concatenate([atoms - shift, atoms + shift]))
        nearest = float(atoms[np.argmin(np.abs(atoms - high))])
        return _Cut(nearest, (fpr - above) / (under - above))

    def _shifts(self) -> Array:
        return np.asarray(np.abs(self.move[self.move != 0]) / self.law.scale)


def shift_test(
    law: NoiseLaw, sensitivity: float, absent: Any, present: Any
) -> ShiftTest | LaplaceVectorTest:
    """The test of two answers, which must be neighbours: no further apart than the sensitivity."""
    low, high = _answer(absent=absent), _answer(present=present)
    if low.shape != high.shape:
        _checks.refuse("present", f"have the shape of absent {low.shape}", high.shape)
    if not all(math.isfinite(spread) for spread in dataclasses.astuple(law)):  # type: ignore[call-overload]
        _checks.refuse("the noise", "be finite for a test of its output", law)
    if law.whole and np.any(high % 1 + low % 1):
        _checks.refuse("absent and present", "be whole numbers", (absent, present))
    with np.errstate(over="ignore"):
        move = high - low
    if move.ndim and not law.rotational and np.count_nonzero(move) > 1:
        if not isinstance(law, LaplaceLaw):
            raise Unsupported(
                "the best test of a change in several coordinates has a formula for Gaussian and "
                "Laplace noise only; test a change of the same size in one coordinate: this noise "
                "reveals no more than that"
            )
        if np.count_nonzero(move) > _MOST_MOVED:
            raise Unsupported(
                f"the best test is for changes in at most {_MOST_MOVED} coordinates; "
                "a change of the same size in one coordinate reveals no less"
            )
        return _vector_test(law, sensitivity, low, move, present)
    largest = float(np.max(np.abs(move)))
    if math.isinf(largest):
        rule = f"differ from absent by at most the sensitivity {sensitivity}"
        _checks.refuse("present", rule, present)
    unit = move / largest if largest else move
    length = float(np.sqrt(np.sum(unit**2)))
    shift = largest * length
    if not shift <= sensitivity * (1 + 1e-12):
        rule = f"differ from absent by at most the sensitivity {sensitivity}"
        _checks.refuse("present", rule, present)
    if move.ndim:
        direction = unit / length if length else np.eye(1, move.size)[0]
    else:
        direction = np.asarray(math.copysign(1.0, float(move)))
    for column in (low, direction):
        column.flags.writeable = False
    return ShiftTest(law, low, direction, shift)


def _vector_test(
    law: LaplaceLaw, sensitivity: float, absent: Array, move: Array, present: Any
) -> LaplaceVectorTest:
    if not float(np.abs(move).sum()) <= sensitivity * (1 + 1e-12):
        rule = f"differ from absent by at most the sensitivity {sensitivity} (L1 norm)"
        _checks.refuse("present", rule, present)
    for column in (absent, move):
        column.flags.writeable = False
    return LaplaceVectorTest(law, absent, move)


def _answer(**named: Any) -> Array:
    """A finite number or a list of them, copied so that the caller's array stays the caller's."""
    ((name, value),) = named.items()
    answer = _checks.reals("be a number or a list of numbers", **named).copy()
    if answer.ndim > 1 or answer.size == 0:
        _checks.refuse(name, "be a number or a list of numbers", value)
    if not np.isfinite(answer).all():
        _checks.refuse(name, "be finite", value)
    return answer


def plausibly_deniable(likelihoods: ArrayLike, record: int, ratio: float, k: int) -> bool:
    """Whether at least k records, this one among them, could about as well have led to the output.

    ``likelihoods[i]`` is the probability of the released output had record i been its source.
    Deniable: some k of them, this record included, differ by a factor of at most ``ratio``, and
    there are more than k records (Bindschaedler, Shokri and Gunter 2017, Definition 1).

    >>> plausibly_deniable([0.4, 0.2, 0.1, 0.05, 0.3], record=0, ratio=2, k=3)
    True
    """
    values = _checks.vector(likelihoods=likelihoods)
    if values.min() < 0:
        _checks.refuse("likelihoods", "be at least 0", float(values.min()))
    own = _checks.whole(0, record=record)
    if own >= values.size:
        _checks.refuse("record", f"be an index below {values.size}", record)
    factor = _checks.number(ratio=ratio)
    if factor < 1:
        _checks.refuse("ratio", "be at least 1", ratio)
    needed = _checks.whole(1, k=k)
    if values[own] == 0 or values.size <= needed:
        return False
    ranked = np.sort(values[values > 0])
    # Any window that counts starts at a record from which this one is still within the ratio;
    # (1 + 4 ulp) lets 0.3 = 3·0.1 pass.
    reach = factor * (1 + 4 * np.finfo(float).eps)
    starts = ranked[(ranked <= values[own]) & (ranked >= values[own] / reach)]
    with np.errstate(over="ignore"):
        ends = np.searchsorted(ranked, starts * reach, side="right")
    return bool(np.max(ends - np.searchsorted(ranked, starts, side="left")) >= needed)
