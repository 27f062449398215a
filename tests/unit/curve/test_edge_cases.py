"""Appendix D of the mathematics: every edge has a value, no NaN and no warning.

Warnings are errors in this suite, so that a mere call is a test of the latter.
"""

import math

import numpy as np
import pytest
from scipy.special import erf, expit

import tellapart as ta
from tellapart.curve.region import MechanismRegion
from tellapart.mechanisms.neyman_pearson import plausibly_deniable

INF = math.inf
ALPHA = np.array(
    [0, 5e-324, 1e-310, 1e-300, 1e-100, 1e-16, 1e-8, 0.1, 0.5, 0.9, 1 - 1e-8, 1 - 1e-16, 1]
)
EPSILON = np.array(
    [-INF, -1e308, -5000, -800, -700, -1, -1e-12, 0, 5e-324, 1e-12, 1, 700, 800, 5000, 1e308, INF]
)

# -- nothing is learned -------------------------------------------------------------------------

NOTHING = {
    "claim_0": lambda: ta.guarantee(0),
    "pairs_0": lambda: ta.guarantee(pairs=[(0, 0), (1, 0)]),
    "mu_0": lambda: ta.guarantee(mu=0),
    "zcdp_0": lambda: ta.guarantee(zcdp=0),
    "laplace_epsilon_0": lambda: ta.Laplace.with_epsilon(0).curve(),
    "laplace_sensitivity_0": lambda: ta.Laplace(1, 0).curve(),
    "laplace_infinite_scale": lambda: ta.Laplace(INF).curve(),
    "gaussian_sensitivity_0": lambda: ta.Gaussian(1, 0).curve(),
    "gaussian_infinite_sigma": lambda: ta.Gaussian(INF).curve(),
    "discrete_laplace_epsilon_0": lambda: ta.DiscreteLaplace.with_epsilon(0).curve(),
    "discrete_laplace_sensitivity_0": lambda: ta.DiscreteLaplace(1, 0).curve(),
    "discrete_laplace_infinite_scale": lambda: ta.DiscreteLaplace(INF, 3).curve(),
    "discrete_gaussian_sensitivity_0": lambda: ta.DiscreteGaussian(1, 0).curve(),
    "discrete_gaussian_infinite_sigma": lambda: ta.DiscreteGaussian(INF).curve(),
    "truncated_sensitivity_0": lambda: ta.TruncatedLaplace(1, 1, 0).curve(),
    "staircase_0": lambda: ta.Staircase(0).curve(),
    "planar_epsilon_0": lambda: ta.PlanarLaplace(0).curve(),
    "planar_distance_0": lambda: ta.PlanarLaplace(1, 0).curve(),
    "response_0": lambda: ta.RandomizedResponse(0).curve(),
    "response_0_of_many": lambda: ta.RandomizedResponse(0, 50).curve(),
    "unary_symmetric_0": lambda: ta.UnaryEncoding.symmetric(0).curve(),
    "unary_optimised_0": lambda: ta.UnaryEncoding.optimised(0).curve(),
    "exponential_0": lambda: ta.ExponentialMechanism(0).curve(),
    "permute_0": lambda: ta.PermuteAndFlip(0).curve(),
    "noisy_max_0": lambda: ta.ReportNoisyMax(0).curve(),
    "exponential_0_utilities": lambda: ta.ExponentialMechanism(0, [0, 5], [1, 4]).curve(),
    "permute_0_utilities": lambda: ta.PermuteAndFlip(0, [0, 5], [1, 4]).curve(),
    "noisy_max_0_utilities": lambda: ta.ReportNoisyMax(0, [0, 5], [1, 4]).curve(),
    "equal_pmfs": lambda: ta.from_pmfs([0.25, 0.75], [0.25, 0.75]),
    "coin": lambda: ta.attack([(0.5, 0.5)]),
}


@pytest.mark.parametrize("name", NOTHING)
def test_without_epsilon_and_delta_nothing_is_learned(name):
    curve = NOTHING[name]()
    assert curve.beta(ALPHA) == pytest.approx(1 - ALPHA, abs=1e-15)
    assert curve.tpr(ALPHA) == pytest.approx(ALPHA, rel=1e-15, abs=1e-15)
    assert curve.delta(0) == pytest.approx(0, abs=1e-15)
    assert curve.delta(EPSILON[EPSILON >= 0]) == pytest.approx(np.zeros(9), abs=1e-15)
    assert curve.epsilon(1e-12) == 0
    assert curve.area() == pytest.approx(0.5, abs=1e-12)
    assert MechanismRegion(curve).area() == pytest.approx(0, abs=1e-12)


# -- everything is learned ----------------------------------------------------------------------

EVERYTHING = {
    "claim_delta_1": lambda: ta.guarantee(0, 1),
    "claim_large_delta_1": lambda: ta.guarantee(5000, 1),
    "pairs_delta_1": lambda: ta.guarantee(pairs=[(3, 1)]),
    "mu_inf": lambda: ta.guarantee(mu=INF),
    "rdp_inf": lambda: ta.guarantee(rdp=[(2, INF)]),
    "no_noise_left": lambda: ta.Gaussian(1e-320, 1e300).curve(),
    "uniform_too_narrow": lambda: ta.UniformNoise(1, sensitivity=2).curve(),
    "uniform_atom_1": lambda: ta.UniformNoise(1, atom=1).curve(),
    "truncated_too_short": lambda: ta.TruncatedLaplace(1, 1, 2).curve(),
    "unary_without_flips": lambda: ta.UnaryEncoding(1, 0).curve(),
    "disjoint_pmfs": lambda: ta.from_pmfs([1, 0], [0, 1]),
    "perfect_attack": lambda: ta.attack([(0, 1)]),
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_with_delta_1_everything_is_learned(name):
    curve = EVERYTHING[name]()
    assert np.all(curve.beta(ALPHA) == 0)
    assert np.all(curve.tpr(ALPHA) == 1)
    assert np.all(curve.delta(EPSILON) == 1)
    assert curve.epsilon([0, 0.5, 1 - 1e-16, 1]).tolist() == [INF, INF, INF, 0]
    assert curve.area() == 0
    assert MechanismRegion(curve).area() == 1


# -- the corners of the curve -------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0, 1e-12, 1, 700, 800, 5000])
@pytest.mark.parametrize("delta", [0, 1e-300, 1e-9, 0.3, 1])
def test_the_claim_at_its_edges(epsilon, delta):
    curve = ta.guarantee(epsilon, delta)
    assert curve.beta(0) == 1 - delta
    assert curve.tpr(0) == delta
    assert curve.beta(1) == 0
    assert curve.tpr(1) == 1
    if epsilon <= 1:
        knot = (1 - delta) * expit(-epsilon)
        assert curve.beta(knot) == pytest.approx(knot, rel=1e-12)
    assert curve.delta(INF) == delta
    assert curve.epsilon(delta) == (epsilon if delta < 1 else 0)
    assert curve.epsilon(1) == 0
    if 0 < delta < 1:
        assert curve.epsilon(0) == INF
    advantage = delta + (1 - delta) * math.tanh(epsilon / 2)
    assert curve.delta(0) == pytest.approx(advantage, rel=1e-12, abs=1e-300)


def pure(epsilon):
    """Mechanisms with this ε and no δ."""
    return [
        ta.Laplace.with_epsilon(epsilon),
        ta.DiscreteLaplace.with_epsilon(epsilon),
        ta.DiscreteLaplace.with_epsilon(epsilon, 5),
        ta.RandomizedResponse(epsilon),
        ta.RandomizedResponse(epsilon, 7),
        ta.ExponentialMechanism(epsilon),
        ta.PermuteAndFlip(epsilon),
        ta.ReportNoisyMax(epsilon),
        ta.PlanarLaplace(epsilon),
        ta.Staircase(epsilon),
    ]


@pytest.mark.parametrize("k", range(10), ids=[type(m).__name__ for m in pure(1)])
@pytest.mark.parametrize("epsilon", [1e-9, 1, 700, 800, 5000])
def test_pure_mechanisms_at_their_edges(epsilon, k):
    curve = pure(epsilon)[k].curve()
    assert curve.beta(0) == 1
    assert curve.tpr(0) == 0
    assert curve.beta(1) == pytest.approx(0, abs=1e-15)
    assert curve.tpr(1) == pytest.approx(1, abs=1e-15)
    assert curve.epsilon(0) == pytest.approx(epsilon, rel=1e-14, abs=1e-15)
    assert curve.delta(epsilon * (1 + 1e-12) + 1e-12) == 0
    assert curve.delta(INF) == 0
    assert curve.rates(epsilon + 1).fpr == 0


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6])
def test_a_tiny_epsilon_keeps_its_digits(epsilon):
    for mechanism in pure(epsilon):
        found = mechanism.curve().epsilon(0)
        assert found == pytest.approx(epsilon, rel=1e-12, abs=0), mechanism


@pytest.mark.parametrize("mu", [1e-300, 1e-12, 1, 40, 1e6])
def test_the_gaussian_at_its_edges(mu):
    curve = ta.guarantee(mu=mu)
    assert curve.beta([0, 1]).tolist() == [1, 0]
    assert curve.tpr([0, 1]).tolist() == [0, 1]
    assert curve.delta(0) == pytest.approx(erf(mu / math.sqrt(8)), rel=1e-12, abs=0)
    assert curve.delta(INF) == 0
    assert curve.epsilon(0) == INF
    assert curve.epsilon(1) == 0


# -- large ε: only log forms survive ------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [600, 700])
def test_beta_keeps_its_digits_where_it_is_tiny(epsilon):
    tiny = math.exp(-epsilon)
    assert ta.guarantee(epsilon).beta(0.25) == pytest.approx(0.75 * tiny, rel=1e-12, abs=0)
    laplace = ta.Laplace.with_epsilon(epsilon).curve()
    assert laplace.beta(0.25) == pytest.approx(tiny, rel=1e-12, abs=0)
    assert laplace.beta(0.75) == pytest.approx(tiny / 4, rel=1e-12, abs=0)
    exponential = ta.ExponentialMechanism(epsilon).curve()
    assert exponential.beta(0.25) == pytest.approx(3 * tiny, rel=1e-12, abs=0)
    response = ta.RandomizedResponse(epsilon).curve(ta.Order.PRESENT)
    assert response.beta(0.25) == pytest.approx(0.75 * tiny, rel=1e-12, abs=0)


@pytest.mark.parametrize("epsilon", [700, 800, 5000])
def test_tiny_fprs_meet_huge_epsilons(epsilon):
    """e^ε overflows; ε + log α does not."""
    alpha = 1e-300
    steep = math.exp(min(epsilon + math.log(alpha), 0.0)) if epsilon < 690 else 1.0
    assert ta.guarantee(epsilon).tpr(alpha) == pytest.approx(steep, rel=1e-12)
    assert ta.Laplace.with_epsilon(epsilon).curve().tpr(alpha) == pytest.approx(1, abs=3e-5)
    assert ta.RandomizedResponse(epsilon).curve().tpr(alpha) == pytest.approx(1, rel=1e-12)


def test_delta_near_a_huge_epsilon():
    for epsilon in (700, 800, 5000):
        assert ta.Laplace.with_epsilon(epsilon).curve().delta(epsilon - 1) == pytest.approx(
            -math.expm1(-0.5), rel=1e-9
        )
        assert ta.guarantee(epsilon).delta(epsilon - 1) == pytest.approx(-math.expm1(-1), rel=1e-9)
        root = -math.expm1(-0.5)
        exponential = ta.ExponentialMechanism(epsilon).curve()
        assert exponential.delta(epsilon - 1) == pytest.approx(root**2, rel=1e-9)


# -- tiny ε and μ: no cancellation --------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-150, 1e-15, 1e-9])
def test_advantages_of_tiny_epsilons_keep_their_digits(epsilon):
    advantages = [
        (ta.guarantee(epsilon), epsilon / 2),
        (ta.Laplace.with_epsilon(epsilon).curve(), epsilon / 2),
        (ta.ExponentialMechanism(epsilon).curve(), epsilon / 4),
        (ta.RandomizedResponse(epsilon).curve(ta.Order.PRESENT), epsilon / 2),
        (ta.DiscreteLaplace.with_epsilon(epsilon).curve(ta.Order.PRESENT), epsilon / 2),
    ]
    for curve, advantage in advantages:
        assert curve.delta(0) == pytest.approx(advantage, rel=1e-8, abs=0), curve


# -- far out: any parameter that is accepted has a curve without NaN -----------------------------

FAR = {
    "claim": lambda: ta.guarantee(1e300, 1e-300),
    "mu_small": lambda: ta.guarantee(mu=1e-320),
    "mu_large": lambda: ta.guarantee(mu=1e300),
    "zcdp_small": lambda: ta.guarantee(zcdp=1e-30),
    "zcdp_large": lambda: ta.guarantee(zcdp=1e4),
    "rdp_small": lambda: ta.guarantee(rdp=[(2, 1e-30)]),
    "rdp_large": lambda: ta.guarantee(rdp=[(2, 1e4)]),
    "rdp_order_near_1": lambda: ta.guarantee(rdp=[(1 + 1e-9, 1)]),
    "rdp_order_huge": lambda: ta.guarantee(rdp=[(1e9, 1)]),
    "laplace_small": lambda: ta.Laplace.with_epsilon(1e-320).curve(),
    "laplace_large": lambda: ta.Laplace(1e-300, 1e300).curve(),
    "gaussian": lambda: ta.Gaussian(1e200).curve(),
    "discrete_laplace_small": lambda: ta.DiscreteLaplace(1e-300).curve(ta.Order.PRESENT),
    "discrete_laplace_large": lambda: ta.DiscreteLaplace(1e300, 1000).curve(ta.Order.PRESENT),
    "discrete_gaussian_small": lambda: ta.DiscreteGaussian(1e-200).curve(),
    "discrete_gaussian_smaller": lambda: ta.DiscreteGaussian(1e-320).curve(),
    "discrete_gaussian_large": lambda: ta.DiscreteGaussian(1e50).curve(),
    "discrete_gaussian_larger": lambda: ta.DiscreteGaussian(1e200).curve(),
    "discrete_gaussian_1000": lambda: ta.DiscreteGaussian(1000).curve(),
    "discrete_gaussian_far_apart": lambda: ta.DiscreteGaussian(1, 10**15).curve(),
    "truncated_long": lambda: ta.TruncatedLaplace(1, 800).curve(),
    "truncated_short": lambda: ta.TruncatedLaplace(1, 1e-10, 1e-10).curve(),
    "truncated_almost_apart": lambda: ta.TruncatedLaplace(1, 1, 2 - 1e-12).curve(),
    "staircase_800": lambda: ta.Staircase(800).curve(ta.Order.PRESENT),
    "staircase_5000": lambda: ta.Staircase(5000).curve(ta.Order.PRESENT),
    "staircase_no_upper_step": lambda: ta.Staircase(800, fraction=0).curve(ta.Order.PRESENT),
    "uniform": lambda: ta.UniformNoise(1e300, sensitivity=1e-300).curve(),
    "planar_small": lambda: ta.PlanarLaplace(1e-320).curve(),
    "planar_large": lambda: ta.PlanarLaplace(1e8).curve(),
    "planar_less_large": lambda: ta.PlanarLaplace(1e8 - 2).curve(),
    "planar_large_factors": lambda: ta.PlanarLaplace(1e300, 1e-300).curve(),
    "response": lambda: ta.RandomizedResponse(1e300, 10**9).curve(ta.Order.PRESENT),
    "exponential": lambda: ta.ExponentialMechanism(1e300).curve(),
    "exponential_utilities": lambda: ta.ExponentialMechanism(1e4, [0, 1, 2], [1, 1, 1]).curve(
        ta.Order.PRESENT
    ),
    "permute_utilities": lambda: ta.PermuteAndFlip(1e4, [0, 1, 2], [1, 1, 1]).curve(
        ta.Order.PRESENT
    ),
    "noisy_max_utilities": lambda: ta.ReportNoisyMax(1e4, [0, 1, 2], [1, 1, 1]).curve(
        ta.Order.PRESENT
    ),
    "pmfs": lambda: ta.from_pmfs([1, 5e-324], [1 - 1e-16, 1e-16]),
    "attack": lambda: ta.attack([(1e-300, 0.5), (0.5, 1)]),
}


@pytest.mark.parametrize("name", FAR)
def test_far_out_every_answer_is_a_number_in_range(name):
    curve = FAR[name]()
    beta, tpr = curve.beta(ALPHA), curve.tpr(ALPHA)
    delta, epsilon = curve.delta(EPSILON), curve.epsilon(ALPHA)
    rates = curve.rates(EPSILON)
    for found in (beta, tpr, delta, *rates):
        assert np.all((found >= 0) & (found <= 1))  # and so no NaN
    assert np.all(epsilon >= 0)
    assert beta + tpr == pytest.approx(np.ones(ALPHA.size), abs=1e-12)
    assert rates.fpr + rates.tnr == pytest.approx(np.ones(EPSILON.size), abs=1e-12)
    assert rates.tpr + rates.fnr == pytest.approx(np.ones(EPSILON.size), abs=1e-12)
    assert np.all(np.diff(beta) <= 1e-15)
    assert np.all(np.diff(delta) <= 1e-14)
    assert np.all(beta <= 1 - ALPHA + 1e-15)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: ta.DiscreteGaussian(1, 10**400).curve().beta(0.1),
        lambda: ta.DiscreteLaplace(1, 10**400).curve().beta(0.1),
        lambda: ta.RandomizedResponse(1, 10**400).curve().beta(0.1),
        lambda: ta.from_densities(np.ones_like, np.ones_like, (0, 1), cells=10**400).beta(0.1),
        lambda: MechanismRegion(ta.Laplace(1).curve()).boundary(10**400),
        lambda: plausibly_deniable([0.1, 0.2], record=0, ratio=2, k=10**400),
        lambda: plausibly_deniable([0.1, 0.2], record=10**400, ratio=2, k=1),
    ],
    ids=["gaussian", "laplace", "categories", "cells", "points", "k", "record"],
)
def test_a_whole_number_beyond_all_doubles_is_no_internal_error(ask):
    """Any answer is fine, and so is a refusal in the caller's words."""
    try:
        assert np.all(np.isfinite(ask()))
    except ta.InvalidArgument as error:
        assert " must " in str(error)  # noqa: PT017


@pytest.mark.parametrize("given", [{"zcdp": 1e300}, {"rdp": [(2, 1e300)]}])
def test_a_promise_too_weak_to_compute_is_not_an_internal_error(given):
    """Any answer is fine, and so is a refusal in the caller's words."""
    try:
        assert ta.guarantee(**given).beta(0.1) <= 0.9
    except ta.TellapartError as error:
        assert "root" not in str(error)  # noqa: PT017
