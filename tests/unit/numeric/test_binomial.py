"""Binomial tails, masses and limits against sums in high precision."""

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from tellapart._numeric import binomial


@pytest.fixture(autouse=True)
def digits():
    """Other tests, on the same worker, leave mpmath with fewer."""
    with mp.workdps(60):
        yield


CASES = [
    (n, p, round(n * p + z * np.sqrt(n * p * (1 - p))))
    for n in (1, 7, 100, 20_000)
    for p in (1e-6, 0.01, 0.3, 0.5, 0.9, 0.999)
    for z in (-8, -3, 0, 2, 5, 20)
    if 0 <= n * p + z * np.sqrt(n * p * (1 - p)) <= n
]


def _mass(k, n, p):
    log = mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)
    return mp.exp(log + (k * mp.log(p) if k else 0) + (n - k) * mp.log1p(-p))


def _tail(k, n, p):
    """Σ from k upwards, term by term."""
    term = total = _mass(k, n, p)
    while k < n and term > total * mp.mpf(10) ** -50:
        term *= mp.mpf(n - k) / (k + 1) * p / (1 - p)
        k, total = k + 1, total + term
    return total


@pytest.mark.parametrize(("n", "p", "k"), CASES)
def test_masses_and_tails_have_twelve_digits(n, p, k):
    exact = mp.mpf(p)
    for found, value in [
        (binomial.pmf(k, n, p), _mass(k, n, exact)),
        (binomial.upper_tail(k, n, p), _tail(k, n, exact)),
        (binomial.lower_tail(k, n, p), 1 - _tail(k, n, exact) + _mass(k, n, exact)),
    ]:
        if value > 1e-290:
            assert float(abs(found / value - 1)) <= 2e-12


@pytest.mark.parametrize("z", [-6, 0, 3, 12])
def test_the_mass_of_a_billion_trials_keeps_its_digits(z):
    n, p = 10**9, 0.25
    k = round(n * p + z * np.sqrt(n * p * (1 - p)))
    assert float(abs(binomial.pmf(k, n, p) / _mass(k, n, mp.mpf(p)) - 1)) <= 1e-11


def test_outside_the_range_tails_are_certain_or_impossible():
    assert binomial.upper_tail([-1, 0, 6], 5, 0.3).tolist() == [1, 1, 0]
    assert binomial.lower_tail([-1, 5, 6], 5, 0.3).tolist() == [0, 1, 1]
    assert binomial.pmf([-1, 6], 5, 0.3).tolist() == [0, 0]
    assert binomial.pmf([0, 5], 5, 0.0).tolist() == [1, 0]
    assert binomial.pmf([0, 5], 5, 1.0).tolist() == [0, 1]


@pytest.mark.parametrize("level", [0.3, 0.025, 1e-6, 1e-30])
@pytest.mark.parametrize("n", [1, 13, 1000, 10**7, 10**12, 10**15])
def test_limits_are_on_the_sound_side_and_close(n, level):
    k = np.unique(np.array([0, 1, n // 3, n - 1, n]))
    low, high = binomial.lower_limit(k, n, level), binomial.upper_limit(k, n, level)
    assert np.all(binomial.upper_tail(k[k > 0], n, low[k > 0]) <= level)
    assert np.all(binomial.lower_tail(k[k < n], n, high[k < n]) <= level)
    assert low[0] == 0
    assert high[-1] == 1
    if n <= 10**7:  # near 1, neighbouring doubles have tails far apart
        assert np.all(binomial.upper_tail(k[k > 0], n, low[k > 0]) >= level * (1 - 1e-7))
        inner = (k < n) & (high < 1 - 1e-6)
        assert np.all(binomial.lower_tail(k[inner], n, high[inner]) >= level * (1 - 1e-7))


@pytest.mark.parametrize("level", [1e-100, 1e-200, 1e-300, 5e-324, 0.0])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_limits_are_numbers_at_any_level(n, level):
    k = np.unique(np.array([0, 1, n // 3, n - 1, n]))
    for limit in (binomial.lower_limit(k, n, level), binomial.upper_limit(k, n, level)):
        assert np.all((limit >= 0) & (limit <= 1))


@pytest.mark.parametrize("n", [1, 2, 30, 5000])
@pytest.mark.parametrize("level", [0.5, 0.025, 1e-9])
def test_the_least_surprising_count_is_the_first_one(n, level):
    p = np.concatenate([np.linspace(0, 1, 101), [1e-12, 1 - 1e-12]])
    found = binomial.least_surprising(n, p, level)
    every = np.arange(n + 2)
    naive = [every[binom.sf(every - 1, n, one) <= level][0] for one in p]
    assert found.tolist() == naive
