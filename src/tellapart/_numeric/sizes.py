"""Numbers of things, for messages."""

from __future__ import annotations

import math

_EXACT = 10**6


def count_in_words(size: int) -> str:
    """How many there are, to be read by a person: exact below a million, else like 1.3e+30.

    Any size will do; counts of databases go far beyond what a double holds.

    >>> count_in_words(2**20), count_in_words(3**10_000)
    ('1.0e+06', '1.6e+4771')
    """
    if size < _EXACT:
        return str(size)
    power = math.log10(size)
    exponent = math.floor(power)
    digits = f"{10 ** (power - exponent):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits}e+{exponent:02d}"
