"""From a Rényi divergence to lines that no attack crosses.

For any attack, the Rényi divergence between its two Bernoulli answers is at most that of the
mechanism (data processing). The (FPR, TPR) that respect one order's bound form a convex set

    TPR^λ·FPR^(1−λ) + FNR^λ·TNR^(1−λ) ≤ e^((λ−1)·ε),

so a tangent at its boundary, or at a level just outside, is a line that no attack crosses. This
is never weaker than the usual conversion to (ε, δ), which drops the second term.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from tellapart._checks import Array
from tellapart._numeric import solve

# A weaker promise than the one given is a promise still: no exponent under this is told from 0.
_LEAST_EXPONENT = 1e-8
# At that exponent rounding moves a line by less than this; lines that close to 0 are dropped.
_ROUNDING = 1e-11


def supporting_lines(orders: Array, epsilons: Array, logits: Array) -> tuple[Array, Array]:
    """(ε, δ) pairs, ε ≥ 0, that follow from RDP in both orders: one per boundary point.

    The point on the boundary of each order is given by the logit of its TPR.
    """
    log_tpr, log_fnr = log_expit(logits), log_expit(-logits)
    exponents = np.maximum((orders - 1) * epsilons, _LEAST_EXPONENT)
    with np.errstate(all="ignore"):
        log_fpr = _just_outside(orders, exponents, log_tpr, log_fnr)
        slope = _slope(orders, log_tpr, log_fnr, log_fpr)
        tpr, tnr = np.exp(log_tpr), -np.expm1(log_fpr)
        # A line of slope under 1 speaks of the other order of the hypotheses.
        forward = tpr - np.exp(log_fpr + slope)
        backward = tnr - np.exp(log_fnr - slope)
        delta = np.where(slope >= 0, forward, backward)
        scale = np.where(slope >= 0, tpr, tnr)
    valid = np.isfinite(slope) & (delta > _ROUNDING * scale) & (delta <= 1)
    raised = delta + _ROUNDING * scale
    return np.abs(slope[valid]), np.minimum(raised[valid], 1.0)


def _moments(orders: Array, log_tpr: Array, log_fnr: Array, log_fpr: Array) -> tuple[Array, Array]:
    log_tnr = np.log(-np.expm1(log_fpr))
    return (
        orders * log_tpr + (1 - orders) * log_fpr,
        orders * log_fnr + (1 - orders) * log_tnr,
    )


def _just_outside(orders: Array, cap: Array, log_tpr: Array, log_fnr: Array) -> Array:
    """Log FPR, at or just below the least that the divergence allows at this TPR."""

    def excess(log_fpr: Array) -> Array:
        moment = np.logaddexp(*_moments(orders, log_tpr, log_fnr, log_fpr))
        return np.where(log_fpr >= log_tpr, -1.0, moment - cap)

    # Below this FPR the first term alone exceeds the bound.
    low = (orders * log_tpr - cap) / (orders - 1) - 1.0
    low = np.minimum(low, log_tpr - 1.0)
    return solve.falling_root(excess, low, log_tpr)[0]


def _slope(orders: Array, log_tpr: Array, log_fnr: Array, log_fpr: Array) -> Array:
    """Log of dTPR/dFPR along the boundary of the order's region."""
    one, two = _moments(orders, log_tpr, log_fnr, log_fpr)
    log_tnr = np.log(-np.expm1(log_fpr))
    down = _log_difference(one - log_fpr, two - log_tnr)
    up = _log_difference(one - log_tpr, two - log_fnr)
    return np.asarray(down - up + np.log1p(-1 / orders))


def _log_difference(more: Array, less: Array) -> Array:
    """log(e^more − e^less)."""
    return np.asarray(more + np.log(-np.expm1(less - more)))
