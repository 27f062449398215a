"""The worst of several curves, who leaks more, and by how much two of them differ."""

import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.algebra import WorstCase
from tellapart.curve.atomic import AtomicCurve

LAPLACE = ta.Laplace.with_epsilon(1).curve()
RESPONSE = ta.RandomizedResponse(1).curve()
CLAIM = ta.guarantee(1)
HINT = "be a TradeoffCurve (a mechanism's is mechanism.curve())"
ONLY = "hold only curves (a mechanism's is mechanism.curve())"

BAD = [
    (lambda: ta.worst_case([]), "curves must not be empty, got []"),
    (lambda: ta.worst_case([1]), f"curves must {ONLY}, got 1"),
    (lambda: ta.worst_case([LAPLACE, None]), f"curves must {ONLY}, got None"),
    (lambda: ta.worst_case("ab"), f"curves must {ONLY}, got 'a'"),
    (
        lambda: ta.worst_case([ta.Laplace(1)]),
        f"curves must {ONLY}, got Laplace(scale=1.0)",
    ),
    (lambda: ta.worst_case(None), "curves must be a list of curves, got None"),
    (lambda: ta.worst_case(1), "curves must be a list of curves, got 1"),
    (lambda: ta.worst_case(LAPLACE), f"curves must be a list of curves, got {LAPLACE!r}"),
    (
        lambda: ta.worst_case([CLAIM, ta.attack([(0.1, 0.2)])]),
        "curves must not mix Bound.LOWER with Bound.UPPER, got ['Bound.LOWER', 'Bound.UPPER']",
    ),
    (lambda: ta.dominates(1, LAPLACE), f"a must {HINT}, got 1"),
    (lambda: ta.dominates(LAPLACE, "x"), f"b must {HINT}, got 'x'"),
    (lambda: ta.gap(None, LAPLACE), f"a must {HINT}, got None"),
    (lambda: ta.gap(LAPLACE, []), f"b must {HINT}, got []"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_is_refused_word_for_word(call, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        call()


def test_a_mechanism_is_no_curve_and_the_message_says_what_to_do():
    for call in (
        lambda: ta.worst_case([ta.Laplace(1)]),
        lambda: ta.dominates(ta.Laplace(1), LAPLACE),
        lambda: ta.gap(LAPLACE, ta.Laplace(1)),
    ):
        with pytest.raises(ta.InvalidArgument, match=re.escape("mechanism.curve()")):
            call()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("a", "tolerance must be a number, got 'a'"),
        (None, "tolerance must be a number, got None"),
        (-1, "tolerance must be finite and at least 0, got -1"),
        (math.inf, "tolerance must be finite and at least 0, got inf"),
        (math.nan, "tolerance must not be NaN, got nan"),
    ],
)
def test_the_tolerance_is_checked(bad, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.dominates(LAPLACE, LAPLACE, tolerance=bad)


# -- worst_case ---------------------------------------------------------------------------------


def test_the_worst_of_one_is_that_one():
    assert ta.worst_case([LAPLACE]) is LAPLACE


def test_any_iterable_will_do():
    curve = ta.worst_case(ta.Laplace.with_epsilon(e).curve() for e in (0.5, 1.0))
    assert curve.epsilon(0) == 1.0


def test_polygons_stay_polygons():
    a = ta.from_pmfs([0.5, 0.5], [0.2, 0.8])
    b = ta.from_pmfs([0.9, 0.1], [0.6, 0.4])
    worst = ta.worst_case([a, b])
    assert isinstance(worst, AtomicCurve)
    fpr = np.linspace(0, 1, 101)
    assert np.all(worst.tpr(fpr) >= np.maximum(a.tpr(fpr), b.tpr(fpr)) - 1e-15)
    epsilon = np.linspace(-2, 2, 41)
    assert worst.delta(epsilon) == pytest.approx(
        np.maximum(a.delta(epsilon), b.delta(epsilon)), abs=1e-15
    )


def test_smooth_curves_make_an_envelope():
    a, b = ta.Laplace.with_epsilon(1.2).curve(), ta.Gaussian(1).curve()
    worst = ta.worst_case([a, b])
    assert isinstance(worst, WorstCase)
    epsilon = np.linspace(-2, 3, 41)
    assert np.array_equal(worst.delta(epsilon), np.maximum(a.delta(epsilon), b.delta(epsilon)))
    delta = np.array([1e-9, 1e-3, 0.1])
    assert np.array_equal(worst.epsilon(delta), np.maximum(a.epsilon(delta), b.epsilon(delta)))
    fpr = np.linspace(0, 1, 41)
    assert np.all(worst.tpr(fpr) >= np.maximum(a.tpr(fpr), b.tpr(fpr)) - 1e-12)


@pytest.mark.parametrize(
    ("bounds", "joint"),
    [
        ((ta.Bound.EXACT, ta.Bound.EXACT), ta.Bound.EXACT),
        ((ta.Bound.EXACT, ta.Bound.LOWER), ta.Bound.LOWER),
        ((ta.Bound.UPPER, ta.Bound.EXACT), ta.Bound.UPPER),
        ((ta.Bound.LOWER, ta.Bound.LOWER), ta.Bound.LOWER),
    ],
)
def test_the_side_of_the_worst_case(bounds, joint):
    curves = [type(LAPLACE)(shift, bound) for shift, bound in zip((1.0, 2.0), bounds, strict=True)]
    assert ta.worst_case(curves).bound is joint


def test_symmetrised_serves_both_orders():
    one = ta.from_pmfs([0.5, 0.3, 0.2], [0.1, 0.2, 0.7])
    both = one.symmetrised()
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        ordered = max(one.delta(epsilon), one.mirrored().delta(epsilon))
        assert both.delta(epsilon) == pytest.approx(ordered, abs=1e-15)
        assert both.mirrored().delta(epsilon) == pytest.approx(ordered, abs=1e-15)
    assert LAPLACE.symmetrised() is LAPLACE


# -- dominates and gap --------------------------------------------------------------------------


def test_every_curve_leaks_as_much_as_itself_and_more_than_nothing(curve):
    assert ta.dominates(curve, curve)
    assert ta.dominates(curve, ta.guarantee(mu=0))


def test_nothing_leaks_more_than_everything():
    everything = ta.guarantee(mu=math.inf)
    curves = [everything, RESPONSE, LAPLACE, ta.Gaussian(1).curve(), ta.guarantee(1, 0.1)]
    assert [ta.dominates(everything, one) for one in curves] == [True] * 5


def test_a_revealing_chance_may_outweigh_a_larger_loss():
    """(0.5, 0.5)-DP allows all that Laplace noise at ε = 1 does, whose losses reach 1."""
    for claim in (ta.guarantee(0.5, 0.5), ta.guarantee(pairs=[(0.5, 0.5)])):
        assert np.all(claim.beta(np.linspace(0, 1, 101)) <= LAPLACE.beta(np.linspace(0, 1, 101)))
        assert ta.dominates(claim, LAPLACE)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (ta.Laplace.with_epsilon(1).curve(), ta.Laplace.with_epsilon(0.999).curve()),
        (ta.Gaussian(1).curve(), ta.Gaussian(1.001).curve()),
        (RESPONSE, LAPLACE),
        (ta.guarantee(1), LAPLACE),
        (ta.guarantee(1, 0.1), ta.guarantee(1, 0.099)),
        (LAPLACE, ta.ExponentialMechanism(1).curve()),
    ],
)
def test_the_order_is_strict(a, b):
    assert ta.dominates(a, b)
    assert not ta.dominates(b, a)


def test_curves_that_cross_do_not_dominate():
    a, b = ta.Gaussian(1).curve(), LAPLACE
    assert not ta.dominates(a, b)
    assert not ta.dominates(b, a)
    assert type(ta.dominates(a, b)) is bool


def test_gap_is_zero_where_a_dominates_and_positive_elsewhere():
    assert ta.gap(RESPONSE, LAPLACE) == 0
    assert ta.gap(LAPLACE, RESPONSE) > 1e-3
    assert type(ta.gap(LAPLACE, RESPONSE)) is float


def test_gap_between_knowing_nothing_and_everything_is_one_half():
    nothing, everything = ta.guarantee(mu=0), ta.guarantee(mu=math.inf)
    assert 0.5 <= ta.gap(nothing, everything) <= 0.5 + 2e-10
    assert ta.gap(everything, nothing) == 0


def test_gap_is_the_largest_difference_of_bayes_errors():
    a, b = ta.Laplace.with_epsilon(0.5).curve(), LAPLACE
    prior = np.linspace(0.001, 0.999, 4001)
    alpha = np.linspace(0, 1, 2001)[:, None]
    errors = [np.min((1 - prior) * alpha + prior * one.beta(alpha), axis=0) for one in (a, b)]
    assert ta.gap(a, b) == pytest.approx(np.max(errors[0] - errors[1]), abs=1e-5)
