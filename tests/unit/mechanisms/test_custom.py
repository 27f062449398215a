"""Mechanisms of one's own, from probabilities, densities or any curve."""

import dataclasses
import re

import numpy as np
import pytest

import tellapart as ta

HINT = "be a TradeoffCurve (a mechanism's is mechanism.curve())"
FLIP = ta.CustomMechanism.from_pmfs(absent=[0.75, 0.25], present=[0.5, 0.5])


def flat(x):
    return np.ones_like(x)


BAD = [
    (lambda: ta.CustomMechanism(None), f"test must {HINT}, got None"),
    (lambda: ta.CustomMechanism([0.5, 0.5]), f"test must {HINT}, got [0.5, 0.5]"),
    (
        lambda: ta.CustomMechanism(ta.Laplace(1)),
        f"test must {HINT}, got Laplace(scale=1.0)",
    ),
    (
        lambda: ta.CustomMechanism(FLIP.test, neighbours="replace"),
        "neighbours must be Neighbours.ADD_REMOVE or Neighbours.REPLACE or Neighbours.ZERO_OUT, "
        "got 'replace'",
    ),
    (
        lambda: ta.CustomMechanism.from_pmfs([0.5, 0.6], [1, 0]),
        "absent must sum to 1, got 1.1",
    ),
    (
        lambda: ta.CustomMechanism.from_pmfs([0.5, 0.5], [1.5, -0.5]),
        "present must be at least 0 everywhere, got -0.5",
    ),
    (lambda: ta.CustomMechanism.from_pmfs([], []), "absent must not be empty, got []"),
    (
        lambda: ta.CustomMechanism.from_pmfs([0.5, 0.5], [0.5, 0.25, 0.25]),
        "present must have as many outcomes as absent (2), got 3",
    ),
    (
        lambda: ta.CustomMechanism.from_densities(flat, lambda x: x - x - 1, (0, 1), cells=10),
        "present must be at least 0 on the support, got -1.0",
    ),
    (
        lambda: ta.CustomMechanism.from_densities(lambda x: 1.0, flat, (0, 1), cells=10),
        "absent must return one number per point (shape (11,)), got 1.0",
    ),
    (
        lambda: ta.CustomMechanism.from_densities(flat, None, (0, 1), cells=10),
        "present must be a function of an array of outputs, got None",
    ),
    (
        lambda: ta.CustomMechanism.from_densities(lambda x: flat(x) / 4, flat, (0, 1), cells=10),
        "absent must integrate to 1 over the support, got 0.25",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call()


def test_a_pair_of_pmfs_serves_both_orders_unless_one_is_asked_for():
    present, absent = FLIP.curve(ta.Order.PRESENT), FLIP.curve(ta.Order.ABSENT)
    assert present.tpr(0.25) == 0.5
    assert absent.tpr(0.5) == 0.75
    both = FLIP.curve()
    for epsilon in (0.0, 0.3, 0.6):
        assert both.delta(epsilon) == max(present.delta(epsilon), absent.delta(epsilon))


def test_a_pair_of_densities():
    mechanism = ta.CustomMechanism.from_densities(
        flat, lambda x: 2 * x, (0, 1), cells=2000, neighbours=ta.Neighbours.REPLACE
    )
    assert mechanism.neighbours is ta.Neighbours.REPLACE
    curve = mechanism.curve(ta.Order.PRESENT)
    assert curve.bound is ta.Bound.LOWER
    alpha = np.linspace(0, 1, 11)
    assert curve.beta(alpha) == pytest.approx((1 - alpha) ** 2, abs=1e-5)


def test_any_curve_will_do(curve):
    mechanism = ta.CustomMechanism(curve)
    alpha = np.linspace(0, 1, 11)
    assert np.array_equal(mechanism.curve(ta.Order.PRESENT).beta(alpha), curve.beta(alpha))
    assert mechanism.neighbours is (curve.neighbours or ta.Neighbours.ADD_REMOVE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.test = None
