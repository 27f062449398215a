"""Membership, mutual information and broken orders against values computed independently."""

import math

import numpy as np
import pytest
from stored_frameworks import BY_ID, table_of

import tellapart as ta
from tellapart.reproduce.framework_orderings import COUNTEREXAMPLES
from tellapart.worlds import (
    Channel,
    Independent,
    JointTable,
    Linear,
    RecordValue,
    Sum,
    tell_apart,
)
from tellapart.worlds.frameworks import inferential, membership, mutual_information
from tellapart.worlds.frameworks.inferential_privacy import ProductPriors
from tellapart.worlds.frameworks.membership_privacy import membership_epsilon

DP = ProductPriors([[0, 1], [0, 1]])


def noise(given):
    return ta.Laplace(given["scale"] if "scale" in given else given["mechanism"]["scale"])


def known(given, form):
    return mutual_information(
        table_of(given["joint"]), Sum(), noise(given), form, record=given["record"]
    ).epsilon


def any_prior(given):
    shifted = Independent([[0.5, 0.5]], [[0, given["shift"]]])
    return mutual_information(shifted, Sum(), noise(given)).epsilon


def parity(given):
    true = 1 / (1 + math.exp(-1))
    channel = Channel({0: [true, 1 - true], 1: [1 - true, true]})
    coins = JointTable([[0, 1]] * 2, np.full((2, 2), 0.25))

    def asked(x):
        return (x[0] + x[1]) % 2

    assert membership(coins, asked, channel).epsilon == pytest.approx(0, abs=1e-15)
    return mutual_information(coins, asked, channel, "given others").epsilon


def product(given):
    coins = JointTable([[0, 1]] * 2, np.full((2, 2), 0.25))
    assert inferential(DP, lambda x: x[0] * x[1], noise(given)).epsilon == pytest.approx(1)
    return inferential(coins, lambda x: x[0] * x[1], noise(given)).epsilon


def half_known(given):
    broken = next(example for example in COUNTEREXAMPLES if (1, 1, 0, 0) in example.databases)
    assert broken.databases == {tuple(map(int, k)): p for k, p in given["prior"].items()}
    leaked, policy = broken.numbers
    again = inferential(table_of(given["prior"]), Linear([1, 1, 0, 0]), noise(given)).epsilon
    assert leaked == pytest.approx(again)
    return [policy, leaked]


def conjecture(given):
    broken = next(example for example in COUNTEREXAMPLES if (1, 0, 0) in example.databases)
    assert set(broken.databases) == {tuple(map(int, bits)) for bits in given["I_Q"]}
    test = tell_apart(broken.model, Sum(), noise(given), RecordValue(0, 1), RecordValue(0, 0))
    assert broken.numbers[0] >= test.epsilon  # the worst of all records
    return [broken.numbers[1], test.epsilon]


def belief_in_a_bit(given):
    bit = Independent([[1 - given["prior"], given["prior"]]])
    return membership(bit, Sum(), ta.Laplace.with_epsilon(given["eps"])).epsilon


def gamma(given):
    prior = None if given["prior"] == "any" else given["prior"]
    return membership_epsilon(given["gamma"], prior)


ANSWERS = {
    "A.ddp": lambda given: inferential(table_of(given["joint"]), Sum(), noise(given)).epsilon,
    "A.mp2": lambda given: membership(table_of(given["joint"]), Sum(), noise(given)).epsilon,
    "A.mp_pos": lambda given: (
        membership(table_of(given["joint"]), Sum(), noise(given), positive=True).epsilon
    ),
    "A.mi": lambda given: known(given, "record"),
    "A.mic": lambda given: known(given, "given others"),
    "A.midp_sup": any_prior,
    "I.neg": lambda given: inferential(table_of(given["joint"]), Sum(), noise(given)).epsilon,
    "I.xor": parity,
    "I.and": product,
    "I.bp": half_known,
    "I.mp": belief_in_a_bit,
    "I.xorsum": lambda given: inferential(table_of(given["joint"]), Sum(), noise(given)).epsilon,
    "K.bfconj": conjecture,
    "K.pmp.half": gamma,
    "K.pmp.any": gamma,
    "K.pmp.10": gamma,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_stored_values(name):
    record = BY_ID[name]
    answer = ANSWERS[name](record["inputs"])
    assert answer == pytest.approx(record["value"], rel=0, abs=record["tolerance"])
