"""Exponentials and logarithms that neither overflow nor cancel where their factors do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

# Beyond this exponent e^a times any positive double is larger than 1, e^−a times it 0.
_FURTHEST = 1400.0


def times_exp(x: Array | float, exponent: Array | float) -> Array:
    """x·e^exponent, where e^exponent alone may overflow or underflow; right for 0 ≤ x ≤ 1."""
    half = np.exp(np.clip(exponent, -_FURTHEST, _FURTHEST) / 2)
    return np.asarray(x * half * half)


def log_ratio(numerator: Array, denominator: Array) -> Array:
    """log(numerator / denominator) of masses: ±inf where one is 0, sharp where they are close."""
    with np.errstate(all="ignore"):
        change = (numerator - denominator) / denominator
        apart = np.log(numerator) - np.log(denominator)
        return np.asarray(np.where(np.abs(change) < 0.5, np.log1p(change), apart))


def complex_log1p(z: NDArray[Any]) -> NDArray[np.complex128]:
    """log(1 + z) with the digits of a small z, which NumPy's own loses for complex numbers.

    Its real part is half of log |1 + z|², where |1 + z|² − 1 = 2x + x² + y²: for small z only,
    since near z = −1 that has no digits left.
    """
    x, y = z.real, z.imag
    near = np.log1p(np.maximum(x * (2 + x) + y * y, -0.75)) / 2 + 1j * np.arctan2(y, 1 + x)
    return np.asarray(np.where(np.abs(z) < 0.5, near, np.log(1 + z)))
