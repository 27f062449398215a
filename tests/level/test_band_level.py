"""How often bounds at all thresholds are broken, for scores with and without ties.

Each experiment repeats an audit of known rates. A method whose true rate of broken bounds is the
level or less fails a test here with probability below 1e-6 (binomial tail, stated limit).
"""

import numpy as np
import pytest
from scipy import stats

from tellapart.audit.counts.confidence_band import (
    fpr_upper_above,
    lower_band,
    tpr_lower,
    upper_band,
)

LEVEL = 0.1
WEIGHTS = {
    "two values": [0.3, 0.7],
    "few values": [0.01, 0.04, 0.2, 0.5, 0.2, 0.05],
    "one value": [1.0],
    "continuous": [1 / 4096] * 4096,
}


def _most(runs):
    return stats.binom.isf(1e-6, runs, LEVEL)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("n", [3, 40, 300])
def test_true_rates_at_every_threshold(weights, n):
    """Thresholds at every value, and all of them are looked at: the worst counts."""
    rng = np.random.default_rng(n)
    runs, values = 1500, len(weights)
    truth = 1 - np.cumsum(weights)  # P[score > value], for each value
    broken_fpr = broken_tpr = broken_at_ranks = 0
    upper = upper_band(n, LEVEL)
    for _ in range(runs):
        scores = rng.choice(values, size=n, p=weights)
        above = n - np.searchsorted(np.sort(scores), np.arange(values), side="right")
        broken_fpr += bool(np.any(truth > fpr_upper_above(above, n, LEVEL) + 1e-12))
        broken_tpr += bool(np.any(truth < tpr_lower(above, n, LEVEL) - 1e-12))
        largest_first = np.sort(scores)[::-1]
        broken_at_ranks += bool(np.any(truth[largest_first] > upper + 1e-12))
    assert broken_fpr <= _most(runs)
    assert broken_tpr <= _most(runs)
    assert broken_at_ranks <= _most(runs)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_scores_read_from_both_ends_share_one_level(weights):
    """Of members: how many lie above a threshold at least, and below it at most, together."""
    rng = np.random.default_rng(17)
    n, runs, values = 40, 3000, len(weights)
    truth_above = 1 - np.cumsum(weights)
    truth_below = np.cumsum(weights) - weights
    broken = 0
    for _ in range(runs):
        scores = np.sort(rng.choice(values, size=n, p=weights))
        below = np.searchsorted(scores, np.arange(values), side="left")
        above = n - np.searchsorted(scores, np.arange(values), side="right")
        too_few = truth_above < tpr_lower(above, n, LEVEL) - 1e-12
        too_many = truth_below > fpr_upper_above(below, n, LEVEL) + 1e-12
        broken += bool(np.any(too_few | too_many))
    assert broken <= _most(runs)


def test_a_band_of_single_limits_would_be_caught():
    """The same count of broken bounds, with each limit at the level alone, is far too large."""
    rng = np.random.default_rng(5)
    n, runs = 40, 1500
    single = stats.beta.ppf(LEVEL, np.arange(1, n + 1), n - np.arange(n))
    samples = np.sort(rng.random((runs, n)), axis=1)
    assert np.any(samples < single, axis=1).sum() > 3 * _most(runs)
    assert np.any(samples < lower_band(n, LEVEL), axis=1).sum() <= _most(runs)


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 500, 6000])
def test_continuous_scores_break_bounds_as_often_as_said(n):
    rng = np.random.default_rng(n)
    runs = 40_000 if n < 1000 else 4000
    broken = 0
    for _ in range(runs):
        u = np.sort(rng.random(n))
        counts = np.arange(1, n + 1)
        # Just below the j-th largest score, j lie above and the true rate is that of U_(j).
        broken += bool(np.any(u < tpr_lower(counts, n, LEVEL)))
    # 5 standard errors on each side: 6e-7 together.
    assert abs(broken - LEVEL * runs) <= 5 * np.sqrt(LEVEL * (1 - LEVEL) * runs)
