"""Normal answers with Laplace noise, beside formulas of 30 digits and plain quadrature."""

import itertools
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

import tellapart as ta
from tellapart.curve.closed import LaplaceCurve
from tellapart.errors import Unsupported
from tellapart.worlds import Channel, GaussianRecords, RecordValue, Sum, tell_apart
from tellapart.worlds.models.laws import FiniteLaw, NormalLaw
from tellapart.worlds.pairs.curves import extremes, pair_curve
from tellapart.worlds.pairs.normal_laplace import (
    NormalLaplaceCurve,
    log_density,
    normal_laplace,
    tail,
)

CASES = [(2.0, math.sqrt(2)), (1.0, 0.01), (3.0, 10.0), (0.5, 0.3), (40.0, 1.0)]


def _exact(x, s):
    """Density and tail in 30 digits."""
    mp.mp.dps = 30
    x, s = mp.mpf(x), mp.mpf(s)
    up, down = mp.exp(-x) * mp.ncdf(x / s - s), mp.exp(x) * mp.ncdf(-x / s - s)
    half = mp.exp(s * s / 2) / 2
    return half * (up + down), mp.ncdf(-x / s) + half * (up - down)


@pytest.mark.parametrize("s", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_density_and_both_tails_keep_their_digits(s):
    for x in (0.0, 0.01, 0.5, 3.0, 20.0, s * s, s * s + 5 * s):
        density, beyond = _exact(x, s)
        assert math.exp(log_density(np.array(x), s)) == pytest.approx(float(density), rel=1e-12)
        assert tail(np.array(x), s) == pytest.approx(float(beyond), rel=1e-12)
        assert tail(np.array(-x), s) == pytest.approx(float(1 - beyond), rel=1e-12)


@pytest.mark.parametrize(("shift", "s"), CASES)
def test_the_profile_is_that_of_the_cut_at_each_ratio(shift, s):
    """δ as a difference of exact tails, at the output where the exact ratio is e^ε."""
    curve = NormalLaplaceCurve(shift, s)
    for share in (0.0, 0.3, 0.8):
        epsilon = share * shift
        cut = _cut(shift, s, epsilon)
        expected = _exact(cut - shift, s)[1] - mp.exp(epsilon) * _exact(cut, s)[1]
        assert curve.delta(epsilon) == pytest.approx(float(expected), rel=1e-11)
        found = curve.rates(epsilon)
        assert found.fpr == pytest.approx(float(_exact(cut, s)[1]), rel=1e-9)
        assert found.fnr == pytest.approx(float(1 - _exact(cut - shift, s)[1]), rel=1e-9)


def _cut(shift, s, epsilon):
    low, high = mp.mpf(shift) / 2, mp.mpf(shift) + s * (s + 12)
    for _ in range(100):
        middle = (low + high) / 2
        ratio = mp.log(_exact(middle - shift, s)[0] / _exact(middle, s)[0])
        low, high = (middle, high) if ratio < epsilon else (low, middle)
    return low if epsilon else mp.mpf(shift) / 2


@pytest.mark.parametrize(("shift", "s"), CASES)
def test_the_trade_off_is_that_of_a_cut_on_the_output(shift, s):
    curve = NormalLaplaceCurve(shift, s)
    cuts = np.array([-1.0, 0.2, 1.5, 6.0]) * max(1.0, s)
    fpr, fnr = tail(cuts, s), tail(shift - cuts, s)
    np.testing.assert_allclose(curve.beta(fpr), fnr, rtol=1e-9)
    np.testing.assert_allclose(curve.tpr(fpr), tail(cuts - shift, s), rtol=1e-9)
    small = tail(cuts[2:], s)
    np.testing.assert_allclose(curve.fpr(small), tail(shift + cuts[2:], s), rtol=1e-9)
    np.testing.assert_array_equal(curve.beta([0.0, 1.0]), [1.0, 0.0])


def test_the_area_is_the_chance_that_the_order_is_wrong():
    for shift, s in CASES[:4]:
        edges = [-60 * max(s, 1), -shift, 0.0, 60 * max(s, 1)]

        def slice_of(z, shift=shift, s=s):
            return math.exp(log_density(np.array(z), s)) * float(tail(np.array(z + shift), s))

        parts = itertools.pairwise(edges)
        expected = sum(quad(slice_of, a, b, limit=200)[0] for a, b in parts)
        assert NormalLaplaceCurve(shift, s).area() == pytest.approx(expected, rel=1e-7)


def test_answers_that_do_not_vary_leave_plain_laplace_noise():
    assert normal_laplace(1.5, 0.0) == LaplaceCurve(1.5)
    nearly, plain = NormalLaplaceCurve(1.5, 1e-7), LaplaceCurve(1.5)
    alphas = [1e-6, 0.1, 0.5, 0.9]
    np.testing.assert_allclose(nearly.beta(alphas), plain.beta(alphas), rtol=1e-12)
    np.testing.assert_allclose(nearly.delta([0, 0.7]), plain.delta([0, 0.7]), rtol=1e-12)
    assert normal_laplace(0.0, 1.0).beta(0.3) == pytest.approx(0.7)


def test_what_the_data_vary_only_hides():
    curves = [normal_laplace(2.0, s) for s in (0.0, 0.5, 1.0, 3.0)]
    betas = np.array([curve.beta([0.01, 0.1, 0.5]) for curve in curves])
    assert np.all(np.diff(betas, axis=0) > 0)
    assert [curve.epsilon(0) for curve in curves] == [2.0] * 4


def test_two_values_of_a_normal_record():
    model = GaussianRecords(np.zeros(3), np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    test = tell_apart(model, Sum(), ta.Laplace(2), RecordValue(0, -1), RecordValue(0, 1))
    assert test.epsilon == pytest.approx(2.0)
    assert test.witness.output == -math.inf
    assert test.monotone
    assert test.curve.shift == pytest.approx(2.0)
    assert test.curve.deviation == pytest.approx(math.sqrt(2) / 2)
    again = pickle.loads(pickle.dumps(test.curve))  # noqa: S301
    assert again.beta(0.1) == test.curve.beta(0.1)
    with pytest.raises(Unsupported, match="values have densities"):
        _ = test.max_posterior


def test_normal_answers_of_unlike_variance_or_through_a_channel_are_refused():
    one, other = NormalLaw(0, 1), NormalLaw(1, 2)
    for release in (ta.Laplace(1), ta.Gaussian(1)):
        with pytest.raises(Unsupported, match="unlike variance"):
            pair_curve(one, other, release)
        with pytest.raises(Unsupported, match="unlike variance"):
            extremes(one, other, release)
    with pytest.raises(Unsupported, match="endlessly many"):
        pair_curve(one, one, Channel({0: [1]}))
    with pytest.raises(Unsupported, match="both be finite or both be normal"):
        pair_curve(one, FiniteLaw.of({0: 1}), ta.Laplace(1))


def test_normal_answers_with_normal_noise_have_no_largest_ratio():
    one, other = NormalLaw(2, 1), NormalLaw(0, 1)
    largest, smallest = extremes(one, other, ta.Gaussian(1))
    assert largest == (math.inf, math.inf)
    assert smallest == (-math.inf, -math.inf)
    assert extremes(one, one, ta.Gaussian(1))[0].log_ratio == 0
