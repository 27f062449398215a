"""One-sided questions: refusals word for word, shapes, and the ends of every range."""

import math
import pickle

import numpy as np
import pytest

import tellapart as ta
from tellapart import risk
from tellapart.worlds.pairs.one_sided import OneSided, OneSidedGaussian, OneSidedLaplace

LAPLACE, GAUSSIAN = ta.Laplace(scale=10), ta.Gaussian(sigma=10)
DISCRETE = ta.DiscreteLaplace(scale=2)
ADDITIVE = "noise must be additive noise, as Laplace and Gaussian are, got "


def ask(noise=LAPLACE, cut=30, low=0, high=100):
    return OneSided(noise, cut=cut, low=low, high=high)


BAD = [
    (lambda: ask(noise=1.0), ADDITIVE + "1.0"),
    (lambda: ask(noise=ta.Staircase(1)), ADDITIVE + "Staircase(epsilon=1.0)"),
    (lambda: ask(low=math.inf), "low must be finite, got inf"),
    (lambda: ask(high="1"), "high must be a number, got '1'"),
    (lambda: ask(cut=math.nan), "cut must not be NaN, got nan"),
    (lambda: ask(low=100), "low must be less than high (100.0), got 100"),
    (lambda: ask(low=-1e308, high=1e308), "high - low must be finite, got inf"),
    (lambda: ask(cut=-1), "cut must lie in [low, high) = [0.0, 100.0), got -1"),
    (lambda: ask(cut=100), "cut must lie in [low, high) = [0.0, 100.0), got 100"),
    (
        lambda: ask(DISCRETE, low=0.5),
        "low and high must be whole numbers for discrete noise, got (0.5, 100)",
    ),
    (
        lambda: ask().power(value=101, fpr=0.1),
        "value must lie in [low, high] = [0.0, 100.0], got 101.0",
    ),
    (
        lambda: ask(DISCRETE).power(value=[1, 2.5], fpr=0.1),
        "value must be a whole number for discrete noise, got 2.5",
    ),
    (lambda: ask().power(value=10, fpr=1.5), "fpr must lie in [0, 1], got 1.5"),
    (
        lambda: ask().power(value=[1, 2, 3], fpr=[0.1, 0.2]),
        "fpr must fit the shape of value (3,), got (2,)",
    ),
    (
        lambda: ask().power(value="a", fpr=0.1),
        "value must be a number or an array of numbers, got 'a'",
    ),
    (lambda: ask().curve_at([10]), "value must be a number, got [10]"),
    (lambda: ask().curve_at(31), "value must be at most the cut (30.0), got 31"),
    (
        lambda: ask().curve_at(-1),
        "value must lie in [low, high] = [0.0, 100.0], got -1.0",
    ),
    (
        lambda: ask(cut=0).curve(),
        "cut must exceed low for a uniform prior, which gives low itself no chance, got 0.0",
    ),
    (lambda: ask().curve(weights=[1]), "weights must go with values, got [1]"),
    (lambda: ask().prior(weights=[1]), "weights must go with values, got [1]"),
    (lambda: ask().curve([]), "values must not be empty, got []"),
    (lambda: ask().curve(7), "values must be a list of numbers, got 7"),
    (
        lambda: ask().curve([10, 200]),
        "values must lie in [low, high] = [0.0, 100.0], got 200.0",
    ),
    (
        lambda: ask().curve([10, 20]),
        "values must hold one up to the cut (30.0) and one above it, with positive weight, "
        "got [10, 20]",
    ),
    (
        lambda: ask().curve([10, 60], weights=[1, 0]),
        "values must hold one up to the cut (30.0) and one above it, with positive weight, "
        "got [10, 60]",
    ),
    (
        lambda: ask().curve([10, 60], weights=[1]),
        "weights must have one entry for each of 2 values, got [1]",
    ),
    (lambda: ask().curve([10, 60], weights=[0.5, 0.6]), "weights must sum to 1, got 1.1"),
    (
        lambda: ask().curve([10, 60], weights=[1.5, -0.5]),
        "weights must be at least 0 everywhere, got -0.5",
    ),
    (
        lambda: ask(ta.Laplace(1e-300), high=1e20).curve(),
        "noise must not be 1e150 times smaller than what it hides, got Laplace(scale=1e-300)",
    ),
    (lambda: OneSidedLaplace(np.array([-1.0]), np.ones(1)), "absent must be at least 0, got -1.0"),
    (
        lambda: OneSidedGaussian(np.ones(1), np.ones(3)),
        "present must be a width, or distances and as many weights, got array([1., 1., 1.])",
    ),
    (
        lambda: OneSidedGaussian(np.ones(1), np.array([1.0, 2.0])),
        "weights in present must sum to 1, got 2.0",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "noise", [DISCRETE, ta.DiscreteGaussian(3.0), ta.TruncatedLaplace(scale=2, cutoff=9)]
)
def test_other_noise_answers_value_by_value(noise):
    with pytest.raises(ta.Unsupported) as caught:
        ask(noise).curve()
    assert str(caught.value) == (
        "the curve of a prior is known for Laplace and Gaussian noise; for other noise ask for "
        "the curve_at or the power of one value"
    )
    assert 0 < ask(noise, high=33).curve_at(28).delta(0.0) < 1
    assert ask(noise).power(28, 0.1) > 0.1


def test_scalars_in_floats_out_and_arrays_keep_their_shape():
    question = ask()
    assert isinstance(question.power(10, 0.05), float)
    assert question.power([10, 20], 0.05).shape == (2,)
    assert question.power(10, [0.05]).shape == (1,)
    assert question.power(np.arange(3)[:, None], np.linspace(0, 1, 4)).shape == (3, 4)
    assert question.power([], 0.05).shape == (0,)
    for curve in (question.curve(), ask(GAUSSIAN).curve([0, 100])):
        assert isinstance(curve.tpr(0.1), float)
        assert curve.tpr([[0.1, 0.2]]).shape == (1, 2)
        assert isinstance(curve.rates(0.3).fnr, float)
        assert curve.delta(np.zeros((2, 3))).shape == (2, 3)


def test_power_follows_the_curve_below_the_cut_and_its_mirror_above():
    question = ask(GAUSSIAN)
    assert question.power(10, 0.05) == question.curve_at(10).tpr(0.05)
    assert question.power(50, 0.05) == ta.Gaussian(10, sensitivity=20).curve().fpr(0.05)
    assert question.power(30, 0.05) == pytest.approx(0.05, rel=1e-15)


def test_whole_values_start_above_the_cut_at_the_next_whole_number():
    """The values up to 3 and from 4 on: a record of 3 is already one step from h0."""
    for cut in (3, 3.5):
        question = ask(DISCRETE, cut=cut, high=9)
        assert question.boundary == 4
        assert question.power(4, 0.1) == 0.1
        assert question.power(3, 0.1) == ta.DiscreteLaplace(2.0).curve().tpr(0.1)
        assert question.prior() == 0.4
    assert ask(GAUSSIAN, cut=3).boundary == 3


def test_infinite_noise_hides_everything():
    for noise in (ta.Laplace(math.inf), ta.Gaussian(math.inf)):
        question = ask(noise)
        for curve in (question.curve(), question.curve([0, 100]), question.curve_at(0)):
            assert curve.delta(0.0) == 0
            assert curve.tpr(0.3) == 0.3
        np.testing.assert_array_equal(question.power([0, 30, 100], 0.2), 0.2)


def test_faint_noise_hides_nothing():
    for noise in (ta.Laplace(1e-147), ta.Gaussian(1e-147)):
        curve = ask(noise).curve()
        assert curve.beta(0.5) == 0
        assert curve.delta(0.0) == 1
        assert curve.area() == pytest.approx(0, abs=1e-100)


def test_priors():
    question = ask()
    assert question.prior() == 0.3
    assert question.prior([10, 20, 90]) == pytest.approx(2 / 3)
    assert question.prior([10], weights=[1]) == 1
    assert question.prior([90]) == 0
    assert question.prior([30, 90]) == 0.5  # the cut itself belongs to h1


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_equal_priors_say_the_same(noise):
    question = ask(noise)
    plain = question.curve([10, 20, 90])
    weighted = question.curve([20, 90, 10, 10, 50], weights=[1 / 3, 1 / 3, 1 / 6, 1 / 6, 0])
    alphas = np.linspace(0, 1, 21)
    np.testing.assert_allclose(plain.beta(alphas), weighted.beta(alphas), rtol=1e-13)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_a_cut_in_the_middle_gives_a_curve_that_is_its_own_mirror(noise):
    curve = ask(noise, cut=50).curve()
    assert curve.mirrored() is curve
    assert curve.symmetrised() is curve
    assert curve.bound is ta.Bound.EXACT
    other = ask(noise, cut=20).curve()
    assert other.mirrored().mirrored().beta(0.1) == other.beta(0.1)
    np.testing.assert_array_equal(ask(noise, cut=80).curve().absent, other.mirrored().absent)


def test_the_ends_of_laplace_losses_are_flat():
    """A bare threshold rejects only what exceeds it: nothing at the top, all below the bottom."""
    for curve in (ask().curve(), ask().curve([0, 10, 90])):
        top, bottom = curve._largest_loss(), curve._smallest_loss()
        assert curve.rates(top) == (0, 0, 1, 1)
        assert curve.rates(np.nextafter(bottom, -np.inf)) == (1, 1, 0, 0)
        assert 0 < curve.rates(np.nextafter(top, 0)).tpr < 0.5
        assert 0.5 <= curve.rates(bottom).fpr < 1
        assert curve.epsilon(0.0) == top
        assert curve.tpr(1e-9) == pytest.approx(1e-9 * math.exp(top), rel=1e-12)
        assert curve.delta(top) == 0
        assert risk.max_posterior(curve, prior=0.5) == pytest.approx(1 / (1 + math.exp(-top)))


def test_a_rate_does_not_depend_on_what_else_is_asked():
    losses = np.linspace(-8, 8, 41)
    for curve in (ask(GAUSSIAN).curve(), ask(GAUSSIAN).curve([0, 25, 31, 99])):
        together = curve.rates(losses)
        for k in (0, 7, 20, 33):
            assert curve.rates(losses[k]).fpr == together.fpr[k]
            assert curve.rates(losses[k]).fnr == together.fnr[k]


def test_questions_and_curves_are_values():
    question = ask()
    assert question == ask()
    assert hash(question) == hash(ask())
    curve = question.curve()
    assert pickle.loads(pickle.dumps(curve)).tpr(0.1) == curve.tpr(0.1)  # noqa: S301
    for column in (curve.absent, curve.present):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
