"""What must hold for the bounds by moments: they show every attacker there is, and a few more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from families import pmf_pairs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_composition_laws import FPRS, few, or_refused, runs, trees

import tellapart as ta

EPSILONS = np.concatenate([np.linspace(0, 3, 13), np.geomspace(4, 60, 9)])
DELTAS = np.array([1e-40, 1e-20, 1e-9, 1e-5, 1e-2, 0.3])


def _on_the_safe_side(bound: ta.TradeoffCurve, tree: ta.Mechanism) -> None:
    assert bound.bound is ta.Bound.LOWER
    truth = tree.curve()
    assert np.all(bound.delta(EPSILONS) >= truth.delta(EPSILONS) * (1 - 1e-9))
    assert np.all(bound.beta(FPRS) <= truth.beta(FPRS) * (1 + 1e-9) + 1e-13)
    assert np.all(bound.epsilon(DELTAS) >= truth.epsilon(DELTAS) * (1 - 1e-9))


@few
@given(trees())
@or_refused
def test_renyi_shows_every_attacker(tree: ta.Mechanism) -> None:
    _on_the_safe_side(ta.renyi(tree), tree)


@few
@given(trees(), st.lists(st.floats(1.01, 80), min_size=1, max_size=5))
@or_refused
def test_renyi_of_few_orders_shows_every_attacker(tree: ta.Mechanism, orders: list[float]) -> None:
    few_orders = ta.renyi(tree, orders)
    _on_the_safe_side(few_orders, tree)
    fine = ta.renyi(tree).delta(EPSILONS)
    assert np.all(fine <= few_orders.delta(EPSILONS) * 1.01 + 1e-9)


@few
@given(trees())
@or_refused
def test_concentrated_shows_every_attacker(tree: ta.Mechanism) -> None:
    _on_the_safe_side(ta.concentrated(tree), tree)


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)
@given(pmf_pairs(most=4, least=1e-3), st.floats(1e-3, 1), st.integers(2, 30))
def test_bounds_of_finite_steps_show_every_attacker(pair: Any, rate: float, times: int) -> None:
    p, q = (np.maximum(masses, 1e-3) / np.maximum(masses, 1e-3).sum() for masses in pair)
    tree = ta.CustomMechanism.from_pmfs(p, q).sampled(rate).repeated(times)
    _on_the_safe_side(ta.renyi(tree), tree)
    _on_the_safe_side(ta.concentrated(tree), tree)


@few
@given(runs(), runs())
@or_refused
def test_no_bound_gains_from_another_step(a: ta.Mechanism, b: ta.Mechanism) -> None:
    for by in (ta.renyi, ta.concentrated):
        more, less = by(a.then(b)).epsilon(DELTAS), by(a).epsilon(DELTAS)
        assert np.all(more >= less * (1 - 1e-3))
    assert ta.central_limit(a.then(b)).mu >= ta.central_limit(a).mu * (1 - 1e-12)


@few
@given(trees(), st.sampled_from([1e-3, 1e-5, 1e-9]))
@or_refused
def test_the_error_of_the_central_limit_is_against_the_truth(tree: ta.Mechanism, d: float) -> None:
    normal = ta.central_limit(tree)
    claimed = normal.stand_in.curve().epsilon(d)
    assert normal.epsilon_error(d) + tree.curve().epsilon(d) == pytest.approx(claimed, abs=1e-9)
