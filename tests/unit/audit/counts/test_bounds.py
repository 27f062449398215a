"""A lower bound stands wherever its number would, and still says what it rests on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.audit.bounds import Basis, LowerBound

BOUND = LowerBound(1.5, confidence=0.95, basis=Basis.EXACT, method="a test")
numbers = st.floats(0, allow_nan=False) | st.integers(0, 10**6)


@given(numbers, numbers)
def test_bounds_compare_as_their_values_do(value, other):
    bound, second = replace(BOUND, value=value), replace(BOUND, value=other, method="another")
    for right in (other, second, np.float64(other)):
        assert (bound < right) == (value < other)
        assert (bound <= right) == (value <= other)
        assert (bound > right) == (value > other)
        assert (bound >= right) == (value >= other)
    assert (other < bound) == (other < value)
    assert bool(np.float64(other) <= bound) == (other <= value)
    assert (bound == other) == (value == other)
    assert (other != bound) == (value != other)
    assert bound != second


def test_equal_things_have_one_hash():
    assert BOUND == replace(BOUND) == 1.5
    assert hash(BOUND) == hash(replace(BOUND)) == hash(1.5)
    assert replace(BOUND, confidence=0.99) != BOUND
    assert BOUND not in ("1.5", None)


def test_what_is_no_number_is_not_compared():
    assert not math.nan > BOUND
    with pytest.raises(TypeError):
        BOUND < "1.5"  # noqa: B015
