"""Simultaneous confidence bands for FPR and TPR at every threshold, as DKW's, of equal local level.

Give each of n people V = P[score > theirs] + U·P[score = theirs], with U uniform and their own:
the V are uniform and independent for every law of scores, ties or not, and a larger score has
the smaller V. So the k-th largest score y_k belongs to the k-th smallest V, a Beta(k, n − k + 1),
and P[score > y_k] ≤ V_(k) ≤ P[score ≥ y_k]. Ties only widen the gaps on both sides:

- of others: FPR above y_k is at most V_(k), and upper bounds on the V bound it;
- of members: where j lie strictly above a threshold t, so does x_j, hence
  TPR above t ≥ P[score ≥ x_j] ≥ V_(j), and lower bounds on the V bound it.

Read from the low end, each person has 1 − V: as the default ranks are symmetric, bounds on how
many score *below* a threshold hold whenever those above do, at no further cost.

The bounds are Beta quantiles at one local level L, the same at all ranks, with L such that any
of them fails with the probability asked for (errs to a smaller L, by a few millionths).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, gammaln

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.solve import falling_root

# e^(−_SURE) is what may be dropped at one step: Chernoff's bounds below are solved for it.
_SURE = 41.5
# Shorter products are summed term by term, which is faster there and keeps relative digits.
_SHORT = 200_000


def noncrossing(n: int, ranks: NDArray[np.int64], bounds: Array) -> float:
    """P[U_(r) ≥ b_r for every rank r]; ranks rise strictly, and bounds do not fall."""
    masses, start, at = np.ones(1), 0, 0.0
    for rank, bound in zip(ranks.tolist(), bounds.tolist(), strict=True):
        deadline.check()
        floor = max(start, math.floor(n * bound - _below(n * bound * (1 - bound))))
        steps = _steps(n, at, bound, start, len(masses))
        low, high = max(steps[0], floor - start - len(masses) + 1), min(steps[1], rank - 1 - start)
        if high < low:
            return 0.0
        masses = _product(masses, _poisson(n * (bound - at), low, high))
        skip = max(0, floor - start - low)
        start, at = start + low + skip, bound
        masses = masses[skip : rank - start + skip]
    left = n - start - np.arange(len(masses))
    last = _poisson(n * (1 - at), int(left[-1]), int(left[0]))[::-1]
    return min(1.0, float(masses @ last) / _all_at_once(n))


def _below(variance: float) -> float:
    """A sum of independent 0s and 1s is further below its mean with probability e^−41.5."""
    return math.sqrt(2 * _SURE * variance) + 2 * _SURE / 3


def _above(mean: float) -> float:
    """The same above the mean (Bernstein's inequality)."""
    return _SURE / 3 + math.sqrt((_SURE / 3) ** 2 + 2 * _SURE * mean)


def _steps(n: int, at: float, bound: float, start: int, states: int) -> tuple[int, int]:
    """The least and most points that may fall between two bounds, seen from any state kept."""
    share = min(1.0, (bound - at) / (1 - at))
    least, most = (n - start - states + 1) * share, (n - start) * share
    low = max(0, math.floor(least - math.sqrt(2 * _SURE * least)))
    return low, math.ceil(most + _above(most))


def _poisson(mean: float, low: int, high: int) -> Array:
    """P[Poisson(mean) = k] for k from low to high, to about 1e-13 of each."""
    if mean == 0:
        return np.asarray(np.arange(low, high + 1) == 0, dtype=float)
    first = min(low, max(0, math.floor(mean - math.sqrt(2 * _SURE * mean))))
    last = max(high, math.ceil(mean + _above(mean)))
    # Ratios of neighbours keep the digits that k·ln(mean) − ln k! loses at large means.
    logs = np.zeros(last - first + 1)
    np.cumsum(np.log(mean / np.arange(first + 1, last + 1)), out=logs[1:])
    weights = np.exp(logs - logs.max())
    return np.asarray(weights[low - first : high - first + 1] / weights.sum())


def _product(a: Array, b: Array) -> Array:
    if len(a) * len(b) <= _SHORT:
        return np.convolve(a, b)
    from scipy.fft import irfft, next_fast_len, rfft

    size = next_fast_len(len(a) + len(b) - 1, real=True)  # type: ignore[no-untyped-call]
    product: Array = irfft(rfft(a, size) * rfft(b, size), size)[: len(a) + len(b) - 1]
    return np.maximum(product, 0.0)


def _all_at_once(n: int) -> float:
    """P[Poisson(n) = n]."""
    if n < 50:
        return math.exp(n * math.log(n) - n - float(gammaln(n + 1)))
    return math.exp(-1 / (12 * n) + 1 / (360 * n**3)) / math.sqrt(2 * math.pi * n)


Ranks = NDArray[np.int64]

# Up to this size every rank has a bound; beyond it, those near the ends and a geometric grid.
_EVERY_RANK = 5000
_DENSE = 128
_RATIO = 1.02
# Beyond these the union bound over the ranks takes the place of the exact probability.
_MOST_POINTS = 10**9
_MOST_RANKS = 20_000
_LEAST_LEVEL = 1e-7
# What the computed probability may miss: its rounding, and that of bounds close to 1.
_ABSOLUTE, _RELATIVE = 1e-10, 1e-6


def default_ranks(n: int) -> Ranks:
    """The ranks that carry bounds when none are named: all, or a grid fixed by n alone."""
    if n <= _EVERY_RANK:
        return np.arange(1, n + 1)
    ranks = list(range(1, _DENSE + 1))
    while ranks[-1] * _RATIO <= n / 2:
        ranks.append(math.ceil(ranks[-1] * _RATIO))
    near = np.array(ranks)
    return np.union1d(near, n + 1 - near)


def local_level(n: int, level: float, ranks: Sequence[int] | Ranks | None = None) -> float:
    """The level of each bound alone, so that all hold at once except with probability `level`.

    >>> round(local_level(100, 0.025), 6)
    0.001094
    """
    return _local_level(n, level, None if ranks is None else tuple(map(int, ranks)))


def lower_band(n: int, level: float, ranks: Sequence[int] | Ranks | None = None) -> Array:
    """Numbers that uniform order statistics of these ranks all reach, except with this chance."""
    return _quantiles(n, _array(n, ranks), local_level(n, level, ranks))


def upper_band(n: int, level: float, ranks: Sequence[int] | Ranks | None = None) -> Array:
    """Numbers that uniform order statistics of these ranks never exceed, but with this chance.

    >>> upper_band(1000, 0.025, ranks=[1, 10, 100]).round(4)
    array([0.0047, 0.0189, 0.1236])
    """
    asked = _array(n, ranks)
    mirrored = n + 1 - asked[::-1]
    local = local_level(n, level, None if ranks is None else mirrored)
    exact = betainccinv(asked, n - asked + 1, local)
    # 1 − U_(k) is the order statistic of rank n + 1 − k; the solved bounds are never beaten.
    return np.asarray(np.maximum(exact, 1 - _quantiles(n, mirrored, local)[::-1]))


def fpr_upper_above(count_above: ArrayLike, n: int, level: float) -> Array:
    """At most this many of all others score above any threshold that so many of n were above.

    With k of them strictly above, the (k + 1)-th largest is not, so FPR ≤ P[score > y_(k+1)];
    the next rank that carries a bound gives a larger one.
    """
    bounds = np.append(upper_band(n, level), 1.0)
    return np.asarray(
        bounds[np.searchsorted(default_ranks(n), np.add(count_above, 1), side="left")]
    )


def tpr_lower(count_above: ArrayLike, n: int, level: float) -> Array:
    """At least this many of all members score above any threshold that so many of n were above.

    >>> tpr_lower([0, 500, 1000], 1000, 0.025).round(4)
    array([0.    , 0.4479, 0.9925])
    """
    bounds = np.append(0.0, lower_band(n, level))
    return np.asarray(bounds[np.searchsorted(default_ranks(n), count_above, side="right")])


def _array(n: int, ranks: Sequence[int] | Ranks | None) -> Ranks:
    return default_ranks(n) if ranks is None else np.asarray(ranks)


def _quantiles(n: int, ranks: Ranks, local: float) -> Array:
    """The L-quantiles of these order statistics; whatever rounding does, they do not fall."""
    bounds = betaincinv(ranks, n - ranks + 1, local)
    return np.asarray(np.minimum.accumulate(bounds[::-1])[::-1])


@lru_cache(maxsize=256)
def _local_level(n: int, level: float, named: tuple[int, ...] | None) -> float:
    ranks = _array(n, named)
    union = level / len(ranks)
    target = level * (1 - _RELATIVE) - _ABSOLUTE
    if len(ranks) == 1 or n > _MOST_POINTS or len(ranks) > _MOST_RANKS or level < _LEAST_LEVEL:
        return union

    @cache
    def failing(minus_log: float) -> float:
        return 1 - noncrossing(n, ranks, _quantiles(n, ranks, math.exp(-minus_log)))

    def excess(minus_log: Array) -> Array:
        return np.asarray(math.log(max(failing(float(minus_log)), 1e-300) / target))

    low, high = np.asarray(-math.log(level)), np.asarray(-math.log(union))
    if excess(low) <= 0:
        return level
    if excess(high) > 0:
        return union
    return math.exp(-float(falling_root(excess, low, high, narrow=_RELATIVE)[1]))
