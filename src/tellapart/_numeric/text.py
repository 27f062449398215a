"""Directed rounding; numbers in words and in JSON; the scales (linear, logarithmic) they run on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum, StrEnum
from typing import Any

from tellapart._decimals import plain_exponent


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


def fixed(value: float, up: bool | None) -> str:
    """Four decimals, or four digits where those would say nothing, rounded to the asked side.

    Without a side (None) it is the nearest such number.

    For showing only: a value that misses a short number by rounding alone is shown as that number.
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    value += 0.0  # −0 is 0
    plain = value == 0 or 1e-3 <= abs(value) < 1e6
    nearest = round(value, 4) if plain else float(f"{value:.3e}")
    if up is not None and abs(nearest - value) > 1e-12 * abs(value):
        nearest = to_decimals(value, 4, up) if plain else to_digits(value, 4, up)
    return f"{nearest:.4f}" if plain else plain_exponent(f"{nearest:.3e}")


# Where a number may be rounded to, after its relation.
SIDES = {"≤": True, "≥": False}


def related(relation: str, value: float) -> str:
    """A value after its relation, in a few digits that keep it: rounded up after ≤, down after ≥.

    After "=" digits that were cut are not equal: "≈" stands there instead, before the nearest.

    >>> related("=", 0.25), related("=", 2 / 3), related("≤", 1 / 3), related("≥", 2 / 3)
    ('= 0.2500', '≈ 0.6667', '≤ 0.3334', '≥ 0.6666')
    """
    digits = fixed(value, SIDES.get(relation))
    cut = math.isfinite(value) and abs(float(digits) - value) > 1e-12 * max(1.0, abs(value))
    return f"{'≈' if relation == '=' and cut else relation} {digits}"


def short(value: float, digits: int = 6, up: bool | None = None) -> str:
    """A number in at most so many digits, the nearest or on the asked side; 1e-5, not 1e-05.

    >>> short(1e-5), short(0.25), short(1 / 3, 2), short(2e9)
    ('1e-5', '0.25', '0.33', '2e9')
    """
    value = value if up is None else to_digits(value, digits, up)
    return plain_exponent(f"{value:.{digits}g}")


_EXACT = 10**6
_BITS = 256
_UNKNOWN = 1e12


def count_in_words(size: int) -> str:
    """How many there are, to be read by a person: exact below a million, else like 1.3e30.

    Any size will do; counts of databases go far beyond what a double holds.

    >>> count_in_words(2**20), count_in_words(3**10_000)
    ('1.0e6', '1.6e4771')
    """
    if size < _EXACT:
        return str(size)
    return _said(math.log10(size))


def too_many(base: int, times: int, most: int) -> str | None:
    """How many base^times are, in words, where they are more than so many; else None.

    Such a power is not worked out where it is large, which would itself take seconds.
    """
    if times * math.log2(base) > _BITS:
        return _said(times * math.log10(base))
    size = base**times
    return count_in_words(size) if size > most else None


def _said(power: float) -> str:
    """10 to this power, with two digits while these are known."""
    if power >= _UNKNOWN:
        return f"10^{plain_exponent(f'{power:.1e}')}"
    exponent = math.floor(power)
    digits = f"{10 ** (power - exponent):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits}e{exponent}"


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Rows of text in right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )


def as_json(value: Any) -> Any:
    """A value as JSON can hold it; JSON has no infinity, so that is written as a word."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return {part.name: as_json(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value


class Scale(StrEnum):
    """How the way between the ends of a range is divided."""

    LINEAR = "linear"
    LOG = "log"
    WHOLE = "whole"  # logarithmic, in whole numbers
