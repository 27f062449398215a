"""Groups of records: what they are as trees, and what they leak."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb

import tellapart as ta
from tellapart.curve.composition.group_privacy import group_curve

EPSILONS = np.array([0.0, 0.2, 1.0, 3.0])
STEP = ta.Gaussian(1).sampled(0.1)
slow = settings(max_examples=10, deadline=None)


def bell(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("one", [STEP, STEP.repeated(5), ta.Laplace(1), ta.Promise(1.0)])
def test_a_group_of_one_is_no_group(one):
    assert one.for_group(1) is one


def test_plain_noise_sees_its_sensitivity_grow():
    assert ta.Gaussian(2).for_group(3) == ta.Gaussian(2, sensitivity=3)
    assert ta.DiscreteLaplace(2, 2).for_group(3) == ta.DiscreteLaplace(2, 6)
    assert ta.UniformNoise(10.0).for_group(3) == ta.UniformNoise(10.0, sensitivity=3.0)
    tree = ta.Gaussian(2).then(ta.Laplace(3).repeated(4))
    assert tree.for_group(2) == ta.Gaussian(2, 2).then(ta.Laplace(3, 2).repeated(4))


@pytest.mark.parametrize(("sigma", "rate", "size"), [(1, 0.1, 3), (2, 0.3, 6), (0.7, 0.01, 2)])
def test_one_sampled_step_against_an_integral_over_outputs(sigma, rate, size):
    curve = ta.Gaussian(sigma).sampled(rate).for_group(size).curve(ta.Order.PRESENT)
    x = np.linspace(-12, 12 + size / sigma, 1_000_001)
    weights = [comb(size, j) * rate**j * (1 - rate) ** (size - j) for j in range(size + 1)]
    absent, present = bell(x), sum(w * bell(x - j / sigma) for j, w in enumerate(weights))
    for epsilon in EPSILONS:
        ahead = np.trapezoid(np.maximum(present - np.exp(epsilon) * absent, 0), x)
        back = np.trapezoid(np.maximum(absent - np.exp(epsilon) * present, 0), x)
        assert curve.delta(epsilon) == pytest.approx(ahead, rel=1e-7, abs=1e-12)
        assert curve.mirrored().delta(epsilon) == pytest.approx(back, rel=1e-7, abs=1e-12)
    assert curve.beta(curve.rates(0.3).fpr) == pytest.approx(curve.rates(0.3).fnr, rel=1e-12)


@slow
@given(st.floats(0.8, 3), st.floats(0.005, 0.1), st.integers(2, 8), st.integers(100, 1000))
def test_many_steps_against_a_bracket(sigma, rate, size, times):
    tree = ta.Gaussian(sigma).sampled(rate).repeated(times).for_group(size)
    try:
        found, epsilon = tree.bracket(1e-5), tree.curve().epsilon(1e-5)
    except ta.NotCertified:
        return
    low, high = found.upper.epsilon(1e-5), found.lower.epsilon(1e-5)
    assert low - 1e-8 * epsilon <= epsilon <= high + 1e-8 * epsilon
    assert high - low <= 1e-4 * max(1, low)


@slow
@given(st.floats(0.6, 4), st.floats(0.01, 0.9), st.integers(2, 5))
def test_a_group_leaks_no_more_than_its_chain(sigma, rate, size):
    step = ta.Gaussian(sigma).sampled(rate)
    grid = np.concatenate([[0.0], np.geomspace(1e-12, 0.5, 200), np.linspace(0.5, 1, 50)])
    for order in ta.Order:
        chain = group_curve(step.curve(order), size)
        truth = step.for_group(size).curve(order)
        assert np.all(chain.beta(grid) <= truth.beta(grid) + 1e-12)
        assert np.all(chain.delta(EPSILONS) >= truth.delta(EPSILONS) * (1 - 1e-9))


@pytest.mark.parametrize("size", [2, 5])
def test_a_chain_of_bells_is_a_bell_and_no_better_for_an_attacker(size):
    chain, bells = group_curve(ta.Gaussian(2).curve(), size), ta.Gaussian(2, size).curve()
    alpha = np.concatenate([np.geomspace(1e-12, 0.5, 60), np.linspace(0.5, 1, 20)])
    assert ta.dominates(chain, bells)
    np.testing.assert_allclose(chain.beta(alpha), bells.beta(alpha), atol=1e-5)
    assert chain.bound is ta.Bound.LOWER


def test_a_promise_to_one_is_a_weaker_promise_to_a_group():
    found = ta.Promise(0.5, 1e-6).for_group(4).curve()
    want = 1e-6 * np.expm1(4 * 0.5) / np.expm1(0.5)
    assert found.delta(2.0) == pytest.approx(want, rel=1e-11)
    assert ta.Staircase(0.3).for_group(3).curve().epsilon(0.0) == pytest.approx(0.9)


@pytest.mark.parametrize(("size", "rate"), [(3, 0.2), (60, 1e-4), (1000, 0.3), (1000, 1e-9)])
def test_weights_of_a_group_sum_up_and_err_on_the_safe_side(size, rate):
    (law, finite_mass), _ = ta.Gaussian(1).sampled(rate).for_group(size).privacy_loss()
    weights = law.weights
    assert sum(weights) == pytest.approx(1, abs=1e-12)
    assert finite_mass.delta_infinity[0] == 0
    assert 0 <= finite_mass.delta_infinity[1] <= 1.1e-200
    mean = sum(j * w for j, w in enumerate(weights))
    assert mean == pytest.approx(size * rate, rel=1e-11)


def test_what_is_no_group():
    message = re.escape(
        "each person runs RandomizedResponse on their own value: what a group of 3 shows is "
        "mechanism.repeated(3)"
    )
    with pytest.raises(ta.Unsupported, match=f"^{message}$"):
        ta.RandomizedResponse(1).for_group(3)
    with pytest.raises(ta.InvalidArgument, match=r"^size must be at least 1, got 0$"):
        STEP.for_group(0)
    with pytest.raises(ta.InvalidArgument, match=r"^size must be at most 1000, got 1001$"):
        STEP.for_group(1001)
