"""Evidence at one threshold fixed beforehand: two binomial counts, tested exactly (Buehler).

Or believed under a prior: a Bayesian credible bound is shown beside, and proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial, solve
from tellapart._numeric.text import short
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.buehler import buehler_p_value, buehler_refutes, likely_p_value
from tellapart.audit.counts.clopper_pearson import (
    clopper_pearson_epsilon,
    delta_lower,
    least_levels,
    mu_lower,
)
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon
from tellapart.audit.counts.exact_tails import Claim
from tellapart.audit.evidence.base import (
    Design,
    Evidence,
    Finding,
    Power,
    event_in_words,
    limit_in_words,
    shown_corners,
)
from tellapart.audit.evidence.joint import together
from tellapart.audit.evidence.thresholds import directions
from tellapart.audit.level_budget import CLAIMS_ARE_FREE, Entry, LevelBudget, divided
from tellapart.audit.methods import Credible, Fixed, Prior
from tellapart.audit.scores import Scores
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import gaussian
from tellapart.errors import Unsupported

# How close to the exact bound a search ends, below it: five digits are shown.
_NARROW = 1e-5
# The share of the level that buys a corner of the curve; the test of claims has the rest.
CORNER = 0.25
# Where nothing is certified, a p-value must stay so far below the level as certificates need.
_CERTIFIED = 0.99


@dataclass(frozen=True, repr=False)
class CountEvidence(Evidence):
    """What one attack, fixed beforehand, did to members and non-members."""

    counts: Counts
    ledger: LevelBudget
    event: str = "flagged"
    sides: tuple[str, str] = ("members", "non-members")
    # Whether the event is that nobody was flagged, and so speaks of the non-members first.
    clears: bool = False
    method: str = Fixed.name
    design: Design = Design.MANY_RUNS
    calls: int | None = None
    about: str = ""

    @property
    def held_out(self) -> int | None:
        return None if self.calls is None else self.calls - self.counts.members

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return _least_epsilon(self, delta), Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        near = delta_lower(self.counts, epsilon=epsilon, confidence=self.confidence)
        shown = self._largest(lambda delta: GuaranteeCurve(epsilon, delta).tpr, near.value, 1.0)
        return shown, Basis.EXACT

    def _mu(self) -> tuple[float, Basis]:
        near = mu_lower(self.counts, confidence=self.confidence)
        return self._largest(lambda mu: gaussian(mu).tpr, near.value, 70.0), Basis.EXACT

    def _largest(self, claim: Callable[[float], Claim], near: float, most: float) -> float:
        """The largest parameter whose claim is refuted, from below; a box says where it is near.

        Certificates cost much: p-values without one say where to begin to ask for them.
        """
        fpr, tpr = self._corner(self.ledger.level)

        @lru_cache  # a search asks again where it begins and ends
        def seems(parameter: float) -> float:
            allowed = claim(min(parameter, most))
            p = likely_p_value(self.counts, allowed, confidence=1 - self._level)
            return max(self._level - p, tpr - float(allowed(np.array(fpr))))

        def seems_refuted(parameter: Array) -> Array:
            return np.asarray(seems(float(parameter)))

        low, step = np.array(near), near / 32
        if near == 0 or seems_refuted(low) <= 0:
            low, step = np.zeros(()), min(1.0, most / 2)
            if seems_refuted(low) <= 0:
                return 0.0
        high = np.minimum(solve.climb(seems_refuted, low, step), most)
        end = float(solve.falling_root(seems_refuted, low, high, narrow=_NARROW)[0])
        shown, lost = max(end - _NARROW, 0.0), 8 * _NARROW
        while not self._refutes(claim(shown)):
            if shown == 0:
                return 0.0
            end, shown, lost = shown, max(shown - lost, 0.0), 8 * lost
        while end - shown > 4 * _NARROW:
            middle = (shown + end) / 2
            shown, end = (middle, end) if self._refutes(claim(middle)) else (shown, middle)
        return shown

    def _refutes(self, claim: Claim, certified: bool = True) -> bool:
        """Whether the claim is refuted, by the corner or by the test."""
        fpr, tpr = self._corner(self.ledger.level)
        if tpr > float(claim(np.array(fpr))):
            return True
        if certified:
            return buehler_refutes(self.counts, claim, confidence=1 - self._level)
        likely = likely_p_value(self.counts, claim, confidence=1 - self._level)
        return likely <= _CERTIFIED * self._level

    def _p_value(self, claim: Claim) -> float:
        return buehler_p_value(self.counts, claim, confidence=1 - self._level)

    @property
    def _level(self) -> float:
        return self.ledger.level * (1 - CORNER)

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        p = self._p_value(claim.tpr)
        if p > self._level and not self._refutes(claim.tpr):
            return None
        observed, roc = self._observed, claim.mirrored().tpr if self.clears else claim.tpr
        # Where it never happened on the other side, it might have.
        allowed = float(roc(max(observed.fpr, 1 / observed.non_members)))
        at, level = (self.counts.fpr, self.counts.tpr), self.ledger.level
        p_value = min(p / (1 - CORNER), self._corner_p_value(claim), level)
        rate = "FNR" if self.clears else "FPR"
        limit = limit_in_words(allowed, observed.false_positives, observed.non_members, rate)
        return Finding(self.telling(), observed.tpr, allowed, p_value, level, limit, at, tests=2)

    def _corner_p_value(self, claim: TradeoffCurve) -> float:
        """The least level of which a share buys a corner outside the claim, up to the ledger's.

        The test pays for the rates it leaves out and so never says less than level²/4; the corner
        does. Each p-value over its share of the level, the smaller of both is one: at most
        (1 − share)·t + share·t of true claims fall to t.
        """

        def refutes(levels: Array) -> NDArray[np.bool_]:
            fpr, tpr = self._corner(float(levels))
            return np.asarray(tpr > float(claim.tpr(fpr)))

        return float(least_levels(refutes, np.array(self.ledger.level)))

    @property
    def _observed(self) -> Counts:
        """How often the event happened on either side, the one it speaks against first."""
        some, members, few, non_members = astuple(self.counts)
        return (
            Counts(non_members - few, non_members, members - some, members)
            if self.clears
            else self.counts
        )

    def telling(self, delta: float = 0.0) -> str:
        observed = self._observed
        some, n, few, m = astuple(observed)
        return event_in_words(self.event, (some, n, self.sides[0]), (few, m, self.sides[1]))

    def _curve(self) -> AtomicCurve:
        """One corner, its FPR from above and its TPR from below, with a share of the level."""
        fpr, tpr = (np.array(rate) for rate in self._corner(self.ledger.level))
        return shown_corners(tpr, fpr)

    def _corner(self, level: float) -> tuple[float, float]:
        half = level * CORNER / 2
        fpr = binomial.upper_limit(self.counts.false_positives, self.counts.non_members, half)
        tpr = binomial.lower_limit(self.counts.true_positives, self.counts.members, half)
        return float(fpr), float(tpr)

    def _power(self, claim: TradeoffCurve) -> Power:
        """Were the FPR as observed: non-members flagged at most so often, members often enough.

        The two counts are independent, and fewer flagged non-members ask for fewer flagged members.
        """
        worst = self._many_others()
        needed = replace(self, counts=replace(self.counts, false_positives=worst)).needed(claim)
        rate, n = self.counts.fpr, (self.counts.non_members, self.counts.members)
        so_few = float(binomial.lower_tail(worst, n[0], rate))
        return lambda truth: so_few * float(binomial.upper_tail(needed, n[1], truth.tpr(rate)))

    def _many_others(self) -> int:
        """More non-members than this are flagged in one of 50 audits with the FPR observed."""
        n, fpr = self.counts.non_members, self.counts.fpr
        return solve.first_whole(lambda k: bool(binomial.lower_tail(k, n, fpr) >= 0.98), -1, n)

    def needed(
        self,
        claim: TradeoffCurve,
        near: tuple[int, int] | None = None,
        *,
        certified: bool = True,
    ) -> int:
        """How many flagged members would refute the claim; it is first sought between the two.

        Without a certificate, which a p-value as near to the level as a hundredth of it may lack,
        it is at most a few off.
        """
        members = self.counts.members

        def refuted(flagged: int) -> bool:
            tried = replace(self, counts=replace(self.counts, true_positives=flagged))
            return tried._refutes(claim.tpr, certified)

        if near is not None:
            low, high = max(near[0], 0), min(near[1], members + 1)
            first = solve.first_whole(refuted, low, high)
            if low + 1 < first < high:
                return first
        return solve.first_whole(refuted, 0, members + 1)

    def at_best(self) -> CountEvidence:
        members, non_members = self.counts.members, self.counts.non_members
        return replace(self, counts=Counts(members, members, 0, non_members))

    def scaled(self, factor: float) -> CountEvidence:
        some = (self.counts.true_positives, self.counts.members)
        non_members = (self.counts.false_positives, self.counts.non_members)
        return replace(
            self, counts=Counts(*(round(count * factor) for count in some + non_members))
        )

    def at_level(self, level: float) -> CountEvidence:
        return replace(self, ledger=self.ledger.at_level(level))


@lru_cache(maxsize=64)  # a page shows it in several places, and asks again with each of its dials
def _least_epsilon(evidence: CountEvidence, delta: float) -> float:
    counts = evidence.counts
    near = clopper_pearson_epsilon(counts, delta=delta, confidence=evidence.confidence)
    return evidence._largest(lambda epsilon: GuaranteeCurve(epsilon, delta).tpr, near.value, 700.0)


def from_counts(
    counts: Counts | Mapping[str, Counts],
    confidence: float = 0.95,
    *,
    shares: Mapping[str, float] | None = None,
) -> Evidence:
    """What attacks show that were fixed before these runs were made.

    One attack's counts, or several by name: each then gets an equal share of the level, or its
    own of ``shares``, fixed before the counts were seen; those not named divide what is left.

    >>> counts = Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> print(from_counts(counts).epsilon_lower())
    ≥ 3.2052 (95 % confidence, exact, one fixed threshold)

    See Also
    --------
    tellapart.audit.counts.intervals.buehler_epsilon : the bound by itself
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    if isinstance(counts, Mapping):
        levels = divided(level, list(counts), shares, "attacks")
        each = zip(counts.items(), levels, strict=True)
        return together({name: from_counts(attack, 1 - own) for (name, attack), own in each})
    if shares is not None:
        rule = "be left out for one attack, which has all of the level"
        _checks.refuse("shares", rule, shares)
    _checks.instance(Counts, "audit.Counts", counts=counts)
    return CountEvidence(counts, _ledger("the attack", level))


def fixed_evidence(scores: Scores, level: float, method: Fixed) -> Evidence:
    """The counts beyond one threshold, for each score direction."""
    ways = directions(scores.orientation)
    each = [at_one_cut(scores, method.threshold, higher, level / len(ways)) for higher in ways]
    by_event = {evidence.event: evidence for evidence in each}
    return together(by_event) if len(by_event) > 1 else next(iter(by_event.values()))


def at_one_cut(scores: Scores, threshold: float, higher: bool, level: float) -> CountEvidence:
    """The counts beyond one threshold, one way."""
    counts = _counts_beyond(scores, threshold, higher)
    event = f"score {'>' if higher else '<'} {short(threshold)}"
    return CountEvidence(counts, _ledger(f"the event {event}", level), event)


def uncounted(each: int, level: float) -> CountEvidence:
    """One event among as many members as non-members, of which none was counted yet."""
    return CountEvidence(Counts(0, each, 0, each), _ledger("the event", level))


def _ledger(what: str, level: float) -> LevelBudget:
    entries = (
        Entry(what, 1, level * (1 - CORNER)),
        Entry("limits on FPR and TPR, for the curve", 1, level * CORNER),
    )
    return LevelBudget(level, entries, (CLAIMS_ARE_FREE,))


def _counts_beyond(scores: Scores, threshold: float, higher: bool) -> Counts:
    members, non_members = (
        int(side.above(threshold) if higher else side.below(threshold))
        for side in (scores.members, scores.non_members)
    )
    return Counts(members, scores.members.count, non_members, scores.non_members.count)


_BOUNDS = {Prior.JOINT_BETA: joint_beta_epsilon, Prior.JEFFREYS: jeffreys_epsilon}


@dataclass(frozen=True, repr=False)
class Belief(Evidence):
    """What one would believe under a prior: how often it overclaims is measured, not bounded."""

    counts: Counts
    prior: Prior
    ledger: LevelBudget
    design = Design.MANY_RUNS
    method = Credible.name
    can_refute = False

    def epsilon_lower(self, delta: float = 0.0) -> LowerBound:
        """The ε believed at least, with how often such a belief would be too high."""
        return _BOUNDS[self.prior](self.counts, delta=delta, confidence=self.confidence)

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self.epsilon_lower(delta).value, Basis.BAYESIAN

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        raise Unsupported("a credible bound is on ε alone; audit.Fixed(threshold) bounds δ")

    def _mu(self) -> tuple[float, Basis]:
        raise Unsupported("a credible bound is on ε alone; audit.Fixed(threshold) bounds μ")

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        return None

    def _power(self, claim: TradeoffCurve) -> Power:
        return lambda truth: 0.0


def credible_evidence(scores: Scores, level: float, method: Credible) -> Belief:
    """A belief from the counts beyond one threshold; its ledger says that nothing is guaranteed."""
    higher, *more = directions(scores.orientation)
    if more:
        raise Unsupported(
            "a Bayesian bound cannot correct for testing both directions: set the score "
            "direction to higher or lower"
        )
    entry = Entry("posterior probability left out, which bounds no error rate", 1, level)
    counts = _counts_beyond(scores, method.threshold, higher)
    return Belief(counts, method.prior, LevelBudget(level, (entry,)))
