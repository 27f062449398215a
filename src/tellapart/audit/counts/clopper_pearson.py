"""Clopper-Pearson limits on the two rates of one attack, and what follows from them.

Each of two one-sided limits, on FPR and on TPR, fails with at most half of 1 − confidence. Every
number here follows from those two events, so that all of them hold together. Outcomes in the order
of this bound are those that `buehler` needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import first_wholes
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.exact_tails import Claim, Rule
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import gaussian
from tellapart.risk.inference import least_epsilon

_METHOD = "Clopper-Pearson"
# Rounding must not put an outcome that ties with the observed one outside the region.
_TIE = 1e-12
# The least p-value that is told, and in how many parts the way there is cut, in logarithms.
_LEAST_P, _FINE = 1e-300, 2.0**24


class Forms(Enum):
    """Which inequality of (ε, δ) the counts are held against.

    FLAGGED: TPR ≤ e^ε·FPR + δ alone. BOTH: that and TNR ≤ e^ε·FNR + δ, in one ordering.
    """

    FLAGGED = "flagged"
    BOTH = "flagged and cleared"


def claimed(epsilon: float, delta: float, forms: Forms) -> Claim:
    """The largest TPR that (ε, δ), or one form of it, allows at each FPR."""
    if forms is Forms.BOTH:
        curve = GuaranteeCurve(epsilon, delta)
        return lambda fpr: np.asarray(curve.tpr(fpr))
    return lambda fpr: np.minimum(delta + times_exp(fpr, epsilon), 1.0)


@dataclass(frozen=True)
class RateLimits:
    """The worst rates for the auditor that the counts leave open, from each side."""

    fpr_high: float
    tnr_low: float
    tpr_low: float
    fnr_high: float

    def forms(self, delta: float) -> list[tuple[float, float]]:
        """Numerator and denominator of both ratios that (ε, δ) limits by e^ε."""
        return [
            (self.tpr_low - delta, self.fpr_high),
            (self.tnr_low - delta, self.fnr_high),
        ]


def limits(counts: Counts, level: float) -> RateLimits:
    """The limits of one attack's rates; each side may fail with half the level."""
    cleared = counts.opposite()
    return RateLimits(
        fpr_high=float(binomial.upper_limit(counts.false_positives, counts.non_members, level / 2)),
        tnr_low=float(binomial.lower_limit(cleared.true_positives, counts.non_members, level / 2)),
        tpr_low=float(binomial.lower_limit(counts.true_positives, counts.members, level / 2)),
        fnr_high=float(binomial.upper_limit(cleared.false_positives, counts.members, level / 2)),
    )


def log_ratio(above: float, below: float) -> float:
    """log(above/below) of a lower by an upper limit; −∞ where nothing is left above."""
    return math.log(above) - math.log(below) if above > 0 else -math.inf


def clopper_pearson(successes: int, trials: int, *, confidence: float) -> tuple[float, float]:
    """Between which rates the truth lies, whatever it is, with this confidence or more.

    >>> low, high = clopper_pearson(10, 100, confidence=0.95)
    >>> round(low, 6), round(high, 6)
    (0.049005, 0.176223)
    """
    n = _checks.whole(1, 10**15, trials=trials)
    k = _checks.whole(0, successes=successes)
    if k > n:
        _checks.refuse("successes", f"be at most trials = {n}", k)
    half = (1 - _checks.inside_unit(confidence=confidence)) / 2
    return float(binomial.lower_limit(k, n, half)), float(binomial.upper_limit(k, n, half))


def clopper_pearson_epsilon(
    counts: Counts, *, delta: float = 0.0, confidence: float = 0.95
) -> LowerBound:
    """The ε that this attack's counts prove at least: no smaller (ε, δ) would be believed.

    The attack must have been fixed before these counts were drawn.

    >>> counts = Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> print(clopper_pearson_epsilon(counts))
    ≥ 3.1243 (95 % confidence, exact, Clopper-Pearson)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    epsilon = max(log_ratio(*form) for form in limits(counts, 1 - c).forms(d))
    return LowerBound(max(0.0, epsilon), c, Basis.EXACT, _METHOD)


def delta_lower(counts: Counts, *, epsilon: float, confidence: float = 0.95) -> LowerBound:
    """The δ that this attack's counts prove at least, for a mechanism that claims this ε.

    >>> print(delta_lower(Counts(500, 1000, 50, 1000), epsilon=1))
    ≥ 0.2907 (95 % confidence, exact, Clopper-Pearson)
    """
    e = _checks.at_least_zero(epsilon=epsilon)
    c = _checks.inside_unit(confidence=confidence)
    forms = limits(counts, 1 - c).forms(0.0)
    # No upper limit is so small that e^700 would leave anything of a rate.
    shown = max(above - float(times_exp(below, min(e, 700.0))) for above, below in forms)
    return LowerBound(max(0.0, shown), c, Basis.EXACT, _METHOD)


def mu_lower(counts: Counts, *, confidence: float = 0.95) -> LowerBound:
    """The μ of Gaussian DP that no mechanism with these counts can promise to stay below.

    Holds for every mechanism, Gaussian or not. An attack worse than a coin proves nothing: μ = 0.

    >>> print(mu_lower(Counts(500, 1000, 50, 1000)))
    ≥ 1.4321 (95 % confidence, exact, Clopper-Pearson)
    """
    c = _checks.inside_unit(confidence=confidence)
    known = limits(counts, 1 - c)
    kept = ndtri(known.tnr_low) if known.fpr_high > 0.5 else -ndtri(known.fpr_high)
    hits = ndtri(known.tpr_low) if known.fnr_high > 0.5 else -ndtri(known.fnr_high)
    return LowerBound(max(0.0, float(kept + hits)), c, Basis.EXACT, _METHOD)


def gaussian_epsilon(counts: Counts, *, delta: float, confidence: float = 0.95) -> LowerBound:
    """The ε at δ of Gaussian noise that leaks what these counts prove; refutes only such claims.

    >>> print(gaussian_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 6.6721 (95 % confidence, exact for claims of Gaussian DP only, Clopper-Pearson)
    """
    d = _checks.probability(delta=delta)
    mu = mu_lower(counts, confidence=confidence)
    return LowerBound(epsilon_of_mu(mu.value, d), mu.confidence, Basis.GAUSSIAN, _METHOD)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The ε at δ of Gaussian noise with this μ, from below: the curve rounds it up."""
    curve = gaussian(mu)
    epsilon = float(curve.epsilon(delta))
    if math.isfinite(epsilon):
        return _last_above(lambda e: float(curve.delta(e)) >= delta, epsilon)
    return epsilon


def least_levels(refutes: Callable[[Array], NDArray[np.bool_]], levels: Array) -> Array:
    """The p-values of nested tests: the least level at which each refutes, up to its own.

    From above, so that the chance of one that small is at most itself.
    """
    high = np.log(levels)

    def level(part: Array) -> Array:
        return np.asarray(np.exp(high - (high - math.log(_LEAST_P)) * (1 - part / _FINE)))

    none = np.zeros(levels.shape)
    return level(first_wholes(lambda part: refutes(level(part)), none, none + _FINE))


def _last_above(holds: Callable[[float], bool], start: float) -> float:
    """A value hardly below the start for which the statement holds; 0 where none is close."""
    for step in 8.0 ** np.arange(-18, 1):
        if holds(start):
            return start
        start = max(0.0, start * (1 - step) - step)
    return 0.0


def box_epsilon(counts: Counts, *, delta: float = 0.0, confidence: float = 0.95) -> float:
    """The ε of the smallest privacy region that holds every pair of rates the counts leave open.

    Above a claimed ε this proves nothing; at or below it, all likely rates keep the promise.

    >>> round(box_epsilon(Counts(90, 100, 10, 100), delta=1e-4), 4)
    2.9655
    """
    fpr = clopper_pearson(counts.false_positives, counts.non_members, confidence=confidence)
    tpr = clopper_pearson(counts.true_positives, counts.members, confidence=confidence)
    return max(float(least_epsilon(fpr=a, tpr=b, delta=delta)) for a in fpr for b in tpr)


# -- the order of outcomes that Buehler's bound needs ---------------------------------------------


def clopper_pearson_bound(counts: Counts, delta: float, level: float, forms: Forms) -> float:
    """The Clopper-Pearson bound of an outcome; may be negative or −∞."""
    ratios = [log_ratio(*form) for form in limits(counts, level).forms(delta)]
    return ratios[0] if forms is Forms.FLAGGED else max(ratios)


def clopper_pearson_order(counts: Counts, delta: float, level: float, forms: Forms) -> Rule:
    """How many flagged members incriminate as much as these counts, for each number of others."""
    bar = clopper_pearson_bound(counts, delta, level, forms) - _TIE

    def least(false_positives: Array) -> Array:
        fpr = binomial.upper_limit(false_positives, counts.non_members, level / 2)
        needed = delta + times_exp(fpr, bar)
        if forms is Forms.BOTH:
            other = np.where(fpr < 1 - delta, 1 - times_exp(1 - fpr - delta, -bar), np.inf)
            needed = np.minimum(needed, other)
        enough = np.full(needed.shape, counts.members + 1.0)
        possible = needed < 1
        rate = np.maximum(needed[possible] * (1 - _TIE), 0.0)
        enough[possible] = binomial.least_surprising(counts.members, rate, level / 2)
        seen = false_positives <= counts.false_positives
        return np.where(seen, np.minimum(enough, counts.true_positives), enough)

    return least
