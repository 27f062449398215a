"""Membership advantage, TPR at an FPR, AUC, ε and μ: risks that need no prior."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.gdp import least_mu


def advantage(curve: TradeoffCurve, fpr: ArrayLike | None = None) -> float | Array:
    """Membership advantage: how much more often members are flagged than non-members, TPR − FPR.

    At a stated FPR, or the largest over all FPRs, which is the total variation distance. In the
    membership inference game with prior 1/2, the accuracy of the best attack is 1/2 + half of it.

    >>> import tellapart as ta
    >>> round(advantage(ta.guarantee(epsilon=1)), 6)
    0.462117
    """
    check_curve(curve=curve)
    if fpr is None:
        return curve.delta(0.0)
    return curve.tpr(fpr) - _checks.probabilities(fpr=fpr)


def tpr(curve: TradeoffCurve, fpr: ArrayLike) -> float | Array:
    """True-positive rate: the share of members flagged by the best attack at this FPR.

    >>> import tellapart as ta
    >>> round(tpr(ta.guarantee(epsilon=1), fpr=0.01), 4)
    0.0272
    """
    check_curve(curve=curve)
    return curve.tpr(fpr)


def auc(curve: TradeoffCurve) -> float:
    """The probability that an attacker scores a random member above a random non-member.

    >>> import tellapart as ta
    >>> round(auc(ta.Laplace.with_epsilon(1).curve()), 6)
    0.72409
    """
    check_curve(curve=curve)
    return 1 - curve.area()


def epsilon(curve: TradeoffCurve, delta: ArrayLike) -> float | Array:
    """The least ε with TPR ≤ e^ε·FPR + δ for every attack: the ε of (ε, δ)-DP at this δ.

    >>> import tellapart as ta
    >>> round(epsilon(ta.Gaussian(sigma=1).curve(), delta=1e-5), 6)
    4.377178
    """
    check_curve(curve=curve)
    return curve.epsilon(delta)


def gdp(curve: TradeoffCurve, at_least: float = 1e-6) -> float:
    """The least μ: attacks with FPR and FNR ``at_least`` this do no better than μ-GDP allows.

    On the side of the curve, and infinite where `curve.gdp` refuses because no μ is enough.

    >>> import tellapart as ta
    >>> round(gdp(ta.Laplace.with_epsilon(1).curve()), 4)
    1.0301
    """
    check_curve(curve=curve)
    return least_mu(curve, at_least)
