"""OpenDP measurements read as mechanisms: noise that is known, and the promise of any other map."""

import math

import numpy as np
import pytest

import tellapart as ta

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")

WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
FLOAT = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
COUNT = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())


@pytest.mark.parametrize(
    ("measurement", "mechanism"),
    [
        (dp.m.make_laplace(*WHOLE, scale=2.0), ta.DiscreteLaplace(2.0)),
        (dp.m.make_geometric(*WHOLE, scale=2.0), ta.DiscreteLaplace(2.0)),
        (dp.m.make_gaussian(*WHOLE, scale=2.0), ta.DiscreteGaussian(2.0)),
        (COUNT >> dp.m.then_laplace(scale=3.0), ta.DiscreteLaplace(3.0)),
        (
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*WHOLE, scale=2.0)),
            ta.DiscreteGaussian(2.0),
        ),
        (
            dp.c.make_composition(
                [COUNT >> dp.m.then_laplace(scale=3.0), COUNT >> dp.m.then_laplace(scale=5.0)]
            ),
            ta.compose([ta.DiscreteLaplace(3.0), ta.DiscreteLaplace(5.0)]),
        ),
    ],
)
def test_noise_on_whole_numbers_is_known_exactly(measurement, mechanism):
    found = ta.from_opendp(measurement, d_in=1)
    assert found == mechanism
    assert found.curve().bound is ta.Bound.EXACT


def test_a_distance_goes_through_the_transformation():
    assert ta.from_opendp(COUNT >> dp.m.then_laplace(scale=3.0), 4) == ta.DiscreteLaplace(3.0, 4)


@pytest.mark.parametrize("k", [None, -3, 0])
def test_laplace_noise_on_floats_is_that_of_its_lattice(k):
    """Rounded to the lattice an answer moves further, and the noise has atoms."""
    measurement = dp.m.make_laplace(*FLOAT, scale=2.0, k=k)
    found = ta.from_opendp(measurement, d_in=1.0)
    curve, step = found.curve(), 2.0 ** (k if k is not None else -20)
    assert curve.bound is ta.Bound.LOWER
    steps = math.ceil(1.0 / step) + 1
    lattice = ta.DiscreteLaplace(2.0 / step, min(steps, 10_000)).curve()
    if k is not None:
        alphas = np.linspace(0, 1, 101)
        assert np.all(curve.beta(alphas) <= lattice.beta(alphas) + 1e-12)
    assert measurement.map(1.0) <= curve.epsilon(0.0) <= measurement.map(1.0) + step**2 + 1e-9
    assert curve.delta(0.0) < ta.guarantee(epsilon=measurement.map(1.0)).delta(0.0)


def test_whole_counts_with_a_threshold_are_shown_at_the_threshold_too():
    """OpenDP's own map leaves that out: docs/findings.md."""
    names = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    distance = dp.l01inf_distance(dp.absolute_distance(T=int))
    counts = dp.m.make_laplace_threshold(names, distance, scale=1.0, threshold=2)
    one = ta.from_opendp(counts, (1, 1, 1))
    assert one == ta.ThresholdedHistogram(ta.DiscreteLaplace(1.0), threshold=2)
    assert one.curve().delta(50.0) == pytest.approx(1 / (1 + math.e))
    assert counts.map((1, 1, 1))[1] < 0.1
    both = ta.from_opendp(counts, (2, 2, 1), neighbours=ta.Neighbours.REPLACE)
    assert both.neighbours is ta.Neighbours.REPLACE
    two_new = 1 - (math.e / (1 + math.e)) ** 2
    assert both.curve().delta(50.0) >= two_new * (1 - 1e-9)


def test_any_other_measurement_is_taken_at_its_word():
    gaussian = dp.m.make_gaussian(*FLOAT, scale=2.0)
    curve = ta.from_opendp(gaussian, d_in=1.0).curve()
    assert curve.bound is ta.Bound.LOWER
    assert curve.epsilon(1e-6) == ta.guarantee(zcdp=gaussian.map(1.0)).epsilon(1e-6)
    response = dp.m.make_randomized_response_bool(prob=0.75)
    assert ta.from_opendp(response, 1, neighbours=ta.Neighbours.REPLACE) == ta.Promise(
        response.map(1), neighbours=ta.Neighbours.REPLACE
    )
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), 1e-6)
    assert ta.from_opendp(fixed, 1.0) == ta.Promise(*fixed.map(1.0))


def test_a_privacy_profile_is_read_at_many_points():
    smoothed = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*FLOAT, scale=2.0))
    profile, curve = smoothed.map(1.0), ta.from_opendp(smoothed, 1.0).curve()
    exact = ta.Gaussian(sigma=2).curve()
    for epsilon in (0.1, 0.777, 1.5, 2.345):  # its own points leave less room than each alone
        assert exact.delta(epsilon) <= curve.delta(epsilon) <= profile.delta(epsilon) * 1.01
    assert curve.epsilon(1e-6) == pytest.approx(profile.epsilon(1e-6), rel=2e-3)


def test_what_is_no_measurement_or_no_distance_is_refused():
    with pytest.raises(ta.InvalidArgument, match="measurement must be an OpenDP measurement"):
        ta.from_opendp(ta.Laplace(1), d_in=1)
    with pytest.raises(ta.InvalidArgument, match="d_in must be a distance"):
        ta.from_opendp(COUNT >> dp.m.then_laplace(scale=3.0), d_in=0.5)
