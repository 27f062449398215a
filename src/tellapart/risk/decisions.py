"""Risks under a prior: how far an attacker's word can be trusted.

``prior`` is P(h1), the chance before looking that the record is present; gamma stands for
(1 − prior)/prior, the number of outsiders per member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Rates, TradeoffCurve

_ROUNDS = 200


class AttackPoint(NamedTuple):
    """One attack: accuse when the log-likelihood ratio exceeds the threshold."""

    threshold: float | Array
    rates: Rates


class FScoreAttack(NamedTuple):
    """The attack with the largest F-score; ``shortfall`` is 1 − score with digits of its own."""

    score: float | Array
    shortfall: float | Array
    threshold: float | Array
    rates: Rates


def ppv(curve: TradeoffCurve, *, fpr: ArrayLike, prior: ArrayLike) -> float | Array:
    """How often an accusation is right, for the best attack at this FPR (precision).

    The FPR must be stated: over all FPRs the supremum is 1 for every δ > 0. At FPR 0 the value
    is the limit from above.

    >>> import tellapart as ta
    >>> round(ppv(ta.guarantee(1, 1e-5), fpr=0.01, prior=0.01), 6)
    0.026733
    """
    check_curve(curve=curve)
    asked, before = _checks.rates_together(fpr=fpr, prior=prior)
    with np.errstate(all="ignore"):
        ratio = np.where(asked > 0, asked / curve._tpr(asked), np.exp(-_steepest(curve)))
        return shaped(_precision(ratio, before), asked, before)


def precision(curve: TradeoffCurve, *, recall: ArrayLike, prior: ArrayLike = 0.5) -> float | Array:
    """How often an accusation is right, for an attacker who finds this share of the members.

    At recall 0 the value is the limit from above.

    >>> import tellapart as ta
    >>> round(precision(ta.Laplace.with_epsilon(1).curve(), recall=0.3), 6)
    0.731059
    """
    check_curve(curve=curve)
    found, before = _checks.rates_together(recall=recall, prior=prior)
    with np.errstate(all="ignore"):
        limit = np.exp(-_steepest(curve))
        ratio = np.where(found > 0, np.asarray(curve.fpr(found)) / found, limit)
        return shaped(_precision(ratio, before), found, before)


def posterior(curve: TradeoffCurve, *, loss: ArrayLike, prior: ArrayLike) -> float | Array:
    """What an attacker believes after an output with this log-likelihood ratio.

    >>> import tellapart as ta
    >>> round(posterior(ta.guarantee(epsilon=1), loss=1.0, prior=0.5), 6)
    0.731059
    """
    check_curve(curve=curve)
    seen, before = _checks.reals(loss=loss), _checks.probabilities(prior=prior)
    largest, smallest = _steepest(curve), -_steepest(curve.mirrored())
    if np.any((seen > largest) | (seen < smallest)):
        outside = seen[(seen > largest) | (seen < smallest)]
        rule = f"be a loss this curve can produce, from {smallest:g} to {largest:g}"
        _checks.refuse("loss", rule, float(outside.flat[0]))
    with np.errstate(all="ignore"):
        return shaped(_precision(np.exp(-seen), before), seen, before)


def max_posterior(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """The strongest belief in "present" that any output can lead to.

    1/(1 + gamma·e^−ε) for pure ε; 1 where some output, however unlikely, gives it all away.

    >>> import tellapart as ta
    >>> round(max_posterior(ta.guarantee(epsilon=1), prior=0.01), 6)
    0.026724
    """
    check_curve(curve=curve)
    before = _checks.probabilities(prior=prior)
    with np.errstate(all="ignore"):
        return shaped(_precision(np.exp(-_steepest(curve)) + 0 * before, before), before)


def bayes_error(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """How often the best attacker is wrong about membership, when this share are members.

    >>> import tellapart as ta
    >>> round(bayes_error(ta.guarantee(epsilon=1), prior=0.5), 6)
    0.268941
    """
    check_curve(curve=curve)
    before = _checks.probabilities(prior=prior)
    with np.errstate(all="ignore"):
        fpr, _, fnr, _ = curve._rates(_log_gamma(before))
        error = (1 - before) * fpr + before * fnr
        return shaped(np.where((before == 0) | (before == 1), 0.0, error), before)


def success(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """How often the best attacker wins the membership game with this prior: 1 − Bayes error.

    >>> import tellapart as ta
    >>> round(success(ta.Laplace.with_epsilon(1).curve(), prior=0.5), 6)
    0.696735
    """
    return 1 - bayes_error(curve, prior=prior)


def best_decision(
    curve: TradeoffCurve, *, prior: ArrayLike = 0.5, miss_cost: float = 1.0, false_cost: float = 1.0
) -> AttackPoint:
    """The attack with the least expected cost, as a point of the curve.

    Equal costs give the maximum posterior; with prior 1/2 too, the maximum likelihood. An
    attacker who values found members more sets ``miss_cost`` above ``false_cost``.

    >>> import tellapart as ta
    >>> best_decision(ta.Laplace.with_epsilon(1).curve()).threshold
    0.0
    """
    check_curve(curve=curve)
    before = _checks.probabilities(prior=prior)
    miss = _checks.finite_above_zero(miss_cost=miss_cost)
    false = _checks.finite_above_zero(false_cost=false_cost)
    with np.errstate(all="ignore"):
        threshold = _log_gamma(before) + np.log(false) - np.log(miss)
    cut = shaped(threshold, before)
    return AttackPoint(cut, curve.rates(cut))


def f_score(curve: TradeoffCurve, *, weight: float = 1.0, prior: ArrayLike = 0.5) -> float | Array:
    """The largest F-score of any attack: precision and recall in one number.

    ``weight`` is how much more recall counts than precision. Always accusing already scores
    (1 + weight²)/(1 + weight² + gamma).

    >>> import tellapart as ta
    >>> round(f_score(ta.Laplace.with_epsilon(1).curve(), prior=1 / 1.8), 4)
    0.7382
    """
    return f_score_attack(curve, weight=weight, prior=prior).score


def f_score_attack(
    curve: TradeoffCurve, *, weight: float = 1.0, prior: ArrayLike = 0.5
) -> FScoreAttack:
    """The attack with the largest F-score, with its threshold and rates.

    A monotone iteration: at score F the best threshold is log(gamma·F/(1 + weight² − F)), which
    gives a score at least as large, until none is.
    """
    check_curve(curve=curve)
    b2 = _squared(weight)
    before = _checks.probabilities(prior=prior)
    with np.errstate(all="ignore"):
        gamma = (1 - before) / before
        score = np.where(before == 0, 0.0, (1 + b2) / (1 + b2 + gamma))
        cut = np.full(before.shape, -np.inf)
        short = np.where(before == 0, 1.0, gamma / (1 + b2 + gamma))
        for _ in range(_ROUNDS):
            # log(1 + b² − F) from the shortfall keeps its digits where F is nearly 1.
            threshold = np.log(gamma) + np.log(score) - np.log(b2 + short)
            fpr, tpr, fnr, _ = curve._rates(threshold)
            total = tpr + gamma * fpr + b2
            closer, higher = (gamma * fpr + b2 * fnr) / total, (1 + b2) * tpr / total
            # Compared where the digits are: a score near 0, or a shortfall near 0.
            improved = np.where(score < 0.5, higher > score, closer < short) & (before > 0)
            if not improved.any():
                break
            cut = np.where(improved, threshold, cut)
            short, score = np.where(improved, closer, short), np.where(improved, higher, score)
    at = shaped(cut, before)
    return FScoreAttack(shaped(score, before), shaped(short, before), at, curve.rates(at))


def _squared(weight: float) -> float:
    b = _checks.finite_above_zero(weight=weight)
    if not 1e-150 <= b <= 1e150:  # its square must be a double
        _checks.refuse("weight", "lie between 1e-150 and 1e150", weight)
    return b**2


def _precision(ratio: Array, prior: Array) -> Array:
    """1/(1 + gamma·FPR/TPR); a prior of 0 or 1 is beyond doubt."""
    found = prior / (prior + (1 - prior) * ratio)
    return np.where(prior == 0, 0.0, np.where(prior == 1, 1.0, found))


def _steepest(curve: TradeoffCurve) -> float:
    """The largest likelihood ratio an output can have, in logs."""
    with np.errstate(all="ignore"):
        return np.inf if curve._delta_at_infinity() > 0 else curve._largest_loss()


def _log_gamma(prior: Array) -> Array:
    return np.asarray(np.log1p(-prior) - np.log(prior))
