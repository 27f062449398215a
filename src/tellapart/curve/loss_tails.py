"""Curves known by the tails of their privacy loss: every number is the root of one of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.atomic import from_corners
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.errors import NotCertified

# Newton's steps go no further than so many deviations of the loss, beyond doubling.
_STRIDE = 8.0
# From such a δ on it is worth a look whether ε is 0.
_COMMON = 1e-3
# Questions whose answers are kept.
_FEW = 8
# Beyond these shares of an end of the loss nothing, or everything, is flagged.
_NOTHING, _EVERYTHING = (0.0, 0.0, 1.0, 1.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0, 1.0, 0.0)


class Tails(NamedTuple):
    """What a threshold on the loss achieves, each number with its own digits."""

    fpr: Array
    tpr: Array
    fnr: Array
    tnr: Array
    delta: Array
    density: Array  # of the loss under h0


# The FPRs of a sketch: to each side so many, as many in each power of ten.
_SKETCHED = np.geomspace(1e-9, 0.5, 256)
# A falling function of the threshold and its slope, from the tails at some thresholds.
Off = Callable[[Tails, Array, NDArray[np.intp]], tuple[Array, Array]]


class ThresholdCurve(TradeoffCurve):
    """A curve whose tails at any threshold can be computed, with a density between its ends."""

    _area_points: ClassVar[int] = 1 << 11  # each costs a root
    _accuracy: ClassVar[float] = 1e-10

    @abstractmethod
    def _tails(self, t: Array) -> Tails:
        """The tails at thresholds, which may lie anywhere."""

    @property
    @abstractmethod
    def _beneath(self) -> TradeoffCurve:
        """A curve from below, for what the tails have no digits for."""

    @abstractmethod
    def _guess_fpr(self, fpr: Array) -> Array:
        """About where the FPR has these values."""

    @abstractmethod
    def _guess_delta(self, log_delta: Array) -> Array:
        """About where log δ has these values."""

    @abstractmethod
    def _deviation(self) -> float:
        """About how far the loss strays from its mean."""

    def _least_stride(self) -> float:
        """A width of thresholds that tells nothing apart."""
        return 1e-15 * self._deviation() + 1e-300

    def _rates(self, threshold: Array) -> FourRates:
        try:
            return self._tails(threshold)[:4]
        except NotCertified:
            return self._beneath._rates(threshold)

    def _delta(self, epsilon: Array) -> Array:
        try:
            return self._tails(epsilon).delta
        except NotCertified:
            return self._beneath._delta(epsilon)

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _beta(self, alpha: Array) -> Array:
        try:
            return np.clip(self._at(alpha).fnr, 0.0, 1 - alpha)
        except NotCertified:
            return self._beneath._beta(alpha)

    def _tpr(self, fpr: Array) -> Array:
        try:
            return np.minimum(self._at(fpr).tpr, 1.0)
        except NotCertified:
            return self._beneath._tpr(fpr)

    def _fpr_at_small(self, tpr: Array) -> Array:
        try:
            return self._exact_fpr(tpr)
        except NotCertified:
            return self._beneath._fpr_at_small(tpr)

    def _epsilon(self, delta: Array) -> Array:
        try:
            return self._exact_epsilon(delta)
        except NotCertified:
            return self._beneath._epsilon(delta)

    def _exact_fpr(self, tpr: Array) -> Array:
        """Where the TPR has its value; where it jumps over it, on the line that supports it."""
        flat = np.ravel(tpr).astype(float)
        fpr = np.zeros(flat.size)
        asked = np.flatnonzero(flat > 0)
        if asked.size:
            goal = flat[asked]
            ends = self._smallest_loss(), self._largest_loss()
            t, tails, hit = self._newton(off_tpr(goal, 1 - goal), self._guess_fpr(goal), *ends)
            with np.errstate(over="ignore"):
                line = np.maximum(goal - tails[4], 0.0) * np.exp(-t)
            fpr[asked] = np.where(hit, tails[0], line)
        return fpr.reshape(np.shape(tpr))

    def _at(self, fpr: Array) -> Tails:
        """The best test of this FPR, randomised where no threshold has it.

        The last few are kept: summaries and pictures ask for the same rates again and again.
        """
        flat = np.ravel(fpr).astype(float)
        asked = np.shape(fpr), flat.tobytes()
        if asked not in self._lately:
            if len(self._lately) >= _FEW:
                del self._lately[next(iter(self._lately))]
            self._lately[asked] = self._found(flat, np.shape(fpr))
        return self._lately[asked]

    @cached_property
    def _lately(self) -> dict[tuple[tuple[int, ...], bytes], Tails]:
        return {}

    def _found(self, flat: Array, shape: tuple[int, ...]) -> Tails:
        out = np.empty((len(Tails._fields), flat.size))
        out[:, flat <= 0] = np.array(_NOTHING)[:, None]
        out[:, flat >= 1] = np.array(_EVERYTHING)[:, None]
        inside = np.flatnonzero((flat > 0) & (flat < 1))
        if inside.size:
            out[:, inside] = self._solved_fpr(flat[inside])
        out.flags.writeable = False
        return Tails(*out.reshape(len(out), *shape))

    def _solved_fpr(self, fpr: Array) -> Array:
        ends = self._smallest_loss(), self._largest_loss()
        t, tails, hit = self._newton(off_fpr(fpr), self._guess_fpr(fpr), *ends)
        # Where the FPR jumps over what was asked, the curve is the line that supports it there.
        with np.errstate(over="ignore"):
            lift = np.exp(t) * fpr
        tpr = np.clip(tails[4] + lift, 0.0, 1.0)
        tails[1] = np.where(hit, tails[1], tpr)
        tails[2] = np.where(hit, tails[2], 1 - tpr)
        return tails

    def _exact_epsilon(self, delta: Array) -> Array:
        """Where log δ, whose slope is −e^ε·FPR/δ, has its value."""
        flat = np.ravel(delta).astype(float)
        epsilon = np.where(flat <= 0, self._largest_loss(), 0.0)
        asked = np.flatnonzero(flat > 0)
        guess = self._guess_delta(np.log(flat[asked])) if asked.size else epsilon
        # Far from ε = 0 there is no need to know what happens there.
        near = asked.size and (guess.min() < 3 * self._deviation() or flat[asked].max() > _COMMON)
        if near:
            sure = flat[asked] < self._tails(np.zeros(1)).delta[0]
            asked, guess = asked[sure], guess[sure]
        if asked.size:
            target = np.log(flat[asked])

            def off(tails: Tails, t: Array, part: NDArray[np.intp]) -> tuple[Array, Array]:
                slope = -np.exp(np.log(tails.fpr) + t - np.log(tails.delta))
                return np.log(tails.delta) - target[part], slope

            ends = 0.0, self._largest_loss()
            t, _, hit = self._newton(off, guess, *ends)
            epsilon[asked] = np.where(hit | (t > self._least_stride()), np.maximum(t, 0.0), 0.0)
        return epsilon.reshape(np.shape(delta))

    def threshold_of_guess(self, values: int) -> Array:
        """Where FNR = (values − 1)·FPR, or nearly: there as many disjoint guesses exhaust a law.

        For two values and a curve that is its own mirror that is at 0, else beyond it.
        """

        def off(tails: Tails, t: Array, _: NDArray[np.intp]) -> tuple[Array, Array]:
            away = np.log(values - 1) + np.log(tails.fpr) - np.log(tails.fnr)
            return away, -tails.density * (1 / tails.fpr + np.exp(t) / tails.fnr)

        t, _, _ = self._newton(off, np.zeros(1), self._smallest_loss(), self._largest_loss())
        return t

    def _newton(
        self, off: Off, t: Array, least: float, most: float
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Thresholds between two at which a falling function has its roots.

        And the tails there, and whether the function has a root there or jumps over it.
        """
        known = np.empty((len(Tails._fields), np.size(t)))

        def excess(threshold: Array, part: NDArray[np.intp]) -> tuple[Array, Array]:
            tails = self._tails(threshold)
            known[:, part] = tails
            return off(tails, threshold, part)

        root, hit = solve.newton_root(
            excess,
            t,
            (least, most),
            zero=1e-12,
            relative=1e-14,
            finest=self._least_stride(),
            stride=_STRIDE * self._deviation(),
        )
        return root, known, hit


def off_fpr(fpr: Array) -> Off:
    """How far the FPR is off, by its logarithm or that of the TNR, whichever is smaller."""
    few, target = _smaller(fpr, 1 - fpr)

    def off(tails: Tails, t: Array, part: NDArray[np.intp]) -> tuple[Array, Array]:
        value = np.where(few[part], tails.fpr, tails.tnr)
        away = np.log(value) - target[part]
        return np.where(few[part], away, -away), -tails.density / value

    return off


def off_tpr(tpr: Array, fnr: Array) -> Off:
    """How far the TPR is off, by its logarithm or that of the FNR, whichever is smaller."""
    few, target = _smaller(tpr, fnr)

    def off(tails: Tails, t: Array, part: NDArray[np.intp]) -> tuple[Array, Array]:
        value = np.where(few[part], tails.tpr, tails.fnr)
        away = np.log(value) - target[part]
        # The density of the loss under h1 is e^t times that under h0.
        slope = -np.exp(t + np.log(tails.density) - np.log(value))
        return np.where(few[part], away, -away), slope

    return off


def _smaller(rate: Array, other: Array) -> tuple[NDArray[np.bool_], Array]:
    """Where a rate is smaller than its complement, and the logarithm of the smaller."""
    few = rate < 0.5
    return few, np.log(np.where(few, rate, other))


def sketched(curve: TradeoffCurve) -> TradeoffCurve:
    """The curve, or a polygon with its corners on it where every rate would be the root of tails.

    A promise still, and hardly off, but on the side of no one: for what plans say.
    """
    if not isinstance(curve, ThresholdCurve):
        return curve
    fpr = np.concatenate([[0.0], _SKETCHED, 1 - _SKETCHED[-2::-1], [1.0]])
    tpr = np.concatenate([[0.0], curve.tpr(fpr[1:-1]), [1.0]])
    return from_corners(fpr, tpr, 1 - tpr, 1 - fpr, Bound.LOWER)
