"""Random event trees, read and composed, beside dp_accounting's pessimistic answers to the same.

dp_accounting rounds losses up to a mesh, so it may only lie above; by how much follows from the
mesh. It drops the count of randomized response, so it is given trees without counts.
"""

import dp_accounting as dp
import pytest
from dp_accounting import dp_event, pld, rdp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.accountants.dp_accounting import CurveAccountant

ADD_REMOVE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp.NeighboringRelation.REPLACE_ONE
SPECIAL = dp.NeighboringRelation.REPLACE_SPECIAL
MESH = 1e-3


def between(low, high):
    return st.floats(low, high, allow_nan=False)


GAUSSIANS = st.builds(dp.GaussianDpEvent, between(0.7, 8))
SUMS = (
    GAUSSIANS
    | st.builds(dp.LaplaceDpEvent, between(1, 10))
    | st.builds(dp_event.DiscreteLaplaceDpEvent, between(0.1, 1), st.integers(1, 3))
    | st.builds(dp.PoissonSampledDpEvent, between(0.01, 0.9), GAUSSIANS)
    | st.just(dp.NoOpDpEvent())
)
ANSWERS = st.builds(dp.RandomizedResponseDpEvent, between(0.2, 1 - 1e-3), st.integers(2, 6))
LEAVES = {ADD_REMOVE: SUMS, SPECIAL: SUMS | ANSWERS, REPLACE: GAUSSIANS | ANSWERS}


def trees(leaves):
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(dp.ComposedDpEvent, st.lists(inner, min_size=1, max_size=3))
            | st.builds(dp.SelfComposedDpEvent, inner, st.integers(1, 4))
        ),
        max_leaves=5,
    )


def spelled_out(event):
    """The same tree without counts."""
    if isinstance(event, dp.SelfComposedDpEvent):
        return dp.ComposedDpEvent([spelled_out(event.event)] * event.count)
    if isinstance(event, dp.ComposedDpEvent):
        return dp.ComposedDpEvent([spelled_out(part) for part in event.events])
    return event


def leaves_of(event):
    if isinstance(event, dp.ComposedDpEvent):
        return sum(leaves_of(part) for part in event.events)
    return 1


@pytest.mark.parametrize("relation", LEAVES, ids=lambda relation: relation.name)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), log_delta=between(-8, -2))
def test_dp_accounting_lies_above_and_near(relation, data, log_delta):
    event = data.draw(trees(LEAVES[relation]))
    delta, plain = 10**log_delta, spelled_out(event)
    ours = CurveAccountant(relation).compose(event)
    theirs = pld.PLDAccountant(relation, value_discretization_interval=MESH).compose(plain)
    epsilon, above = ours.get_epsilon(delta), theirs.get_epsilon(delta)
    slack = room(ours, delta, epsilon)
    assert epsilon <= above + slack
    assert above - epsilon <= leaves_of(plain) * MESH + slack
    asked = epsilon / 2
    spent = ours.get_delta(asked)
    # Sums by FFT have an absolute error of their own.
    if asked > slack:
        assert spent <= theirs.get_delta(asked - slack) * (1 + 1e-8) + 1e-12
    assert theirs.get_delta(asked + leaves_of(plain) * MESH) <= spent * (1 + 1e-8) + 1e-12


def room(accountant, delta, epsilon):
    """How far above the truth our ε may lie: a bracket's width, where one had to answer."""
    try:
        assert accountant.curve().epsilon(delta) == epsilon
        accountant.curve().delta(epsilon / 2)
    except ta.NotCertified:
        return 1e-4 * max(1.0, epsilon)
    return 1e-9 * max(1.0, epsilon)


REFERENCE = [
    (dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 1_000, 1.82823667),
    (dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 100_000, 25.57310699),
    (dp.PoissonSampledDpEvent(0.001, dp.GaussianDpEvent(0.6)), 50_000, 4.38009783),
]


@pytest.mark.parametrize(("event", "count", "epsilon"), REFERENCE)
def test_the_reference_values_of_dp_sgd(event, count, epsilon):
    for relation in (ADD_REMOVE, SPECIAL):
        spent = CurveAccountant(relation).compose(event, count).get_epsilon(1e-5)
        assert spent == pytest.approx(epsilon, abs=6e-9)


def test_randomized_response_is_composed_as_often_as_asked():
    """By its binomial law: 100 answers with odds 3 to 1, against what dp_accounting returns."""
    event = dp.RandomizedResponseDpEvent(0.5, 2)
    epsilon = CurveAccountant(REPLACE).compose(event, 100).get_epsilon(1e-5)
    assert epsilon == pytest.approx(90.78153850830102, rel=1e-12)
    assert pld.PLDAccountant(REPLACE).compose(event, 100).get_epsilon(1e-5) < 1.1


@pytest.mark.parametrize("steps", [1, 7, [3, 8, 2]])
def test_tree_aggregation_lies_under_the_renyi_accountant(steps):
    event = dp.SingleEpochTreeAggregationDpEvent(4.0, steps)
    ours = CurveAccountant(SPECIAL).compose(event, 3).get_epsilon(1e-5)
    theirs = rdp.RdpAccountant(neighboring_relation=SPECIAL).compose(event, 3).get_epsilon(1e-5)
    assert 0.85 * theirs < ours < theirs
