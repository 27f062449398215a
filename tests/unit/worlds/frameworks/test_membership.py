"""Membership privacy against sums over all databases, record by record."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import (
    Channel,
    GaussianRecords,
    Independent,
    JointTable,
    MarkovChain,
    Predicate,
    RecordIn,
    RecordValue,
    Sum,
)
from tellapart.worlds.frameworks import membership
from tellapart.worlds.frameworks.membership_privacy import membership_epsilon
from tellapart.worlds.frameworks.result import Side


def random_case(seed):
    rng = np.random.default_rng(seed)
    records, size, outputs = 3, int(rng.integers(2, 4)), 4
    joint = rng.dirichlet([0.7] * size**records).reshape((size,) * records)
    rows = rng.dirichlet([1.0] * outputs, size=records * (size - 1) + 1)
    return JointTable([range(size)] * records, joint), rows / rows.sum(axis=1, keepdims=True)


def naive_moves(model, rows):
    """log posterior/prior of every value, from the joint law of databases and outputs."""
    shape = model.probabilities.shape
    for record, value in itertools.product(range(len(shape)), range(shape[0])):
        seen, both, prior = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), 0.0
        for place in np.ndindex(shape):
            share = model.probabilities[place]
            seen += share * rows[sum(place)]
            if place[record] == value:
                both += share * rows[sum(place)]
                prior += share
        yield from np.log(both / seen / prior)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_furthest_that_a_belief_moves(seed):
    model, rows = random_case(seed)
    moves = list(naive_moves(model, rows))
    release = Channel(dict(enumerate(rows)))
    found = membership(model, Sum(), release)
    assert found.epsilon == pytest.approx(np.abs(moves).max(), rel=1e-12)
    assert found.side is Side.EXACT
    assert not found.composes
    assert membership(model, Sum(), release, positive=True).epsilon == pytest.approx(max(moves))


def test_laplace_noise_moves_a_belief_most_at_an_atom():
    model = JointTable([[0, 1]] * 2, [[0.3, 0.2], [0.1, 0.4]])
    outputs = np.linspace(-3, 5, 4001)
    kernel = {s: np.exp(-np.abs(outputs - s) / 0.7) for s in range(3)}
    seen = sum(model.probabilities[p] * kernel[sum(p)] for p in np.ndindex(2, 2))
    worst = 0.0
    for record, value in itertools.product(range(2), range(2)):
        places = [p for p in np.ndindex(2, 2) if p[record] == value]
        prior = sum(model.probabilities[p] for p in places)
        told = sum(model.probabilities[p] * kernel[sum(p)] for p in places) / prior
        worst = max(worst, float(np.abs(np.log(told / seen)).max()))
    assert membership(model, Sum(), ta.Laplace(0.7)).epsilon == pytest.approx(worst, rel=1e-9)


def test_the_witness_is_the_output_that_moves_the_belief():
    model = Independent([[0.9, 0.1]])
    found = membership(model, Sum(), Channel({0: [0.8, 0.2], 1: [0.2, 0.8]}, ["no", "yes"]))
    # P(no) = 0.74, but 0.2 for the rare value; a yes raises its chance by 0.8/0.26 only.
    assert found.epsilon == pytest.approx(math.log(0.74 / 0.2))
    assert found.witness.output == "no"
    assert found.witness.likelier == RecordIn(0, (0, 1))
    assert found.witness.other == RecordValue(0, 1)


def test_absence_is_one_more_value_that_adds_nothing():
    # Record 0 is absent (0) or adds 1 or 2; the other is always there.
    model = Independent([[0.5, 0.25, 0.25], [0.5, 0.5]])
    present = RecordIn(0, (1, 2))
    release = Channel(dict(enumerate(np.array([[0.7, 0.3], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]]))))
    found = membership(model, Sum(), release, positive=True, secrets=[present])
    there = 0.25 * np.array([0.5, 0.5]) + 0.5 * np.array([0.4, 0.6]) + 0.25 * np.array([0.1, 0.9])
    away = 0.5 * np.array([0.7, 0.3]) + 0.5 * np.array([0.5, 0.5])
    assert found.epsilon == pytest.approx(np.log(there / (there / 2 + away / 2)).max())


def test_a_predicate_is_a_secret_as_well():
    model = JointTable([[0, 1]] * 2, np.full((2, 2), 0.25))
    release = Channel({0: [0.8, 0.2], 1: [0.2, 0.8]})
    equal = Predicate(lambda x: x[0] == x[1])
    found = membership(model, lambda x: float(x[0] != x[1]), release, secrets=[equal])
    assert found.epsilon == pytest.approx(math.log(0.5 / 0.2))
    assert membership(model, lambda x: float(x[0] != x[1]), release).epsilon == pytest.approx(0)


def test_the_worst_of_several_models_counts_and_impossible_values_are_reported():
    one, other = Independent([[1.0, 0.0]]), Independent([[0.5, 0.5]])
    found = membership([one, other], Sum(), ta.Laplace(1))
    assert found.epsilon == membership(other, Sum(), ta.Laplace(1)).epsilon
    assert found.skipped == (RecordValue(0, 1),)


def test_chains_agree_with_the_table_of_all_their_databases():
    chain = MarkovChain([0.3, 0.7], [[0.9, 0.1], [0.4, 0.6]], 4)
    joint = np.zeros((2,) * 4)
    for p in np.ndindex(*joint.shape):
        steps = [chain.transition[a, b] for a, b in itertools.pairwise(p)]
        joint[p] = chain.initial[p[0]] * math.prod(steps)
    table = JointTable([[0, 1]] * 4, joint)
    found = [membership(one, Sum(), ta.Laplace(1)).epsilon for one in (chain, table)]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


@pytest.mark.parametrize(
    ("gamma", "prior"), [(2, 0.5), (1.5, 0.1), (3, 0.9), (1.01, 0.3), (2, 0.45)]
)
def test_the_epsilon_for_gamma_is_the_largest_that_keeps_both_promises(gamma, prior):
    epsilon = membership_epsilon(gamma, prior)

    def kept(e):
        rise = prior * math.exp(e) / (prior * math.exp(e) + 1 - prior)
        return rise <= gamma * prior + 1e-14 and 1 - rise >= (1 - prior) / gamma - 1e-14

    assert kept(epsilon)
    assert not kept(epsilon + 1e-6)


@pytest.mark.parametrize("prior", [1e-9, 0.2, 0.5, 0.8, 1 - 1e-9])
def test_without_a_prior_it_holds_for_all(prior):
    assert membership_epsilon(2) <= membership_epsilon(2, prior)


def test_bad_input_is_refused():
    with pytest.raises(ta.InvalidArgument, match="gamma must be at least 1"):
        membership_epsilon(0.5)
    with pytest.raises(ta.InvalidArgument, match="prior must lie strictly between 0 and 1"):
        membership_epsilon(2, 1)
    with pytest.raises(ta.InvalidArgument, match="release must be"):
        membership(Independent([[0.5, 0.5]]), Sum(), 3)
    with pytest.raises(ta.Unsupported, match="densities"):
        membership(GaussianRecords([0], [[1]]), Sum(), ta.Laplace(1))
