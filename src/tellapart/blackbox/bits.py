"""What the bits of a double say of how it was made, whoever made it.

A sum is rounded to the precision of its larger parts: noise added to 0 keeps all its bits, noise
added to 1 loses those below 2⁻⁵³ (Haney, Desfontaines, Hartman, Shrestha and Hay 2022,
precision-based attacks). So the lowest bit that is set tells answers apart that differ in size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

Exponents = NDArray[np.int64]

# The lowest bit of what has none: 0, infinities and NaN. Higher than that of any number.
NO_BITS = 2000
_SIGNIFICAND = 53


class Bits(NamedTuple):
    """Where a double's bits lie: the highest and the lowest that is set, as powers of two."""

    highest: Exponents
    lowest: Exponents


def bits(values: Array) -> Bits:
    """The highest and lowest bit set in each double.

    >>> bits(np.array([0.75, 6.0, 0.0]))
    Bits(highest=array([  -1,    2, 2000]), lowest=array([  -2,    1, 2000]))
    """
    real = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(real, values, 1.0))
    whole = np.abs(np.ldexp(fraction, _SIGNIFICAND)).astype(np.int64)
    # The lowest bit of a whole number, itself a power of two and so exact as a double.
    spare = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    top = exponent.astype(np.int64) - 1
    bottom = top - (_SIGNIFICAND - 1) + spare
    return Bits(np.where(real, top, NO_BITS), np.where(real, bottom, NO_BITS))
