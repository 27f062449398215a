"""The score bound (Miettinen and Nurminen 1985): sharp for many samples, and checked for few.

It holds TPR − e^ε·FPR − δ against its standard deviation under the likeliest rates that keep
TPR = e^ε·FPR + δ. Whether it keeps its level is then computed, not hoped.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import climb, falling_root
from tellapart.audit import _tails
from tellapart.audit._overclaims import false_claims
from tellapart.audit._tails import Span
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import Counts

_BUDGET = 400_000


def score_epsilon(counts: Counts, *, delta: float = 0.0, confidence: float = 0.95) -> LowerBound:
    """The ε that the accused show by the score test; exact only where its basis says so.

    Uses TPR ≤ e^ε·FPR + δ alone; ask it of `counts.opposite()` for the cleared.

    >>> print(score_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0718 (95 % confidence, exact, score, overclaims in 4.7 % of audits)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    x1, x0 = (np.array([float(k)]) for k in (counts.accused_members, counts.accused_others))
    bar = float(ndtri(c))

    def excess(e: Array) -> Array:
        return _score(x1, x0, counts, e, d) - bar

    low = np.zeros(1)
    if excess(low)[0] <= 0:
        return LowerBound(0.0, c, Basis.EXACT, "score")
    found = float(falling_root(excess, low, climb(excess, low + 0.25, 0.25), 1e-10)[0][0])

    def silence(some_x1: Array, some_x0: Array) -> Array:
        return bar - _score(some_x1, some_x0, counts, np.full(some_x1.shape, found), d)

    fpr = float(constrained_fpr(x1, x0, counts, np.array([found]), d)[0])
    often = false_claims(counts, fpr, min(1.0, d + float(times_exp(fpr, found))), silence)
    basis = Basis.EXACT if _keeps_level(counts, found, d, 1 - c, bar) else Basis.ASYMPTOTIC
    return LowerBound(found, c, basis, "score", often)


def _score(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
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
    found = np.where(slope(low) <= 0, 0.0, top)
    if np.any(inner):
        root, _ = falling_root(lambda p: np.where(inner, slope(p), top / 2 - p), low, high)
        found = np.where(inner, root, found)
    return found


def _keeps_level(counts: Counts, epsilon: float, delta: float, level: float, bar: float) -> bool:
    """Whether no FPR makes a score bound of ε or more likelier than the level, with ε the truth.

    Then Buehler's bound in the order of score bounds is at least ε, and that one is exact.
    """
    if not _tails.affordable(Span(), counts.others, _BUDGET):
        return False

    def least(accused_others: Array) -> Array:
        low = np.full(accused_others.shape, -1.0)
        high = np.full(accused_others.shape, counts.members + 1.0)
        at = np.full(accused_others.shape, epsilon)
        while np.any(high - low > 1):
            middle = np.floor((low + high) / 2)
            score = _score(middle, accused_others, counts, at, delta)
            claims = score >= bar - 1e-9
            low, high = np.where(claims, low, middle), np.where(claims, middle, high)
        seen = accused_others <= counts.accused_others
        return np.where(seen, np.minimum(high, counts.accused_members), high)

    def claim(fpr: Array) -> Array:
        return np.minimum(delta + times_exp(fpr, epsilon), 1.0)

    region = _tails.region(counts.members, counts.others, least, Span(), level)
    if _tails.worst_fpr(region, claim, Span())[1] > level:
        return False
    return math.isfinite(_tails.certified(region, claim, Span(), level, _BUDGET).bound)
