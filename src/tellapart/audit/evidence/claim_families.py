"""One-parameter families of claims, and the largest member that looks at ranks refute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr, ndtri

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.safe import times_exp
from tellapart.audit.counts.rank_test import RankCounts, smooth_p_values

# How close to the exact bound a search ends; it ends below it.
_NARROW = 1e-10
_AT_ONCE = 3


@dataclass(frozen=True)
class Family:
    """Claims that allow more as a parameter grows: their ROC, its inverse, where it has a kink.

    All members are symmetric in the two worlds, so they serve looks from both ends.
    """

    roc: Callable[[Array, Array], Array]
    inverse: Callable[[Array, Array], Array]
    kink: Callable[[Array], Array]
    most: float


def epsilons(delta: float) -> Family:
    """(ε, δ)-DP as ε grows."""
    d = np.array(delta)
    return Family(
        lambda u, e: _allowed(u, e, d), lambda t, e: _least(t, e, d), lambda e: _knot(e, d), 700.0
    )


def deltas(epsilon: float) -> Family:
    """(ε, δ)-DP as δ grows."""
    e = np.array(epsilon)
    return Family(
        lambda u, d: _allowed(u, e, d), lambda t, d: _least(t, e, d), lambda d: _knot(e, d), 1.0
    )


def _allowed(fpr: Array, epsilon: Array, delta: Array) -> Array:
    """The largest TPR under (ε, δ): below both of its lines."""
    one = times_exp(fpr, epsilon) + delta
    two = 1 - times_exp(np.maximum(1 - delta - fpr, 0.0), -epsilon)
    return np.minimum(one, two)


def _least(tpr: Array, epsilon: Array, delta: Array) -> Array:
    one = times_exp(np.maximum(tpr - delta, 0.0), -epsilon)
    two = 1 - delta - times_exp(1 - tpr, epsilon)
    return np.maximum(one, two)


def _knot(epsilon: Array, delta: Array) -> Array:
    return np.asarray((1 - delta) * expit(-epsilon))


def gaussians() -> Family:
    """Gaussian DP as μ grows."""
    return Family(
        lambda u, m: ndtr(ndtri(u) + m), lambda t, m: ndtr(ndtri(t) - m), np.zeros_like, 70.0
    )


def p_values(looks: RankCounts, family: Family, parameter: Array) -> Array:
    """The chance, were the claim true, of as many beyond each rank as there are."""
    at = parameter[:, None]
    with np.errstate(all="ignore"):
        return smooth_p_values(
            looks, lambda u: family.roc(u, at), lambda t: family.inverse(t, at), family.kink(at)
        )


def largest_refuted(looks: RankCounts, levels: Array, family: Family) -> tuple[float, int | None]:
    """The largest parameter that some look refutes at its level, and which look; (0, None) if none.

    Errs downwards, by less than 1e-9: the parameter returned is itself refuted.
    """
    zero = np.zeros(len(levels))
    open_ = np.flatnonzero(p_values(looks, family, zero) < levels)
    best, which = 0.0, None
    guess = _promise(looks)[open_]
    open_ = open_[np.argsort(-guess, kind="stable")]
    while open_.size:
        deadline.check()
        now, open_ = open_[:_AT_ONCE], open_[_AT_ONCE:]
        found = _roots(looks.at(now), levels[now], family, best)
        if found.max() > best:
            best, which = float(found.max()), int(now[np.argmax(found)])
        if open_.size:
            still = p_values(looks.at(open_), family, np.full(open_.size, best)) < levels[open_]
            open_ = open_[still]
    return best, which


def _promise(looks: RankCounts) -> Array:
    """Roughly the bound on ε each look will give: the log-ratio less a few deviations."""
    rate = looks.rank / looks.reference
    share = np.maximum(looks.beyond, 0.5) / looks.tested
    noise = np.sqrt(1 / looks.rank + 1 / np.maximum(looks.beyond, 0.5))
    return np.asarray(np.log(share / rate) - 2.5 * noise)


def _roots(looks: RankCounts, levels: Array, family: Family, low: float) -> Array:
    """Where each look stops refuting, from below; all of them refute at ``low``."""

    def refuting(parameter: Array) -> Array:
        at = np.minimum(parameter, family.most)
        return np.log(levels) - np.log(p_values(looks, family, at))

    start = np.full(len(levels), low)
    high = np.minimum(solve.climb(refuting, start, min(1.0, family.most / 2)), family.most)
    return solve.falling_root(refuting, start, high, narrow=_NARROW)[0]
