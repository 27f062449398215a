"""The attack itself: thresholds, ratios, rates and accusations on known answers."""

import dataclasses
import math
import re
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import tellapart as ta
from tellapart.mechanisms.neyman_pearson import plausibly_deniable

NAN, INF = math.nan, math.inf
FPRS = np.array([0, 1e-9, 0.001, 0.1, 0.25, 0.5, 0.6, 0.9, 0.999, 1])
LAPLACE = ta.Laplace.with_epsilon(1)

CONTINUOUS = {
    "laplace": ta.Laplace(2.0, 3.0),
    "gaussian": ta.Gaussian(2.0, 3.0),
    "truncated": ta.TruncatedLaplace(2.0, 9.0, 3.0),
}
WHOLE = {
    "discrete_laplace": ta.DiscreteLaplace(2.0, 3),
    "discrete_gaussian": ta.DiscreteGaussian(2.0, 3),
}
EVERY = {**CONTINUOUS, **WHOLE}

# -- bad input ----------------------------------------------------------------------------------

SHAPE = "present must have the shape of absent "
FAR = "present must differ from absent by at most the sensitivity "
WHOLE_NUMBERS = "absent and present must be whole numbers, got "
NO_NUMBER = " must be a number or an array of numbers, got "
NO_ANSWER = " must be a number or a list of numbers, got "

BAD = [
    (lambda: LAPLACE.test(0, 3), FAR + "1.0, got 3"),
    (lambda: ta.Gaussian(1).test([0, 0], [1, 1]), FAR + "1.0, got [1, 1]"),
    (lambda: ta.Gaussian(1, 0).test(0, 0.5), FAR + "0.0, got 0.5"),
    (lambda: ta.DiscreteLaplace(1, 2).test(5, 2), FAR + "2, got 2"),
    (lambda: LAPLACE.test(0, INF), "present must be finite, got inf"),
    (lambda: LAPLACE.test(-INF, 0), "absent must be finite, got -inf"),
    (lambda: ta.Gaussian(1).test([0, INF], [0, 0]), "absent must be finite, got [0, inf]"),
    (lambda: LAPLACE.test(0, NAN), "present must not contain NaN, got nan"),
    (lambda: LAPLACE.test(None, 1), "absent" + NO_ANSWER + "None"),
    (lambda: LAPLACE.test(0, "1"), "present" + NO_ANSWER + "'1'"),
    (lambda: LAPLACE.test(0, True), "present" + NO_ANSWER + "True"),
    (lambda: LAPLACE.test(0, 1j), "present" + NO_ANSWER + "1j"),
    (lambda: LAPLACE.test(0, [1, [2]]), "present" + NO_ANSWER + "[1, [2]]"),
    (lambda: ta.Gaussian(1).test([], []), "absent" + NO_ANSWER + "[]"),
    (lambda: ta.Gaussian(1).test([[0, 0]], [[1, 0]]), "absent" + NO_ANSWER + "[[0, 0]]"),
    (lambda: ta.Gaussian(1).test([0, 0], [1]), SHAPE + "(2,), got (1,)"),
    (lambda: ta.Gaussian(1).test([0, 0], 1), SHAPE + "(2,), got ()"),
    (lambda: ta.Gaussian(1).test(0, [1, 0]), SHAPE + "(), got (2,)"),
    (lambda: ta.DiscreteLaplace(1).test(0.5, 1), WHOLE_NUMBERS + "(0.5, 1)"),
    (lambda: ta.DiscreteGaussian(1).test(0, 0.5), WHOLE_NUMBERS + "(0, 0.5)"),
    (lambda: LAPLACE.test(0, 1).threshold(1.5), "fpr must lie in [0, 1], got 1.5"),
    (lambda: LAPLACE.test(0, 1).threshold([0.1, -1]), "fpr must lie in [0, 1], got -1.0"),
    (lambda: LAPLACE.test(0, 1).threshold(NAN), "fpr must not contain NaN, got nan"),
    (lambda: LAPLACE.test(0, 1).threshold(None), "fpr" + NO_NUMBER + "None"),
    (lambda: LAPLACE.test(0, 1).rates(None), "threshold" + NO_NUMBER + "None"),
    (lambda: LAPLACE.test(0, 1).rates("a"), "threshold" + NO_NUMBER + "'a'"),
    (lambda: LAPLACE.test(0, 1).rates([0, NAN]), "threshold must not contain NaN, got [0, nan]"),
    (lambda: LAPLACE.test(0, 1).log_ratio("a"), "output" + NO_NUMBER + "'a'"),
    (lambda: LAPLACE.test(0, 1).log_ratio(NAN), "output must not contain NaN, got nan"),
    (lambda: LAPLACE.test(0, 1).flags(None, 0.1), "output" + NO_NUMBER + "None"),
    (
        lambda: LAPLACE.test(0, 1).flags([1, NAN], 0.1),
        "output must not contain NaN, got [1, nan]",
    ),
    (lambda: LAPLACE.test(0, 1).flags(1, 1.5), "fpr must lie in [0, 1], got 1.5"),
    (lambda: LAPLACE.test(0, 1).flags(1, [0.1]), "fpr must be a number, got [0.1]"),
    (lambda: LAPLACE.test(0, 1).flags(1, NAN), "fpr must not be NaN, got nan"),
    (
        lambda: ta.Gaussian(1).test([0, 0], [1, 0]).log_ratio([1, 2, 3]),
        "output must have 2 coordinates along its last axis, got (3,)",
    ),
    (
        lambda: ta.Gaussian(1).test([0, 0], [1, 0]).flags(1, 0.1),
        "output must have 2 coordinates along its last axis, got ()",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call()


def test_several_coordinates_have_a_formula_for_gaussian_and_laplace_noise_only():
    message = (
        "the best test of a change in several coordinates has a formula for Gaussian and "
        "Laplace noise only; test a change of the same size in one coordinate: this noise "
        "reveals no more than that"
    )
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        ta.DiscreteLaplace(1, sensitivity=2).test([0, 0], [1, 1])


def test_a_vector_has_no_single_threshold():
    message = "a vector output has no single threshold; use flags(output, fpr)"
    test = ta.Gaussian(1).test([0, 0], [1, 0])
    for ask in (test.threshold, test.rates):
        with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
            ask(0.1)
    with pytest.raises(ta.Unsupported, match=f"^{re.escape(message)}\\Z"):
        test.rates([0.1, 0.2])


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_scalars_give_floats_and_arrays_arrays(name):
    test = EVERY[name].test(10, 12)
    for ask in (
        test.threshold,
        lambda x: test.log_ratio(np.round(np.asarray(x) * 20)),
        lambda x: test.flags(np.round(np.asarray(x) * 20), 0.1),
        lambda x: test.rates(np.round(np.asarray(x) * 20)).fpr,
    ):
        assert type(ask(0.5)) is float
        assert type(ask(np.array(0.5))) is float
        assert ask([0.25, 0.5, 1]).shape == (3,)
        assert ask(np.full((2, 3), 0.25)).shape == (2, 3)
        assert ask([]).shape == (0,)
    assert test.threshold(1) == test.threshold(1.0)


def test_an_attack_is_frozen_and_apart_from_its_input():
    absent, present = np.array([0.0, 0.0]), np.array([0.6, 0.8])
    test = ta.Gaussian(1).test(absent, present)
    before = test.log_ratio([1.0, 1.0])
    absent[:], present[:] = 50.0, 50.0
    assert test.log_ratio([1.0, 1.0]) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        test.shift = 2.0


def test_the_inside_of_an_attack_cannot_be_written():
    test = ta.Gaussian(1).test([0.0, 0.0], [0.6, 0.8])
    for array in (test.absent, test.direction):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0


# -- the test of two answers --------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_the_curve_is_that_of_the_pair_not_of_the_worst_case(name):
    mechanism = EVERY[name]
    alpha = np.linspace(0, 1, 21)
    worst = mechanism.test(5, 8).curve()
    assert worst.beta(alpha) == pytest.approx(mechanism.curve().beta(alpha), abs=1e-14)
    near = mechanism.test(5, 6).curve()
    assert np.all(near.beta(alpha[1:-1]) > worst.beta(alpha[1:-1]))
    assert mechanism.test(5, 5).curve().beta(alpha) == pytest.approx(1 - alpha, abs=1e-15)


@pytest.mark.parametrize("name", EVERY)
def test_the_ratio_is_that_of_the_definition(name):
    mechanism = EVERY[name]
    test = mechanism.test(10, 12)
    z = np.arange(4.0, 19.0)
    scale = getattr(mechanism, "scale", None)

    def log_weight(x):
        return -abs(x) / scale if scale else -(x**2) / (2 * mechanism.sigma**2)

    assert test.log_ratio(z) == pytest.approx(log_weight(z - 12) - log_weight(z - 10), abs=1e-12)


def test_an_output_that_only_one_world_can_produce_settles_it():
    test = ta.TruncatedLaplace(1.0, 4.0).test(0, 1)
    assert test.log_ratio([-4.5, -3.5, 4.5, 4.0]).tolist() == pytest.approx([0, -INF, INF, 1])
    assert test.flags(4.5, fpr=0) == 1
    assert test.threshold(fpr=0) == 4


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize(("absent", "present"), [(10, 12), (12, 10), (-1, 2), (0.25, 0.5)])
def test_the_threshold_has_the_size_asked_for_and_reaches_the_curve(name, absent, present):
    test = CONTINUOUS[name].test(absent, present)
    rates = test.rates(test.threshold(FPRS))
    assert rates.fpr == pytest.approx(FPRS, rel=1e-9, abs=1e-15)
    assert rates.tpr == pytest.approx(test.curve().tpr(FPRS), rel=1e-9, abs=1e-15)
    assert rates.fnr == pytest.approx(test.curve().beta(FPRS), rel=1e-9, abs=1e-15)
    assert rates.fpr + rates.tnr == pytest.approx(np.ones(10), abs=1e-15)


def test_laplace_thresholds_by_hand():
    test = ta.Laplace(2.0, 3.0).test(absent=10, present=13)
    assert test.threshold(0.1) == pytest.approx(10 - 2 * math.log(0.2))
    assert test.threshold(0.5) == 10
    assert test.threshold(0.9) == pytest.approx(10 + 2 * math.log(0.2))
    assert test.threshold([0, 1]).tolist() == [INF, -INF]
    assert test.rates(13.0).tpr == 0.5
    assert test.log_ratio([9, 11.5, 14]) == pytest.approx([-1.5, 0, 1.5])


def test_gaussian_thresholds_by_hand():
    test = ta.Gaussian(2.0, 3.0).test(absent=10, present=13)
    assert test.threshold(0.1) == pytest.approx(10 - 2 * ndtri(0.1))
    assert test.threshold([0, 1]).tolist() == [INF, -INF]
    assert list(test.rates(13.0)) == pytest.approx([ndtr(-1.5), 0.5, 0.5, ndtr(1.5)])
    assert test.log_ratio(11.5) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("name", EVERY)
def test_the_reversed_direction_is_the_mirror_image(name):
    """Present below absent: small outputs accuse."""
    up, down = EVERY[name].test(10, 12), EVERY[name].test(10, 8)
    z = np.arange(0.0, 21.0)
    assert down.log_ratio(20 - z) == pytest.approx(up.log_ratio(z))
    assert down.threshold(FPRS) == pytest.approx(20 - up.threshold(FPRS))
    for fpr in FPRS:
        assert np.array_equal(down.flags(20 - z, fpr), up.flags(z, fpr))
    for one, other in zip(down.rates(20 - z), up.rates(z), strict=True):
        assert one == pytest.approx(other, abs=1e-15)
    assert down.log_ratio(5.0) > 0 > down.log_ratio(15.0)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_attacks_accuse_beyond_the_threshold_and_toss_no_coin(name):
    test = CONTINUOUS[name].test(10, 12)
    cut = test.threshold(0.1)
    assert test.flags([cut - 1e-9, cut + 1e-9], 0.1).tolist() == [0, 1]
    assert test.flags(cut, 0.1) in (0, 1)


@pytest.mark.parametrize("name", EVERY)
def test_nobody_and_everybody(name):
    test = EVERY[name].test(10, 12)
    z = np.arange(3.0, 18.0)
    assert not test.flags(z, fpr=0).any()
    assert test.flags(z, fpr=1).all()


@pytest.mark.parametrize("name", EVERY)
def test_infinite_thresholds(name):
    test = EVERY[name].test(10, 12)
    assert list(test.rates(INF)) == pytest.approx([0, 0, 1, 1])
    assert list(test.rates(-INF)) == pytest.approx([1, 1, 0, 0])


def test_the_ratio_at_the_extreme_thresholds():
    """Where FPR is 0 the threshold is ∞ and the ratio e^m; where it is 1, −∞ and e^−m."""
    test = ta.Laplace(1.0, 2.0).test(0, 2)
    assert test.log_ratio(test.threshold(fpr=[0, 1])).tolist() == [2, -2]
    gaussian = ta.Gaussian(1.0).test(0, 1)
    assert gaussian.log_ratio(gaussian.threshold(fpr=[0, 1])).tolist() == [INF, -INF]


# -- discrete noise -----------------------------------------------------------------------------

Z = np.arange(-300.0, 301.0)


def masses(mechanism, centre):
    scale = getattr(mechanism, "scale", None)
    x = Z - centre
    weights = np.exp(-abs(x) / scale) if scale else np.exp(-(x**2) / (2 * mechanism.sigma**2))
    return weights / weights.sum()


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(("absent", "present"), [(0, 3), (3, 0), (5, 6), (-2, -4)])
@pytest.mark.parametrize("fpr", [1e-6, 0.01, 0.1, 0.25, 0.5, 0.7, 0.95, 0.9999])
def test_a_coin_makes_the_size_of_a_discrete_attack_exact(name, absent, present, fpr):
    mechanism = WHOLE[name]
    test = mechanism.test(absent, present)
    accused = test.flags(Z, fpr)
    assert np.count_nonzero((accused > 0) & (accused < 1)) <= 1
    assert masses(mechanism, absent) @ accused == pytest.approx(fpr, rel=1e-10)
    attained = masses(mechanism, present) @ accused
    assert attained == pytest.approx(test.curve().tpr(fpr), rel=1e-10)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("present", [12, 8])
def test_the_rates_of_a_discrete_threshold_are_sums_over_outputs(name, present):
    mechanism = WHOLE[name]
    test = mechanism.test(10, present)
    for threshold in (3, 9, 10, 11, 12, 20):
        beyond = (Z - threshold) * (present - 10) > 0
        rates = test.rates(threshold)
        assert rates.fpr == pytest.approx(masses(mechanism, 10)[beyond].sum(), rel=1e-12)
        assert rates.tpr == pytest.approx(masses(mechanism, present)[beyond].sum(), rel=1e-12)
        assert rates.fpr + rates.tnr == pytest.approx(1, abs=1e-14)
        assert rates.tpr + rates.fnr == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("threshold", [9.5, 11.25])
def test_a_threshold_between_two_outputs_is_as_good_as_the_lower(name, threshold):
    """No output lies between 10 and 10.5."""
    test = WHOLE[name].test(10, 12)
    found, lower = test.rates(threshold), test.rates(math.floor(threshold))
    assert list(found) == pytest.approx(list(lower), abs=1e-14)


# -- vectors ------------------------------------------------------------------------------------


def test_a_vector_of_gaussian_noise_is_one_number_along_the_change():
    test = ta.Gaussian(2.0, sensitivity=5.0).test([1.0, 2.0, 3.0], [4.0, 2.0, 7.0])
    assert test.shift == 5
    assert test.curve().mu == 2.5
    outputs = np.random.default_rng(5).normal(size=(4, 6, 3)) * 4 + 2
    direct = np.sum((outputs - [1, 2, 3]) ** 2 - (outputs - [4, 2, 7]) ** 2, axis=-1) / 8
    assert test.log_ratio(outputs) == pytest.approx(direct)
    assert test.log_ratio(outputs[0, 0]) == pytest.approx(direct[0, 0])
    assert type(test.log_ratio([1.0, 2.0, 3.0])) is float
    cut = 5 * ndtri(0.9) / 2 - 25 / 8  # loss at the 90th percentile of the absent world
    assert np.array_equal(test.flags(outputs, 0.1), (direct > cut).astype(float))


def test_a_change_in_one_coordinate_works_for_every_noise():
    for mechanism in (ta.Laplace(2.0, 3.0), ta.DiscreteLaplace(2.0, 3)):
        vector, scalar = mechanism.test([7, 10], [7, 12]), mechanism.test(10, 12)
        assert vector.log_ratio([0, 13]) == scalar.log_ratio(13)
        assert vector.flags([0, 13], 0.2) == scalar.flags(13, 0.2)


def test_equal_vectors_tell_nothing():
    test = ta.Gaussian(1).test([1, 2], [1, 2])
    assert test.curve().beta(0.25) == 0.75
    assert test.log_ratio([5, 5]) == 0


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e200])
def test_the_size_of_a_change_neither_underflows_nor_overflows(size):
    for test in (
        ta.Gaussian(size, size).test(0, size),
        ta.Gaussian(size, size).test([0, 0], [0.6 * size, -0.8 * size]),
        ta.Laplace(size, size).test(0, size),
    ):
        assert test.shift == pytest.approx(size, rel=1e-12, abs=0)


# -- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [ta.Laplace(INF), ta.Gaussian(INF), ta.DiscreteLaplace(INF), ta.DiscreteGaussian(INF)],
    ids=lambda m: type(m).__name__,
)
def test_infinite_noise_is_never_seen_and_so_not_attacked(mechanism):
    message = f"the noise must be finite for a test of its output, got {mechanism.noise!r}"
    assert message.endswith("=inf)")
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        mechanism.test(0, 1)
    assert mechanism.curve().beta([0, 0.25, 1]).tolist() == [1, 0.75, 0]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("output", [1e308, -1e308, INF, -INF])
def test_outputs_far_away_are_judged_without_a_warning(name, output):
    test = EVERY[name].test(10, 12)
    ratio, rates = test.log_ratio(output), test.rates(output)
    if name == "truncated":  # neither world has it
        assert ratio == 0
    elif "laplace" in name:
        assert ratio == math.copysign(1, output)
    else:
        assert ratio == pytest.approx(output / 2)
    beyond = float(output > 0)
    assert list(rates) == [1 - beyond, 1 - beyond, beyond, beyond]
    assert test.flags(output, 0.1) == beyond


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160])
@pytest.mark.parametrize("kind", [ta.Laplace, ta.Gaussian, ta.DiscreteLaplace, ta.DiscreteGaussian])
def test_next_to_no_noise_is_attacked_without_a_warning(kind, size):
    test = kind(size).test(0, 1)
    assert np.all(test.log_ratio([0.0, 1.0]) * [-1, 1] > 1e100)
    assert test.flags([0.0, 1.0], 0.3).tolist()[1] == 1
    assert np.all(np.isfinite(test.rates([-1.0, 0.0, 0.5, 1.0, 2.0])))
    assert list(test.rates(2.0)) == [0, 0, 1, 1]


@pytest.mark.parametrize(("absent", "present"), [(-1e308, 1e308), ([-1e308, 0], [1e308, 0])])
def test_answers_too_far_apart_for_a_double_are_too_far_apart(absent, present):
    message = f"{FAR}1.0, got {present}".replace("e+", "e")
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.Gaussian(1).test(absent, present)


def test_a_long_cut_off_is_no_obstacle():
    test = ta.TruncatedLaplace(1.0, 800.0).test(0, 1)
    assert test.threshold([0, 0.1, 0.5]) == pytest.approx([800, -math.log(0.2), 0])


# -- running the attack -------------------------------------------------------------------------


def draw(name, rng, size):
    mechanism = EVERY[name]
    if name == "laplace":
        return rng.laplace(scale=2.0, size=size)
    if name == "gaussian":
        return rng.normal(scale=2.0, size=size)
    if name == "truncated":
        level = rng.uniform(-1, 1, size) * -math.expm1(-9.0 / 2.0)
        return -2.0 * np.sign(level) * np.log1p(-abs(level))
    if name == "discrete_laplace":
        chance = -math.expm1(-1 / 2.0)
        return (rng.geometric(chance, size) - rng.geometric(chance, size)).astype(float)
    return rng.choice(Z, size, p=masses(mechanism, 0))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("present", [13, 7])
def test_running_the_attack_attains_the_curve(name, present):
    rng = np.random.default_rng(20240607)
    test, size = EVERY[name].test(10, present), 40_000
    innocent, guilty = 10 + draw(name, rng, size), present + draw(name, rng, size)
    coins = rng.random((2, size))
    for fpr in (0.01, 0.1, 0.4, 0.8):
        rates = [
            np.mean(coin < test.flags(outputs, fpr))
            for coin, outputs in zip(coins, (innocent, guilty), strict=True)
        ]
        for rate, expected in zip(rates, (fpr, test.curve().tpr(fpr)), strict=True):
            assert abs(rate - expected) < 5 * math.sqrt(expected * (1 - expected) / size)


def test_running_the_attack_on_vectors_attains_the_curve():
    rng = np.random.default_rng(99)
    size, absent, present = 40_000, np.zeros(3), np.array([1.0, -2.0, 2.0])
    test = ta.Gaussian(2.5, sensitivity=3.0).test(absent, present)
    for fpr in (0.01, 0.3):
        for centre, expected in ((absent, fpr), (present, test.curve().tpr(fpr))):
            rate = np.mean(test.flags(centre + 2.5 * rng.normal(size=(size, 3)), fpr))
            assert abs(rate - expected) < 5 * math.sqrt(expected * (1 - expected) / size)


# -- plausible deniability ----------------------------------------------------------------------

DENIABLE = [
    ({"likelihoods": []}, "likelihoods must not be empty, got []"),
    ({"likelihoods": 0.5}, "likelihoods must be a list of numbers, got 0.5"),
    ({"likelihoods": [0.1, -0.1]}, "likelihoods must be at least 0, got -0.1"),
    ({"likelihoods": [0.1, INF]}, "likelihoods must be finite, got [0.1, inf]"),
    ({"likelihoods": [0.1, NAN]}, "likelihoods must not contain NaN, got [0.1, nan]"),
    ({"record": 2}, "record must be an index below 2, got 2"),
    ({"record": -1}, "record must be at least 0, got -1"),
    ({"record": 0.5}, "record must be a whole number, got 0.5"),
    ({"record": None}, "record must be a whole number, got None"),
    ({"ratio": 0.5}, "ratio must be at least 1, got 0.5"),
    ({"ratio": NAN}, "ratio must not be NaN, got nan"),
    ({"ratio": "2"}, "ratio must be a number, got '2'"),
    ({"k": 0}, "k must be at least 1, got 0"),
    ({"k": 1.5}, "k must be a whole number, got 1.5"),
    ({"k": True}, "k must be a whole number, got True"),
]


@pytest.mark.parametrize(("given", "message"), DENIABLE)
def test_bad_deniability_questions_are_refused_word_for_word(given, message):
    good = {"likelihoods": [0.1, 0.2], "record": 0, "ratio": 2, "k": 1}
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        plausibly_deniable(**{**good, **given})


@pytest.mark.parametrize(
    ("likelihoods", "ratio", "k", "answer"),
    [
        ([0.4, 0.2, 0.1, 0.05, 0.3], 2, 3, True),
        ([0.4, 0.2, 0.1, 0.05, 0.3], 1.9, 3, False),
        ([0.4, 0.2, 0.1, 0.05, 0.3], 1.9, 2, True),
        ([0.3, 0.1, 0.1, 0.9], 3, 3, True),  # 0.3 = 3·0.1 up to rounding
        ([0.0, 0.1, 0.1], 5, 1, False),
        ([0.1, 0.0, 0.0, 0.0], 1e9, 2, False),
        ([0.1, 0.1], 1, 2, False),  # there must be more than k records
        ([0.1, 0.1, 0.5], 1, 2, True),
        ([0.2, 0.1, 0.4], 2, 3, False),
        ([0.2, 0.1, 0.4, 0.2], 2, 3, True),
        ([0.1, 0.9, 0.5], INF, 2, True),
    ],
)
def test_deniability_of_the_first_record(likelihoods, ratio, k, answer):
    found = plausibly_deniable(likelihoods, record=0, ratio=ratio, k=k)
    assert found is answer


def test_deniability_by_exhaustion():
    """Any k records with this one, within the ratio: tried one by one."""
    rng = np.random.default_rng(11)
    for _ in range(200):
        values = rng.integers(0, 8, size=5) / 8
        record, ratio, k = int(rng.integers(5)), float(rng.choice([1, 1.5, 2, 4])), 3
        others = [i for i in range(5) if i != record]
        direct = any(
            min(values[[*s, record]]) > 0
            and max(values[[*s, record]]) <= ratio * min(values[[*s, record]])
            for s in combinations(others, k - 1)
        )
        assert plausibly_deniable(values, record, ratio, k) is direct


def test_large_likelihoods_do_not_overflow():
    assert plausibly_deniable([10, 10, 10], record=0, ratio=1e308, k=2) is True


def test_the_old_name_of_flags_warns():
    test = ta.Laplace(1.0).test(0, 1)
    with pytest.warns(DeprecationWarning, match="`accuses` is `flags`"):
        assert test.accuses(3.0, 0.1) == test.flags(3.0, 0.1) == 1
