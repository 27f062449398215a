"""Exponentials, logarithms and split masses (connect the dots) without overflow or cancellation."""

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


def to_ends(low: Array, high: Array, absent: Array, present: Array) -> tuple[Array, Array]:
    """The part of each cell's two masses that goes to its higher ratio; the rest goes lower.

    A cell holds outcomes whose log-likelihood ratios lie in [low, high]. Telling the attacker
    which end an outcome was sent to only helps, so the result errs towards the attacker.
    """
    mean = np.clip(log_ratio(present, absent), low, high)
    # present = up + down and absent = up·e^−high + down·e^−low
    up = present * np.expm1(low - mean) / np.expm1(low - high)
    up = np.where((high > low) & np.isfinite(up), up, present)
    up = np.clip(up, 0.0, present)
    return np.minimum(np.where(np.isfinite(high), times_exp(up, -high), 0.0), absent), up
