"""The probability that the order statistics of a uniform sample all stay above given bounds.

U_(r) ≥ b_r says that fewer than r of the n points lie below b_r. Given their total, the points
are a Poisson process of rate n, whose counts grow by independent steps: one convolution per
bound, cut off at r − 1 points, and a division by P[Poisson(n) = n] at the end (Moscovich and
Nadler, 2017). States that n points reach with probability below 1e-18 are dropped, and with
them whole paths: the answer errs to the low side, but for rounding of about 1e-12.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tellapart import deadline
from tellapart._checks import Array

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
