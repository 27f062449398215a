"""The least μ of a curve: what is refused, and how it is told."""

from __future__ import annotations

import math

import pytest

import tellapart as ta
from tellapart import choose, risk


def dp_sgd():
    return ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=1000).curve()


def test_what_is_told():
    summary = dp_sgd().gdp()
    assert str(summary) == "μ = 0.4740 for FPR and FNR from 1e-6 on, regret 0.0132"
    assert summary.at_least == 1e-6
    assert summary.binding.fpr == pytest.approx(1e-6)
    assert summary.binding.tpr == pytest.approx(9.3675e-6, rel=1e-4)
    assert str(ta.Gaussian(2).curve().gdp(0)) == "μ = 0.5000, regret 0.0000"


def test_nothing_leaks():
    summary = ta.guarantee(0).gdp()
    assert (summary.mu, summary.regret) == (0, 0)
    assert summary.curve().delta(0) == 0


def test_no_error_rate_is_left():
    message = (
        r"at_least must be at most 2.87e-7 for this curve, got 1e-6: an attack errs less often "
        r"than that on members and non-members alike; try at_least=3e-8"
    )
    with pytest.raises(ta.InvalidArgument, match=message):
        ta.Gaussian(0.1).curve().gdp()
    with pytest.raises(ta.InvalidArgument, match=r"at_least must be at most 0\.5"):
        ta.guarantee(0).gdp(0.7)
    with pytest.raises(ta.InvalidArgument, match="more noise"):
        ta.guarantee(0, 1).gdp()


def test_down_to_an_fpr_of_zero():
    with pytest.raises(
        ta.InvalidArgument, match="μ may be a limit that no attack comes near"
    ) as refused:
        dp_sgd().gdp(at_least=0)
    assert str(refused.value).endswith("say from which FPR on μ is to hold, such as at_least=1e-6")
    with pytest.raises(ta.InvalidArgument, match="with probability 1e-5 an output gives a member"):
        ta.guarantee(1, 1e-5).gdp(0)
    bounded = [ta.Laplace(1), ta.RandomizedResponse(1), ta.ExponentialMechanism(1), ta.Promise(1)]
    for mechanism in bounded:
        curve = mechanism.curve()
        assert curve.gdp(0).mu == pytest.approx(curve.gdp(1e-9).mu, rel=1e-6)
        assert curve.gdp(0).curve() == ta.guarantee(mu=curve.gdp(0).mu)


@pytest.mark.parametrize("wrong", [-1e-6, 1.5, float("nan"), "1e-6", None])
def test_the_least_rate_is_a_probability(wrong):
    with pytest.raises(ta.InvalidArgument, match="at_least must"):
        ta.Laplace(1).curve().gdp(wrong)


def test_an_attack_promises_nothing():
    with pytest.raises(ta.Unsupported, match="ask the curve of a mechanism or a guarantee"):
        ta.attack(points=[(0.1, 0.6)]).gdp()


def test_it_is_no_number_to_add():
    summary = ta.Laplace(1).curve().gdp()
    with pytest.raises(TypeError):
        summary + summary
    with pytest.raises(TypeError):
        float(summary)


def test_the_promise_keeps_the_neighbouring_relation():
    for relation in ta.Neighbours.ADD_REMOVE, ta.Neighbours.REPLACE:
        curve = ta.Laplace(1, neighbours=relation).curve(ta.Order.PRESENT)
        promise = curve.gdp().curve()
        assert (promise.neighbours, promise.order) == (relation, None)
    assert ta.guarantee(1).gdp().curve().neighbours is None


def test_as_a_measure_it_is_infinite_where_none_is_enough():
    assert risk.gdp(ta.Gaussian(0.1).curve()) == math.inf
    assert risk.gdp(ta.guarantee(1, 1e-5), at_least=0) == math.inf
    assert risk.gdp(dp_sgd()) == dp_sgd().gdp().mu
    # Of an attack it is what the attack shows: μ of its best point.
    shown, point = risk.gdp(ta.attack(points=[(0.1, 0.6)])), risk.gaussian_mu(fpr=0.1, tpr=0.6)
    assert point - 1e-12 < shown < point


def test_noise_from_a_limit_on_it():
    chosen = choose.least(ta.Gaussian, [choose.at_most(0.5, risk.gdp, at_least=1e-6)])
    assert chosen.parameter == pytest.approx(2, rel=1e-6)
