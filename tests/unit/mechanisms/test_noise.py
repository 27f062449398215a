"""Additive noise: what its constructors refuse, and that calibration keeps its promise."""

import dataclasses
import math
import re

import numpy as np
import pytest

import tellapart as ta

NAN, INF = math.nan, math.inf


def numeric(kind, name, rule, *fixed, bad=(0, -1), nan=True):
    """Refusals of one numerical field: outside its range, NaN, and of the wrong type."""
    rows = [(value, f"{name} must {rule}, got {value!r}") for value in bad]
    rows += [(NAN, f"{name} must not be NaN, got nan")] if nan else []
    rows += [
        (value, f"{name} must be a number, got {value!r}")
        for value in ("1", None, True, 1j, [1.0], [1, [2]])
    ]
    return [(kind, {**dict(fixed), name: value}, message) for value, message in rows]


POSITIVE, FINITE_POSITIVE = "be greater than 0", "be finite and greater than 0"
NOT_NEGATIVE, WITHIN = "be finite and at least 0", "lie in [0, 1]"
OPEN = "lie strictly between 0 and 1"
WHOLE = [
    (1.5, "sensitivity must be a whole number, got 1.5"),
    ("2", "sensitivity must be a whole number, got '2'"),
    (None, "sensitivity must be a whole number, got None"),
    (True, "sensitivity must be a whole number, got True"),
    (NAN, "sensitivity must be a whole number, got nan"),
]

BAD = [
    *numeric(ta.Laplace, "scale", POSITIVE),
    *numeric(ta.Laplace, "sensitivity", NOT_NEGATIVE, ("scale", 1), bad=(-1, INF)),
    *numeric(ta.Laplace.with_epsilon, "epsilon", NOT_NEGATIVE, bad=(-1, INF)),
    *numeric(ta.Laplace.with_epsilon, "sensitivity", FINITE_POSITIVE, ("epsilon", 1)),
    *numeric(ta.Gaussian, "sigma", POSITIVE),
    *numeric(ta.Gaussian, "sensitivity", NOT_NEGATIVE, ("sigma", 1), bad=(-1, INF)),
    *numeric(ta.Gaussian.classic, "epsilon", FINITE_POSITIVE, ("delta", 0.1), bad=(0, -1, INF)),
    *numeric(ta.Gaussian.classic, "delta", OPEN, ("epsilon", 1), bad=(0, 1, -1, 2)),
    *numeric(
        ta.Gaussian.classic,
        "sensitivity",
        FINITE_POSITIVE,
        ("epsilon", 1),
        ("delta", 0.1),
        bad=(0, -1, INF),
    ),
    *numeric(ta.Gaussian.with_epsilon, "epsilon", NOT_NEGATIVE, ("delta", 0.1), bad=(-1, INF)),
    *numeric(ta.Gaussian.with_epsilon, "delta", OPEN, ("epsilon", 1), bad=(0, 1, -1, 2)),
    *numeric(
        ta.Gaussian.with_epsilon, "sensitivity", FINITE_POSITIVE, ("epsilon", 1), ("delta", 0.1)
    ),
    *numeric(ta.DiscreteLaplace, "scale", POSITIVE),
    *numeric(ta.DiscreteLaplace.with_epsilon, "epsilon", NOT_NEGATIVE, bad=(-1, INF)),
    *numeric(ta.DiscreteGaussian, "sigma", POSITIVE),
    *numeric(ta.TruncatedLaplace, "scale", FINITE_POSITIVE, ("cutoff", 1), bad=(0, -1, INF)),
    *numeric(ta.TruncatedLaplace, "cutoff", FINITE_POSITIVE, ("scale", 1), bad=(0, -1, INF)),
    *numeric(
        ta.TruncatedLaplace,
        "sensitivity",
        NOT_NEGATIVE,
        ("scale", 1),
        ("cutoff", 1),
        bad=(-1, INF),
    ),
    *numeric(
        ta.TruncatedLaplace.with_epsilon,
        "epsilon",
        FINITE_POSITIVE,
        ("delta", 0.1),
        bad=(0, -1, INF),
    ),
    *numeric(ta.TruncatedLaplace.with_epsilon, "delta", OPEN, ("epsilon", 1), bad=(0, 1, -1)),
    *numeric(
        ta.TruncatedLaplace.with_epsilon,
        "sensitivity",
        FINITE_POSITIVE,
        ("epsilon", 1),
        ("delta", 0.1),
    ),
    *numeric(ta.Staircase, "epsilon", NOT_NEGATIVE, bad=(-1, INF)),
    *numeric(ta.Staircase, "sensitivity", FINITE_POSITIVE, ("epsilon", 1), bad=(0, -1, INF)),
    *numeric(ta.UniformNoise, "width", FINITE_POSITIVE, bad=(0, -1, INF)),
    *numeric(ta.UniformNoise, "atom", WITHIN, ("width", 1), bad=(-0.1, 1.1)),
    *numeric(ta.UniformNoise, "sensitivity", FINITE_POSITIVE, ("width", 1), bad=(0, -1, INF)),
    *numeric(ta.UniformNoise.optimal, "delta", OPEN, bad=(0, 1, -1)),
    *numeric(ta.UniformNoise.optimal, "sensitivity", FINITE_POSITIVE, ("delta", 0.1)),
    *numeric(ta.UniformNoise.optimal, "power", FINITE_POSITIVE, ("delta", 0.1), bad=(0, INF)),
    *numeric(ta.PlanarLaplace, "epsilon", NOT_NEGATIVE, bad=(-1, INF)),
    *numeric(ta.PlanarLaplace, "distance", NOT_NEGATIVE, ("epsilon", 1), bad=(-1, INF)),
    *((ta.DiscreteLaplace, {"scale": 1, "sensitivity": v}, m) for v, m in WHOLE),
    *((ta.DiscreteGaussian, {"sigma": 1, "sensitivity": v}, m) for v, m in WHOLE),
    *((ta.DiscreteLaplace.with_epsilon, {"epsilon": 1, "sensitivity": v}, m) for v, m in WHOLE),
    (
        ta.DiscreteLaplace,
        {"scale": 1, "sensitivity": -1},
        "sensitivity must be at least 0, got -1",
    ),
    (
        ta.DiscreteLaplace,
        {"scale": 1, "sensitivity": 1_000_001},
        "sensitivity must be at most 1000000, got 1000001",
    ),
    (
        ta.DiscreteLaplace.with_epsilon,
        {"epsilon": 1, "sensitivity": 0},
        "sensitivity must be at least 1, got 0",
    ),
    (
        ta.DiscreteGaussian,
        {"sigma": 1, "sensitivity": -1},
        "sensitivity must be at least 0, got -1",
    ),
    (
        ta.TruncatedLaplace.with_epsilon,
        {"epsilon": 1, "delta": 0.6},
        "delta must be at most 0.5 for truncated Laplace noise, got 0.6",
    ),
    (ta.Staircase, {"epsilon": 1, "fraction": 1.5}, "fraction must lie in [0, 1], got 1.5"),
    (ta.Staircase, {"epsilon": 1, "fraction": -0.5}, "fraction must lie in [0, 1], got -0.5"),
    (ta.Staircase, {"epsilon": 1, "fraction": NAN}, "fraction must not be NaN, got nan"),
    (ta.Staircase, {"epsilon": 1, "fraction": "1"}, "fraction must be a number, got '1'"),
    (
        ta.PlanarLaplace,
        {"epsilon": 1e300},
        "epsilon times distance must be at most 1e8, got 1e300",
    ),
    (
        ta.PlanarLaplace,
        {"epsilon": 1e200, "distance": 1e200},
        "epsilon times distance must be at most 1e8, got inf",
    ),
    (
        ta.PlanarLaplace,
        {"epsilon": 100000001.0},
        "epsilon times distance must be at most 1e8, got 100000001.0",
    ),
    (
        ta.Gaussian.classic,
        {"epsilon": 9, "delta": 1e-5},
        "epsilon must be small enough for the classic calibration (its proof covers epsilon ≤ 1), "
        "got 9.0: σ = 0.538312 has δ = 1.35882e-5 there, not 1e-5; "
        "use Gaussian.with_epsilon",
    ),
]


@pytest.mark.parametrize(("call", "given", "message"), BAD)
def test_bad_parameters_are_refused_word_for_word(call, given, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call(**given)


# -- what is stored -----------------------------------------------------------------------------


def test_parameters_are_stored_clean():
    laplace = ta.Laplace(np.float32(2), np.int64(3))
    assert (laplace.scale, laplace.sensitivity) == (2.0, 3.0)
    assert {type(laplace.scale), type(laplace.sensitivity)} == {float}
    whole = ta.DiscreteLaplace(np.array(2), np.int64(3))
    assert (type(whole.scale), type(whole.sensitivity)) == (float, int)
    assert type(ta.DiscreteGaussian(1, np.int8(2)).sensitivity) is int


def test_options_reach_the_mechanism():
    replace = {"neighbours": ta.Neighbours.REPLACE}
    made = [
        ta.Laplace.with_epsilon(1, 2, **replace),
        ta.Gaussian.classic(1, 0.1, 2, **replace),
        ta.Gaussian.with_epsilon(1, 0.1, 2, **replace),
        ta.DiscreteLaplace.with_epsilon(1, 2, **replace),
        ta.TruncatedLaplace.with_epsilon(1, 0.1, 2, **replace),
        ta.UniformNoise.optimal(0.1, 2, **replace),
    ]
    assert {one.neighbours for one in made} == {ta.Neighbours.REPLACE}
    assert {one.sensitivity for one in made} == {2}


# -- calibration keeps its promise --------------------------------------------------------------

EPSILONS = [1e-12, 0.1, 0.3, 1, 4, 10, 49, 93, 700, 5000]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_laplace_noise_has_the_epsilon_asked_for(epsilon, sensitivity):
    for kind in (ta.Laplace, ta.DiscreteLaplace):
        found = kind.with_epsilon(epsilon, sensitivity).curve().epsilon(delta=0)
        assert found == pytest.approx(epsilon, rel=1e-15, abs=1e-15)


def test_no_epsilon_needs_infinite_noise():
    for kind in (ta.Laplace, ta.DiscreteLaplace):
        mechanism = kind.with_epsilon(0)
        assert mechanism.scale == INF
        assert mechanism.curve().beta([0, 0.25, 1]).tolist() == [1, 0.75, 0]


@pytest.mark.parametrize("epsilon", [0, 1e-6, 0.5, 1, 10, 800])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.01, 0.5, 0.999])
def test_analytic_gaussian_noise_is_enough_and_no_more(epsilon, delta):
    mechanism = ta.Gaussian.with_epsilon(epsilon, delta, sensitivity=3)
    assert mechanism.curve().delta(epsilon) <= delta
    assert ta.Gaussian(mechanism.sigma * (1 - 1e-9), 3).curve().delta(epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 5, 8.4])
def test_classic_gaussian_noise_is_the_textbook_formula(epsilon):
    mechanism = ta.Gaussian.classic(epsilon, 1e-5, sensitivity=2)
    assert mechanism.sigma == pytest.approx(math.sqrt(2 * math.log(1.25e5)) * 2 / epsilon)
    assert mechanism.curve().delta(epsilon) <= 1e-5


@pytest.mark.parametrize(("delta", "last"), [(0.01, 6.77), (1e-5, 8.42), (1e-8, 9.37)])
def test_classic_gaussian_noise_is_refused_where_it_breaks(delta, last):
    ta.Gaussian.classic(last - 0.01, delta)
    with pytest.raises(ta.InvalidArgument, match=re.escape("use Gaussian.with_epsilon")):
        ta.Gaussian.classic(last + 0.01, delta)


DELTAS = [1e-9, 1e-5, 0.006, 0.007, 0.011, 0.013, 0.026, 0.1, 0.3, 0.49]


@pytest.mark.parametrize("delta", DELTAS)
def test_truncated_noise_keeps_the_pair_asked_for(delta):
    """An ulp too much at the cut-off and ε would be infinite."""
    curve = ta.TruncatedLaplace.with_epsilon(1, delta).curve()
    assert curve.delta(1) == pytest.approx(delta, rel=1e-12)
    assert curve.epsilon(delta) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("delta", [*DELTAS, 0.52, 0.6, 0.7, 0.9])
def test_uniform_noise_keeps_the_delta_asked_for(delta):
    """An ulp too much and ε would be infinite."""
    curve = ta.UniformNoise.optimal(delta).curve()
    assert curve.delta(0) == pytest.approx(delta, rel=1e-12)
    assert curve.epsilon(delta) == 0


def test_uniform_noise_leaves_the_answer_alone_once_delta_is_large():
    assert ta.UniformNoise.optimal(0.4).atom == 0
    assert ta.UniformNoise.optimal(0.6).atom == pytest.approx(0.2)
    assert ta.UniformNoise.optimal(0.6, power=2).atom == 0


# -- curves -------------------------------------------------------------------------------------


def test_only_the_ratio_of_sensitivity_and_noise_matters():
    alpha = np.linspace(0, 1, 21)
    for kind in (ta.Laplace, ta.Gaussian):
        assert np.array_equal(kind(2, 1).curve().beta(alpha), kind(8, 4).curve().beta(alpha))
    narrow, wide = ta.TruncatedLaplace(1, 4, 1), ta.TruncatedLaplace(2, 8, 2)
    assert np.array_equal(narrow.curve().beta(alpha), wide.curve().beta(alpha))


def test_discrete_noise_is_no_worse_than_the_sum_over_outputs():
    """The definition itself: two shifted laws on enough integers."""
    z = np.arange(-400, 401)
    alpha = np.linspace(0, 1, 41)
    laws = {
        ta.DiscreteLaplace(2.5, 3): np.exp(-abs(z) / 2.5),
        ta.DiscreteGaussian(4.0, 3): np.exp(-(z**2) / 32),
    }
    for mechanism, weights in laws.items():
        p = np.concatenate([weights, np.zeros(3)])
        q = np.concatenate([np.zeros(3), weights])
        direct = ta.from_pmfs(p / p.sum(), q / q.sum())
        assert mechanism.curve().beta(alpha) == pytest.approx(direct.beta(alpha), abs=1e-13)


def test_truncated_noise_against_a_direct_sum():
    """Sampled finely enough, the densities themselves give the curve from below."""
    scale, cutoff = 1.0, 2.0
    mass = 2 * scale * -math.expm1(-cutoff / scale)

    def density(centre):
        return lambda x: np.where(abs(x - centre) <= cutoff, np.exp(-abs(x - centre)) / mass, 0.0)

    direct = ta.from_densities(density(0), density(1), (-3, 4), breaks=(-2, -1, 0, 1, 2, 3))
    curve = ta.TruncatedLaplace(scale, cutoff).curve()
    alpha = np.linspace(0, 1, 41)
    assert curve.beta(alpha) == pytest.approx(direct.beta(alpha), abs=1e-6)


@pytest.mark.parametrize("fraction", [0.0, 0.2, 0.5, 0.8, 1.0, None])
def test_staircase_noise_against_a_direct_sum(fraction):
    """Steps of height e^(−kε) and width fraction, 1 − fraction, and a shift of one stair."""
    epsilon = 0.7
    mechanism = ta.Staircase(epsilon, fraction=fraction)
    assert mechanism.fraction == fraction
    share = 1 / (1 + math.exp(epsilon / 2)) if fraction is None else fraction
    # Noise x in units of the sensitivity: k = ⌊|x|⌋, upper step if |x| − k < share.
    cells, width = 60_000, 1e-3  # a stair is 1000 cells
    x = (np.arange(cells) - cells / 2 + 0.5) * width
    stairs = np.floor(abs(x))
    steps = stairs + (abs(x) - stairs >= share)
    weights = np.exp(-epsilon * steps)
    p = np.concatenate([weights, np.zeros(1000)])
    q = np.concatenate([np.zeros(1000), weights])
    direct = ta.from_pmfs(p / p.sum(), q / q.sum())
    close = 1e-4 if fraction is None else 1e-6  # the best fraction is no multiple of a cell
    assert mechanism.curve().delta(0) == pytest.approx(direct.delta(0), abs=close)
    assert mechanism.curve().beta(0.3) == pytest.approx(direct.beta(0.3), abs=close)


@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 5, 30])
def test_the_best_staircase_follows_its_epsilon(epsilon):
    """Left out, the fraction is worked out anew for each ε, also in a changed copy."""
    alpha = np.linspace(0, 1, 21)
    best = ta.Staircase(epsilon, fraction=1 / (1 + math.exp(epsilon / 2))).curve()
    for left_out in (ta.Staircase(epsilon), dataclasses.replace(ta.Staircase(2), epsilon=epsilon)):
        assert left_out.curve().beta(alpha) == pytest.approx(best.beta(alpha), rel=1e-12, abs=1e-15)


def test_uniform_noise_tells_all_or_nothing():
    curve = ta.UniformNoise(width=4, atom=0.1, sensitivity=1).curve()
    assert curve.delta([0, 5]) == pytest.approx([0.325, 0.325], abs=1e-15)
    assert ta.UniformNoise(width=1, sensitivity=3).curve().beta(0.0) == 0
    assert curve.bound is ta.Bound.EXACT


def test_planar_noise_depends_on_the_product_only():
    alpha = np.linspace(0, 1, 11)
    one, two = ta.PlanarLaplace(2, 0.5).curve(), ta.PlanarLaplace(0.5, 2).curve()
    assert np.array_equal(one.beta(alpha), two.beta(alpha))
    assert one.epsilon(0) == 1
