"""The score bound (Miettinen and Nurminen 1985): sharp for many samples, and checked for few.

It holds TPR − e^ε·FPR − δ against its standard deviation under the likeliest rates that keep
TPR = e^ε·FPR + δ. Whether it keeps its level is then computed, not hoped. Outcomes in the order of
this bound make Buehler's sharp.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import climb, falling_root, first_wholes
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import exact_tails
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.clopper_pearson import Forms, claimed
from tellapart.audit.counts.coverage import false_claims
from tellapart.audit.counts.exact_tails import BUDGET, Rule, Span

# Rounding must not put an outcome that ties with the observed one outside the region.
_TIE = 1e-9
# Towards one half the score has no bar left to clear, and every ε clears it.
_LEAST_CONFIDENCE = 0.6


def score_epsilon(counts: Counts, *, delta: float = 0.0, confidence: float = 0.95) -> LowerBound:
    """The ε that the flagged show by the score test; exact only where its basis says so.

    Uses TPR ≤ e^ε·FPR + δ alone; ask it of `counts.opposite()` for the cleared.

    >>> print(score_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0718 (95 % confidence, exact, score, overclaims in 4.7 % of audits)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    if c < _LEAST_CONFIDENCE:
        _checks.refuse("confidence", f"be at least {_LEAST_CONFIDENCE} for a score bound", c)
    epsilon, least = score_order(counts, d, 1 - c, Forms.FLAGGED)
    if epsilon == 0:
        return LowerBound(0.0, c, Basis.EXACT, "score")
    bar = float(ndtri(c))

    def silence(x1: Array, x0: Array) -> Array:
        return bar - score(x1, x0, counts, np.full(x1.shape, epsilon), d)

    x1, x0 = (np.array([float(k)]) for k in (counts.true_positives, counts.false_positives))
    fpr = float(constrained_fpr(x1, x0, counts, np.array([epsilon]), d)[0])
    often = false_claims(counts, fpr, min(1.0, d + float(times_exp(fpr, epsilon))), silence)
    basis = Basis.EXACT if _keeps_level(counts, epsilon, d, 1 - c, least) else Basis.ASYMPTOTIC
    return LowerBound(epsilon, c, basis, "score", often)


def _keeps_level(counts: Counts, epsilon: float, delta: float, level: float, least: Rule) -> bool:
    """Whether no FPR makes a score bound of ε or more likelier than the level, with ε the truth.

    Then Buehler's bound in the order of score bounds is at least ε, and that one is exact.
    """
    if not exact_tails.affordable(Span(), counts.non_members, BUDGET):
        return False

    claim = claimed(epsilon, delta, Forms.FLAGGED)
    region = exact_tails.region(counts.members, counts.non_members, least, Span(), level)
    if exact_tails.worst_fpr(region, claim, Span())[1] > level:
        return False
    return math.isfinite(exact_tails.certified(region, claim, Span(), level, BUDGET).bound)


def score_bound(counts: Counts, delta: float, level: float) -> float:
    """The ε at which the score of the flagged falls to the level; 0 where it starts below."""
    x1, x0 = (np.array([float(k)]) for k in (counts.true_positives, counts.false_positives))
    bar = -float(ndtri(level))

    def excess(e: Array) -> Array:
        return score(x1, x0, counts, e, delta) - bar

    low = np.zeros(1)
    if excess(low)[0] <= 0:
        return 0.0
    return float(falling_root(excess, low, climb(excess, low + 0.25, 0.25), 1e-10)[0][0])


def score_order(counts: Counts, delta: float, level: float, forms: Forms) -> tuple[float, Rule]:
    """The score bound of these counts, and how many flagged members give as much."""
    bound = score_bound(counts, delta, level)
    if forms is Forms.BOTH:
        bound = max(bound, score_bound(counts.opposite(), delta, level))
    bar = -float(ndtri(level)) - _TIE
    opposite = counts.opposite()

    def claims(x1: Array, x0: Array) -> NDArray[np.bool_]:
        at = np.full(x1.shape, bound)
        flags = score(x1, x0, counts, at, delta) >= bar
        if forms is Forms.BOTH:
            cleared = counts.non_members - x0, counts.members - x1
            flags |= score(*cleared, opposite, at, delta) >= bar
        return np.asarray(flags)

    def least(false_positives: Array) -> Array:
        low = np.full(false_positives.shape, -1.0)
        high = np.full(false_positives.shape, counts.members + 1.0)
        enough = first_wholes(lambda x1: claims(x1, false_positives), low, high)
        seen = false_positives <= counts.false_positives
        return np.where(seen, np.minimum(enough, counts.true_positives), enough)

    return bound, least


def score(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """How many standard deviations TPR lies above e^ε·FPR + δ."""
    ratio = np.exp(epsilon)
    apart = x1 / sizes.members - ratio * x0 / sizes.non_members - delta
    fpr = constrained_fpr(x1, x0, sizes, epsilon, delta)
    tpr = np.minimum(ratio * fpr + delta, 1.0)
    variance = tpr * (1 - tpr) / sizes.members + ratio**2 * fpr * (1 - fpr) / sizes.non_members
    with np.errstate(all="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def constrained_fpr(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """The FPR under which these numbers are likeliest if TPR = e^ε·FPR + δ.

    Without δ it is the smaller root of a quadratic: no other lies below e^−ε.
    """
    ratio = np.exp(epsilon)
    if delta == 0:
        return _fpr_at_ratio(x1, x0, sizes, ratio)
    top = np.minimum((1 - delta) / ratio, 1.0)

    def slope(p: Array) -> Array:
        """Of the log-likelihood, times p·(1 − p); terms of nothing count nothing."""
        with np.errstate(all="ignore"):
            hit = np.where(x1 > 0, x1 / (p + delta / ratio), 0.0)
            miss = np.where(x1 < sizes.members, (sizes.members - x1) / (top - p), 0.0)
            return np.asarray(
                x0 * (1 - p) - (sizes.non_members - x0) * p + p * (1 - p) * (hit - miss)
            )

    low, high = 1e-16 * top, top * (1 - 1e-15)
    inner = (slope(low) > 0) & (slope(high) <= 0)
    likeliest = np.where(slope(low) <= 0, 0.0, top)
    if np.any(inner):
        root, _ = falling_root(lambda p: np.where(inner, slope(p), top / 2 - p), low, high)
        likeliest = np.where(inner, root, likeliest)
    return likeliest


def _fpr_at_ratio(x1: Array, x0: Array, sizes: Counts, ratio: Array) -> Array:
    """The root between 0 and 1/ratio, in a form that keeps its digits (all terms are positive)."""
    missed = (sizes.members - x1) * (sizes.non_members - x0)
    first, second = ratio * (x0 + sizes.members), x1 + sizes.non_members
    apart = np.hypot(first - second, 2 * np.sqrt(ratio * missed))
    return np.asarray(2 * (x0 + x1) / (first + second + apart))
