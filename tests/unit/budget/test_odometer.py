"""Odometers say what holds at a stopping time, and label what does not."""

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.budget.odometer import loss_at_any_time


def test_an_odometer_says_what_may_be_said():
    budget = ta.Budget(gaussian=1, laplace=0.5)
    assert budget.odometer(1e-5).loss is None
    for _ in range(4):
        budget.spend(ta.Gaussian(sigma=4))
    budget.spend(ta.Laplace.with_epsilon(0.25))
    odometer = budget.odometer(delta=1e-5)
    assert odometer.epsilon == budget.guarantee().epsilon(1e-5)
    assert odometer.loss == pytest.approx(loss_at_any_time(0.25, 0.1, 1e-5) + 0.25)
    planned = ta.Plan([ta.Gaussian(sigma=2), ta.Laplace.with_epsilon(0.25)])
    assert odometer.if_planned == pytest.approx(planned.epsilon(1e-5))
    assert str(odometer).splitlines() == [
        "gaussian: μ² = 0.25 used, μ² = 0.75 left",
        "laplace: ε = 0.25 used, ε = 0.25 left",
        "guarantee: ε = 4.73737 at δ = 1e-5, however the budget is spent and whenever you stop",
        "so far: loss ≤ 3.29005; this bound, read at whatever time, fails with probability 1e-5 at "
        "most",
        "no guarantee: had these steps been the plan, ε = 2.16616 at δ = 1e-5",
    ]


def test_of_other_steps_no_loss_at_all_times_is_known():
    step = ta.Gaussian(sigma=1).sampled(0.01)
    budget = ta.Budget(gaussian=1, steps={step: 100})
    budget.spend(ta.Gaussian(sigma=4))
    budget.spend(step)
    assert budget.odometer(1e-5).loss is None
    pure = ta.Budget(laplace=1)
    pure.spend(ta.Laplace.with_epsilon(0.25))
    assert 0.25 <= pure.odometer(1e-5).loss < 0.25 + 1e-15
    renyi = ta.RenyiBudget(8, 1)
    renyi.spend(ta.Gaussian(sigma=4))
    assert "so far" not in str(renyi.odometer(1e-5))
    with pytest.raises(ta.InvalidArgument, match="delta must"):
        budget.odometer(0)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-3, 1e6])
def test_an_odometer_of_any_budget_says_something(size):
    budget = ta.Budget(gaussian=size)
    budget.spend(ta.Gaussian(1.0, sensitivity=size))
    assert "guarantee" in str(budget.odometer(1e-300))


@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_adaptive_gaussian_steps_rarely_exceed_the_bound_at_any_time(delta):
    """Steps grow as long as the loss is large: looked at after each of 100 steps."""
    rng = np.random.default_rng(1)
    paths = 20_000
    loss, variance = np.zeros(paths), np.zeros(paths)
    exceeded = np.zeros(paths, dtype=bool)
    for _ in range(100):
        mu = np.where(loss > variance, 0.3, 0.05)
        loss += mu * rng.standard_normal(paths) + mu**2 / 2
        variance += mu**2
        bounds = {v: loss_at_any_time(v, 0.1, delta) for v in np.unique(variance)}
        exceeded |= loss > np.vectorize(bounds.get)(variance)
    assert exceeded.mean() <= delta + 3 * math.sqrt(delta / paths)
    assert exceeded.mean() > delta / 50
