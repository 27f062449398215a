"""Exceptions: the whole tree of what tellapart raises, and when.

TellapartError
├── InvalidArgument (ValueError)   the call is wrong: the message names argument, rule and value
│   ├── BadScores                  a table of attack scores is wrong: names file, row and rule
│   │   └── NoColumn               a table or a file lacks a column; names those it has
│   ├── BadLedger                  a ledger of a budget was changed or cut: names the line
│   ├── BadProgram                 a program under audit did not answer in JSON, line by line
│   └── ImpossibleSecret           a secret, or what is known, has probability 0 in the data model
├── Unsupported                    the question has no answer for this object; says what does
│   └── UnreadableEvent            an event of dp_accounting has no counterpart here
├── NotCertified                   the asked precision cannot be reached; no number is returned
├── Infeasible                     no parameter keeps the limit, as perfect privacy does not
├── LimitReached                   the answer takes more time or memory than was allowed
│   ├── Busy                       a question to the page did not get its turn
│   └── TooLong                    a question to the page took longer, or more memory, than it may
├── BudgetSpent                    a step costs more than a privacy budget has left; says how much
└── TrainingStopped                a model could not be trained or kept; says which and what is kept

The page and the command line have exceptions of their own for requests, processes and pipes,
which end there: nobody who calls the library meets one.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dp_accounting.dp_event import DpEvent

# Characters that show nothing and may move a cursor, change a colour or turn a line round.
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def visible(
    text: str, keep: str = "", spelt: Callable[[str], str] = lambda character: repr(character)[1:-1]
) -> str:
    """Text as it may stand on a terminal: what would steer it is spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        spelt(sign) if sign not in keep and unicodedata.category(sign) in _UNSEEN else sign
        for sign in text
    )


class TellapartError(Exception):
    """Catches every error that tellapart raises on purpose."""

    def __str__(self) -> str:
        # Messages quote files, and a file may hold anything.
        return visible(super().__str__(), keep="\n")


class InvalidArgument(TellapartError, ValueError):
    """Says which argument broke which rule, and with what value."""


class BadScores(InvalidArgument):
    """Says where a table of attack scores breaks which rule: file, row and value.

    The ``advice`` that may follow names options of the command line and arguments of Python; where
    there are none, as on the page, the ``problem`` is said with an advice of its own.
    """

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem, advice)

    def __str__(self) -> str:
        return self.problem + visible(self.advice, keep="\n")

    @property
    def problem(self) -> str:
        """What is wrong, in the words of every door."""
        return visible(self.args[0], keep="\n")

    @property
    def advice(self) -> str:
        """What to type instead, with what parts it from the problem; empty where that says it."""
        return str(self.args[1])


class NoColumn(BadScores):
    """Says which ``column`` a table or a file lacks, and which it has."""

    column: str = ""


class BadLedger(InvalidArgument):
    """Says which line of a budget's ledger is not as it was written, and what to do."""


class BadProgram(InvalidArgument):
    """Says what a program did instead of answering every line with one line of JSON."""


class ImpossibleSecret(InvalidArgument):
    """Says that a secret, or what the adversary knows, has probability 0 under the model."""


class Unsupported(TellapartError):
    """Says that this object cannot answer this question, and what to ask instead."""


class UnreadableEvent(Unsupported):
    """Says which event of a tree has no counterpart here, and why."""

    def __init__(self, event: DpEvent, message: str) -> None:
        super().__init__(event, message)
        self.event = event

    def __str__(self) -> str:
        return visible(self.args[1], keep="\n")


class NotCertified(TellapartError):
    """Says that a number could not be computed to the precision promised, so none is given."""


class Infeasible(TellapartError):
    """Says that no parameter keeps the limit, because perfect privacy does not."""


class LimitReached(TellapartError):
    """Says that an answer takes more time or memory than was allowed, so none is given."""


class Busy(LimitReached):
    """A question to the page did not get its turn."""


class TooLong(LimitReached):
    """A question to the page took longer, or more memory, than it may."""


class BudgetSpent(TellapartError):
    """Says which step would overspend a privacy budget, and what is left; nothing was spent.

    ``left`` has what each pot still holds.
    """

    def __init__(self, message: str, left: Mapping[str, float]) -> None:
        super().__init__(message, left)
        self.left = left

    def __str__(self) -> str:
        return visible(self.args[0], keep="\n")


class TrainingStopped(TellapartError):
    """Says which model stopped an audit of trainings, why, and what is kept of the others."""
