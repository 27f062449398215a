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
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts import exact_tails
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.coverage import false_claims
from tellapart.audit.counts.exact_tails import Span
from tellapart.audit.counts.outcome_orders import (
    LEAST_CONFIDENCE,
    Forms,
    constrained_fpr,
    score,
    score_order,
)

_BUDGET = 400_000


def score_epsilon(counts: Counts, *, delta: float = 0.0, confidence: float = 0.95) -> LowerBound:
    """The ε that the accused show by the score test; exact only where its basis says so.

    Uses TPR ≤ e^ε·FPR + δ alone; ask it of `counts.opposite()` for the cleared.

    >>> print(score_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0718 (95 % confidence, exact, score, overclaims in 4.7 % of audits)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    if c < LEAST_CONFIDENCE:
        _checks.refuse("confidence", f"be at least {LEAST_CONFIDENCE} for a score bound", c)
    epsilon, least = score_order(counts, d, 1 - c, Forms.ACCUSED)
    if epsilon == 0:
        return LowerBound(0.0, c, Basis.EXACT, "score")
    bar = float(ndtri(c))

    def silence(x1: Array, x0: Array) -> Array:
        return bar - score(x1, x0, counts, np.full(x1.shape, epsilon), d)

    x1, x0 = (np.array([float(k)]) for k in (counts.accused_members, counts.accused_others))
    fpr = float(constrained_fpr(x1, x0, counts, np.array([epsilon]), d)[0])
    often = false_claims(counts, fpr, min(1.0, d + float(times_exp(fpr, epsilon))), silence)
    basis = Basis.EXACT if _keeps_level(counts, epsilon, d, 1 - c, least) else Basis.ASYMPTOTIC
    return LowerBound(epsilon, c, basis, "score", often)


def _keeps_level(
    counts: Counts, epsilon: float, delta: float, level: float, least: exact_tails.Rule
) -> bool:
    """Whether no FPR makes a score bound of ε or more likelier than the level, with ε the truth.

    Then Buehler's bound in the order of score bounds is at least ε, and that one is exact.
    """
    if not exact_tails.affordable(Span(), counts.others, _BUDGET):
        return False

    def claim(fpr: Array) -> Array:
        return np.minimum(delta + times_exp(fpr, epsilon), 1.0)

    region = exact_tails.region(counts.members, counts.others, least, Span(), level)
    if exact_tails.worst_fpr(region, claim, Span())[1] > level:
        return False
    return math.isfinite(exact_tails.certified(region, claim, Span(), level, _BUDGET).bound)
