"""One-sided hypothesis tests about the size of one person's value, asked of a noisy sum.

The best test flags below a threshold on the output (Karlin and Rubin 1956). The curves mirror the
outputs: h1 has its centres above the cut and h0 below, so that the likelihood ratio rises with the
output and the best test flags beyond an output t. Rates are means of noise tails at t; a threshold
on the ratio is mapped to its t. Outputs are continuous, so a t gives any size without a coin; where
the ratio is constant, at both ends for Laplace noise, all t are equally good.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, FourRates, TradeoffCurve, at_ends, randomised
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.laws import GaussianLaw, LaplaceLaw
from tellapart.mechanisms.noise import AdditiveNoise
from tellapart.worlds.pairs.one_sided_centres import (
    Centres,
    GaussianCentres,
    GaussianPoints,
    GaussianUniform,
    LaplaceCentres,
    LaplacePoints,
    LaplaceUniform,
)

S = TypeVar("S", bound=Centres)


# Roots are this close, or as close as doubles are.
_CLOSE = float(np.finfo(float).eps)
# In units of the noise; squares of larger distances would overflow.
_FURTHEST = 1e150


@dataclass(frozen=True)
class OneSided:
    """Is this person's value at most the cut, asks someone who knows all other records.

    h1: low ≤ value ≤ cut; h0: cut < value ≤ high. The answer is a sum with noise, so the noise
    alone decides; with discrete noise all values are whole numbers. The likelihood ratio falls
    with the output, so every best test flags below a threshold. All numbers are exact up to
    rounding; to prove a value large instead, mirror the curves.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> income = OneSided(ta.Laplace.with_epsilon(1, sensitivity=100), cut=30, low=0, high=100)
    >>> round(income.power(value=10, fpr=0.05), 4)
    0.0611
    >>> round(risk.ppv(income.curve(), fpr=0.05, prior=income.prior()), 4)
    0.41
    """

    noise: AdditiveNoise
    cut: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not isinstance(self.noise, AdditiveNoise):
            _checks.refuse("noise", "be additive noise, as Laplace and Gaussian are", self.noise)
        low, high = _checks.finite(low=self.low), _checks.finite(high=self.high)
        cut = _checks.finite(cut=self.cut)
        if not low < high:
            _checks.refuse("low", f"be less than high ({high})", self.low)
        _checks.finite(**{"high - low": high - low})
        if not low <= cut < high:
            _checks.refuse("cut", f"lie in [low, high) = [{low}, {high})", self.cut)
        if self.noise.noise.whole and (low % 1 or high % 1):
            rule = "be whole numbers for discrete noise"
            _checks.refuse("low and high", rule, (self.low, self.high))
        for name, value in (("low", low), ("high", high), ("cut", cut)):
            object.__setattr__(self, name, value)

    @property
    def boundary(self) -> float:
        """The value of h0 that is hardest to tell from h1: the cut, or the next whole number."""
        return float(np.floor(self.cut) + 1) if self.noise.noise.whole else self.cut

    @overload
    def power(self, value: float, fpr: float) -> float: ...
    @overload
    def power(self, value: ArrayLike, fpr: ArrayLike) -> float | Array: ...
    def power(self, value: ArrayLike, fpr: ArrayLike) -> float | Array:
        """How often the best attack says "at most the cut" when this is the true value.

        One test is best against all values at once (Karlin and Rubin 1956). Its false
        positives are most frequent, namely ``fpr``, at the boundary, and rarer for larger
        values, for which this is their frequency.

        >>> import tellapart as ta
        >>> question = OneSided(ta.Gaussian(sigma=10), cut=30, low=0, high=100)
        >>> question.power(value=[10, 30, 40], fpr=0.05).round(4)
        array([0.6388, 0.05  , 0.0041])
        """
        values, sizes = self._values(value=value), _checks.probabilities(fpr=fpr)
        try:
            whose, how = np.broadcast_arrays(values, sizes)
        except ValueError:
            _checks.refuse("fpr", f"fit the shape of value {values.shape}", sizes.shape)
        powers = np.empty(whose.shape)
        for distinct in np.unique(whose):
            here = whose == distinct
            powers[here] = self._power_at(float(distinct), how[here])
        return shaped(powers, values, sizes)

    def _power_at(self, value: float, fpr: Array) -> Array:
        curve = self.noise.noise.curve(abs(self.boundary - value))
        return curve.tpr(fpr) if value <= self.boundary else curve.fpr(fpr)

    def curve_at(self, value: float) -> TradeoffCurve:
        """How well this value can be told from the least value above the cut.

        >>> import tellapart as ta
        >>> question = OneSided(ta.DiscreteLaplace.with_epsilon(1), cut=0, low=0, high=1)
        >>> round(question.curve_at(0).delta(0.0), 6)
        0.462117
        """
        given = float(self._values(value=_checks.finite(value=value)))
        if given > self.cut:
            _checks.refuse("value", f"be at most the cut ({self.cut})", value)
        return self.noise.noise.curve(self.boundary - given)

    def curve(
        self, values: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> TradeoffCurve:
        """How well the best attacker tells values up to the cut from larger ones.

        What the attacker holds likely beforehand is uniform on [low, high], or the ``values``
        with their ``weights`` (equal if not given). For Laplace and Gaussian noise; the curve is
        `Bound.EXACT`, and lies above that of the values low and high.

        >>> import tellapart as ta
        >>> question = OneSided(ta.Laplace.with_epsilon(5), cut=0.5, low=0, high=1)
        >>> round(question.curve().tpr(fpr=0.1), 4)
        0.6782
        """
        mixture, scale = self._kind()
        h0, h1 = self._centres(values, weights)
        with np.errstate(all="ignore"):
            far, near = h0.distances / scale, h1.distances / scale
        if not max(far.max(), near.max()) <= _FURTHEST:
            rule = f"not be {short(_FURTHEST)} times smaller than what it hides"
            _checks.refuse("noise", rule, self.noise)
        if not (far.any() or near.any()):
            return nothing()
        return mixture(np.append(far, h0.weights), np.append(near, h1.weights))

    def prior(self, values: ArrayLike | None = None, weights: ArrayLike | None = None) -> float:
        """How likely a value up to the cut is beforehand: the prior that risk measures ask for.

        >>> import tellapart as ta
        >>> question = OneSided(ta.Gaussian(sigma=10), cut=30, low=0, high=100)
        >>> question.prior(), question.prior(values=[10, 20, 90], weights=[0.25, 0.25, 0.5])
        (0.3, 0.5)
        """
        if values is None:
            self._refuse_weights(weights)
            if self.noise.noise.whole:  # as many values are possible, each as likely
                return (self.boundary - self.low) / (self.high - self.low + 1)
            return (self.cut - self.low) / (self.high - self.low)
        some, chances = self._finite_prior(values, weights)
        return min(1.0, float(chances[some <= self.cut].sum()))

    def _kind(self) -> tuple[Callable[[Array, Array], TradeoffCurve], float]:
        """The curve for this noise, and the unit in which it counts."""
        law = self.noise.noise
        if isinstance(law, LaplaceLaw):
            return OneSidedLaplace, law.scale
        if isinstance(law, GaussianLaw):
            return OneSidedGaussian, law.sigma
        raise Unsupported(
            "the curve of a prior is known for Laplace and Gaussian noise; for other noise ask "
            "for the curve_at or the power of one value"
        )

    def _centres(self, values: ArrayLike | None, weights: ArrayLike | None) -> tuple[_Prior, ...]:
        """Of h0 and of h1."""
        if values is None:
            self._refuse_weights(weights)
            if self.cut == self.low:
                rule = "exceed low for a uniform prior, which gives low itself no chance"
                _checks.refuse("cut", rule, self.cut)
            spans = np.array([self.high - self.cut]), np.array([self.cut - self.low])
            return tuple(_Prior(span, np.empty(0)) for span in spans)
        some, chances = self._finite_prior(values, weights)
        sides = [(some > self.cut) & (chances > 0), (some <= self.cut) & (chances > 0)]
        if not all(side.any() for side in sides):
            rule = f"hold one up to the cut ({self.cut}) and one above it, with positive weight"
            _checks.refuse("values", rule, values)
        return tuple(
            _Prior(np.abs(some[side] - self.cut), chances[side] / chances[side].sum())
            for side in sides
        )

    def _finite_prior(self, values: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
        some = self._values(values=_checks.vector(values=values))
        if weights is None:
            return some, np.full(some.size, 1 / some.size)
        chances = _checks.pmf(weights=weights)
        if chances.size != some.size:
            _checks.refuse("weights", f"have one entry for each of {some.size} values", weights)
        return some, chances

    def _refuse_weights(self, weights: ArrayLike | None) -> None:
        if weights is not None:
            _checks.refuse("weights", "go with values", weights)

    def _values(self, **named: ArrayLike) -> Array:
        """Values that the person can have."""
        ((name, _),) = named.items()
        values = _checks.reals(**named)
        outside = values[(values < self.low) | (values > self.high)]
        if outside.size:
            rule = f"lie in [low, high] = [{self.low}, {self.high}]"
            _checks.refuse(name, rule, float(outside.flat[0]))
        if self.noise.noise.whole and np.any(values % 1):
            rule = "be a whole number for discrete noise"
            _checks.refuse(name, rule, float(values[values % 1 != 0].flat[0]))
        return values


class _Prior(NamedTuple):
    """Distances from the cut and their weights; no weights: uniform up to the one distance."""

    distances: Array
    weights: Array


@dataclass(frozen=True, eq=False, repr=False)
class OneSidedCurve(TradeoffCurve):
    """Two hypotheses about a centre, each with its own spread of centres.

    The profile is a sum of two positive parts: what the centres of h1 add to a centre at the cut,
    and what a centre at the cut adds to those of h0.

    A spread is one number, the width over which the distances from the cut are uniform; or
    finitely many distances and then as many weights. Both are in units of the noise.
    """

    absent: Array
    present: Array
    bound: Bound = Bound.EXACT

    def __post_init__(self) -> None:
        self._sides()

    @abstractmethod
    def _sides(self) -> tuple[Centres, Centres]:
        """h0 and h1, each as it is seen from the cut."""

    @abstractmethod
    def _output(self, loss: Array) -> Array:
        """The output t at which the log-likelihood ratio is this; the ends where none is."""

    @abstractmethod
    def _profile(self, epsilon: Array) -> Array:
        """δ(ε) for ε ≥ 0."""

    def mirrored(self) -> Self:
        return cast(Self, super().mirrored())

    def _mirrored(self) -> Self:
        if np.array_equal(self.absent, self.present):
            return self
        return type(self)(self.present, self.absent, self.bound)

    def _ends(self) -> tuple[float, float]:
        """Outputs beyond which nothing, in doubles, happens."""
        absent, present = self._sides()
        return -absent.furthest() - absent.reach, present.furthest() + present.reach

    def _at(self, output: Array) -> FourRates:
        """The four rates of the test that rejects h0 beyond an output."""
        t = np.clip(output, *self._ends())
        absent, present = self._sides()
        rates = absent.tail(t, 1), present.tail(t, -1), present.tail(-t, 1), absent.tail(-t, -1)
        fpr, tpr, fnr, tnr = (np.minimum(rate, 1.0) for rate in rates)
        return fpr, tpr, fnr, tnr

    def _rates(self, threshold: Array) -> FourRates:
        none, every = threshold >= self._largest_loss(), threshold < self._smallest_loss()
        return at_ends(self._at(self._output(threshold)), none, every)

    def _interpolated(self, fpr: Array) -> tuple[Array, Array]:
        """As in the base class, but by a search for the output, which needs no loss."""
        tnr, sign = 1 - fpr, np.where(fpr < 0.5, 1.0, -1.0)
        absent, _ = self._sides()

        def too_many(t: Array) -> Array:  # FPR where it is small, TNR elsewhere
            rate = absent.tail(sign * t, sign)
            return np.asarray(sign * (np.log(rate) - np.log(np.minimum(fpr, tnr))))

        return randomised(fpr, *self._beside(too_many, fpr))

    def _interpolated_fpr(self, tpr: Array) -> Array:
        _, present = self._sides()
        more, less = self._beside(lambda t: np.log(present.tail(t, -1)) - np.log(tpr), tpr)
        up = np.clip((tpr - less[1]) / (more[1] - less[1]), 0.0, 1.0)
        return (1 - up) * less[0] + up * more[0]

    def _beside(self, excess: solve.Falling, like: Array) -> tuple[FourRates, FourRates]:
        """The rates at two neighbouring outputs: the last with an excess, the first without."""
        low, high = self._ends()
        # Counted from the lower end: a search that ended at 0 would halve its way there.
        start, end = np.zeros_like(like), np.full_like(like, high - low)
        start, end = solve.falling_root(lambda x: excess(x + low), start, end)
        return self._at(start + low), self._at(end + low)

    def _delta(self, epsilon: Array) -> Array:
        delta = self._profile(np.maximum(epsilon, 0.0))
        low = np.minimum(epsilon, 0.0)
        if np.any(low < 0):  # 1 − e^ε + e^ε·δ(−ε) of the mirror image, a sum of positive terms
            other = self.mirrored()._profile(-low)
            delta = np.where(low < 0, np.exp(low) * other - np.expm1(low), delta)
        return np.minimum(delta, 1.0)

    def _delta_at_infinity(self) -> float:
        return 0.0


class OneSidedLaplace(OneSidedCurve):
    """Two mixtures of Laplace laws of scale 1."""

    @cached_property
    def _h0(self) -> LaplaceCentres:
        return _side(LaplaceUniform, LaplacePoints, absent=self.absent)

    @cached_property
    def _h1(self) -> LaplaceCentres:
        return _side(LaplaceUniform, LaplacePoints, present=self.present)

    def _sides(self) -> tuple[LaplaceCentres, LaplaceCentres]:
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
        delta = self._h1.gain(t) + math.exp(self._h1.floor()) * self._h0.share(-t)
        return np.where(epsilon < self._largest_loss(), delta, 0.0)

    def _area(self) -> float:
        """The mean over both spreads of e^−m·(2 + m)/4, m being how far two centres lie apart."""
        near, far = math.exp(self._h0.floor()), math.exp(self._h1.floor())
        return (2 * near * far + self._h0.pull() * far + near * self._h1.pull()) / 4


class OneSidedGaussian(OneSidedCurve):
    """Two mixtures of normal laws of deviation 1."""

    @cached_property
    def _h0(self) -> GaussianCentres:
        return _side(GaussianUniform, GaussianPoints, absent=self.absent)

    @cached_property
    def _h1(self) -> GaussianCentres:
        return _side(GaussianUniform, GaussianPoints, present=self.present)

    def _sides(self) -> tuple[GaussianCentres, GaussianCentres]:
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
        place = np.searchsorted(losses, loss)
        low, high = outputs[np.maximum(place - 1, 0)], outputs[np.minimum(place, outputs.size - 1)]
        result = np.array(high)
        # Rounding may leave no root between two outputs whose losses are almost the same.
        inside = (self._loss(low) < loss) & (self._loss(high) >= loss)
        if inside.any():
            wanted = loss[inside]
            result[inside] = solve.falling_root(
                lambda t: wanted - self._loss(t), low[inside], high[inside], narrow=_CLOSE
            )[1]
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
