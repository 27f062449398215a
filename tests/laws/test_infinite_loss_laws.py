"""Steps that may reveal all: what composing, sampling and reflecting them must give."""

from math import comb

import numpy as np
import pytest
from examples import examples
from families import pmf_pairs
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.infinite_loss import (
    FiniteMass,
    InfiniteLossCurve,
    with_infinite_loss,
)

FPRS = np.concatenate([[0.0], 10.0 ** -np.arange(12.0, 1, -2), np.linspace(0.05, 1, 20)])
LOSSES = np.concatenate([-np.arange(8.0, 0, -0.5), [0.0], np.arange(0.5, 9, 0.5)]) + 0.0123
quick = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
chances = st.one_of(st.just(0.0), st.floats(1e-12, 0.9))


@quick
@given(pmf_pairs(most=4, least=1e-3), st.floats(1e-3, 1), st.integers(1, 4), st.booleans())
def test_finite_steps_with_zeros_compose_to_their_product(pair, rate, times, back):
    p, q = pair
    tree = ta.CustomMechanism.from_pmfs(p, q).sampled(rate).repeated(times)
    mixture = (1 - rate) * p + rate * q
    absent, present = np.ones(1), np.ones(1)
    for _ in range(times):
        absent, present = np.outer(absent, p).ravel(), np.outer(present, mixture).ravel()
    order = ta.Order.ABSENT if back else ta.Order.PRESENT
    worlds = (present, absent) if back else (absent, present)
    curve, want = tree.curve(order), ta.from_pmfs(*worlds)
    np.testing.assert_allclose(curve.delta(LOSSES), want.delta(LOSSES), atol=1e-12)
    np.testing.assert_allclose(curve.beta(FPRS), want.beta(FPRS), atol=1e-10)
    assert curve.delta(np.inf) == pytest.approx(want.delta(np.inf), abs=1e-13)


@quick
@given(st.floats(0.01, 2), chances, st.integers(1, 60))
def test_promises_compose_as_well_as_they_can(epsilon, delta, k):
    """The closed form of Kairouz, Oh and Viswanath, at each of its ε."""
    curve = ta.Promise(epsilon, delta).repeated(k).curve()
    for i in range(k // 2 + 1):
        terms = [
            comb(k, j)
            * (np.exp((k - j) * epsilon) - np.exp((k - 2 * i + j) * epsilon))
            / (1 + np.exp(epsilon)) ** k
            for j in range(i)
        ]
        want = -np.expm1(k * np.log1p(-delta) + np.log1p(-sum(terms)))
        assert curve.delta((k - 2 * i) * epsilon) == pytest.approx(want, rel=1e-9, abs=1e-13)


@quick
@given(st.floats(0.05, 6), chances, chances)
def test_around_a_bell_it_is_what_the_formula_says(mu, a, b):
    curve = with_infinite_loss(GaussianCurve(mu), FiniteMass(np.log1p(-a), np.log1p(-b)))
    bell = GaussianCurve(mu)
    alpha = FPRS * (1 - a)
    np.testing.assert_allclose(curve.beta(alpha), (1 - b) * bell.beta(FPRS), rtol=1e-12, atol=1e-15)
    if a > 0:
        assert curve.beta(1 - a / 2) == 0
        assert curve.mirrored().delta(np.inf) == pytest.approx(a, rel=1e-14)
    assert curve.delta(np.inf) == pytest.approx(b, rel=1e-14)
    # β and δ are conjugate, in both orders.
    for side in (curve, curve.mirrored()):
        delta, rates = side.delta(LOSSES), side.rates(LOSSES)
        gap = rates.tpr - np.exp(LOSSES) * rates.fpr - delta
        assert np.abs(gap).max() <= 1e-12 * (1 + (np.exp(LOSSES) * rates.fpr).max())
        np.testing.assert_allclose(side.beta(rates.fpr), rates.fnr, atol=1e-10)
        lines = 1 - delta[:, None] - np.multiply.outer(np.exp(LOSSES), FPRS)
        assert np.all(side.beta(FPRS) >= lines - 1e-12)
    want = np.exp(-LOSSES) * curve.delta(LOSSES) - np.expm1(-LOSSES)
    np.testing.assert_allclose(curve.mirrored().delta(-LOSSES), want, rtol=1e-9, atol=1e-11)


@quick
@given(st.floats(0.05, 6), chances, chances, st.floats(1e-9, 0.9))
def test_epsilon_and_delta_are_inverse_where_there_is_an_epsilon(mu, a, b, delta):
    curve = with_infinite_loss(GaussianCurve(mu), FiniteMass(np.log1p(-a), np.log1p(-b)))
    epsilon = curve.epsilon(delta)
    if delta < b:
        assert epsilon == np.inf
    elif epsilon == 0:
        assert curve.delta(0.0) <= delta * (1 + 1e-9)
    else:
        assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-8)


@quick
@given(st.floats(0.05, 6), chances, chances)
def test_both_orders_together_are_the_worse_of_them(mu, a, b):
    curve = with_infinite_loss(GaussianCurve(mu), FiniteMass(np.log1p(-a), np.log1p(-b)))
    both, orders = curve.symmetrised(), (curve, curve.mirrored())
    worse = np.maximum(*(curve.delta(LOSSES) for curve in orders))
    np.testing.assert_allclose(both.delta(LOSSES), worse, rtol=1e-12, atol=1e-15)
    for ordered in orders:
        assert np.all(both.beta(FPRS) <= ordered.beta(FPRS) + 1e-10)


@settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@example(0.8, 0.01, 50, 1e-9, 0.05, None)  # on some machines two thresholds have the same rates
@given(
    st.floats(0.8, 3),
    st.floats(0.01, 0.2),
    st.integers(50, 500),
    st.floats(1e-9, 1e-6),
    st.floats(0.05, 1),
    st.sampled_from([None, *ta.Order]),
)
def test_brackets_hold_the_contour(sigma, rate, times, sure, part, order):
    """Training, and noise of finite width on a sample, so that the two orders differ."""
    width = ta.UniformNoise(1 / sure)
    tree = ta.Gaussian(sigma).sampled(rate).repeated(times).then(width.sampled(part))
    curve = tree.curve(order)
    bracket = tree.bracket(1e-5, order=order)
    low, high = bracket.upper.epsilon(1e-5), bracket.lower.epsilon(1e-5)
    assert low <= curve.epsilon(1e-5) + 1e-8
    assert curve.epsilon(1e-5) <= high + 1e-8
    assert high - low <= 1e-4 * max(1, low)
    try:
        beta = curve.beta(FPRS)
    except ta.NotCertified:  # both orders together are searched for far out: it may refuse
        assert order is None
        return
    assert np.all(bracket.lower.beta(FPRS) <= beta * (1 + 1e-8) + 1e-12)
    assert np.all(beta <= bracket.upper.beta(FPRS) * (1 + 1e-8) + 1e-12)


def test_a_small_chance_and_what_is_left_of_a_large_one_keep_their_digits():
    small = InfiniteLossCurve(GaussianCurve(1), FiniteMass(-1e-30, -1e-30))
    assert small.delta(np.inf) == 1e-30
    assert small.delta(30.0) == pytest.approx(1e-30 + GaussianCurve(1).delta(30.0), rel=1e-12)
    large = InfiniteLossCurve(GaussianCurve(1), FiniteMass(-100.0, -100.0))
    assert large.beta(0.0) == pytest.approx(np.exp(-100), rel=1e-12)
    assert large.rates(0.0).fpr == pytest.approx(np.exp(-100) * GaussianCurve(1).rates(0.0).fpr)


def test_a_bracket_says_which_delta_it_can_serve():
    tree = ta.Gaussian(1).then(ta.UniformNoise(100.0))
    with pytest.raises(ta.InvalidArgument, match=r"^delta must exceed 0\.01, the chance that all"):
        tree.bracket(delta=0.01)


def test_of_a_promise_nobody_knows_that_it_leaks():
    bracket = ta.Promise(0.1, 1e-7).repeated(50).bracket(1e-5)
    lower, upper = bracket
    truth = ta.Promise(0.1, 1e-7).repeated(50).curve()
    assert truth.epsilon(1e-5) <= lower.epsilon(1e-5) <= truth.epsilon(1e-5) + 3e-4
    assert (upper.epsilon(1e-5), upper.bound) == (0.0, ta.Bound.UPPER)
    assert bracket.one_sided
    assert bracket.gdp(1e-3) == (0.0, lower.gdp(1e-3).mu)


def test_losses_that_no_double_can_hold_count_as_revealing():
    curve = ta.RandomizedResponse(800).repeated(3).curve()
    assert curve.delta(2000.0) == 1
    assert ta.Promise(700.0).repeated(2).curve().delta(1e4) == 1


def test_an_attack_is_no_step():
    shown = ta.CustomMechanism(ta.attack([(0.1, 0.3)]))
    with pytest.raises(ta.Unsupported, match=r"^what an attack has shown"):
        shown.repeated(2).curve()


# -- ε between 0 and the shift, where what is left alone would need no ε -------------------------


@quick
@given(st.floats(0.05, 6), st.floats(0.01, 0.9), st.floats(0, 0.99), st.floats(0.01, 0.99))
def test_epsilon_is_found_between_zero_and_the_shift(mu, a, part, share):
    """The absent world reveals itself more often: normalising has taken something off each loss."""
    b = a * part
    curve = with_infinite_loss(GaussianCurve(mu), FiniteMass(np.log1p(-a), np.log1p(-b)))
    shift = np.log1p(-b) - np.log1p(-a)
    want = share * shift
    delta = curve.delta(want)
    # The bell's own profile, below 0: δ(−x) = 1 − e^−x·(1 − δ(x)).
    rest = 1 - np.exp(want - shift) * (1 - GaussianCurve(mu).delta(shift - want))
    assert delta == pytest.approx(b + (1 - b) * rest, rel=1e-12)
    epsilon = curve.epsilon(delta)
    assert curve.delta(epsilon) <= delta * (1 + 1e-14)
    # An ulp of δ moves ε by one over the slope.
    slope = np.exp(want) * curve.rates(want).fpr
    assert epsilon == pytest.approx(want, abs=1e-12 + 1e-14 / slope)


@quick
@given(pmf_pairs(most=5, least=1e-3), st.floats(0.01, 0.9), st.floats(0, 0.99), st.data())
def test_a_finite_test_that_may_reveal_all_has_the_epsilon_of_all_its_outcomes(pair, a, part, data):
    """Against the outcomes listed, with two more that only one world produces."""
    p, q = (0.9 * masses + 0.1 / masses.size for masses in pair)
    assume(np.abs(p - q).max() > 1e-3)
    b = a * part
    finite_mass = FiniteMass(np.log1p(-a), np.log1p(-b))
    curve = InfiniteLossCurve(ta.from_pmfs(p, q), finite_mass)
    absent, present = np.append((1 - a) * p, [a, 0.0]), np.append((1 - b) * q, [0.0, b])
    for share in (0.0, data.draw(st.floats(0.01, 0.99)), 1.5):
        epsilon = share * finite_mass.shift
        delta = float(np.maximum(present - np.exp(epsilon) * absent, 0).sum())
        assert curve.delta(epsilon) == pytest.approx(delta, rel=1e-12)
        asked = min(delta * (1 + 1e-12), 1.0)
        least = curve.epsilon(asked)
        assert least <= epsilon
        again = float(np.maximum(present - np.exp(least) * absent, 0).sum())
        assert again <= asked + 1e-15
        # No smaller one would do, unless there is none.
        assert least == 0 or again == pytest.approx(asked, rel=1e-12, abs=1e-15)


@quick
@given(st.floats(0.05, 6), st.floats(0.01, 0.9), st.floats(0, 0.99), st.integers(-4, 4))
def test_epsilon_is_found_also_at_the_shift_itself(mu, a, part, ulps):
    """Where one way to the answer ends and the other begins, to a rounding or two."""
    finite_mass = FiniteMass(np.log1p(-a), np.log1p(-a * part))
    curve = with_infinite_loss(GaussianCurve(mu), finite_mass)
    delta = curve.delta(finite_mass.shift)
    asked = delta + ulps * np.spacing(delta)
    epsilon = curve.epsilon(asked)
    assert curve.delta(epsilon) <= asked * (1 + 1e-14)
    slope = np.exp(finite_mass.shift) * curve.rates(finite_mass.shift).fpr
    assert epsilon == pytest.approx(finite_mass.shift, abs=1e-12 + 1e-14 / slope)
