"""Inferential privacy against sums over all databases, and DP carried over to correlated ones."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Channel,
    Exchangeable,
    GaussianRecords,
    Independent,
    JointTable,
    MarkovChain,
    RecordValue,
    Sum,
)
from tellapart.worlds.frameworks import ghosh_kleinberg, inferential
from tellapart.worlds.frameworks.databases import tabled
from tellapart.worlds.frameworks.inferential_privacy import (
    ProductPriors,
)
from tellapart.worlds.frameworks.result import Side


def naive_epsilon(joint, likelihoods):
    """Over all records, pairs of values and outputs; likelihoods have outputs as last axis."""
    worst = 0.0
    for record, size in enumerate(joint.shape):
        axes = tuple(i for i in range(joint.ndim) if i != record)
        both = (joint[..., None] * likelihoods).sum(axis=axes)
        prior = joint.sum(axis=axes)
        for a, b in itertools.combinations([a for a in range(size) if prior[a] > 0], 2):
            ratio = np.log(both[a] / prior[a]) - np.log(both[b] / prior[b])
            worst = max(worst, float(np.abs(ratio).max()))
    return worst


def indexed(rng, shape, outputs=3):
    """A channel that depends on the whole database, the query that names the database."""
    size = math.prod(shape)
    rows = rng.dirichlet([1.0] * outputs, size=size)
    rows /= rows.sum(axis=1, keepdims=True)
    return (
        rows.reshape(*shape, outputs),
        Channel(dict(enumerate(rows))),
        lambda x: int(np.ravel_multi_index([int(v) for v in x], shape)),
    )


@pytest.mark.parametrize("seed", range(8))
def test_one_prior_and_a_list_of_them(seed):
    rng = np.random.default_rng(seed)
    shape = (2, 3, 2)
    rows, release, query = indexed(rng, shape)
    joints = rng.dirichlet([0.6] * 12, size=3).reshape(3, *shape)
    models = [JointTable([range(s) for s in shape], joint / joint.sum()) for joint in joints]
    wanted = [naive_epsilon(joint, rows) for joint in joints]
    found = [inferential(model, query, release).epsilon for model in models]
    assert found == pytest.approx(wanted, rel=1e-10)
    assert inferential(models, query, release).epsilon == pytest.approx(max(wanted))


def test_the_witness_is_the_pair_and_the_output():
    found = inferential(Independent([[0.5, 0.5]]), Sum(), Channel({0: [0.9, 0.1], 1: [0.5, 0.5]}))
    assert found.witness.likelier == RecordValue(0, 1)
    assert found.witness.other == RecordValue(0, 0)
    assert found.witness.output == 1
    assert found.epsilon == pytest.approx(math.log(5))


def test_impossible_values_are_reported():
    found = inferential(Independent([[0.5, 0.5, 0], [0.5, 0.5]]), Sum(), ta.Laplace(1))
    assert found.skipped == (RecordValue(0, 2),)
    assert found.epsilon == pytest.approx(1)


# -- independent records -------------------------------------------------------------------------


def neighbours_epsilon(rows):
    """DP by enumeration: databases that differ in one record."""
    worst = 0.0
    shape = rows.shape[:-1]
    for one, other in itertools.combinations(np.ndindex(shape), 2):
        if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
            worst = max(worst, float(np.abs(np.log(rows[one] / rows[other])).max()))
    return worst


@pytest.mark.parametrize("seed", range(5))
def test_all_product_priors_ask_what_dp_asks(seed):
    shape = (2, 3, 2)
    rows, release, query = indexed(np.random.default_rng(seed), shape)
    found = inferential(ProductPriors([range(s) for s in shape]), query, release)
    assert found.epsilon == pytest.approx(neighbours_epsilon(rows), rel=1e-10)
    assert found.composes


@pytest.mark.parametrize("seed", range(5))
def test_within_bounds_no_prior_exceeds_the_corners_and_one_attains_them(seed):
    rng = np.random.default_rng(seed)
    shape = (2, 3)
    rows, release, query = indexed(rng, shape)
    low = [np.full(s, 0.3 / s) for s in shape]
    high = [np.full(s, 1.5 / s) for s in shape]
    priors = ProductPriors([range(s) for s in shape], low, high)
    found = inferential(priors, query, release)
    assert not found.composes
    best = 0.0
    for _ in range(300):
        laws = [mixed(rng, priors.corners(i)) for i in range(2)]
        assert all(np.all(law >= lo - 1e-12) for law, lo in zip(laws, low, strict=True))
        assert all(np.all(law <= hi + 1e-12) for law, hi in zip(laws, high, strict=True))
        best = max(best, naive_epsilon(np.multiply.outer(*laws), rows))
    assert best <= found.epsilon + 1e-12
    corners = itertools.product(priors.corners(0), priors.corners(1))
    ends = [naive_epsilon(np.multiply.outer(*laws), rows) for laws in corners]
    assert found.epsilon == pytest.approx(max(ends), rel=1e-10)


def mixed(rng, corners):
    return rng.dirichlet([0.5] * len(corners)) @ corners


def test_corners_of_three_values():
    priors = ProductPriors([[0, 1, 2]], [[0.1, 0.1, 0.1]], [[0.6, 1, 1]])
    wanted = [[0.1, 0.1, 0.8], [0.1, 0.8, 0.1], [0.6, 0.1, 0.3], [0.6, 0.3, 0.1]]
    assert priors.corners(0) == pytest.approx(np.array(wanted))


def test_sums_under_laplace_noise_need_no_corners():
    low, high = [[0.2, 0.3]] * 3, [[0.7, 0.8]] * 3
    priors = ProductPriors([[0, 1], [0, 2], [0, 1]], low, high)
    found = inferential(priors, Sum(), ta.Laplace(1.5))
    listed = inferential(priors, lambda x: x[0] + x[1] + x[2], ta.Laplace(1.5))
    assert found.epsilon == pytest.approx(listed.epsilon, rel=1e-12)
    many = ProductPriors([[0, 1]] * 1000, [[0.2, 0.3]] * 1000)
    assert inferential(many, Sum(), ta.Laplace(2)).epsilon == 0.5


def test_a_value_whose_bound_is_0_is_reported():
    priors = ProductPriors([[0, 1, 5]], high=[[1, 1, 0]])
    found = inferential(priors, Sum(), ta.Laplace(1))
    assert found.epsilon == 1
    assert found.skipped == (RecordValue(0, 5),)


def test_bad_input_is_refused():
    with pytest.raises(ta.InvalidArgument, match="leave some law"):
        ProductPriors([[0, 1]], low=[[0.6, 0.6]])
    with pytest.raises(ta.InvalidArgument, match="low must be 2 lists"):
        ProductPriors([[0, 1], [0, 1]], low=[[0.1, 0.1]])
    with pytest.raises(ta.InvalidArgument, match="have 2 probabilities"):
        ProductPriors([[0, 1]], high=[[1.0]])
    with pytest.raises(ta.InvalidArgument, match="values must not be empty"):
        ProductPriors([])
    with pytest.raises(ta.Unsupported, match="endlessly many"):
        inferential(GaussianRecords([0], [[1]]), Sum(), ta.Laplace(1))
    with pytest.raises(ta.Unsupported, match="corners of the priors are too many"):
        inferential(ProductPriors([[0, 1]] * 18), max, ta.Laplace(1))
    with pytest.raises(ta.Unsupported, match="finite domains"):
        ghosh_kleinberg(GaussianRecords([0], [[1]]), 1)


# -- from DP to correlated records ---------------------------------------------------------------


def within_dp(rng, shape, epsilon):
    """Likelihoods of one output that neighbours change by e^ε at most, and by that somewhere."""
    logs = rng.integers(0, len(shape) + 1, size=shape).astype(float)
    for _ in range(len(shape)):
        for axis in range(len(shape)):
            logs = np.minimum(logs, logs.min(axis=axis, keepdims=True) + 1)
    if rng.random() < 0.5:
        far = [rng.integers(0, s) for s in shape]
        logs = sum((ix != f).astype(float) for ix, f in zip(np.indices(shape), far, strict=True))
    return np.exp(epsilon * logs)[..., None]


@pytest.mark.parametrize("seed", range(4))
def test_no_dp_release_exceeds_the_bound(seed):
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < 60:
        shape = tuple(rng.integers(2, 4, size=rng.integers(2, 4)))
        concentration = rng.choice([2.0, 10.0, 60.0])
        joint = rng.dirichlet([concentration] * math.prod(shape)).reshape(shape)
        epsilon = float(rng.choice([0.05, 0.5, 2.0]))
        bound = ghosh_kleinberg(JointTable([range(s) for s in shape], joint), epsilon)
        assert bound.side is Side.AT_MOST
        if bound.epsilon < math.inf:
            tried += 1
            rows = np.concatenate([within_dp(rng, shape, epsilon) for _ in range(6)], axis=-1)
            assert naive_epsilon(joint, rows) <= bound.epsilon + 1e-12


@pytest.mark.parametrize("initial", [[0.3, 0.7], [1.0, 0.0]])
@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_a_chain_needs_its_neighbours_only(initial, length):
    chain = MarkovChain(initial, [[0.52, 0.48], [0.45, 0.55]], length)
    table = tabled(chain, "")
    found, wanted = (ghosh_kleinberg(one, 0.7).epsilon for one in (chain, table))
    if initial[1] > 0:
        assert found == pytest.approx(wanted, rel=1e-12)
    else:  # the second record is taken to hear from both states of the first
        assert wanted - 1e-12 <= found <= wanted * 1.2


def naive_bound(joint, epsilon):
    """2ε·max Σ_k Γ^k·1 by the definition of Γ: all other records given, one of them moved."""
    count = joint.ndim
    influence = np.zeros((count, count))
    for own, other in itertools.permutations(range(count), 2):
        given = np.moveaxis(joint / joint.sum(axis=own, keepdims=True), (own, other), (0, 1))
        for a, b in itertools.permutations(range(given.shape[1]), 2):
            apart = np.abs(np.log(given[:, a] / given[:, b])).max()
            influence[own, other] = max(influence[own, other], apart / 2)
    if np.sqrt(np.linalg.eigvalsh(influence.T @ influence)[-1]) >= 1:
        return math.inf
    term = total = np.ones(count)
    for _ in range(2_000):
        term = influence @ term
        total = total + term
    return 2 * epsilon * total.max()


@pytest.mark.parametrize("concentration", [10.0, 60.0, 400.0])
@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 2), (2, 3, 2, 2)])
def test_the_bound_is_the_series_of_influences_by_enumeration(shape, concentration):
    rng = np.random.default_rng(int(concentration))
    for _ in range(10):
        joint = rng.dirichlet([concentration] * math.prod(shape)).reshape(shape)
        bound = ghosh_kleinberg(JointTable([range(s) for s in shape], joint), 0.3).epsilon
        assert bound == pytest.approx(naive_bound(joint, 0.3), rel=1e-9)


def test_the_bound_of_a_chain_is_that_of_its_influences():
    rows = [[0.36, 0.33, 0.31], [0.32, 0.35, 0.33], [0.33, 0.33, 0.34]]
    chain = MarkovChain([0.2, 0.3, 0.5], rows, 5)
    joint = tabled(chain, "").probabilities
    assert ghosh_kleinberg(chain, 0.3).epsilon == pytest.approx(naive_bound(joint, 0.3), rel=1e-9)
    assert naive_bound(joint, 0.3) < math.inf


def test_where_records_determine_others_there_is_no_bound():
    # Three equal bits: given two of them, the third never changes, yet together they tell 3ε.
    same = JointTable.of({(0, 0, 0): 0.5, (1, 1, 1): 0.5})
    found = ghosh_kleinberg(same, 1)
    assert found.epsilon == math.inf
    assert "impossible" in found.assumptions
    assert inferential(same, Sum(), ta.Laplace(1)).epsilon == pytest.approx(3)
    strong = ghosh_kleinberg(MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 10), 1)
    assert strong.epsilon == math.inf
    assert "norm" in strong.assumptions
    assert ghosh_kleinberg(MarkovChain([0.5, 0.5], [[1, 0], [0.5, 0.5]], 3), 1).epsilon == math.inf


def test_nothing_told_is_nothing_learned_and_independent_records_hear_nothing():
    assert ghosh_kleinberg(JointTable.of({(0, 0): 0.5, (1, 1): 0.5}), 0).epsilon == 0
    assert ghosh_kleinberg(Independent([[0.5, 0.5], [1.0, 0.0]]), 0.4).epsilon == 0.8
    spread = ghosh_kleinberg(Exchangeable([0.25, 0.5, 0.25]), 1).epsilon  # two fair coins
    assert spread == pytest.approx(2)
