"""Long chains: what is fast against what is listed, and what is refused in time."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Exchangeable,
    Independent,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    chain_epsilon_bound,
)
from tellapart.worlds.frameworks import (
    bayesian,
    compare_frameworks,
    dependent,
    differential_privacy,
    ghosh_kleinberg,
    group_privacy,
    membership,
    mutual_information,
    pufferfish,
)
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.markov.bounds import chain_log_ratio_bound
from tellapart.worlds.markov.quilts import quilt_scale, quilt_scale_approximate
from tellapart.worlds.markov.record_epsilons import ChainBounds, chain_beliefs

ONE = ta.Laplace(1)
STAYING = [[0.9, 0.1], [0.4, 0.6]]
THOUSAND = MarkovChain.stationary(STAYING, 1000)
ENDLESS = MarkovChain.stationary(STAYING, 10**7)
WITH_ZEROS = [[0.5, 0.5, 0], [0.1, 0.5, 0.4], [0, 0.3, 0.7]]
TURNING = [[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]]


def chains():
    rng = np.random.default_rng(4)
    yield MarkovChain.stationary(STAYING, 6)
    yield MarkovChain([1, 0, 0], WITH_ZEROS, 5)
    yield MarkovChain([0.5, 0.5, 0], TURNING, 8)
    yield MarkovChain([1, 0], [[0.5, 0.5], [0.0, 1.0]], 1)
    for states in (2, 2, 3):
        yield MarkovChain(
            rng.dirichlet(np.ones(states)),
            rng.dirichlet(np.ones(states), size=states),
            5,
            rng.permutation(states) * 2.0,
        )


@pytest.mark.parametrize("chain", list(chains()))
def test_possible_values_are_those_that_have_a_chance(chain):
    priors = [
        [chain.prior(RecordValue(t, value)) for value in chain.domain(t)]
        for t in range(chain.length)
    ]
    assert chain.possible.tolist() == (np.array(priors) > 0).tolist()
    assert chain.impossible == tuple(one for one in chain.secrets() if chain.prior(one) == 0)


def test_what_is_possible_comes_round_on_endless_chains():
    turning = MarkovChain([0, 1, 0], TURNING, 10**6 + 1)
    assert turning.possible.shape == (10**6 + 1, 3)
    assert np.all(turning.possible.argmax(axis=1) == (1 + np.arange(10**6 + 1)) % 3)
    # Too unlikely for a double, and still possible.
    rare = MarkovChain([1, 0], [[1 - 1e-300, 1e-300], [1, 0]], 5)
    assert rare.impossible == (RecordValue(0, 1),)
    chain = MarkovChain([1, 0, 0], [[0, 1, 0], [1e-200, 0, 1], [0, 1, 0]], 9)
    assert chain.possible[6].tolist() == [True, False, True]


@pytest.mark.parametrize("chain", list(chains()))
@pytest.mark.parametrize("positive", [True, False])
def test_beliefs_in_a_long_chain_are_bounded_from_both_sides(chain, positive):
    weights = Linear([1.0, -2.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0][: chain.length])
    for query in (Sum(), weights):
        truth = membership(chain, query, ONE, positive=positive)
        found = chain_beliefs(ChainBounds(chain, query, 1.0), positive)
        assert found.epsilon >= truth.epsilon - 1e-12
        assert found.witness.log_ratio <= truth.epsilon + 1e-12
        assert found.skipped == truth.skipped
        if found.exact:
            assert found.epsilon == pytest.approx(truth.epsilon, abs=1e-9)


def test_beliefs_in_a_chain_that_tends_to_stay_are_exact():
    short = MarkovChain.stationary(STAYING, 40)
    found = chain_beliefs(ChainBounds(short, Sum(), 1.0), positive=False)
    assert found.exact
    assert found.epsilon == pytest.approx(membership(short, Sum(), ONE).epsilon, abs=1e-10)
    long = membership(THOUSAND, Sum(), ONE)
    assert long.side is Side.EXACT
    assert long.epsilon > found.epsilon
    unsure = membership(MarkovChain.stationary([[0.2, 0.8], [0.4, 0.6]], 1000), Sum(), ONE)
    assert unsure.side is Side.AT_MOST
    assert unsure.witness.log_ratio < unsure.epsilon


@pytest.mark.parametrize("chain", list(chains()))
def test_log_ratios_of_ordered_pairs_are_bounds(chain):
    bound = chain_log_ratio_bound(chain, 1.0)
    outputs = np.linspace(-40, 40, 81)
    for t in range(chain.length):
        laws = chain.record_laws(Sum(), t)
        for a, b in itertools.product(range(len(laws)), repeat=2):
            if a == b or laws[a] is None or laws[b] is None:
                assert bound[t, a, b] == -math.inf
                continue
            away = [np.abs(outputs[:, None] - laws[i].values) for i in (a, b)]
            seen = [
                np.log(np.exp(laws[i].log_weights - one).sum(axis=1))
                for i, one in zip((a, b), away, strict=True)
            ]
            assert bound[t, a, b] >= (seen[0] - seen[1]).max() - 1e-9


@pytest.mark.parametrize(
    "model",
    [
        Independent([[0.7, 0.3]] * 3 + [[0.5, 0.5], [1.0, 0.0]]),
        Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]),
    ],
)
def test_records_that_are_alike_are_asked_once(model):
    query = Linear([1.0, 1.0, 2.0, 1.0, 1.0]) if model.records == 5 else Linear([1, 1, 0, 1])
    every = [mutual_information(model, query, ONE, "record", i) for i in range(model.records)]
    found = mutual_information(model, query, ONE, "record")
    assert found.epsilon == pytest.approx(max(one.epsilon for one in every), rel=1e-12)
    assert found.skipped == tuple(secret for one in every for secret in one.skipped)
    listed = membership(model, query, ONE, secrets=model.secrets())
    assert membership(model, query, ONE).epsilon == pytest.approx(listed.epsilon, rel=1e-12)
    assert membership(model, query, ONE).skipped == listed.skipped


def test_many_records_that_are_alike_cost_one():
    many = Independent([[0.7, 0.3]] * 1000)
    one = Independent([[0.7, 0.3]])
    told = [mutual_information(each, Sum(), ONE, "record").epsilon for each in (one, many)]
    assert 0 < told[1] < told[0]
    # Far out all records but this one cancel, and belief in 1 falls most.
    most = math.log(0.3 + 0.7 * math.e)
    assert membership(many, Sum(), ONE).epsilon == pytest.approx(most, rel=1e-9)


def test_one_record_of_a_long_chain_is_asked_by_name():
    with pytest.raises(ta.Unsupported, match=r"4\.0e9 steps.* name one by record="):
        mutual_information(THOUSAND, Sum(), ONE, "record")
    middle = mutual_information(THOUSAND, Sum(), ONE, "record", record=500).epsilon
    short = MarkovChain.stationary(STAYING, 1)
    assert 0 < middle < mutual_information(short, Sum(), ONE, "record").epsilon


REFUSED = {
    "pufferfish": lambda: pufferfish(ENDLESS, Sum(), ONE),
    "dependent": lambda: dependent(ENDLESS, Sum(), ONE),
    "support": lambda: dependent(ENDLESS, Sum(), ONE, reading="support"),
    "two values": lambda: pufferfish(
        ENDLESS, Sum(), ONE, pairs=[(RecordValue(5, 1), RecordValue(5, 0))]
    ),
    "a named secret": lambda: membership(ENDLESS, Sum(), ONE, secrets=[RecordValue(5, 1)]),
    "function": lambda: differential_privacy(ENDLESS, max, ONE),
    "membership": lambda: membership(ENDLESS, Sum(), ONE),
    "record": lambda: mutual_information(ENDLESS, Sum(), ONE, "record"),
    "given others": lambda: mutual_information(ENDLESS, Sum(), ONE, "given others"),
    "bayesian": lambda: bayesian(ENDLESS, Sum(), ONE),
    "bound": lambda: chain_epsilon_bound(ENDLESS, 1),
    "quilt": lambda: quilt_scale(ENDLESS, 1),
    "quilt of many": lambda: quilt_scale_approximate(10**7, 1, 0.2, 0.75),
}


@pytest.mark.parametrize("case", REFUSED)
def test_endless_chains_are_refused_with_their_size(case):
    with pytest.raises(ta.Unsupported, match=r"1\.0e7|e3010299|4\.0e7") as caught:
        REFUSED[case]()
    assert "ask" in str(caught.value)


@pytest.mark.slow
def test_endless_chains_have_the_numbers_that_need_no_walk():
    assert differential_privacy(ENDLESS, Sum(), ONE).epsilon == 1
    assert group_privacy(ENDLESS, Sum(), ONE).epsilon == 10**7
    assert mutual_information(ENDLESS, Sum(), ONE).epsilon == pytest.approx(0.08852, abs=1e-6)
    assert ghosh_kleinberg(ENDLESS, 1).epsilon == math.inf
    found = compare_frameworks(ENDLESS, Sum(), ONE)
    assert {"differential privacy", "group privacy"} <= {one.framework for one in found.rows}


def test_groups_of_chains_move_as_those_of_any_model():
    rng = np.random.default_rng(2)
    for values in ([0, 1], [-1, 3], [2, 5]):
        weights = Linear(rng.integers(-2, 3, size=6).astype(float))
        chain = MarkovChain([0.5, 0.5], STAYING, 6, values)
        same = Independent([[0.5, 0.5]] * 6, [values] * 6)
        for size in (1, 2, 6):
            found, other = (group_privacy(one, weights, ONE, size) for one in (chain, same))
            assert found.epsilon == other.epsilon
            assert found.witness == other.witness


def test_a_settled_bound_is_that_of_every_step():
    """A long run in which nothing changes, against the same with weights that break it."""
    chain = MarkovChain([0.3, 0.7], STAYING, 400)
    even = chain_epsilon_bound(chain, 1.0)
    nudged = np.ones(400)
    nudged[1::2] += 1e-13
    np.testing.assert_allclose(even, chain_epsilon_bound(chain, 1.0, Linear(nudged)), atol=1e-9)
