"""Lower bounds on ε or μ from an attack's rates: the least under which it is possible.

A point that an optimal attacker reached gives the parameter; one that a realistic attacker
reached gives a lower bound, and of several points the largest counts. Rates measured on samples
need a confidence limit first: use an audit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from tellapart import _checks
from tellapart._checks import Array, shaped
from tellapart._numeric.text import short


def rates_from_precision(
    *, precision: ArrayLike, recall: ArrayLike, prior: float
) -> tuple[float | Array, float | Array]:
    """The FPR and TPR behind a precision and a recall, for a known prior.

    >>> fpr, tpr = rates_from_precision(precision=0.75, recall=0.6, prior=0.5)
    >>> round(fpr, 6), tpr
    (0.2, 0.6)
    """
    right, share = _checks.rates_together(precision=precision, recall=recall)
    before = _checks.inside_unit(prior=prior)
    if np.any((right == 0) & (share > 0)):
        _checks.refuse("precision", "exceed 0 where members are found", precision)
    with np.errstate(all="ignore"):
        fpr = np.where(share == 0, 0.0, share * (1 - right) / right * before / (1 - before))
        # A precision equal to the prior means FPR = recall; the last digits of both may miss it.
        slack = 8 * np.finfo(float).eps * (1 / (1 - right) + 1 / (1 - before))
    if np.any(fpr > 1 + slack):
        rule = (
            f"be possible with this recall and prior (FPR would be {short(float(np.max(fpr)), 4)})"
        )
        _checks.refuse("precision", rule, precision)
    fpr = np.minimum(fpr, 1.0)
    return shaped(fpr, fpr), shaped(share + 0 * fpr, fpr)


def least_epsilon(*, fpr: ArrayLike, tpr: ArrayLike, delta: float = 0.0) -> float | Array:
    """The least ε of any (ε, δ)-DP mechanism that an attack with these rates is possible against.

    >>> round(least_epsilon(fpr=0.1, tpr=0.9, delta=1e-4), 4)
    2.1971
    """
    d = _checks.probability(delta=delta)
    alpha, power = np.broadcast_arrays(*_checks.rates_together(fpr=fpr, tpr=tpr))
    beta, kept = 1 - power, 1 - alpha
    sides = [(kept, beta), (power, alpha), (alpha, power), (beta, kept)]
    with np.errstate(all="ignore"):
        needs = [np.where(a - d > 0, np.log(a - d) - np.log(b), 0.0) for a, b in sides]
    return shaped(np.maximum(np.max(needs, axis=0), 0.0), alpha)


def laplace_epsilon(*, fpr: ArrayLike, tpr: ArrayLike) -> float | Array:
    """The ε of Laplace noise whose best attack has these rates.

    >>> round(laplace_epsilon(fpr=0.1, tpr=0.9), 4)
    3.2189
    """
    alpha, power = _mirrored(fpr, tpr)
    with np.errstate(all="ignore"):
        epsilon = np.select(
            [alpha == power, power <= 0.5, alpha <= 0.5],
            [0.0, np.log(power / alpha), -np.log(4 * alpha * (1 - power))],
            np.log((1 - alpha) / (1 - power)),
        )
    return shaped(epsilon, alpha)


def gaussian_mu(*, fpr: ArrayLike, tpr: ArrayLike) -> float | Array:
    """The μ of Gaussian noise whose best attack has these rates; it fixes no (ε, δ).

    >>> round(gaussian_mu(fpr=0.05, tpr=0.26), 4)
    1.0015
    """
    alpha, power = _mirrored(fpr, tpr)
    with np.errstate(all="ignore"):
        return shaped(np.where(alpha == power, 0.0, ndtri(power) - ndtri(alpha)), alpha)


def _mirrored(fpr: ArrayLike, tpr: ArrayLike) -> tuple[Array, Array]:
    """An attack that is worse than a coin is as good as its opposite."""
    alpha, power = _checks.rates_together(fpr=fpr, tpr=tpr)
    worse = power < alpha
    return np.where(worse, 1 - alpha, alpha), np.where(worse, 1 - power, power)
