"""Bayesian credible bounds: Jeffreys limits, and the joint Beta posterior of both rates.

Credible is not certain: how often they claim too much depends on the truth. So each bound comes
with that frequency, computed at its own value.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, betaincinv

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.safe import times_exp
from tellapart._numeric.solve import climb, falling_root
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.clopper_pearson import log_ratio
from tellapart.audit.counts.coverage import false_claims, likeliest_rates

# Standard deviations at which a posterior is cut into panels.
_CUTS = np.array([-9.0, -5.0, -2.5, 0.0, 2.5, 5.0, 9.0])
_PANELS = np.linspace(-10.0, 10.0, 9)
_POINTS = 10


def jeffreys_epsilon(counts: Counts, *, delta: float = 0.0, confidence: float = 0.95) -> LowerBound:
    """The ε that someone with Jeffreys' priors on both rates would believe in; refutes nothing.

    >>> print(jeffreys_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 1.9789 (95 % credible, Bayesian, Jeffreys, overclaims in 0.84 % of audits)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    half = (1 - c) / 2
    fpr = _upper(np.array([float(counts.false_positives)]), counts.non_members, half)
    tnr = 1 - float(fpr[0])
    tpr = float(_lower(np.array([float(counts.true_positives)]), counts.members, half)[0])
    epsilon = max(0.0, log_ratio(tpr - d, float(fpr[0])), log_ratio(tnr - d, 1 - tpr))

    def silence(x1: Array, x0: Array) -> Array:
        fprs = _upper(x0, counts.non_members, half)
        bar = np.minimum(d + times_exp(fprs, epsilon), 1 - times_exp(1 - fprs - d, -epsilon))
        return np.asarray(betainc(x1 + 0.5, counts.members - x1 + 0.5, np.clip(bar, 0, 1)) - half)

    rate = false_claims(counts, *likeliest_rates(counts, epsilon, d), silence)
    return LowerBound(epsilon, c, Basis.BAYESIAN, "Jeffreys", rate)


def _upper(k: Array, n: int, level: float) -> Array:
    return np.where(k >= n, 1.0, betaincinv(k + 0.5, n - k + 0.5, 1 - level))


def _lower(k: Array, n: int, level: float) -> Array:
    return np.where(k <= 0, 0.0, betaincinv(k + 0.5, n - k + 0.5, level))


def joint_beta_epsilon(
    counts: Counts, *, delta: float = 0.0, confidence: float = 0.95, rate: bool = True
) -> LowerBound:
    """The ε that someone who weighs both rates together would believe in; refutes nothing.

    The least ε whose privacy region holds the posterior probability 1 − confidence (Zanella-
    Béguelin et al. 2023). With δ = 0 it never says 0. ``rate=False`` leaves out how often it
    claims too much, which takes longer than the bound.

    >>> print(joint_beta_epsilon(Counts(500, 1000, 50, 1000), delta=1e-5))
    ≥ 2.0756 (95 % credible, Bayesian, joint Beta posterior, overclaims in 5 % of audits)
    """
    d = _checks.probability(delta=delta)
    c = _checks.inside_unit(confidence=confidence)
    x1, x0 = (np.array([float(k)]) for k in (counts.true_positives, counts.false_positives))

    def missing(e: Array) -> Array:
        return (1 - c) - _posterior(x1, x0, counts, e, d)

    low = np.zeros(1)
    epsilon = 0.0
    if missing(low)[0] > 0:
        high = climb(missing, low + 0.5, 0.5)
        epsilon = float(falling_root(missing, low, high, 1e-9)[0][0])

    def silence(some_x1: Array, some_x0: Array) -> Array:
        at = np.full(some_x1.shape, epsilon)
        return _posterior(some_x1, some_x0, counts, at, d) - (1 - c)

    often = false_claims(counts, *likeliest_rates(counts, epsilon, d), silence) if rate else None
    return LowerBound(epsilon, c, Basis.BAYESIAN, "joint Beta posterior", often)


def _posterior(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """The posterior probability that the rates keep (ε, δ), for each pair of numbers of flagged.

    An integral over FNR = sin²θ: in θ the posterior is smooth also where no member was missed.
    """
    cuts = np.sort(_breaks(x1, x0, sizes, epsilon, delta), axis=-1)
    cuts = np.unique(cuts)[None] if x1.size == 1 else cuts
    low, high = cuts[:, :-1], cuts[:, 1:]
    missed, e = (sizes.members - x1)[:, None, None], epsilon[:, None, None]
    flagged = x0[:, None, None]

    def weight(fnr: Array) -> Array:
        return binomial.mass(np.zeros(1), missed, sizes.members, fnr)

    def inside(theta: Array) -> Array:
        fnr = np.sin(theta) ** 2
        low, high = _fpr_limits(fnr, e, delta)
        a, b = flagged + 0.5, sizes.non_members - flagged + 0.5
        held = np.maximum(betainc(a, b, high) - betainc(a, b, low), 0.0)
        return np.asarray(weight(fnr) * held)

    def every(theta: Array) -> Array:
        return weight(np.sin(theta) ** 2)

    kept = integrate(inside, low, high, _POINTS).sum(axis=-1)
    return np.asarray(kept / integrate(every, low, high, _POINTS).sum(axis=-1))


def _fpr_limits(fnr: Array, epsilon: Array, delta: float) -> tuple[Array, Array]:
    """Between which FPRs (ε, δ) allows this FNR."""
    low = np.maximum(1 - delta - times_exp(fnr, epsilon), times_exp(1 - delta - fnr, -epsilon))
    high = np.minimum(1 - times_exp(fnr - delta, -epsilon), delta + times_exp(1 - fnr, epsilon))
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    return low, np.maximum(low, high)


def _breaks(x1: Array, x0: Array, sizes: Counts, epsilon: Array, delta: float) -> Array:
    """Where the integrand bends: around the posterior of FNR, and where it meets that of FPR."""
    n, e, d = sizes.members, epsilon[:, None], delta
    centre = np.arcsin(np.sqrt((n - x1) / n))[:, None]
    bulk = np.clip(centre + _PANELS / (2 * math.sqrt(n)), 0, math.pi / 2)
    fpr = np.arcsin(np.sqrt(x0 / sizes.non_members))[:, None] + _CUTS / (
        2 * math.sqrt(sizes.non_members)
    )
    fpr = np.sin(np.clip(fpr, 0, math.pi / 2)) ** 2
    knot = (1 - d) * np.exp(-np.logaddexp(0, e))
    small = (1 - d) * np.exp(-e)
    crossings = [
        times_exp(1 - d - fpr, -e),
        1 - d - times_exp(fpr, e),
        d + times_exp(1 - fpr, e),
        1 - times_exp(fpr - d, -e),
    ]
    corners = [knot, 1 - knot, small, 1 - small, np.full_like(e, 1 - d), np.full_like(e, d)]
    others = np.arcsin(np.sqrt(np.clip(np.concatenate(crossings + corners, axis=1), 0, 1)))
    return np.concatenate([bulk, np.clip(others, bulk[:, :1], bulk[:, -1:])], axis=1)
