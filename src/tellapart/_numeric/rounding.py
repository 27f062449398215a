"""Fewer digits without changing sides."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def to_decimals(value: float, decimals: int, up: bool) -> float:
    """A value with so many decimals, never below it (up) or never above it.

    Decimal arithmetic is exact here, where ``ceil(value·10^k)/10^k`` can end on the wrong side.
    """
    if not math.isfinite(value):
        return value
    exact = Decimal(value)
    size = max(exact.adjusted() + decimals + 2, 1)
    toward = ROUND_CEILING if up else ROUND_FLOOR
    return float(exact.quantize(Decimal(1).scaleb(-decimals), toward, Context(prec=size)))


def to_digits(value: float, digits: int, up: bool) -> float:
    """A value with so many significant digits, never below it (up) or never above it."""
    if value == 0 or not math.isfinite(value):
        return value
    return to_decimals(value, digits - 1 - Decimal(value).adjusted(), up)


def fixed(value: float, up: bool) -> str:
    """Four decimals, or four digits where those would say nothing, rounded to the asked side.

    For showing only: a value that misses a short number by rounding alone is shown as that number.
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    value += 0.0  # −0 is 0
    plain = value == 0 or 1e-3 <= abs(value) < 1e6
    nearest = round(value, 4) if plain else float(f"{value:.3e}")
    if abs(nearest - value) > 1e-12 * abs(value):
        nearest = to_decimals(value, 4, up) if plain else to_digits(value, 4, up)
    return f"{nearest:.4f}" if plain else f"{nearest:.3e}"
