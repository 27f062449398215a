"""Intervals from counts: valid at any number of trials, against quadrature and exact sums."""

from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binomtest

from tellapart._numeric import binomial
from tellapart.worlds.markov.fitting import anytime


def clopper_pearson(successes, trials, level):
    """Intervals for a number of trials that was fixed beforehand."""
    ends = binomial.lower_limit, binomial.upper_limit
    return tuple(end(successes, trials, level / 2) for end in ends)


def bet(p, successes, trials):
    """Mixture of all likelihoods over the likelihood of p, by quadrature."""
    weigh = beta(0.5, 0.5).pdf
    inside = quad(
        lambda q: q**successes * (1 - q) ** (trials - successes) * weigh(q), 0, 1, limit=200
    )
    return inside[0] / (p**successes * (1 - p) ** (trials - successes))


@pytest.mark.parametrize(("successes", "trials"), [(1, 1), (3, 10), (10, 10), (7, 40)])
def test_the_ends_are_where_the_bet_pays_one_over_the_level(successes, trials):
    low, high = (float(one) for one in anytime(successes, trials, 0.05))
    assert 0 <= low < successes / trials <= high
    for end in (low, high):
        if 0 < end < 1:
            assert bet(end, successes, trials) == pytest.approx(20, rel=1e-5)
    assert bet((low + min(high, 1 - 1e-9)) / 2, successes, trials) < 20


def test_no_trials_say_nothing_and_no_failures_leave_one_end_open():
    assert [float(one) for one in anytime(0, 0, 0.05)] == [0, 1]
    assert float(anytime(0, 9, 0.05)[0]) == 0
    assert float(anytime(9, 9, 0.05)[1]) == 1
    low, high = anytime(10**9, 2 * 10**9, 0.05)
    assert 0.4998 < low < 0.5 < high < 0.5002


MOST = 150


@cache
def ends(way, level):
    """Both ends for all counts of up to so many trials; rows are trials, columns successes."""
    trials = np.arange(MOST + 1)[:, None]
    return way(np.minimum(np.arange(MOST + 1), trials), trials, level)


def ever_missed(way, p, level):
    low, high = ends(way, level)
    still, missed = np.append(1.0, np.zeros(MOST)), 0.0
    for trials in range(1, MOST + 1):
        still = still * (1 - p) + np.append(0, still[:-1] * p)
        out = (p < low[trials]) | (p > high[trials])
        missed += still[out].sum()
        still = np.where(out, 0, still)
    return missed


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5])
def test_the_chance_of_ever_missing_p_is_at_most_the_level(p):
    """Exact: all paths of up to 150 trials, each counted when its interval first misses p.

    Intervals for a fixed number of trials miss far too often if one may choose when to stop.
    """
    level = 0.1
    assert level / 20 < ever_missed(anytime, p, level) <= level
    assert ever_missed(clopper_pearson, p, level) > 1.5 * level


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 10), (10, 10), (123, 1000)])
def test_fixed_numbers_of_trials_are_clopper_and_pearsons(successes, trials):
    low, high = clopper_pearson(successes, trials, 0.03)
    exact = binomtest(successes, trials).proportion_ci(0.97, method="exact")
    assert low == pytest.approx(exact.low, rel=1e-9)
    assert high == pytest.approx(exact.high, rel=1e-9)
    assert low <= exact.low + 1e-15
    assert high >= exact.high - 1e-15


@pytest.mark.parametrize("successes", [10**3, 10**6, 10**9])
def test_ends_are_rounded_outward(successes):
    """Where digits are lost to large numbers an end lies where the bet is won all the same."""
    with mpmath.workdps(60):
        for trials in (2 * successes, 3 * successes + 1):
            for won in (successes, trials - successes):
                low = mpmath.mpf(float(anytime(won, trials, 0.05)[0]))
                even = mpmath.mpf(1) / 2
                paid = mpmath.loggamma(won + even) + mpmath.loggamma(trials - won + even)
                paid -= mpmath.loggamma(trials + 1) + mpmath.log(mpmath.pi)
                paid -= won * mpmath.log(low) + (trials - won) * mpmath.log(1 - low)
                assert paid >= mpmath.log(20)
