"""Rounding that keeps its side, to the last bit."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart._numeric.text import fixed, to_decimals, to_digits

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
        (2.5e-7 * (1 + 1e-11), True, "2.501e-07"),
        (2.5e-7 * (1 - 1e-11), False, "2.499e-07"),
        (1.2345678e-7, True, "1.235e-07"),
        (0.0, True, "0.0000"),
        (math.inf, True, "∞"),
        (-math.inf, True, "−∞"),
        (12345678.9, False, "1.234e+07"),
    ],
)
def test_how_numbers_look(value, up, shown):
    assert fixed(value, up=up) == shown
