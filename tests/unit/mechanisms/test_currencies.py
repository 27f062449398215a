"""Conversions between privacy definitions: known values, the safe side, and what is refused."""

import math

import numpy as np
import pytest

import tellapart as ta

# Each promise, and a mechanism that keeps it, and hardly more.
KEPT = {
    "pure:0.3": ta.RandomizedResponse(0.3),
    "pure:2": ta.RandomizedResponse(2),
    "dp:1,1e-5": ta.Promise(1, 1e-5),
    "zcdp:0.1": ta.Gaussian(math.sqrt(5)),
    "rdp:8,0.5": ta.Gaussian(math.sqrt(8)),
    "gdp:1": ta.Gaussian(1),
    "laplace:epsilon=1": ta.Laplace(1),
    "gaussian:sigma=2,sampled=0.1,repeated=20": ta.Gaussian(2).sampled(0.1).repeated(20),
    "partition-selection:epsilon=1,delta=1e-5": ta.PartitionSelection(1, 1e-5),
}


@pytest.mark.parametrize("promise", KEPT)
def test_no_currency_forbids_what_keeps_the_promise(promise):
    found, curve = ta.convert(promise, delta=1e-4, order=3.0), KEPT[promise].curve()
    alphas = np.concatenate([np.geomspace(1e-9, 1e-2, 15), np.linspace(0.02, 1, 50)])
    known = [each for each in found.currencies if each.curve is not None]
    assert len(known) >= 2
    for each in known:
        assert each.curve.bound is ta.Bound.LOWER
        assert np.all(each.curve.beta(alphas) <= curve.beta(alphas) + 1e-12), each.name
        assert each.advantage >= curve.delta(0.0) * (1 - 1e-12)
    for each in found.currencies:
        assert (each.curve is None) == math.isinf(each.value)
        assert each.curve is not None or each.remark


def test_values_that_are_known():
    assert ta.convert("zcdp:0.1", delta=1e-6).dp.value == pytest.approx(2.14193, abs=1e-4)
    gdp = ta.convert("gdp:1")
    assert (gdp.zcdp.value, gdp.rdp.value) == pytest.approx((0.5, 4.0), rel=1e-15)
    assert (gdp.zcdp.value, gdp.rdp.value, gdp.gdp.value) >= (0.5, 4.0, 1.0)
    assert gdp.dp.value == ta.Gaussian(sigma=1).epsilon(delta=1e-6)
    pure = ta.convert("pure:1")
    assert pure.zcdp.value == pytest.approx(math.tanh(0.5), rel=1e-12)
    assert pure.gdp.value == pytest.approx(1.2320353853, abs=1e-6)
    assert ta.convert("rdp:8,0.5", order=8).rdp.value == 0.5
    assert ta.convert("rdp:8,0.5", order=4).rdp.value == 0.5
    assert math.isinf(ta.convert("rdp:8,0.5", order=9).rdp.value)
    assert ta.convert("dp:1,1e-5").dp.value == 1.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_of_pure_dp_the_concentrated_bound_is_the_divergence_near_order_one(epsilon):
    """No order needs more than ε·tanh(ε/2), and orders near 1 need as much."""
    orders = np.concatenate([[1.0001], np.linspace(1.01, 60, 200)])
    per_order = ta.renyi_divergence(ta.RandomizedResponse(epsilon), orders) / orders
    rho = ta.convert(f"pure:{epsilon}").zcdp.value
    assert np.all(per_order <= rho * (1 + 1e-9))
    assert per_order[0] == pytest.approx(rho, rel=1e-3)


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        ("zdcp:1", "promise must begin with pure, dp, zcdp, rdp, gdp, or with a mechanism's name"),
        ("zcdp:x", "promise must be written as zcdp:ρ, got 'zcdp:x'"),
        ("rdp:8", "promise must be written as rdp:order,ε, got 'rdp:8'"),
        ("zcdp:-1", "zcdp must be finite and at least 0"),
    ],
)
def test_what_is_no_promise_is_refused(promise, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.convert(promise)
    assert str(caught.value).startswith(message)


def test_an_attack_is_no_promise():
    with pytest.raises(ta.InvalidArgument, match="not an attack"):
        ta.convert(ta.attack(points=[(0.1, 0.5)]))


@pytest.mark.parametrize(
    "curve",
    [
        ta.Laplace.with_epsilon(3).sampled(0.1).curve(ta.Order.ABSENT),
        ta.from_pmfs([0.9, 0.1], [0.99, 0.01]),
    ],
    ids=["one order of a sample", "a pair"],
)
def test_a_curve_of_one_order_is_converted_in_both(curve):
    found = ta.convert(curve)
    both = curve.symmetrised()
    assert found.pure.value >= both.epsilon(0.0)
    assert found.dp.value >= both.epsilon(1e-5) or found.dp.value == math.inf


def test_no_mu_is_promised_where_rates_are_no_doubles():
    assert ta.convert("pure:800").gdp.value == math.inf
    with pytest.raises(ta.InvalidArgument, match="at_least"):
        ta.guarantee(710).gdp(0)
    assert ta.guarantee(600).gdp(0).mu > 60
