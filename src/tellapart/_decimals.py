"""Decimal numbers as people write them; it imports nothing, so that help starts at once."""

from __future__ import annotations

import re

_EXPONENT = re.compile(r"(?<![\w.])(\d[\d.]*)e\+?(-?)0*(?=\d)")


def plain_exponent(text: str) -> str:
    """A text with exponents of its numbers as people write them: 1e-5 for 1e-05, 1e6 for 1e+06."""
    return _EXPONENT.sub(r"\1e\2", text) if "e" in text else text
