"""Policies against the definition written out with sets, and lists against closed forms."""

import itertools
import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.worlds import Linear, RecordValue, Sum
from tellapart.worlds.policies import (
    AttributeGraph,
    CompleteGraph,
    CumulativeHistogram,
    DistanceGraph,
    EdgeGraph,
    Histogram,
    KnownCount,
    KnownMarginal,
    PartitionGraph,
    Policy,
)


def secret_changes(policy, one, other):
    """T(D1, D2): records that change along an edge, with both values."""
    edges = {frozenset(edge) for edge in policy.edges()}
    return {
        (i, x, y)
        for i, (x, y) in enumerate(zip(one, other, strict=True))
        if frozenset((x, y)) in edges
    }


def difference(one, other):
    """Δ(D1, D2): what is in one list of (record, value) and not in the other."""
    return set(enumerate(one)) ^ set(enumerate(other))


def defined_neighbours(policy, databases):
    """Definition 4.1 of He, Machanavajjhala and Ding (2014), word by word."""
    found = set()
    for one in databases:
        changes = {other: secret_changes(policy, one, other) for other in databases}
        for other, mine in changes.items():
            nearer = False
            for third, theirs in changes.items():
                smaller = bool(theirs) and theirs < mine
                same = theirs == mine and difference(third, one) < difference(other, one)
                nearer = nearer or smaller or same
            if mine and not nearer:
                found.add((one, other))
    return found


def random_policies(seed, constrained):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        size, records = [(2, 2), (2, 3), (2, 4), (3, 2), (4, 2), (3, 3)][rng.integers(6)]
        domain = sorted(rng.choice(9, size, replace=False).tolist())
        pairs = list(itertools.combinations(domain, 2))
        graphs = [
            CompleteGraph(),
            DistanceGraph(int(rng.integers(1, 5))),
            EdgeGraph([pair for pair in pairs if rng.random() < 0.5]),
            PartitionGraph([domain[: size // 2], domain[size // 2 :]]),
        ]
        graph = graphs[rng.integers(len(graphs))]
        every = list(itertools.product(domain, repeat=records))
        kept = [one for one in every if rng.random() < 0.5] or every[:2]
        kept = kept[:20]
        constraints = [lambda d, kept=frozenset(kept): d in kept] if constrained else []
        yield Policy(domain, graph, records, constraints), kept if constrained else every


def test_neighbours_under_constraints_are_as_defined():
    several = 0
    for policy, databases in random_policies(1, constrained=True):
        assert policy.databases() == databases
        found = policy.neighbours()
        assert set(found) == defined_neighbours(policy, databases)
        assert len(set(found)) == len(found)
        several += any(len(secret_changes(policy, *pair)) > 1 for pair in found)
    assert several > 5  # that is, single moves do not tell the whole story


def test_fewer_changes_that_are_no_secrets_are_preferred():
    """Condition (b): the same secret change, with another record moved between components."""
    graph = EdgeGraph([(0, 1)])
    kept = {(0, 2), (1, 2), (1, 0), (1, 1)}
    policy = Policy([0, 1, 2], graph, 2, [lambda d: d in kept])
    from_first = [other for one, other in policy.neighbours() if one == (0, 2)]
    assert from_first == [(1, 2)]
    kept.remove((1, 2))
    policy = Policy([0, 1, 2], graph, 2, [lambda d: d in kept])
    from_first = [other for one, other in policy.neighbours() if one == (0, 2)]
    assert from_first == [(1, 0), (1, 1)]


def queries(policy):
    weights = np.arange(policy.records) - 1.5
    return [
        (Sum(), sum),
        (Linear(weights), lambda d: float(np.dot(weights, d))),
        (Histogram(), lambda d: [d.count(x) for x in policy.domain]),
        (CumulativeHistogram(), lambda d: [sum(y <= x for y in d) for x in policy.domain]),
    ]


def apart(function, one, other):
    return float(np.abs(np.subtract(function(one), function(other))).sum())


@pytest.mark.parametrize("constrained", [False, True])
def test_sensitivities_are_those_of_the_listed_neighbours(constrained):
    for policy, databases in random_policies(2, constrained):
        listed = defined_neighbours(policy, databases)
        for query, function in queries(policy):
            check_sensitivity(policy, query, function, listed)


def check_sensitivity(policy, query, function, listed):
    worst = max((apart(function, *pair) for pair in listed), default=0.0)
    for asked in (query, function):
        found = policy.sensitivity(asked)
        assert found.value == pytest.approx(worst, abs=1e-12)
        assert (found.pair is None) == (not listed)
        if found.pair is not None:
            assert found.pair in listed
            assert apart(function, *found.pair) == pytest.approx(worst, abs=1e-12)


def test_without_constraints_neighbours_are_single_moves_along_edges():
    for policy, databases in random_policies(3, constrained=False):
        assert set(policy.neighbours()) == defined_neighbours(policy, databases)
        anything = Policy(policy.domain, policy.graph, policy.records, [lambda d: True])
        assert set(anything.neighbours()) == set(policy.neighbours())


def test_a_function_that_does_not_add_up():
    policy = Policy(range(4), DistanceGraph(1), 3)
    assert policy.sensitivity(max).value == 1
    assert policy.sensitivity(lambda d: d[0] * d[1]).value == 3
    assert policy.sensitivity(lambda d: [d[0] * d[1], 2 * max(d)]).value == 4


GRID = list(itertools.product(range(3), range(2)))


@pytest.mark.parametrize(
    ("graph", "edges"),
    [
        (CompleteGraph(), 15),
        (AttributeGraph(), 9),
        (DistanceGraph(1), 7),
        (DistanceGraph(2), 13),
        (PartitionGraph([[x for x in GRID if x[0] == a] for a in range(3)]), 3),
        (EdgeGraph([((0, 0), (2, 1))]), 1),
    ],
)
def test_graphs_of_values_with_two_attributes(graph, edges):
    policy = Policy(GRID, graph, 1)
    assert len(policy.edges()) == edges
    assert len(policy.neighbours()) == 2 * edges


def test_components_are_infinitely_far_apart():
    policy = Policy(range(5), PartitionGraph([[0, 1, 2], [3, 4]]), 1)
    assert (policy.distance(0, 2), policy.distance(1, 1)) == (1, 0)
    assert policy.distance(2, 3) == math.inf
    assert Policy(range(7), DistanceGraph(2), 1).distance(0, 5) == 3


def test_a_policy_with_no_secrets_needs_no_noise():
    found = Policy(range(3), EdgeGraph([]), 2).sensitivity(Sum())
    assert (found.value, found.pair) == (0, None)


def test_secrets_for_data_models():
    policy = Policy([0, 1, 5], DistanceGraph(1), 3)
    assert policy.pairs(2) == [(RecordValue(2, 0), RecordValue(2, 1))]
    with pytest.raises(ta.Unsupported, match="number the tuples of the domain"):
        Policy(GRID, CompleteGraph(), 2).pairs(0)


def test_counts_and_marginals_leave_the_databases_that_have_them():
    policy = Policy(
        range(4), CompleteGraph(), 3, [KnownCount(lambda x: x > 1, 2), KnownCount([0], 1)]
    )
    every = itertools.product(range(4), repeat=3)
    assert policy.databases() == [d for d in every if sum(x > 1 for x in d) == 2 and 0 in d]
    policy = Policy(GRID, CompleteGraph(), 2, [KnownMarginal(0, {0: 1, 2: 1})])
    every = itertools.product(GRID, repeat=2)
    assert policy.databases() == [d for d in every if sorted(x[0] for x in d) == [0, 2]]


def test_many_records_and_values_need_no_list():
    policy = Policy(range(200), DistanceGraph(3), 10**4)
    assert policy.sensitivity(Sum()).value == 3
    assert policy.sensitivity(CumulativeHistogram()).value == 3
    assert policy.sensitivity(Histogram()).value == 2


BITS = ([0, 1], CompleteGraph())
TOO_MUCH = {
    "values": (lambda: Policy(range(5000), CompleteGraph(), 1), "5000 values is too large"),
    "databases": (lambda: Policy(*BITS, 30).databases(), r"1\.1e9 databases are too many"),
    "very many": (
        lambda: Policy(*BITS, 10_000).databases(),
        r"2\.0e3010 databases are too many",
    ),
    "pairs": (
        lambda: Policy(*BITS, 18).neighbours(),
        r"4\.7e6 pairs of neighbours are too many",
    ),
    "constraints": (
        lambda: Policy(*BITS, 14, [KnownCount([1], 7)]).neighbours(),
        "neighbours among 3432 databases take too long",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_too_much_says_how_much(name):
    call, message = TOO_MUCH[name]
    with pytest.raises(ta.Unsupported, match=message):
        call()


REFUSED = {
    "no domain": (lambda: Policy([], CompleteGraph(), 1), "domain must not be empty"),
    "word": (lambda: Policy("ab", CompleteGraph(), 1), "domain must be a list of numbers"),
    "twice": (lambda: Policy([1, 1.0], CompleteGraph(), 1), "domain must have no value twice"),
    "mixed": (lambda: Policy([(1, 2), 3], CompleteGraph(), 1), "domain must be tuples of one"),
    "text": (lambda: Policy(["a"], CompleteGraph(), 1), "domain must be a number"),
    "graph": (lambda: Policy([0, 1], "complete", 1), "graph must be a secret graph"),
    "attributes": (lambda: Policy([0, 1], AttributeGraph(), 1), "domain must be tuples of attr"),
    "distance": (lambda: Policy([("a",)], DistanceGraph(1), 1), "domain must have numbers for"),
    "cells": (lambda: Policy([0, 1], PartitionGraph([[0]]), 1), "graph must have a cell for ev"),
    "shared": (lambda: PartitionGraph([[0, 1], [1]]), "cells must not share values"),
    "flat": (lambda: PartitionGraph([0, 1]), "cells must be lists of values"),
    "strange": (lambda: Policy([0, 1], EdgeGraph([(0, 2)]), 1), "graph must have values of the"),
    "no pairs": (lambda: EdgeGraph([5]), "edges must be pairs of values"),
    "lists": (lambda: Policy([([1], 2)], CompleteGraph(), 1), "domain must have numbers or words"),
    "loop": (lambda: EdgeGraph([(0, 0)]), "edges must be pairs of different values"),
    "threshold": (lambda: DistanceGraph(-1), "threshold must be at least 0"),
    "records": (lambda: Policy(*BITS, 0), "records must be at least 1"),
    "constraint": (lambda: Policy(*BITS, 1, [3]), "constraints must be KnownCount, KnownMar"),
    "one": (lambda: Policy(*BITS, 1, KnownCount([1], 1)), "constraints must be a list"),
    "value": (lambda: Policy(*BITS, 1, [KnownCount([2], 1)]), "values must be in the domain"),
    "count": (lambda: KnownCount([2], -1), "count must be at least 0"),
    "no tuples": (lambda: Policy(*BITS, 1, [KnownMarginal(0, {})]), "domain must be tuples that"),
    "margin": (lambda: Policy(GRID, CompleteGraph(), 1, [KnownMarginal(0, {7: 1})]), "counts must"),
    "empty": (lambda: Policy(*BITS, 1, [KnownCount([1], 5)]).databases(), "leave some database"),
    "query": (lambda: Policy(*BITS, 1).sensitivity("sum"), "query must be Sum"),
    "nan": (lambda: Policy(*BITS, 1).sensitivity(lambda d: math.nan), "query must not contain NaN"),
    "inf": (lambda: Policy(*BITS, 1).sensitivity(lambda d: math.inf), "query must have finite"),
    "ragged": (lambda: Policy(*BITS, 1).sensitivity(lambda d: [1] * (d[0] + 1)), "as many numbers"),
    "tuples": (lambda: Policy(GRID, CompleteGraph(), 1).sensitivity(Sum()), "domain must be numb"),
    "far": (lambda: Policy(*BITS, 1).distance(0, 2), "value must be in the domain"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(ta.InvalidArgument, match=message):
        call()


def test_values_that_a_known_marginal_leaves_out_have_no_records():
    policy = Policy(GRID, CompleteGraph(), 2, [KnownMarginal(0, {1: 1})])
    with pytest.raises(ta.InvalidArgument, match="leave some database"):
        policy.databases()
