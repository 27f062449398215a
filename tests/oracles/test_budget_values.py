"""Budgets beside values found otherwise: broken filters, what Rényi filters cost, pots."""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

import tellapart as ta
from tellapart.budget.odometer import loss_at_any_time

VALUES = {
    row["id"]: row
    for row in json.loads(Path(__file__).with_name("risks.json").read_text(encoding="utf-8"))
}
REPLACE = ta.Neighbours.REPLACE
DP_SGD = {
    "S1": (1.0, 0.01, 1_000),
    "S2": (0.6, 0.001, 50_000),
    "S3": (9.4, 0.328, 2_000),
    "S4": (0.5, 0.004, 2_500),
    "S5": (2.0, 0.1, 500),
    "S6": (1.1, 0.02, 3_000),
}


def value(name):
    row = VALUES[name]
    return pytest.approx(row["value"], **row["tolerance"])


def answered(epsilon):
    """Randomised response: (probability when present, loss) of each answer."""
    p = 1 / (1 + math.exp(-epsilon))
    return ((p, epsilon), (1 - p, -epsilon))


def after_randomised_response(epsilon):
    """RR(.5), and then RR(.52589…) after the telling answer, else a reveal with probability .01."""
    then, reveal = ta.RandomizedResponse(0.52589268603838).curve(), ta.Promise(0, 0.01).curve()
    (p, loss), (q, _) = answered(0.5)
    return p * then.delta(epsilon - loss) + q * reveal.delta(epsilon + loss)


def after_gaussian(epsilon, mu=0.08, cut=0.2553851490):
    """Gaussian μ = .08, then Laplace ε = .745 where its loss exceeds the cut, else a Gaussian."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    middle, kink = (loss / mu + mu / 2 for loss in (cut, epsilon - 0.745))
    total = 0.0
    for start, end in pairwise(sorted([*(middle + np.arange(-12, 13)), kink])):
        x = start + (end - start) * (nodes + 1) / 2
        sigma = 1 / 0.25583472136
        then = ta.Laplace.with_epsilon(0.745) if start >= middle else ta.Gaussian(sigma)
        rest = then.curve().delta(epsilon - (mu * x - mu * mu / 2))
        total += np.sum((end - start) * weights / 2 * norm.pdf(x - mu) * rest)
    return total


def test_the_natural_filter_is_broken_by_randomised_response():
    first = ta.RandomizedResponse(0.5)
    for second in (
        ta.RandomizedResponse(0.52589268603838),
        ta.Promise(0, 0.01, neighbours=REPLACE),
    ):
        assert first.then(second).curve().delta(1.0) == pytest.approx(0.01, abs=1e-13)
    assert after_randomised_response(1.0) == value("filter-rr-delta")
    reached = brentq(lambda e: after_randomised_response(e) - 0.01, 1.0, 1.1, xtol=1e-13)
    assert reached == value("filter-rr-eps")


def test_the_natural_filter_is_broken_by_gaussian_and_laplace_noise():
    first = ta.Gaussian(sigma=1 / 0.08)
    for second in (ta.Laplace.with_epsilon(0.745), ta.Gaussian(sigma=1 / 0.25583472136)):
        assert first.then(second).curve().delta(1.0) <= 1e-5
    assert after_gaussian(1.0) == value("filter-real-delta")
    reached = brentq(lambda e: after_gaussian(e) - 1e-5, 1.0, 1.1, xtol=1e-10)
    assert reached == value("filter-real-eps")


def renyi_epsilon(step, steps, order):
    return ta.guarantee(rdp=[(order, steps * ta.renyi_divergence(step, order))]).epsilon(1e-5)


@pytest.mark.parametrize("name", [name for name in VALUES if name.startswith("rdpfilter")])
def test_what_a_renyi_filter_costs_beside_the_exact_curve(name):
    noise, rate, steps = DP_SGD[name[-2:]]
    step = ta.Gaussian(noise).sampled(rate)
    if "steps" not in name:
        best = minimize_scalar(
            lambda order: renyi_epsilon(step, steps, order), bounds=(2, 12), method="bounded"
        )
        assert best.fun == value(name)
        return
    exact = step.repeated(steps).epsilon(1e-5)

    def afforded(order):
        return brentq(lambda n: renyi_epsilon(step, n, order) - exact, 1, steps, xtol=1)

    best = minimize_scalar(lambda order: -afforded(order), bounds=(2, 8), method="bounded")
    assert -best.fun == value(name)


def test_hundred_pure_steps_by_each_filter():
    step = ta.RandomizedResponse(0.1)
    assert ta.Budget(steps={step: 100}).guarantee().epsilon(1e-5) == value("pure100-fixed")
    mu = 10 * 2 * norm.ppf(1 / (1 + math.exp(-0.1)))
    assert ta.guarantee(mu=mu).epsilon(1e-5) == value("pure100-gdp")
    order = 5.736
    budget = ta.RenyiBudget(order, 100 * ta.renyi_divergence(step, order), neighbours=REPLACE)
    budget.spend(step.repeated(100))
    assert budget.guarantee().epsilon(1e-5) == pytest.approx(4.6152, abs=5e-5)
    concentrated = ta.RenyiBudget.zcdp(100 * 0.1**2 / 2, neighbours=REPLACE)
    concentrated.spend(step.repeated(100))
    assert concentrated.guarantee().epsilon(1e-5) == pytest.approx(4.7285, abs=5e-5)


def test_pots_of_two_kinds():
    reveal = ta.Promise(0, 0.02, neighbours=REPLACE)
    budget = ta.Budget(steps={ta.RandomizedResponse(0.3): 2, reveal: 2})
    assert budget.guarantee().delta(VALUES["pots-0.2"]["inputs"]["eps"]) == value("pots-0.2")


def test_the_loss_of_gaussian_steps_at_any_time():
    assert loss_at_any_time(1.0, 0.1, 1e-5) == pytest.approx(5.788300371860)
