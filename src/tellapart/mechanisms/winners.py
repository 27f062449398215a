"""Which option wins: log-probabilities of noisy selections, from utilities in units of noise.

Why the worst case of permute-and-flip is the Laplace curve. Let A and B be the largest noisy
utilities inside and outside a set of options. A maximum of independent variables whose hazard
rate is at most 1 has hazard rate at most 1, so φ(x) = P(A − B > x) falls at a rate of at most
min(φ, 1 − φ). One record shifts A − B by at most ε. The function that falls fastest under that
rule is the Laplace tail, so no set, hence no test, beats the Laplace curve with shift ε. Two
options with exponential noise attain it: the difference of two exponential variables is Laplace.
The same rule bounds Laplace noise, whose hazard rate is at most 1, too.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import roots_legendre

from tellapart._checks import Array
from tellapart.errors import NotCertified

# Further than this below the best utility the integrand has lost e^−45 of its size.
_DEPTH = 45.0


def permute_and_flip(utility: Array) -> Array:
    """Option r comes at a uniform time t, is taken, and none before it was.

    P(r) = w_r·∫₀¹ Π_{s≠r} (1 − w_s·t) dt with w = exp(utility − best): a polynomial in t.
    """
    return _checked(_polynomial_wins(utility - utility.max(), 1.0))


def laplace_max(utility: Array) -> Array:
    """Option r has the largest sum of utility and Laplace noise of scale 1."""
    gap = utility - utility.max()
    # Beyond the best utility every factor is linear in t = e^−x; below it, cut at each utility.
    far = _polynomial_wins(gap, 0.5)
    knots = np.unique(np.concatenate([gap[gap > -_DEPTH], [-_DEPTH]]))
    edges = np.concatenate(
        [np.linspace(a, b, math.ceil(4 * (b - a)) + 1)[:-1] for a, b in pairwise(knots)]
        + [knots[-1:]]
    )
    if len(edges) < 2:
        return _checked(far)
    x, w = roots_legendre(32)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + x)).ravel()
    weights = (half * w).ravel()
    near = np.logaddexp.reduce(_log_density_of_win(points, gap) + np.log(weights)[:, None], axis=0)
    return _checked(np.logaddexp(far, near))


def _polynomial_wins(gap: Array, share: float) -> Array:
    """Log of share·w_r·∫₀¹ Π_{s≠r} (1 − share·w_s·t) dt, exact by Gauss-Legendre."""
    x, w = roots_legendre(len(gap) // 2 + 1)
    t, w = (1 + x) / 2, w / 2
    factors = np.log1p(-share * t[:, None] * np.exp(gap))
    log_terms = factors.sum(axis=1, keepdims=True) - factors + np.log(w)[:, None]
    return np.asarray(np.logaddexp.reduce(log_terms, axis=0) + gap + math.log(share))


def _log_density_of_win(points: Array, gap: Array) -> Array:
    """Log of f(x − u_r)·Π_{s≠r} F(x − u_s) at each point x and for each option r."""
    away = points[:, None] - gap
    log_f = -np.abs(away) - math.log(2)
    log_below = np.where(away < 0, log_f, np.log1p(-np.exp(-np.abs(away)) / 2))
    return np.asarray(log_f + log_below.sum(axis=1, keepdims=True) - log_below)


def _checked(log_chances: Array) -> Array:
    total = float(np.logaddexp.reduce(log_chances))
    if not abs(total) < 1e-9:
        raise NotCertified(f"chances of the options sum to 1 + {math.expm1(total):.3g}")
    return log_chances - total
