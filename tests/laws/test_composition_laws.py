"""What must hold for compositions, whatever engine computes them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from examples import examples
from families import pmf_pairs
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.subsampling import SampledCurve

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0])
LOSSES = np.concatenate([-EPSILONS[:0:-1], EPSILONS]) + 0.0123
FPRS = np.concatenate([[0.0], 10.0 ** -np.arange(12.0, 1, -2), np.linspace(0.05, 1, 20)])
# A failing composition may be a slow one: it is shown as it was drawn.
few = settings(
    max_examples=examples(12),
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


def or_refused(check: Any) -> Any:
    """The law, where there is an answer: a contour may refuse, but never be wrong."""

    @functools.wraps(check)
    def checked(*arguments: Any, **named: Any) -> None:
        try:
            check(*arguments, **named)
        except ta.NotCertified:
            reject()

    return checked


sigmas = st.floats(0.6, 10)
rates = st.floats(-2.5, 0).map(lambda x: 10.0**x)
counts = st.floats(2, 6).map(lambda x: round(10.0**x))


@st.composite
def steps(draw: Any) -> ta.Mechanism:
    """One smooth step, on all of the data or on a sample."""
    return ta.Gaussian(draw(sigmas)).sampled(draw(rates))


@st.composite
def runs(draw: Any) -> ta.Mechanism:
    """A training run: few steps or many."""
    return draw(steps()).repeated(draw(counts))


@st.composite
def trees(draw: Any) -> ta.Mechanism:
    """Sampled Gaussian runs, Laplace steps enough to be smooth, answers of yes and no."""
    parts: list[ta.Mechanism] = [draw(runs())]
    if draw(st.booleans()):
        parts.append(ta.Gaussian(draw(sigmas)))
    if draw(st.booleans()):
        parts.append(ta.Laplace(draw(st.floats(1, 50))).repeated(draw(st.integers(20, 400))))
    if draw(st.booleans()):
        parts.append(draw(runs()))
    return ta.compose(parts)


def _close(a: Any, b: Any, rel: float = 1e-9) -> None:
    np.testing.assert_allclose(a, b, rtol=rel, atol=1e-13)


def _same(curve: ta.TradeoffCurve, other: ta.TradeoffCurve) -> None:
    _close(curve.delta(EPSILONS), other.delta(EPSILONS))
    _close(curve.epsilon([1e-12, 1e-5, 0.01]), other.epsilon([1e-12, 1e-5, 0.01]))
    _close(curve.beta(FPRS), other.beta(FPRS))


def _inverse(curve: ta.TradeoffCurve, other: ta.TradeoffCurve) -> None:
    """Each is the inverse function of the other, where doubles hold the rates."""
    middle = np.linspace(0.02, 0.98, 15)
    beta = curve.beta(middle)
    known = beta > 1e-290
    _close(other.beta(beta[known]), middle[known])


# -- the algebra of composition ----------------------------------------------------------------


@few
@given(runs(), runs())
@or_refused
def test_composition_commutes(a: ta.Mechanism, b: ta.Mechanism) -> None:
    _same(a.then(b).curve(), b.then(a).curve())


@few
@given(runs(), runs(), runs())
@or_refused
def test_composition_associates(a: ta.Mechanism, b: ta.Mechanism, c: ta.Mechanism) -> None:
    _same(a.then(b).then(c).curve(), a.then(b.then(c)).curve())
    _same(a.then(b).then(c).curve(), ta.compose([c, a, b]).curve())


@few
@given(steps(), st.floats(0, 5).map(lambda x: round(10.0**x)))
@or_refused
def test_all_copies_at_once_are_half_of_them_twice(step: ta.Mechanism, half: int) -> None:
    once = step.repeated(2 * half).curve()
    _same(once, step.repeated(half).then(step.repeated(half)).curve())
    _same(once, step.repeated(half).repeated(2).curve())
    _same(once, step.then(step.repeated(2 * half - 1)).curve())


@few
@given(sigmas, counts)
@or_refused
def test_a_rate_of_one_is_no_sampling_and_of_nothing_no_leak(sigma: float, times: int) -> None:
    step = ta.Gaussian(sigma)
    _same(step.sampled(1.0).repeated(times).curve(), step.repeated(times).curve())
    nothing = step.sampled(0.0).repeated(times).curve()
    np.testing.assert_array_equal(nothing.delta(EPSILONS), 0.0)
    np.testing.assert_array_equal(nothing.beta(FPRS), 1 - FPRS)


@few
@given(sigmas, counts)
@or_refused
def test_many_gaussian_steps_are_one_with_less_noise(sigma: float, times: int) -> None:
    together = ta.Gaussian(sigma).repeated(times).curve()
    _same(together, ta.Gaussian(sigma / np.sqrt(times)).curve())


@few
@given(sigmas, st.floats(0.01, 1), st.floats(0.01, 1))
@or_refused
def test_a_sample_of_a_sample_is_a_sample(sigma: float, a: float, b: float) -> None:
    step = ta.Gaussian(sigma)
    twice, once = step.sampled(a).sampled(b), step.sampled(a * b)
    _same(twice.curve(), once.curve())
    _same(twice.repeated(3_000).curve(), once.repeated(3_000).curve())


@few
@given(runs(), runs())
@or_refused
def test_a_nearly_sure_rate_is_nearly_no_sampling(a: ta.Mechanism, b: ta.Mechanism) -> None:
    """The two ways to say the same moments: a mixture of one, and a formula."""
    full = ta.Gaussian(2).then(a).curve()
    almost = ta.Gaussian(2).sampled(1 - 1e-15).then(a).curve()
    np.testing.assert_allclose(almost.delta(EPSILONS), full.delta(EPSILONS), rtol=1e-8, atol=1e-13)


# -- who leaks more ----------------------------------------------------------------------------


def _leaks_more(more: ta.Mechanism, less: ta.Mechanism) -> None:
    for order in ta.Order:
        worse, better = more.curve(order), less.curve(order)
        assert np.all(worse.delta(LOSSES) >= better.delta(LOSSES) * (1 - 1e-9) - 1e-13)
        assert np.all(worse.beta(FPRS) <= better.beta(FPRS) * (1 + 1e-9) + 1e-13)
        deltas = [1e-12, 1e-5, 0.01]
        assert np.all(worse.epsilon(deltas) >= better.epsilon(deltas) * (1 - 1e-9))


@few
@given(steps(), counts, st.integers(1, 1000))
@or_refused
def test_more_steps_never_leak_less(step: ta.Mechanism, times: int, more: int) -> None:
    _leaks_more(step.repeated(times + more), step.repeated(times))


@few
@given(sigmas, rates, counts, st.floats(0.01, 1))
@or_refused
def test_a_larger_rate_never_leaks_less(sigma: float, rate: float, times: int, part: float) -> None:
    step = ta.Gaussian(sigma)
    _leaks_more(step.sampled(rate).repeated(times), step.sampled(rate * part).repeated(times))


@few
@given(sigmas, rates, counts, st.floats(1, 3))
@or_refused
def test_less_noise_never_leaks_less(sigma: float, rate: float, times: int, more: float) -> None:
    less = ta.Gaussian(sigma * more).sampled(rate).repeated(times)
    _leaks_more(ta.Gaussian(sigma).sampled(rate).repeated(times), less)


@few
@given(trees(), runs())
@or_refused
def test_seeing_less_of_the_output_never_tells_more(
    tree: ta.Mechanism, other: ta.Mechanism
) -> None:
    """Post-processing: who forgets one part is no better off."""
    _leaks_more(tree.then(other), tree)


# -- the laws of curves ------------------------------------------------------------------------

orders = st.sampled_from([None, *ta.Order])


@few
@given(trees(), orders)
@or_refused
def test_it_is_a_convex_falling_curve_of_probabilities(tree: ta.Mechanism, order: Any) -> None:
    curve = tree.curve(order)
    beta = curve.beta(np.linspace(0, 1, 101))
    assert beta[0] == pytest.approx(1.0, abs=1e-12)
    assert beta[-1] == 0
    assert np.all((beta >= 0) & (beta <= 1 - np.linspace(0, 1, 101) + 1e-12))
    assert np.all(np.diff(beta) <= 1e-12)
    assert np.all(beta[1:-1] <= (beta[:-2] + beta[2:]) / 2 + 1e-11)
    for rate in curve.rates(LOSSES):
        assert np.all((rate >= 0) & (rate <= 1))
    delta = curve.delta(LOSSES)
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= 1e-13)


@few
@given(trees(), orders)
@or_refused
def test_rates_beta_and_profile_tell_one_story(tree: ta.Mechanism, order: Any) -> None:
    curve = tree.curve(order)
    rates = curve.rates(LOSSES)
    fpr, tpr = np.asarray(rates.fpr), np.asarray(rates.tpr)
    delta = curve.delta(LOSSES)
    tail = np.exp(LOSSES) * fpr
    assert np.all(np.abs(delta - (tpr - tail)) <= 1e-9 * (tpr + tail) + 1e-14)
    assert np.abs(rates.fpr + rates.tnr - 1).max() <= 1e-12
    assert np.abs(rates.tpr + rates.fnr - 1).max() <= 1e-12
    real = (fpr > 1e-300) & (fpr <= 1)
    _close(curve.tpr(fpr[real]), tpr[real])
    # No test beats the profile: β(α) ≥ 1 − δ(ε) − e^ε·α for all ε and α.
    bound = 1 - delta[:, None] - np.multiply.outer(np.exp(LOSSES), FPRS)
    assert np.all(curve.beta(FPRS) >= bound - 1e-11)


@few
@given(trees(), orders)
@or_refused
def test_epsilon_and_delta_are_inverse(tree: ta.Mechanism, order: Any) -> None:
    curve = tree.curve(order)
    deltas = np.array([1e-30, 1e-12, 1e-5, 1e-2])
    epsilon = curve.epsilon(deltas)
    assert np.all(np.diff(epsilon) <= 0)
    positive = epsilon > 0
    np.testing.assert_allclose(curve.delta(epsilon[positive]), deltas[positive], rtol=1e-8)
    assert np.all(curve.delta(0.0) <= deltas[~positive] * (1 + 1e-9))


@few
@given(trees())
@or_refused
def test_one_order_reflected_is_the_other(tree: ta.Mechanism) -> None:
    present, absent = tree.curve(ta.Order.PRESENT), tree.curve(ta.Order.ABSENT)
    _close(present.mirrored().mirrored().beta(FPRS), present.beta(FPRS), 1e-15)
    want = np.exp(-LOSSES) * present.delta(LOSSES) - np.expm1(-LOSSES)
    assert np.all(np.abs(absent.delta(-LOSSES) - want) <= 1e-10 * (1 + np.exp(-LOSSES)))
    here, there = present.rates(LOSSES), absent.rates(-LOSSES)
    for rate, other in ((there.fpr, here.fnr), (there.tpr, here.tnr), (there.fnr, here.fpr)):
        _close(rate, other)
    _inverse(present, absent)


@few
@given(trees())
@or_refused
def test_both_orders_together_are_the_worse_of_them(tree: ta.Mechanism) -> None:
    both, orders = tree.curve(), [tree.curve(order) for order in ta.Order]
    _close(both.delta(LOSSES), np.maximum(*(curve.delta(LOSSES) for curve in orders)))
    _close(
        both.epsilon([1e-9, 1e-4]), np.maximum(*(curve.epsilon([1e-9, 1e-4]) for curve in orders))
    )
    for curve in orders:
        assert np.all(both.beta(FPRS) <= curve.beta(FPRS) * (1 + 1e-9) + 1e-12)
    _inverse(both, both)


@few
@given(trees(), orders)
@or_refused
def test_the_least_fpr_at_a_tpr_is_where_that_tpr_came_from(tree: ta.Mechanism, order: Any) -> None:
    curve = tree.curve(order)
    alpha = FPRS[1:-1]
    beta = curve.beta(alpha)
    assert np.all((beta >= 0) & (beta <= 1 - alpha))
    tpr = curve.tpr(alpha)
    # Near 1 the TPR's own rounding is worth so much: its ulp over the slope of the curve.
    slope = (1 - tpr) / (1 - alpha)
    known = (tpr < 1) & (alpha * slope > 1e-8)
    np.testing.assert_allclose(curve.fpr(tpr[known]), alpha[known], rtol=1e-7)
    for power, from_here in zip(tpr[known][:2], alpha[known][:2], strict=True):  # or alone
        assert curve.fpr(power) == pytest.approx(from_here, rel=1e-7)
    # And the other way round, however little of the curve is left.
    wanted = np.array([1e-6, 0.01, 0.1, 0.4, 0.5, 0.6, 0.9, 0.999])
    least = curve.fpr(wanted)
    seen = least > 1e-290
    np.testing.assert_allclose(curve.tpr(least[seen]), wanted[seen], rtol=1e-7)
    # From 0 to 1, and never down.
    asked = curve.fpr(np.linspace(0, 1, 33))
    assert asked[0] == 0
    assert np.all((asked >= 0) & (asked <= np.linspace(0, 1, 33) + 1e-12))
    assert np.all(np.diff(asked) >= -1e-12)


@few
@given(trees(), orders)
@or_refused
def test_at_the_ends_nobody_or_everybody_is_accused(tree: ta.Mechanism, order: Any) -> None:
    """Whatever the largest threshold a double can hold."""
    curve = tree.curve(order)
    for far in (1e300, 1e308, np.finfo(float).max):
        assert tuple(curve.rates(far)) == (0.0, 0.0, 1.0, 1.0)
        assert tuple(curve.rates(-far)) == (1.0, 1.0, 0.0, 0.0)
        both = np.array(curve.rates(np.array([far, -far, 0.0])))
        assert np.all(np.isfinite(both))


# -- on a sample, of finitely many outcomes ----------------------------------------------------


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)
@given(pmf_pairs(least=1e-9), st.floats(1e-3, 0.999))
@or_refused
def test_a_sampled_curve_is_that_of_the_mixture(pair: Any, rate: float) -> None:
    p, q = pair
    mixture = (1 - rate) * p + rate * q
    sampled = SampledCurve(ta.from_pmfs(p, q), rate)
    for curve, want in (
        (sampled, ta.from_pmfs(p, mixture)),
        (sampled.mirrored(), ta.from_pmfs(mixture, p)),
    ):
        losses = LOSSES + 1e-4
        np.testing.assert_allclose(curve.delta(losses), want.delta(losses), atol=1e-13)
        np.testing.assert_allclose(curve.beta(FPRS), want.beta(FPRS), atol=1e-12)
        for column, other in zip(curve.rates(losses), want.rates(losses), strict=True):
            np.testing.assert_allclose(column, other, atol=1e-12)
        # At a δ that one output alone makes up, rounding decides between some ε and infinity.
        alone = want.delta(np.inf)
        deltas = [delta for delta in (1e-9, 1e-3, 0.1) if abs(delta - alone) > 1e-13]
        np.testing.assert_allclose(curve.epsilon(deltas), want.epsilon(deltas), atol=1e-9)


@settings(max_examples=examples(25), deadline=None)
@given(pmf_pairs(most=4, least=1e-3), st.floats(1e-3, 1), st.integers(1, 4))
@or_refused
def test_finite_steps_compose_to_their_product(pair: Any, rate: float, times: int) -> None:
    p, q = pair
    assume(np.all((p > 0) == (q > 0)))
    tree = ta.CustomMechanism.from_pmfs(p, q).sampled(rate).repeated(times)
    mixture = (1 - rate) * p + rate * q
    absent, present = np.ones(1), np.ones(1)
    for _ in range(times):
        absent, present = np.outer(absent, p).ravel(), np.outer(present, mixture).ravel()
    curve, want = tree.curve(ta.Order.PRESENT), ta.from_pmfs(absent, present)
    np.testing.assert_allclose(curve.delta(LOSSES), want.delta(LOSSES), atol=1e-12)
    np.testing.assert_allclose(curve.beta(FPRS), want.beta(FPRS), atol=1e-10)


@few
@given(
    st.floats(0.6, 8),
    st.floats(1e-3, 0.5),
    st.integers(2, 2000),
    st.sampled_from([ta.Order.PRESENT, ta.Order.ABSENT]),
)
def test_moments_alone_bound_the_profile_and_both_orders_are_the_larger(
    sigma: float, rate: float, steps: int, order: ta.Order
) -> None:
    """What decides which order leaks more may skip the other, and never the larger."""
    mechanism = ta.Gaussian(sigma).sampled(rate).repeated(steps)
    curve, both = mechanism.curve(order), mechanism.curve()
    assert isinstance(curve, ComposedCurve)
    epsilon = np.linspace(0.0, float(both.epsilon(1e-9)), 9)
    assert np.all(curve.delta_by_moments(epsilon) >= curve.delta(epsilon))
    orders = np.stack([curve.delta(epsilon), curve.mirrored().delta(epsilon)])
    assert np.allclose(both.delta(epsilon), orders.max(axis=0), rtol=1e-8)
    for at in epsilon[1:]:  # alone as together
        assert both.delta(float(at)) == pytest.approx(float(both.delta([at])[0]), rel=1e-12)


@pytest.mark.parametrize("steps", [10_000, 1_000_000])
def test_what_tells_members_for_sure_has_no_area(steps: int) -> None:
    """So much training leaves nothing to guess: a curve along the axes, and no fault on the way."""
    curve = ta.dp_sgd(0.5, 0.5, steps).curve(ta.Order.PRESENT)
    assert curve.area() == pytest.approx(0.0, abs=1e-9)
    assert curve.tpr(0.01) == pytest.approx(1.0, abs=1e-9)


def test_what_was_asked_before_changes_no_answer() -> None:
    """Rates that were asked for lately are kept, of the curve alone and in nobody else's hands."""
    fpr = np.linspace(0.0, 1.0, 21)
    curve = ta.dp_sgd(1.0, 0.01, 500).curve()
    fresh = [ta.dp_sgd(1.0, 0.01, 500).curve() for _ in range(3)]
    alone = fresh[0].tpr(fpr), fresh[1].beta(fpr), fresh[2].tpr(fpr[1:].reshape(4, 5))
    for _ in range(2):
        taken = curve.tpr(fpr)
        assert np.array_equal(taken, alone[0])
        taken[:] = 7.0
        assert np.array_equal(curve.beta(fpr), alone[1])
        assert np.array_equal(curve.tpr(fpr[1:].reshape(4, 5)), alone[2])
        for at in np.linspace(0.1, 0.9, 20):  # more than are kept
            curve.tpr(float(at))
