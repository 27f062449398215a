"""Every check names the argument, the rule and the value."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import tellapart as ta
from tellapart import _checks
from tellapart.mechanisms.neyman_pearson import plausibly_deniable

NAN, INF = math.nan, math.inf


def refused(message):
    return pytest.raises(ta.InvalidArgument, match=f"^{re.escape(message)}\\Z")


def test_a_long_value_is_cut_to_eighty_characters():
    with pytest.raises(ta.InvalidArgument) as caught:
        _checks.refuse("p", "sum to 1", [0.25] * 100)
    shown = str(caught.value).removeprefix("p must sum to 1, got ")
    assert len(shown) == 80
    assert shown == repr([0.25] * 100)[:77] + "..."


def test_a_value_of_eighty_characters_is_shown_whole():
    text = "x" * 78
    with refused(f"name must be short, got {text!r}"):
        _checks.refuse("name", "be short", text)


def test_the_error_is_a_value_error_too():
    with pytest.raises(ValueError, match=r"^epsilon must be a number, got None"):
        _checks.number(epsilon=None)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (2, 2.0),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.array(0.25), 0.25),
        (Fraction(1, 4), 0.25),
        (INF, INF),
        (-0.0, 0.0),
    ],
)
def test_number_returns_a_float(value, clean):
    result = _checks.number(x=value)
    assert type(result) is float
    assert result == clean


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1", "'1'"),
        (None, "None"),
        (True, "True"),
        (np.True_, "True"),
        (1j, "1j"),
        ([1], "[1]"),
        ([1, [2]], "[1, [2]]"),
        ({}, "{}"),
        (np.array([1.0]), "array([1.])"),
    ],
)
def test_number_refuses_what_is_not_one(value, shown):
    with refused(f"epsilon must be a number, got {shown}"):
        _checks.number(epsilon=value)


@pytest.mark.parametrize("check", [_checks.number, _checks.finite, _checks.probability])
def test_no_number_may_be_nan(check):
    with refused("epsilon must not be NaN, got nan"):
        check(epsilon=NAN)


def test_a_whole_number_too_large_for_a_double_is_refused():
    shown = "1" + "0" * 76 + "..."
    for check in (_checks.number, _checks.reals):
        with refused(f"epsilon must fit a double, got {shown}"):
            check(epsilon=10**400)


@pytest.mark.parametrize(
    ("check", "rule", "good", "bad"),
    [
        (_checks.finite, "be finite", [0, -1e308, 1e308], [INF, -INF]),
        (_checks.at_least_zero, "be at least 0", [0, -0.0, 5e-324, INF], [-5e-324, -INF]),
        (
            _checks.finite_at_least_zero,
            "be finite and at least 0",
            [0, 1e308],
            [-1, INF, -INF],
        ),
        (_checks.above_zero, "be greater than 0", [5e-324, INF], [0, -0.0, -1]),
        (
            _checks.finite_above_zero,
            "be finite and greater than 0",
            [5e-324, 1e308],
            [0, -1, INF],
        ),
        (_checks.probability, "lie in [0, 1]", [0, 1, 0.5], [-5e-324, 1.0000000000000002, INF]),
        (
            _checks.inside_unit,
            "lie strictly between 0 and 1",
            [5e-324, 0.9999999999999999],
            [0, 1, -1, INF],
        ),
    ],
)
def test_ranges(check, rule, good, bad):
    for value in good:
        assert check(x=value) == value
    for value in bad:
        with refused(f"x must {rule}, got {value!r}"):
            check(x=value)


def test_whole_takes_whole_numbers_only():
    assert _checks.whole(1, cells=np.int64(3)) == 3
    assert type(_checks.whole(1, cells=np.int64(3))) is int
    for value in (0, 0.0, -2.0):
        with refused(f"cells must be at least 1, got {int(value)}"):
            _checks.whole(1, cells=value)
    for value in (1.5, "3", None, True, NAN, INF, -INF, [3], 2 + 0j):
        with refused(f"cells must be a whole number, got {value!r}"):
            _checks.whole(1, cells=value)
    with refused("cells must be a whole number, got True"):
        _checks.whole(1, cells=np.True_)


@pytest.mark.parametrize("value", [2.0, np.float32(2), np.float64(2), Fraction(4, 2), np.uint8(2)])
def test_a_whole_number_may_be_written_as_a_float(value):
    found = _checks.whole(1, sensitivity=value)
    assert found == 2
    assert type(found) is int


def test_a_large_whole_number_keeps_every_digit():
    assert _checks.whole(1, k=2**53 + 1) == 2**53 + 1


def test_member_names_the_choices():
    assert _checks.member(ta.Order, order=ta.Order.ABSENT) is ta.Order.ABSENT
    for value in ("present", None, 1, ta.Bound.EXACT):
        with refused(f"order must be Order.PRESENT or Order.ABSENT, got {value!r}"):
            _checks.member(ta.Order, order=value)


@pytest.mark.parametrize(
    "value",
    [3, [1, 2], (1.5,), [[1, 2], [3, 4]], np.arange(3), np.float32(1), Fraction(1, 2), [], [[]]],
)
def test_reals_keeps_the_shape(value):
    array = _checks.reals(x=value)
    assert array.dtype == np.float64
    assert array.shape == np.shape(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "'a'"),
        (None, "None"),
        (True, "True"),
        ([True, False], "[True, False]"),
        (1j, "1j"),
        ([1, 1j], "[1, 1j]"),
        (["1", "2"], "['1', '2']"),
        ([None, 1.0], "[None, 1.0]"),
        ({"a": 1}, "{'a': 1}"),
        (b"1", "b'1'"),
    ],
)
def test_reals_refuses_what_is_no_number(value, shown):
    with refused(f"alpha must be a number or an array of numbers, got {shown}"):
        _checks.reals(alpha=value)


def test_reals_refuses_ragged_lists_and_nan():
    with refused("alpha must be a number or an array of numbers, got [[1, 2], [3]]"):
        _checks.reals(alpha=[[1, 2], [3]])
    with refused("alpha must not contain NaN, got [0.5, nan]"):
        _checks.reals(alpha=[0.5, NAN])


def test_probabilities_shows_the_first_entry_outside():
    assert _checks.probabilities(alpha=[]).shape == (0,)
    with refused("alpha must lie in [0, 1], got 1.5"):
        _checks.probabilities(alpha=[0.2, 1.5, -3])
    with refused("alpha must lie in [0, 1], got -3.0"):
        _checks.probabilities(alpha=[[0.2, -3], [1.5, 1]])


def test_vector():
    assert _checks.vector(p=[1, 2]).tolist() == [1.0, 2.0]
    for value, message in [
        ([], "p must not be empty, got []"),
        (3, "p must be a list of numbers, got 3"),
        (None, "p must be a list of numbers, got None"),
        ("ab", "p must be a list of numbers, got 'ab'"),
        ([[1, 2]], "p must be a list of numbers, got [[1, 2]]"),
        ([1, [2]], "p must be a list of numbers, got [1, [2]]"),
        ([1, INF], "p must be finite, got [1, inf]"),
        ([1, NAN], "p must not contain NaN, got [1, nan]"),
    ]:
        with refused(message):
            _checks.vector(p=value)


def test_pmf_forgives_rounding_and_nothing_else():
    third = [1 / 3, 1 / 3, 1 / 3 + 5e-10]
    clean = _checks.pmf(p=third)
    assert math.fsum(clean) == pytest.approx(1, abs=1e-15)
    with refused("p must sum to 1, got 1.0000000020000002"):
        _checks.pmf(p=[0.5, 0.500000002])
    with refused("p must be at least 0 everywhere, got -0.5"):
        _checks.pmf(p=[1.5, -0.5])
    with refused("p must sum to 1, got 0.0"):
        _checks.pmf(p=[0.0, 0.0])


def test_pmf_leaves_its_input_alone():
    given = np.array([0.25, 0.75 + 1e-10])
    kept = given.copy()
    clean = _checks.pmf(p=given)
    assert np.array_equal(given, kept)
    assert given.flags.writeable
    assert not np.shares_memory(clean, given)


def test_pairs():
    first, second = _checks.pairs("(a, b)", x=[(1, 2), (3, 4)])
    assert first.tolist() == [1.0, 3.0]
    assert second.tolist() == [2.0, 4.0]
    for value, message in [
        ([], "x must not be empty, got []"),
        ([1, 2], "x must be a list of (a, b) pairs, got [1, 2]"),
        (5, "x must be a list of (a, b) pairs, got 5"),
        (None, "x must be a list of (a, b) pairs, got None"),
        ([(1, 2, 3)], "x must be a list of (a, b) pairs, got [(1, 2, 3)]"),
        ([(1, 2), (3,)], "x must be a list of (a, b) pairs, got [(1, 2), (3,)]"),
        ([(1, "2")], "x must be a list of (a, b) pairs, got [(1, '2')]"),
        ([(1, NAN)], "x must not contain NaN, got [(1, nan)]"),
    ]:
        with refused(message):
            _checks.pairs("(a, b)", x=value)


def test_who_needs_a_list_is_not_told_that_a_number_would_do():
    calls = [
        lambda: ta.attack(points=None),
        lambda: ta.attack(points=["a", "b"]),
        lambda: ta.guarantee(pairs="ab"),
        lambda: ta.guarantee(rdp={2: 0.5}),
        lambda: ta.from_pmfs(None, [1.0]),
        lambda: ta.from_densities(np.exp, np.exp, support=None),
        lambda: ta.ExponentialMechanism(1, "ab", "ba"),
        lambda: plausibly_deniable(None, record=0, ratio=2, k=2),
    ]
    messages = []
    for call in calls:
        with pytest.raises(ta.InvalidArgument) as caught:
            call()
        messages.append(str(caught.value))
    assert [one for one in messages if "must be a number or" in one] == []


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-05, "1e-5"),
        (np.float64(-2.5e-07), "-2.5e-7"),
        ([1e300, 0.5], "[1e300, 0.5]"),
        (10**16, "10000000000000000"),
        ("1e-05.csv", "'1e-05.csv'"),
    ],
)
def test_numbers_in_messages_are_written_as_people_write_them(value, shown):
    with pytest.raises(ta.InvalidArgument) as refused:
        _checks.refuse("x", "do", value)
    assert str(refused.value) == f"x must do, got {shown}"
