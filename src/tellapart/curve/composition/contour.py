"""Composition of many steps from their moments, by contour integrals (saddle-point method)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.contour import REFUSED, Atlas, ContourLine, MomentFunction
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.composition.convolution import Convolution, ReflectedConvolution
from tellapart.curve.composition.loss_laws import (
    Complex,
    Cumulants,
    LaplaceLoss,
    LaplaceSum,
    LossLaw,
    Swapped,
)
from tellapart.curve.composition.moment_bounds import beneath
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.curve.loss_tails import Off, Tails, ThresholdCurve, off_fpr, off_tpr
from tellapart.errors import NotCertified

_Answer = TypeVar("_Answer")


class Engine(Protocol):
    """Tails at thresholds strictly between the ends of the loss, and where to look for them."""

    def tails(self, t: Array) -> Tails: ...
    def guess_fpr(self, fpr: Array) -> Array: ...
    def guess_delta(self, log_delta: Array) -> Array: ...
    def deviation(self) -> float: ...


class Contour:
    """Tails from the moments of the sum: a few milliseconds, whatever the number of steps."""

    def __init__(self, moments: MomentFunction) -> None:
        self._atlas = Atlas(moments)
        self._ends = moments.least, moments.largest

    def tails(self, t: Array) -> Tails:
        out = np.empty((len(Tails._fields), t.size))
        for line, part in self._by_line(t):
            out[:, part] = _read(line, t[part])
        if not np.isfinite(out).all():
            raise NotCertified(REFUSED)
        return Tails(*out)

    def guess_fpr(self, fpr: Array) -> Array:
        rough = self._atlas.guess_fpr(fpr)
        if fpr.size < 200:
            return rough
        # Many are worth a table: the root is then a step or two away.
        low, high = float(rough.min()), float(rough.max())
        margin = 0.1 * (high - low)
        table = np.linspace(low - margin, high + margin, 96)
        table = table[(table >= self._ends[0]) & (table < self._ends[1])]
        tails = self.tails(table)
        with np.errstate(all="ignore"):
            logit = np.log(tails.fpr) - np.log(tails.tnr)
            asked = np.log(fpr) - np.log1p(-fpr)
        known = np.isfinite(logit)
        if not known.any():  # where members and non-members are told apart for sure
            return rough
        return np.asarray(np.interp(-asked, -logit[known], table[known]))

    def guess_delta(self, log_delta: Array) -> Array:
        return self._atlas.guess(log_delta)

    def deviation(self) -> float:
        return self._atlas.deviation

    def _by_line(self, t: Array) -> list[tuple[ContourLine, NDArray[np.intp]]]:
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


class FirstToAnswer:
    """Several engines, asked in turn: the first that does not refuse answers each question."""

    def __init__(self, make: Sequence[Callable[[], Engine]]) -> None:
        self._make = list(make)
        self._made: dict[int, Engine] = {}
        self._last: tuple[Array, Tails] | None = None

    def first(self) -> Engine:
        """The one that is asked before all others."""
        return self._engine(0)

    def tails(self, t: Array) -> Tails:
        last = self._last
        if last is not None and np.array_equal(t, last[0]):
            return last[1]
        # Rates and δ are often asked at the same thresholds, one after the other.
        tails = self._ask(lambda engine: engine.tails(t))
        self._last = t.copy(), tails
        return tails

    def guess_fpr(self, fpr: Array) -> Array:
        return self._ask(lambda engine: self._checked(engine, engine.guess_fpr(fpr)))

    def guess_delta(self, log_delta: Array) -> Array:
        return self._ask(lambda engine: self._checked(engine, engine.guess_delta(log_delta)))

    def deviation(self) -> float:
        return self._ask(lambda engine: engine.deviation())

    def _checked(self, engine: Engine, guess: Array) -> Array:
        """A guess, which is to be made by the engine that can also answer there."""
        if len(self._make) > 1 and guess.size:
            self._last = guess.copy(), engine.tails(guess)
        return guess

    def _engine(self, k: int) -> Engine:
        if k not in self._made:
            self._made[k] = self._make[k]()
        return self._made[k]

    def _ask(self, question: Callable[[Engine], _Answer]) -> _Answer:
        for k in range(len(self._make)):
            try:
                return question(self._engine(k))
            except NotCertified:
                if k == len(self._make) - 1:
                    raise
        raise NotCertified("there is no engine to ask")


def _read(line: ContourLine, t: Array) -> Tails:
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


# No sum of losses that matters is further out.
_FURTHEST = 1e300
# What is usually asked: every question with numbers above these has an exact answer.
_LEAST_DELTA, _LEAST_FPR = 1e-20, 1e-12
_PROBES = 7
# Tilts beyond 1, in units of 1/deviation, whose moments bound δ; and room for their rounding.
_BEYOND = np.geomspace(0.1, 30, 40)
_ROUNDING = 1e-6
# Convolutions of subsampled Gaussian steps with less noise than this may refuse.
_STEEPEST = 8.0


class Total:
    """The moments of a whole composition: each step's, as often as it is taken."""

    def __init__(self, steps: tuple[tuple[LossLaw, int], ...]) -> None:
        self.least = sum(count * law.least for law, count in steps)
        self.largest = sum(count * law.largest for law, count in steps)
        # Many different Laplace steps are summed as one table, not in a loop.
        laplace = [(law.shift, count) for law, count in steps if isinstance(law, LaplaceLoss)]
        self._parts: list[tuple[LossLaw | LaplaceSum, int]] = list(steps)
        if len(laplace) > 3:
            shifts, counts = np.array(laplace, dtype=float).T
            self._parts = [step for step in steps if not isinstance(step[0], LaplaceLoss)]
            self._parts.append((LaplaceSum(shifts, counts), 1))

    def cumulants(self, c: Array) -> Cumulants:
        value = mean = variance = np.zeros(c.shape)
        for law, count in self._parts:
            step = law.cumulants(c)
            value = value + count * step.value
            mean = mean + count * step.mean
            variance = variance + count * step.variance
        return Cumulants(value, mean, variance)

    def along(self, c: float, y: Array) -> Complex:
        return np.asarray(sum([count * law.along(c, y) for law, count in self._parts]))

    def on_mesh(self, c: float, step: float, points: int) -> Complex:
        return np.asarray(sum([n * law.on_mesh(c, step, points) for law, n in self._parts]))

    def decay(self, c: float, y: Array) -> Array:
        return np.asarray(sum([count * law.decay(c, y) for law, count in self._parts]))


@dataclass(frozen=True, repr=False)
class ComposedCurve(ThresholdCurve):
    """Independent steps seen together: each (law of the loss, how often), in one order.

    ε is right to about 1e-10, δ to 1e-8 of itself at worst, for FPRs from 1e-12 and δ from 1e-20
    on, if it ``has_digits`` at all; what no engine has digits for comes from lines that no attack
    crosses.
    """

    steps: tuple[tuple[LossLaw, int], ...]
    bound: Bound = field(default=Bound.EXACT)

    @cached_property
    def _engine(self) -> FirstToAnswer:
        """A contour; where its digits do not suffice, a convolution, for steps that have one."""
        convolution = self._convolution
        spare = [] if convolution is None else [lambda: convolution]
        return FirstToAnswer([lambda: Contour(self._total), *spare])

    @cached_property
    def _total(self) -> Total:
        return Total(self.steps)

    @property
    def has_digits(self) -> bool:
        """Whether every usual question has an exact answer."""
        if self._convolution is not None and all(_gentle(law) for law, _ in self.steps):
            return True
        return self._contour_answers and self.mirrored()._contour_answers

    @cached_property
    def _contour_answers(self) -> bool:
        """At thresholds all over what is usually asked; the lines drawn are kept."""
        try:
            with np.errstate(all="ignore"):
                self._probe()
        except NotCertified:
            return False
        return True

    def _probe(self) -> None:
        contour, least, largest = self._engine.first(), self._total.least, self._total.largest
        if least < 0 < largest:  # the cheapest to refuse
            contour.tails(np.zeros(1))
        furthest = max(
            float(contour.guess_delta(np.log(np.array([_LEAST_DELTA])))[0]),
            float(contour.guess_fpr(np.array([_LEAST_FPR]))[0]),
        )
        t = np.linspace(0.0, furthest, _PROBES)
        contour.tails(t[(t >= least) & (t < largest)])

    def delta_by_moments(self, t: Array) -> Array:
        """No less than δ(t), by real moments alone: no line is drawn for it.

        (x − 1)⁺ ≤ x^c·(c − 1)^(c − 1)/c^c for x = e^(loss − t) and any c > 1 (Canonne, Kamath and
        Steinke 2020), so that δ(t) ≤ M(c)·e^(−(c − 1)t)·(c − 1)^(c − 1)/c^c.
        """
        tilts, logs = self._moments_beyond_one
        with np.errstate(all="ignore"):
            least = np.min(logs - np.multiply.outer(t, tilts - 1), axis=-1)
            return np.asarray(np.exp(least) * (1 + _ROUNDING))

    @cached_property
    def _moments_beyond_one(self) -> tuple[Array, Array]:
        """Some c > 1, and the logarithms of M(c)·(c − 1)^(c − 1)/c^c."""
        with np.errstate(all="ignore"):
            deviation = math.sqrt(float(self._total.cumulants(np.array([0.5]))[2][0]))
            c = 1 + _BEYOND / deviation
            logs = self._total.cumulants(c)[0] + (c - 1) * np.log(c - 1) - c * np.log(c)
        known = np.isfinite(logs)
        # Where none is finite nothing is bounded: one that is infinite stands for all.
        return (c[known], logs[known]) if known.any() else (np.ones(1), np.full(1, np.inf))

    @cached_property
    def _beneath(self) -> TradeoffCurve:
        return beneath(self.steps, ordered=True)

    @cached_property
    def _convolution(self) -> Engine | None:
        """Those of one order serve the other."""
        laws = [(law, count) for law, count in self.steps if isinstance(law, MixtureLoss)]
        if len(laws) == len(self.steps):
            return Convolution(tuple(laws))
        if all(isinstance(law.swapped(), MixtureLoss) for law, _ in self.steps):
            behind = self.mirrored()._convolution
            return ReflectedConvolution(behind) if isinstance(behind, Convolution) else None
        return None

    def mirrored(self) -> ComposedCurve:
        return cast(ComposedCurve, super().mirrored())

    def _mirrored(self) -> ComposedCurve:
        swapped = tuple((law.swapped(), count) for law, count in self.steps)
        if all(new is old for (new, _), (old, _) in zip(swapped, self.steps, strict=True)):
            return self
        return ComposedCurve(swapped, self.bound)

    def _largest_loss(self) -> float:
        return self._total.largest

    def _smallest_loss(self) -> float:
        return self._total.least

    def _tails(self, t: Array) -> Tails:
        least, largest = self._total.least, self._total.largest
        flat = np.ravel(t).astype(float)
        out = np.empty((len(Tails._fields), flat.size))
        # Beyond the ends of the loss nothing, or everything, is flagged.
        out[:, flat >= min(largest, _FURTHEST)] = np.array([0.0, 0, 1, 1, 0, 0])[:, None]
        below = flat < max(least, -_FURTHEST)
        out[:, below] = np.array([1.0, 1, 0, 0, 0, 0])[:, None]
        out[4, below] = -np.expm1(flat[below])
        inside = np.flatnonzero((flat < min(largest, _FURTHEST)) & ~below)
        if inside.size:
            out[:, inside] = self._engine.tails(flat[inside])
        return Tails(*out.reshape(len(out), *np.shape(t)))

    def _guess_fpr(self, fpr: Array) -> Array:
        return self._engine.guess_fpr(fpr)

    def _guess_delta(self, log_delta: Array) -> Array:
        return self._engine.guess_delta(log_delta)

    def _deviation(self) -> float:
        return self._engine.deviation()

    def _symmetrised(self) -> TradeoffCurve:
        return EitherOrder(self)


def _gentle(law: LossLaw) -> bool:
    forward = law.law if isinstance(law, Swapped) else law
    return not isinstance(forward, MixtureLoss) or forward.bend <= _STEEPEST


@dataclass(frozen=True, repr=False)
class EitherOrder(ThresholdCurve):
    """The lower convex envelope of a composition and its mirror: what holds for both orders."""

    present: ComposedCurve

    @property
    def bound(self) -> Bound:  # type: ignore[override]
        return self.present.bound

    def _mirrored(self) -> EitherOrder:
        return self

    @cached_property
    def _beneath(self) -> TradeoffCurve:
        return beneath(self.present.steps, ordered=False)

    def _largest_loss(self) -> float:
        return max(self.present._largest_loss(), -self.present._smallest_loss())

    def _smallest_loss(self) -> float:
        return -self._largest_loss()

    def _tails(self, t: Array) -> Tails:
        """At each slope the order with the larger profile; below 0 all is seen in the mirror."""
        size = np.abs(t)
        tails = np.stack(self.present._tails(size))
        may = self._mirror_may_exceed(size, tails[4])
        if may.any():
            mirror = np.stack(self.present.mirrored()._tails(size[may]))
            tails[:, may] = np.where(tails[4, may] >= mirror[4], tails[:, may], mirror)
        fpr, tpr, fnr, tnr, delta, density = tails
        back = t < 0
        with np.errstate(over="ignore", invalid="ignore"):
            lifted = np.where(density > 0, density * np.exp(size), 0.0)
        return Tails(
            np.where(back, fnr, fpr),
            np.where(back, tnr, tpr),
            np.where(back, fpr, fnr),
            np.where(back, tpr, tnr),
            np.where(back, np.exp(-size) * delta - np.expm1(-size), delta),
            np.where(back, lifted, density),
        )

    def _solved_fpr(self, fpr: Array) -> Array:
        """Small FPR by one order, many by its mirror, a line of slope −1 between."""
        start = self.present._tails(np.zeros(1))
        knots = sorted((float(start.fpr[0]), float(start.fnr[0])))
        tails = np.empty((len(Tails._fields), fpr.size))
        between = (fpr >= knots[0]) & (fpr <= knots[1])
        tpr = start.delta[0] + fpr[between]
        tails[:, between] = [fpr[between], tpr, 1 - tpr, 1 - fpr[between], tpr * 0, tpr * 0]
        few, many = fpr < knots[0], fpr > knots[1]
        beaten = np.zeros(fpr.shape, dtype=bool)
        if few.any():
            tails[:, few], beaten[few] = self._by_present(fpr[few], off_fpr(fpr[few]))
        if many.any():
            # In the mirror the FNR is what was the FPR.
            seen, beaten[many] = self._by_present(fpr[many], off_tpr(1 - fpr[many], fpr[many]))
            tails[:, many] = seen[[2, 3, 0, 1, 4, 5]]
        if beaten.any():
            tails[:, beaten] = super()._solved_fpr(fpr[beaten])
        return tails

    def _by_present(self, fpr: Array, off: Off) -> tuple[Array, NDArray[np.bool_]]:
        """By the order that usually leaks more, and where it does not."""
        present = self.present
        guess, top = present._guess_fpr(np.minimum(fpr, 1 - fpr)), self._largest_loss()
        t, tails, _ = present._newton(off, guess, 0.0, top)
        return tails, self._mirror_exceeds(t, tails[4] * (1 + 1e-12))

    def _mirror_may_exceed(self, t: Array, delta: Array) -> NDArray[np.bool_]:
        """Where moments alone leave it open whether the mirror has a larger δ; at 0 it has not."""
        return np.asarray((t != 0) & ~(self.present.mirrored().delta_by_moments(t) <= delta))

    def _mirror_exceeds(self, t: Array, delta: Array) -> NDArray[np.bool_]:
        exceeds = self._mirror_may_exceed(t, delta)
        if exceeds.any():
            exceeds[exceeds] = self.present.mirrored()._tails(t[exceeds]).delta > delta[exceeds]
        return exceeds

    def _exact_epsilon(self, delta: Array) -> Array:
        """That of one order, unless the other has a larger δ there."""
        present, mirror = self.present, self.present.mirrored()
        epsilon = np.asarray(present._exact_epsilon(delta))
        beaten = np.flatnonzero(np.ravel(self._mirror_exceeds(epsilon, np.asarray(delta))))
        if beaten.size:
            epsilon.ravel()[beaten] = mirror._exact_epsilon(np.ravel(delta)[beaten])
        return epsilon

    def _guess_fpr(self, fpr: Array) -> Array:
        return self.present._guess_fpr(fpr)

    def _guess_delta(self, log_delta: Array) -> Array:
        return self.present._guess_delta(log_delta)

    def _deviation(self) -> float:
        return self.present._deviation()
