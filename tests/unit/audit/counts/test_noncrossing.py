"""The noncrossing probability beside exact fractions and a plain recursion."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import betaincinv

from tellapart.audit.counts.confidence_band import noncrossing


def _by_cells(n, ranks, bounds):
    """Adds up all ways n points fall into the cells between the bounds. Exact fractions."""
    edges = [Fraction(0), *map(Fraction, bounds), Fraction(1)]
    widths = [b - a for a, b in pairwise(edges)]
    total = Fraction(0)
    for counts in product(range(n + 1), repeat=len(widths)):
        below = np.cumsum(counts)
        if below[-1] == n and all(m < r for m, r in zip(below, ranks, strict=False)):
            ways = math.factorial(n)
            for count in counts:
                ways //= math.factorial(count)
            total += ways * math.prod(w**c for w, c in zip(widths, counts, strict=True))
    return total


def _naive(n, ranks, bounds):
    """Binomial steps from bound to bound, all states kept, with fractions: O(n³)."""
    masses, at = {0: Fraction(1)}, Fraction(0)
    for rank, bound in zip(ranks, map(Fraction, bounds), strict=True):
        share, after = (bound - at) / (1 - at), {}
        for m, mass in masses.items():
            for k in range(m, min(rank, n + 1)):
                step = math.comb(n - m, k - m) * share ** (k - m) * (1 - share) ** (n - k)
                after[k] = after.get(k, 0) + mass * step
        masses, at = after, bound
    return sum(masses.values())


@pytest.mark.parametrize(
    ("ranks", "bounds"),
    [
        ([1], [0.25]),
        ([3], [0.5]),
        ([1, 2, 3], [0.125, 0.25, 0.5]),
        ([1, 3, 4], [0.0625, 0.25, 0.75]),
        ([2, 4], [0.375, 0.375]),
        ([1, 2, 3, 4], [0.0, 0.0, 0.125, 0.9375]),
    ],
)
def test_every_way_to_fall_is_counted(ranks, bounds):
    exact = _by_cells(4, ranks, bounds)
    assert _naive(4, ranks, bounds) == exact
    assert noncrossing(4, np.array(ranks), np.array(bounds)) == pytest.approx(
        float(exact), rel=1e-13
    )


@pytest.mark.parametrize("n", [5, 12, 25])
@pytest.mark.parametrize("level", [0.3, 1e-3, 1e-6])
def test_beside_the_naive_recursion(n, level):
    ranks = np.arange(1, n + 1)
    # Short doubles keep the fractions short.
    bounds = betaincinv(ranks, n - ranks + 1, level).astype(np.float16).astype(float)
    exact = float(_naive(n, ranks.tolist(), bounds.tolist()))
    assert noncrossing(n, ranks, bounds) == pytest.approx(exact, abs=1e-12)


def test_impossible_and_certain():
    assert noncrossing(3, np.array([1]), np.array([0.0])) == pytest.approx(1, abs=1e-15)
    # 60 points never all lie above 1 − 1e-12, up to 1e-720.
    assert noncrossing(60, np.array([1]), np.array([1 - 1e-12])) == 0


@pytest.mark.parametrize("n", [10**5, 10**7])
@pytest.mark.parametrize("rank", [1, 70, 0.01, 0.5, 0.99, -3])
def test_one_bound_is_a_beta_quantile(n, rank):
    """One rank at a time, where the answer is known at any size."""
    r = int(rank * n) if 0 < rank < 1 else rank if rank > 0 else n + rank
    for level in (0.2, 1e-4):
        bound = betaincinv(r, n - r + 1, level)
        found = noncrossing(n, np.array([r]), np.array([bound]))
        assert 1 - found == pytest.approx(level, abs=2e-12, rel=3e-8)


@pytest.mark.parametrize("n", [10**4, 10**6])
def test_transforms_agree_with_term_by_term_sums(n, monkeypatch):
    near = np.unique(np.geomspace(1, n / 2, 60).astype(int))
    ranks = np.union1d(near, n + 1 - near)
    bounds = betaincinv(ranks, n - ranks + 1, 1e-3)
    fast = noncrossing(n, ranks, bounds)
    monkeypatch.setattr("tellapart.audit.counts.confidence_band._SHORT", 10**12)
    assert fast == pytest.approx(noncrossing(n, ranks, bounds), abs=1e-12)


def test_what_is_dropped_is_small():
    """Bounds crossed with a probability between 1e-13 and 1e-13 a rank: more is rounding."""
    n = 10**7
    near = np.unique(np.geomspace(1, n / 2, 200).astype(int))
    ranks = np.union1d(near, n + 1 - near)
    crossed = 1 - noncrossing(n, ranks, betaincinv(ranks, n - ranks + 1, 1e-13))
    assert 1e-13 * (1 - 1e-3) - 1e-12 <= crossed <= 1e-13 * len(ranks) + 1e-12
