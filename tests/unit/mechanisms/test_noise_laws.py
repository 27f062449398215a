"""The laws of noise against their densities: ratios, tails, masses and cuts."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from tellapart.curve import discrete_gaussian
from tellapart.mechanisms.laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    GaussianLaw,
    LaplaceLaw,
    TruncatedLaplaceLaw,
)

INF = math.inf
CONTINUOUS = [
    LaplaceLaw(1.5),
    LaplaceLaw(1e-3),
    GaussianLaw(2.0),
    GaussianLaw(50.0),
    TruncatedLaplaceLaw(1.5, 4.0),
    TruncatedLaplaceLaw(1.0, 0.01),
    TruncatedLaplaceLaw(0.5, 400.0),
]
WHOLE = [
    DiscreteLaplaceLaw(1.5),
    DiscreteLaplaceLaw(0.05),
    DiscreteLaplaceLaw(300.0),
    DiscreteGaussianLaw(2.0),
    DiscreteGaussianLaw(0.2),
    DiscreteGaussianLaw(999.0),
    DiscreteGaussianLaw(1001.0),
]
EVERY = [*CONTINUOUS, *WHOLE]
FPR = np.array([1e-12, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
TINY = np.array([1e-300, 1e-200, 1e-100, 1e-30])


# -- the definitions, written down once more ----------------------------------------------------


def spread(law):
    return getattr(law, "scale", None) or law.sigma


def log_weight(law, x):
    """The exponent in each law's definition; −∞ where it has no output."""
    x = np.asarray(x, dtype=float)
    if isinstance(law, (GaussianLaw, DiscreteGaussianLaw)):
        return -((x / law.sigma) ** 2) / 2
    return np.where(np.abs(x) <= getattr(law, "cutoff", INF), -np.abs(x) / law.scale, -INF)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def mass_from(law, x):
    """∫ of the weight over all that exceeds x ≥ 0, as a multiple of the weight at x."""
    unit = spread(law)
    steep = max(1.0, x / unit) if isinstance(law, GaussianLaw) else 1.0
    far = getattr(law, "cutoff", INF) - x
    edges = np.minimum(unit / steep * np.arange(46.0), max(far, 0.0))  # the rest is e^−45
    half = np.diff(edges)[:, None] / 2
    t = edges[:-1, None] + half * (1 + NODES)
    fall = t / unit * (x / unit + t / unit / 2) if isinstance(law, GaussianLaw) else t / unit
    return float(np.sum(np.exp(-fall) * WEIGHTS * half))


def tail(law, x):
    """P(noise > x) for x ≥ 0."""
    if x == INF:
        return 0.0
    return math.exp(log_weight(law, x)) * mass_from(law, x) / (2 * mass_from(law, 0.0))


def above(law, x):
    return np.array([tail(law, one) if one >= 0 else 1 - tail(law, -one) for one in x])


def table(law):
    """All whole outputs that matter, from −reach to reach, and the chance of each."""
    reach = math.ceil(40 * spread(law)) if isinstance(law, DiscreteGaussianLaw) else 0
    reach = reach or math.ceil(750 * law.scale)
    z = np.arange(-reach, reach + 1.0)
    weights = np.exp(log_weight(law, z))
    return z, weights / math.fsum(weights)


def close(found, expected, rel):
    """To these digits, also where numbers are tiny; quicker on long arrays than approx."""
    return np.all(np.abs(found - expected) <= rel * np.abs(expected))


def width(law):
    return min(spread(law), getattr(law, "cutoff", INF))


def points(law):
    """Outputs on both sides, near and far; also the ends of the support and beyond."""
    unit = width(law)
    x = unit * np.array([0.0, 1e-9, 0.01, 0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 4.0, 9.0, 25.0])
    ends = np.array([getattr(law, "cutoff", 30 * unit)])
    x = np.concatenate([x, ends, ends * 0.999, ends * 1.5])
    return np.concatenate([-x[::-1], x])


def shifts(law):
    sizes = np.array([0.0, 0.001, 0.3, 1.0, 2.5, 7.0]) * width(law)
    return np.unique(np.ceil(sizes)) if law in WHOLE else sizes


# -- the ratio ----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_the_ratio_is_that_of_the_two_densities(law):
    for shift in shifts(law):
        x = np.concatenate([points(law), points(law) + shift, [shift / 2]])
        x = np.round(x) if law in WHOLE else x
        x = x[np.isfinite(log_weight(law, x - shift)) | np.isfinite(log_weight(law, x))]
        shifted, centred = log_weight(law, x - shift), log_weight(law, x)
        found, expected = law.log_ratio(x, shift), shifted - centred
        both = np.isfinite(expected)
        assert np.array_equal(found[~both], expected[~both])
        rounding = 1e-14 * (1 + np.maximum(abs(shifted), abs(centred)))[both]
        assert np.all(np.abs(found[both] - expected[both]) <= rounding)


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_the_ratio_changes_sign_when_the_worlds_change_places(law):
    for shift in shifts(law):
        x = np.round(points(law)) if law in WHOLE else points(law) * (1 - 1e-6)
        x = x[np.isfinite(log_weight(law, x)) & np.isfinite(log_weight(law, x - shift))]
        if x.size:
            assert law.log_ratio(shift - x, shift) == pytest.approx(
                -law.log_ratio(x, shift), rel=1e-9, abs=1e-9
            )
        assert law.log_ratio(np.array(shift / 2), shift) == 0


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_the_ratio_never_falls(law):
    """So that the best test is a cut-off; where no world has an output it means nothing."""
    for shift in shifts(law):
        end = getattr(law, "cutoff", 30 * spread(law))
        x = np.linspace(-end, end + shift, 1001)
        x = np.round(x) if law in WHOLE else x
        x = x[np.isfinite(log_weight(law, x)) | np.isfinite(log_weight(law, x - shift))]
        found = law.log_ratio(x, shift)
        assert not np.isnan(found).any()
        assert np.all(found[1:] >= found[:-1])


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_without_a_shift_no_output_speaks_for_either_world(law):
    assert not law.log_ratio(points(law), 0.0).any()


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_accusing_beyond_an_output_is_a_point_of_the_curve(law):
    """The rates of the cut at x lie on the curve whose slope there is the ratio at x."""
    for shift in shifts(law)[1:]:
        x = np.linspace(-3, 3, 13) * width(law) + shift / 2
        x = np.floor(x) if law in WHOLE else x
        x = np.unique(x[np.isfinite(log_weight(law, x)) & np.isfinite(log_weight(law, x - shift))])
        fpr, tpr = law.above(x), law.above(x - shift)
        curve = law.curve(shift)
        assert curve.tpr(fpr) == pytest.approx(tpr, rel=1e-9, abs=1e-13)
        level = law.log_ratio(x, shift)
        profile = curve.delta(level)
        assert tpr - np.exp(level) * fpr == pytest.approx(profile, rel=1e-9, abs=1e-11)


# -- tails and cuts of continuous noise ---------------------------------------------------------


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_the_tail_is_the_integral_of_the_density(law):
    x = points(law)
    assert close(law.above(x), above(law, x), rel=1e-12)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_no_single_output_has_a_chance(law):
    assert not law.at(points(law)).any()


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_the_cut_leaves_the_chance_asked_for(law):
    assert law.above(law.cut(FPR)) == pytest.approx(FPR, rel=1e-12)
    fpr = np.concatenate([TINY, FPR])
    cut = law.cut(fpr)
    # The cut is a double: next to a cut-off, one ulp of it is worth more than a tiny chance.
    end = getattr(law, "cutoff", 0.0)
    density = np.exp(log_weight(law, cut)) / (2 * mass_from(law, 0.0))
    rounding = 1e-12 * fpr + 2 * np.spacing(end) * density * (end > 0)
    assert np.all(np.abs(above(law, cut) - fpr) <= rounding)


@pytest.mark.parametrize("law", CONTINUOUS, ids=repr)
def test_the_cut_at_the_ends(law):
    """At FPR 0 no output is beyond it, at FPR 1 every one is."""
    end = getattr(law, "cutoff", INF)
    with np.errstate(all="ignore"):  # as its callers do
        assert law.cut(np.array([0.0, 1.0])).tolist() == [end, -end]
    assert law.above(np.array([end, -end])).tolist() == [0, 1]
    assert law.cut(np.array(0.5)) == 0


# -- masses, tails and cuts of whole noise ------------------------------------------------------


@pytest.mark.parametrize("law", WHOLE, ids=repr)
def test_masses_are_weights_over_their_sum(law):
    z, masses = table(law)
    solid = masses > 1e-290
    assert close(law.at(z)[solid], masses[solid], rel=1e-12)
    assert np.all(law.at(z)[~solid] <= 2e-290)
    assert math.fsum(law.at(z)) == pytest.approx(1, abs=1e-13)
    assert not law.at(z + 0.5).any()
    assert not law.at(np.nextafter(z, INF)).any()


def exceeding(masses):
    """P(noise > z) for each z of the table, summed from the far end."""
    return np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)


@pytest.mark.parametrize("law", WHOLE, ids=repr)
def test_whole_tails_are_sums_of_masses(law):
    z, masses = table(law)
    tails = exceeding(masses)
    near = tails > 1e-290
    assert close(law.above(z)[near], tails[near], rel=1e-11)
    assert np.all(law.above(z)[~near] <= 2e-290)
    assert np.array_equal(law.above(z + 0.25), law.above(z))


@pytest.mark.parametrize("law", WHOLE, ids=repr)
def test_the_whole_cut_is_the_least_one(law):
    z, masses = table(law)
    fpr = np.concatenate([TINY, FPR])
    cut = law.cut(fpr)
    assert np.array_equal(cut, [z[exceeding(masses) <= one][0] for one in fpr])
    assert np.all(law.above(cut) <= fpr)
    assert np.all(law.above(cut - 1) > fpr)
    assert law.cut(np.array([0.0, 1.0])).tolist() == [INF, -INF]


@pytest.mark.parametrize("law", WHOLE, ids=repr)
def test_cuts_of_many_rates_are_those_of_each(law):
    fpr = np.random.default_rng(3).random(2_000)
    fpr[:4] = 0.0, 1.0, 1e-9, 1 - 1e-9
    each = [float(law.cut(np.array([one]))[0]) for one in fpr[:200]]
    assert law.cut(fpr)[:200].tolist() == each


# -- what all laws share ------------------------------------------------------------------------


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_the_law_is_symmetric(law):
    x = np.arange(-20.0, 21.0)
    assert law.at(x) == pytest.approx(law.at(-x), rel=1e-15)
    assert law.above(x) + law.above(-x) + law.at(x) == pytest.approx(np.ones(41), abs=1e-12)


def test_discrete_gaussian_tails_are_continuous_in_sigma():
    """Sums up to 1000, a series beyond: both agree with the normal tail to O(1/σ²)."""
    x = np.array([-900.0, 0.0, 500.0, 2500.0, 8000.0])
    for sigma in (999.999, 1000.0, 1000.001):
        normal = ndtr(-(x + 0.5) / sigma)
        assert discrete_gaussian.above(sigma, x) == pytest.approx(normal, rel=1e-5)
    before, after = (
        discrete_gaussian.above(np.nextafter(1000.0, 0), x),
        discrete_gaussian.above(1000.0, x),
    )
    assert before == pytest.approx(after, rel=1e-12)


@pytest.mark.parametrize("shift", [1, 50, 3000])
def test_discrete_gaussian_curves_are_continuous_in_sigma(shift):
    """Whatever is summed below 1000 and expanded above it."""
    before = DiscreteGaussianLaw(np.nextafter(1000.0, 0)).curve(shift)
    after = DiscreteGaussianLaw(1000.0).curve(shift)
    mu = shift / 1000
    epsilon = np.concatenate([mu * np.linspace(-6, 30, 37) + mu**2 / 2, [800, 5000, 1e308, INF]])
    assert after.delta(epsilon) == pytest.approx(before.delta(epsilon), rel=1e-9, abs=1e-290)
    assert after.delta([-5000, -1e308, -INF]).tolist() == [1, 1, 1]
    alpha = np.concatenate([TINY, FPR])
    assert after.tpr(alpha) == pytest.approx(before.tpr(alpha), rel=1e-9, abs=1e-290)
    assert after.beta(alpha) == pytest.approx(before.beta(alpha), rel=1e-9, abs=1e-290)


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_no_shift_no_leak(law):
    alpha = np.linspace(0, 1, 11)
    assert law.curve(0).beta(alpha) == pytest.approx(1 - alpha, abs=1e-15)


@pytest.mark.parametrize("law", EVERY, ids=repr)
def test_a_larger_shift_leaks_more(law):
    alpha = np.linspace(0, 1, 21)
    betas = [law.curve(shift).beta(alpha) for shift in (1, 2, 3)]
    assert np.all(betas[0] >= betas[1] - 1e-14)
    assert np.all(betas[1] >= betas[2] - 1e-14)
