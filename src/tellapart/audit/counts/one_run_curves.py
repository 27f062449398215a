"""One-run auditing of f-DP (Mahloujifar et al. 2024): right guesses against any trade-off curve.

The game is that of `one_run_guesses`: m fair coins, c′ guesses of either kind fixed in number
before the output was seen, c right. Let p_k be the chance of k right guesses, and

    r_j = Σ_{k ≥ j} k·p_k/m   and   h_j = Σ_{k ≥ j} (c′ − k)·p_k/m.

Of one canary, "guessed right, at least j − 1 of the others right" and "guessed wrong, at least
j − 1 of the others right" are one event seen from two worlds that differ in its coin. A claimed
curve, read in both orders and averaged over the canaries, allows r_j ≤ tpr(h_{j−1}). From
P[c or more right] = level onwards this fixes, downwards in j, the least mass that must lie
below. If all of it exceeds c′/m, then c right guesses are less likely than the level
(Mahloujifar, Melis and Chaudhuri 2024, Theorem 4.2 and Algorithm 1).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from scipy.special.cython_special import ndtr, ndtri

from tellapart import deadline
from tellapart._checks import Array
from tellapart.audit.counts.one_run_guesses import Guesses, largest_refuted
from tellapart.curve.base import TradeoffCurve

Inverse = Callable[[float], float]

# Relative errors of a claimed curve's rates stay below the first, of Φ and its inverse below the
# second: every FPR is lowered by so much, and the test is that of a claim so much weaker.
_CURVE_ROUNDING = 1e-9
_NORMAL_ROUNDING = 1e-12
_ULPS = 4 * 2.0**-53
# No test that rejects was seen to need more; a test cut short accepts.
_STEPS = 2_000_000
_KNOTS = 8192
_LARGEST_MU, _NARROW = 75.0, 1e-10


def refutes_curve(guesses: Guesses, claim: TradeoffCurve, level: float) -> bool:
    """Whether so many right guesses refute that the mechanism keeps this curve, in both orders.

    Exact for every claim, (ε, δ) among them; which of two tests to use must be fixed beforehand.
    Every rounding errs towards "not refuted".

    >>> from tellapart.curve.guarantees import guarantee
    >>> refutes_curve(Guesses(canaries=1000, made=100, right=95), guarantee(mu=0.78), level=0.05)
    True
    """
    if guesses.right == 0:
        return False
    share = guesses.made / guesses.canaries
    least = min(level * guesses.right / guesses.canaries, share / 2)
    fpr_at = _tabulated(claim.symmetrised(), least, share)
    return _overflows(guesses, fpr_at, level)


def mu_lower(guesses: Guesses, level: float, *, above: float = 0.0) -> float:
    """The largest μ for which so many right guesses refute Gaussian DP; 0 if for none.

    A μ that was tried and refuted, so it errs downward. Nothing is assumed of the mechanism: it
    does not keep μ-Gaussian DP, at this level. An answer that is not ``above`` so much need not be
    sought: it comes as 0.

    >>> round(mu_lower(Guesses(canaries=1000, made=100, right=95), level=0.05), 4)
    0.7868
    """

    def excess(mu: float) -> float:
        return 1.0 if _overflows(guesses, _gaussian(mu), level) else -1.0

    if not guesses.right:
        return 0.0
    return largest_refuted(excess, _LARGEST_MU, above=above, narrow=_NARROW)


def _overflows(guesses: Guesses, fpr_at: Inverse, level: float) -> bool:
    """Whether the masses implied by "c or more are right with chance ``level``" exceed all."""
    right, made = guesses.right, guesses.made
    whole = made / guesses.canaries * (1 + _ULPS)
    r = level * right / guesses.canaries
    h = level * (made - right) / guesses.canaries
    for i in range(right - 1, max(right - 1 - _STEPS, -1), -1):
        deadline.check()
        needed = fpr_at(r)
        if needed <= h:  # nothing moves from here on
            return False
        r = (r + i / (made - i) * (needed - h)) * (1 - _ULPS)
        h = needed
        if r + h > whole:
            return True
    return False


def _gaussian(mu: float) -> Inverse:
    def fpr_at(tpr: float) -> float:
        return float(ndtr(ndtri(tpr) - mu)) * (1 - _NORMAL_ROUNDING)

    return fpr_at


def _tabulated(claim: TradeoffCurve, least: float, most: float) -> Inverse:
    """The least FPR at a TPR from ``least`` to ``most``, from below.

    FPR is convex in TPR: between two knots it lies above the chords on either side, prolonged.
    Before the first chord it does not fall; beyond the last there is none, which says nothing.
    """
    knots = np.geomspace(least, most, _KNOTS)
    knots[0], knots[-1] = least, most
    values = np.asarray(claim.fpr(knots)) * (1 - _CURVE_ROUNDING)
    slopes = np.diff(values) / np.diff(knots)
    before = np.concatenate([[0.0], slopes[:-1]]).tolist()
    after = np.concatenate([slopes[1:], [math.inf]]).tolist()
    return _beneath_chords(knots, values, before, after)


def _beneath_chords(
    knots: Array, values: Array, before: list[float], after: list[float]
) -> Inverse:
    x, y = knots.tolist(), values.tolist()
    last = len(x) - 1

    def fpr_at(tpr: float) -> float:
        k = bisect_right(x, tpr) - 1
        if k >= last:
            return float(y[last])
        from_left = y[k] + before[k] * (tpr - x[k])
        from_right = y[k + 1] - after[k] * (x[k + 1] - tpr)
        return float(max(from_left, from_right))

    return fpr_at
