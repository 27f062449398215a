"""Questions about the size of one person's value, asked of a noisy sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.laws import GaussianLaw, LaplaceLaw
from tellapart.mechanisms.noise import AdditiveNoise
from tellapart.worlds.pairs.one_sided_mixtures import GaussianMixture, LaplaceMixture

# In units of the noise; squares of larger distances would overflow.
_FURTHEST = 1e150


@dataclass(frozen=True)
class OneSided:
    """Is this person's value at most the cut, asks someone who knows all other records.

    h1: low ≤ value ≤ cut; h0: cut < value ≤ high. The answer is a sum with noise, so the noise
    alone decides; with discrete noise all values are whole numbers. The likelihood ratio falls
    with the output, so every best test accuses below a threshold. All numbers are exact up to
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
        accusations are most frequent, namely ``fpr``, at the boundary, and rarer for larger
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
        found = np.empty(whose.shape)
        for one in np.unique(whose):
            here = whose == one
            found[here] = self._power_at(float(one), how[here])
        return shaped(found, values, sizes)

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
        one = float(self._values(value=_checks.finite(value=value)))
        if one > self.cut:
            _checks.refuse("value", f"be at most the cut ({self.cut})", value)
        return self.noise.noise.curve(self.boundary - one)

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
            rule = f"not be {_FURTHEST:g} times smaller than what it hides"
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
            return LaplaceMixture, law.scale
        if isinstance(law, GaussianLaw):
            return GaussianMixture, law.sigma
        raise Unsupported(
            "the curve of a prior is known for Laplace and Gaussian noise; for other noise ask "
            "for the curve_at or the power of one value"
        )

    def _centres(self, values: ArrayLike | None, weights: ArrayLike | None) -> tuple[_Centres, ...]:
        """Of h0 and of h1."""
        if values is None:
            self._refuse_weights(weights)
            if self.cut == self.low:
                rule = "exceed low for a uniform prior, which gives low itself no chance"
                _checks.refuse("cut", rule, self.cut)
            spans = np.array([self.high - self.cut]), np.array([self.cut - self.low])
            return tuple(_Centres(span, np.empty(0)) for span in spans)
        some, chances = self._finite_prior(values, weights)
        sides = [(some > self.cut) & (chances > 0), (some <= self.cut) & (chances > 0)]
        if not all(side.any() for side in sides):
            rule = f"hold one up to the cut ({self.cut}) and one above it, with positive weight"
            _checks.refuse("values", rule, values)
        return tuple(
            _Centres(np.abs(some[side] - self.cut), chances[side] / chances[side].sum())
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
        found = _checks.reals(**named)
        outside = found[(found < self.low) | (found > self.high)]
        if outside.size:
            rule = f"lie in [low, high] = [{self.low}, {self.high}]"
            _checks.refuse(name, rule, float(outside.flat[0]))
        if self.noise.noise.whole and np.any(found % 1):
            rule = "be a whole number for discrete noise"
            _checks.refuse(name, rule, float(found[found % 1 != 0].flat[0]))
        return found


class _Centres(NamedTuple):
    """Distances from the cut and their weights; no weights: uniform up to the one distance."""

    distances: Array
    weights: Array
