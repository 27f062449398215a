"""Bayesian bounds beside naive integrals, and how often they claim too much beside full sums."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import beta, binom

import tellapart as ta
from tellapart.audit import Counts
from tellapart.audit.bounds import Basis
from tellapart.audit.counts import coverage
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon


def _naive_posterior(counts, epsilon, delta):
    """∬ over the privacy region of both posterior densities."""
    fnr = beta(counts.members - counts.true_positives + 0.5, counts.true_positives + 0.5)
    fpr = beta(counts.false_positives + 0.5, counts.non_members - counts.false_positives + 0.5)
    r, d = math.exp(epsilon), delta

    def low(x):
        return max(0.0, 1 - d - x * r, (1 - d - x) / r)

    def high(x):
        return max(low(x), min(1.0, 1 + (d - x) / r, d + (1 - x) * r))

    return dblquad(lambda y, x: fnr.pdf(x) * fpr.pdf(y), 0, 1, low, high, epsabs=1e-9)[0]


@pytest.mark.parametrize(
    ("counts", "delta", "confidence"),
    [(Counts(9, 12, 2, 9), 0.0, 0.95), (Counts(5, 20, 3, 30), 0.05, 0.8)],
)
def test_joint_beta_is_where_the_double_integral_reaches_the_level(counts, delta, confidence):
    found = joint_beta_epsilon(counts, delta=delta, confidence=confidence, rate=False).value
    assert found > 0.01
    assert _naive_posterior(counts, found, delta) == pytest.approx(1 - confidence, abs=2e-6)


@pytest.mark.parametrize(
    ("counts", "steps"),
    [
        (Counts(221, 10**4, 9, 10**4), 4_000_001),
        (Counts(5 * 10**6, 10**7, 10**6, 10**7), 4_000_001),
        (Counts(5 * 10**4, 10**7, 10, 10**4), 4_000_001),
    ],
)
def test_joint_beta_at_any_size_is_the_plain_sum(counts, steps):
    """Over FNR in 4 million steps across 14 deviations; x e^ε ≤ 1 and δ = 0 leave one line."""
    found = joint_beta_epsilon(counts, rate=False).value
    a, b = counts.members - counts.true_positives + 0.5, counts.true_positives + 0.5
    centre, wide = a / (a + b), 7 * math.sqrt(a * b / (a + b) ** 3)
    x = np.linspace(centre - wide, centre + wide, steps)
    x = x[(x > 0) & (x < 1)]
    log = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x)
    weight = np.exp(log - log.max())
    low = np.maximum(1 - x * math.exp(found), (1 - x) * math.exp(-found))
    high = np.minimum(1 - x * math.exp(-found), (1 - x) * math.exp(found))
    k, n = counts.false_positives, counts.non_members
    law = beta(k + 0.5, n - k + 0.5)
    thin = slice(None, None, 400)
    inside = law.cdf(high[thin]) - law.cdf(low[thin])
    assert np.sum(weight[thin] * inside) / np.sum(weight[thin]) == pytest.approx(0.05, abs=1e-6)


def test_joint_beta_never_says_nothing_and_its_rate_says_so():
    found = joint_beta_epsilon(Counts(50, 100, 50, 100))
    assert 0.005 < found.value < 0.02
    assert found.false_claims == pytest.approx(1, abs=1e-9)
    assert joint_beta_epsilon(Counts(50, 100, 50, 100), delta=0.5).value == 0


@pytest.mark.parametrize("method", [jeffreys_epsilon, joint_beta_epsilon])
def test_the_rate_of_false_claims_is_the_full_sum(method):
    counts, delta = Counts(9, 12, 2, 10), 0.01
    bound = method(counts, delta=delta)
    fpr, tpr = coverage.likeliest_rates(counts, bound.value, delta)
    assert tpr == pytest.approx(ta.guarantee(bound.value, delta).tpr(fpr), abs=1e-12)
    rate = 0.0
    for x1 in range(13):
        for x0 in range(11):
            options = {"rate": False} if method is joint_beta_epsilon else {}
            claim = method(Counts(x1, 12, x0, 10), delta=delta, **options).value
            if claim > bound.value + 1e-7:
                rate += binom.pmf(x1, 12, tpr) * binom.pmf(x0, 10, fpr)
    assert bound.false_claims == pytest.approx(rate, abs=1e-9)
    assert bound.basis is Basis.BAYESIAN


def test_likeliest_rates_are_likelier_than_all_others_on_the_curve():
    counts, curve = Counts(30, 40, 5, 60), ta.guarantee(1.2, 0.01)
    fpr, tpr = coverage.likeliest_rates(counts, 1.2, 0.01)
    grid = np.linspace(1e-6, 1 - 1e-6, 20_001)

    def chance(p, q):
        return binom.logpmf(30, 40, q) + binom.logpmf(5, 60, p)

    assert np.all(chance(grid, curve.tpr(grid)) <= chance(fpr, tpr) + 1e-12)


@pytest.mark.parametrize("method", [jeffreys_epsilon, joint_beta_epsilon])
@pytest.mark.parametrize("delta", [0.0, 0.999, 1.0])
@pytest.mark.parametrize(
    "counts",
    [
        Counts(1298, 1298, 68973, 68973),
        Counts(0, 5, 5, 5),
        Counts(5, 5, 0, 5),
        Counts(1, 1, 0, 1),
        Counts(0, 1, 0, 10**9),
    ],
)
def test_extreme_counts_have_an_answer(counts, delta, method):
    bound = method(counts, delta=delta)
    assert 0 <= bound.value < 50
    assert 0 <= bound.false_claims <= 1
    if delta == 1:
        assert bound.value == 0
