"""Sums of laws by convolution: against families whose sums have formulas."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

import tellapart as ta
from tellapart.curve.composition.convolution import convolved, in_panels


def fine(floor):
    def tolerance(v, logs):
        return 1e-13 * np.exp(np.clip(floor - logs - v, 0, 40))

    return tolerance


def gamma(shape):
    def log_density(v):
        return (shape - 1) * v - np.exp(v) - gammaln(shape)

    return log_density


def levy(scale):
    """Stable with index 1/2: its tail is so heavy that it has no mean."""

    def log_density(v):
        return 0.5 * math.log(scale / (2 * math.pi)) - scale / 2 * np.exp(-v) - 1.5 * v

    return log_density


def at(found, v):
    return found.at(found.panel(v), v[None])[0]


@pytest.mark.parametrize(("one", "other"), [(1.0, 1.0), (0.7, 5.0), (3.0, 300.0)])
def test_gamma_laws_add_their_shapes(one, other):
    ends = np.linspace(-40.0, 7.5, 20)
    first, second = (in_panels(gamma(shape), ends, fine(-60)) for shape in (one, other))
    both = convolved(first, first if one == other else second, fine(-55))
    u = np.geomspace(0.05, 1.0, 40) * 40 if other < 100 else np.linspace(200, 420, 40)
    assert at(both, np.log(u)) == pytest.approx(gamma(one + other)(np.log(u)), rel=0, abs=3e-11)


def test_sums_with_heavy_tails_keep_their_digits():
    ends = np.linspace(math.log(0.004), 120.0, 30)
    first, second = (
        in_panels(levy(1.0), ends, fine(-90)),
        in_panels(levy(0.01), ends - 4, fine(-90)),
    )
    both = convolved(first, second, fine(-20))
    v = np.linspace(math.log(0.03), 38.0, 80)
    assert at(both, v) == pytest.approx(levy(1.21)(v), rel=0, abs=1e-10)


def test_many_convolutions_do_not_drift():
    found = in_panels(gamma(0.5), np.linspace(-160.0, 8.0, 40), fine(-90))
    for _ in range(10):
        found = convolved(found, found, fine(-40))
    u = np.linspace(300.0, 800.0, 50)
    assert at(found, np.log(u)) == pytest.approx(gamma(512.0)(np.log(u)), rel=0, abs=1e-9)
    assert found.mass() == pytest.approx(1.0, rel=1e-10)


def test_a_law_too_rough_for_panels_is_refused():
    with pytest.raises(ta.NotCertified, match="too rough to convolve"):
        in_panels(lambda v: np.sin(1e5 * v), np.array([0.0, 1.0]), fine(-60))


@pytest.mark.parametrize("spread", [1.0, 3.0, 5.0, 8.0])
def test_wide_laws_lose_no_mass(spread):
    """Panels as wide as these once had too few points near u/2: 7e-9 of the mass was lost."""

    def lognormal(v):
        return -0.5 * (v / spread) ** 2 - math.log(spread * math.sqrt(2 * math.pi)) - v

    single = in_panels(lognormal, np.linspace(-12 * spread, 12 * spread, 13), fine(-60))
    assert convolved(single, single, fine(-40)).mass() == pytest.approx(1.0, abs=1e-12)
