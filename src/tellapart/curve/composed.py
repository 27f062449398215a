"""The curve of many steps at once, from the moments of each: the contour engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.contour import Atlas, Line
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.losses import Complex, Cumulants, LossLaw
from tellapart.errors import NotCertified

_ROUNDS = 60


class Total:
    """The moments of a whole composition: each step's, as often as it is taken."""

    def __init__(self, steps: tuple[tuple[LossLaw, int], ...]) -> None:
        self._steps = steps
        self.least = sum(count * law.least for law, count in steps)
        self.largest = sum(count * law.largest for law, count in steps)

    def cumulants(self, c: Array) -> Cumulants:
        parts = [(count, law.cumulants(c)) for law, count in self._steps]
        value, mean, variance = (sum(n * part[k] for n, part in parts) for k in range(3))
        return Cumulants(np.asarray(value), np.asarray(mean), np.asarray(variance))

    def along(self, c: float, y: Array) -> Complex:
        return np.asarray(sum(count * law.along(c, y) for law, count in self._steps))

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        parts = (count * law.on_mesh(c, step, points) for law, count in self._steps)
        return np.asarray(sum(parts))


class Tails(NamedTuple):
    """What a threshold on the loss achieves, each number with its own digits."""

    fpr: Array
    tpr: Array
    fnr: Array
    tnr: Array
    delta: Array
    density: Array  # of the loss under h0


@dataclass(frozen=True)
class ComposedCurve(TradeoffCurve):
    """Independent steps seen together: each (law of the loss, how often), in one order.

    Right to about 1e-10, relatively; `NotCertified` where the laws are too rough for a contour.
    """

    steps: tuple[tuple[LossLaw, int], ...]
    bound: Bound = field(default=Bound.EXACT)

    @cached_property
    def _atlas(self) -> Atlas:
        return Atlas(Total(self.steps))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        total = Total(self.steps)
        return total.least, total.largest

    def mirrored(self) -> ComposedCurve:
        return self._mirror

    @cached_property
    def _mirror(self) -> ComposedCurve:
        """Made once, and it knows this one, so that no line is drawn twice."""
        swapped = tuple((law.swapped(), count) for law, count in self.steps)
        if all(new is old for (new, _), (old, _) in zip(swapped, self.steps, strict=True)):
            return self
        mirror = ComposedCurve(swapped, self.bound)
        mirror.__dict__["_mirror"] = self
        return mirror

    def _largest_loss(self) -> float:
        return self._ends[1]

    def _smallest_loss(self) -> float:
        return self._ends[0]

    def _delta_at_infinity(self) -> float:
        return 0.0

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
        found = self._tails(threshold)
        return found.fpr, found.tpr, found.fnr, found.tnr

    def _delta(self, epsilon: Array) -> Array:
        return self._tails(epsilon).delta

    def _tails(self, t: Array) -> Tails:
        least, largest = self._ends
        flat = np.ravel(t).astype(float)
        out = np.empty((len(Tails._fields), flat.size))
        # Beyond the ends of the loss nothing, or everything, is accused.
        out[:, flat >= largest] = np.array([0.0, 0, 1, 1, 0, 0])[:, None]
        below = flat < least
        out[:, below] = np.array([1.0, 1, 0, 0, 0, 0])[:, None]
        out[4, below] = -np.expm1(flat[below])
        inside = np.flatnonzero((flat < largest) & ~below)
        if inside.size:
            for line, part in self._by_line(flat[inside]):
                out[:, inside[part]] = _read(line, flat[inside[part]])
        return Tails(*out.reshape(-1, *np.shape(t)))

    def _by_line(self, t: Array) -> list[tuple[Line, NDArray[np.intp]]]:
        c, centres = self._atlas.rungs(float(t.min()), float(t.max()))
        right = np.clip(np.searchsorted(centres, t), 1, max(len(c) - 1, 1))
        if len(c) == 1:
            nearest = np.zeros(t.shape, dtype=int)
        else:
            nearest = np.where(t - centres[right - 1] < centres[right] - t, right - 1, right)
        return [
            (self._atlas.line(float(c[k]), float(centres[k])), np.flatnonzero(nearest == k))
            for k in np.unique(nearest)
        ]

    def _beta(self, alpha: Array) -> Array:
        return self._at(alpha).fnr

    def _tpr(self, fpr: Array) -> Array:
        return self._at(fpr).tpr

    def _at(self, fpr: Array) -> Tails:
        """The tails at the threshold with this FPR."""
        flat = np.ravel(fpr).astype(float)
        out = np.empty((len(Tails._fields), flat.size))
        out[:, flat <= 0] = np.array([0.0, 0, 1, 1, 0, 0])[:, None]
        out[:, flat >= 1] = np.array([1.0, 1, 0, 0, 1, 0])[:, None]
        inside = np.flatnonzero((flat > 0) & (flat < 1))
        if inside.size:
            out[:, inside] = self._solved_fpr(flat[inside])
        return Tails(*out.reshape(-1, *np.shape(fpr)))

    def _solved_fpr(self, fpr: Array) -> Tails:
        """Newton's method for log FPR, or log TNR where that is smaller."""
        few = fpr < 0.5
        target = np.where(few, np.log(fpr), np.log1p(-fpr))
        low, high = (np.full(fpr.shape, end) for end in self._ends)
        t = self._atlas.guess_fpr(fpr)
        for _ in range(_ROUNDS):
            t = np.where((t > low) & (t < high), t, _middle(low, high))
            tails = self._tails(t)
            value = np.where(few, tails.fpr, tails.tnr)
            with np.errstate(all="ignore"):
                off = np.log(value) - target
                step = np.where(few, off, -off) * value / tails.density
            above = np.where(few, off > 0, off < 0)
            low, high = np.where(above, t, low), np.where(above, high, t)
            moved = np.where(np.isfinite(step), t + step, np.nan)
            if np.all((np.abs(off) <= 1e-13) | (np.abs(step) <= 1e-14 * np.abs(t))):
                return tails
            t = moved
        raise NotCertified("no threshold has this FPR to the digits of a contour")

    def _epsilon(self, delta: Array) -> Array:
        """Newton's method for log δ(t), whose slope is known: −e^t·FPR/δ."""
        flat = np.ravel(delta).astype(float)
        found = np.zeros(flat.shape)
        at_zero = float(self._tails(np.zeros(1)).delta[0])
        open_ones = np.flatnonzero((flat < at_zero) & (flat > 0))
        found[flat <= 0] = self._ends[1]
        if open_ones.size:
            found[open_ones] = self._solved(np.log(flat[open_ones]))
        return found.reshape(np.shape(delta))

    def _solved(self, target: Array) -> Array:
        """The least sound ε ≥ 0 for each log δ below that of ε = 0."""
        low, high = np.zeros(target.shape), np.full(target.shape, self._ends[1])
        t = self._atlas.guess(target)
        for _ in range(_ROUNDS):
            t = np.where((t > low) & (t < high), t, _middle(low, high))
            tails = self._tails(t)
            with np.errstate(all="ignore"):
                log = np.log(tails.delta)
                step = (log - target) * tails.delta / (np.exp(t) * tails.fpr)
            above = log > target
            low, high = np.where(above, t, low), np.where(above, high, t)
            moved = np.where(np.isfinite(step), t + step, np.nan)
            if np.all(np.abs(moved - t) <= 1e-13 * np.maximum(1.0, np.abs(t))):
                return np.maximum(moved, 0.0)
            t = moved
        raise NotCertified("no ε has this δ to the digits of a contour")


def _middle(low: Array, high: Array) -> Array:
    """Between two ends, either of which may be infinite."""
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
    one = np.where(np.isfinite(low), low + np.abs(low) + 1, high - np.abs(high) - 1)
    return np.where(np.isfinite(middle), middle, np.where(np.isfinite(one), one, 0.0))


def _read(line: Line, t: Array) -> Tails:
    """The rates from a line: those with small values directly, the others as complements."""
    sums, scale = line.sums(t), line.scale(t)
    with np.errstate(over="ignore"):
        plain, lifted = np.exp(scale), np.exp(scale + t)
    by_z, by_other, by_both = plain * sums.by_z, lifted * sums.by_z_less_one, lifted * sums.by_both
    density = plain * sums.density
    if line.c > 1:
        return Tails(by_z, by_other, 1 - by_other, 1 - by_z, by_both, density)
    if line.c > 0:
        return Tails(by_z, 1 + by_other, -by_other, 1 - by_z, 1 + by_both, density)
    return Tails(1 + by_z, 1 + by_other, -by_other, -by_z, by_both - np.expm1(t), density)
