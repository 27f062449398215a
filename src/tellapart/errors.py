"""What tellapart raises, and when.

TellapartError
├── InvalidArgument (ValueError)   the call is wrong: the message names argument, rule and value
│   └── BadScores                  a table of attack scores is wrong: names file, row and rule
├── Unsupported                    the question has no answer for this object; says what does
├── NotCertified                   the asked precision cannot be reached; no number is returned
├── LimitReached                   the answer takes more time or memory than was allowed
└── TrainingStopped                a model could not be trained or kept; says which and what is kept
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Characters that show nothing and may move a cursor, change a colour or turn a line round.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def visible(
    text: str, keep: str = "", spelt: Callable[[str], str] = lambda one: repr(one)[1:-1]
) -> str:
    """Text as it may stand on a terminal: what would steer it is spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        spelt(one) if one not in keep and unicodedata.category(one) in _UNSEEN else one
        for one in text
    )


class TellapartError(Exception):
    """Catches every error that tellapart raises on purpose."""

    def __str__(self) -> str:
        # Messages quote files, and a file may hold anything.
        return visible(super().__str__(), keep="\n")


class InvalidArgument(TellapartError, ValueError):
    """Says which argument broke which rule, and with what value."""


class BadScores(InvalidArgument):
    """Says where a table of attack scores breaks which rule: file, row and value."""


class Unsupported(TellapartError):
    """Says that this object cannot answer this question, and what to ask instead."""


class NotCertified(TellapartError):
    """Says that a number could not be computed to the precision promised, so none is given."""


class LimitReached(TellapartError):
    """Says that an answer takes more time or memory than was allowed, so none is given."""


class TrainingStopped(TellapartError):
    """Says which model stopped an audit of trainings, why, and what is kept of the others."""
