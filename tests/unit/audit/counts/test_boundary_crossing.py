"""Boundary crossing by two samples: beside counting all orders, and beside drawn samples."""

from itertools import combinations

import numpy as np
import pytest

import tellapart as ta
from tellapart.audit.counts.boundary_crossing import Boundaries

PAIRS = np.array([[1, 4], [3, 5], [5, 7]])


def crossed(first_places, members, pairs):
    """Whether some V_(b) comes before U_(a), the places of all U among both being known."""
    order = np.full(len(first_places) + members, True)
    order[list(first_places)] = False
    uniform, member = np.flatnonzero(~order), np.flatnonzero(order)
    return any(member[b - 1] < uniform[a - 1] for a, b in pairs)


def test_where_nothing_leaks_all_orders_are_alike():
    uniforms, members = 6, 7
    orders = list(combinations(range(uniforms + members), uniforms))
    exact = np.mean([crossed(order, members, PAIRS) for order in orders])
    least, most = Boundaries.of(*PAIRS.T, uniforms, members).enclosed(lambda rate: rate)
    assert least < exact < most < least + 0.08
    assert Boundaries.of(*PAIRS.T, uniforms, members).power(lambda rate: rate) <= exact


@pytest.mark.parametrize("mu", [0.3, 0.6, 0.9])
def test_what_leaks_crosses_as_often_as_drawn_samples_do(mu):
    uniforms, members, draws = 40, 50, 20_000
    pairs = np.array([[1, 10], [3, 16], [9, 27], [30, 48]])
    rng = np.random.default_rng(8)
    high = np.sort(-rng.normal(size=(draws, uniforms)), axis=1)
    higher = np.sort(-rng.normal(mu, size=(draws, members)), axis=1)
    found = np.mean(np.any(higher[:, pairs[:, 1] - 1] < high[:, pairs[:, 0] - 1], axis=1))
    boundaries = Boundaries.of(*pairs.T, uniforms, members)
    truth = ta.Gaussian(1 / mu).curve()
    least, most = boundaries.enclosed(truth.tpr)
    spread = 5 * (found * (1 - found) / draws) ** 0.5
    assert least - spread < found < most + spread
    stated = boundaries.power(truth.tpr)
    assert found - 0.01 - spread < stated < found + spread


def test_what_follows_from_another_pair_changes_nothing():
    more = np.vstack([PAIRS, [2, 6], [5, 8]])
    one, two = (Boundaries.of(*pairs.T, 8, 9) for pairs in (PAIRS, more))
    assert one.power(np.sqrt) == two.power(np.sqrt) > 0.1


def test_tests_that_never_refute_and_one_that_always_does():
    assert Boundaries.of(np.array([1]), np.array([9]), 8, 8).power(np.sqrt) == 0
    assert Boundaries.of(np.array([1]), np.array([0]), 8, 8).power(np.sqrt) == 1
