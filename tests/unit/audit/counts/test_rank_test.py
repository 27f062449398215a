"""The p-values of looks at ranks, against sums and integrals that share no code with them."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

import tellapart as ta
from tellapart.audit.counts.rank_test import (
    RankCounts,
    deltas,
    epsilons,
    gaussians,
    largest_refuted,
    p_values,
    upper_p_values,
)
from tellapart.curve.guarantees import gaussian

SETTINGS = [
    (1, 100, 9, 100),
    (1, 1, 5, 5),
    (3, 10, 8, 8),
    (27, 400, 60, 300),
    (81, 200, 150, 200),
]


def _look(*rows):
    return RankCounts(*np.array(rows, dtype=float).T)


def _integral(look, roc, inverse, kinks=()):
    """E[P[Bin(tested, roc(U)) ≥ beyond]] in 25 digits, cell by cell between many quantiles."""
    k, n, c, m = look
    chances = np.concatenate([10.0 ** np.arange(-18, -1, 2.0), [0.1, 0.3, 0.5, 0.7, 0.9]])
    chances = np.concatenate([chances, 1 - chances[:9]])
    turns = [float(inverse(t)) for t in betaincinv(c, m - c + 1, chances)]
    cuts = {*betaincinv(k, n - k + 1, chances).tolist(), *turns, *kinks}
    ends = [0, *sorted(mp.mpf(x) for x in cuts if 0 < x < 1), 1]
    nodes, weights = (list(map(mp.mpf, side)) for side in np.polynomial.legendre.leggauss(20))
    constant = mp.loggamma(n + 1) - mp.loggamma(k) - mp.loggamma(n - k + 1)
    total = mp.mpf(0)
    for low, high in itertools.pairwise(ends):
        for x, w in zip(nodes, weights, strict=True):
            u = low + (high - low) * (1 + x) / 2
            density = mp.exp(constant + (k - 1) * mp.log(u) + (n - k) * mp.log1p(-u))
            chance = mp.betainc(c, m - c + 1, 0, min(roc(u), 1), regularized=True)
            total += w * (high - low) / 2 * density * chance
    return total


@pytest.mark.parametrize("look", SETTINGS)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 1e-5), (0.3, 0.2), (0.0, 0.9)]
)
def test_guarantees_against_integrals(look, epsilon, delta):
    grows, d = mp.exp(mp.mpf(epsilon)), mp.mpf(delta)

    def roc(u):
        return min(d + grows * u, 1 - max(1 - d - u, 0) / grows)

    def inverse(t):
        return max((t - delta) * math.exp(-epsilon), 1 - delta - math.exp(epsilon) * (1 - t))

    with mp.workdps(25):
        kinks = ((1 - delta) / (1 + math.exp(epsilon)), 1 - delta)
        exact = _integral(look, roc, inverse, kinks)
        found = p_values(_look(look), epsilons(delta), np.array([epsilon]))[0]
        same = p_values(_look(look), deltas(epsilon), np.array([delta]))[0]
        assert found == same
        # Errs upwards only; the tails that are not integrated come to 1e-15.
        assert exact <= found <= exact * (1 + 1e-6) + 2e-15 or (found == 1 and exact > 1 - 1e-9)


@pytest.mark.parametrize("look", [(1, 100, 9, 100), (3, 10, 8, 8)])
@pytest.mark.parametrize("mu", [1e-3, 0.5, 2.0])
def test_gaussians_against_integrals(look, mu):
    def quantile(u):
        return mp.sqrt(2) * mp.erfinv(2 * u - 1) if u > 1e-9 else _far(u)

    def _far(u):
        start = -mp.sqrt(-2 * mp.log(u))
        return mp.findroot(lambda z: mp.log(mp.ncdf(z)) - mp.log(u), start, tol=1e-18)

    curve = gaussian(mu)
    with mp.workdps(25):
        exact = _integral(look, lambda u: mp.ncdf(quantile(u) + mu), lambda t: curve.fpr(t))
        found = p_values(_look(look), gaussians(), np.array([mu]))[0]
        assert exact <= found <= exact * (1 + 1e-6) + 2e-15 or (found == 1 and exact > 1 - 1e-9)


def _hypergeometric(k, n, c, m):
    """Without a leak all orders are alike: at most k − 1 others among the first k + c − 1."""
    first = k + c - 1

    def choose(a, b):
        return mp.loggamma(a + 1) - mp.loggamma(b + 1) - mp.loggamma(a - b + 1)

    largest = mp.exp(choose(n, k - 1) + choose(m, c) - choose(n + m, first))
    j = np.arange(k - 1, max(k - 1 - 400_000, 0), -1, dtype=float)
    falling = np.cumprod(j * (m - first + j) / ((n - j + 1) * (first - j + 1)))
    return largest * (1 + mp.mpf(float(np.sum(falling))))


@pytest.mark.parametrize(
    "look",
    [
        (1, 100, 9, 100),
        (27, 1000, 70, 900),
        (1, 10**8, 9, 10**8),
        (3**8, 10**6, 7100, 10**6),
        (3**14, 10**8, 4_795_000, 10**8),
        (3**16, 10**8, 43_075_000, 10**8),
        (3**18, 10**9, 387_560_000, 10**9),
    ],
)
def test_many_scores_keep_their_digits(look):
    with mp.workdps(40):
        exact = _hypergeometric(*look)
        found = p_values(_look(look), epsilons(0.0), np.zeros(1))[0]
        assert exact <= found <= exact * (1 + 1e-6) + 2e-15


def test_nobody_beyond_refutes_nothing():
    look = _look((3, 10, 0, 10))
    assert p_values(look, epsilons(0.0), np.zeros(1))[0] == 1
    assert upper_p_values(look, ta.guarantee(epsilon=1.0).tpr, np.array([0.01]))[0] == 1


@pytest.mark.parametrize("level", [1e-10, 1e-6, 0.004, 0.05])
@pytest.mark.parametrize("rank", [1, 27, 243])
def test_sums_for_any_curve_err_upwards_by_little(level, rank):
    """Near the level, where a few in a thousand decide: against the integrals with formulas."""
    for curve, family, at in (
        (ta.guarantee(epsilon=1.0, delta=0.05), epsilons(0.05), 1.0),
        (gaussian(0.7), gaussians(), 0.7),
    ):
        beyond = np.arange(1.0, 1001.0)
        many = _look(*[(rank, 1000, c, 1000) for c in beyond])
        exact = p_values(many, family, np.full(1000, at))
        near = np.flatnonzero((exact < 2 * level) & (exact > level / 3) & (exact > 1e-14))
        assert near.size
        sums = upper_p_values(many.at(near), curve.tpr, np.full(near.size, level))
        assert np.all(sums >= exact[near] * (1 - 2e-8))
        decided = exact[near] <= 0.99 * level
        assert np.all(sums[decided] <= exact[near][decided] + 0.01 * level)
        # What is not below the level for sure is not called so.
        assert np.all(sums[exact[near] > level * (1 + 2e-8)] > level)


@pytest.mark.parametrize("level", [1e-3, 0.05])
@pytest.mark.parametrize("rank", [1, 27, 243])
def test_sums_far_below_the_level_keep_their_digits(level, rank):
    """A violation of many deviations is told as one: no p-value ends at a share of the level."""
    beyond = np.arange(rank, 1001, 23)
    with mp.workdps(40):
        exact = np.array([float(_hypergeometric(rank, 1000, c, 1000)) for c in beyond])
    small = np.flatnonzero(exact < level / 3)
    looks = _look(*[(rank, 1000, c, 1000) for c in beyond[small]])
    sums = upper_p_values(looks, lambda fpr: fpr, np.full(small.size, level))
    assert exact[small].min() < 1e-17
    assert np.all(sums >= exact[small])
    assert np.all(sums <= exact[small] * 1.06 + 3e-17)


def _naive_sum(look, tpr):
    """Many cells of equal chance, each with its far end and with its near end."""
    k, n, c, m = look
    cuts = betaincinv(k, n - k + 1, np.linspace(0, 1, 20_001))
    chance = binom.sf(c - 1, m, np.clip(tpr(cuts), 0, 1))
    return chance[:-1].mean(), chance[1:].mean()


@pytest.mark.parametrize(
    "claim",
    [
        ta.RandomizedResponse(1.0).curve(),
        ta.DiscreteLaplace(scale=1.0).curve(),
        ta.attack([(0.01, 0.1), (0.2, 0.5), (0.6, 0.95)]),
        ta.dp_sgd(1.0, 0.01, 100).curve(),
    ],
    ids=["response", "discrete", "polygon", "dp-sgd"],
)
def test_sums_for_curves_with_kinks_and_without_formulas(claim):
    for look in ((1, 100, 12, 100), (27, 300, 70, 300), (81, 300, 160, 250)):
        least, most = _naive_sum(look, claim.tpr)
        found = upper_p_values(_look(look), claim.tpr, np.array([max(most, 1e-4) * 1.5]))[0]
        assert least * (1 - 1e-8) <= found <= most + 0.01 * max(most, 1e-4) * 1.5


@pytest.mark.parametrize("family", [epsilons(0.0), epsilons(1e-3), deltas(0.5), gaussians()])
@pytest.mark.parametrize("level", [0.004, 1e-8])
def test_the_largest_refuted_is_refuted_and_hardly_more_is_not(family, level):
    looks = _look((1, 500, 30, 500), (9, 500, 90, 500), (81, 500, 300, 500), (243, 500, 300, 500))
    levels = np.full(4, level)
    found, which = largest_refuted(looks, levels, family)
    assert found > 0
    p = p_values(looks, family, np.full(4, found))
    assert np.argmin(p) == which
    assert p[which] < level
    assert np.all(p_values(looks, family, np.full(4, found + 1e-6)) >= level)
    alone = [largest_refuted(looks.at(k), levels[:1], family)[0] for k in range(4)]
    assert found == pytest.approx(max(alone), abs=1e-9)


def test_no_look_refutes_where_nothing_leaks():
    assert largest_refuted(_look((3, 100, 3, 100)), np.array([0.01]), epsilons(0.0)) == (0.0, None)


def test_more_beyond_or_a_smaller_rank_or_level_never_proves_less():
    def bound(k, c, level=0.01):
        return largest_refuted(_look((k, 400, c, 400)), np.array([level]), epsilons(1e-4))[0]

    counts = [bound(9, c) for c in range(10, 400, 30)]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(counts))
    ranks = [bound(k, 200) for k in (1, 2, 5, 20, 80, 150)]
    assert all(a + 1e-9 >= b for a, b in itertools.pairwise(ranks))
    levels = [bound(9, 100, level) for level in (1e-10, 1e-6, 1e-3, 0.1)]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(levels))


@pytest.mark.parametrize("row", SETTINGS)
def test_a_claim_that_allows_everything_is_sure_to_be_seen(row):
    """No cell of the rate's law is left out: all of them together weigh 1."""
    found = upper_p_values(_look(row), np.ones_like, np.array([0.05]))
    assert 1 - 1e-12 <= found[0] <= 1
