"""Curves of two mixtures of shifted noise, one on each side of a cut.

h1 has its centres above the cut, h0 below, so the likelihood ratio rises with the output and the
best test accuses beyond an output t. Rates are means of noise tails at t; a threshold on the
ratio is mapped to its t. Outputs are continuous, so a t gives any size without a coin; where the
ratio is constant, at both ends for Laplace noise, all t are equally good.

The profile is a sum of two positive parts: what the centres of h1 add to a centre at the cut,
and what a centre at the cut adds to those of h0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
from scipy.special import log_ndtr

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.worlds.pairs.one_sided_base import Side, rising_root
from tellapart.worlds.pairs.one_sided_gaussian import GaussianPoints, GaussianSide, GaussianUniform
from tellapart.worlds.pairs.one_sided_laplace import LaplacePoints, LaplaceSide, LaplaceUniform

S = TypeVar("S", bound=Side)
Rates = tuple[Array, Array, Array, Array]


class MixtureCurve(TradeoffCurve):
    """Two hypotheses about a centre, each with its own spread of centres.

    A spread is one number, the width over which the distances from the cut are uniform; or
    finitely many distances and then as many weights. Both are in units of the noise.
    """

    absent: Array
    present: Array
    bound: Bound

    @abstractmethod
    def _sides(self) -> tuple[Side, Side]:
        """h0 and h1, each as it is seen from the cut."""

    @abstractmethod
    def _output(self, loss: Array) -> Array:
        """The output t at which the log-likelihood ratio is this; the ends where none is."""

    @abstractmethod
    def _profile(self, epsilon: Array) -> Array:
        """δ(ε) for ε ≥ 0."""

    def mirrored(self) -> Self:
        return self._mirror

    @cached_property
    def _mirror(self) -> Self:
        if np.array_equal(self.absent, self.present):
            return self
        return type(self)(self.present, self.absent, self.bound)  # type: ignore[call-arg]

    def _ends(self) -> tuple[float, float]:
        """Outputs beyond which nothing, in doubles, happens."""
        absent, present = self._sides()
        return -absent.furthest() - absent.reach, present.furthest() + present.reach

    def _at(self, output: Array) -> Rates:
        """The four rates of the test that rejects h0 beyond an output."""
        t = np.clip(output, *self._ends())
        absent, present = self._sides()
        rates = absent.tail(t, 1), present.tail(t, -1), present.tail(-t, 1), absent.tail(-t, -1)
        fpr, tpr, fnr, tnr = (np.minimum(rate, 1.0) for rate in rates)
        return fpr, tpr, fnr, tnr

    def _rates(self, threshold: Array) -> Rates:
        none, every = threshold >= self._largest_loss(), threshold < self._smallest_loss()
        fpr, tpr, fnr, tnr = self._at(self._output(threshold))
        return (
            np.where(none, 0.0, np.where(every, 1.0, fpr)),
            np.where(none, 0.0, np.where(every, 1.0, tpr)),
            np.where(none, 1.0, np.where(every, 0.0, fnr)),
            np.where(none, 1.0, np.where(every, 0.0, tnr)),
        )

    def _interpolated(self, fpr: Array) -> tuple[Array, Array]:
        """As in the base class, but by a search for the output, which needs no loss."""
        tnr, sign = 1 - fpr, np.where(fpr < 0.5, 1.0, -1.0)
        absent, _ = self._sides()

        def too_many(t: Array) -> Array:  # FPR where it is small, TNR elsewhere
            found = absent.tail(sign * t, sign)
            return np.asarray(sign * (np.log(found) - np.log(np.minimum(fpr, tnr))))

        more, less = self._around(too_many, fpr)
        # Shares of the two tests, each formed where it has its digits.
        up = np.clip((fpr - less[0]) / (more[0] - less[0]), 0.0, 1.0)
        down = np.clip((tnr - more[3]) / (less[3] - more[3]), 0.0, 1.0)
        up, down = np.where(sign > 0, up, 1 - down), np.where(sign > 0, 1 - up, down)
        return down * less[1] + up * more[1], down * less[2] + up * more[2]

    def _interpolated_fpr(self, tpr: Array) -> Array:
        _, present = self._sides()
        more, less = self._around(lambda t: np.log(present.tail(t, -1)) - np.log(tpr), tpr)
        up = np.clip((tpr - less[1]) / (more[1] - less[1]), 0.0, 1.0)
        return (1 - up) * less[0] + up * more[0]

    def _around(self, excess: solve.Falling, like: Array) -> tuple[Rates, Rates]:
        """The rates at two neighbouring outputs: the last with an excess, the first without."""
        low, high = self._ends()
        # Counted from the lower end: a search that ended at 0 would halve its way there.
        start, end = np.zeros_like(like), np.full_like(like, high - low)
        start, end = solve.falling_root(lambda x: excess(x + low), start, end)
        return self._at(start + low), self._at(end + low)

    def _delta(self, epsilon: Array) -> Array:
        found = self._profile(np.maximum(epsilon, 0.0))
        low = np.minimum(epsilon, 0.0)
        if np.any(low < 0):  # 1 − e^ε + e^ε·δ(−ε) of the mirror image, a sum of positive terms
            other = self.mirrored()._profile(-low)
            found = np.where(low < 0, np.exp(low) * other - np.expm1(low), found)
        return np.minimum(found, 1.0)

    def _delta_at_infinity(self) -> float:
        return 0.0


@dataclass(frozen=True, eq=False)
class LaplaceMixture(MixtureCurve):
    """Two mixtures of Laplace laws of scale 1."""

    absent: Array
    present: Array
    bound: Bound = Bound.EXACT
    _h0: LaplaceSide = field(init=False, repr=False)
    _h1: LaplaceSide = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_h0", _side(LaplaceUniform, LaplacePoints, absent=self.absent))
        object.__setattr__(self, "_h1", _side(LaplaceUniform, LaplacePoints, present=self.present))

    def _sides(self) -> tuple[LaplaceSide, LaplaceSide]:
        return self._h0, self._h1

    def _middle(self) -> float:
        """The loss at the cut: on either side of it only that side's ratio moves."""
        return self._h1.floor() - self._h0.floor()

    def _largest_loss(self) -> float:
        return self._middle() + self._h1.rise()

    def _smallest_loss(self) -> float:
        return self._middle() - self._h0.rise()

    def _output(self, loss: Array) -> Array:
        up, down = loss - self._middle(), self._middle() - loss
        above = self._h1.climbed(np.clip(up, 0.0, self._h1.rise()))
        below = self._h0.climbed(np.clip(down, 0.0, self._h0.rise()))
        return np.where(up >= 0, above, -below)

    def _profile(self, epsilon: Array) -> Array:
        t = self._output(epsilon)
        found = self._h1.gain(t) + math.exp(self._h1.floor()) * self._h0.share(-t)
        return np.where(epsilon < self._largest_loss(), found, 0.0)

    def _area(self) -> float:
        """The mean over both spreads of e^−m·(2 + m)/4, m being how far two centres lie apart."""
        near, far = math.exp(self._h0.floor()), math.exp(self._h1.floor())
        return (2 * near * far + self._h0.pull() * far + near * self._h1.pull()) / 4


@dataclass(frozen=True, eq=False)
class GaussianMixture(MixtureCurve):
    """Two mixtures of normal laws of deviation 1."""

    absent: Array
    present: Array
    bound: Bound = Bound.EXACT
    _h0: GaussianSide = field(init=False, repr=False)
    _h1: GaussianSide = field(init=False, repr=False)

    def __post_init__(self) -> None:
        kinds = GaussianUniform, GaussianPoints
        object.__setattr__(self, "_h0", _side(*kinds, absent=self.absent))
        object.__setattr__(self, "_h1", _side(*kinds, present=self.present))

    def _sides(self) -> tuple[GaussianSide, GaussianSide]:
        return self._h0, self._h1

    def _loss(self, output: Array) -> Array:
        return self._h1.log_weight(output) - self._h0.log_weight(-output)

    def _largest_loss(self) -> float:
        return math.inf

    def _smallest_loss(self) -> float:
        return -math.inf

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Some outputs and their losses, closer where noise reaches across the cut."""
        low, high = self._ends()
        across = np.arange(-12.0, 12.5, 0.5)  # the ends lie further out
        outputs = np.unique(np.concatenate([np.linspace(low, high, 200), across]))
        return outputs, np.maximum.accumulate(self._loss(outputs))

    def _output(self, loss: Array) -> Array:
        outputs, losses = self._table
        place = np.searchsorted(losses, loss, side="right")
        result = np.array(outputs[np.minimum(place, outputs.size - 1)])
        inside = (place > 0) & (place < outputs.size)
        if inside.any():
            wanted, end = loss[inside], place[inside]
            found = rising_root(lambda t: self._loss(t) - wanted, outputs[end - 1], outputs[end])
            result[inside] = found
        return result

    def _profile(self, epsilon: Array) -> Array:
        t = self._output(epsilon)
        pooled = np.exp(self._h1.log_weight(t) + log_ndtr(-t))
        return np.asarray(self._h1.gain(t) + pooled * self._h0.share(t))

    def _area(self) -> float:
        """The mean over both spreads of Φ(−m/√2), m being how far two centres lie apart."""
        half = math.sqrt(0.5)
        other = self._h0.shrunk(half)
        return self._h1.mean(lambda d: other.tail(d * half, 1))


def _side(uniform: Callable[[float], S], points: Callable[[Array, Array], S], **named: Array) -> S:
    """A spread from its numbers, which stay as they are from now on."""
    ((name, value),) = named.items()
    numbers = _checks.vector(**named)
    if numbers.min() < 0:
        _checks.refuse(name, "be at least 0", float(numbers.min()))
    numbers.flags.writeable = False
    if numbers.size == 1:
        return uniform(float(numbers[0]))
    if numbers.size % 2:
        _checks.refuse(name, "be a width, or distances and as many weights", value)
    distances, weights = np.split(numbers, 2)
    return points(distances, _checks.pmf(**{f"weights in {name}": weights}))
