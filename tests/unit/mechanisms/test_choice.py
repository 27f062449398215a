"""Mechanisms that choose: what they refuse, and their curves by direct sums."""

import dataclasses
import math
import re

import mpmath
import numpy as np
import pytest

import tellapart as ta

NAN, INF = math.nan, math.inf
SELECTIONS = [ta.ExponentialMechanism, ta.PermuteAndFlip, ta.ReportNoisyMax]

BAD_EPSILON = [
    (-1, "epsilon must be finite and at least 0, got -1"),
    (INF, "epsilon must be finite and at least 0, got inf"),
    (NAN, "epsilon must not be NaN, got nan"),
    ("1", "epsilon must be a number, got '1'"),
    (None, "epsilon must be a number, got None"),
    (True, "epsilon must be a number, got True"),
    (1j, "epsilon must be a number, got 1j"),
    ([1], "epsilon must be a number, got [1]"),
]
BAD_SELECTION = [
    ({"sensitivity": 0}, "sensitivity must be finite and greater than 0, got 0"),
    ({"sensitivity": INF}, "sensitivity must be finite and greater than 0, got inf"),
    ({"sensitivity": NAN}, "sensitivity must not be NaN, got nan"),
    ({"sensitivity": "1"}, "sensitivity must be a number, got '1'"),
    ({"monotone": 1}, "monotone must be True or False, got 1"),
    ({"monotone": "yes"}, "monotone must be True or False, got 'yes'"),
    ({"monotone": None}, "monotone must be True or False, got None"),
    ({"absent": [1, 2]}, "present must be given together with absent, or neither, got None"),
    ({"present": [1, 2]}, "present must be given together with absent, or neither, got [1, 2]"),
    ({"absent": [], "present": []}, "absent must not be empty, got []"),
    (
        {"absent": [1, 2], "present": [1, 2, 3]},
        "present must have as many utilities as absent (2), got 3",
    ),
    (
        {"absent": [1, 2], "present": [1, 4]},
        "present must differ from absent by at most the sensitivity 1.0, got [1, 4]",
    ),
    (
        {"absent": [1, 2], "present": [1, 2.6], "sensitivity": 0.5},
        "present must differ from absent by at most the sensitivity 0.5, got [1, 2.6]",
    ),
    (
        {"absent": [1, 2], "present": [2, 1], "monotone": True},
        "present must move one way only where monotone is True, got [2, 1]",
    ),
    ({"absent": [INF, 0], "present": [0, 0]}, "absent must be finite, got [inf, 0]"),
    ({"absent": [0, 0], "present": [NAN, 0]}, "present must not contain NaN, got [nan, 0]"),
    ({"absent": [[1, 0]], "present": [[0, 0]]}, "absent must be a list of numbers, got [[1, 0]]"),
    ({"absent": 3, "present": 4}, "absent must be a list of numbers, got 3"),
    (
        {"absent": [1, [2]], "present": [1, 2]},
        "absent must be a list of numbers, got [1, [2]]",
    ),
]
BAD_OTHERS = [
    (lambda: ta.RandomizedResponse(1, 1), "categories must be at least 2, got 1"),
    (lambda: ta.RandomizedResponse(1, 2.5), "categories must be a whole number, got 2.5"),
    (lambda: ta.RandomizedResponse(1, "2"), "categories must be a whole number, got '2'"),
    (lambda: ta.RandomizedResponse(1, True), "categories must be a whole number, got True"),
    (lambda: ta.RandomizedResponse(1, None), "categories must be a whole number, got None"),
    (lambda: ta.UnaryEncoding(1.5, 0.5), "keep must lie in [0, 1], got 1.5"),
    (lambda: ta.UnaryEncoding(0.5, -0.1), "flip must lie in [0, 1], got -0.1"),
    (lambda: ta.UnaryEncoding(0.2, 0.5), "flip must be at most keep (0.2), got 0.5"),
    (lambda: ta.UnaryEncoding(NAN, 0.5), "keep must not be NaN, got nan"),
    (lambda: ta.UnaryEncoding("1", 0.5), "keep must be a number, got '1'"),
    (lambda: ta.UnaryEncoding(0.5, None), "flip must be a number, got None"),
    (
        lambda: ta.ReportNoisyMax(1, noise="laplace"),
        "noise must be MaxNoise.LAPLACE or MaxNoise.GUMBEL, got 'laplace'",
    ),
    (
        lambda: ta.ReportNoisyMax(1, noise=None),
        "noise must be MaxNoise.LAPLACE or MaxNoise.GUMBEL, got None",
    ),
]


@pytest.mark.parametrize(
    "call",
    [
        *SELECTIONS,
        ta.RandomizedResponse,
        ta.UnaryEncoding.symmetric,
        ta.UnaryEncoding.optimised,
    ],
)
@pytest.mark.parametrize(("epsilon", "message"), BAD_EPSILON)
def test_a_bad_epsilon_is_refused_word_for_word(call, epsilon, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call(epsilon)


@pytest.mark.parametrize("kind", SELECTIONS)
@pytest.mark.parametrize(("given", "message"), BAD_SELECTION)
def test_bad_utilities_are_refused_word_for_word(kind, given, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        kind(1, **given)


@pytest.mark.parametrize(("call", "message"), BAD_OTHERS)
def test_bad_parameters_are_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call()


# -- the caller's arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SELECTIONS)
def test_the_utilities_given_stay_the_callers(kind):
    absent, present = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0])
    mechanism = kind(1, absent, present)
    before = mechanism.curve().beta(0.2)
    assert absent.flags.writeable
    assert present.flags.writeable
    absent[:] = 9.0
    present[:] = 9.0
    assert mechanism.curve().beta(0.2) == before


@pytest.mark.parametrize("kind", SELECTIONS)
def test_a_view_given_does_not_tie_the_mechanism_to_its_base(kind):
    base = np.arange(6.0)
    mechanism = kind(1, base[:3], [0.5, 1.5, 1.5])
    base[:] = 0.0
    assert mechanism.absent.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", SELECTIONS)
def test_the_utilities_inside_cannot_be_written(kind):
    mechanism = kind(1, [0, 1, 2], [1, 1, 1])
    for array in (mechanism.absent, mechanism.present):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9.0


# -- curves by direct sums ----------------------------------------------------------------------

ALPHA = np.linspace(0, 1, 41)


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0, 0.5, 3])
def test_randomised_response_by_its_table(categories, epsilon):
    rest = 1 / (math.exp(epsilon) + categories - 1)
    p = np.full(categories, rest)
    p[0] = math.exp(epsilon) * rest
    direct = ta.from_pmfs(p, np.roll(p, 1))
    curve = ta.RandomizedResponse(epsilon, categories).curve()
    assert curve.beta(ALPHA) == pytest.approx(direct.beta(ALPHA), abs=1e-14)


@pytest.mark.parametrize(("keep", "flip"), [(0.75, 0.25), (0.5, 0.1), (0.9, 0.9), (1, 0.5), (1, 0)])
def test_unary_encoding_by_its_table(keep, flip):
    """Two bits tell the two categories apart; all others have the same law in both worlds."""
    bits = [(a, b) for a in (0, 1) for b in (0, 1)]

    def chance(bit, probability):
        return probability if bit else 1 - probability

    p = [chance(a, keep) * chance(b, flip) for a, b in bits]
    q = [chance(a, flip) * chance(b, keep) for a, b in bits]
    curve = ta.UnaryEncoding(keep, flip).curve()
    assert curve.beta(ALPHA) == pytest.approx(ta.from_pmfs(p, q).beta(ALPHA), abs=1e-14)


@pytest.mark.parametrize(("keep", "flip"), [(0, 0), (1, 1), (0.3, 0.3)])
def test_bits_that_do_not_depend_on_the_truth_tell_nothing(keep, flip):
    assert ta.UnaryEncoding(keep, flip).curve().beta([0, 0.25, 1]).tolist() == [1, 0.75, 0]


@pytest.mark.parametrize("epsilon", [0, 1e-9, 0.5, 1, 5, 100])
def test_unary_encodings_have_the_epsilon_asked_for(epsilon):
    symmetric, optimised = ta.UnaryEncoding.symmetric(epsilon), ta.UnaryEncoding.optimised(epsilon)
    assert symmetric.curve().epsilon(0) == pytest.approx(epsilon, rel=1e-6, abs=1e-15)
    assert optimised.curve().epsilon(0) == pytest.approx(epsilon, rel=1e-6, abs=1e-15)
    assert symmetric.curve().delta(0) == pytest.approx(math.tanh(epsilon / 4), abs=1e-15)
    assert optimised.curve().delta(0) == pytest.approx(math.tanh(epsilon / 2) / 2, abs=1e-15)


@pytest.mark.parametrize("epsilon", [1500, 5000])
def test_a_huge_epsilon_is_no_infinite_one(epsilon):
    for encoding in (ta.UnaryEncoding.symmetric(epsilon), ta.UnaryEncoding.optimised(epsilon)):
        assert encoding.curve().epsilon(0) == pytest.approx(epsilon)


def test_more_digits_are_by_name_only_and_must_fit():
    exact = 2 * math.log(3)
    assert ta.UnaryEncoding(0.75, 0.25, miss=0.25, epsilon=exact).curve().epsilon(0) == exact
    with pytest.raises(TypeError):
        ta.UnaryEncoding(0.75, 0.25, 0.25)
    with pytest.raises(ta.InvalidArgument, match=r"^miss must be 1 − keep \(0\.25\), got 0\.3$"):
        ta.UnaryEncoding(0.75, 0.25, miss=0.3)
    for wrong in (exact * (1 - 4e-7), 0.1, 3.0, math.inf):
        with pytest.raises(ta.InvalidArgument, match=r"^epsilon must be the log odds ratio \("):
            ta.UnaryEncoding(0.75, 0.25, epsilon=wrong)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 1.0, 100.0, 800.0, 5000.0])
def test_a_copy_of_an_encoding_is_the_same_encoding(epsilon):
    for made in (ta.UnaryEncoding.symmetric(epsilon), ta.UnaryEncoding.optimised(epsilon)):
        copy = dataclasses.replace(made)
        assert copy == made
        assert copy.curve().epsilon(0) == made.curve().epsilon(0)


@pytest.mark.parametrize(("keep", "flip"), [(1, 0.5), (0.5, 0), (1, 0)])
def test_a_bit_that_settles_it_has_no_finite_epsilon(keep, flip):
    """Half the outputs prove the truth: whoever says ε = 0.1 is wrong, and not by rounding."""
    exact = ta.UnaryEncoding(keep, flip).curve()
    assert exact.delta(INF) >= 0.5
    assert exact.epsilon(0.49) == INF
    with pytest.raises(ta.InvalidArgument, match=r"^epsilon must be the log odds ratio \(inf\)"):
        ta.UnaryEncoding(keep, flip, epsilon=0.1)


def test_a_changed_copy_implies_anew():
    changed = dataclasses.replace(ta.UnaryEncoding(0.75, 0.25), flip=0.5)
    assert changed == ta.UnaryEncoding(0.75, 0.5)


@pytest.mark.parametrize("categories", [2**20, 2**32, 10**12, 10**15, 10**17, 1e300])
def test_many_categories_keep_their_digits(categories):
    curve = ta.RandomizedResponse(1, categories).curve(ta.Order.PRESENT)
    assert curve.epsilon(0) == 1
    advantage = math.expm1(1) / (math.e + float(categories) - 1)
    assert curve.delta(0) == pytest.approx(advantage, rel=1e-12, abs=0)


@pytest.mark.parametrize("monotone", [False, True])
def test_the_exponential_mechanism_by_its_definition(monotone):
    absent, present = np.array([0.0, 1.0, 2.5]), np.array([1.0, 1.5, 3.5])
    mechanism = ta.ExponentialMechanism(2.0, absent, present, sensitivity=1.5, monotone=monotone)
    rate = 2.0 / 1.5 / (1 if monotone else 2)
    p, q = np.exp(rate * absent), np.exp(rate * present)
    direct = ta.from_pmfs(p / p.sum(), q / q.sum())
    found = mechanism.curve(ta.Order.PRESENT)
    assert found.beta(ALPHA) == pytest.approx(direct.beta(ALPHA), abs=1e-14)


@pytest.mark.parametrize("epsilon", [1e-9, 1, 20, 40, 60, 80, 200, 1400, 5000])
@pytest.mark.parametrize(
    ("absent", "present"), [([0, 1, 2], [1, 1, 1]), ([0, 0], [1, -1]), ([3, 3, 3], [4, 3, 3])]
)
def test_the_losses_of_the_exponential_mechanism_at_any_epsilon(epsilon, absent, present):
    """Logarithms of the definition, with digits to spare."""
    with mpmath.workdps(50 + int(epsilon)):
        rate = mpmath.mpf(epsilon) / 2

        def log_chances(utilities):
            total = mpmath.log(sum(mpmath.exp(rate * u) for u in utilities))
            return [rate * u - total for u in utilities]

        pairs = zip(log_chances(present), log_chances(absent), strict=True)
        losses = sorted({float(q - p) for q, p in pairs}, reverse=True)
    for kind, options in (
        (ta.ExponentialMechanism, {}),
        (ta.ReportNoisyMax, {"noise": ta.MaxNoise.GUMBEL}),
    ):
        curve = kind(epsilon, absent, present, **options).curve(ta.Order.PRESENT)
        assert curve.losses[0] == pytest.approx(losses[0], rel=1e-12, abs=1e-15 * epsilon)
        assert curve.losses[-1] == pytest.approx(losses[-1], rel=1e-12, abs=1e-15 * epsilon)
        assert curve.epsilon(0) == pytest.approx(losses[0], rel=1e-12, abs=1e-15 * epsilon)


def test_gumbel_noise_is_the_exponential_mechanism():
    given = {"absent": [0, 1, 2], "present": [1, 1, 1]}
    gumbel = ta.ReportNoisyMax(1, **given, noise=ta.MaxNoise.GUMBEL).curve()
    exponential = ta.ExponentialMechanism(1, **given).curve()
    assert gumbel.beta(ALPHA) == pytest.approx(exponential.beta(ALPHA), abs=1e-15)
    worst = ta.ReportNoisyMax(1, noise=ta.MaxNoise.GUMBEL).curve()
    assert worst == ta.ExponentialMechanism(1).curve()


def test_the_sides_of_the_worst_cases():
    assert ta.ExponentialMechanism(1).curve().bound is ta.Bound.EXACT
    assert ta.PermuteAndFlip(1).curve().bound is ta.Bound.EXACT
    assert ta.ReportNoisyMax(1).curve().bound is ta.Bound.LOWER
    assert ta.ReportNoisyMax(1, [0, 1], [1, 1]).curve().bound is ta.Bound.EXACT


@pytest.mark.parametrize("kind", SELECTIONS)
def test_no_pair_of_utilities_beats_the_worst_case(kind):
    rng = np.random.default_rng(7)
    worst = kind(2.0).curve()
    for _ in range(25):
        absent = rng.normal(size=5) * 3
        present = absent + rng.uniform(-1, 1, size=5)
        found = kind(2.0, absent, present).curve()
        assert np.all(found.beta(ALPHA) >= worst.beta(ALPHA) - 1e-12)
        assert found.epsilon(0) <= 2 + 1e-12


def test_only_differences_of_utilities_matter():
    for kind in SELECTIONS:
        one = kind(1, [0, 1, 2], [1, 1, 1]).curve().beta(0.2)
        far = kind(1, [1e6, 1e6 + 1, 1e6 + 2], [1e6 + 1] * 3).curve().beta(0.2)
        assert far == pytest.approx(one, rel=1e-9)


def test_one_option_tells_nothing():
    for kind in SELECTIONS:
        assert kind(1, [0], [1]).curve().beta([0, 0.25, 1]).tolist() == [1, 0.75, 0]


def test_utilities_a_subnormal_apart_are_the_same():
    mechanism = ta.ReportNoisyMax(1.0, absent=[-5e-324, 0.0], present=[0.0, 0.0])
    assert mechanism.curve().delta(0.0) == pytest.approx(0.0, abs=1e-15)
