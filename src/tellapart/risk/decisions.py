"""Bayesian risk under a prior: PPV, posterior, Bayes error, F-score and their best attacks.

``prior`` is P(h1), the attacker's prior probability of membership; gamma stands for
(1 − prior)/prior, the number of non-members per member.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric import solve
from tellapart._numeric.safe import log_ratio
from tellapart._numeric.text import short
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import Rates, TradeoffCurve

_ROUNDS = 200
# Thresholds tried about the best one, in units of its rounding: in each round, and before the end
# for curves whose losses and masses agree to fewer digits.
_CLOSE = np.array([-1.0, 0.0, 1.0])
_AROUND = np.array([-1e6, -1e3, 1e3, 1e6])
# So many rounds are enough unless the tail is thin; then a search takes over, up to a threshold
# beyond the logarithm of any double.
_PATIENCE = 12
_BEYOND = 1500.0


class AttackPoint(NamedTuple):
    """One attack: predict "member" when the log-likelihood ratio exceeds the threshold."""

    threshold: float | Array
    rates: Rates


class FScoreAttack(NamedTuple):
    """The attack with the largest F-score; ``shortfall`` is 1 − score with digits of its own."""

    score: float | Array
    shortfall: float | Array
    threshold: float | Array
    rates: Rates


def ppv(curve: TradeoffCurve, *, fpr: ArrayLike, prior: ArrayLike) -> float | Array:
    """Positive predictive value: the share of those flagged who are members, at this FPR.

    The FPR must be stated: over all FPRs the supremum is 1 for every δ > 0. At FPR 0 the value
    is the limit from above.

    >>> import tellapart as ta
    >>> round(ppv(ta.guarantee(1, 1e-5), fpr=0.01, prior=0.01), 6)
    0.026733
    """
    check_curve(curve=curve)
    asked, before = _checks.rates_together(fpr=fpr, prior=prior)
    with np.errstate(all="ignore"):
        ratio = np.where(asked > 0, asked / curve._tpr(asked), np.exp(-steepest(curve)))
        return shaped(_precision(ratio, before), asked, before)


def precision(curve: TradeoffCurve, *, recall: ArrayLike, prior: ArrayLike = 0.5) -> float | Array:
    """The share of those flagged who are members, for an attack with this recall (TPR).

    At recall 0 the value is the limit from above.

    >>> import tellapart as ta
    >>> round(precision(ta.Laplace.with_epsilon(1).curve(), recall=0.3), 6)
    0.731059
    """
    check_curve(curve=curve)
    asked, before = _checks.rates_together(recall=recall, prior=prior)
    with np.errstate(all="ignore"):
        limit = np.exp(-steepest(curve))
        ratio = np.where(asked > 0, np.asarray(curve.fpr(asked)) / asked, limit)
        return shaped(_precision(ratio, before), asked, before)


def posterior(curve: TradeoffCurve, *, loss: ArrayLike, prior: ArrayLike) -> float | Array:
    """The posterior probability of membership after an output with this log-likelihood ratio.

    >>> import tellapart as ta
    >>> round(posterior(ta.guarantee(epsilon=1), loss=1.0, prior=0.5), 6)
    0.731059
    """
    check_curve(curve=curve)
    seen, before = _checks.reals(loss=loss), _checks.probabilities(prior=prior)
    try:
        np.broadcast_shapes(seen.shape, before.shape)
    except ValueError:
        _checks.refuse("prior", f"fit the shape of loss {seen.shape}", before.shape)
    largest, smallest = steepest(curve), -steepest(curve.mirrored())
    if np.any((seen > largest) | (seen < smallest)):
        outside = seen[(seen > largest) | (seen < smallest)]
        rule = f"be a loss this curve can produce, from {short(smallest)} to {short(largest)}"
        _checks.refuse("loss", rule, float(outside.flat[0]))
    with np.errstate(all="ignore"):
        return shaped(_precision(np.exp(-seen), before), seen, before)


def max_posterior(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """The largest posterior probability of membership that any output can lead to.

    1/(1 + gamma·e^−ε) for pure ε; 1 where some output, however unlikely, gives it all away.

    >>> import tellapart as ta
    >>> round(max_posterior(ta.guarantee(epsilon=1), prior=0.01), 6)
    0.026724
    """
    check_curve(curve=curve)
    before = _checks.probabilities(prior=prior)
    with np.errstate(all="ignore"):
        return shaped(_precision(np.exp(-steepest(curve)) + 0 * before, before), before)


def bayes_error(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """Error rate of the best membership inference attack under this prior.

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


def accuracy(curve: TradeoffCurve, *, prior: ArrayLike) -> float | Array:
    """Accuracy of the best membership inference attack under this prior: 1 − Bayes error.

    Beside its baseline: always guessing the likelier answer gives max(prior, 1 − prior).

    >>> import tellapart as ta
    >>> round(accuracy(ta.Laplace.with_epsilon(1).curve(), prior=0.5), 6)
    0.696735
    """
    return 1 - bayes_error(curve, prior=prior)


def best_decision(
    curve: TradeoffCurve, *, prior: ArrayLike = 0.5, miss_cost: float = 1.0, false_cost: float = 1.0
) -> AttackPoint:
    """The attack with the least expected cost, as a point of the curve.

    Equal costs give the maximum posterior; with prior 1/2 too, the maximum likelihood. An
    attacker who values true positives more sets ``miss_cost`` above ``false_cost``.

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

    ``weight`` is how much more recall counts than precision. Flagging
    everyone already scores (1 + weight²)/(1 + weight² + gamma).

    >>> import tellapart as ta
    >>> round(f_score(ta.Laplace.with_epsilon(1).curve(), prior=1 / 1.8), 4)
    0.7382

    See Also
    --------
    tellapart.plot.f_score : how it moves with the parameter
    """
    return f_score_attack(curve, weight=weight, prior=prior).score


def f_score_attack(
    curve: TradeoffCurve, *, weight: float = 1.0, prior: ArrayLike = 0.5
) -> FScoreAttack:
    """The attack with the largest F-score, with its threshold and rates.

    A monotone iteration: at score F the best threshold is log(gamma·F/(1 + weight² − F)), which
    gives a score at least as large, until none is. Where a loss lies within rounding of that
    threshold, both sides of it are tried: the better corner may be far away.

    >>> import tellapart as ta
    >>> best = f_score_attack(ta.guarantee(epsilon=1))
    >>> round(best.score, 4), round(best.rates.fpr, 4)
    (0.7311, 0.2689)
    """
    check_curve(curve=curve)
    b2 = check_weight(weight=weight) ** 2
    before = _checks.probabilities(prior=prior)
    certain = (before == 0) | (before == 1)
    with np.errstate(all="ignore"):
        game = _FScoreGame(curve, b2, np.where(certain, 0.5, before))
        cost, cut = game.best()
        whole = (1 + b2) / game.scale
        score = np.where(certain, before, whole / (whole + cost))
        short = np.where(certain, 1 - before, cost / (whole + cost))
    at = shaped(np.where(certain, -np.inf, cut), before)
    return FScoreAttack(shaped(score, before), shaped(short, before), at, curve.rates(at))


class _FScoreGame:
    """Attacks by cost = (gamma·FPR + weight²·FNR)/TPR: the F-score is (1 + b²)/(1 + b² + cost).

    The cost keeps its digits where the score is nearly 0 or nearly 1. It is kept divided by
    ``scale``, without which priors that a double can hardly hold would overflow it.
    """

    def __init__(self, curve: TradeoffCurve, b2: float, prior: Array) -> None:
        self.curve = curve
        self.prior = prior
        self.scale = np.where(prior < 1e-300, 2.0**60, 1.0)
        self.gamma = (1 - prior) / (prior * self.scale)
        self.b2 = b2 / self.scale

    def best(self) -> tuple[Array, Array]:
        """The least cost and its threshold, from "flag everyone" or "flag when certain" on."""
        top = min(self.curve._largest_loss(), float(np.finfo(float).max))
        cost, cut = self.gamma, np.full(self.prior.shape, -np.inf)
        cost, cut, _ = self._better(cost, cut, np.full((1, *self.prior.shape), top))
        for turn in range(_ROUNDS):
            aim, blur = self._threshold(cost)
            cost, cut, improved = self._better(cost, cut, aim + blur * _near(_CLOSE, aim))
            if improved.any():
                if turn == _PATIENCE:
                    cost, cut, _ = self._better(cost, cut, self._leap(aim, improved))
                continue
            cost, cut, improved = self._better(cost, cut, aim + blur * _near(_AROUND, aim))
            if not improved.any():
                break
        return cost, cut

    def _threshold(self, cost: Array) -> tuple[Array, Array]:
        """Log of gamma/(cost + b²), and how far rounding may have moved it."""
        rest = cost + self.b2
        sizes = 1 + np.abs(np.log(self.gamma)) + np.abs(np.log(rest))
        return log_ratio(self.gamma, rest), 8 * np.finfo(float).eps * sizes

    def _leap(self, aim: Array, slow: Array) -> Array:
        """Both sides of the best threshold, for an iteration that creeps up a thin tail.

        Below it log(TPR/(FPR + b²/gamma)) exceeds the threshold itself, from it on it does not.
        """
        per_gamma = np.clip(np.asarray(self.b2 / self.gamma)[slow], 5e-324, 1e308)

        def excess(threshold: Array) -> Array:
            fpr, tpr, _, _ = self.curve._rates(threshold)
            return np.asarray(np.log(tpr) - np.log(fpr + per_gamma) - threshold)

        low = np.asarray(aim)[slow]
        high = np.full_like(low, _BEYOND)
        start = np.where(excess(low) > 0, low, -_BEYOND)
        tried = np.full((2, *aim.shape), -np.inf)
        tried[:, slow] = solve.falling_root(excess, start, high)
        return tried

    def _better(self, cost: Array, cut: Array, tried: Array) -> tuple[Array, Array, Array]:
        """The least cost so far, after these thresholds (one more axis, in front)."""
        fpr, tpr, fnr, _ = self.curve._rates(tried)
        costs = self.gamma * (fpr / tpr) + self.b2 * fnr / tpr
        costs = np.where(tpr > 0, costs, np.inf)
        flat = costs.reshape(len(costs), -1)
        least = np.argmin(flat, axis=0), np.arange(flat.shape[1])
        lowest = flat[least].reshape(cost.shape)
        where = tried.reshape(flat.shape)[least].reshape(cost.shape)
        improved = lowest < cost
        return np.where(improved, lowest, cost), np.where(improved, where, cut), improved


def _near(steps: Array, like: Array) -> Array:
    return steps.reshape(-1, *(1 for _ in like.shape))


def check_weight(**named: float) -> float:
    """A weight of the F-score, whose square must be a double."""
    ((name, weight),) = named.items()
    b = _checks.finite_above_zero(**named)
    if not 1e-150 <= b <= 1e150:
        _checks.refuse(name, "lie between 1e-150 and 1e150", weight)
    return b


def _precision(ratio: Array, prior: Array) -> Array:
    """1/(1 + gamma·FPR/TPR); a prior of 0 or 1 is beyond doubt."""
    share = prior / (prior + (1 - prior) * ratio)
    return np.where(prior == 0, 0.0, np.where(prior == 1, 1.0, share))


def steepest(curve: TradeoffCurve) -> float:
    """The largest likelihood ratio an output can have, in logs."""
    with np.errstate(all="ignore"):
        return np.inf if curve._delta_at_infinity() > 0 else curve._largest_loss()


def _log_gamma(prior: Array) -> Array:
    return np.asarray(np.log1p(-prior) - np.log(prior))
