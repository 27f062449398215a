"""The comparisons people know: where they stand, on which side, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import tellapart as ta
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.mechanisms import other_accountants

# Opacus 1.6.0 at δ = 1e-5, with its default orders for RDP.
SETTINGS = [(1.0, 0.01, 1_000), (1.0, 0.01, 10_000), (1.0, 0.01, 100_000), (0.6, 0.001, 50_000)]
OPACUS_GDP = [1.61771, 6.00708, 25.58533, 3.72042]
OPACUS_RDP = [2.10137, 6.71274, 27.23185, 5.13752]
EXACT = [1.82823667, 6.18771239, 25.57310699, 4.38009783]


# -- the central limit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "claimed", "true"), list(zip(SETTINGS, OPACUS_GDP, EXACT, strict=True))
)
def test_the_central_limit_is_what_others_claim_and_its_error_is_told(setting, claimed, true):
    found = ta.central_limit(ta.dp_sgd(*setting))
    sigma, rate, steps = setting
    assert found.mu == pytest.approx(rate * math.sqrt(steps * math.expm1(sigma**-2)), rel=1e-12)
    assert found.stand_in.curve().epsilon(1e-5) == pytest.approx(claimed, abs=5e-6)
    assert found.epsilon_error(1e-5) == pytest.approx(claimed - true, abs=5e-6)


def test_the_stand_in_is_a_mechanism_of_its_own_and_no_curve_of_the_training():
    found = ta.central_limit(ta.dp_sgd(1, 0.01, 1_000))
    assert isinstance(found.stand_in, ta.Gaussian)
    assert not isinstance(found, ta.TradeoffCurve | ta.Mechanism)
    replaced = ta.Gaussian(3, neighbours=ta.Neighbours.REPLACE).repeated(2)
    assert ta.central_limit(replaced).stand_in.neighbours is ta.Neighbours.REPLACE


def test_gaussian_steps_need_no_limit():
    for mechanism in (ta.Gaussian(2), ta.Gaussian(4).repeated(4), ta.Gaussian(2).sampled(1)):
        found = ta.central_limit(mechanism)
        assert found.mu == pytest.approx(0.5, rel=1e-15)
        assert found.overlooked() < 1e-9
        np.testing.assert_allclose(found.epsilon_error([1e-12, 1e-5, 0.1]), 0, atol=1e-12)


def test_more_and_smaller_steps_come_closer_to_the_limit():
    """q²·T is kept: the error falls like q, at all δ."""
    runs = [ta.central_limit(ta.dp_sgd(1, 0.02 / k, 2_000 * k * k)) for k in (1, 4, 16)]
    errors = np.abs([one.epsilon_error([1e-3, 1e-5, 1e-8]) for one in runs])
    assert np.all(errors[1:] < errors[:-1] / 2.5)
    assert np.all(errors[:-1] < errors[1:] * 6)
    overlooked = [one.overlooked() for one in runs]
    assert overlooked[0] > 2 * overlooked[1] > 4 * overlooked[2] > 0


def test_what_it_overlooks_is_what_some_attacker_gains():
    training = ta.dp_sgd(1, 0.01, 1_000)
    found = ta.central_limit(training)
    priors = np.linspace(0.01, 0.99, 99)
    losses = np.log((1 - priors) / priors)
    errors = []
    for curve in (found.stand_in.curve(), training.curve()):
        rates = curve.rates(losses)
        errors.append((1 - priors) * rates.fpr + priors * rates.fnr)
    assert np.max(errors[0] - errors[1]) == pytest.approx(found.overlooked(), rel=0.02)
    assert found.overlooked() > 1e-4


def test_no_limit_where_nothing_or_everything_is_seen():
    silent = ta.central_limit(ta.Gaussian(1).sampled(0).repeated(9))
    assert silent.mu == 0
    assert silent.epsilon_error(1e-5) == 0
    with pytest.raises(ta.Unsupported, match="needs steps that each reveal little"):
        ta.central_limit(ta.Gaussian(0.01).sampled(0.5).repeated(9))
    with pytest.raises(ta.InvalidArgument, match="mechanism must be a mechanism, got 1"):
        ta.central_limit(1)


# -- Rényi --------------------------------------------------------------------------------------


def by_binomial(sigma, rate, order):
    """Log M of a whole order (Mironov, Talwar and Zhang 2019, section 3.3), M − 1 by its terms."""
    k = np.arange(2, order + 1)
    ways = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    size = k * (k - 1) / (2 * sigma**2)
    grown = size + np.log(-np.expm1(-size))
    excess = logsumexp(ways + (order - k) * np.log1p(-rate) + k * np.log(rate) + grown)
    return np.logaddexp(0.0, excess)


@pytest.mark.parametrize(
    ("sigma", "rate"), [(1, 0.01), (0.6, 0.001), (0.4, 1e-5), (0.3, 1e-4), (5, 0.3), (0.05, 0.5)]
)
def test_moments_of_sampled_steps_are_binomial_sums(sigma, rate):
    orders = np.array([2.0, 3, 5, 8, 10, 13, 20, 40])
    law = MixtureLoss(1 / sigma, (1 - rate, rate))
    want = np.array([by_binomial(sigma, rate, int(order)) for order in orders])
    np.testing.assert_allclose(law.cumulants(orders).value, want, rtol=1e-11)
    raised = other_accountants._moments(((law, 1),), orders)[0][0]
    assert np.all(raised > want)
    np.testing.assert_allclose(raised, want, rtol=1e-10, atol=5e-14)


def test_moments_keep_losses_whose_exponentials_overflow():
    """Two normal laws a hundred deviations apart: M(c) = (1 + e^(c(c − 1)μ²/2))/2^c."""
    c = 1 + np.array([1e-7, 1e-6, 1e-5])
    want = np.log1p(np.expm1(c * (c - 1) * 5_000) / 2) + (1 - c) * math.log(2)
    found = MixtureLoss(100.0, (0.5, 0.5)).cumulants(c).value
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize(
    ("setting", "theirs", "true"), list(zip(SETTINGS, OPACUS_RDP, EXACT, strict=True))
)
def test_renyi_is_loose_but_no_looser_than_others(setting, theirs, true):
    curve = ta.renyi(ta.dp_sgd(*setting))
    assert curve.bound is ta.Bound.LOWER
    assert true < curve.epsilon(1e-5) <= theirs


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_usual_conversion_of_any_order_is_no_tighter(setting):
    """ε = D + log((λ − 1)/λ) − (log δ + log λ)/(λ − 1), Balle et al. 2020."""
    training = ta.dp_sgd(*setting)
    curve = ta.renyi(training)
    orders = np.concatenate([1 + np.geomspace(0.05, 1, 40), np.arange(2.5, 60, 0.5)])
    logs, _ = other_accountants._moments(other_accountants._merged(training), orders)
    for delta in (1e-3, 1e-5, 1e-10):
        shift = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
        usual = np.min(logs.max(axis=0) / (orders - 1) + shift)
        assert curve.epsilon(delta) <= usual + 2e-4
        few = ta.renyi(training, orders).epsilon(delta)
        assert curve.epsilon(delta) - 2e-4 <= few <= usual + 1e-3


def test_one_order_says_what_its_promise_says():
    """Laplace noise: the formula of Mironov 2017, Proposition 6."""
    divergence = math.log(2 / 3 * math.exp(1) + 1 / 3 * math.exp(-2))
    epsilons = np.linspace(0, 4, 9)
    promise = ta.guarantee(rdp=[(2, divergence)]).delta(epsilons)
    found = ta.renyi(ta.Laplace(1), orders=[2]).delta(epsilons)
    np.testing.assert_allclose(found, promise, rtol=2e-3)


@pytest.mark.parametrize("orders", [[], [1.0], [2, math.inf], [math.nan], 2, [[2.0]], "many"])
def test_orders_must_be_orders(orders):
    with pytest.raises(ta.InvalidArgument, match="orders must"):
        ta.renyi(ta.Gaussian(1), orders)


def test_the_ends_of_renyi():
    assert ta.renyi(ta.Gaussian(1).sampled(0)).epsilon(1e-9) == 0
    assert ta.renyi(ta.Gaussian(20).sampled(1e-5)).epsilon(1e-5) == 0
    assert ta.renyi(ta.Gaussian(1e-9), orders=[4e3]).epsilon(1e-5) == math.inf
    planar = ta.PlanarLaplace(1)  # known by its curve alone: by lines of its profile
    assert 0 < ta.renyi_divergence(planar, 2.0) < planar.curve().epsilon(0.0)
    with pytest.raises(ta.Unsupported, match="may reveal all"):
        ta.renyi(ta.Promise(1, 1e-6).repeated(2))


# -- zCDP ---------------------------------------------------------------------------------------


def test_concentrated_adds_what_each_step_has():
    epsilons = np.linspace(0, 4, 9)
    mixed = ta.compose(
        [
            ta.Gaussian(2, neighbours=ta.Neighbours.REPLACE),
            ta.Laplace(4, neighbours=ta.Neighbours.REPLACE).repeated(8),
            ta.RandomizedResponse(0.5),
        ]
    )
    rho = 1 / 8 + 8 * math.tanh(1 / 8) / 4 + math.tanh(1 / 4) / 2
    want = ta.guarantee(zcdp=rho).delta(epsilons)
    np.testing.assert_allclose(ta.concentrated(mixed).delta(epsilons), want, rtol=1e-9)


def test_concentrated_gains_nothing_from_a_sample():
    whole = ta.concentrated(ta.Gaussian(2).repeated(100))
    part = ta.concentrated(ta.Gaussian(2).sampled(0.01).repeated(100))
    assert part.epsilon(1e-5) == pytest.approx(whole.epsilon(1e-5), rel=1e-9)


def test_what_an_attack_has_shown_has_no_moments():
    """Bound.UPPER promises nothing: no accountant may turn it into a guarantee."""
    shown = ta.CustomMechanism(ta.attack([(0.1, 0.5)]))
    asked = (ta.renyi, ta.concentrated, ta.central_limit, lambda step: ta.renyi_divergence(step, 2))
    for accountant in asked:
        with pytest.raises(ta.Unsupported, match="no step to compose"):
            accountant(shown)
