"""Rényi divergences as a reading: against formulas, and dp_accounting's own moments."""

import math

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given
from hypothesis import strategies as st

import tellapart as ta

ORDERS = np.array([1.001, 1.5, 2.0, 7.3, 32.0, 200.0])


def rounded_up(found, truth, times=1):
    """No less than the truth; more by a few ulp of a step's log-moment, over order − 1."""
    ulp = 1e-14 * times / (ORDERS - 1)
    return np.all(found >= truth * (1 - 1e-13) - ulp / 10) and np.all(
        found <= truth * (1 + 1e-10) + ulp
    )


@given(st.floats(0.05, 50), st.floats(0.1, 3), st.integers(1, 50))
def test_gaussian_steps_diverge_by_their_formula(sigma, sensitivity, times):
    found = ta.renyi_divergence(ta.Gaussian(sigma, sensitivity).repeated(times), ORDERS)
    assert rounded_up(found, times * ORDERS * (sensitivity / sigma) ** 2 / 2, times)


@given(st.floats(0.05, 20))
def test_laplace_noise_diverges_by_its_formula(scale):
    a, t = ORDERS, 1 / scale
    log_moment = np.logaddexp(
        np.log(a / (2 * a - 1)) + (a - 1) * t, np.log((a - 1) / (2 * a - 1)) - a * t
    )
    found = ta.renyi_divergence(ta.Laplace(scale), ORDERS)
    assert rounded_up(found, log_moment / (a - 1))


@given(st.floats(0.01, 20))
def test_randomised_response_diverges_by_its_formula(epsilon):
    yes, no = -np.logaddexp(0, -epsilon), -np.logaddexp(0, epsilon)
    a = ORDERS
    log_moment = np.logaddexp(a * yes + (1 - a) * no, a * no + (1 - a) * yes)
    found = ta.renyi_divergence(ta.RandomizedResponse(epsilon), ORDERS)
    assert rounded_up(found, log_moment / (a - 1))


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(1.0, 0.01, 1_000), (0.6, 0.001, 50_000), (4.0, 0.3, 10), (0.4, 1e-4, 100)],
)
def test_sampled_gaussian_steps_diverge_as_dp_accounting_says_at_whole_orders(sigma, rate, steps):
    orders = np.array([2, 3, 8, 20, 64])
    theirs = steps * rdp_privacy_accountant._compute_rdp_poisson_subsampled_gaussian(
        rate, sigma, orders
    )
    ours = ta.renyi_divergence(ta.dp_sgd(sigma, rate, steps), orders)
    assert ours == pytest.approx(theirs, rel=1e-8)


def test_the_worse_of_both_orders_is_read():
    step = ta.Gaussian(1.0).sampled(0.3)
    x = np.linspace(-30, 30, 200_001)
    absent = -x * x / 2 - 0.5 * math.log(2 * math.pi)
    present = np.logaddexp(
        math.log(0.7) + absent, math.log(0.3) - (x - 1) ** 2 / 2 - 0.5 * math.log(2 * math.pi)
    )
    for order in (1.5, 2.0, 5.0):
        both = [
            math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), x)) / (order - 1)
            for p, q in ((present, absent), (absent, present))
        ]
        assert ta.renyi_divergence(step, order) == pytest.approx(max(both), rel=1e-9)


def test_discrete_gaussian_noise_diverges_as_gaussian_noise_does():
    found = ta.renyi_divergence(ta.DiscreteGaussian(5.0).repeated(3), [2, 8])
    assert found == pytest.approx([3 * 2 / 50, 3 * 8 / 50], rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [ta.Promise(1, 1e-5), ta.UniformNoise(5.0), ta.TruncatedLaplace(1.0, 3.0).repeated(2)],
)
def test_what_may_reveal_all_diverges_without_bound(mechanism):
    assert ta.renyi_divergence(mechanism, 2) == math.inf
    assert ta.renyi_divergence(mechanism, [2, 3]).tolist() == [math.inf, math.inf]


@given(st.floats(0.3, 5), st.floats(0.01, 0.9), st.integers(1, 100))
def test_divergences_grow_with_the_order_and_add_up(sigma, rate, times):
    step = ta.Gaussian(sigma).sampled(rate)
    once, often = (ta.renyi_divergence(x, ORDERS) for x in (step, step.repeated(times)))
    assert np.all(np.diff(once) >= -1e-12 * once[1:])
    assert often == pytest.approx(times * once, rel=1e-9)


def test_one_order_gives_one_number_and_what_is_no_order_is_refused():
    assert isinstance(ta.renyi_divergence(ta.Gaussian(1), 2), float)
    assert ta.renyi_divergence(ta.Gaussian(1), [[2.0, 4.0]]).shape == (1, 2)
    for order in (1, 0.5, math.inf, [2, 1]):
        with pytest.raises(ta.InvalidArgument, match=r"^order must be a finite number greater"):
            ta.renyi_divergence(ta.Gaussian(1), order)
    with pytest.raises(ta.InvalidArgument, match=r"^mechanism must be a mechanism"):
        ta.renyi_divergence(ta.Gaussian(1).curve(), 2)
