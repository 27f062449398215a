"""One risk read off a curve beside its baseline, and on which side of it the truth lies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tellapart._numeric.text import SIDES, fixed, related

# A gain of this share of the baseline is rounding.
_ROUNDING = 1e-13
# From here on numbers are shown with four decimals; a gain below the last of them is no digit.
_PLAIN, _LAST_DIGIT = 1e-3, "0.0001"
# Where a measure's name goes on to say where it is read.
_WHERE = re.compile(r"(?= at | for |, )")


class Reading(NamedTuple):
    """One risk beside its ``baseline``; ``relation`` says on which side of it the truth lies.

    ``key`` is its name without the arguments, the same for every curve. The baseline is the same
    measure for an attacker without the output.

    "=": exact. "≤": no attacker exceeds it (or, for an error, "≥": none errs less). For what an
    attack has shown the sides turn round.
    """

    key: str
    name: str
    value: float
    relation: str
    meaning: str
    baseline: float = 0.0
    sentence: str = ""  # what it says to those who decide, where it has one of its own

    @property
    def shown(self) -> str:
        """The value in a few digits after its relation: "≤ 0.4622", "≈ 0.6667", "= 0.2500"."""
        return related(self.relation, self.value)

    @property
    def gain(self) -> float:
        """How much better an attacker does with the output than without it."""
        gain = abs(self.value - self.baseline)
        return 0.0 if gain < _ROUNDING * abs(self.baseline) else gain

    @property
    def columns(self) -> tuple[str, str, str]:
        """In a few digits: without the output, with it, and the gain.

        Bounds are rounded conservatively, exact values to the nearest.
        """
        side = SIDES.get(self.relation)
        up = None if side is None else side == (self.value >= self.baseline)
        gain = fixed(self.gain, up) if self.gain else "0"
        if self.baseline >= _PLAIN and 0 < self.gain < float(_LAST_DIGIT):
            gain = f"< {_LAST_DIGIT}"
        return self._blind, self.shown, gain

    @property
    def _blind(self) -> str:
        """Rounded as the value is, so that the two look alike where nothing is gained."""
        return fixed(self.baseline, SIDES.get(self.relation)) if self.baseline else "0"

    def __str__(self) -> str:
        blind = f" (baseline {self._blind})" if self.baseline else ""
        return f"{stated(self.name, self.shown)}{blind}"


def stated(name: str, value: str) -> str:
    """A measure and its value as people say it: what, how much, and where.

    >>> stated("ε at δ = 1e-5", "≤ 2"), stated("membership advantage", "≤ 0.1")
    ('ε ≤ 2 at δ = 1e-5', 'membership advantage ≤ 0.1')
    """
    what, *where = _WHERE.split(name, maxsplit=1)
    return f"{what} {value}{''.join(where)}"


def in_words(readings: Sequence[Reading]) -> tuple[str, ...]:
    """What readings say to those who decide, where they have a sentence of their own."""
    return tuple(dict.fromkeys(reading.sentence for reading in readings if reading.sentence))
