"""Mutual information against plain sums and scipy's quadrature; capacities by their bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import tellapart as ta
from tellapart.worlds import (
    Channel,
    Exchangeable,
    GaussianRecords,
    Independent,
    JointTable,
    Linear,
    MarkovChain,
    RecordValue,
    Sum,
    TreeNetwork,
)
from tellapart.worlds.frameworks import mutual_information
from tellapart.worlds.frameworks.databases import tabled
from tellapart.worlds.frameworks.mutual_information_dp import capacity
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs import integrals


def point(value):
    return FiniteLaw.of({value: 1})


def plain(joint):
    """I of a joint law of input and output."""
    both = joint[:, None].sum(axis=2) * joint.sum(axis=0)
    shown = joint > 0
    return float((joint[shown] * np.log(joint[shown] / both[shown])).sum())


def density(law, scale, o):
    return float(law.weights @ np.exp(-np.abs(o - law.values) / scale)) / (2 * scale)


def by_quadrature(laws, priors, density, ends, points):
    def at(o):
        rows = np.array([density(law, o) for law in laws])
        whole = priors @ rows
        return float(
            sum(p * r * math.log(r / whole) for p, r in zip(priors, rows, strict=True) if r > 0)
        )

    pieces = itertools.pairwise([ends[0], *points, ends[1]])
    return sum(quad(at, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pieces)


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_under_laplace_noise_it_is_the_integral(scale):
    laws = [FiniteLaw.of({0: 0.2, 1: 0.5, 6: 0.3}), FiniteLaw.of({1: 0.1, 2.5: 0.9}), point(-1)]
    priors = np.array([0.5, 0.2, 0.3])
    wanted = by_quadrature(
        laws,
        priors,
        lambda law, o: density(law, scale, o),
        (-1 - 36 * scale, 6 + 36 * scale),
        [-1, 0, 1, 2.5, 6],
    )
    found = integrals.mutual_information(laws, priors, ta.Laplace(scale))
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("sigma", [0.4, 2.0])
def test_under_gaussian_noise_it_is_the_integral(sigma):
    laws, priors = [FiniteLaw.of({0: 0.4, 3: 0.6}), point(1)], np.array([0.3, 0.7])

    def normal(law, o):
        away = (o - law.values) / sigma
        return float(law.weights @ np.exp(-(away**2) / 2)) / (sigma * math.sqrt(2 * math.pi))

    wanted = by_quadrature(laws, priors, normal, (-9 * sigma, 3 + 9 * sigma), [0, 1, 3])
    found = integrals.mutual_information(laws, priors, ta.Gaussian(sigma))
    assert found == pytest.approx(wanted, abs=1e-12)


def test_atoms_far_apart_tell_all():
    found = integrals.mutual_information([point(0), point(1e3)], [0.5, 0.5], ta.Laplace(1))
    assert found == pytest.approx(math.log(2), abs=1e-14)


def test_small_leaks_keep_their_digits():
    # To the fourth order in 1/b it is 1/(8b²): half the squared advantage of a random bit.
    found = integrals.mutual_information([point(0), point(1)], [0.5, 0.5], ta.Laplace(1e6))
    assert found == pytest.approx(1e-12 / 8, rel=1e-6)


def test_channels_give_plain_sums():
    rng = np.random.default_rng(5)
    rows = rng.dirichlet([0.5] * 4, size=3)
    rows[0] = [0.5, 0.5, 0, 0]
    rows /= rows.sum(axis=1, keepdims=True)
    priors = np.array([0.2, 0.0, 0.8])
    laws = [point(i) for i in range(3)]
    found = integrals.mutual_information(laws, priors, Channel(dict(enumerate(rows))))
    assert found == pytest.approx(plain(priors[:, None] * rows), rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_capacity_lies_between_close_bounds(seed):
    rng = np.random.default_rng(seed)
    size, outputs = rng.integers(2, 7, size=2)
    rows = rng.dirichlet([0.4] * outputs, size=size)
    rows[rng.random(rows.shape) < 0.2] = 0
    rows[:, 0] += 1e-3
    rows /= rows.sum(axis=1, keepdims=True)
    seen = integrals.log_masses([point(i) for i in range(size)], Channel(dict(enumerate(rows))))
    found = capacity(seen)
    assert found.upper == pytest.approx(found.lower, abs=1e-11)
    assert found.lower == pytest.approx(plain(found.prior[:, None] * rows), abs=1e-11)
    for prior in rng.dirichlet([1.0] * size, size=50):
        assert plain(prior[:, None] * rows) <= found.upper + 1e-12


def test_the_capacity_of_two_inputs_is_the_best_of_all_priors():
    rows = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    best = minimize_scalar(
        lambda p: -plain(np.array([[1 - p], [p]]) * rows),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-12},
    )
    model = Independent([[0.5, 0.5]])
    found = mutual_information(model, Sum(), Channel(dict(enumerate(rows))))
    assert found.epsilon == pytest.approx(-best.fun, abs=1e-10)
    assert found.side is Side.EXACT
    assert found.unit == "nats"
    assert found.composes


def test_an_input_in_between_is_given_up():
    seen = integrals.log_masses([point(i) for i in range(3)], ta.Laplace(1))
    found = capacity(seen)
    assert found.prior == pytest.approx([0.5, 0, 0.5], abs=1e-9)


# -- of a model's records ------------------------------------------------------------------------


def random_table(seed, size=2, records=3):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet([0.7] * size**records).reshape((size,) * records)
    rows = rng.dirichlet([1.0] * 3, size=records * (size - 1) + 1)
    rows /= rows.sum(axis=1, keepdims=True)
    return JointTable([range(size)] * records, joint), rows


def naive_alone(joint, rows, answer, record):
    both = np.zeros((joint.shape[record], rows.shape[1]))
    for p in np.ndindex(joint.shape):
        both[p[record]] += joint[p] * rows[answer(p)]
    return plain(both)


def naive_given(joint, rows, answer, record):
    """I(X_i; O, others) − I(X_i; others)."""
    size = joint.size // joint.shape[record]
    shape = (joint.shape[record], size, rows.shape[1])
    both = np.zeros(shape)
    moved = [s for i, s in enumerate(joint.shape) if i != record]
    for p in np.ndindex(joint.shape):
        rest = np.ravel_multi_index([x for i, x in enumerate(p) if i != record], moved)
        both[p[record], rest] += joint[p] * rows[answer(p)]
    return plain(both.reshape(shape[0], -1)) - plain(both.sum(axis=2))


@pytest.mark.parametrize("seed", range(6))
def test_both_forms_of_one_prior_are_sums_over_databases(seed):
    model, rows = random_table(seed, size=2 + seed % 2)
    release = Channel(dict(enumerate(rows)))
    joint = model.probabilities
    alone = [naive_alone(joint, rows, sum, i) for i in range(3)]
    given = [naive_given(joint, rows, sum, i) for i in range(3)]
    found = mutual_information(model, Sum(), release, "record")
    assert found.epsilon == pytest.approx(max(alone), rel=1e-10)
    assert not found.composes
    found = mutual_information(model, Sum(), release, "given others")
    assert found.epsilon == pytest.approx(max(given), rel=1e-10)
    for record in range(3):
        one = mutual_information(model, Sum(), release, "given others", record=record)
        assert one.epsilon == pytest.approx(given[record], rel=1e-10)
        assert f"record {record}" in one.assumptions


@pytest.mark.parametrize("query", [Sum(), lambda x: x[0] + x[1] + x[2]])
def test_the_most_over_priors_is_no_less_than_any_of_them(query):
    model, rows = random_table(11)
    release = Channel(dict(enumerate(rows)))
    most = mutual_information(model, query, release).epsilon
    for record, others in itertools.product(range(3), np.ndindex(2, 2)):
        for share in np.linspace(0.05, 0.95, 19):
            joint = np.zeros((2, 2, 2))
            for value, p in ((0, 1 - share), (1, share)):
                place = list(others)
                place.insert(record, value)
                joint[tuple(place)] = p
            prior = JointTable([[0, 1]] * 3, joint)
            one = mutual_information(prior, query, release, "given others", record=record)
            assert one.epsilon <= most + 1e-11
    best = [
        capacity(integrals.log_masses([point(s), point(s + 1)], release)).upper for s in range(3)
    ]
    assert most == pytest.approx(max(best), abs=1e-11)


def test_under_noise_a_shift_does_not_matter():
    model, _ = random_table(3)
    wanted = mutual_information(model, lambda x: 2 * x[0] + x[1] - x[2], ta.Laplace(1))
    found = mutual_information(model, Linear([2, 1, -1]), ta.Laplace(1))
    assert found.epsilon == pytest.approx(wanted.epsilon, abs=1e-11)


CHAIN = MarkovChain([0.2, 0.5, 0.3], [[0.8, 0.2, 0.0], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]], 4)
MODELS = {
    "chain": CHAIN,
    "starts in one state": MarkovChain([1, 0], [[0.9, 0.1], [0.4, 0.6]], 3),
    "two": MarkovChain([0.7, 0.3], [[0.9, 0.1], [0.4, 0.6]], 2),
    "one": MarkovChain([0.7, 0.3], [[0.9, 0.1], [0.4, 0.6]], 1),
    "independent": Independent([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]),
    "tree": TreeNetwork([-1, 0, 0], [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]]),
    "exchangeable": Exchangeable([0.1, 0.3, 0.2, 0.4]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", ["record", "given others", "prior-free"])
def test_every_model_agrees_with_the_table_of_its_databases(name, form):
    model = MODELS[name]
    table = tabled(model, "")
    found, wanted = (
        mutual_information(one, Sum(), ta.Laplace(0.8), form) for one in (model, table)
    )
    assert found.epsilon == pytest.approx(wanted.epsilon, rel=1e-10)
    assert found.skipped == wanted.skipped


def test_the_table_of_a_chain_is_the_product_of_its_steps():
    joint = tabled(CHAIN, "").probabilities
    for p in np.ndindex(joint.shape):
        steps = [CHAIN.transition[a, b] for a, b in itertools.pairwise(p)]
        wanted = CHAIN.initial[p[0]] * math.prod(steps)
        assert joint[p] == pytest.approx(wanted, rel=1e-12, abs=0)


def test_impossible_values_are_reported():
    model = MODELS["starts in one state"]
    for form in ("record", "given others"):
        found = mutual_information(model, Sum(), ta.Laplace(1), form)
        assert found.skipped == (RecordValue(0, 1),)


def test_a_long_chain_needs_no_list():
    chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 2000)
    found = mutual_information(chain, Sum(), ta.Laplace(1), "given others")
    short = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], 3)
    wanted = mutual_information(short, Sum(), ta.Laplace(1), "given others")
    assert found.epsilon == pytest.approx(wanted.epsilon, rel=1e-9)


def test_bad_input_is_refused():
    model = Independent([[0.5, 0.5]] * 30)
    with pytest.raises(ta.InvalidArgument, match="form must be one of"):
        mutual_information(model, Sum(), ta.Laplace(1), "best")
    with pytest.raises(ta.InvalidArgument, match="record must be"):
        mutual_information(model, Sum(), ta.Laplace(1), record=30)
    with pytest.raises(ta.Unsupported, match="databases are too many to list"):
        mutual_information(model, max, ta.Laplace(1))
    with pytest.raises(ta.InvalidArgument, match="query must be"):
        mutual_information(Independent([[0.5, 0.5]]), 3, ta.Laplace(1))
    with pytest.raises(ta.Unsupported, match="finite domains"):
        mutual_information(GaussianRecords([0], [[1]]), Sum(), ta.Laplace(1))
    with pytest.raises(ta.InvalidArgument, match="priors must be 2"):
        integrals.mutual_information([point(0), point(1)], [1.0], ta.Laplace(1))


def test_every_record_of_a_chain_is_told_as_much_as_by_its_table():
    rng = np.random.default_rng(11)
    chain = MarkovChain(rng.dirichlet([1, 1]), rng.dirichlet([0.5, 0.5], 2), 4)
    table, query = tabled(chain, ""), Linear([1, 3, 2, 1])
    for record in range(4):
        one, other = (
            mutual_information(model, query, ta.Laplace(2), "given others", record).epsilon
            for model in (chain, table)
        )
        assert one == pytest.approx(other, rel=1e-9)


def test_the_worst_that_others_may_be_counts_for_the_worst_prior():
    """A factor of 0 hides a record, which a larger one shows."""
    pair = Independent([[0.5, 0.5], [0.2, 0.3, 0.5]])
    alone = Independent([[0.5, 0.5]])
    for factors in ((0, 1, 3), (3, 0, 1), (1, 3, 0)):
        found = mutual_information(
            pair, lambda one, by=factors: one[0] * by[int(one[1])], ta.Laplace(2), record=0
        )
        most = mutual_information(alone, Linear([3]), ta.Laplace(2))
        assert found.epsilon == pytest.approx(most.epsilon, rel=1e-9)
