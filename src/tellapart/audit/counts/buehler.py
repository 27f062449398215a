"""The largest ε that the counts refute exactly: Buehler's bound (1957), for two binomials.

Outcomes are ranked by a simpler bound. A claim is refuted if under it, whatever the false-positive
rate, an outcome that ranks as high is too unlikely. The Clopper-Pearson box pays for two limits;
this pays only for what can happen, so, ranked by the box, it never proves less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.solve import falling_root
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import exact_tails
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.clopper_pearson import (
    Forms,
    claimed,
    clopper_pearson_bound,
    clopper_pearson_order,
)
from tellapart.audit.counts.exact_tails import BUDGET, Claim, Proof, Region, Span
from tellapart.audit.counts.score import score_order

# Nobody asks for more digits of ε than this.
_CLOSE = 5e-7


class Ranking(Enum):
    """By which bound outcomes are ranked.

    BOX: Clopper-Pearson; then an exact bound never falls below that one. SCORE: the score bound,
    which has hardly any waste where both rates rest on more than a few flagged.
    """

    BOX = "Clopper-Pearson"
    SCORE = "score"


def largest(
    search: BuehlerSearch, proven: float, likely: float, scale: float, finest: float
) -> float:
    """The largest ε up to a likely one at which the region is certified to be unlikely enough.

    Certificates are bought from cheap to dear, at distances from the goal that shrink from the
    scale down to its finest share, or until they cost too much; the last one bought counts.
    """
    budget = BUDGET
    for share in (1.0, 0.3, 0.03, 1e-3, 1e-5, 1e-7):
        if share < finest:
            break
        proof = Proof(math.inf, 0)
        while proof.bound > search.target:
            deadline.check()
            lost = max(share * scale, _CLOSE)
            if likely - lost <= proven:
                break
            claim = claimed(likely - lost, search.delta, search.forms)
            proof = exact_tails.certified(search.region, claim, search.span, search.target, budget)
            budget -= proof.spent
            if proof.bound > search.target:
                if proof.span is None:
                    return proven
                likely = search.below(likely - lost, proof.span)
        else:
            proven = likely - lost
        if lost == _CLOSE:
            break
    return proven


@dataclass(frozen=True)
class BuehlerSearch:
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
            claim = claimed(epsilon, self.delta, self.forms)
            _, worst = exact_tails.worst_fpr(self.region, claim, self.span, rounds=1)
            if max(worst, self._chance(epsilon, None)) >= self.target:
                break
        return self.below(epsilon, self.span)

    def below(self, epsilon: float, around: Span) -> float:
        """The largest ε below this one that the FPRs around a bad one seem to allow."""
        for _ in range(20):
            claim = claimed(epsilon, self.delta, self.forms)
            fpr, worst = exact_tails.worst_fpr(self.region, claim, around)
            at_corner = self._chance(epsilon, None)
            if max(worst, at_corner) <= self.target:
                break
            before, epsilon = epsilon, self._root(epsilon, None if at_corner >= worst else fpr)
            if before - epsilon <= _CLOSE / 10:
                break
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
            fpr = fpr if self.forms is Forms.FLAGGED else fpr / (1 + math.exp(-epsilon))
            fpr = min(max(fpr, self.span.low), self.span.high)
        at = np.array([fpr])
        tpr = claimed(epsilon, self.delta, self.forms)(at)
        return float(exact_tails.probability(self.region, at, tpr)[0])


# Of what is gained over the box, this share may be given up for speed.
_SHARE = 1e-3
# A normal law describes few flagged badly in its far tail, and scores near 0 tell nothing.
_SCORES = 0.8, 0.999


class _Test(NamedTuple):
    delta: float
    level: float
    forms: Forms


def buehler_epsilon(
    counts: Counts, *, delta: float = 0.0, confidence: float = 0.95, forms: Forms = Forms.BOTH
) -> LowerBound:
    """The ε that these counts prove at least, exactly; never less than Clopper-Pearson shows.

    Whatever the false-positive rate. The certificate takes too long from some 10 000 others on;
    then this is the Clopper-Pearson value, and `berger_boos_epsilon` proves more.

    >>> counts = Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> print(buehler_epsilon(counts, forms=Forms.FLAGGED))
    ≥ 3.4733 (95 % confidence, exact, Buehler)
    """
    asked, c = _asked(delta, confidence, forms)
    return LowerBound(_from_box(counts, asked, Span(), 1 - c, 0.0), c, Basis.EXACT, "Buehler")


def berger_boos_epsilon(
    counts: Counts,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    forms: Forms = Forms.BOTH,
    ranking: Ranking = Ranking.SCORE,
) -> LowerBound:
    """The ε that these counts prove at least, exactly: the sharpest here, for any sample size.

    As Buehler's bound, with the FPR kept in an interval that misses it with probability α²/4,
    which is paid for (Berger and Boos 1994). The Clopper-Pearson box wastes as much: its two
    limits fail together that often. So, ranked by the box, this never proves less than the box.
    Below 80 % and above 99.9 % confidence it always is.

    >>> print(berger_boos_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0742 (95 % confidence, exact, Berger-Boos)
    """
    asked, c = _asked(delta, confidence, forms)
    span, target = _likely(counts, 1 - c)
    if _ranked(ranking, c) is Ranking.BOX:
        epsilon = _from_box(counts, asked, span, target, _SHARE)
    else:
        epsilon = _from_score(counts, asked, span, target)
    return LowerBound(epsilon, c, Basis.EXACT, "Berger-Boos")


def buehler_p_value(
    counts: Counts,
    claim_tpr: Claim,
    *,
    confidence: float = 0.95,
    likely: bool = True,
    ranking: Ranking = Ranking.SCORE,
) -> float:
    """How likely such counts are, at most, if no attack beats the claimed TPR at any FPR.

    An upper bound, at most 1, sharp to a twentieth below 1 − confidence and rough above. Outcomes
    are ranked at that level without regard to the claim, so that of all claims tested with these
    counts a true one is refuted (p ≤ 1 − confidence) with at most that probability. ``likely``
    keeps the FPR in an interval, as `berger_boos_epsilon` does.
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    span, target = _likely(counts, level) if likely else (Span(), level)
    region = _incriminating(counts, level, span, _ranked(ranking, 1 - level))
    if region is None:
        return 1.0
    _, worst = exact_tails.worst_fpr(region, claim_tpr, span)
    budget = BUDGET
    while worst < target and budget > 0:
        deadline.check()
        asked = min(max(1.05 * worst, 1e-6 * target), target)
        proof = exact_tails.certified(region, claim_tpr, span, asked, budget)
        if proof.bound <= asked:
            return min(1.0, proof.bound + level - target)
        if proof.span is not None:
            budget -= proof.spent
            worst = max(asked, exact_tails.worst_fpr(region, claim_tpr, proof.span)[1])
        elif asked < target:  # too dear: a verdict at the level may be cheaper
            budget, worst = BUDGET, target / 1.02
        else:
            break
    return 1.0


def likely_p_value(counts: Counts, claim_tpr: Claim, *, confidence: float = 0.95) -> float:
    """About what `buehler_p_value` will say, for a search: nothing is certified."""
    level = 1 - confidence
    span, target = _likely(counts, level)
    region = _incriminating(counts, level, span, _ranked(Ranking.SCORE, confidence))
    if region is None:
        return 1.0
    return exact_tails.worst_fpr(region, claim_tpr, span, rounds=4)[1] + level - target


def buehler_refutes(counts: Counts, claim_tpr: Claim, *, confidence: float = 0.95) -> bool:
    """Whether `buehler_p_value` is at most 1 − confidence, by one certificate for that alone."""
    if likely_p_value(counts, claim_tpr, confidence=confidence) > 1 - confidence:
        return False
    level = 1 - confidence
    span, target = _likely(counts, level)
    region = _incriminating(counts, level, span, _ranked(Ranking.SCORE, confidence))
    if region is None:
        return False
    return exact_tails.certified(region, claim_tpr, span, target, BUDGET).bound <= target


@lru_cache(maxsize=64)
def _incriminating(counts: Counts, level: float, span: Span, ranking: Ranking) -> Region | None:
    """The outcomes that incriminate as much as these counts, whatever the claim; None if all do.

    None also where they are too many to sum.
    """
    if ranking is Ranking.BOX:
        lowest = clopper_pearson_bound(counts, 0.0, level, Forms.BOTH) == -math.inf
        rule = clopper_pearson_order(counts, 0.0, level, Forms.BOTH)
    else:
        bound, rule = score_order(counts, 0.0, level, Forms.BOTH)
        lowest = bound == 0
    if lowest or not exact_tails.affordable(span, counts.non_members, BUDGET):
        return None
    return exact_tails.region(counts.members, counts.non_members, rule, span, level)


def _asked(delta: float, confidence: float, forms: Forms) -> tuple[_Test, float]:
    _checks.member(Forms, forms=forms)
    c = _checks.inside_unit(confidence=confidence)
    return _Test(_checks.probability(delta=delta), 1 - c, forms), c


def _ranked(ranking: Ranking, confidence: float) -> Ranking:
    """The ranking asked for, or the box where the confidence is none that suits scores."""
    _checks.member(Ranking, ranking=ranking)
    return ranking if _SCORES[0] <= confidence <= _SCORES[1] else Ranking.BOX


def _likely(counts: Counts, level: float) -> tuple[Span, float]:
    """The likely false-positive rates, and the level that is left after paying for them."""
    price = level * level / 4
    low = binomial.lower_limit(counts.false_positives, counts.non_members, price / 2)
    high = binomial.upper_limit(counts.false_positives, counts.non_members, price / 2)
    return Span(float(low), float(high)), level - price


def _from_box(counts: Counts, asked: _Test, span: Span, target: float, finest: float) -> float:
    d, level, forms = asked
    floor = clopper_pearson_bound(counts, d, level, forms)
    proven = max(0.0, floor)
    if floor == -math.inf or not exact_tails.affordable(span, counts.non_members, BUDGET):
        return proven
    rule = clopper_pearson_order(counts, d, level, forms)
    region = exact_tails.region(counts.members, counts.non_members, rule, span, level)
    search = BuehlerSearch(region, d, forms, span, target, proven)
    likely = search.highest()
    return largest(search, proven, likely, likely - proven, finest)


def _from_score(counts: Counts, asked: _Test, span: Span, target: float) -> float:
    d, level, forms = asked
    bound, rule = score_order(counts, d, level, forms)
    if bound == 0:
        return 0.0
    region = exact_tails.region(counts.members, counts.non_members, rule, span, level)
    scale = max(bound - clopper_pearson_bound(counts, d, level, forms), 1e-3)
    search = BuehlerSearch(region, d, forms, span, target, 0.0)
    return largest(search, 0.0, search.highest(), min(scale, bound), _SHARE)
