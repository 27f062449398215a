"""Numbers of things, for messages."""

from __future__ import annotations

import math

_EXACT = 10**6
_BITS = 256
_UNKNOWN = 1e12


def count_in_words(size: int) -> str:
    """How many there are, to be read by a person: exact below a million, else like 1.3e+30.

    Any size will do; counts of databases go far beyond what a double holds.

    >>> count_in_words(2**20), count_in_words(3**10_000)
    ('1.0e+06', '1.6e+4771')
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
        return f"10^{power:.1e}"
    exponent = math.floor(power)
    digits = f"{10 ** (power - exponent):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits}e+{exponent:02d}"
