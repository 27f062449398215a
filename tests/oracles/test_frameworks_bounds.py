"""Stored values of noise by distances, quilts and policies, asked of the public API."""

import itertools

import numpy as np
import pytest
from stored_frameworks import BY_ID, chain_of, table_of

from tellapart.worlds import Exchangeable, Linear, RecordValue, Sum
from tellapart.worlds.markov.quilts import quilt_scale, quilt_scale_approximate
from tellapart.worlds.policies import (
    CompleteGraph,
    CumulativeHistogram,
    DistanceGraph,
    Histogram,
    KnownCount,
    KnownMarginal,
    PartitionGraph,
    Policy,
)
from tellapart.worlds.wasserstein_distance import wasserstein, widest


def _at(inputs):
    chain, t = chain_of(inputs), inputs["t"]
    return wasserstein(*(chain.law(Sum(), RecordValue(t, a)) for a in (0, 1)))


def _quilt(inputs):
    return quilt_scale(chain_of(inputs), inputs["eps"]).scale


def _graph(inputs):
    return {
        "complete": CompleteGraph(),
        "line": DistanceGraph(1),
        "threshold2": DistanceGraph(2),
        "partition": PartitionGraph(inputs.get("partition") or []),
    }[inputs["graph"]]


def _policy(query):
    return lambda i: Policy(i["domain"], _graph(i), i["n"]).sensitivity(query).value


def _marginal(inputs):
    domain = list(itertools.product(range(inputs["A1"]), range(inputs["A2"])))
    known = KnownMarginal(0, dict(enumerate(inputs["marginal"])))
    return Policy(domain, _graph(inputs), inputs["n"], [known]).sensitivity(Histogram()).value


def _count(inputs):
    bits = Policy([0, 1], CompleteGraph(), inputs["n"], [KnownCount([1], inputs["count"])])
    return bits.sensitivity(Linear([1, 1, 0, 0])).value


def _three_databases(inputs):
    kept = {tuple(map(int, bits)) for bits in inputs["I_Q"]}
    policy = Policy([0, 1], CompleteGraph(), 3, [lambda database: database in kept])
    return policy.sensitivity(Sum()).value


ANSWERS = {
    "A.W": lambda i: widest(table_of(i["joint"]), Sum()).distance,
    "C5.W": lambda i: widest(chain_of(i), Sum()).distance,
    "C100.W.t50": _at,
    "K.C100.Wmax": lambda i: widest(chain_of(i), Sum()).distance,
    "D.W": lambda i: widest(Exchangeable(i["count_law"]), Sum()).distance,
    **dict.fromkeys(["C5.mqm", "C100.mqm.theta1", "C100.mqm.theta2", "C100.mqm.stat"], _quilt),
    "C100.mqmapprox": lambda i: (
        quilt_scale_approximate(i["T"], i["eps"], i["pi_min"], i["g"]).scale
    ),
    **dict.fromkeys([f"G.sum.{g}" for g in ("complete", "line", "thr2", "part")], _policy(Sum())),
    **dict.fromkeys([f"G.cum.{g}" for g in ("complete", "line")], _policy(CumulativeHistogram())),
    **dict.fromkeys(["G.marg2", "G.marg3"], _marginal),
    "G.count": _count,
    # Laplace noise of scale 1 on a number: ε is the sensitivity.
    "I.bp": _count,
    "K.bfconj": _three_databases,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_bounds_give_the_stored_value(name):
    record = BY_ID[name]
    answer, value = ANSWERS[name](record["inputs"]), np.atleast_1d(record["value"])[0]
    assert abs(answer - value) <= record["tolerance"], (answer, value)


@pytest.mark.parametrize(
    ("name", "node", "left", "right"),
    [("C100.mqm.theta1", 8, 3, 13), ("C100.mqm.theta2", 6, None, 10)],
)
def test_the_node_and_quilt_that_the_paper_prints(name, node, left, right):
    """There records count from 1 and quilts are named by their places."""
    quilt = quilt_scale(chain_of(BY_ID[name]["inputs"]), 1)
    assert quilt.node + 1 == node
    assert (quilt.left and node - quilt.left, quilt.right and node + quilt.right) == (left, right)


def test_the_approximate_quilts_of_a_chain_are_those_of_its_numbers():
    chain = chain_of(BY_ID["C100.mqm.stat"]["inputs"])
    record = BY_ID["C100.mqmapprox"]
    assert abs(quilt_scale(chain, 1, exact=False).scale - record["value"]) <= record["tolerance"]
