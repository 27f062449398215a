"""A policy's neighbours under a release, against listing them all."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart.errors import Unsupported
from tellapart.worlds import Channel, Linear, Sum
from tellapart.worlds.frameworks import blowfish
from tellapart.worlds.policies import (
    CompleteGraph,
    DistanceGraph,
    KnownCount,
    PartitionGraph,
    Policy,
)

ORACLES = Path(__file__).parents[3] / "oracles" / "frameworks.json"
BY_ID = {one["id"]: one for one in json.loads(ORACLES.read_text(encoding="utf-8"))}


def test_stored_values():
    count = Policy([0, 1], CompleteGraph(), records=4, constraints=[KnownCount([1], 2)])
    assert blowfish(count, Linear([1, 1, 0, 0]), ta.Laplace(1)).epsilon == BY_ID["I.bp"]["value"][0]
    allowed = {(0, 0, 0), (1, 0, 0), (1, 1, 1)}
    some = Policy([0, 1], CompleteGraph(), records=3, constraints=[allowed.__contains__])
    assert blowfish(some, Sum(), ta.Laplace(1)).epsilon == BY_ID["K.bfconj"]["value"][0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "graph", [CompleteGraph(), DistanceGraph(1), PartitionGraph([[0, 2], [1]])]
)
def test_a_channel_tells_neighbours_apart_as_listed(graph, seed):
    rng = np.random.default_rng(seed)
    rows = {answer: rng.dirichlet(np.ones(3)) for answer in range(5)}
    policy = Policy([0, 1, 2], graph, records=2)
    edges = set(policy.edges()) | {(b, a) for a, b in policy.edges()}
    worst = 0.0
    for d, e in itertools.product(itertools.product(range(3), repeat=2), repeat=2):
        moved = [(a, b) for a, b in zip(d, e, strict=True) if a != b]
        if len(moved) == 1 and moved[0] in edges:
            worst = max(worst, float(np.log(rows[sum(d)] / rows[sum(e)]).max()))
    found = blowfish(policy, Sum(), Channel(rows))
    assert found.epsilon == pytest.approx(worst, rel=1e-12)
    likelier, other = (rows[sum(one)] for one in (found.witness.likelier, found.witness.other))
    output = found.witness.output
    assert math.log(likelier[output] / other[output]) == pytest.approx(worst, rel=1e-12)
    assert blowfish(policy, lambda d: d[0] + d[1], Channel(rows)).epsilon == found.epsilon


def test_a_policy_that_protects_nothing_has_no_witness():
    alone = Policy([0, 1], PartitionGraph([[0], [1]]), records=2)
    found = blowfish(alone, Sum(), ta.Laplace(1))
    assert (found.epsilon, found.witness) == (0.0, None)


def test_constraints_are_owned_up_to():
    count = Policy([0, 1], CompleteGraph(), records=2, constraints=[KnownCount([1], 1)])
    assert "may learn more" in blowfish(count, Linear([1, 0]), ta.Laplace(1)).assumptions


def test_normal_noise_has_no_pure_epsilon():
    policy = Policy([0, 1], CompleteGraph(), records=2)
    with pytest.raises(Unsupported, match="curve"):
        blowfish(policy, Sum(), ta.Gaussian(1))


def test_neighbours_in_one_order_only_are_told_apart_both_ways():
    allowed = {(1, 0), (1, 1), (1, 2), (2, 2)}
    policy = Policy(range(3), DistanceGraph(1), 2, [allowed.__contains__])
    pairs = set(policy.neighbours())
    assert ((1, 0), (2, 2)) in pairs
    assert ((2, 2), (1, 0)) not in pairs
    peaks = [[0.98, 0.01, 0.01], [0.9, 0.05, 0.05], [0.6, 0.2, 0.2], [0.3, 0.4, 0.3]]
    for order in (peaks, peaks[::-1]):
        rows = {answer: np.array(row) for answer, row in enumerate(order, start=1)}
        found = blowfish(policy, Sum(), Channel(rows))
        assert found.epsilon == pytest.approx(math.log(40), rel=1e-12)
        assert {found.witness.likelier, found.witness.other} == {(1, 0), (2, 2)}


def test_it_adds_up_over_releases():
    """Neighbours do not depend on outputs, so that ratios of two releases multiply."""
    policy = Policy([0, 1, 2], DistanceGraph(1), records=2)
    rows = {answer: [0.2 + answer / 10, 0.8 - answer / 10] for answer in range(5)}
    assert blowfish(policy, Sum(), Channel(rows)).composes
    assert blowfish(policy, Sum(), ta.Laplace(1)).composes
