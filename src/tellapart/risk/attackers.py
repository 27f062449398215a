"""Reconstruction, attribute inference, re-identification and singling out, by one bound.

An attacker guesses something about one record. κ, the ``baseline``, is how often the best *blind*
guess is right: without the output, but knowing all other records. Then no attacker is right more
often than 1 − f(κ), where f holds for every value the record may have.

*Proof.* Let Z be what is guessed, with prior π given all other records; Q_z the law of the output
where Z = z; R one law with T(R, Q_z) ≥ f for every z; and B(g) the values for which a guess g
counts as right. The attacker guesses A(y) from the output y and is right on
E_z = {y : z ∈ B(A(y))}. As a test of R against Q_z, E_z has TPR at most 1 − f of its FPR:
Q_z(E_z) ≤ 1 − f(R(E_z)). The mean over z ~ π is at most 1 − f(Σ π(z)·R(E_z)), since 1 − f is
concave (Jensen), and Σ π(z)·R(E_z) = E_R π(B(A(Y))) ≤ max_g π(B(g)). A mean over other records
gives 1 − f(κ), as 1 − f is concave and does not fall. ∎ (For reconstruction compare Balle,
Cherubin and Hayes 2022, Hayes, Mahloujifar and Balle 2023 and Kaissis et al. 2023; Kulynych et
al. 2025 bound re-identification, attribute inference and reconstruction by one curve, too.)

R must not depend on z. With neighbours that add or remove a record it is the output without it, so
that f is the curve of h0 = absent; some mechanism with this curve then reaches the bound, for every
f and κ. With neighbours that zero a record out it is the output with it blanked. With neighbours
that replace a record it is the output with any fixed value in its place, and f must hold for both
orders. Where the relation is unknown, the curve for both orders holds under all three.

Assumptions: the curve bounds *every* pair of neighbours, and κ is given all other records.
Ten copies of one bit let its nine copies tell it: κ is 1 then, or the ten are one group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks, deadline
from tellapart._checks import Array, shaped
from tellapart._numeric import solve
from tellapart._numeric.text import short, to_digits
from tellapart.curve.algebra import check_curve
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.loss_tails import ThresholdCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.neighbours import Neighbours, Order

# A baseline is rounded up by so much, relatively; by so much at most; with so many cells at most.
_NARROW, _COARSE = 1e-4, 1e-2
_MOST_CELLS = 1 << 20
# A line this near to the best one, in ε, is as good; for a curve without kinks, one less near.
_NEAR, _NEARLY, _FORMULAS = 1e-12, 1e-6, 1e-13
_FLAT = np.zeros(1)


class SuccessBound(float):
    """How often an attacker is right at most, beside what a blind guess achieves.

    A number with ``baseline`` (κ), ``gain``, ``relation`` ("≤"), the ``neighbours`` and ``order``
    it holds for, and ``sentence``.
    """

    baseline: float
    neighbours: Neighbours | None
    relation = "≤"
    _curve: TradeoffCurve
    _words: str
    _people: int

    def __new__(
        cls,
        value: float,
        baseline: float,
        curve: TradeoffCurve,
        neighbours: Neighbours | None,
        words: str,
        people: int = 1,
    ) -> Self:
        bound = super().__new__(cls, value)
        bound.baseline, bound.neighbours = baseline, neighbours
        bound._curve, bound._words, bound._people = curve, words, people
        return bound

    def __getnewargs__(self) -> Any:
        known = (self.baseline, self._curve, self.neighbours, self._words, self._people)
        return float(self), *known

    @property
    def order(self) -> Order | None:
        """`Order.PRESENT` where h0 is "absent" (or zeroed out); None where both orders hold."""
        return self._curve.order

    @property
    def sentence(self) -> str:
        """What it says to a person: the bound rounded up, its baseline down."""
        sentence = self._words.format(
            bound=short(to_digits(float(self), 3, up=True), 3),
            blind=short(to_digits(self.baseline, 3, up=False), 3),
        )
        return sentence + (_UNKNOWN if self.neighbours is None else "")

    @property
    def gain(self) -> float:
        """How much more often than blindly."""
        return float(self) - self.baseline

    @property
    def largest_gain(self) -> float:
        """The gain at the baseline that helps an attacker most: the membership advantage.

        It bounds guesses about one person; singling out, whose chance adds up over people, has no
        such bound.
        """
        if self._people > 1:
            raise Unsupported(
                "largest_gain bounds guesses about one person, and singling out tries all of "
                f"{self._people:,}: read gain at the weight that counts"
            )
        return float(self._curve.delta(0.0))


_UNKNOWN = (
    " The neighbouring relation is not known; this holds for a record added, removed, replaced or "
    "zeroed out, if the curve bounds every such pair."
)
_INFERENCE = (
    "Whoever could guess this about a person with chance {blind}, knowing everyone else's data, "
    "guesses it with chance at most {bound} after the release."
)


def reconstruction(curve: TradeoffCurve, baseline: ArrayLike) -> SuccessBound | Array:
    """How often an attacker reconstructs a record, or comes as close as counts; at most.

    ``baseline`` is how often the best blind guess does, by someone who knows all other records;
    `blind_estimate` finds it for numbers within a tolerance. The bound is 1 − f(baseline): its
    neighbours and order are those of the curve, as the module says. For a group, take the curve of
    ``mechanism.for_group(size)`` and the baseline of the whole group.

    >>> import tellapart as ta
    >>> bound = reconstruction(ta.Gaussian(sigma=1).curve(), baseline=0.01)
    >>> round(bound, 4), bound.baseline, round(bound.gain, 4)
    (0.0924, 0.01, 0.0824)
    >>> bound.neighbours
    <Neighbours.ADD_REMOVE: 'add or remove one record (unbounded)'>

    See Also
    --------
    tellapart.risk.blind_estimate : the baseline of an estimate within a tolerance
    """
    return _inferred(curve, _inside(baseline=baseline), _INFERENCE)


def attribute_inference(
    curve: TradeoffCurve,
    *,
    baseline: ArrayLike | None = None,
    prior: Mapping[Any, float] | Sequence[float] | None = None,
) -> SuccessBound | Array:
    """How often an attacker guesses a person's attribute, at most.

    ``prior`` is the chance of each value for someone who knows all other records; without the
    output the likeliest is the best guess. Or its chance itself is given as ``baseline``.

    >>> import tellapart as ta
    >>> bound = attribute_inference(ta.guarantee(epsilon=0.1), prior={"yes": 0.1, "no": 0.9})
    >>> round(bound, 4), bound.baseline
    (0.9095, 0.9)
    >>> print(bound.sentence[:80])
    Whoever could guess this about a person with chance 0.9, knowing everyone else's
    """
    if (baseline is None) == (prior is None):
        _checks.refuse("baseline", "be given, or prior, but not both", (baseline, prior))
    if prior is not None:
        return _inferred(curve, np.asarray(_uncertain(prior)), _INFERENCE)
    return _inferred(curve, _inside(baseline=baseline), _INFERENCE)


def reidentification(curve: TradeoffCurve, *, candidates: int) -> SuccessBound:
    """How often an attacker picks the right person out of equally likely candidates, at most.

    Linkability, in the words of the Article 29 Working Party. Equally likely to someone who knows
    all other records: where those say who it is not, the baseline is larger than 1/candidates, and
    `reconstruction` takes it.

    >>> import tellapart as ta
    >>> bound = reidentification(ta.guarantee(epsilon=1), candidates=100)
    >>> round(bound, 4), bound.baseline
    (0.0272, 0.01)
    """
    k = _checks.whole(2, candidates=candidates)
    words = (
        f"Whoever picks one of {k:,} equally likely people, knowing everyone else's data, is right "
        "with chance at most {bound} after the release; blindly, with {blind}."
    )
    return cast(SuccessBound, _inferred(curve, np.asarray(1 / k), words))


def guess(curve: TradeoffCurve, *, values: int) -> SuccessBound:
    """How often an attacker guesses a value among equally likely ones, at most; sharper.

    For neighbours that replace a record, given all others, and guesses that must be exact: then it
    is at most the s with FPR(s) = (1 − s)/(values − 1), which randomised response reaches.

    *Proof.* Guesses of different values are disjoint events E_z. With s_z = Q_z(E_z), any other
    value z′ has Q_z′(E_z) ≥ FPR(s_z). All events together have mass at most 1 under each z′; summed
    over z′, Σ s_z + (k − 1)·Σ FPR(s_z) ≤ k, and FPR is convex, so that the mean s of the s_z has
    s + (k − 1)·FPR(s) ≤ 1. ∎

    >>> import tellapart as ta
    >>> response = ta.RandomizedResponse(epsilon=1, categories=10)
    >>> round(guess(response.curve(), values=10), 4)  # e/(e + 9), how often it answers truly
    0.232
    """
    k = _checks.whole(2, values=values)
    reference = reference_curve(curve)
    if curve.neighbours is not Neighbours.REPLACE:
        known = "of unknown neighbours" if curve.neighbours is None else f"of {curve.neighbours}"
        raise Unsupported(
            f"risk.guess bounds curves of neighbours that replace a record, and this is {known}: "
            "take risk.reconstruction(curve, 1 / values), or state the relation, as "
            "ta.guarantee(..., neighbours=ta.Neighbours.REPLACE) does"
        )
    words = (
        f"Whoever guesses which of {k:,} equally likely values a person has, knowing everyone "
        "else's data, is right with chance at most {bound} after the release; "
        "blindly, with {blind}."
    )
    return SuccessBound(_among(reference, k), 1 / k, reference, curve.neighbours, words)


def _among(curve: TradeoffCurve, k: int) -> float:
    """The s with s + (k − 1)·FPR(s) = 1, by a line TPR ≤ δ(ℓ) + e^ℓ·FPR.

    Each line gives a bound, (e^ℓ + (k − 1)·δ(ℓ))/(e^ℓ + k − 1); the best is tangent at the root.
    """

    def excess(threshold: Array) -> Array:
        fpr, tpr, _, _ = curve._rates(threshold)
        return np.asarray(tpr + (k - 1) * fpr - 1)

    with np.errstate(all="ignore"):
        if curve._delta_at_infinity() == 1:
            return 1.0
        lines = _tangents(curve, excess, k)
        grown, others = np.exp(-np.abs(lines)), (k - 1) * np.exp(np.minimum(-lines, 0.0))
        own = np.where(lines > 0, 1.0, grown)
        bounds = (own + others * curve._delta(lines)) / (own + others)
        chance = np.min(np.where(np.isnan(bounds), 1.0, bounds))
        blind = np.asarray(1 / k)
        if curve._delta(np.zeros(())) == 0:
            return float(blind)
        return min(float(_up(np.maximum(chance, blind), blind, curve)), 1.0)


def _tangents(curve: TradeoffCurve, excess: solve.Falling, k: int) -> Array:
    """Slopes, in logs, of which one is tangent where the excess changes its sign, or nearly."""
    if isinstance(curve, ThresholdCurve):
        with suppress(NotCertified):
            return curve.threshold_of_guess(k)
    if isinstance(curve, AtomicCurve):
        return curve.losses[np.isfinite(curve.losses)] if np.isfinite(curve.losses).any() else _FLAT
    top = np.full(1, curve._largest_loss())
    if np.isfinite(top[0]) and excess(np.nextafter(top, -np.inf))[0] > 0:
        return top
    near = _NEAR if curve._accuracy < _FORMULAS else _NEARLY
    return np.concatenate(
        solve.falling_root(excess, *curve._threshold_range(excess, np.zeros(1)), narrow=near)
    )


def singling_out(curve: TradeoffCurve, *, weight: float, people: int) -> SuccessBound:
    """How often an attacker finds a description that fits exactly one person in the data, at most.

    Descriptions are those that fit a person with chance ``weight`` at most; ``people`` are drawn
    independently of each other. The bound is people·(1 − f(weight)), or 1, and not 1 − f of the
    blind chance, which attacks exceed (Cohen and Nissim 2020 define the attack).

    *Proof.* "It fits person i and nobody else" are disjoint events. Each is a reconstruction of
    person i, with baseline at most ``weight`` given all others, who are independent of i. ∎

    The baseline is the best blind description, which fits exactly one of n people with chance
    n·w(1 − w)^(n−1), where w is the weight, or 1/n where that is smaller.

    >>> import tellapart as ta
    >>> bound = singling_out(ta.guarantee(epsilon=1), weight=1e-6, people=1000)
    >>> round(bound, 6), round(bound.baseline, 6)
    (0.002718, 0.000999)
    """
    w = _checks.inside_unit(weight=weight)
    n = _checks.whole(1, 10**15, people=people)
    reference = reference_curve(curve)
    with np.errstate(all="ignore"):
        each = float(_raised(reference, np.asarray(w)))
    fits = math.ceil((1 - 1e-12) / w)  # but for the rounding of 1 / w
    words = (
        f"Among {n:,} people, a description that fits one person in {fits:,} singles someone "
        "out with chance at most {bound} after the release; blindly, with {blind}."
    )
    value = min(1.0, float(np.nextafter(n * each, np.inf)))
    blind = blind_singling_out(weight=w, people=n)
    return SuccessBound(value, blind, reference, curve.neighbours, words, n)


def extra_cost(
    curve: TradeoffCurve, *, costs: Mapping[float, float] | Sequence[tuple[float, float]]
) -> float:
    """What a person is expected to lose by being in the data, at most.

    ``costs`` has what each event costs, by its chance if the release were made without this
    person: {0.01: 1000} is an event of chance 0.01 at most that costs 1000. An event that depends
    on the output has FPR κ then and TPR at most 1 − f(κ) with the person, so that the extra cost is
    at most the sum of cost·(1 − f(κ) − κ), each at the worst κ up to the one given (the gain first
    grows with κ and then falls). The chance where nothing is released at all may be far smaller,
    and is no κ, but for guesses about this person by someone who knows all other records. Hsu et
    al. (2014) have (e^ε − 1)·κ·cost for a pure ε.

    >>> import math
    >>> import tellapart as ta
    >>> round(extra_cost(ta.guarantee(epsilon=math.log(1.5)), costs={0.01: 1000}), 6)
    5.0
    """
    listed = list(costs.items()) if isinstance(costs, Mapping) else costs
    chances, prices = _checks.pairs("(chance, cost)", costs=listed)
    for chance, price in zip(chances, prices, strict=True):
        _checks.inside_unit(**{"chance in costs": chance})
        _checks.finite_at_least_zero(**{"cost in costs": price})
    reference = reference_curve(curve)
    with np.errstate(all="ignore"):
        # Where the curve has slope −1, TPR − FPR is largest: the advantage.
        peak = float(reference._rates(np.zeros(()))[0])
        most = float(reference._delta(np.zeros(())))
        most = float(_up(most, 1.0))
        rising = np.minimum(_raised(reference, chances) - chances, most)
        gains = np.where(chances < peak, rising, most)
    return float(np.nextafter(np.sum(prices * gains), np.inf)) if most > 0 else 0.0


# -- baselines ------------------------------------------------------------------------------


def blind_guess(prior: Mapping[Any, float] | Sequence[float]) -> float:
    """How often the likeliest value is right: the best guess without an output.

    >>> blind_guess({"A": 0.4, "B": 0.1, "AB": 0.05, "O": 0.45})
    0.45
    """
    given = list(prior.values()) if isinstance(prior, Mapping) else prior
    # Chances that sum to a little more than 1 are not scaled down.
    return float(min(max(_law(prior).max(), np.max(given)), 1.0))


def predicate_weight(prior: Mapping[Any, float], fits: Callable[[Any], bool]) -> float:
    """How likely a description is to fit a person: the weight of a predicate.

    >>> predicate_weight({"A": 0.4, "B": 0.1, "AB": 0.05, "O": 0.45}, lambda group: "B" in group)
    0.15000000000000002
    """
    _checks.instance(Mapping, "a mapping from values to their chances", prior=prior)
    _checks.function(fits=fits)
    chances = _law(prior)
    return float(sum(p for value, p in zip(prior, chances, strict=True) if fits(value)))


class Distribution(Protocol):
    """A law on the numbers, such as ``scipy.stats.norm(70, 12)``."""

    def cdf(self, x: Array) -> Array:
        """The chance of at most x."""

    def ppf(self, q: Array) -> Array:
        """The quantiles."""


def blind_estimate(distribution: Distribution, *, tolerance: float) -> float:
    """How often the best estimate without an output lies within the tolerance of the truth.

    The largest mass of any closed interval of twice the tolerance (Lévy's concentration function),
    rounded up by 1 % at most: an interval about any point of a cell lies within that of the cell.

    >>> from scipy.stats import norm
    >>> round(blind_estimate(norm(170, 10), tolerance=1), 4)
    0.0797
    """
    if not (hasattr(distribution, "cdf") and hasattr(distribution, "ppf")):
        rule = "have cdf and ppf, as scipy.stats.norm(170, 10) has"
        _checks.refuse("distribution", rule, distribution)
    t = _checks.finite_above_zero(tolerance=tolerance)
    ends = np.unique(distribution.ppf(np.linspace(0.0, 1.0, 1025)))
    low, high = (ends[:-1], ends[1:]) if ends.size > 1 else (ends, ends)

    def mass(first: Array, last: Array) -> Array:
        below = np.nextafter(first - t, -np.inf)  # the first end counts, too
        return np.asarray(distribution.cdf(last + t) - distribution.cdf(below))

    reached = 0.0
    while True:
        deadline.check()
        split = _between(distribution, low, high)
        reached = max(reached, *(float(np.max(mass(x, x))) for x in (low, split, high)))
        ceilings = mass(low, high)
        most = max(float(np.max(ceilings)), reached)
        if not 0 <= reached <= most <= 1:
            _checks.refuse("distribution", "have a cdf that rises from 0 to 1", distribution)
        # What no double cuts stays as it is, and counts with all that it may hold.
        cut = (ceilings > reached * (1 + _NARROW)) & (low < split) & (split < high)
        if not cut.any() or low.size > _MOST_CELLS:
            break
        kept = ceilings > reached
        low, split, high, cut = low[kept], split[kept], high[kept], cut[kept]
        low, high = (
            np.concatenate([low, split[cut]]),
            np.concatenate([np.where(cut, split, high), high[cut]]),
        )
    if most > reached * (1 + _COARSE):
        _checks.refuse("tolerance", "be larger beside the spread: give the baseline itself", t)
    return most


def _between(distribution: Distribution, low: Array, high: Array) -> Array:
    """A point inside each cell: its middle, or where it has no end, the median of its mass."""
    with np.errstate(invalid="ignore"):
        middle = low + (high - low) / 2
    open_ended = ~np.isfinite(middle)
    if open_ended.any():
        share = (distribution.cdf(low[open_ended]) + distribution.cdf(high[open_ended])) / 2
        middle[open_ended] = distribution.ppf(share)
    return middle


def blind_singling_out(*, weight: float, people: int) -> float:
    """How often the best description made without an output fits exactly one person.

    >>> round(blind_singling_out(weight=1e-6, people=1000), 6)
    0.000999
    >>> round(blind_singling_out(weight=0.5, people=1000), 4)  # 1/e, with one in a thousand
    0.3681
    """
    n = _checks.whole(1, 10**15, people=people)
    w = min(_checks.inside_unit(weight=weight), 1 / n)
    return float(n * w * np.exp((n - 1) * np.log1p(-w))) if w < 1 else 1.0


# -- the bound ------------------------------------------------------------------------------


def reference_curve(curve: TradeoffCurve) -> TradeoffCurve:
    """The curve that bounds guesses about a record: h0 cannot depend on it, h1 may.

    With neighbours of which one lacks the record (or has it zeroed out) that is h0 = absent; else
    what holds for both orders.

    >>> import tellapart as ta
    >>> trained = ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=10)
    >>> reference_curve(trained.curve()).order
    <Order.PRESENT: 'present'>
    """
    check_curve(curve=curve)
    if curve.bound is Bound.UPPER:
        raise Unsupported(
            "what an attack on membership has shown (Bound.UPPER) bounds no attacker, and shows no "
            "reconstruction: take the curve of a mechanism or a guarantee"
        )
    if curve.neighbours is not None and curve.neighbours.one_sided:
        if curve.order is Order.PRESENT:
            return curve
        if curve.order is Order.ABSENT:
            return curve.mirrored()
        if curve._provenance.ordered is not None:
            return curve._provenance.ordered
    return curve.symmetrised()


def _inferred(curve: TradeoffCurve, baseline: Array, words: str) -> SuccessBound | Array:
    reference = reference_curve(curve)
    with np.errstate(all="ignore"):
        bound = shaped(_raised(reference, baseline), baseline)
    if isinstance(bound, float):
        return SuccessBound(bound, float(baseline), reference, curve.neighbours, words)
    return bound


def _raised(curve: TradeoffCurve, baseline: Array) -> Array:
    """The TPR at these FPRs, so far up that rounding never promises more than the curve keeps."""
    if curve._delta(np.zeros(())) == 0:  # blind guesses are the best ones
        return baseline
    return np.minimum(_up(np.maximum(curve._tpr(baseline), baseline), baseline, curve), 1.0)


def _up(value: Array | float, fpr: Array | float, curve: TradeoffCurve | None = None) -> Array:
    """A number up by its rounding: a normal quantile Φ⁻¹(α) costs Φ⁻¹(α)² ≤ 2·log(1/α) ulp."""
    accuracy = 0.0 if curve is None else curve._accuracy
    room = np.finfo(float).eps * (16 - 4 * np.log(np.asarray(fpr))) + accuracy
    return np.asarray(value * (1 + room))


def _inside(**named: Any) -> Array:
    """Baselines, of which 0 and 1 leave nothing to guess."""
    ((name, value),) = named.items()
    asked = _checks.probabilities(**named)
    if np.any((asked <= 0) | (asked >= 1)):
        rule = "lie strictly between 0 and 1: how often the best blind guess is right"
        _checks.refuse(name, rule, value)
    return asked


def _uncertain(prior: Mapping[Any, float] | Sequence[float]) -> float:
    chance = blind_guess(prior)
    if chance == 1:
        _checks.refuse("prior", "leave a doubt: one value is certain", prior)
    return chance


def _law(prior: Mapping[Any, float] | Sequence[float]) -> Array:
    return _checks.pmf(prior=list(prior.values()) if isinstance(prior, Mapping) else prior)


# What is read in the order h0 = absent, where the neighbours have one.
ABSENT_FIRST: frozenset[Callable[..., Any]] = frozenset(
    {reconstruction, attribute_inference, reidentification, singling_out, extra_cost}
)
