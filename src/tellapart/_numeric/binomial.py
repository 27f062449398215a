"""Binomial laws: tails, masses and Clopper-Pearson limits, also far out and for 10^15 trials."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammaln, ndtri

from tellapart._checks import Array
from tellapart._numeric import solve

# Tails carry about 12 digits; limits are taken where the tail is smaller than asked by more.
_SLACK = 1e-11
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def upper_tail(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """P[X ≥ k] for X ~ Bin(n, p)."""
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    inside = betainc(np.clip(k, 1.0, n), np.maximum(n - k, 0.0) + 1, p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, inside))


def lower_tail(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """P[X ≤ k] for X ~ Bin(n, p)."""
    k, n = np.asarray(k, dtype=float), np.asarray(n, dtype=float)
    inside = betaincc(np.maximum(k, 0.0) + 1, np.maximum(n - k, 1.0), p)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, inside))


def pmf(k: ArrayLike, n: float, p: ArrayLike) -> Array:
    """P[X = k] for X ~ Bin(n, p)."""
    k = np.asarray(k, dtype=float)
    inside = np.clip(k, 0, n)
    return np.where(k == inside, mass(log_weight(inside, n), inside, n, p), 0.0)


def log_choose(n: ArrayLike, k: ArrayLike) -> Array:
    """The logarithm of the number of ways to take k of n."""
    many, some = np.asarray(n), np.asarray(k)
    return np.asarray(gammaln(many + 1) - gammaln(some + 1) - gammaln(many - some + 1))


def mass(weight: Array, k: Array, n: float | Array, p: ArrayLike) -> Array:
    """P[X = k], given the weight of k: Loader's form (2000), whose terms do not cancel."""
    p = np.asarray(p, dtype=float)
    with np.errstate(all="ignore"):
        return np.exp(weight - _deviance(k, n * p) - _deviance(n - k, n * (1 - p)))


def log_weight(k: Array, n: float | Array) -> Array:
    """What does not depend on p in the logarithm of P[X = k], 0 ≤ k ≤ n."""
    rest = n - k
    with np.errstate(all="ignore"):
        exponent = _stirling(np.asarray(n)) - _stirling(k) - _stirling(rest)
        inner = exponent + 0.5 * np.log(n / (2 * math.pi * k * rest))
    return np.where((k == 0) | (rest == 0), 0.0, inner)


def block_mass(
    weight: Array, middle: Array, reach: tuple[Array, Array], n: float, p: Array
) -> Array:
    """P[middle − reach ≤ X ≤ middle + reach], or hardly more: never less.

    Binomial laws are log-concave, so from the middle they fall at least geometrically.
    """
    with np.errstate(all="ignore"):
        odds = np.log(p) - np.log1p(-p)
        up = np.log((n - middle) / (middle + 1)) + odds
        down = np.log(middle / (n - middle + 1)) - odds
        sums = 1 + _geometric(down, reach[0]) + _geometric(up, reach[1])
        return np.asarray(np.fmin(mass(weight, middle, n, p) * sums, 1.0))


def _geometric(log_ratio: Array, terms: Array) -> Array:
    """The sum r + r² + … of so many terms."""
    inner = np.where(log_ratio == 0, 1e-300, log_ratio)
    total = np.exp(inner) * np.expm1(terms * inner) / np.expm1(inner)
    return np.where(terms == 0, 0.0, total)


def _stirling(n: Array) -> Array:
    """log(n!) less Stirling's formula."""
    large = np.maximum(n, 16.0)
    square = large * large
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    ) / large
    small = np.clip(n, 1e-300, 16.0)
    plain = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - _HALF_LOG_2PI
    return np.asarray(np.where(n >= 16, series, plain))


def _deviance(x: Array, mean: Array) -> Array:
    """x·log(x/mean) + mean − x, sharp where x is close to the mean."""
    change = (mean - x) / x
    ratio = change / (2 + change)
    square = ratio * ratio
    # 2·(r³/3 + r⁵/5 + …), far enough for |r| < 0.05
    tail = np.zeros_like(square)
    for power in (17, 15, 13, 11, 9, 7, 5, 3):
        tail = tail * square + 1 / power
    near = change * ratio - 2 * ratio * square * tail
    inner = x * np.where(np.abs(ratio) < 0.05, near, change - np.log1p(change))
    return np.where(x == 0, mean, inner)


def lower_limit(k: ArrayLike, n: ArrayLike, level: float | Array) -> Array:
    """The largest p under which k or more successes are no likelier than the level, or less."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    inner = np.maximum(k, 1.0)
    p = _number(betaincinv(inner, n - inner + 1, level * (1 - _SLACK)), 0.0)
    for step in 4.0 ** np.arange(-25, 1):
        over = upper_tail(inner, n, p) > level * (1 - _SLACK / 10)
        if not np.any(over):
            break
        p = np.where(over, p * (1 - step), p)
    return np.where(k == 0, 0.0, p)


def _number(limit: Array, none: float) -> Array:
    """A limit, or the widest one where SciPy returns NaN, as it may at levels next to 0."""
    return np.where(np.isnan(limit), none, limit)


def upper_limit(k: ArrayLike, n: ArrayLike, level: float | Array) -> Array:
    """The least p under which k or fewer successes are no likelier than the level, or more."""
    k, n = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(n, dtype=float))
    inner = np.minimum(k, n - 1)
    p = _number(betainccinv(inner + 1, n - inner, level * (1 - _SLACK)), 1.0)
    for step in 4.0 ** np.arange(-25, 1):
        over = lower_tail(inner, n, p) > level * (1 - _SLACK / 10)
        if not np.any(over):
            break
        p = np.where(over, p + step * p * (1 - p), p)
    return np.where(k == n, 1.0, np.minimum(p, 1.0))


def least_surprising(n: float, p: Array, level: float) -> Array:
    """The least k that X ~ Bin(n, p) reaches with no more than the level's probability."""
    p = np.asarray(p, dtype=float)
    z = -float(ndtri(level))
    guess = n * p + z * np.sqrt(n * p * (1 - p)) + (z * z - 1) * (1 - 2 * p) / 6 + 1
    near = np.floor(np.clip(guess, 0, n))

    def likely(k: Array) -> Array:
        return upper_tail(k, n, p) - level

    low, high = solve.climb(likely, near - 1, -2.0), solve.climb(likely, near + 1, 2.0)
    return solve.falling_whole(likely, np.maximum(low, -1.0), np.minimum(high, n + 1))[1]
