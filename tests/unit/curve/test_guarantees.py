"""Promises in every currency: what they refuse, and what they allow."""

import math
import re

import numpy as np
import pytest

import tellapart as ta
from tellapart.curve.guarantees import everything, gaussian, nothing, profile_lines

NAN, INF = math.nan, math.inf
ONE_OF = "guarantee must be given exactly one of epsilon, pairs, mu, rdp and zcdp, got "

BAD = [
    ({}, ONE_OF + "none"),
    ({"delta": 0.1}, ONE_OF + "none"),
    ({"epsilon": 1, "mu": 1}, ONE_OF + "epsilon and mu"),
    ({"mu": 1, "zcdp": 1}, ONE_OF + "mu and zcdp"),
    (
        {"epsilon": 1, "pairs": [(1, 0)], "mu": 1, "rdp": [(2, 1)], "zcdp": 1},
        ONE_OF + "epsilon and pairs and mu and rdp and zcdp",
    ),
    ({"mu": 1, "delta": 0.1}, "delta must go with epsilon, not with mu, got 0.1"),
    ({"zcdp": 1, "delta": 0}, "delta must go with epsilon, not with zcdp, got 0"),
    ({"pairs": [(1, 0)], "delta": 0.1}, "delta must go with epsilon, not with pairs, got 0.1"),
    ({"epsilon": -1}, "epsilon must be finite and at least 0, got -1"),
    ({"epsilon": INF}, "epsilon must be finite and at least 0, got inf"),
    ({"epsilon": NAN}, "epsilon must not be NaN, got nan"),
    ({"epsilon": "1"}, "epsilon must be a number, got '1'"),
    ({"epsilon": True}, "epsilon must be a number, got True"),
    ({"epsilon": 1j}, "epsilon must be a number, got 1j"),
    ({"epsilon": [1]}, "epsilon must be a number, got [1]"),
    ({"epsilon": 1, "delta": 1.5}, "delta must lie in [0, 1], got 1.5"),
    ({"epsilon": 1, "delta": -0.1}, "delta must lie in [0, 1], got -0.1"),
    ({"epsilon": 1, "delta": NAN}, "delta must not be NaN, got nan"),
    ({"epsilon": 1, "delta": "0"}, "delta must be a number, got '0'"),
    ({"mu": -1}, "mu must be at least 0, got -1"),
    ({"mu": NAN}, "mu must not be NaN, got nan"),
    ({"mu": "1"}, "mu must be a number, got '1'"),
    ({"zcdp": -1}, "zcdp must be finite and at least 0, got -1"),
    ({"zcdp": INF}, "zcdp must be finite and at least 0, got inf"),
    ({"zcdp": NAN}, "zcdp must not be NaN, got nan"),
    ({"pairs": []}, "pairs must not be empty, got []"),
    ({"pairs": (1, 0.1)}, "pairs must be a list of (epsilon, delta) pairs, got (1, 0.1)"),
    ({"pairs": [(1,)]}, "pairs must be a list of (epsilon, delta) pairs, got [(1,)]"),
    ({"pairs": [(1, 2, 3)]}, "pairs must be a list of (epsilon, delta) pairs, got [(1, 2, 3)]"),
    ({"pairs": 1}, "pairs must be a list of (epsilon, delta) pairs, got 1"),
    (
        {"pairs": [(1, 0.1), (2,)]},
        "pairs must be a list of (epsilon, delta) pairs, got [(1, 0.1), (2,)]",
    ),
    ({"pairs": [(NAN, 0.1)]}, "pairs must not contain NaN, got [(nan, 0.1)]"),
    ({"pairs": [(1, 0), (-1, 0.1)]}, "epsilon in pairs must be finite and at least 0, got -1.0"),
    ({"pairs": [(INF, 0.1)]}, "epsilon in pairs must be finite and at least 0, got inf"),
    ({"pairs": [(1, 1.1)]}, "delta in pairs must lie in [0, 1], got 1.1"),
    ({"rdp": []}, "rdp must not be empty, got []"),
    ({"rdp": (2, 1)}, "rdp must be a list of (order, epsilon) pairs, got (2, 1)"),
    ({"rdp": [(1, 1)]}, "order in rdp must be finite and greater than 1, got 1.0"),
    ({"rdp": [(INF, 1)]}, "order in rdp must be finite and greater than 1, got inf"),
    ({"rdp": [(2, -1)]}, "epsilon in rdp must be at least 0, got -1.0"),
    ({"rdp": [(2, NAN)]}, "rdp must not contain NaN, got [(2, nan)]"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_promises_are_refused_word_for_word(given, message):
    with pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z"):
        ta.guarantee(**given)


def test_epsilon_and_delta_may_be_positional_and_the_rest_may_not():
    assert ta.guarantee(1, 0.1) == ta.guarantee(epsilon=1, delta=0.1)
    assert ta.guarantee(1) == ta.guarantee(epsilon=1.0, delta=0)
    with pytest.raises(TypeError, match="positional"):
        ta.guarantee(1, 0.1, [(1, 0.1)])


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1},
        {"epsilon": 1, "delta": 0.1},
        {"pairs": [(1, 0.1)]},
        {"mu": 0},
        {"mu": 1},
        {"mu": INF},
        {"zcdp": 0},
        {"zcdp": 0.5},
        {"rdp": [(2, 0.5)]},
        {"rdp": [(2, INF)]},
    ],
)
def test_a_promise_is_a_curve_from_below(given):
    assert ta.guarantee(**given).bound is ta.Bound.LOWER


def claimed(epsilon, delta, alpha):
    """The textbook formula, for moderate ε."""
    left, right = 1 - delta - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - delta - alpha)
    return np.maximum(0, np.maximum(left, right))


@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 5])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.3, 1])
def test_one_pair(epsilon, delta):
    curve, alpha = ta.guarantee(epsilon, delta), np.linspace(0, 1, 101)
    assert curve.beta(alpha) == pytest.approx(claimed(epsilon, delta, alpha), abs=1e-15)
    assert curve.delta(epsilon) == pytest.approx(delta, abs=1e-16)
    assert curve.epsilon(delta) == pytest.approx(0 if delta == 1 else epsilon, abs=1e-15)
    assert curve.area() == pytest.approx((1 - delta) ** 2 / (1 + math.exp(epsilon)), abs=1e-15)


def test_several_pairs_hold_together():
    pairs = [(3, 1e-6), (0.5, 0.1), (1, 0.01), (1, 0.5), (2, 0.01)]  # the last two add nothing
    curve, alpha = ta.guarantee(pairs=pairs), np.linspace(0, 1, 1001)
    best = np.max([claimed(e, d, alpha) for e, d in pairs], axis=0)
    assert curve.beta(alpha) == pytest.approx(best, abs=1e-14)
    for epsilon, delta in pairs[:3]:
        assert curve.delta(epsilon) == pytest.approx(delta, abs=1e-15)


def test_pairs_in_any_container_and_order():
    rows = [(0.5, 0.1), (1, 0.01)]
    curves = [ta.guarantee(pairs=p) for p in (rows, rows[::-1], np.array(rows), tuple(rows))]
    assert len({curve.beta(0.2) for curve in curves}) == 1


def test_the_pairs_given_are_left_alone():
    rows = np.array([(0.5, 0.1), (1, 0.01)])
    curve = ta.guarantee(pairs=rows)
    before = curve.beta(0.2)
    assert rows.flags.writeable
    rows[:] = 0
    assert curve.beta(0.2) == before


@pytest.mark.parametrize(
    ("pairs", "beta"),
    [
        ([(0, 0)], [1, 0.75, 0.5, 0]),
        ([(0, 1)], [0, 0, 0, 0]),
        ([(5000, 1)], [0, 0, 0, 0]),
        ([(0, 0), (5000, 0)], [1, 0.75, 0.5, 0]),
        ([(5000, 0)], [1, 0, 0, 0]),
        ([(0, 0.5), (800, 0)], [1, 0.25, 0, 0]),
    ],
)
def test_pairs_at_the_edges(pairs, beta):
    assert ta.guarantee(pairs=pairs).beta([0, 0.25, 0.5, 1]) == pytest.approx(beta, abs=1e-15)


@pytest.mark.parametrize("pairs", [[(1e-320, 0.1), (5e-321, 0.2)], [(1, 5e-324), (1e300, 0)]])
def test_pairs_far_out_raise_no_warning(pairs):
    beta = ta.guarantee(pairs=pairs).beta([0, 0.5, 1])
    assert np.all((beta >= 0) & (beta <= [1, 0.5, 0]))


def test_mu():
    curve = ta.guarantee(mu=2)
    exact = ta.Gaussian(0.5).curve()
    alpha = np.linspace(0, 1, 11)
    assert np.array_equal(curve.beta(alpha), exact.beta(alpha))
    assert ta.guarantee(mu=0).beta(0.3) == 0.7
    assert ta.guarantee(mu=INF).beta(0.3) == 0


@pytest.mark.parametrize("mu", [0.01, 0.3, 1, 4])
def test_concentrated_promises_allow_the_gaussian_and_little_more(mu):
    """The Gaussian mechanism keeps ρ = μ²/2 and ε(λ) = λμ²/2, so it may leak no more."""
    exact = ta.Gaussian(1 / mu).curve()
    orders = [1.1, 1.5, 2, 4, 8, 16, 64]
    promises = [
        ta.guarantee(zcdp=mu**2 / 2),
        ta.guarantee(rdp=[(order, order * mu**2 / 2) for order in orders]),
    ]
    epsilon, alpha = np.linspace(0, 10 * mu, 41), np.linspace(0, 1, 41)
    for promise in promises:
        assert np.all(promise.delta(epsilon) >= exact.delta(epsilon) - 1e-15)
        assert np.all(promise.beta(alpha) <= exact.beta(alpha) + 1e-12)
        assert promise.delta(0) <= 2.5 * exact.delta(0)


def test_renyi_beats_the_usual_conversion():
    """ε(δ) ≤ ε_λ + log(1/δ)/(λ − 1), the conversion of Mironov 2017, Proposition 3."""
    order, level = 8.0, 1.5
    curve = ta.guarantee(rdp=[(order, level)])
    for delta in (1e-9, 1e-5, 0.01):
        assert curve.epsilon(delta) <= level + math.log(1 / delta) / (order - 1)
        assert curve.epsilon(delta) > level / 2


def test_infinite_orders_are_ignored_and_alone_they_say_nothing():
    assert ta.guarantee(rdp=[(2, INF)]).beta([0, 0.5]).tolist() == [0, 0]
    both, one = ta.guarantee(rdp=[(2, 0.5), (9, INF)]), ta.guarantee(rdp=[(2, 0.5)])
    assert both.beta(0.1) == one.beta(0.1)


def test_the_ends_of_the_gaussian_family():
    assert gaussian(0.0).beta(0.25) == nothing().beta(0.25) == 0.75
    assert gaussian(INF).beta(0.25) == everything().beta(0.25) == 0
    assert gaussian(0.0).bound is ta.Bound.EXACT
    assert everything().epsilon([0.5, 1]).tolist() == [INF, 0]
    assert nothing().epsilon(0) == 0


def test_from_profile_is_symmetric():
    curve = profile_lines(np.array([0.5, 2.0]), np.array([0.1, 0.001]))
    alpha = np.linspace(0, 1, 51)
    assert curve.mirrored().beta(alpha) == pytest.approx(curve.beta(alpha), abs=1e-15)
    assert curve.beta(curve.beta(alpha[:20])) == pytest.approx(alpha[:20], abs=1e-13)
