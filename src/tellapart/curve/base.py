"""Trade-off functions (f-DP), the hub type: each also has its privacy profile δ(ε).

All that tellapart knows about a pair of worlds is one curve: for each false-positive rate α that an
attacker accepts, the least false-negative rate β that any test of "record absent" (h0) against
"record present" (h1) can reach. δ(ε) is the hockey-stick divergence of the pair.
Its natural parameter is the threshold ℓ on the log-likelihood ratio: the best test rejects h0
where the ratio exceeds ℓ, and the curve has slope −e^ℓ there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric import hull, solve
from tellapart._numeric.safe import times_exp
from tellapart._shown import Plotted
from tellapart.curve.provenance import UNKNOWN, Provenance
from tellapart.errors import NotCertified
from tellapart.neighbours import Neighbours, Order

if TYPE_CHECKING:
    from tellapart.curve.gdp import GaussianSummary

FourRates = tuple[Array, Array, Array, Array]
# Two tests: one with more false positives than asked, one with fewer.
Around = tuple[FourRates, FourRates]
Mask = NDArray[np.bool_]

# Stands for "the largest finite threshold": rejects only outputs that h0 can never produce.
_TOP = np.finfo(float).max


class Bound(Enum):
    """On which side of the truth a curve lies, so that every number read off it has a side.

    LOWER: on or below the truth; no attacker does better (what a guarantee needs).
    EXACT: the truth up to rounding.
    UPPER: on or above the truth; some attacker does at least this well (what an audit needs).
    """

    LOWER = "lower"
    EXACT = "exact"
    UPPER = "upper"


class Rates(NamedTuple):
    """The four rates of one test, each with its own digits: none is one minus another."""

    fpr: float | Array
    tpr: float | Array
    fnr: float | Array
    tnr: float | Array


# In words: below and above are of the curve f, and the lower it is the stronger the attacker.
SIDES = {
    Bound.LOWER: "guarantee (f from below)",
    Bound.EXACT: "exact",
    Bound.UPPER: "attack (f from above)",
}


class TradeoffCurve(Plotted, ABC):
    """How well the best attacker can tell "record present" from "record absent".

    ``bound`` says on which side of the truth it lies. Mechanisms, promises and audits give one.

    >>> import tellapart as ta
    >>> curve = ta.Gaussian(sigma=1).curve()
    >>> round(curve.tpr(fpr=0.01), 4)
    0.0924
    >>> round(curve.epsilon(delta=1e-5), 4)
    4.3772
    >>> curve.bound
    <Bound.EXACT: 'exact'>
    """

    # Subclasses give _rates and _largest_loss and override the rest where they have a formula.
    # The private methods take and return float arrays that were already checked.
    bound: Bound
    # On how many points an area without a formula rests; its error falls with their square.
    _area_points: ClassVar[int] = 1 << 14
    # How far off its numbers may be, relatively: rounding alone, for a formula.
    _accuracy: ClassVar[float] = 1e-15
    # Beside its numbers: no part of equality.
    _provenance: Provenance = UNKNOWN

    def __getstate__(self) -> dict[str, object]:
        """What it was made from; what was worked out since is worked out again."""
        made_from = {"_provenance", *getattr(type(self), "__dataclass_fields__", {})}
        return {name: self.__dict__[name] for name in self.__dict__.keys() & made_from}

    # -- which worlds it is about --------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours | None:
        """Which two data sets it says are hard to tell apart; None where nobody said."""
        return self._provenance.neighbours

    @property
    def order(self) -> Order | None:
        """Which world is h1: `Order.PRESENT` tests "absent" (h0) against "present".

        None for a curve that holds for both orders, or of which no neighbours are known.
        """
        return self._provenance.order

    def stated(self, neighbours: Neighbours, order: Order | None = None) -> Self:
        """The same curve, said to bound every attack on such neighbours; without an order, in both.

        >>> import tellapart as ta
        >>> pair = ta.from_pmfs([0.9, 0.1], [0.8, 0.2])
        >>> known = pair.stated(ta.Neighbours.ADD_REMOVE, ta.Order.PRESENT)
        >>> known.order, known.mirrored().order
        (<Order.PRESENT: 'present'>, <Order.ABSENT: 'absent'>)
        """
        _checks.member(Neighbours, neighbours=neighbours)
        if order is not None:
            _checks.member(Order, order=order)
        known = Provenance(neighbours, order, source=self._provenance.source)
        return self.with_provenance(known)

    def with_provenance(self, provenance: Provenance) -> Self:
        """The same curve with this record of where it came from; it shares what was worked out."""
        if provenance.order is not None and self.mirrored() is self:
            provenance = replace(provenance, order=None)  # its own mirror: one order is both
        if provenance == self._provenance:
            return self
        mirror = self.__dict__.get("_mirror")
        curve = self._copied(provenance)
        if mirror is self:
            curve.__dict__["_mirror"] = curve
        elif mirror is not None:
            curve._link(mirror._copied(provenance.flipped()))
        return curve

    def _copied(self, provenance: Provenance) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, _provenance=provenance)
        return copy

    def _link(self, mirror: TradeoffCurve) -> None:
        """Each knows the other, so that nothing is worked out twice."""
        self.__dict__["_mirror"] = mirror
        mirror.__dict__["_mirror"] = self

    def made_by(self, source: object) -> Self:
        """The same curve, which also says what made it: a mechanism, or words for it."""
        return self.with_provenance(replace(self._provenance, source=source))

    def __repr__(self) -> str:
        """What it is of, in words that could be typed, and on which side of the truth it lies."""
        return f"<curve of {self.label}, {SIDES[self.bound]}>"

    @property
    def label(self) -> str:
        """What it is a curve of."""
        source = self._provenance.source
        words = source if isinstance(source, str) else repr(source)
        made = self._words() if source is None else words
        return made if self.order is None else f"{made} (h1: {self.order.value})"

    def _words(self) -> str:
        """What it was made from, as far as that is a few numbers."""
        made_from = getattr(type(self), "__dataclass_fields__", {})
        numbers = (
            f"{name}={getattr(self, name)!r}"
            for name in made_from
            if isinstance(getattr(self, name), int | float)
        )
        return f"{type(self).__name__}({', '.join(numbers) or '…'})"

    # -- what is asked of a curve ------------------------------------------------------------

    def rates(self, threshold: ArrayLike) -> Rates:
        """The four rates of the attack that flags when the log-likelihood ratio exceeds this."""
        asked = _checks.reals(threshold=threshold)
        with np.errstate(all="ignore"):
            rates = self._rates(asked)
        return Rates(*(shaped(rate, asked) for rate in rates))

    @overload
    def beta(self, alpha: float) -> float: ...
    @overload
    def beta(self, alpha: ArrayLike) -> Array: ...
    def beta(self, alpha: ArrayLike) -> float | Array:
        """The least false-negative rate of any attack with this false-positive rate."""
        asked = _checks.probabilities(alpha=alpha)
        with np.errstate(all="ignore"):
            return _answered(self._beta(asked), asked)

    @overload
    def tpr(self, fpr: float) -> float: ...
    @overload
    def tpr(self, fpr: ArrayLike) -> Array: ...
    def tpr(self, fpr: ArrayLike) -> float | Array:
        """The largest true-positive rate of any attack with this false-positive rate."""
        asked = _checks.probabilities(fpr=fpr)
        with np.errstate(all="ignore"):
            return _answered(self._tpr(asked), asked)

    @overload
    def fpr(self, tpr: float) -> float: ...
    @overload
    def fpr(self, tpr: ArrayLike) -> Array: ...
    def fpr(self, tpr: ArrayLike) -> float | Array:
        """The least false-positive rate of any attack with this true-positive rate."""
        asked = _checks.probabilities(tpr=tpr)
        with np.errstate(all="ignore"):
            fpr = np.where(asked <= self._delta_at_infinity(), 0.0, self._fpr(asked))
        return _answered(fpr, asked)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> Array: ...
    def delta(self, epsilon: ArrayLike) -> float | Array:
        """The least δ for which this pair, in this order, keeps (ε, δ); any real ε.

        δ(ε) is the largest TPR − e^ε·FPR over all attacks; δ(0) is the largest advantage.
        """
        asked = _checks.reals(epsilon=epsilon)
        with np.errstate(all="ignore"):
            delta = self._delta(asked)
            if np.any(asked == np.inf):
                delta = np.where(asked == np.inf, self._delta_at_infinity(), delta)
        return _answered(delta, asked)

    @overload
    def epsilon(self, delta: float) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike) -> Array: ...
    def epsilon(self, delta: ArrayLike) -> float | Array:
        """The least ε ≥ 0 for which this pair, in this order, keeps (ε, δ); inf if none does."""
        asked = _checks.probabilities(delta=delta)
        with np.errstate(all="ignore"):
            return _answered(self._raised(self._epsilon(asked)), asked)

    def _raised(self, epsilon: Array) -> Array:
        """Two ulp up, so that rounding never promises more than the curve keeps."""
        if self.bound is Bound.UPPER:
            return epsilon
        top = self._largest_loss()
        between = (epsilon > 0) & (epsilon < top)
        return np.where(between, np.minimum(epsilon + 2 * np.spacing(epsilon), top), epsilon)

    def mirrored(self) -> TradeoffCurve:
        """The same pair with the roles of the two worlds exchanged: the inverse function."""
        mirror: TradeoffCurve | None = self.__dict__.get("_mirror")
        if mirror is None:
            mirror = self._mirrored()
            if mirror is not self and mirror._provenance != (flip := self._provenance.flipped()):
                mirror = mirror._copied(flip)
            self._link(mirror)
        return mirror

    def symmetrised(self) -> TradeoffCurve:
        """What holds for both orders: the lower convex envelope of this curve and its mirror."""
        if self.mirrored() is self:
            return self
        return self._symmetrised().with_provenance(self._provenance.both_orders(self))

    def gdp(self, at_least: float = 1e-6) -> GaussianSummary:
        """One number to report: the least μ for which no attack beats Gaussian noise, and where.

        It holds for attacks whose FPR and FNR are both ``at_least`` this, in either order of the
        worlds; the answer also has its regret and, as `curve()`, what follows for all attacks.
        ``at_least=0`` is answered where the likelihood ratio is bounded or the noise Gaussian.
        Such μ **do not compose**: compose the mechanisms, then ask.

        >>> import tellapart as ta
        >>> print(ta.Laplace.with_epsilon(1).curve().gdp())
        μ = 1.0301 for FPR and FNR from 1e-6 on, regret 0.0371
        """
        # Imported here: what it promises is itself a curve, built on this class.
        from tellapart.curve.gdp import summarise

        return summarise(self, at_least)

    def area(self) -> float:
        """The area under the curve: the probability that an attacker's ranking errs, 1 − AUC."""
        with np.errstate(all="ignore"):
            return self._area()

    # -- what a subclass provides ------------------------------------------------------------

    @abstractmethod
    def _mirrored(self) -> TradeoffCurve:
        """The mirrored curve, made anew; itself where it is its own mirror image."""

    def _symmetrised(self) -> TradeoffCurve:
        # Imported here: the envelope is itself a curve, built on this class.
        from tellapart.curve.algebra import worst_case

        return worst_case([self, self.mirrored()])

    @abstractmethod
    def _rates(self, threshold: Array) -> FourRates:
        """FPR, TPR, FNR, TNR of the test that rejects where the loss exceeds the threshold."""

    @abstractmethod
    def _largest_loss(self) -> float:
        """The supremum of the finite values of the log-likelihood ratio; inf if unbounded."""

    def _smallest_loss(self) -> float:
        return -self.mirrored()._largest_loss()

    def _delta_at_infinity(self) -> float:
        """The mass of outputs that only h1 can produce."""
        return float(self._rates(np.array(_TOP))[1])

    # -- what follows from the rates ---------------------------------------------------------

    def _beta(self, alpha: Array) -> Array:
        return self._at_fpr(alpha)[1]

    def _tpr(self, fpr: Array) -> Array:
        return self._at_fpr(fpr)[0]

    def _fpr(self, tpr: Array) -> Array:
        """From whichever end is near: the mirrored curve knows FPR at FNR."""
        few = tpr < 0.5
        if not few.any():
            return self._fpr_at_large(tpr)
        return np.where(few, self._fpr_at_small(np.minimum(tpr, 0.5)), self._fpr_at_large(tpr))

    def _fpr_at_large(self, tpr: Array) -> Array:
        return self.mirrored()._beta(1 - tpr)

    def _fpr_at_small(self, tpr: Array) -> Array:
        """By a search, as in `_at_fpr`, for the threshold that has this TPR."""
        top, bottom = self._rates(np.array(_TOP)), self._rates(np.array(-_TOP))
        result = np.where(tpr > top[1], bottom[0], 0.0)
        inside = (tpr > top[1]) & (tpr < bottom[1])
        if inside.any():
            result[inside] = self._interpolated_fpr(tpr[inside])
        return result

    def _interpolated_fpr(self, tpr: Array) -> Array:
        more, less = self._around(lambda rates: np.log(rates[1]) - np.log(tpr), tpr)
        weight = _share(tpr, less[1], more[1])
        return (1 - weight) * less[0] + weight * more[0]

    def _delta(self, epsilon: Array) -> Array:
        fpr, tpr, _, _ = self._rates(epsilon)
        return np.maximum(0.0, tpr - times_exp(fpr, epsilon))

    def _epsilon(self, delta: Array) -> Array:
        limit = self._delta_at_infinity()
        result = np.where(delta < limit, np.inf, self._largest_loss())
        result = np.where(delta >= self._delta(np.zeros(())), 0.0, np.maximum(result, 0.0))
        between = (delta > limit) & (result > 0)
        if between.any():
            result[between] = self._falling_to(delta[between])
        return result

    def _falling_to(self, delta: Array) -> Array:
        """Solve δ(ε) = delta from above, so that the ε returned does keep (ε, delta)."""

        def excess(epsilon: Array) -> Array:
            # A log-ratio that has its sign also where the two differ in their last bit.
            return np.log1p((self._delta(epsilon) - delta) / delta)

        low = np.zeros_like(delta)
        top = self._largest_loss()
        if not np.isfinite(top):
            return solve.falling_root(excess, low, self._epsilon_ceiling(excess, delta))[1]
        # Rounding may leave a little δ at the largest loss, where none is; no ε is needed beyond.
        high = np.full_like(delta, top)
        out_of_reach = excess(high) > 0
        if out_of_reach.any():
            epsilon = high.copy()
            if not out_of_reach.all():
                epsilon[~out_of_reach] = self._falling_to(delta[~out_of_reach])
            return epsilon
        return solve.falling_root(excess, low, high)[1]

    def _epsilon_ceiling(self, excess: solve.Falling, delta: Array) -> Array:
        """Some ε at which δ(ε) is no more than these, where the loss has no end."""
        return solve.climb(excess, np.zeros_like(delta), 1.0)

    def _at_fpr(self, fpr: Array) -> tuple[Array, Array]:
        """TPR and FNR at a given FPR, by a search for the threshold that has it.

        Between the two neighbouring thresholds found, the randomised test interpolates: exact
        where the ratio has an atom, and within rounding of the curve where it has not.
        """
        top, bottom = self._rates(np.array(_TOP)), self._rates(np.array(-_TOP))
        # Sizes at which everything h1 can produce is rejected already.
        certain = np.where(fpr < 0.5, fpr >= bottom[0], 1 - fpr <= bottom[3])
        tpr = np.where(certain, 1.0, top[1])
        fnr = np.where(certain, 0.0, top[2])
        inside = (fpr > top[0]) & ~certain
        if inside.any():
            tpr[inside], fnr[inside] = self._interpolated(fpr[inside])
        return tpr, fnr

    def _interpolated(self, fpr: Array) -> tuple[Array, Array]:
        few, tnr = fpr < 0.5, 1 - fpr
        return randomised(
            fpr,
            *self._around(
                lambda rates: np.where(few, np.log(rates[0]) - np.log(fpr), np.log(tnr / rates[3])),
                fpr,
            ),
        )

    def _around(self, excess: Callable[[FourRates], Array], like: Array) -> Around:
        """The rates at two neighbouring thresholds: the last with an excess, the first without."""

        def falling(threshold: Array) -> Array:
            return excess(self._rates(threshold))

        low, high = solve.falling_root(falling, *self._threshold_range(falling, like))
        return self._rates(low), self._rates(high)

    def _threshold_range(self, excess: solve.Falling, like: Array) -> tuple[Array, Array]:
        smallest, largest = self._smallest_loss(), self._largest_loss()
        start = np.zeros_like(like)
        if np.isfinite(largest):
            high = np.full_like(like, largest)
        else:
            high = solve.climb(excess, start, 1.0)
        if np.isfinite(smallest):
            low = np.full_like(like, np.nextafter(smallest, -np.inf))
        else:
            low = solve.climb(excess, start, -1.0)
        return low, high

    def _area(self) -> float:
        """On the side of the curve: for a guarantee the attacker's AUC is never understated."""
        fpr = expit(np.linspace(-34.0, 20.0, self._area_points))
        if self.bound is Bound.UPPER:  # chords lie above a convex curve
            fpr = np.concatenate([[0.0], fpr, [1.0]])
            return float(np.trapezoid(self._beta(fpr), fpr))
        return hull.area_beneath(fpr, self._beta(fpr))


def randomised(fpr: Array, more: FourRates, less: FourRates) -> tuple[Array, Array]:
    """TPR and FNR of the randomised test of this FPR between two tests that have more and less.

    Shares of the two tests are formed where they have their digits.
    """
    few, tnr = fpr < 0.5, 1 - fpr
    up, down = _share(fpr, less[0], more[0]), _share(tnr, more[3], less[3])
    up, down = np.where(few, up, 1 - down), np.where(few, 1 - up, down)
    return down * less[1] + up * more[1], down * less[2] + up * more[2]


def _answered(values: Array, asked: Array) -> float | Array:
    """A float or an array, as it was asked; never NaN."""
    if np.isnan(values).any():
        raise NotCertified(
            "rounding left no digit of an answer: ask one value at a time, and please report it"
        )
    return shaped(values, asked)


def _share(rate: Array, low: Array, high: Array) -> Array:
    """How far a rate lies on the way from a low to a high one; where they are one, at either."""
    share = np.divide(rate - low, high - low, out=np.ones_like(rate), where=high > low)
    return np.clip(share, 0.0, 1.0)


def at_ends(rates: FourRates, none: Mask, every: Mask) -> FourRates:
    """The same rates, but for tests that flag nobody or everybody: exactly 0 and 1."""
    fpr, tpr, fnr, tnr = (
        np.where(none, nobody, np.where(every, 1 - nobody, rate))
        for rate, nobody in zip(rates, (0.0, 0.0, 1.0, 1.0), strict=True)
    )
    return fpr, tpr, fnr, tnr
