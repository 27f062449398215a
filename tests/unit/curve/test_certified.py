"""The certified engine, stage by stage: pieces, sums, and the two curves read off them."""

import math

import mpmath as mp
import numpy as np
import pytest

import tellapart as ta
from tellapart._numeric.convolution import GridMasses, _thinned_out, composed
from tellapart.curve.certified import brackets
from tellapart.curve.certified.brackets import bracketed
from tellapart.curve.certified.discretise import discretised, from_two_profiles
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.laplace_loss import BoundedLoss
from tellapart.curve.composition.loss_laws import (
    AtomicLoss,
    GaussianLoss,
    LaplaceLoss,
    Swapped,
    thinned,
)
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss

DPSGD = [
    (1.0, 0.01, 1_000, 1.82823667),
    (1.0, 0.01, 10_000, 6.18771239),
    (1.0, 0.01, 100_000, 25.57310699),
    (0.6, 0.001, 50_000, 4.38009783),
]
LAWS = [
    GaussianLoss(0.7),
    GaussianLoss(12.0),
    LaplaceLoss(0.4),
    MixtureLoss(1.0, (0.99, 0.01)),
    MixtureLoss(2.5, (0.999, 0.001)),
    MixtureLoss(0.8, (0.81, 0.18, 0.01)),
    AtomicLoss(np.log([2.0, 1.0, 0.5]), np.array([0.2, 0.4, 0.4])),
]
LAWS += [Swapped(law) for law in LAWS[3:]]


def ends(bracket, delta):
    return bracket.upper.epsilon(delta), bracket.lower.epsilon(delta)


def rr_epsilon(epsilon, times, delta):
    """By the sum over all outcomes, with 50 digits."""
    mp.mp.dps = 50
    p = 1 / (1 + mp.exp(-mp.mpf(epsilon)))

    def profile(e):
        total = mp.mpf(0)
        for k in range(times + 1):
            loss = (2 * k - times) * mp.mpf(epsilon)
            if loss > e:
                weight = mp.binomial(times, k) * p**k * (1 - p) ** (times - k)
                total += weight * (1 - mp.exp(e - loss))
        return total

    low, high = mp.mpf(0), times * mp.mpf(epsilon)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return float(high)


# -- one step ----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_rates_of_a_step_are_those_of_its_moments(law):
    """E over h0 of 1 and of e^loss, from the tails: both are 1."""
    pieces = discretised(law, 1e-3, 1e-30)
    assert pieces.absent.sum() == pytest.approx(1, abs=1e-12)
    assert pieces.present.sum() == pytest.approx(1, abs=1e-12)
    middle = (pieces.half + 0.5) * 5e-4
    for c in (0.3, 1.7):
        value = math.log(float((pieces.absent * np.exp(c * middle)).sum()))
        assert value == pytest.approx(float(law.cumulants(np.array([c])).value[0]), abs=2e-3)


@pytest.mark.parametrize(("mu", "q"), [(1.0, 0.01), (1 / 0.6, 0.001), (0.3, 0.5)])
def test_rates_of_a_mixture_against_fifty_digits(mu, q):
    mp.mp.dps = 50
    law = MixtureLoss(mu, (1 - q, q))
    t = np.array([math.log1p(-q) + 1e-9, -q / 3, 0.0, q, 0.1, 1.0, 3.0])
    fpr, tpr, fnr, tnr = law.rates(t)
    for k, one in enumerate(t.tolist()):
        x = (mp.log((mp.e ** mp.mpf(one) - 1) / mp.mpf(q) + 1) + mp.mpf(mu) ** 2 / 2) / mp.mpf(mu)
        truth = [mp.ncdf(-x), (1 - mp.mpf(q)) * mp.ncdf(-x) + mp.mpf(q) * mp.ncdf(mu - x)]
        truth += [1 - truth[1], 1 - truth[0]]
        for found, exact in zip((fpr[k], tpr[k], fnr[k], tnr[k]), truth, strict=True):
            # The threshold may be off by 1e-15 near the least loss, where x is steep in it.
            assert float(found) == pytest.approx(float(exact), rel=1e-6 if k == 0 else 1e-11)


def test_a_mixture_of_many_is_inverted_by_newton():
    law = MixtureLoss(0.8, (0.7, 0.2, 0.07, 0.03))
    x = np.linspace(-6, 9, 50)
    assert law._output(law.loss_at(x)) == pytest.approx(x, abs=1e-9)


def test_a_mixture_reaches_no_loss_below_its_least():
    law = MixtureLoss(1.0, (0.9, 0.1))
    assert [float(rate[0]) for rate in law.rates(np.array([-0.2]))] == [1.0, 1.0, 0.0, 0.0]


def test_atoms_are_accused_above_not_at_the_threshold():
    law = AtomicLoss(np.array([1.0, -1.0]), np.array([0.25, 0.75]))
    fpr, _, _, tnr = law.rates(np.array([1.0, np.nextafter(1.0, 0), -1.0]))
    assert fpr.tolist() == [0.0, 0.25, 0.25]
    assert tnr.tolist() == [1.0, 0.75, 0.75]
    fpr, tpr, _, _ = Swapped(law).rates(np.array([1.0, np.nextafter(1.0, 0)]))
    assert fpr.tolist() == pytest.approx([0.0, 0.75 / math.e])
    assert tpr.tolist() == [0.0, 0.75]


@pytest.mark.parametrize("rate", [1.0, 1 - 1e-10, 0.9, 0.01])
def test_losses_on_a_sample_against_eighty_digits(rate):
    losses = [-100.0, -30.0, -1.0, -1e-9, 0.0, 2.0, 39.0, 41.0, 700.0]
    mp.mp.dps = 80
    exact = [float(mp.log(1 + mp.mpf(rate) * mp.expm1(mp.mpf(one)))) for one in losses]
    assert thinned(np.array(losses), rate) == pytest.approx(exact, rel=1e-15, abs=0)


def test_logistic_noise_has_its_ends_where_they_are():
    law = BoundedLoss(100.0, 0.0)
    assert (law.least, law.largest) == (-100.0, 100.0)


# -- discretise --------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("mesh", [0.003, 0.11])
def test_the_stronger_step_leaks_more_and_the_rounded_one_less(law, mesh):
    pieces = discretised(law, mesh, 1e-25)
    part, revealed = pieces.stronger(1)
    most_absent, least_present = pieces.rounded(1)
    for one in (part, most_absent, least_present):
        assert (one.masses >= 0).all()
    losses = mesh * np.arange(part.start, part.end + 1)
    rounded = mesh * np.arange(most_absent.start, most_absent.end + 1)
    for epsilon in (-0.3, 0.0, 0.2, 1.0, 3.0):
        fpr, tpr, _, _ = (float(rate[0]) for rate in law.rates(np.array([epsilon])))
        truth = tpr - math.exp(epsilon) * fpr
        kept = np.maximum(-np.expm1(epsilon - losses), 0.0)
        above = rounded > epsilon
        attack = least_present.masses[above].sum() - math.exp(epsilon) * (
            most_absent.masses[above].sum()
        )
        assert float(part.masses @ kept) + revealed >= truth - 1e-15
        assert attack <= truth + 1e-15
        assert float(part.masses @ kept) + revealed <= truth + mesh**2 + 1e-12


# -- convolve ----------------------------------------------------------------------------------


def direct(parts):
    """The masses of a sum by plain convolution in extended precision."""
    total, start = np.ones(1, dtype=np.longdouble), 0
    for part in parts:
        for _ in range(part.times):
            total = np.convolve(total, part.masses.astype(np.longdouble))
            start += part.start
    return start, total


@pytest.mark.parametrize("tilt", [0.0, 0.7, 5.0, 20.0])
def test_sums_are_within_their_error_of_plain_convolution(tilt):
    rng = np.random.default_rng(5)
    parts = [
        GridMasses(-3, rng.dirichlet(np.ones(9)), 6),
        GridMasses(2, rng.dirichlet(np.ones(4)), 5),
    ]
    start, masses = direct(parts)
    mesh = 0.05
    found = composed(parts, mesh, tilt)
    index = start + np.arange(masses.size)
    tilted = np.zeros(found.masses.size, dtype=np.longdouble)
    inside = (index >= found.start) & (index <= found.end)
    scale = np.exp(tilt * mesh * index.astype(np.longdouble) - found.log)
    np.add.at(tilted, index[inside] - found.start, (masses * scale)[inside])
    assert (found.masses >= 0).all()
    slack = found.error + found.below + found.above + found.log_error * tilted
    assert (np.abs(found.masses - tilted) <= slack).all()


def test_sums_read_off_on_the_right_side():
    rng = np.random.default_rng(6)
    parts = [GridMasses(-5, rng.dirichlet(np.ones(12)), 40)]
    start, masses = direct(parts)
    index = start + np.arange(masses.size)
    mesh = 0.1
    for tilt in (0.0, 1.0, 4.0, 40.0, 200.0, 600.0):
        found = composed(parts, mesh, tilt)
        for at in range(max(int(found.start) - 5, start - 3), int(found.end) + 3, 3):
            above = index > at
            tail = float(masses[above].sum())
            excess = float((masses * -np.expm1((at - index) * mesh))[above].sum())
            asked = np.array([float(at)])
            assert found.least_above(asked)[0] <= tail <= found.most_above(asked)[0]
            assert excess <= found.most_excess(asked)[0]


@pytest.mark.parametrize("every", [1, 7, 64])
def test_masses_on_every_so_many_grid_points_have_no_smaller_moments(every):
    masses = np.random.default_rng(7).dirichlet(np.ones(150))
    fewer = _thinned_out(masses, every)
    assert fewer.sum() == pytest.approx(1, abs=1e-14)
    for away in (-0.3, -0.01, 0.01, 0.3):
        grown = fewer @ np.exp(away * every * np.arange(fewer.size))
        assert grown >= masses @ np.exp(away * np.arange(150)) * (1 - 1e-14)


def test_below_its_window_a_sum_still_knows_no_less_than_the_mass_there():
    """A large tilt leaves the bulk out of the window, yet it lies above these points."""
    parts = [GridMasses(0, np.array([0.5, 0.5]), 400)]
    found = composed(parts, 1.0, 4.0)
    assert found.start > 250
    for at in (100.0, 190.0, 200.0, 210.0, 240.0):
        truth = sum(math.comb(400, k) for k in range(int(at) + 1, 401)) / 2**400
        assert found.least_above(np.array([at]))[0] <= truth <= found.most_above(np.array([at]))[0]


def test_sums_have_digits_far_below_those_of_a_plain_fft():
    parts = [GridMasses(0, np.array([0.5, 0.5]), 200)]
    found = composed(parts, 1.0, math.log(9.0))
    asked = np.array([194.0])
    truth = sum(math.comb(200, k) for k in range(195, 201)) / 2.0**200
    assert truth < 1e-50
    assert found.most_above(asked)[0] == pytest.approx(truth, rel=1e-10)
    assert found.least_above(asked)[0] == pytest.approx(truth, rel=1e-10)


def test_a_sum_with_too_many_points_is_refused():
    with pytest.raises(ta.NotCertified) as caught:
        composed([GridMasses(0, np.full(50, 0.02), 50)], 0.1, 0.0, most=100)
    assert str(caught.value) == "the sum of the losses needs more than 100 grid points"


# -- read off ----------------------------------------------------------------------------------


def test_lines_of_both_orders_make_one_polygon():
    truth = ta.Gaussian(1).curve()
    epsilons = np.linspace(0, 6, 200)
    profile = truth.delta(epsilons)
    curve = from_two_profiles(epsilons, profile, profile)
    alpha = np.array([1e-6, 1e-3, 0.1, 0.31, 0.5, 0.9, 0.999])
    assert (curve.beta(alpha) <= truth.beta(alpha) + 1e-12).all()
    assert curve.beta(alpha) == pytest.approx(truth.beta(alpha), abs=2e-3)
    assert curve.bound is ta.Bound.LOWER


def test_a_line_that_others_make_useless_is_left_out():
    curve = from_two_profiles(np.array([0.0, 1.0]), np.array([0.9, 0.0]), np.array([0.9, 0.0]))
    assert curve.epsilon(0.0) == pytest.approx(1.0)
    assert curve.beta(0.2) == pytest.approx(ta.guarantee(1).beta(0.2))


# -- brackets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sigma", "q", "steps", "epsilon"), DPSGD)
def test_dpsgd_reference_values_lie_inside(sigma, q, steps, epsilon):
    found = ta.Gaussian(sigma).sampled(q).repeated(steps).bracket()
    low, high = ends(found, 1e-5)
    assert low <= epsilon + 5e-9
    assert epsilon - 5e-9 <= high
    assert high - low <= 1e-4 * max(1, epsilon)
    assert found.lower.bound is ta.Bound.LOWER
    assert found.upper.bound is ta.Bound.UPPER


@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-10, 1e-15, 1e-25])
@pytest.mark.parametrize(("sigma", "times"), [(1.0, 1), (5.0, 100), (0.2, 3), (300.0, 2)])
def test_gaussian_brackets_hold_the_closed_form(sigma, times, delta):
    mechanism = ta.Gaussian(sigma).repeated(times)
    low, high = ends(mechanism.bracket(delta), delta)
    truth = mechanism.curve().epsilon(delta)
    assert low <= truth <= high
    assert high - low <= 1e-4 * max(1, truth)


@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-15])
@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 1), (1.0, 100), (0.1, 200), (2.5, 7)])
def test_randomised_response_brackets_hold_the_sum(epsilon, times, delta):
    mechanism = ta.RandomizedResponse(epsilon).repeated(times)
    low, high = ends(mechanism.bracket(delta), delta)
    truth = rr_epsilon(epsilon, times, delta)
    assert low <= truth <= high
    assert high - low <= 1e-6 * max(1, truth)


def test_randomised_response_a_hundred_times():
    low, high = ends(ta.RandomizedResponse(1).repeated(100).bracket(), 1e-5)
    assert low <= high
    assert low == pytest.approx(79.8413, abs=1e-4)
    assert high == pytest.approx(79.8413, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_one_laplace_step_holds_the_closed_form(epsilon):
    mechanism = ta.Laplace.with_epsilon(epsilon).repeated(1)
    for delta in (1e-2, 1e-5, 1e-15):
        low, high = ends(mechanism.bracket(delta), delta)
        assert low <= mechanism.curve().epsilon(delta) <= high


def test_many_laplace_steps_hold_a_plain_fine_convolution():
    """From a grid of 8001 points a step, atoms on it: right to about 1e-8."""
    m, k, times = 0.1, 4000, 100
    nodes = np.arange(-k, k + 1) * (m / k)
    q = 0.25 * np.exp(-(m - nodes) / 2) * (m / k)
    q[[0, -1]] /= 2
    q[[0, -1]] += [0.5 * math.exp(-m), 0.5]
    spectrum = np.fft.rfft(q / q.sum(), 1 << 20)
    masses = np.fft.irfft(spectrum**times)[: 2 * k * times + 1]
    losses = (np.arange(masses.size) - k * times) * (m / k)
    found = ta.Laplace.with_epsilon(m).repeated(times).bracket(gap=1e-6)
    low, high = ends(found, 1e-5)

    def delta(e):
        return float((masses * np.maximum(-np.expm1(e - losses), 0.0)).sum())

    assert delta(low - 1e-7) > 1e-5 > delta(high + 1e-7)
    assert high - low <= 1e-6 * high


@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12, 1e-15])
@pytest.mark.parametrize("order", [None, *ta.Order])
def test_a_sequence_of_unlike_steps_in_each_order(delta, order):
    mechanism = ta.compose(
        [
            ta.Gaussian(1).sampled(0.01).repeated(500),
            ta.Gaussian(0.8).sampled(0.002).repeated(300),
            ta.Gaussian(4).repeated(3),
            ta.Laplace.with_epsilon(0.05).repeated(10),
        ]
    )
    found, truth = mechanism.bracket(delta, order=order), mechanism.curve(order)
    low, high = ends(found, delta)
    assert low - 1e-9 <= truth.epsilon(delta) <= high + 1e-9
    alpha = np.array([1e-6, 1e-3, 0.03, 0.3, 0.7, 0.97])
    assert (found.lower.beta(alpha) <= truth.beta(alpha) + 1e-9).all()
    assert (truth.beta(alpha) <= found.upper.beta(alpha) + 1e-9).all()


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-12])
def test_one_sampled_step_holds_the_closed_form(delta):
    mechanism = ta.Gaussian(0.9).sampled(0.02)
    low, high = ends(mechanism.bracket(delta), delta)
    assert low <= mechanism.curve().epsilon(delta) <= high
    assert high - low <= 1e-4 * max(1, low)


@pytest.mark.parametrize("case", [(0.48, 7.5e-5, 9, 1e-9), (0.63, 6.3e-4, 2, 1.6e-10)])
def test_few_steps_where_one_large_loss_outweighs_all_others(case):
    """Tilted too much, the sum sits where every step has its largest loss: useless, yet sound."""
    sigma, q, steps, delta = case
    mechanism = ta.Gaussian(sigma).sampled(q).repeated(steps)
    low, high = ends(mechanism.bracket(delta), delta)
    assert high - low <= 1e-4 * max(1, low)
    # One step at δ/steps each is a bound from above, one step alone one from below.
    one = ta.Gaussian(sigma).sampled(q).curve()
    assert low <= steps * one.epsilon(delta / steps)
    assert one.epsilon(delta) <= high


def test_an_epsilon_beyond_the_doubles_is_refused_not_infinite():
    mechanism = ta.Gaussian(0.88).sampled(0.87).repeated(6_000)
    with pytest.raises(ta.NotCertified):
        mechanism.bracket(1e-7)


@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize(
    ("sigma", "rate"), [(0.9, 0.02), (0.4, 0.001), (1.0, 0.01), (0.5, 0.1), (2.0, 0.3)]
)
def test_two_steps_where_a_contour_may_refuse(sigma, rate, delta):
    """Against an integral over the first output of the profile of the second."""
    mechanism = ta.Gaussian(sigma).sampled(rate).repeated(2)
    found = mechanism.bracket(delta, order=ta.Order.PRESENT)
    low, high = ends(found, delta)
    if low > 0:
        assert two_steps(sigma, rate, low - 1e-9) >= delta * (1 - 1e-7)
    assert two_steps(sigma, rate, high + 1e-9) <= delta * (1 + 1e-7)
    for epsilon in (0.0, 1e-3, 0.03, 0.3, 3.0):
        exact = two_steps(sigma, rate, epsilon)
        slack = 1e-7 * exact + 1e-15
        assert found.upper.delta(epsilon) - slack <= exact <= found.lower.delta(epsilon) + slack


def two_steps(sigma, rate, epsilon):
    mu = 1 / sigma
    x = np.linspace(-12, 14 + mu, 100_001)
    loss = np.log1p(rate * np.expm1(mu * x - mu**2 / 2))
    mass = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    second = ta.Gaussian(sigma).sampled(rate).curve(ta.Order.PRESENT)
    return float((mass * np.exp(loss) * second.delta(epsilon - loss)).sum())


def test_the_two_orders_are_each_others_mirror():
    mechanism = ta.Gaussian(1).sampled(0.05).repeated(50)
    present = mechanism.bracket(order=ta.Order.PRESENT)
    absent = mechanism.bracket(order=ta.Order.ABSENT)
    alpha = np.array([0.01, 0.2, 0.6])
    for one, other in ((present, absent.lower.mirrored()), (present, absent.upper.mirrored())):
        assert one.lower.beta(alpha) == pytest.approx(other.beta(alpha), abs=1e-3)
    assert ends(present, 1e-5)[0] > ends(absent, 1e-5)[1]


def test_the_bracket_of_both_orders_holds_each():
    mechanism = ta.Gaussian(1).sampled(0.05).repeated(50)
    both = mechanism.bracket()
    for order in ta.Order:
        alpha = np.linspace(0.001, 0.999, 50)
        assert (both.lower.beta(alpha) <= mechanism.curve(order).beta(alpha) + 1e-9).all()
    assert both.lower.symmetrised().epsilon(1e-5) == pytest.approx(both.lower.epsilon(1e-5))


def test_a_narrow_gap_on_request():
    mechanism = ta.Gaussian(1).sampled(0.01).repeated(1_000)
    low, high = ends(mechanism.bracket(gap=2e-6), 1e-5)
    assert low <= 1.82823667 + 5e-9
    assert high >= 1.82823667 - 5e-9
    assert high - low <= 2e-6 * high


def test_groups_of_records():
    """Three records in a binomial number of batches: the mixture of several shifts."""
    q = 0.01
    weights = tuple(math.comb(3, j) * q**j * (1 - q) ** (3 - j) for j in range(4))
    steps = [(MixtureLoss(0.7, weights), 400)]
    low, high = ends(bracketed(steps, 1e-5, 1e-4, ordered=True), 1e-5)
    truth = ComposedCurve(tuple(steps)).epsilon(1e-5)
    assert low - 1e-9 <= truth <= high + 1e-9


# -- what is refused and what is nothing ---------------------------------------------------------


def test_what_reveals_nothing_has_a_bracket_of_nothing():
    found = ta.Gaussian(1).sampled(0).repeated(10).bracket()
    assert ends(found, 1e-5) == (0.0, 0.0)
    assert (found.lower.bound, found.upper.bound) == (ta.Bound.LOWER, ta.Bound.UPPER)


def test_a_bracket_says_where_no_attacker_is_known():
    promised = ta.ReportNoisyMax(0.1).repeated(100)
    alone = promised.bracket(gap=1e-2)
    assert alone.one_sided
    assert repr(alone).endswith("upper: no attacker is known (steps known by a guarantee alone))")
    lower, upper = alone
    assert (upper.epsilon(1e-5), upper.neighbours) == (0.0, ta.Neighbours.ADD_REMOVE)
    assert lower.epsilon(1e-5) >= promised.curve().epsilon(1e-5) - 1e-8
    # Noise so loud that no attack is found within the gap is known from both sides all the same.
    for known in (ta.Gaussian(1e9).repeated(3), ta.Gaussian(1).sampled(0).repeated(2)):
        assert not known.bracket().one_sided


@pytest.mark.parametrize("at_least", [1e-9, 1e-6, 1e-2])
def test_mu_has_a_bracket(at_least):
    training = ta.dp_sgd(1.0, 0.01, 1_000)
    bracket = training.bracket()
    low, high = bracket.gdp(at_least)
    assert low < training.curve().gdp(at_least).mu < high == bracket.lower.gdp(at_least).mu
    if at_least > 1e-9:
        assert high - low < 1e-3
    with pytest.raises(ta.Unsupported, match=r"bracket\.lower\.gdp\(\)"):
        bracket.upper.gdp(at_least)


def test_no_attacker_of_gaussian_noise_needs_more_than_its_mu():
    low, high = ta.Gaussian(2).repeated(4).bracket().gdp(1e-4)
    assert low <= 1 <= high


def test_sampling_all_records_changes_nothing():
    whole = ta.Gaussian(2).sampled(1).repeated(4).bracket()
    assert ends(whole, 1e-5) == ends(ta.Gaussian(2).repeated(4).bracket(), 1e-5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"delta": 0}, "delta must lie strictly between 0 and 1, got 0"),
        ({"delta": 1.0}, "delta must lie strictly between 0 and 1, got 1.0"),
        ({"gap": 0}, "gap must be finite and greater than 0, got 0"),
        ({"gap": math.inf}, "gap must be finite and greater than 0, got inf"),
        ({"order": "present"}, "order must be Order.PRESENT or Order.ABSENT, got 'present'"),
    ],
)
def test_bad_arguments(asked, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        ta.Gaussian(1).repeated(2).bracket(**asked)
    assert str(caught.value) == message


def test_losses_that_a_double_takes_for_one_have_a_bracket():
    absent, present = np.array([0.0, 4.0]), np.array([0.0, 4.25])
    chosen = ta.PermuteAndFlip(200.0, absent, present, sensitivity=0.25)
    low, high = ends(chosen.bracket(1e-3), 1e-3)
    assert low <= chosen.curve().epsilon(1e-3) <= high


def test_a_step_with_more_losses_than_memory_holds_is_refused():
    law = AtomicLoss(np.array([9.0, 0.0]), np.array([0.0001, 0.9999]))
    with pytest.raises(ta.NotCertified):
        discretised(law, 1e-9, 0.0).stronger(1)


def test_sides_that_contradict_each_other_are_not_handed_out(monkeypatch):
    right = bracketed([(GaussianLoss(1.0), 1)], 1e-5, 1e-4, ordered=True)
    wrong = brackets.Bracket(right.upper, right.lower)
    monkeypatch.setattr(brackets, "bracketed", lambda *_: wrong)
    with pytest.raises(RuntimeError) as caught:
        ta.Gaussian(1).bracket()
    assert str(caught.value) == (
        "the two sides of a bracket at δ = 1e-5 contradict each other, so at least one is wrong "
        "and neither is given; this is a fault of tellapart, please report it"
    )


def test_a_gap_out_of_reach_is_said_to_be():
    with pytest.raises(ta.NotCertified) as caught:
        ta.RandomizedResponse(1.1).repeated(1000).bracket(delta=1e-15)
    assert str(caught.value) == (
        "a bracket of width 0.0001·max(1, ε) at δ = 1e-15 was not reached; allow a wider gap"
    )


def test_more_points_than_memory_holds_are_refused():
    with pytest.raises(ta.NotCertified) as caught:
        ta.Gaussian(1).sampled(0.01).repeated(1_000).bracket(gap=1e-13)
    assert str(caught.value).endswith("more than 8388608 grid points")


def test_steps_known_from_one_side_have_a_bracket_of_one_side():
    one_sided = ta.ReportNoisyMax(1).repeated(2)
    assert one_sided.curve().bound is ta.Bound.LOWER
    lower, upper = one_sided.bracket()
    assert 0 <= lower.epsilon(1e-5) - one_sided.curve().epsilon(1e-5) <= 2e-4
    assert (upper.delta(0.0), upper.bound) == (0.0, ta.Bound.UPPER)
