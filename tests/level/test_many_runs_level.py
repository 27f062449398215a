"""How often audits of many runs refute what is true: exactly for few scores, by chance for more.

"By chance" tests allow what a correct method exceeds with probability below 1e-7; seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, multinomial

import tellapart as ta
from tellapart import audit
from tellapart.audit.counts.rank_test import epsilons, gaussians, p_values
from tellapart.audit.evidence.thresholds import columns
from tellapart.curve.guarantees import gaussian

HIGHER, EITHER = audit.Orientation.HIGHER, audit.Orientation.EITHER


# -- exactly: the sum over all orders of few scores ---------------------------------------------


def _pieces(epsilon, delta):
    """The worst pair of (ε, δ): chances of its four outputs for members and for others."""
    grown = math.exp(epsilon)
    large, small = (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown)
    return np.array([delta, large, small, 0.0]), np.array([0.0, small, large, delta])


def _order_probability(order, member, other):
    """Of who is who from the highest score down, where scores within a piece are uniform."""
    is_member = np.array(order)
    members, others = is_member.sum(), (~is_member).sum()
    before = np.concatenate([[0], np.cumsum(is_member)])
    # reach[s]: the chance that the first s lie in the pieces so far, in this order.
    reach = np.zeros(len(order) + 1)
    reach[0] = 1.0
    for p, q in zip(member, other, strict=True):
        after = np.zeros_like(reach)
        for start, end in itertools.combinations_with_replacement(range(len(reach)), 2):
            i = int(before[end] - before[start])
            j = end - start - i
            after[end] += reach[start] * p**i * q**j / math.factorial(end - start)
        reach = after
    return reach[-1] * math.factorial(int(members)) * math.factorial(int(others))


def _orders(members, others):
    for places in itertools.combinations(range(members + others), members):
        yield tuple(k in places for k in range(members + others))


def _scored(order, orientation):
    values = -np.arange(len(order), dtype=float)
    is_member = np.array(order)
    return audit.Scores(values[is_member], values[~is_member], orientation)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 5), (2, 7), (7, 2)])
@pytest.mark.parametrize("truth", [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1)])
@pytest.mark.parametrize("method", [audit.Ranks(), audit.Band()], ids=["ranks", "band"])
def test_all_orders_of_few_scores(method, truth, sizes):
    member, other = _pieces(*truth)
    claim = ta.guarantee(epsilon=truth[0], delta=truth[1])
    level, total, false = 0.6, 0.0, 0.0
    for order in _orders(*sizes):
        chance = _order_probability(order, member, other)
        total += chance
        if audit.many_runs(_scored(order, HIGHER), 1 - level, method).refutes(claim):
            false += chance
    assert total == pytest.approx(1)
    assert false <= level
    if sizes == (5, 5) and isinstance(method, audit.Ranks):
        assert false > 0  # the test can fail


def test_all_orders_read_both_ways():
    member, other = _pieces(0.5, 0.0)
    claim = ta.guarantee(epsilon=0.5, delta=0.0)
    found = [
        _order_probability(order, member, other)
        for order in _orders(5, 5)
        if audit.many_runs(_scored(order, EITHER), 0.3).refutes(claim)
    ]
    assert 0 < sum(found) <= 0.7


def _outcomes(n, chances):
    law = multinomial(n, chances)
    for counts in itertools.product(range(n + 1), repeat=len(chances)):
        if sum(counts) == n:
            yield counts, float(law.pmf(counts))


METHODS = [audit.Ranks(), audit.Band(), audit.Fixed(0.5)]


@pytest.mark.parametrize("orientation", [HIGHER, EITHER], ids=["higher", "either"])
@pytest.mark.parametrize("sizes", [(8, 8), (4, 11)])
@pytest.mark.parametrize("method", METHODS, ids=["ranks", "band", "fixed"])
def test_all_outcomes_of_answers_that_are_yes_or_no(method, sizes, orientation):
    """Randomised response with ε = 1: nearly all scores tie."""
    yes = math.exp(1) / (1 + math.exp(1))
    claim, level, false = ta.guarantee(epsilon=1.0), 0.5, 0.0
    for (ones, _), p in _outcomes(sizes[0], [yes, 1 - yes]):
        for (wrong, _), q in _outcomes(sizes[1], [1 - yes, yes]):
            sides = (np.arange(n) < k for n, k in zip(sizes, (ones, wrong), strict=True))
            scores = audit.Scores(*(side.astype(float) for side in sides), orientation)
            if audit.many_runs(scores, 1 - level, method).refutes(claim):
                false += p * q
    assert false <= level


# -- by chance ----------------------------------------------------------------------------------


def _allowed(tries, level):
    return binom.isf(1e-7, tries, level)


def _laplace(draw, shift, n):
    return draw.laplace(shift, 1.0, n)


def _normal(draw, shift, n):
    return draw.normal(shift, 1.0, n)


def _worst(draw, shift, n):
    """The worst pair of (0.5, 0.05) where shift is 1 for members."""
    member, other = _pieces(0.5, 0.05)
    return draw.choice(4, n, p=member if shift else other) * -1.0 + draw.random(n) / 2


TRUTHS = {
    "no leak": (lambda draw, shift, n: draw.random(n), epsilons(0.0), 0.0),
    "laplace": (_laplace, epsilons(0.0), 1.0),
    "normal": (_normal, gaussians(), 1.0),
    "worst": (_worst, epsilons(0.05), 0.5),
}
CLAIMS = {
    "no leak": ta.guarantee(epsilon=0.0),
    "laplace": ta.guarantee(epsilon=1.0),
    "normal": gaussian(1.0),
    "worst": ta.guarantee(epsilon=0.5, delta=0.05),
}


def _false_claims(name, sizes, level, orientation, tries):
    """How many audits by rank refute the truth: its p-values at all counts are worked out once."""
    sample, family, parameter = TRUTHS[name]
    draw = np.random.default_rng([7, len(name), *sizes])
    refuting, false = None, 0
    for k in range(tries):
        scores = audit.Scores(sample(draw, 1, sizes[0]), sample(draw, 0, sizes[1]), orientation)
        evidence = audit.many_runs(scores, 1 - level)
        if refuting is None:
            refuting = [_least_count(look, family, parameter) for look in evidence.looks]
        pairs = zip(evidence.looks, refuting, strict=True)
        hit = any(look.beyond >= least for look, least in pairs)
        if k < 20:
            assert hit == evidence.refutes(CLAIMS[name])
        false += hit
    return false


def _least_count(look, family, parameter):
    counts = np.arange(look.tested + 1.0)
    every = columns([look] * len(counts))._replace(beyond=counts)
    p = p_values(every, family, np.full(len(counts), parameter))
    return np.count_nonzero(p > look.level)


@pytest.mark.parametrize("sizes", [(3, 3), (10, 10), (100, 100), (40, 300)])
@pytest.mark.parametrize("name", TRUTHS)
def test_truths_are_spared(name, sizes):
    level, tries = 0.3, 1500
    assert _false_claims(name, sizes, level, HIGHER, tries) <= _allowed(tries, level)


@pytest.mark.parametrize("name", ["no leak", "laplace"])
def test_truths_are_spared_both_ways(name):
    assert _false_claims(name, (60, 60), 0.3, EITHER, 1000) <= _allowed(1000, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 1), (10, 10), (100, 100), (1000, 1000), (40, 3000)])
@pytest.mark.parametrize("name", TRUTHS)
def test_truths_are_spared_at_the_usual_level(name, sizes):
    tries = 5000
    assert _false_claims(name, sizes, 0.05, HIGHER, tries) <= _allowed(tries, 0.05)


def _split_claims(n, seed, tries):
    draw = np.random.default_rng([n, seed])
    claim, method = ta.guarantee(epsilon=0.0), audit.Split(seed=seed)
    return sum(
        audit.many_runs(audit.Scores(draw.random(n), draw.random(n)), 0.9, method).refutes(claim)
        for _ in range(tries)
    )


@pytest.mark.parametrize(("n", "seed"), [(20, 2), (300, 3), (700, 1)])
def test_no_seed_of_a_split_claims_falsely(n, seed):
    """Split by ranks with one seed for all data, these would refute far more often."""
    assert _split_claims(n, seed, 600) <= _allowed(600, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 75, 200, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_no_seed_of_a_split_claims_falsely_in_many_audits(n, seed):
    assert _split_claims(n, seed, 2000) <= _allowed(2000, 0.1)


@pytest.mark.parametrize("method", [audit.Band(), audit.Fixed(0.3)], ids=["band", "fixed"])
@pytest.mark.parametrize("name", ["laplace", "normal"])
def test_bands_and_fixed_thresholds_spare_truths(name, method):
    draw = np.random.default_rng(11)
    sample = TRUTHS[name][0]
    false = sum(
        audit.many_runs(
            audit.Scores(sample(draw, 1, 60), sample(draw, 0, 80)), 0.7, method
        ).refutes(CLAIMS[name])
        for _ in range(200)
    )
    assert false <= _allowed(200, 0.3)


@pytest.mark.parametrize("tries", [50, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", [audit.Ranks(), audit.Band()], ids=["ranks", "band"])
def test_all_true_claims_are_spared_together(method, tries):
    """Normal scores with μ = 1: any of ε at three δ, δ at two ε, μ and the curve may be wrong."""
    truth, level, false = gaussian(1.0), 0.3, 0
    at_delta = [(d, truth.epsilon(d)) for d in (1e-3, 0.02, 0.2)]
    at_epsilon = [(e, truth.delta(e)) for e in (0.0, 1.0)]
    draw = np.random.default_rng(5)
    for _ in range(tries):
        scores = audit.Scores(draw.normal(1, 1, 80), draw.normal(0, 1, 80))
        seen = audit.many_runs(scores, 1 - level, method)
        fpr, fnr = seen.curve().vertices()
        false += (
            any(seen.epsilon_lower(d).value > e for d, e in at_delta)
            or any(seen.delta_lower(e).value > d for e, d in at_epsilon)
            or seen.mu_lower().value > 1
            or seen.refutes(ta.Gaussian(sigma=1.0))
            or bool(np.any(truth.beta(fpr) > fnr + 1e-12))
        )
    assert false <= _allowed(tries, level)
