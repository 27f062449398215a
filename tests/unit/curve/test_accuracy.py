"""How far a noisy answer lies from the truth, against direct sums over the noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tellapart as ta
from tellapart.mechanisms.noise import AdditiveNoise

CONTINUOUS = [
    ta.Laplace(scale=0.7),
    ta.Gaussian(sigma=2.5),
    ta.TruncatedLaplace(scale=1.3, cutoff=2.0),
    ta.TruncatedLaplace(scale=1.0, cutoff=0.6),
    ta.TruncatedLaplace(scale=1e5, cutoff=1.0),
]
DISCRETE = [
    ta.DiscreteLaplace(scale=0.1),
    ta.DiscreteLaplace(scale=3.0),
    ta.DiscreteGaussian(sigma=0.3),
    ta.DiscreteGaussian(sigma=0.55),
    ta.DiscreteGaussian(sigma=0.8),
    ta.DiscreteGaussian(sigma=1.3),
    ta.DiscreteGaussian(sigma=1.9999),
    ta.DiscreteGaussian(sigma=2.0001),
    ta.DiscreteGaussian(sigma=7.0),
]
SHAPES = [
    ta.Staircase(epsilon=1.0),
    ta.Staircase(epsilon=3.0, sensitivity=2.0, fraction=0.9),
    ta.Staircase(epsilon=0.2, fraction=0.0),
    ta.Staircase(epsilon=0.2, fraction=1.0),
    ta.UniformNoise(width=3.0),
    ta.UniformNoise(width=3.0, atom=0.4),
]
STEPS = 2_000_001


def staircase_density(mechanism, x):
    """Geng and Viswanath's density, straight from its definition."""
    fall = math.exp(-mechanism.epsilon)
    share = mechanism.fraction
    if share is None:
        share = 1 / (1 + math.exp(mechanism.epsilon / 2))
    stair = np.floor(np.abs(x) / mechanism.sensitivity)
    lower = np.abs(x) / mechanism.sensitivity - stair >= share
    height = (1 - fall) / (2 * mechanism.sensitivity * (share + fall * (1 - share)))
    return height * fall ** (stair + lower)


@pytest.mark.parametrize("mechanism", CONTINUOUS, ids=repr)
def test_the_deviation_is_the_root_of_the_mean_square(mechanism):
    # E x² = ∫ 4x·P(noise > x) dx over x > 0, for symmetric noise.
    x = np.linspace(0, 60 * min(mechanism.deviation(), 1e3), STEPS)
    square = np.trapezoid(4 * x * mechanism.noise.above(x), x)
    assert mechanism.deviation() == pytest.approx(math.sqrt(square), rel=1e-7)


@pytest.mark.parametrize("mechanism", DISCRETE, ids=repr)
def test_the_deviation_of_discrete_noise_is_its_sum(mechanism):
    x = np.arange(-3000.0, 3001.0)
    square = float(np.sum(x**2 * mechanism.noise.at(x)))
    assert mechanism.deviation() == pytest.approx(math.sqrt(square), rel=1e-12)


@pytest.mark.parametrize("mechanism", CONTINUOUS + DISCRETE, ids=repr)
@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.95, 0.999])
def test_the_margin_covers_and_nothing_less_does(mechanism, coverage):
    margin = mechanism.margin(coverage)

    def outside(x):
        law = mechanism.noise
        return float(2 * law.above(np.array([x]))[0])

    assert outside(margin) <= (1 - coverage) * (1 + 1e-12)
    less = margin - 1 if mechanism.noise.whole else margin * (1 - 1e-9)
    assert less < 0 or outside(less) > 1 - coverage


@pytest.mark.parametrize("mechanism", SHAPES, ids=repr)
def test_shapes_against_their_density(mechanism):
    if isinstance(mechanism, ta.Staircase):
        # An edge at each jump and midpoints between: exact sums for a step function but for x².
        steps = 800
        reach = int(60 / mechanism.epsilon) + 2
        share = mechanism.fraction
        if share is None:
            share = 1 / (1 + math.exp(mechanism.epsilon / 2))
        parts = []
        for stair in range(reach):
            for low, high in ((stair, stair + share), (stair + share, stair + 1)):
                if high > low:
                    parts.append(np.linspace(low, high, steps, endpoint=False))
        edges = np.append(np.concatenate(parts), reach) * mechanism.sensitivity
        middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        mass = 2 * staircase_density(mechanism, middle) * width
    else:
        edges = np.linspace(0, mechanism.width / 2, 100_001)
        middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        mass = (1 - mechanism.atom) * 2 / mechanism.width * width
    assert mechanism.deviation() == pytest.approx(math.sqrt(np.sum(middle**2 * mass)), rel=1e-5)
    for coverage in (0.5, 0.95):
        covered = getattr(mechanism, "atom", 0.0) + np.cumsum(mass)
        found = float(edges[1:][np.searchsorted(covered, coverage)])
        assert mechanism.margin(coverage) == pytest.approx(found, abs=2 * float(width.max()))


def test_extremes():
    assert ta.Staircase(epsilon=0).deviation() == math.inf
    assert ta.Staircase(epsilon=0).margin() == math.inf
    assert ta.Laplace(scale=math.inf).deviation() == math.inf
    assert ta.DiscreteLaplace(scale=1e-5).deviation() == 0.0
    assert ta.DiscreteLaplace(scale=1e-5).margin() == 0.0
    assert ta.UniformNoise(width=3.0, atom=0.96).margin() == 0.0
    assert ta.Staircase(epsilon=800).margin(0.95) >= 0


@pytest.mark.parametrize("coverage", [1e-17, 1e-3, 0.5, 0.95, 1 - 1e-16])
@pytest.mark.parametrize(
    "mechanism",
    [
        ta.Laplace(math.inf),
        ta.Laplace.with_epsilon(0),
        ta.Gaussian(math.inf),
        ta.DiscreteLaplace(math.inf),
        ta.DiscreteLaplace.with_epsilon(0),
        ta.DiscreteGaussian(math.inf),
        ta.Staircase(0.0),
    ],
    ids=repr,
)
def test_noise_without_end_has_no_margin(mechanism, coverage):
    assert mechanism.deviation() == math.inf
    assert mechanism.margin(coverage) == math.inf


@pytest.mark.parametrize("fraction", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-100, 1e-17, 1e-9])
def test_low_stairs_are_laplace_noise(epsilon, fraction):
    stairs, laplace = ta.Staircase(epsilon, fraction=fraction), math.sqrt(2) / epsilon
    assert stairs.deviation() == pytest.approx(laplace, rel=1e-8)
    for coverage in (1e-3, 0.5, 0.95):
        margin = -math.log1p(-coverage) / epsilon
        assert stairs.margin(coverage) == pytest.approx(margin, rel=1e-5)


@pytest.mark.parametrize("epsilon", [600.0, 1e308])
def test_one_high_stair_is_a_uniform_step(epsilon):
    for fraction, width in ((0.0, 1.0), (0.3, 0.3), (1.0, 1.0)):
        stair = ta.Staircase(epsilon, fraction=fraction)
        assert stair.deviation() == pytest.approx(width / math.sqrt(3))
        assert stair.margin(0.95) == pytest.approx(0.95 * width)


@pytest.mark.parametrize("scale", [1.0, 1e10, 1e17, 1e200])
def test_a_close_cut_off_leaves_uniform_noise(scale):
    noise = ta.TruncatedLaplace(scale=scale, cutoff=1e-3)
    assert noise.deviation() == pytest.approx(1e-3 / math.sqrt(3), rel=1e-3)


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-9, 1.0, 1e9, 1e300])
@pytest.mark.parametrize("kind", [ta.Laplace, ta.Gaussian, ta.DiscreteLaplace, ta.DiscreteGaussian])
def test_margins_are_never_negative_and_grow(kind, size):
    margins = [kind(size).margin(share) for share in (1e-17, 1e-9, 0.5, 0.95, 1 - 1e-16)]
    assert margins == sorted(margins)
    assert math.copysign(1, margins[0]) == 1
    assert 0 <= kind(size).deviation() <= 2 * size


def test_every_additive_noise_answers():
    kinds = [kind for kind in ta.MECHANISMS if issubclass(kind, AdditiveNoise)]
    tested = {type(one) for one in CONTINUOUS + DISCRETE}
    assert tested == set(kinds)


def test_coverage_must_lie_inside():
    with pytest.raises(ta.InvalidArgument, match="coverage must lie strictly between 0 and 1"):
        ta.Laplace(1).margin(1.0)
