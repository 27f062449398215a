"""Means of e^(rate·f) along a chain, against the laws of its sums."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import ImpossibleSecret, Linear, MarkovChain, RecordValue, Sum
from tellapart.worlds.markov.laplace_tails import chain_log_mgf, interior_log_mgf

P = [[0.9, 0.1], [0.4, 0.6]]


@pytest.mark.parametrize("seed", range(8))
def test_all_records_at_once_are_one_law_each(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    transition = rng.dirichlet(np.ones(size), size)
    chain = MarkovChain(rng.dirichlet(np.ones(size)), transition, 6, rng.permutation(size) - 1)
    query, known, rates = Linear(rng.integers(-2, 3, 6)), {3: 0}, [0.7, -0.7, 0]
    found = chain_log_mgf(chain, rates, query, known)
    assert found.shape == (3, 6, size)
    for t in [0, 2, 5]:
        for a, value in enumerate(chain.domain(t)):
            law = chain.law(query, RecordValue(t, value), known)
            expected = [law.log_mgf(rate) for rate in rates]
            np.testing.assert_allclose(found[:, t, a], expected, atol=1e-12)


def test_values_that_cannot_be_read_nan():
    found = chain_log_mgf(MarkovChain([1, 0], P, 3), [1, -1])
    assert np.isnan(found[:, 0, 1]).all()
    assert np.isfinite(found[:, 1:]).all()
    with pytest.raises(ImpossibleSecret, match="known must have positive probability"):
        chain_log_mgf(MarkovChain([1, 0], P, 3), [1], known={0: 1})


def test_states_that_never_meet_are_added_in_logarithms():
    """Identical records: given X = 1 the sum is T, so log E is ±T, far apart from 0."""
    found = chain_log_mgf(MarkovChain([0.5, 0.5], np.eye(2), 5000), [1, -1])
    np.testing.assert_allclose(found[:, :, 0], 0, atol=1e-12)
    np.testing.assert_allclose(found[:, :, 1], np.array([[5000], [-5000]]) * np.ones(5000))


def test_a_way_through_states_of_almost_no_weight_is_kept():
    """Only state 2 leads to state 1, and at a rate of 1000 it weighs e^-1000 of state 0."""
    chain = MarkovChain([0.5, 0, 0.5], [[1, 0, 0], [0, 1, 0], [0, 1, 0]], 3, [1, 0, -1])
    found = chain_log_mgf(chain, [1000])
    np.testing.assert_allclose(found[0, 2, :2], [3000, -1000])
    assert found[0, 0, 2] == pytest.approx(-1000)


@pytest.mark.parametrize("seed", range(6))
def test_the_middle_of_a_long_chain_is_the_limit(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    transition, values = rng.dirichlet(np.ones(size), size), rng.permutation(size)
    chain = MarkovChain.stationary(transition, 400, values)
    rates = [1.0, -1.0, 0.2]
    middle = chain_log_mgf(chain, rates)[:, 200]
    limit = interior_log_mgf(transition, rates, values)
    np.testing.assert_allclose(middle - middle[:, :1], limit - limit[:, :1], atol=1e-10)
    np.testing.assert_allclose(np.exp(limit) @ chain.initial, 1, rtol=1e-12)


@pytest.mark.parametrize("rate", [40, -40, 2000, -2000])
def test_the_limit_keeps_the_digits_of_unlikely_states(rate):
    """Little noise: weights of states lie hundreds of powers of ten apart."""
    rng = np.random.default_rng(3)
    transition = rng.dirichlet(np.ones(4), 4)
    chain = MarkovChain.stationary(transition, 200)
    middle, limit = chain_log_mgf(chain, [rate])[0, 100], interior_log_mgf(transition, [rate])[0]
    np.testing.assert_allclose(middle - middle[0], limit - limit[0], rtol=1e-9)


def test_a_limit_that_is_not_reached_is_not_given():
    """The heaviest way is a circle of two states, along which weights never settle."""
    with pytest.raises(ta.NotCertified, match="ask chain_log_mgf"):
        interior_log_mgf([[0, 1, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]], [3000], [2, 1, 0])


@pytest.mark.parametrize("transition", [np.eye(2), [[0, 1], [1, 0]], [[0.5, 0.5], [0, 1]]])
def test_chains_that_never_forget_have_no_limit(transition):
    with pytest.raises(ta.Unsupported, match="ask chain_log_mgf"):
        interior_log_mgf(transition, [1])


def test_the_middle_of_ten_thousand_records_is_endless():
    chain = MarkovChain.stationary(P, 10_000)
    found = chain_log_mgf(chain, [1, -1])
    worst = np.abs(found[:, :, 1] - found[:, :, 0]).max()
    limit = interior_log_mgf(P, [1, -1])
    assert worst == pytest.approx(np.abs(limit[:, 1] - limit[:, 0]).max(), abs=1e-9)


def test_laws_of_long_sums_have_the_tails_of_the_passes():
    """Two routes to the same numbers where plain doubles would have lost the tails."""
    chain = MarkovChain.stationary(P, 3000)
    found = chain_log_mgf(chain, [2, -2])[:, 1500]
    for value in (0, 1):
        law = chain.law(Sum(), RecordValue(1500, value))
        assert found[0, value] == pytest.approx(law.log_mgf(2), rel=1e-12)
        assert found[1, value] == pytest.approx(law.log_mgf(-2), rel=1e-12)
        assert law.log_least < math.log(5e-324)
