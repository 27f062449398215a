"""Orders of outcomes for Buehler's bound: by Clopper-Pearson limits or by the score statistic.

An exact bound needs some ranking, fixed before the counts are drawn; a good one makes it sharp.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import climb, falling_root, first_wholes
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.clopper_pearson import limits, log_ratio
from tellapart.audit.counts.exact_tails import Rule

# Rounding must not put an outcome that ties with the observed one outside the region.
_TIE = 1e-12
_SCORE_TIE = 1e-9
# Towards one half the score has no bar left to clear, and every ε clears it.
LEAST_CONFIDENCE = 0.6


class Forms(Enum):
    """Which inequality of (ε, δ) the counts are held against.

    ACCUSED: TPR ≤ e^ε·FPR + δ alone. BOTH: that and TNR ≤ e^ε·FNR + δ, in one ordering.
    """

    ACCUSED = "accused"
    BOTH = "accused and cleared"


class Ranking(Enum):
    """By which bound outcomes are ranked.

    BOX: Clopper-Pearson; then an exact bound never falls below that one. SCORE: the score bound,
    which has hardly any waste where both rates rest on more than a few accused.
    """

    BOX = "Clopper-Pearson"
    SCORE = "score"


def clopper_pearson_bound(counts: Counts, delta: float, level: float, forms: Forms) -> float:
    """The Clopper-Pearson bound of an outcome; may be negative or −∞."""
    ratios = [log_ratio(*form) for form in limits(counts, level).forms(delta)]
    return ratios[0] if forms is Forms.ACCUSED else max(ratios)


def clopper_pearson_order(counts: Counts, delta: float, level: float, forms: Forms) -> Rule:
    """How many accused members incriminate as much as these counts, for each number of others."""
    bar = clopper_pearson_bound(counts, delta, level, forms) - _TIE

    def least(accused_others: Array) -> Array:
        fpr = binomial.upper_limit(accused_others, counts.others, level / 2)
        needed = delta + times_exp(fpr, bar)
        if forms is Forms.BOTH:
            other = np.where(fpr < 1 - delta, 1 - times_exp(1 - fpr - delta, -bar), np.inf)
            needed = np.minimum(needed, other)
        enough = np.full(needed.shape, counts.members + 1.0)
        possible = needed < 1
        rate = np.maximum(needed[possible] * (1 - _TIE), 0.0)
        enough[possible] = binomial.least_surprising(counts.members, rate, level / 2)
        seen = accused_others <= counts.accused_others
        return np.where(seen, np.minimum(enough, counts.accused_members), enough)

    return least


def score_bound(counts: Counts, delta: float, level: float) -> float:
    """The ε at which the score of the accused falls to the level; 0 where it starts below."""
    x1, x0 = (np.array([float(k)]) for k in (counts.accused_members, counts.accused_others))
    bar = -float(ndtri(level))

    def excess(e: Array) -> Array:
        return score(x1, x0, counts, e, delta) - bar

    low = np.zeros(1)
    if excess(low)[0] <= 0:
        return 0.0
    return float(falling_root(excess, low, climb(excess, low + 0.25, 0.25), 1e-10)[0][0])


def score_order(counts: Counts, delta: float, level: float, forms: Forms) -> tuple[float, Rule]:
    """The score bound of these counts, and how many accused members give as much."""
    bound = score_bound(counts, delta, level)
    if forms is Forms.BOTH:
        bound = max(bound, score_bound(counts.opposite(), delta, level))
    bar = -float(ndtri(level)) - _SCORE_TIE
    opposite = counts.opposite()

    def claims(x1: Array, x0: Array) -> NDArray[np.bool_]:
        at = np.full(x1.shape, bound)
        flags = score(x1, x0, counts, at, delta) >= bar
        if forms is Forms.BOTH:
            cleared = counts.others - x0, counts.members - x1
            flags |= score(*cleared, opposite, at, delta) >= bar
        return np.asarray(flags)

    def least(accused_others: Array) -> Array:
        low = np.full(accused_others.shape, -1.0)
        high = np.full(accused_others.shape, counts.members + 1.0)
        enough = first_wholes(lambda x1: claims(x1, accused_others), low, high)
        seen = accused_others <= counts.accused_others
        return np.where(seen, np.minimum(enough, counts.accused_members), enough)

    return bound, least


def score(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """How many standard deviations TPR lies above e^ε·FPR + δ."""
    ratio = np.exp(epsilon)
    apart = x1 / sizes.members - ratio * x0 / sizes.others - delta
    fpr = constrained_fpr(x1, x0, sizes, epsilon, delta)
    tpr = np.minimum(ratio * fpr + delta, 1.0)
    variance = tpr * (1 - tpr) / sizes.members + ratio**2 * fpr * (1 - fpr) / sizes.others
    with np.errstate(all="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def constrained_fpr(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """The FPR under which these numbers are likeliest if TPR = e^ε·FPR + δ."""
    ratio = np.exp(epsilon)
    top = np.minimum((1 - delta) / ratio, 1.0)

    def slope(p: Array) -> Array:
        """Of the log-likelihood, times p·(1 − p); terms of nothing count nothing."""
        with np.errstate(all="ignore"):
            hit = np.where(x1 > 0, x1 / (p + delta / ratio), 0.0)
            miss = np.where(x1 < sizes.members, (sizes.members - x1) / (top - p), 0.0)
            return np.asarray(x0 * (1 - p) - (sizes.others - x0) * p + p * (1 - p) * (hit - miss))

    low, high = 1e-16 * top, top * (1 - 1e-15)
    inner = (slope(low) > 0) & (slope(high) <= 0)
    likeliest = np.where(slope(low) <= 0, 0.0, top)
    if np.any(inner):
        root, _ = falling_root(lambda p: np.where(inner, slope(p), top / 2 - p), low, high)
        likeliest = np.where(inner, root, likeliest)
    return likeliest
