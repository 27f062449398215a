"""Schemes of sampling and the laws behind them: what must hold whatever is sampled."""

import numpy as np
import pytest
from examples import examples
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart.curve.composition.laplace_loss import BoundedLoss
from tellapart.curve.composition.loss_laws import LaplaceLoss
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss, ReplacedLoss
from tellapart.mechanisms.batches.poisson_replace_one import ReplacedSampleLoss

REPLACE, FIXED = ta.Neighbours.REPLACE, ta.Sampling.WITHOUT_REPLACEMENT
FPRS = np.concatenate([[0.0], 10.0 ** -np.arange(12.0, 1, -2), np.linspace(0.05, 1, 20)])
EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
few = settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
schemes = st.sampled_from([ta.Sampling.POISSON, FIXED])
rates = st.floats(-2.5, -0.3).map(lambda x: 10.0**x)
bells = st.builds(lambda s: ta.Gaussian(s, neighbours=REPLACE), st.floats(0.6, 5))
peaks = st.builds(lambda s: ta.Laplace(s, neighbours=REPLACE), st.floats(0.5, 5))
binary = st.floats(0.1, 3).map(
    lambda e: ta.CustomMechanism(ta.RandomizedResponse(e).curve(), neighbours=REPLACE)
)
others = st.one_of(
    st.builds(ta.Laplace, st.floats(0.5, 5)),
    st.builds(ta.ExponentialMechanism, st.floats(0.2, 2)),
    st.builds(ta.TruncatedLaplace.with_epsilon, st.floats(0.2, 2), st.sampled_from([1e-14, 1e-13])),
)
replaced = st.builds(lambda m, q, s: m.sampled(q, s), bells | peaks | binary, rates, schemes)
sampled = st.builds(lambda m, q: m.sampled(q), others, rates)


def _same(curve, other):
    for a, b in (
        (curve.delta(EPSILONS), other.delta(EPSILONS)),
        (curve.epsilon([1e-5, 0.01]), other.epsilon([1e-5, 0.01])),
        (curve.beta(FPRS), other.beta(FPRS)),
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)


def or_refused(check, *arguments):
    try:
        check(*arguments)
    except ta.NotCertified:
        return


@few
@given(bells | peaks | binary, schemes, st.integers(1, 4))
def test_a_rate_of_one_is_no_sampling_and_of_nothing_no_leak(step, scheme, times):
    whole = step.sampled(1.0, scheme).repeated(times).curve()
    np.testing.assert_allclose(whole.beta(FPRS), step.repeated(times).curve().beta(FPRS), rtol=1e-9)
    none = step.sampled(0.0, scheme).repeated(times).curve()
    np.testing.assert_array_equal(none.beta(FPRS), 1 - FPRS)


@few
@given(replaced | sampled, replaced | sampled, st.integers(200, 5000))
def test_composition_commutes_and_copies_add_up(a, b, times):
    def check():
        if a.neighbours is b.neighbours:
            first, second = a.repeated(times), b.repeated(times)
            _same(first.then(second).curve(), second.then(first).curve())
        _same(a.repeated(2 * times).curve(), a.repeated(times).repeated(2).curve())

    or_refused(check)


@few
@given(replaced | sampled, st.integers(100, 5000), st.sampled_from([1e-2, 1e-5, 1e-8]))
def test_brackets_hold_the_contour(step, times, delta):
    tree = step.repeated(times)

    def check():
        bracket = tree.bracket(delta)
        lower, upper = bracket
        curve = tree.curve()
        epsilon, beta = curve.epsilon(delta), curve.beta(FPRS)
        size = max(1, epsilon)
        assert epsilon <= lower.epsilon(delta) + 1e-8 * size
        assert lower.epsilon(delta) <= epsilon + 2e-4 * size
        assert np.all(lower.beta(FPRS) <= beta * (1 + 1e-8) + 1e-12)
        assert upper.epsilon(delta) <= epsilon + 1e-8 * size
        assert np.all(beta <= upper.beta(FPRS) * (1 + 1e-8) + 1e-12)
        if tree.neighbours is not ta.Neighbours.ADD_REMOVE:
            assert curve.bound is ta.Bound.LOWER

    or_refused(check)


@few
@given(sampled, st.integers(100, 3000))
def test_forgetting_a_step_never_tells_more(step, times):
    def check():
        more, less = step.repeated(times).curve(), step.repeated(times - 1).curve()
        assert np.all(more.beta(FPRS) <= less.beta(FPRS) + 1e-10)
        assert np.all(more.delta(EPSILONS) >= less.delta(EPSILONS) * (1 - 1e-8) - 1e-13)

    or_refused(check)


@few
@given(replaced | sampled, st.sampled_from([None, *ta.Order]))
def test_one_step_has_the_curve_of_its_law(step, order):
    """The curve through the base, against the bracket of the law: two ways to the same step."""
    lower, upper = ta.compose([step]).bracket(1e-5, order=order)
    curve = step.curve(order)
    assert np.all(lower.beta(FPRS) <= curve.beta(FPRS) + 1e-12)
    if step.neighbours is ta.Neighbours.ADD_REMOVE:
        assert np.all(curve.beta(FPRS) <= upper.beta(FPRS) + 1e-12)
    assert curve.epsilon(1e-5) <= lower.epsilon(1e-5) <= curve.epsilon(1e-5) + 3e-4


@few
@given(
    st.floats(0.2, 3), st.integers(2, 5), st.integers(1, 3), st.integers(0, 3), st.integers(0, 3)
)
def test_no_mix_of_worst_cases_beats_the_pair_for_both_orders(epsilon, n, batch, ahead, back):
    """Batches of n records through randomised response of one of them, in two directions.

    In one direction the others look like the record absent, in the other like the record there:
    steps of both kinds can follow each other, and their product is what the pair must bound.
    """
    rate = 1 / n
    zero = np.array([1, np.exp(epsilon)]) / (1 + np.exp(epsilon))
    one = zero[::-1]
    kinds = [(zero, (1 - rate) * zero + rate * one), ((1 - rate) * one + rate * zero, one)]
    absent, present = np.ones(1), np.ones(1)
    for kind, times in zip(kinds, (ahead, back), strict=True):
        for _ in range(times):
            absent = np.outer(absent, kind[0]).ravel()
            present = np.outer(present, kind[1]).ravel()
    step = ta.CustomMechanism(ta.RandomizedResponse(epsilon).curve(), neighbours=REPLACE)
    bound = step.sampled(rate, FIXED).repeated(max(ahead + back, 1)).curve()
    for worlds in ((absent, present), (present, absent)):
        truth = ta.from_pmfs(*worlds)
        assert np.all(bound.beta(FPRS) <= truth.beta(FPRS) + 1e-12)
        assert np.all(bound.delta(EPSILONS) >= truth.delta(EPSILONS) - 1e-12)


LAWS = [
    BoundedLoss(1.3, 1.0, 0.1),
    BoundedLoss(1.3, 0.6, 0.2, 0.1),
    BoundedLoss(2.0, 0.0, 0.01),
    BoundedLoss(2.0, 0.0),
    ReplacedLoss(MixtureLoss(1.0, (0.9, 0.1))),
    ReplacedLoss(MixtureLoss(0.5, (1 - 1e-3, 1e-3))),
    ReplacedLoss(MixtureLoss(1.0, (0.99, 0.01))),
    ReplacedLoss(BoundedLoss(1.0, 1.0, 0.3)),
    ReplacedSampleLoss(1.0, 0.01),
    ReplacedSampleLoss(3.0, 0.5),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("c", [-3.0, 0.2, 0.5, 1.0, 6.0])
def test_the_bound_on_moments_holds_all_the_way(law, c):
    y = np.geomspace(1e-2, 3e3, 401)
    sizes = law.along(c, y).real - law.cumulants(np.array([c])).value
    ahead = np.maximum.accumulate(sizes[::-1])[::-1]
    assert np.all(ahead <= law.decay(c, y) + 1e-12)
    assert np.all(ahead[::50] <= [law.decay(c, each) + 1e-12 for each in y[::50]])


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_moments_are_those_of_the_rates(law):
    """M(z) from tails of the loss, by parts: 1 + ∫ z·e^(zt)·FPR over t > 0 and its other half."""
    low, high = max(law.least, -40.0), min(law.largest, 40.0)
    x, w = np.polynomial.legendre.leggauss(60)
    total = dict.fromkeys((0.5, -1.0, 2.0, 1.0), 1.0)
    jumps = [loss for loss, _ in getattr(law, "atoms", ()) if low < loss < high]
    for start, end in ((low, 0.0), (0.0, high)):
        inside = [jump for jump in jumps if start < jump < end]
        edges = np.union1d(np.linspace(start, end, 401), inside)
        half = np.diff(edges)[:, None] / 2
        t = (edges[:-1, None] + half * (1 + x)).ravel()
        fpr, _, _, tnr = law.rates(t)
        for z in total:
            tail = fpr if start == 0 else -tnr
            total[z] += float((z * np.exp(z * t) * tail * (half * w).ravel()).sum())
    for z, value in total.items():
        assert law.cumulants(np.array([z])).value[0] == pytest.approx(np.log(value), abs=2e-9)


def test_unsampled_it_is_the_plain_law():
    mine, plain = BoundedLoss(1.3, 1.0), LaplaceLoss(1.3)
    c, y = np.array([-5.0, 0.0, 0.3, 1.0, 50.0]), np.array([0.1, 3.0, 40.0, 900.0])
    for a, b in zip(mine.cumulants(c), plain.cumulants(c), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)
    np.testing.assert_allclose(np.exp(mine.along(0.7, y)), np.exp(plain.along(0.7, y)), atol=1e-12)


@pytest.mark.parametrize("weights", [(0.99, 0.01), (0.5, 0.5), (0.81, 0.18, 0.01), (0.3, 0.0, 0.7)])
@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_a_loss_is_as_dense_as_its_output_over_the_slope(mu, weights):
    """However large it is: the slope by a step in an imaginary direction, which loses no digit."""
    law = MixtureLoss(mu, weights)
    output = np.array([-2.0, 0.0, 3.0, 30.0, 100.0, 500.0])
    slope = law.loss_at(output + 1e-30j).imag / 1e-30
    want = -(output**2) / 2 - np.log(2 * np.pi) / 2 - np.log(slope)
    density = law.log_density_above_least(law.above_least(output))
    np.testing.assert_allclose(density, want, rtol=1e-9)


@given(st.floats(0.05, 20), st.floats(1e-6, 1, exclude_max=True), st.floats(1e-9, 1 - 1e-9))
@example(0.2953, 0.1, 0.01)  # its largest loss was an ulp below that of the threshold behind it
@settings(max_examples=examples(600))
def test_a_sampled_step_answers_at_every_rate(scale, rate, fpr):
    step = ta.Laplace(scale).sampled(rate)
    both = step.curve().tpr(fpr)
    each = [step.curve(order=order).tpr(fpr) for order in ta.Order]
    assert max(each) - 1e-12 <= both <= 1
    assert both >= fpr
