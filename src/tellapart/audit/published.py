"""Bounds and estimates as other tools publish them, to compare with; none may refute a claim.

Each says what keeps it from refuting: an approximation for many samples, an average of p-values,
or a claim about a quantity that nobody promised.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import climb, falling_root
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.attack_counts import Counts


def katz_log_epsilon(counts: Counts, *, confidence: float = 0.95) -> LowerBound:
    """The ε that tensorflow-empirical-privacy reads from TPR/FPR, as if its logarithm were normal.

    Asymptotic, for δ = 0. Without accused members or others the approximation says nothing: 0.

    >>> print(katz_log_epsilon(Counts(100, 110, 10, 80)))
    ≥ 1.4950 (95 % confidence, asymptotic, Katz log)
    """
    c = _checks.inside_unit(confidence=confidence)
    found = 0.0
    if counts.accused_members and counts.accused_others:
        spread = (1 - counts.tpr) / counts.accused_members
        spread += (1 - counts.fpr) / counts.accused_others
        found = math.log(counts.tpr / counts.fpr) - float(ndtri(c)) * math.sqrt(spread)
    return LowerBound(max(0.0, found), c, Basis.ASYMPTOTIC, "Katz log")


def statdp_p_value(counts: Counts, *, epsilon: float = 0.0) -> float:
    """StatDP's p-value against ε: accused members are thinned by e^−ε, then compared exactly.

    The mean over all ways to thin, which StatDP estimates from 200 of them. Each way gives a valid
    p-value; their mean is valid only up to a factor 2, and StatDP swaps the worlds after looking.

    >>> round(statdp_p_value(Counts(120, 1000, 80, 1000)), 6)
    0.001782
    """
    e = _checks.at_least_zero(epsilon=epsilon)
    if counts.members != counts.others:
        _checks.refuse("counts", "have as many members as others", counts)
    kept = math.exp(-e)
    middle = counts.accused_members * kept
    wide = 9 * math.sqrt(middle * (1 - kept)) + 20
    left = np.arange(max(0, math.floor(middle - wide)), counts.accused_members + 1)
    left = left[left <= middle + wide].astype(float)
    p = np.array([_fisher(float(one), counts.accused_others, counts.others) for one in left])
    return min(1.0, float(np.sum(binomial.pmf(left, counts.accused_members, kept) * p)))


def _fisher(hits: float, alarms: int, n: int) -> float:
    """P[H ≥ hits] when the accused fall on two groups of n at random, from three binomials."""
    accused = hits + alarms
    if accused == 0:
        return 1.0
    share = min(accused / (2 * n), 1 - 1e-16)
    wide = 10 * math.sqrt(n * share * (1 - share)) + 20
    top = min(n, accused, max(hits, accused / 2) + wide)
    j = np.arange(hits, top + 1)
    chance = binomial.pmf(j, n, share) * binomial.pmf(accused - j, n, share)
    return min(1.0, float(np.sum(chance) / binomial.pmf(accused, 2 * n, share)))


def hockey_stick_delta(
    accuracy: float, *, tests: int, epsilon: float, confidence: float = 0.95
) -> float:
    """The δ at ε that DP-Auditorium reads from how often a classifier names the right world.

    By Hoeffding's inequality: valid for one classifier and one pair of neighbours, but its runner
    takes the largest over many without paying for it. Negative where nothing is shown.

    >>> round(hockey_stick_delta(0.8, tests=50_000, epsilon=1), 6)
    0.235992
    """
    right = _checks.probability(accuracy=accuracy)
    n = _checks.whole(1, tests=tests)
    ratio = math.exp(_checks.finite_at_least_zero(epsilon=epsilon))
    level = 1 - _checks.inside_unit(confidence=confidence)
    return (right - math.sqrt(-math.log(level) / (2 * n))) * (1 + ratio) - ratio


def histogram_tolerance(
    present: ArrayLike, absent: ArrayLike, *, samples: int, epsilon: float, confidence: float = 0.95
) -> float:
    """How far above δ DP-Auditorium lets two histograms stray before it calls them different.

    >>> round(histogram_tolerance([0.1] * 10, [0.1] * 10, samples=100_000, epsilon=1), 6)
    0.178793
    """
    p, q = _checks.pmf(present=present), _checks.pmf(absent=absent)
    n = _checks.whole(1, samples=samples)
    ratio = math.exp(_checks.finite_at_least_zero(epsilon=epsilon))
    level = 1 - _checks.inside_unit(confidence=confidence)
    found = 2 * (np.sqrt(p).sum() + ratio * np.sqrt(q).sum()) / math.sqrt(n)
    return float(found + 6 * (1 + ratio) * math.sqrt(math.log(4 / level) / (2 * n)))


def mmd_threshold(epsilon: float, delta: float = 0.0) -> float:
    """The largest kernel mean discrepancy (kernel in [0, 1]) that (ε, δ) allows: √2 times its TV.

    A test by it sees only the total variation, so it can refute little of what (ε, δ) forbids.

    >>> round(mmd_threshold(1), 6)
    0.653532
    """
    e = _checks.at_least_zero(epsilon=epsilon)
    d = _checks.probability(delta=delta)
    return math.sqrt(2) * (1 - 2 * (1 - d) * math.exp(-np.logaddexp(0, e)))


def dp_auditorium_mmd_threshold(epsilon: float, delta: float = 0.0) -> float:
    """The same as DP-Auditorium sets it: above every possible discrepancy, √2, from ε = 0.8814 on.

    >>> round(dp_auditorium_mmd_threshold(1), 6)
    1.718282
    """
    e = _checks.finite_at_least_zero(epsilon=epsilon)
    d = _checks.probability(delta=delta)
    return math.expm1(e) + (1 + math.exp(e)) * d


def exchangeable_limits(
    tests: ArrayLike, *, order: int, failure: float = 0.05
) -> tuple[float, float]:
    """Between which rates LiDP puts the mean of k exchangeable tests, repeated n times.

    Wilson limits of the mean of an n × k table of zeros and ones whose variance is bounded through
    moments of order 1, 2 or 4 (Pillutla et al. 2023). Asymptotic; each side fails by itself.

    >>> low, high = exchangeable_limits([[1, 0], [0, 0], [1, 1], [0, 1]], order=2)
    >>> 0 < low < 0.5 < high < 1
    True
    """
    table = _checks.probabilities(tests=tests)
    b = _checks.inside_unit(failure=failure)
    if order not in (1, 2, 4):
        _checks.refuse("order", "be 1, 2 or 4", order)
    if table.ndim != 2 or table.shape[1] < order:
        _checks.refuse("tests", f"be a table with at least {order} columns", tests)
    n, k = table.shape
    mean = table.mean(axis=1)
    moments = [mean]  # of the row, without replacement
    for i in range(1, order):
        moments.append(moments[-1] * (k * mean - i) / (k - i))
    m = [float(one.mean()) for one in moments]
    z = -float(ndtri(b / order))
    if order == 1:
        return _wilson(m[0], n, z, 1.0, 0.0, 1.0)
    _, second = _wilson(m[1], n, z, 1.0, 0.0, 1.0)
    if order == 4:
        third, fourth = (_wilson(one, n, z, 1.0, 0.0, 1.0)[1] for one in m[2:])
        pairs = k * (k - 1)
        rest = (k - 2) * (k - 3) * (fourth - third**2) + 4 * (k - 2) * third
        _, second = _wilson(m[1], n, z, 2 / pairs, rest / pairs, 2 * (2 * k - 3) / pairs)
    return _wilson(m[0], n, z, 1 / k, (k - 1) / k * second, 1.0)


def _wilson(
    mean: float, n: int, z: float, linear: float, constant: float, square: float
) -> tuple[float, float]:
    """Both roots m of n(mean − m)² = z²(linear·m + constant − square·m²), no wider than for ¼."""
    a, b = n + z * z * square, 2 * n * mean + z * z * linear
    root = math.sqrt(max(0.0, b * b - 4 * a * (n * mean * mean - z * z * constant)))
    wide = z * math.sqrt(0.25 / n)
    low, high = max((b - root) / (2 * a), mean - wide), min((b + root) / (2 * a), mean + wide)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def two_gaussians_epsilon(
    mean_1: float, std_1: float, mean_2: float, std_2: float, *, delta: float
) -> float:
    """The ε at δ between two normal laws fitted to scores: an estimate, and a bound on nothing.

    >>> round(two_gaussians_epsilon(1, 1, 0, 1, delta=1e-5), 6)
    4.377178
    """
    d = _checks.inside_unit(delta=delta)
    one = _checks.finite(mean_1=mean_1), _checks.finite_above_zero(std_1=std_1)
    two = _checks.finite(mean_2=mean_2), _checks.finite_above_zero(std_2=std_2)

    def excess(e: Array) -> Array:
        at = float(e[0])
        return np.array([max(_divergence(one, two, at), _divergence(two, one, at)) - d])

    low = np.zeros(1)
    if excess(low)[0] <= 0:
        return 0.0
    return float(falling_root(excess, low, climb(excess, low + 1, 1.0))[1][0])


def _divergence(one: tuple[float, float], two: tuple[float, float], epsilon: float) -> float:
    """P₁[L > ε] − e^ε·P₂[L > ε], where the loss L is a parabola a·x² + b·x + c + ε."""
    (m, s), (n, t) = one, two
    a = 0.5 / t**2 - 0.5 / s**2
    b = m / s**2 - n / t**2
    c = math.log(t / s) - 0.5 * (m / s) ** 2 + 0.5 * (n / t) ** 2 - epsilon
    if a == 0 and b == 0:
        return 0.0
    if abs(a) * (abs(m - n) + s + t) <= 1e-12 * abs(b):
        cuts, outside = (math.copysign(math.inf, b), -c / b), False
    elif b * b <= 4 * a * c:
        return 1 - math.exp(epsilon) if a > 0 else 0.0
    else:
        half = -(b + math.copysign(math.sqrt(b * b - 4 * a * c), b)) / 2
        cuts, outside = (half / a, c / half), a > 0
    low, high = min(cuts), max(cuts)

    def chance(mean: float, std: float) -> float:
        below, above = (low - mean) / std, (high - mean) / std
        if outside:
            return float(ndtr(below) + ndtr(-above))
        return float(ndtr(above) - ndtr(below) if above < 0 else ndtr(-below) - ndtr(-above))

    return chance(m, s) - float(times_exp(chance(n, t), epsilon))
