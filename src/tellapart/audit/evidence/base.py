"""Evidence: lower bounds and refutations from samples, whatever is claimed of a mechanism.

A piece of evidence knows its design and its ledger. Whatever is read off it, for however many
claims, holds together with the confidence it states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short, to_digits
from tellapart._shown import Displayed
from tellapart.audit.bounds import Basis, LowerBound, percent
from tellapart.audit.counts.clopper_pearson import epsilon_of_mu
from tellapart.audit.level_budget import LevelBudget
from tellapart.curve.atomic import AtomicCurve, from_corners
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.curve.composition.group_privacy import group_curve
from tellapart.curve.guarantees import gaussian
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import parts_of
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.neighbours import Neighbours

# The chance of refuting one claim, given the true curve.
Power = Callable[[TradeoffCurve], float]


# How often an event happened, of how many, and of whom.
Side = tuple[int, int, str]
# A level of 0.05 is a rounding away from it, and should not be shown as 0.051.
_ROUNDING = 1 - 1e-9
# By how much a δ is rounded up.
_LAST_DIGITS = 1e-12


class Design(Enum):
    """The experimental design: how scores were made, and so what they can prove.

    MANY_RUNS: every score is of its own independent training or call, record in or out.
    ONE_RUN: one training, each canary included or not by its own fair coin.
    CALLS: every output is of its own call of a mechanism, on one input or the other.
    TARGETS: a secret of each target was guessed, and a blind guess has a known success.
    """

    MANY_RUNS = "many runs"
    ONE_RUN = "one run"
    CALLS = "calls"
    TARGETS = "targets"


@dataclass(frozen=True)
class Finding:
    """What refutes a claim: where, by how much, and the p-value."""

    where: str
    shown: float
    allowed: float
    p_value: float
    level: float
    limit: str = ""  # what is allowed, where other words than a share say it
    at: tuple[float, float] | None = None  # (FPR, TPR) as observed, where the test has such rates
    rates: tuple[str, str] = ("FPR observed", "TPR observed")  # what those two are
    tests: int = 1  # how many tests the p-value and its level are of, together
    computed: bool = True  # else the p-value is known to be below the level, and no more

    @property
    def chance(self) -> float:
        """The p-value in two digits, rounded up, as people are told it."""
        return to_digits(self.p_value * _ROUNDING, 2, up=True)

    def __str__(self) -> str:
        return f"{self.place}; {self.significance}"

    @property
    def place(self) -> str:
        """The event, how often it happened, and what the claim allows."""
        limit = self.limit or f"the claim allows {short(100 * self.allowed, 3)} % there"
        return f"{self.where}; {limit}"

    @property
    def significance(self) -> str:
        """The p-value beside its threshold, in words."""
        if not self.computed:
            return f"p below the level {short(self.level, 2)} (not computed for this test)"
        return f"p ≤ {short(self.chance)} ({self.threshold})"

    @property
    def threshold(self) -> str:
        """The level that the p-value is held against, and whose it is."""
        if self.tests > 1:
            return f"of {self.tests} tests together, which share the level {short(self.level, 2)}"
        return f"threshold after correction: {short(self.level, 2)}"


def event_in_words(event: str, tested: Side, reference: Side, most: str = "") -> str:
    """How often an event happened on either side; nothing here is a confidence limit."""
    some, n, who = tested
    few, m, whom = reference
    return (
        f"{event}: {_percent(some / n)} of {who} ({some:,} of {n:,}) "
        f"against {most}{few:,} of {m:,} {whom} ({_percent(few / m)}, observed)"
    )


def limit_in_words(allowed: float, few: int, m: int, rate: str) -> str:
    """What a claim allows at the observed rate; where nothing was observed, at one in so many."""
    said = f"the claim allows {_percent(allowed)}"
    return f"at exactly this {rate} {said}" if few else f"at an {rate} of 1 in {m:,} {said}"


def _percent(share: float) -> str:
    return f"{short(100 * share, 3)} %"


def shown_corners(
    share: Array, rate: Array, clears: NDArray[np.bool_] | bool = False, left: Array | None = None
) -> AtomicCurve:
    """The attack that corners show: shares of the tested from below, at rates of the reference.

    The rates are from above, and ``left`` is one minus them where that has more digits. The tested
    are members, and non-members where a corner ``clears``.
    """
    kept = 1 - rate if left is None else left
    rising, falling = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    return from_corners(
        np.append(rising, np.where(clears, 1 - share, rate)),
        np.append(rising, np.where(clears, kept, share)),
        np.append(falling, np.where(clears, rate, 1 - share)),
        np.append(falling, np.where(clears, share, kept)),
        bound=Bound.UPPER,
    )


def claimed_delta(claim: TradeoffCurve) -> float:
    """The δ that a claim names; 0 where it names none."""
    return claim.claimed_delta if isinstance(claim, GuaranteeCurve) else 0.0


def strongest(findings: Iterable[Finding]) -> Finding | None:
    """The finding that is least likely under the claim, for its share of the level."""
    return min(findings, key=lambda finding: finding.p_value / finding.level, default=None)


class Evidence(Displayed, ABC):
    """What attacks on samples have shown, at a stated family-wise confidence.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> evidence = audit.many_runs(scores)
    >>> evidence.refutes(ta.guarantee(epsilon=0.5)), evidence.refutes(ta.guarantee(epsilon=3))
    (True, False)
    """

    design: Design
    ledger: LevelBudget
    method: str  # its name, for people
    can_refute: bool = True
    as_many: str = "as many"  # what `scaled` has more of, where it is not samples alone
    about: str = ""  # what it speaks of, where that is less than the whole mechanism
    mechanism_alone: bool = False  # it refutes the stated mechanism, not differential privacy
    assumptions: tuple[str, ...] = ()  # what is taken on trust, where the design does not say it
    neighbours: Neighbours | None = None  # which it compared, where the design says so
    calls: int | None = None  # on each input, all of them; None where nothing was called

    @property
    def held_out(self) -> int | None:
        """How many calls on each input served to choose the event; None where none did."""
        return None

    @property
    def more_calls(self) -> str:
        """What more calls may do beside what they do to rates; nothing where none were made."""
        if self.calls is None:
            return ""
        said = "With more calls the probe may choose another, rarer event"
        if self.held_out is not None and self.held_out > 0:
            said += (
                f": events rarer than about 1 in {self.held_out:,} calls could not be chosen here"
            )
        return f"{said}."

    @property
    def confidence(self) -> float:
        """The family-wise confidence: no true claim is refuted with at least this probability."""
        return 1 - self.ledger.level

    def __repr__(self) -> str:
        kind = percent(self.confidence) + (" confidence" if self.can_refute else " credible")
        return f"{type(self).__name__}({self.design.value}, {self.method}, {kind})"

    # -- what is asked of it -----------------------------------------------------------------

    def epsilon_lower(self, delta: float = 0.0) -> LowerBound:
        """The ε that any true (ε, δ) promise must at least have."""
        return self._bound(*self._epsilon(_checks.probability(delta=delta)))

    def delta_lower(self, epsilon: float) -> LowerBound:
        """The δ that any true (ε, δ) promise with this ε must at least have."""
        return self._bound(*self._delta(_checks.finite_at_least_zero(epsilon=epsilon)))

    def mu_lower(self) -> LowerBound:
        """The μ that any true promise of Gaussian DP must at least have."""
        return self._bound(*self._mu())

    def gaussian_epsilon_lower(self, delta: float) -> LowerBound:
        """The ε at δ of the least μ: it speaks against promises of Gaussian DP alone."""
        asked = _checks.probability(delta=delta)
        return self._bound(epsilon_of_mu(self._mu()[0], asked), Basis.GAUSSIAN)

    def refutes(self, claim: Subject) -> bool:
        """Whether the claim, a curve or a mechanism, is refuted at this confidence."""
        return self.finding(claim) is not None

    def finding(self, claim: Subject) -> Finding | None:
        """What refutes this claim most strongly; None if nothing does."""
        if self.mechanism_alone:
            need_mechanism(claim)
        return self._finding(promised(claim, self.neighbours))

    def curve(self) -> TradeoffCurve:
        """The attack shown: with this confidence the true curve lies nowhere above it.

        All its points hold at once, which costs each of them: of one ε `epsilon_lower` shows more.
        """
        sure = f"{self.design.value} at {percent(self.confidence)} confidence"
        return self._curve().made_by(f"the attack shown by {sure}")

    def _curve(self) -> TradeoffCurve:
        raise Unsupported(f"this evidence ({self.method}) shows no curve; use epsilon_lower")

    def held_against(self, claim: TradeoffCurve) -> TradeoffCurve:
        """Of a claim, the curve that the test reads: itself, unless the design compares others."""
        return for_neighbours(claim, claim.neighbours, self.neighbours)

    def own_bounds(self) -> tuple[tuple[str, LowerBound], ...]:
        """What the design shows beside ε and μ, by name."""
        return ()

    def advice(self, claim: TradeoffCurve) -> str:
        """What would test the claim more sharply, in words; nothing where nothing is known."""
        return ""

    def telling(self, delta: float = 0.0) -> str:
        """The event that shows the largest ε, in words; nothing where none is known."""
        return ""

    def power(self, claim: Subject, truth: Subject) -> float:
        """The probability of refuting the claim, at least, if the truth were another curve.

        For the best attack on that truth: scores that rank outputs by their likelihood ratio,
        and by chance where that ties. An attack that leaves ties is refuting less often.
        """
        return self.power_against(claim)(truth)

    def power_against(self, claim: Subject) -> Callable[[Subject], float]:
        """The power against one claim, for as many truths as one likes."""
        power = self._power(promised(claim, self.neighbours))
        return lambda truth: power(curve_of(truth, "truth"))

    def could_refute(self, claim: Subject) -> bool:
        """Whether any outcome of so many samples could have refuted the claim."""
        return self.can_refute and self.at_best().refutes(claim)

    def at_best(self) -> Evidence:
        """What as many samples would show if the attack made no error."""
        raise Unsupported("this kind of evidence states no power")

    def scaled(self, factor: float) -> Evidence:
        """What this evidence would be with so many times the samples and the same rates."""
        raise Unsupported("this kind of evidence does not extrapolate to more samples")

    def at_level(self, level: float) -> Evidence:
        """The same tests of the same samples, at another family-wise level."""
        raise Unsupported("this evidence is of one confidence alone")

    # -- what each kind of evidence provides -------------------------------------------------

    @abstractmethod
    def _epsilon(self, delta: float) -> tuple[float, Basis]: ...

    @abstractmethod
    def _delta(self, epsilon: float) -> tuple[float, Basis]: ...

    @abstractmethod
    def _mu(self) -> tuple[float, Basis]: ...

    @abstractmethod
    def _finding(self, claim: TradeoffCurve) -> Finding | None: ...

    @abstractmethod
    def _power(self, claim: TradeoffCurve) -> Power: ...

    def _bound(self, value: float, basis: Basis) -> LowerBound:
        # A claim is about records added or removed unless it says otherwise, and so is a bound.
        replaced = self.neighbours is Neighbours.REPLACE
        method = f"{self.method}, under replace-one neighbours" if replaced else self.method
        return LowerBound(value, self.confidence, basis, method)


def promised(claim: Subject, compared: Neighbours | None = None) -> TradeoffCurve:
    """The curve that is claimed, as it holds for the neighbours ``compared``.

    What an attack showed promises nothing that could be broken.
    """
    curve = curve_of(claim, "claim")
    if curve.bound is Bound.UPPER:
        _checks.refuse("claim", "be a promise: exact or from below", curve.bound)
    return for_neighbours(curve, stated_neighbours(claim), compared)


def need_mechanism(claim: Subject) -> None:
    """Refuse a claim that makes no canaries independent: a promise is kept by some that do not."""
    if not isinstance(claim, Mechanism) or any(isinstance(p, Promise) for p, _ in parts_of(claim)):
        _checks.refuse(
            "claim",
            "be a mechanism where canaries are taken as independent, which no ε, μ or curve makes "
            "them: state the mechanism, such as ta.Gaussian(sigma=2) (--mechanism gaussian "
            "--sigma 2), or leave out IndependentCanaries() (--method independent)",
            claim,
        )


def stated_neighbours(claim: Subject) -> Neighbours | None:
    """The neighbours that a claim says it is about; None where it does not say."""
    return claim.neighbours if isinstance(claim, Mechanism | TradeoffCurve) else None


def for_neighbours(
    curve: TradeoffCurve, stated: Neighbours | None, compared: Neighbours | None
) -> TradeoffCurve:
    """What a claim about the ``stated`` neighbours allows on those that were ``compared``.

    Another relation than the stated one is refused. Where none is stated and records were replaced,
    the claim may be about adding and removing: to replace a record is to remove it and to add
    another, so what holds either way is the claim for a group of two (`group_curve`).
    """
    if compared is None or stated is compared:
        return curve
    if stated is not None:
        change = ""
        if compared is Neighbours.REPLACE:
            change = (
                ". One record added and one removed are a replaced one: of a mechanism that is "
                "mechanism.for_group(2).curve().stated(Neighbours.REPLACE), of (ε, δ) it is "
                "guarantee(2ε, (1 + e^ε)·δ, neighbours=Neighbours.REPLACE)"
            )
        raise InvalidArgument(
            f"claim must be about the neighbours that were compared: it is about those that "
            f"{stated.value}, and these data compare those that {compared.value}; claim what holds "
            f"for them, with neighbours=Neighbours.{compared.name}{change}"
        )
    return _of_two(curve) if compared is Neighbours.REPLACE else curve


def _of_two(curve: TradeoffCurve) -> TradeoffCurve:
    """The claim for two records, in whichever order each of them is added or removed."""
    if isinstance(curve, GuaranteeCurve):
        epsilon, delta = curve.claimed_epsilon, curve.claimed_delta
        if delta > 0:  # (1 + e^ε)·δ, rounded up; e^ε may be too large for a float
            log_delta = np.logaddexp(0.0, epsilon) + np.log(delta) + _LAST_DIGITS
            delta = float(np.exp(min(log_delta, 0.0)))
        return GuaranteeCurve(2 * epsilon, delta)
    if isinstance(curve, GaussianCurve):
        return gaussian(2 * curve.mu)
    return group_curve(curve.symmetrised(), 2)


class CurveEvidence(Evidence):
    """What is known is a curve from above; every answer is read off it."""

    @abstractmethod
    def _curve(self) -> AtomicCurve: ...

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        shown = self._curve()
        return max(curve.epsilon(delta) for curve in (shown, shown.mirrored())), Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        shown = self._curve()
        return max(curve.delta(epsilon) for curve in (shown, shown.mirrored())), Basis.EXACT

    def _mu(self) -> tuple[float, Basis]:
        # A convex curve first crosses a polygon at a corner.
        fpr, fnr = self._curve().vertices()
        inside = (fpr > 0) & (fnr > 0) & (fpr < 1) & (fnr < 1)
        mus = -ndtri(fnr[inside]) - ndtri(fpr[inside])
        return max(float(np.max(mus, initial=0.0)), 0.0), Basis.EXACT
