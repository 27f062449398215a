"""What must hold for the least μ of every curve, and for what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from families import CURVE_FAMILIES, MECHANISM_FAMILIES, WORLD_FAMILIES, orders
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

import tellapart as ta
from tellapart import risk

SOURCES = [*MECHANISM_FAMILIES, *CURVE_FAMILIES, *WORLD_FAMILIES]
NAMES = [source if isinstance(source, str) else source.__name__ for source in SOURCES]
INTEGRALS = ("uniform Gaussian", "finite Gaussian")
STARTS = st.sampled_from([1e-12, 1e-10, 1e-6, 1e-4, 1e-2, 0.1])
LOSSES = np.concatenate([np.linspace(-12, 12, 49), [-700.0, -90.0, 45.0, 120.0]])
RATES = np.concatenate([[0.0], 10.0 ** -np.arange(40, 1, -3.0), np.linspace(0.03, 1, 15)])


def curves_from(source):
    if source in MECHANISM_FAMILIES:
        family = MECHANISM_FAMILIES[source]
        return st.builds(lambda mechanism, order: mechanism.curve(order), family, orders)
    return {**CURVE_FAMILIES, **WORLD_FAMILIES}[source]


def needed(curve, fpr):
    """Φ⁻¹(TPR) − Φ⁻¹(FPR), naively but with the digits of a small FNR."""
    tpr, fnr = curve.tpr(fpr), curve.beta(fpr)
    return np.where(fnr < 0.5, -ndtri(fnr), ndtri(tpr)) - ndtri(fpr)


def no_attack_with_such_errors_needs_more(curve, summary):
    start = summary.at_least
    for order in (curve, curve.mirrored(), curve.symmetrised()):
        fpr = np.concatenate([np.geomspace(start, 0.5, 100), [summary.binding.fpr]])
        inside = (order.beta(fpr) >= start) & (fpr >= start)
        assert np.all(needed(order, fpr[inside]) <= summary.mu * (1 + 1e-9) + 1e-9)


def it_is_needed_where_it_is_said_to_be(curve, summary):
    fpr, tpr, fnr, tnr = summary.binding
    assert summary.at_least * (1 - 1e-12) <= fpr <= fnr
    assert (tpr, tnr) == pytest.approx((1 - fnr, 1 - fpr), abs=1e-12)
    mu = (-ndtri(fnr) if fnr < 0.5 else ndtri(tpr)) - ndtri(fpr)
    assert mu == pytest.approx(summary.mu, rel=1e-9, abs=1e-13)
    # An attack errs no more often, but for what a step of 1e-5 of the FPR is worth.
    assert curve.symmetrised().beta(fpr * (1 + 1e-5)) <= fnr * (1 + 1e-5)


def its_promise_is_never_above_the_truth(curve, summary):
    promise = summary.curve()
    assert promise.bound is ta.Bound.LOWER
    assert promise.mirrored() is promise
    for order in (curve, curve.mirrored()):
        assert np.all(promise.delta(LOSSES) >= order.delta(LOSSES) * (1 - 1e-9) - 1e-15)
        beta, tpr = promise.beta(RATES), promise.tpr(RATES)
        assert np.all(beta <= order.beta(RATES) * (1 + 1e-9) + 1e-15)
        assert np.all(tpr >= order.tpr(RATES) * (1 - 1e-9) - 1e-300)


def its_promise_is_that_of_the_gaussian_or_of_the_least_fpr(curve, summary):
    promise, bell = summary.curve(), ta.guarantee(mu=summary.mu)
    spared = bell.tpr(summary.at_least) - summary.at_least
    assert np.all(promise.beta(RATES) <= bell.beta(RATES) * (1 + 1e-12) + 1e-15)
    epsilon = np.linspace(0, 12, 25)
    assert promise.delta(epsilon) == pytest.approx(
        np.maximum(bell.delta(epsilon), spared), rel=1e-9, abs=1e-13
    )


def both_orders_have_one_mu(curve, summary):
    mirror = curve.mirrored().gdp(summary.at_least)
    assert mirror.mu == pytest.approx(summary.mu, rel=1e-6, abs=1e-9)


def from_a_larger_rate_on_it_is_no_larger(curve, summary):
    later = 2 * summary.at_least
    if curve.symmetrised().beta(later) >= later:
        assert curve.gdp(later).mu <= summary.mu * (1 + 2e-7) + 1e-12


LAWS = (
    no_attack_with_such_errors_needs_more,
    it_is_needed_where_it_is_said_to_be,
    its_promise_is_never_above_the_truth,
    its_promise_is_that_of_the_gaussian_or_of_the_least_fpr,
    both_orders_have_one_mu,
    from_a_larger_rate_on_it_is_no_larger,
)


@pytest.mark.parametrize("source", SOURCES, ids=NAMES)
def test_all_laws_of_the_least_mu(source):
    """On curves of every kind with a least FPR; those that have no μ are refused."""

    # Curves of worlds take a second each, those of integrals five.
    few = 1 if source in INTEGRALS else 2 if source in WORLD_FAMILIES else 10

    @settings(max_examples=examples(few), deadline=None)
    @given(curves_from(source), STARTS)
    def check(curve, at_least):
        if curve.bound is ta.Bound.UPPER:
            with pytest.raises(ta.Unsupported, match="promises nothing"):
                curve.gdp(at_least)
        elif curve.symmetrised().beta(at_least) < at_least:
            with pytest.raises(ta.InvalidArgument, match="at_least must be at most"):
                curve.gdp(at_least)
        else:
            summary = curve.gdp(at_least)
            for law in LAWS:
                law(curve, summary)

    check()


@pytest.mark.parametrize("source", ["pmfs", "densities", "worst case", "rdp", ta.Laplace])
def test_the_regret_is_the_largest_difference_of_bayes_errors(source):
    @settings(max_examples=examples(5), deadline=None)
    @given(curves_from(source), STARTS)
    def regret(curve, start):
        assume(curve.bound is not ta.Bound.UPPER)
        both = curve.symmetrised()
        assume(both.beta(start) >= start)
        summary = curve.gdp(start)
        bell = ta.guarantee(mu=summary.mu)
        priors = np.linspace(0.01, 0.99, 99)
        apart = risk.bayes_error(both, prior=priors) - risk.bayes_error(bell, prior=priors)
        assert summary.regret >= max(0.0, float(np.max(apart))) - 1e-12
        assert summary.regret <= float(ta.gap(both, bell)) + 1e-8

    regret()


@given(st.floats(1e-3, 5), STARTS)
def test_gaussian_noise_has_its_own_mu_and_no_regret(mu, start):
    assume(ndtr(-mu / 2) >= start)
    curve = ta.Gaussian(sigma=1 / mu).curve()
    for at_least in (0, start):
        summary = curve.gdp(at_least)
        assert summary.mu == pytest.approx(mu, rel=1e-14)
        assert summary.regret == 0
    assert curve.gdp(0).curve() == ta.guarantee(mu=curve.gdp(0).mu)


@given(st.floats(1e-6, 0.5), STARTS)
def test_the_promise_is_sharp(delta, start):
    """(0, δ)-DP keeps the μ that it has; so no promise with a smaller δ follows from μ."""
    assume(2 * start <= 1 - delta)
    summary = ta.guarantee(0, delta).gdp(start)
    assert summary.curve().delta(np.inf) == pytest.approx(delta, rel=1e-9)
