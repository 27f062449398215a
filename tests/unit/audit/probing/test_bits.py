"""The bits of doubles, against whole numbers that have as many digits as they need."""

import math

import numpy as np
import pytest

from tellapart.audit.probing.float_samplers import NO_BITS, bits


def naive(value):
    """Highest and lowest bit of |value| as a fraction over a power of two."""
    top, bottom = abs(value).as_integer_ratio()
    shift = bottom.bit_length() - 1
    return top.bit_length() - 1 - shift, (top & -top).bit_length() - 1 - shift


def test_bits_are_those_of_the_fraction():
    rng = np.random.default_rng(0)
    drawn = rng.integers(-(2**40), 2**40, 500) * 2.0 ** rng.integers(-60, 60, 500)
    edges = [1.0, -0.75, 0.1, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**-1074]
    values = np.concatenate([rng.normal(size=500), drawn[drawn != 0], edges])
    found = bits(values)
    expected = [naive(one) for one in values.tolist()]
    assert list(zip(found.highest.tolist(), found.lowest.tolist(), strict=True)) == expected


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, math.nan])
def test_what_is_no_number_or_zero_has_no_bits(value):
    assert bits(np.array([value])).lowest.tolist() == [NO_BITS]
    assert bits(np.array([value])).highest.tolist() == [NO_BITS]
