"""Composition and subsampling as trees of mechanisms: on a sample, repeated, one after another.

A tree is inert data, like the mechanisms in it; its curve is that of all its outputs seen
together. Later steps may be chosen after earlier outputs were seen: as every step keeps its own
curve whatever came before, so does the composition (Dong, Roth and Su 2022, Theorem 4).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart import _checks, deadline
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified.brackets import Bracket, OneSidedBound, bracketed_losses
from tellapart.curve.composition.compose import (
    Losses,
    PrivacyLoss,
    composed_losses,
    privacy_loss_of,
    subsampled_loss,
    subsampled_replacing,
)
from tellapart.curve.composition.infinite_loss import ALL_FINITE
from tellapart.curve.composition.loss_laws import AtomicLoss, GaussianLoss, LossLaw
from tellapart.curve.composition.subsampling import ReplacedCurve, SampledCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.provenance import Provenance
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import EpsilonAtDelta, Mechanism, Sampling, typed
from tellapart.neighbours import Neighbours, Order

Step = tuple[Mechanism, int]

# For steps that are known from both sides: the first width of cells, tails that cost far less than
# the gap, and how often a bracket that is too wide is narrowed.
_FIRST_WIDTH, _TAIL, _ROUNDS = 0.04, 1e-3, 6
_NO_STEP = "what an attack has shown (Bound.UPPER) is no step to compose"


@dataclass(frozen=True, repr=False)
class Combined(EpsilonAtDelta):
    """A mechanism made of others, whose neighbours are theirs."""

    neighbours: Neighbours = field(init=False)

    @abstractmethod
    def __repr__(self) -> str:
        """As it was built, in words that could be typed."""

    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """The steps and how often each is taken: no repetition or sequence among them."""

    def _present_test(self) -> TradeoffCurve:
        steps = self.steps()
        if len(steps) == 1 and steps[0][1] == 1:
            return steps[0][0]._present_test()
        return composed_losses(*_privacy_losses(steps))

    def bracket(
        self, delta: float = 1e-5, gap: float = 1e-4, order: Order | None = None
    ) -> Bracket:
        """Two curves that surely enclose what the best attacker can do, every error counted.

        ``lower`` leaks no less and ``upper`` no more than the mechanism; at this δ their ε differ
        by at most gap·max(1, ε), or `NotCertified` is raised. The order is as in ``curve``. Of
        steps known by a guarantee alone (Bound.LOWER) nobody can say that they leak anything: the
        bracket is ``one_sided``. ``lower`` is as close to what they allow, ``upper`` is no leak.
        Of shuffled batches, and of others that are known by a guarantee and by an attack, no two
        sides are known that meet: the bracket is as wide as it is.

        >>> import tellapart as ta
        >>> found = ta.Gaussian(sigma=1).sampled(0.01).repeated(1_000).bracket(delta=1e-5)
        >>> found.upper.epsilon(delta=1e-5) < 1.82823667 < found.lower.epsilon(delta=1e-5)
        True
        """
        asked = _checks.inside_unit(delta=delta)
        width = _checks.finite_above_zero(gap=gap)
        if order is not None:
            _checks.member(Order, order=order)
        bracket, known = self._sides(asked, width, order), Provenance(self.neighbours, order)
        return type(bracket)(*(curve.with_provenance(known) for curve in bracket))

    def _sides(self, delta: float, gap: float, order: Order | None) -> Bracket:
        steps = self.steps()
        closing = [_closes(step) for step, _ in steps]
        if all(closes is None for closes in closing):
            return _bracketed(*_privacy_losses(steps), delta, gap, order)
        # Steps that are known from both sides are asked for finer and finer ones.
        count = sum(times for _, times in steps)
        fineness = Fineness(_FIRST_WIDTH, min(_TAIL * delta * gap, 1e-9) / count, delta)
        apart = False in closing
        alone = count == 1 and isinstance(_innermost(steps[0][0]), Enclosed)
        each = gap if apart else gap / 4
        for _ in range(_ROUNDS):
            deadline.check()
            stronger, weaker = (
                _privacy_losses(steps, (fineness, side)) for side in (Bound.LOWER, Bound.UPPER)
            )
            lower = _one_side(stronger[0], Bound.LOWER, delta, each, order, alone)
            if weaker[1] is Bound.LOWER:  # beside a promise nobody can say what is leaked
                return OneSidedBound(lower, nothing(Bound.UPPER))
            upper = _one_side(weaker[0], Bound.UPPER, delta, each, order, alone)
            most, least = (float(curve.epsilon(delta)) for curve in (lower, upper))
            allowed = gap * max(1.0, least)
            if apart or most - least <= allowed:
                return Bracket(lower, upper)
            # Errors are of second order; half of the gap may be the composition's own.
            share = 0.9 if count == 1 else 0.5
            narrower = math.sqrt(share * allowed / (most - least)) if most < math.inf else 0.25
            fineness = fineness._replace(width=fineness.width * min(max(narrower, 0.05), 0.9))
        raise NotCertified(
            f"a bracket of width {short(gap)}·max(1, ε) at δ = {short(delta)} was not reached; "
            "allow a wider gap"
        )


class Fineness(NamedTuple):
    """How finely a step that is known from both sides is worked out: width of cells, and tails.

    It matters near this δ.
    """

    width: float
    tail: float
    delta: float = 1e-5


# A step that is known from both sides is asked for one of them, and how finely.
Asked = tuple[Fineness, Bound]


class Enclosed(EpsilonAtDelta):
    """A step that has no formula, but curves on both sides, as close as one likes if it closes."""

    @property
    def closes(self) -> bool:
        """Whether both sides come as close to each other as one likes."""
        return True

    @abstractmethod
    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """The curve of h0 = record absent on this side of the truth."""

    def stand_ins(self) -> tuple[Step, ...]:
        """Steps that leak no less in its place: itself, once, where none compose better."""
        return ((self, 1),)


def _innermost(step: Mechanism) -> Mechanism:
    """What is sampled, beneath samples of samples."""
    while isinstance(step, Sampled):
        step = step.base
    return step


def _closes(step: Mechanism) -> bool | None:
    """Whether two sides of a step that has them meet; None for a step that has not."""
    if isinstance(step, Sampled) and not step.neighbours.one_sided:
        return False if step.rate < 1 else _closes(step.base)
    inner = _innermost(step)
    return inner.closes if isinstance(inner, Enclosed) else None


def stays_open(mechanism: Mechanism) -> bool:
    """Whether a guarantee and an attack are all that is known of some step."""
    return any(_closes(step) is False for step, _ in parts_of(mechanism))


def _one_side(
    losses: Losses, side: Bound, delta: float, gap: float, order: Order | None, alone: bool
) -> TradeoffCurve:
    """The curve on one side of steps that are themselves known from that side.

    A step that is ``alone`` and listed atom by atom is on its side by more than rounding.
    """
    gaussian = all(isinstance(loss.law, GaussianLoss) for loss, _ in losses)
    if not gaussian and not (alone and isinstance(losses[0][0].law, AtomicLoss)):
        bracket = _bracketed(losses, Bound.EXACT, delta, gap, order)
        return bracket.lower if side is Bound.LOWER else bracket.upper
    curve = composed_losses(losses, side)
    if order is None:
        return curve.symmetrised()
    return curve if order is Order.PRESENT else curve.mirrored()


def _bracketed(
    losses: Losses, side: Bound, delta: float, gap: float, order: Order | None
) -> Bracket:
    """Around steps as they are known: from a promise nobody can say that they leak anything."""
    if order is Order.ABSENT:
        losses = tuple((loss.swapped(), count) for loss, count in losses)
    bracket = bracketed_losses(losses, delta, gap, ordered=order is not None)
    return OneSidedBound(bracket.lower, nothing(Bound.UPPER)) if side is Bound.LOWER else bracket


def _privacy_losses(steps: Iterable[Step], asked: Asked | None = None) -> tuple[Losses, Bound]:
    """The privacy loss of each step, and on which side of the truth they are.

    Steps known from below make a composition known from below.
    """
    attacks = asked is not None and asked[1] is Bound.UPPER
    losses, side = [], Bound.EXACT
    for step, count in steps:
        parts = step.stand_ins() if isinstance(step, Enclosed) and not attacks else ((step, 1),)
        for part, times in parts:
            loss, known = _privacy_loss(part, asked)
            if known is Bound.UPPER and not attacks:
                raise Unsupported(_NO_STEP)
            side = Bound.LOWER if known is Bound.LOWER or part is not step else side
            losses.append((loss, count * times))
    return tuple(losses), side


def _privacy_loss(step: Mechanism, asked: Asked | None = None) -> tuple[PrivacyLoss, Bound]:
    if isinstance(step, Ready):
        return step.privacy_loss(asked)
    if asked and isinstance(step, Enclosed):
        return privacy_loss_of(step.enclosed(*asked))
    return privacy_loss_of(step._present_test())


class Ready(Combined):
    """A step that knows its own law, which its curve would not tell."""

    @abstractmethod
    def privacy_loss(self, asked: Asked | None = None) -> tuple[PrivacyLoss, Bound]:
        """The step, for a composition, on the side that is asked for where it has two."""


# Schemes that are more than a rate for one step, and how they are written.
_ELSEWHERE = {
    Sampling.RANDOM_ALLOCATION: (
        "random allocation picks a step of an epoch, not a sample for one step: write "
        "ta.Gaussian(sigma).allocated(steps=...), or ta.dp_sgd(..., scheme=...)"
    ),
    Sampling.SHUFFLED: (
        "a shuffled order picks a step of an epoch, not a sample for one step: write "
        "ta.Gaussian(sigma, neighbours=...).shuffled_batches(steps=...), or ta.dp_sgd(..., "
        "scheme=...)"
    ),
    Sampling.TRUNCATED_POISSON: (
        "a sample that is cut down to a largest batch is more than its rate: write "
        "ta.dp_sgd(..., scheme=ta.Sampling.TRUNCATED_POISSON, largest_batch=...)"
    ),
}


@dataclass(frozen=True, repr=False)
class Sampled(Ready):
    """A step on a random part of the data, which the output does not name.

    With neighbours that add or remove a record the sample is a Poisson one, and the curve exact.
    With neighbours that zero one out it is the same, where a blanked record in the sample answers
    as if it were not there (sums of clipped gradients do): given the other records of the sample,
    h0 is then P and h1 is (1 − rate)·P + rate·Q (Kairouz et al. 2021, Choquette-Choo et al. 2024).
    With neighbours that replace one, either scheme has the same curve from below (Zhu, Dong and
    Wang 2022, Theorem 11; Balle, Barthe and Gaboardi 2018, Theorem 2): for a Poisson sample this
    takes it that leaving a record out moves the answer no further than replacing it. The other side
    of its bracket is an attack: if one value is that of all other records (of a Poisson sample,
    that of none), a sample without the record looks as one that has this value does, and the pair
    is P against (1 − rate)·P + rate·Q in every step.

    >>> import tellapart as ta
    >>> round(ta.Laplace.with_epsilon(1).sampled(0.1).curve().epsilon(delta=0.0), 6)
    0.158565
    """

    base: Mechanism
    rate: float
    scheme: Sampling = Sampling.POISSON

    def __post_init__(self) -> None:
        _check_mechanism(base=self.base)
        _checks.member(Sampling, scheme=self.scheme)
        if elsewhere := _ELSEWHERE.get(self.scheme):
            raise Unsupported(elsewhere)
        fixed = self.scheme is Sampling.WITHOUT_REPLACEMENT
        if fixed and self.base.neighbours is Neighbours.ZERO_OUT:
            raise Unsupported(
                "a batch of fixed size is not accounted for neighbours that zero out a record: "
                "sample with Sampling.POISSON, or give the mechanism neighbours=Neighbours.REPLACE "
                "and the sensitivity that belongs to it"
            )
        if fixed and self.base.neighbours is Neighbours.ADD_REMOVE:
            raise Unsupported(
                "a batch of fixed size has neighbours that replace one record: give the "
                "mechanism neighbours=Neighbours.REPLACE, and the sensitivity that belongs to "
                "it (of clipped sums, twice the clipping norm)"
            )
        refusals = (step._unsampled(self.scheme) for step in _sampled_parts(self.base))
        if refusal := next(filter(None, refusals), ""):
            raise Unsupported(refusal)
        self._set(rate=_checks.probability(rate=self.rate), neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        scheme = "" if self.scheme is Sampling.POISSON else f", {typed(self.scheme)}"
        return f"{self.base!r}.sampled({self.rate!r}{scheme})"

    def steps(self) -> tuple[Step, ...]:
        return ((self, 1),)

    def _present_test(self) -> TradeoffCurve:
        if self.rate == 0:
            return nothing()
        base = self.base._present_test()
        if self.rate == 1:
            return base
        if self.neighbours.one_sided:
            return SampledCurve(base, self.rate)
        return ReplacedCurve(SampledCurve(base.symmetrised(), self.rate))

    def privacy_loss(self, asked: Asked | None = None) -> tuple[PrivacyLoss, Bound]:
        if self.neighbours.one_sided:
            part, bound = _privacy_loss(self.base, asked)
            return subsampled_loss(part, self.rate), bound
        inner: Mechanism = self.base
        rate = self.rate
        while isinstance(inner, Sampled):  # a sample of a sample is a sample
            rate, inner = rate * inner.rate, inner.base
        test = inner._present_test()
        if asked and asked[1] is Bound.UPPER:
            loss, bound = privacy_loss_of(test)
            return subsampled_loss(loss, rate), bound
        loss, bound = privacy_loss_of(test.symmetrised())
        return subsampled_replacing(loss, rate), bound if rate == 1 else Bound.LOWER


def _sampled_parts(mechanism: Mechanism) -> tuple[Mechanism, ...]:
    """The steps that see a sample, beneath samples of their own."""
    return tuple(_unrolled(_innermost(mechanism)))


def _unrolled(mechanism: Mechanism) -> Iterable[Mechanism]:
    """What is repeated or follows one another; a training stays one, whatever its steps are."""
    if isinstance(mechanism, Repeated):
        return _unrolled(mechanism.base)
    if isinstance(mechanism, Sequence):
        return [step for part in mechanism.parts for step in _unrolled(part)]
    return [mechanism]


@dataclass(frozen=True, repr=False)
class Repeated(Combined):
    """The same step so many times, all outputs seen.

    >>> import tellapart as ta
    >>> ta.Gaussian(sigma=4).repeated(16).curve() == ta.Gaussian(sigma=1).curve()
    True
    """

    base: Mechanism
    times: int

    def __post_init__(self) -> None:
        _check_mechanism(base=self.base)
        times = _checks.whole(1, 10**15, times=self.times)
        self._set(times=times, neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        return f"{self.base!r}.repeated({self.times!r})"

    def steps(self) -> tuple[Step, ...]:
        return tuple((step, count * self.times) for step, count in parts_of(self.base))


@dataclass(frozen=True, repr=False)
class Sequence(Combined):
    """Mechanisms one after another, all outputs seen; build one with ``then`` or `compose`."""

    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts) if isinstance(self.parts, Iterable) else ()
        if not parts:
            _checks.refuse("parts", "be a list of at least one mechanism", self.parts)
        for part in parts:
            _check_mechanism(parts=part)
        kinds = {part.neighbours for part in parts}
        if len(kinds) > 1:
            rule = "all have the same neighbours (which two data sets are hard to tell apart)"
            _checks.refuse("parts", rule, " and ".join(sorted(kind.value for kind in kinds)))
        self._set(parts=parts, neighbours=kinds.pop())

    def __repr__(self) -> str:
        if len(self.parts) == 2:
            return f"{self.parts[0]!r}.then({self.parts[1]!r})"
        return f"compose([{', '.join(map(repr, self.parts))}])"

    def steps(self) -> tuple[Step, ...]:
        return tuple(step for part in self.parts for step in parts_of(part))


def compose(mechanisms: Mechanism | Iterable[Mechanism], *more: Mechanism) -> Sequence:
    """What an attacker learns who sees the outputs of several mechanisms on the same data.

    They are given as a list, or one after the other: ``compose([a, b])`` is ``compose(a, b)``.

    A later mechanism may depend on earlier outputs, as long as it keeps the curve given here,
    fixed beforehand, for each of them (Dong, Roth and Su 2022, Theorem 4). Choosing on the way
    which curves come next, and how many, up to an ε is no privacy filter; `Budget` is one.

    >>> import tellapart as ta
    >>> both = compose([ta.Gaussian(sigma=5), ta.Gaussian(sigma=5)])
    >>> round(both.curve().epsilon(delta=1e-5), 6) == round(
    ...     ta.Gaussian(sigma=5).repeated(2).curve().epsilon(delta=1e-5), 6
    ... )
    True
    """
    if isinstance(mechanisms, Mechanism):
        return Sequence((mechanisms, *more))
    if more or not isinstance(mechanisms, Iterable):
        _checks.refuse("mechanisms", "be a list of mechanisms: compose([a, b])", mechanisms)
    return Sequence(tuple(mechanisms))


def loss_laws(mechanism: Mechanism) -> tuple[tuple[LossLaw, int], ...]:
    """The law of each step's loss, and how often the step is taken; on the attacker's side."""
    losses = _losses_with_moments(mechanism)
    if any(loss.finite_mass != ALL_FINITE for loss, _ in losses):
        raise Unsupported("steps that may reveal all (δ at every ε) have no finite moments")
    return tuple((loss.law, count) for loss, count in losses)


def reveals_all(mechanism: Mechanism) -> bool:
    """Whether some step may show an output that only one of the two worlds produces."""
    return any(loss.finite_mass != ALL_FINITE for loss, _ in _losses_with_moments(mechanism))


def _losses_with_moments(mechanism: Mechanism) -> Losses:
    """The losses of all steps, but for those whose far tail is not known, only charged to δ."""
    _check_mechanism(mechanism=mechanism)
    losses = []
    for step, count in parts_of(mechanism):
        loss, known = _privacy_loss(step)
        if known is Bound.UPPER:
            raise Unsupported(_NO_STEP)
        if loss.finite_mass != ALL_FINITE and _rests_on_enclosed(step):
            raise Unsupported(
                "curves of random allocation, of epochs cut short, and of capped or repeated draws "
                "are computed with a slack of about 1e-20 in δ, so moments (Rényi DP, zCDP, "
                "central limit) are not available: use mechanism.curve()"
            )
        losses.append((loss, count))
    return tuple(losses)


def _rests_on_enclosed(mechanism: Mechanism) -> bool:
    """Whether some step in the tree is known from both sides only: on a sample, in a group."""
    inner = (*getattr(mechanism, "parts", ()), *filter(None, [getattr(mechanism, "base", None)]))
    return isinstance(mechanism, Enclosed) or any(map(_rests_on_enclosed, inner))


def parts_of(mechanism: Mechanism) -> tuple[Step, ...]:
    """The steps of any mechanism, of which a plain one is its own."""
    return mechanism.steps() if isinstance(mechanism, Combined) else ((mechanism, 1),)


def _check_mechanism(**named: object) -> None:
    ((name, value),) = named.items()
    if not isinstance(value, Mechanism):
        _checks.refuse(name, "be a mechanism", value)
