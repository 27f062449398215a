"""Bounds at all order statistics at once: exact probability, symmetry, ties, bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tellapart.audit.counts import confidence_band
from tellapart.audit.counts.confidence_band import (
    default_ranks,
    fpr_upper_above,
    local_level,
    lower_band,
    tpr_lower,
    upper_band,
)


def _crossing(n, ranks, bounds):
    """P[U_(r) < b_r for some r], by binomial steps in exact fractions."""
    masses, at = {0: Fraction(1)}, Fraction(0)
    for rank, bound in zip(ranks, map(Fraction, bounds), strict=True):
        share, after = (bound - at) / (1 - at), {}
        for m, mass in masses.items():
            for k in range(m, min(rank, n + 1)):
                step = math.comb(n - m, k - m) * share ** (k - m) * (1 - share) ** (n - k)
                after[k] = after.get(k, 0) + mass * step
        masses, at = after, bound
    return 1 - sum(masses.values())


@pytest.mark.parametrize("level", [0.5, 0.025, 1e-4])
@pytest.mark.parametrize(("n", "ranks"), [(1, None), (2, None), (6, None), (6, [2, 3, 6])])
def test_bounds_fail_as_often_as_asked_and_never_more(n, ranks, level):
    used = default_ranks(n) if ranks is None else np.array(ranks)
    failing = _crossing(n, used.tolist(), lower_band(n, level, ranks).tolist())
    assert level * (1 - 2e-6) - 2e-10 <= failing <= level * (1 + 1e-14)
    mirrored = 1 - upper_band(n, level, ranks)[::-1]
    failing = _crossing(n, (n + 1 - used[::-1]).tolist(), mirrored.tolist())
    assert level * (1 - 2e-6) - 2e-10 <= failing <= level * (1 + 1e-14)


def test_one_rank_is_clopper_pearson():
    assert lower_band(100, 0.05, [90])[0] == pytest.approx(stats.beta.ppf(0.05, 90, 11), rel=1e-12)
    assert upper_band(100, 0.05, [3])[0] == pytest.approx(stats.beta.isf(0.05, 3, 98), rel=1e-12)


@pytest.mark.parametrize("n", [7, 100, 20_000])
def test_lower_and_upper_bounds_mirror_each_other(n):
    assert upper_band(n, 0.05) == pytest.approx(1 - lower_band(n, 0.05)[::-1], abs=1e-15)


@pytest.mark.parametrize("n", [50, 2000, 10**6])
def test_between_the_union_bound_and_the_level(n):
    ranks = len(default_ranks(n))
    assert 0.05 / ranks < local_level(n, 0.05) < 0.05
    some = default_ranks(n)[::3]
    assert local_level(n, 0.05, some) > local_level(n, 0.05)


@pytest.mark.parametrize("n", [1, 2, 5000, 5001, 10**6, 10**9])
def test_default_ranks_are_symmetric_and_few(n):
    ranks = default_ranks(n)
    assert ranks[0] == 1
    assert ranks[-1] == n
    assert np.all(np.diff(ranks) > 0)
    assert np.array_equal(n + 1 - ranks[::-1], ranks)
    assert len(ranks) <= 5000
    # Along ranks in the lower half the next is at most 2 % and one rank away.
    low = ranks[ranks <= n / 2]
    assert np.all(np.diff(low) <= 0.02 * low[:-1] + 1)


def test_where_the_exact_probability_is_out_of_reach_the_union_bound_holds():
    assert local_level(10**12, 0.05) == 0.05 / len(default_ranks(10**12))
    assert local_level(50, 1e-9) == 1e-9 / 50
    assert local_level(50, 0.05) > 0.05 / 50


def test_monte_carlo_at_a_size_with_a_grid():
    """Failures of both bands among 20 000 samples of 6000; 5.5 standard errors: 4e-8 a side."""
    n, level, runs = 6000, 0.1, 20_000
    rng = np.random.default_rng(20)
    ranks = default_ranks(n)
    low, high = lower_band(n, level), upper_band(n, level)
    below = above = 0
    for _ in range(runs // 1000):
        gaps = rng.exponential(size=(1000, n + 1)).cumsum(axis=1)
        found = (gaps[:, :-1] / gaps[:, -1:])[:, ranks - 1]
        below += int(np.any(found < low, axis=1).sum())
        above += int(np.any(found > high, axis=1).sum())
    slack = 5.5 * math.sqrt(level * (1 - level) / runs)
    assert below / runs == pytest.approx(level, abs=slack)
    assert above / runs == pytest.approx(level, abs=slack)


@pytest.mark.parametrize("n", [40, 7000])
def test_counts_take_the_nearest_rank_on_the_sound_side(n):
    ranks, counts = default_ranks(n), np.arange(n + 1)
    low, high = lower_band(n, 0.05), upper_band(n, 0.05)
    for j, tpr, fpr in zip(
        counts, tpr_lower(counts, n, 0.05), fpr_upper_above(counts, n, 0.05), strict=True
    ):
        held, next_one = ranks <= j, ranks >= j + 1
        assert tpr == (low[held][-1] if held.any() else 0)
        assert fpr == (high[next_one][0] if next_one.any() else 1)


def test_count_bounds_lie_around_the_shares():
    n, counts = 10**4, np.arange(10**4 + 1)
    assert np.all(tpr_lower(counts, n, 0.05) <= counts / n)
    assert np.all(fpr_upper_above(counts, n, 0.05) >= counts / n)
    assert np.all(np.diff(tpr_lower(counts, n, 0.05)) >= 0)
    assert np.all(np.diff(fpr_upper_above(counts, n, 0.05)) >= 0)


def test_the_level_is_solved_once(monkeypatch):
    first = local_level(321, 0.05)
    monkeypatch.setattr(confidence_band, "noncrossing", None)
    assert local_level(321, 0.05) == first
