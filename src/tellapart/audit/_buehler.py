"""The largest ε that the counts refute exactly: Buehler's bound (1957), for two binomials.

Outcomes are ordered by their Clopper-Pearson bound. A claim is refuted if under it, whatever the
false-positive rate, an outcome that incriminates as much is too unlikely. The Clopper-Pearson box
pays for two limits; this pays only for what can happen, so it never proves less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import falling_root
from tellapart.audit import _tails
from tellapart.audit._clopper import limits, log_ratio
from tellapart.audit._tails import Claim, Proof, Region, Rule, Span
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import Counts
from tellapart.curve.closed import GuaranteeCurve

_BUDGET = 400_000
# Nobody asks for more digits of ε than this.
_CLOSE = 1e-6
# Rounding must not put an outcome that ties with the observed one outside the region.
_TIE = 1e-12


class Forms(Enum):
    """Which inequality of (ε, δ) the counts are held against.

    ACCUSED: TPR ≤ e^ε·FPR + δ alone. BOTH: that and TNR ≤ e^ε·FNR + δ, in one ordering.
    """

    ACCUSED = "accused"
    BOTH = "accused and cleared"


def observed(counts: Counts, delta: float, level: float, forms: Forms) -> float:
    """The Clopper-Pearson bound that orders the outcomes; may be negative or −∞."""
    ratios = [log_ratio(*form) for form in limits(counts, level).forms(delta)]
    return ratios[0] if forms is Forms.ACCUSED else max(ratios)


def ordered(counts: Counts, delta: float, level: float, forms: Forms) -> Rule:
    """How many accused members incriminate as much as these counts, for each number of others."""
    bar = observed(counts, delta, level, forms) - _TIE

    def least(accused_others: Array) -> Array:
        fpr = binomial.upper_limit(accused_others, counts.others, level / 2)
        needed = delta + times_exp(fpr, bar)
        if forms is Forms.BOTH:
            other = np.where(fpr < 1 - delta, 1 - times_exp(1 - fpr - delta, -bar), np.inf)
            needed = np.minimum(needed, other)
        found = np.full(needed.shape, counts.members + 1.0)
        possible = needed < 1
        rate = np.maximum(needed[possible] * (1 - _TIE), 0.0)
        found[possible] = binomial.least_surprising(counts.members, rate, level / 2)
        seen = accused_others <= counts.accused_others
        return np.where(seen, np.minimum(found, counts.accused_members), found)

    return least


def buehler_epsilon(
    counts: Counts, *, delta: float = 0.0, confidence: float = 0.95, forms: Forms = Forms.BOTH
) -> LowerBound:
    """The ε that these counts prove at least, exactly; never less than Clopper-Pearson shows.

    Where many binomial tails do not settle it, the Clopper-Pearson value is given.

    >>> counts = Counts(accused_members=90, members=100, accused_others=0, others=100)
    >>> print(buehler_epsilon(counts, forms=Forms.ACCUSED))
    ≥ 3.4734 (95 % confidence, exact, Buehler)
    """
    d, c = _checked(delta, confidence, forms)
    found = _largest(counts, d, 1 - c, forms, Span(), 1 - c)
    return LowerBound(found, c, Basis.EXACT, "Buehler")


def berger_boos_epsilon(
    counts: Counts, *, delta: float = 0.0, confidence: float = 0.95, forms: Forms = Forms.BOTH
) -> LowerBound:
    """The ε that these counts prove at least, exactly, looking only at likely false-positive rates.

    As Buehler's bound, with the FPR kept in an interval that misses it with probability α²/4,
    which is paid for (Berger and Boos 1994). The Clopper-Pearson box wastes as much: its two
    limits fail together that often. So this too never proves less, and at any sample size.

    >>> print(berger_boos_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0574 (95 % confidence, exact, Berger-Boos)
    """
    d, c = _checked(delta, confidence, forms)
    span, target = _likely(counts, 1 - c)
    return LowerBound(
        _largest(counts, d, 1 - c, forms, span, target), c, Basis.EXACT, "Berger-Boos"
    )


def buehler_p_value(
    counts: Counts, claim_tpr: Claim, *, confidence: float = 0.95, likely: bool = True
) -> float:
    """How likely such counts are, at most, if no attack beats the claimed TPR at any FPR.

    An upper bound, at most 1, sharp to a twentieth below 1 − confidence and rough above. Outcomes
    are ordered at that level without regard to the claim, so that of all claims tested with these
    counts a true one is refuted (p ≤ 1 − confidence) with at most that probability. ``likely``
    keeps the FPR in an interval, as `berger_boos_epsilon` does.
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    span, target = _likely(counts, level) if likely else (Span(), level)
    if observed(counts, 0.0, level, Forms.BOTH) == -math.inf:
        return 1.0
    rule = ordered(counts, 0.0, level, Forms.BOTH)
    region = _tails.region(counts.members, counts.others, rule, span, level)
    _, worst = _tails.worst_fpr(region, claim_tpr, span)
    budget = _BUDGET
    while worst < target and budget > 0:
        asked = 1.05 * worst if 1.05 * worst < target else target
        proof = _tails.certified(region, claim_tpr, span, asked, budget)
        if proof.bound <= asked:
            return min(1.0, proof.bound + level - target)
        if proof.span is None:
            break
        worst, budget = (
            max(asked, _tails.worst_fpr(region, claim_tpr, proof.span)[1]),
            budget - proof.spent,
        )
    return 1.0


def _checked(delta: float, confidence: float, forms: Forms) -> tuple[float, float]:
    _checks.member(Forms, forms=forms)
    return _checks.probability(delta=delta), _checks.inside_unit(confidence=confidence)


def _likely(counts: Counts, level: float) -> tuple[Span, float]:
    """The likely false-positive rates, and the level that is left after paying for them."""
    price = level * level / 4
    low = binomial.lower_limit(counts.accused_others, counts.others, price / 2)
    high = binomial.upper_limit(counts.accused_others, counts.others, price / 2)
    return Span(float(low), float(high)), level - price


def _claim(epsilon: float, delta: float, forms: Forms) -> Claim:
    if forms is Forms.BOTH:
        curve = GuaranteeCurve(epsilon, delta)
        return lambda fpr: np.asarray(curve.tpr(fpr))
    return lambda fpr: np.minimum(delta + times_exp(fpr, epsilon), 1.0)


def _largest(
    counts: Counts, delta: float, level: float, forms: Forms, span: Span, target: float
) -> float:
    """The largest ε, or hardly less, at which the region is certified to be unlikely enough."""
    floor = observed(counts, delta, level, forms)
    if floor == -math.inf:
        return 0.0
    proven = floor = max(0.0, floor)
    if not _tails.affordable(span, counts.others, _BUDGET):
        return floor
    rule = ordered(counts, delta, level, forms)
    region = _tails.region(counts.members, counts.others, rule, span, level)
    search = _Search(region, delta, forms, span, target, floor)
    likely, budget = search.highest(), _BUDGET
    for share in (0.03, 1e-3, 1e-5, 1e-7):
        proof = Proof(math.inf, 0, span)
        while proof.bound > target:
            lost = share * (likely - floor)
            claim = _claim(likely - lost, delta, forms)
            proof = _tails.certified(region, claim, span, target, budget)
            budget -= proof.spent
            if proof.bound > target:
                if proof.span is None or likely - lost <= proven:
                    return proven
                likely = search.below(likely - lost, proof.span)
        proven = likely - lost
        if lost < _CLOSE:
            break
    return proven


@dataclass(frozen=True)
class _Search:
    """Where the worst FPR makes the region just as likely as the target; not certified."""

    region: Region
    delta: float
    forms: Forms
    span: Span
    target: float
    floor: float

    def highest(self) -> float:
        """An ε that all FPRs seem to allow, and hardly any larger one."""
        epsilon = self.floor
        for step in np.append(0.0, 2.0 ** np.arange(-8, 10)):
            epsilon = self.floor + float(step)
            claim = _claim(epsilon, self.delta, self.forms)
            _, worst = _tails.worst_fpr(self.region, claim, self.span, rounds=1)
            if max(worst, self._chance(epsilon, None)) >= self.target:
                break
        return self.below(epsilon, self.span)

    def below(self, epsilon: float, around: Span) -> float:
        """The largest ε below this one that the FPRs around a bad one seem to allow."""
        for _ in range(20):
            claim = _claim(epsilon, self.delta, self.forms)
            fpr, worst = _tails.worst_fpr(self.region, claim, around)
            at_corner = self._chance(epsilon, None)
            if max(worst, at_corner) <= self.target * (1 + 1e-9):
                break
            epsilon = self._root(epsilon, None if at_corner >= worst else fpr)
        return epsilon

    def _root(self, epsilon: float, fpr: float | None) -> float:
        if self._chance(self.floor, fpr) >= self.target:
            return self.floor

        def slack(e: Array) -> Array:
            return np.array([self.target - self._chance(float(e[0]), fpr)])

        return float(falling_root(slack, np.array([self.floor]), np.array([epsilon]), 1e-9)[1][0])

    def _chance(self, epsilon: float, fpr: float | None) -> float:
        """How likely the region is at an FPR or, if None, where the claim has its corner."""
        if fpr is None:
            fpr = (1 - self.delta) * math.exp(-epsilon)
            fpr = fpr if self.forms is Forms.ACCUSED else fpr / (1 + math.exp(-epsilon))
            fpr = min(max(fpr, self.span.low), self.span.high)
        at = np.array([fpr])
        claimed = _claim(epsilon, self.delta, self.forms)(at)
        return float(_tails.probability(self.region, at, claimed)[0])
