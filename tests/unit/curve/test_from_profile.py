"""Anybody's privacy profile as a curve: each point a bound, nothing guessed between them."""

import numpy as np
import pytest

import tellapart as ta

ALPHAS = np.concatenate([[0.0], np.geomspace(1e-9, 0.01, 20), np.linspace(0.02, 1, 50)])
ADD = ta.Neighbours.ADD_REMOVE


@pytest.mark.parametrize("points", [1, 4, 30, 500])
def test_it_is_never_above_the_curve_whose_profile_it_is(points):
    exact = ta.Gaussian(sigma=1).curve()
    epsilons = np.linspace(0.5, 7, points)
    curve = ta.from_profile(epsilons, exact.delta(epsilons))
    assert curve.bound is ta.Bound.LOWER
    assert np.all(curve.beta(ALPHAS) <= exact.beta(ALPHAS) + 1e-12)
    assert np.all(curve.delta(epsilons) <= exact.delta(epsilons) * (1 + 1e-9))


def test_points_may_come_in_any_order_and_need_not_fall():
    """What a smaller δ at a smaller ε says, no later point takes back."""
    curve = ta.from_profile([2.0, 0.5, 1.0], [0.2, 0.3, 0.01])
    assert curve.delta(2.0) <= 0.01
    same = ta.guarantee(pairs=[(0.5, 0.3), (1.0, 0.01), (2.0, 0.2)])
    np.testing.assert_allclose(curve.beta(ALPHAS), same.beta(ALPHAS), atol=1e-12)


@pytest.mark.parametrize("order", ta.Order)
def test_one_order_takes_its_whole_profile(order):
    """Below ε = 0 a profile tells of the other order: a sampled step is not its own mirror."""
    exact = ta.Gaussian(sigma=0.7).sampled(0.2).curve(order)
    epsilons = np.linspace(-6, 6, 1201)
    curve = ta.from_profile(epsilons, exact.delta(epsilons), neighbours=ADD, order=order)
    assert (curve.neighbours, curve.order) == (ADD, order)
    assert np.all(curve.beta(ALPHAS) <= exact.beta(ALPHAS) + 1e-12)
    assert np.max(np.abs(curve.beta(ALPHAS) - exact.beta(ALPHAS))) < 1e-4
    assert curve.mirrored().epsilon(1e-3) == pytest.approx(exact.mirrored().epsilon(1e-3), rel=0.01)


def test_for_both_orders_a_negative_epsilon_counts_as_well():
    exact = ta.Laplace(1).curve()
    curve = ta.from_profile([-0.5], exact.delta([-0.5]))
    assert np.all(curve.beta(ALPHAS) <= exact.beta(ALPHAS) + 1e-12)
    assert curve.delta(0.5) == pytest.approx(exact.delta(0.5), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 1], [0.1]), "deltas must have one δ for each ε (2), got 1"),
        (([0], [1.5]), "deltas must lie in [0, 1]"),
        (([-1], [0.5]), "deltas must be at least 1 − e^ε for ε < 0, as for any two worlds"),
        (([np.inf], [0.1]), "epsilons must"),
        (([], []), "epsilons must"),
    ],
)
def test_what_is_no_profile_is_refused(given, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.from_profile(*given)
    assert str(caught.value).startswith(message)


def test_an_order_needs_neighbours():
    with pytest.raises(ta.InvalidArgument, match="order must come with neighbours"):
        ta.from_profile([1], [0.1], order=ta.Order.PRESENT)
