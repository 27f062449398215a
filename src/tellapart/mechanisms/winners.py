"""Which option wins: log-probabilities of noisy selections, from utilities in units of noise.

Why the worst case of permute-and-flip is the Laplace curve. Let A and B be the largest noisy
utilities inside and outside a set of options. A maximum of independent variables whose hazard
rate is at most 1 has hazard rate at most 1, so φ(x) = P(A − B > x) falls at a rate of at most
min(φ, 1 − φ). One record shifts A − B by at most ε. The function that falls fastest under that
rule is the Laplace tail, so no set, hence no test, beats the Laplace curve with shift ε. Two
options with exponential noise attain it: the difference of two exponential variables is Laplace.
The same rule bounds Laplace noise, whose hazard rate is at most 1, too.

Chances are sums by quadrature: right to a few ulp each, so losses to about 1e-15, whatever ε.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import roots_legendre

from tellapart._checks import Array
from tellapart.errors import NotCertified

# Further than this from a utility its factor in the integrand is exponential to e^−45.
_DEPTH = 45.0


def permute_and_flip(utility: Array) -> Array:
    """Option r comes at a uniform time t, is taken, and none before it was.

    P(r) = w_r·∫₀¹ Π_{s≠r} (1 − w_s·t) dt with w = exp(utility − best): a polynomial in t.
    """
    return _checked(_polynomial_wins(utility - utility.max(), 1.0))


def laplace_max(utility: Array) -> Array:
    """Option r has the largest sum of utility and Laplace noise of scale 1."""
    gap = utility - utility.max()
    # Beyond the best utility every factor is linear in t = e^−x: a polynomial again.
    parts = [_polynomial_wins(gap, 0.5)]
    lowest = gap.min() - _DEPTH
    for low, high in pairwise(np.unique(np.append(gap, lowest))):
        if high - low <= 2 * _DEPTH:
            parts.append(_log_wins_between(low, high, gap))
        else:
            # Far from both ends each factor is a plain exponential or 1.
            parts.append(_log_wins_between(low, low + _DEPTH, gap))
            parts.append(_log_wins_far(low + _DEPTH, high - _DEPTH, gap))
            parts.append(_log_wins_between(high - _DEPTH, high, gap))
    return _checked(np.logaddexp.reduce(parts, axis=0))


def _log_wins_between(low: float, high: float, gap: Array) -> Array:
    """Log of the chance that r wins with a sum in (low, high), by quadrature."""
    edges = np.linspace(low, high, math.ceil(4 * (high - low)) + 1)
    x, w = roots_legendre(32)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + x)).ravel()
    with np.errstate(divide="ignore"):  # between subnormal gaps there is no room for a weight
        log_weights = np.log(half * w).reshape(-1, 1)
    log_terms = _log_density_of_win(points, gap) + log_weights
    return np.asarray(np.logaddexp.reduce(log_terms, axis=0))


def _log_wins_far(low: float, high: float, gap: Array) -> Array:
    """The same where the density of a win is e^(m·x), m the number of other options above."""
    above = gap >= high
    m = above.sum() - np.where(above, 0, 1)
    at_high = _log_density_of_win(np.array([high]), gap)[0]
    length = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        growing = np.log(-np.expm1(-m * length) / m)
    return np.asarray(at_high + np.where(m == 0, math.log(length), growing))


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
