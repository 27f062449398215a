"""Rounding that keeps its side, to the last bit."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart._numeric.text import fixed, related, short, to_decimals, to_digits

finite = st.floats(-1e12, 1e12, allow_nan=False)


@given(finite, st.integers(0, 12))
def test_decimals_keep_their_side_and_are_close(value, decimals):
    low, high = to_decimals(value, decimals, up=False), to_decimals(value, decimals, up=True)
    assert low <= value <= high
    step = 10.0**-decimals + 4 * math.ulp(value)
    assert high - low <= step
    assert Fraction(str(low)) * 10**decimals % 1 == 0


@given(st.one_of(finite, st.floats(1e-300, 1e-200)), st.integers(1, 8))
def test_digits_keep_their_side_and_are_close(value, digits):
    low, high = to_digits(value, digits, up=False), to_digits(value, digits, up=True)
    assert low <= value <= high
    assert high - low <= abs(value) * 10.0 ** (1 - digits) * 1.000001


def test_where_multiplying_first_ends_on_the_wrong_side():
    value = math.nextafter(1.7, 2)
    assert math.ceil(value * 10) / 10 < value <= to_decimals(value, 1, up=True)


@given(finite)
def test_what_is_shown_keeps_its_side_but_for_rounding(value):
    slack = 1e-12 * abs(value)
    low, high = float(fixed(value, up=False)), float(fixed(value, up=True))
    assert low - slack <= value <= high + slack


@given(
    st.integers(-(10**9), 10**9).filter(bool),
    st.integers(-12, 4),
    st.floats(2e-12, 1e-5),
    st.booleans(),
)
def test_a_short_number_is_not_shown_for_a_value_beyond_it(number, exponent, off, up):
    short = float(f"{float(f'{number}e{exponent}'):.3e}")
    value = short + (off if up else -off) * abs(short)
    shown = float(fixed(value, up=up))
    assert shown >= value if up else shown <= value


@pytest.mark.parametrize(
    ("value", "up", "shown"),
    [
        (0.46211, True, "0.4622"),
        (0.46211, False, "0.4621"),
        (0.03 - 4e-18, False, "0.0300"),
        # Rounding alone is a few ulp: what is further off is rounded to its side.
        (0.03 * (1 + 1e-11), True, "0.0301"),
        (0.03 * (1 - 1e-11), False, "0.0299"),
        (2.5e-7 * (1 + 1e-11), True, "2.501e-7"),
        (2.5e-7 * (1 - 1e-11), False, "2.499e-7"),
        (1.2345678e-7, True, "1.235e-7"),
        (0.0, True, "0.0000"),
        (math.inf, True, "∞"),
        (-math.inf, True, "−∞"),
        (12345678.9, False, "1.234e7"),
    ],
)
def test_how_numbers_look(value, up, shown):
    assert fixed(value, up=up) == shown


anywhere = st.one_of(
    finite, st.floats(1e-300, 1e-3), st.floats(-1e-3, -1e-300), st.integers(-(10**9), 10**9)
)


@given(anywhere, st.sampled_from("=≤≥"))
def test_digits_after_a_relation_keep_it(value, relation):
    sign, digits = related(relation, float(value)).split(" ")
    shown, slack = Fraction(digits), Fraction(1e-12) * max(1, abs(Fraction(value)))
    if sign == "≈":
        mantissa, _, exponent = digits.partition("e")
        last = Fraction(10) ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        assert relation == "="
        assert abs(shown - Fraction(value)) <= last / 2
    elif sign == "≤":
        assert shown >= Fraction(value) - slack
    elif sign == "≥":
        assert shown <= Fraction(value) + slack
    else:
        assert abs(shown - Fraction(value)) <= slack


@given(anywhere, st.integers(1, 12), st.sampled_from([None, True, False]))
def test_short_numbers_read_back_on_their_side(value, digits, up):
    shown = float(short(float(value), digits, up))
    assert abs(shown - value) <= abs(value) * 10.0 ** (1 - digits) * 1.000001
    assert up is None or (shown >= value if up else shown <= value)


@given(anywhere)
def test_no_exponent_has_a_zero_or_a_plus_before_it(value):
    for text in (short(float(value)), fixed(float(value), True), related("=", float(value))):
        assert not re.search(r"e[+-]?0|e\+", text)
