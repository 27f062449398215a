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
from tellapart._numeric.safe import complex_log1p
from tellapart.curve.enclosed import EnclosedCurve
from tellapart.mechanisms.combine import _part

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
    """A registered mechanism, plain, on a sample, repeated, or both."""
    step = draw(st.one_of(list(MECHANISM_FAMILIES.values())))
    if draw(st.booleans()):
        with contextlib.suppress(ta.Unsupported):
            step = step.sampled(draw(rates))
    return step.repeated(draw(counts)) if draw(st.booleans()) else step


def tree_of(parts):
    """One after another, or nothing where such steps are not composed."""
    try:
        tree = functools.reduce(lambda one, other: one.then(other), parts)
        tree.curve()
    except (ta.Unsupported, ta.InvalidArgument):
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
    found = all_readings(tree.curve())
    for name, values in found.items():
        values = np.asarray(values)
        assert not np.isnan(values).any(), name
        assert np.all(values >= 0), name
        assert not np.signbit(values).any(), f"{name} is -0.0"
        assert name == "epsilon" or np.all(values <= 1), name
    for name in ("epsilon", "delta"):
        assert np.all(found[name][1:] <= found[name][:-1]), name
    assert np.all(found["tpr"] >= FPRS * (1 - 1e-9))


@pytest.mark.parametrize(
    "tree",
    [
        ta.Gaussian(36).then(ta.Gaussian(1.84).sampled(0.01)),
        ta.Promise(5, 1e-5).then(ta.Laplace(10).sampled(0.0093)),
        ta.Laplace(0.2).sampled(0.01),
        ta.Gaussian(0.4).sampled(0.05).repeated(20_000),
        ta.Gaussian(0.01).sampled(0.5).repeated(10),
        ta.Laplace(0.45).repeated(2).then(ta.PermuteAndFlip(0.0111).sampled(0.0721)),
        ta.UniformNoise(91.5, 0.0).repeated(100).then(ta.DiscreteGaussian(1.57).sampled(0.000924)),
    ],
)
def test_trees_that_were_refused_answer(tree):
    for order in (None, *ta.Order):
        for values in all_readings(tree.curve(order)).values():
            assert not np.isnan(np.asarray(values)).any()


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
        ta.Gaussian(0.6).sampled(0.001).repeated(500),
        ta.Laplace(10).repeated(1_000),
        ta.Laplace(2).then(ta.Gaussian(3)),
        ta.Gaussian(2).sampled(0.1).repeated(30),
    ]
)


@given(known, st.floats(log(1e-20), log(0.3)).map(math.exp))
@FEW
def test_lines_that_no_attack_crosses_lie_close_beneath_the_truth(tree, delta):
    """What is there for every tree is sound, and tight, where the truth is known."""
    curve = tree.curve()
    assert curve.bound is ta.Bound.EXACT
    beneath = EnclosedCurve(tuple((_part(one)[0], n) for one, n in tree.steps())).symmetrised()
    epsilon = curve.epsilon(delta)
    assert epsilon * (1 - 1e-9) <= beneath.epsilon(delta) <= epsilon + SLACK * max(1.0, epsilon)
    fprs = np.array([1e-12, 1e-6, 1e-3, 0.5, 0.99])
    assert np.all(beneath.beta(fprs) <= curve.beta(fprs) * (1 + 1e-9))
    assert np.all(beneath.tpr(fprs) >= curve.tpr(fprs) * (1 - 1e-9))


def test_a_million_steps_keep_their_digits():
    """By hand: the contour integral in 80-bit numbers, along two lines that agree to 5e-11."""
    curve = ta.Gaussian(0.878).sampled(1e-4).repeated(10**6).curve(ta.Order.PRESENT)
    assert curve.delta(1.08) == pytest.approx(1.1621801832e-12, rel=1e-8)


def test_the_logarithm_of_a_complex_number_near_one_keeps_its_digits():
    z = np.array([1e-9 + 0j, 1e-12 + 1e-7j, -3e-5 + 2e-3j])
    found = complex_log1p(z)
    series = z - z**2 / 2 + z**3 / 3 - z**4 / 4 + z**5 / 5 - z**6 / 6
    np.testing.assert_allclose(found.real, series.real, rtol=1e-12)
    np.testing.assert_allclose(found.imag, series.imag, rtol=1e-12)
