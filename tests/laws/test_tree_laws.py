"""Laws of trees: whatever is composed of registered mechanisms answers every usual question."""

import contextlib
import functools
import math

import numpy as np
import pytest
from examples import examples
from families import MECHANISM_FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st

import tellapart as ta
from tellapart import risk
from tellapart.curve.composition.compose import EnclosedCurve, PrivacyLoss
from tellapart.mechanisms.combine import loss_laws

SLACK = 1e-4  # of max(1, ε)
FEW = settings(deadline=None, max_examples=examples(15))

log = math.log
DELTAS = np.array([1e-20, 1e-15, 1e-10, 1e-5, 1e-3, 0.1, 0.5])
FPRS = np.array([1e-12, 1e-6, 1e-3, 0.01, 0.5, 0.99, 1 - 1e-9, 1.0])
EPSILONS = np.array([0.0, 0.1, 1.0, 5.0, 30.0])
rates = st.floats(log(1e-4), log(0.5)).map(math.exp)
counts = st.sampled_from([2, 3, 5, 10, 30, 100, 1_000, 10_000])


@st.composite
def steps(draw):
    """A registered mechanism, on a sample, repeated, both in either order, or plain."""
    step = draw(st.one_of(list(MECHANISM_FAMILIES.values())))
    for way in draw(st.lists(st.sampled_from(["sampled", "repeated"]), max_size=2, unique=True)):
        if way == "repeated":
            step = step.repeated(draw(counts))
        else:
            with contextlib.suppress(ta.Unsupported):
                step = step.sampled(draw(rates))
    return step


def tree_of(parts):
    """One after another; nothing where such steps have no common neighbours."""
    try:
        tree = functools.reduce(lambda tree, step: tree.then(step), parts)
        tree.curve()
    except ta.InvalidArgument as why:
        assert "the same neighbours" in str(why)  # noqa: PT017 (the one way to be refused)
        return None
    return tree


trees = st.lists(steps(), min_size=1, max_size=3).map(tree_of).filter(lambda tree: tree is not None)


def all_readings(curve):
    """Every usual reading, by name."""
    return {
        "epsilon": curve.epsilon(DELTAS),
        "tpr": curve.tpr(FPRS),
        "beta": curve.beta(FPRS),
        "delta": curve.delta(EPSILONS),
        "advantage": risk.advantage(curve),
        "f_score": risk.f_score(curve, weight=1, prior=0.01),
        "precision": risk.precision(curve, recall=0.5, prior=0.01),
        "max_posterior": risk.max_posterior(curve, prior=0.01),
        "bayes_error": risk.bayes_error(curve, prior=0.01),
    }


@given(trees)
@FEW
def test_every_tree_answers_every_reading(tree):
    readings = all_readings(tree.curve())
    for name, values in readings.items():
        values = np.asarray(values)
        assert not np.isnan(values).any(), name
        assert np.all(values >= 0), name
        assert not np.signbit(values).any(), f"{name} is -0.0"
        assert name == "epsilon" or np.all(values <= 1), name
    for name in ("epsilon", "delta"):
        assert np.all(readings[name][1:] <= readings[name][:-1]), name
    assert np.all(readings["tpr"] >= FPRS * (1 - 1e-9))


def test_a_composition_on_a_sample_is_a_step_like_any_other():
    """A step that hardly leaks makes a sampled step a sampled composition, near its exact one."""
    silent = ta.Laplace(1e9)
    for base, rate, after in (
        (ta.Gaussian(2), 0.5, ta.Gaussian(2)),
        (ta.Gaussian(0.7), 0.01, ta.Gaussian(3).repeated(4)),
        (ta.Laplace(1.5), 0.2, ta.Gaussian(5).repeated(9)),
    ):
        exact = base.sampled(rate).then(after).curve()
        curve = base.then(silent).sampled(rate).then(after).curve()
        assert (exact.bound, curve.bound) == (ta.Bound.EXACT, ta.Bound.LOWER)
        epsilons, least = curve.epsilon(DELTAS), exact.epsilon(DELTAS)
        assert np.all(epsilons >= least * (1 - 1e-9))
        assert np.all(epsilons <= least + 1e-4 * np.maximum(1, least))
        assert np.all(curve.tpr(FPRS) >= exact.tpr(FPRS) * (1 - 1e-9))


@pytest.mark.parametrize(
    "tree",
    [
        ta.Gaussian(1.5).then(ta.Laplace(2.6).repeated(15).sampled(0.5)),
        ta.Gaussian(1.5).then(ta.Laplace(2.6).then(ta.Laplace(3)).sampled(0.5)),
        ta.Laplace(2.6).repeated(8).sampled(0.9).repeated(11),
        ta.Gaussian(2).sampled(0.1).then(ta.Gaussian(3)).sampled(0.5).then(ta.Gaussian(2)),
        ta.Gaussian(36).then(ta.Gaussian(1.84).sampled(0.01)),
        ta.Promise(5, 1e-5).then(ta.Laplace(10).sampled(0.0093)),
        ta.Laplace(0.2).sampled(0.01),
        ta.Gaussian(0.4).sampled(0.05).repeated(20_000),
        ta.Gaussian(0.01).sampled(0.5).repeated(10),
        ta.Laplace(0.004).sampled(0.01).repeated(10),
        ta.Laplace(0.45).repeated(2).then(ta.PermuteAndFlip(0.0111).sampled(0.0721)),
        ta.UniformNoise(91.5, 0.0).repeated(100).then(ta.DiscreteGaussian(1.57).sampled(0.000924)),
        ta.DiscreteGaussian(1e9, 7357).then(ta.Promise(100, 0.79)),
        ta.DiscreteGaussian(6e5, 4).sampled(0.1).repeated(100),
    ],
)
def test_trees_that_were_refused_answer(tree):
    for order in (None, *ta.Order):
        for values in all_readings(tree.curve(order)).values():
            assert not np.isnan(np.asarray(values)).any()


@pytest.mark.parametrize(("sigma", "shift", "times"), [(10_100, 1, 100), (1e9, 7357, 10_000)])
def test_wide_discrete_gaussian_steps_are_known_from_below(sigma, shift, times):
    """At such deviations the Gaussian itself is the truth to the last digits."""
    curve = ta.DiscreteGaussian(sigma, shift).repeated(times).curve()
    truth = ta.Gaussian(sigma, sensitivity=shift).repeated(times).curve()
    assert curve.bound is ta.Bound.LOWER
    deltas = np.array([1e-15, 1e-9, 1e-5, 1e-3])
    assert np.all(curve.epsilon(deltas) >= truth.epsilon(deltas) * (1 - 1e-12))
    assert curve.epsilon(deltas) == pytest.approx(truth.epsilon(deltas), abs=1e-4)


def test_a_training_with_hardly_any_noise_answers_to_the_last_digit():
    """By hand: ε as known; no attacker errs by more than a double holds at these FPRs."""
    curve = ta.Gaussian(0.4).sampled(0.05).repeated(20_000).curve()
    assert curve.bound is ta.Bound.EXACT
    assert curve.epsilon(1e-5) == pytest.approx(1168.6604, abs=1e-3)
    beta = curve.beta(np.array([1e-12, 1e-6, 1e-3, 0.5]))
    assert np.all(np.diff(beta) <= 0)
    # A test and its mirror are inverse to each other: FPR 1e-100 at some FNR, and back.
    there = curve.beta(1e-100)
    assert curve.beta(there) == pytest.approx(1e-100, rel=1e-6)
    assert curve.tpr(1e-12) == 1.0


known = st.sampled_from(
    [
        ta.Gaussian(1).sampled(0.01).repeated(1_000),
        ta.Laplace(10).repeated(1_000),
        ta.Laplace(2).then(ta.Gaussian(3)),
        ta.Gaussian(2).sampled(0.1).repeated(30),
    ]
)


@given(known, st.floats(log(1e-20), log(0.3)).map(math.exp))
@FEW
def test_lines_that_no_attack_crosses_lie_close_beneath_the_truth(tree, delta):
    """What is there for every tree is sound, and tight, where the truth is known."""
    _lies_beneath(tree, delta, SLACK)


@given(st.floats(log(1e-20), log(0.3)).map(math.exp))
@FEW
def test_rare_large_losses_beside_many_small_ones_have_coarser_lines(delta):
    """One grid holds both, so that each small loss is rounded up by more of itself."""
    _lies_beneath(ta.Gaussian(0.6).sampled(0.001).repeated(500), delta, 0.02)


def _lies_beneath(tree, delta, slack):
    curve = tree.curve()
    assert curve.bound is ta.Bound.EXACT
    losses = tuple((PrivacyLoss(law), n) for law, n in loss_laws(tree))
    beneath = EnclosedCurve(losses).symmetrised()
    epsilon = curve.epsilon(delta)
    assert epsilon * (1 - 1e-9) <= beneath.epsilon(delta) <= epsilon + slack * max(1.0, epsilon)
    fprs = np.array([1e-12, 1e-6, 1e-3, 0.5, 0.99])
    assert np.all(beneath.beta(fprs) <= curve.beta(fprs) * (1 + 1e-9))
    assert np.all(beneath.tpr(fprs) >= curve.tpr(fprs) * (1 - 1e-9))


def test_a_million_steps_keep_their_digits():
    """By hand: the contour integral in 80-bit numbers, along two lines that agree to 5e-11."""
    curve = ta.Gaussian(0.878).sampled(1e-4).repeated(10**6).curve(ta.Order.PRESENT)
    assert curve.delta(1.08) == pytest.approx(1.1621801832e-12, rel=1e-8)


def test_samples_of_nearly_all_records_keep_their_digits():
    """By hand: a sum over outputs in 30 digits. log(1 + z) had none left near z = −1."""
    most = ta.Gaussian(0.48253628918322067).sampled(0.999998707122772)
    tree = most.then(ta.Gaussian(25.389125114865372).sampled(0.9999704200889812))
    curve = tree.curve(ta.Order.ABSENT)
    assert curve.bound is ta.Bound.EXACT
    by_hand = [13.717467406, 13.462379880, 12.622210032]
    np.testing.assert_allclose(curve.epsilon([1e-20, 1e-12, 1e-8]), by_hand, rtol=1e-10)


ROUGH = [
    ta.Gaussian(0.05).sampled(0.1).then(ta.Laplace(1.0).repeated(5)),
    ta.DiscreteLaplace(0.02, 3).sampled(0.5).repeated(2).then(ta.Gaussian(1.0)),
    ta.Gaussian(1e-3).sampled(0.01).repeated(100),
    ta.Gaussian(0.1).sampled(1e-12).repeated(1000),
    ta.Gaussian(0.02).sampled(0.01).repeated(10).then(ta.Laplace(2.0)),
]


@pytest.mark.parametrize("tree", ROUGH, ids=str)
def test_from_below_both_orders_have_one_advantage_and_no_more_than_each(tree):
    both, present, absent = (tree.curve(order) for order in (None, *ta.Order))
    assert both.bound is ta.Bound.LOWER
    most = min(present.delta(0.0), absent.delta(0.0)) * (1 + 1e-9)
    assert both.delta(0.0) <= most
    # Steps that are coupled as well as each can be.
    parts = loss_laws(tree)
    apart = [(law.rates(np.zeros(1)), n) for law, n in parts]
    kept = math.prod((1 - min(r[1][0] - r[0][0], r[3][0] - r[2][0])) ** n for r, n in apart)
    assert both.delta(0.0) <= (1 - kept) * (1 + 1e-6) + 1e-12
    # A record that is absent shows by no more than the largest losses add up to.
    largest = math.fsum(n * law.swapped().largest for law, n in parts)
    if math.isfinite(largest):
        assert absent.epsilon(0.0) <= largest * (1 + 1e-6) + 1e-9


def test_little_noise_on_rare_samples_is_exact():
    """A choice among such trainings is only as tight as their curves."""
    curve = ta.dp_sgd(0.168396, 1e-4, 1_000).curve()
    assert curve.bound is ta.Bound.EXACT
    assert curve.tpr(0.01) == pytest.approx(0.1, rel=1e-4)
