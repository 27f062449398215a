"""The privacy budget in a report: what was spent from a ledger, what is left, and each step."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart._numeric.text import short
from tellapart.budget.ledger import BudgetLedger
from tellapart.budget.odometer import PotReading

HOLDS = (
    "for all steps of the budget together, however each depends on earlier outputs, and whenever "
    "one stops"
)
ERRS = "no attacker does more, up to numerical error, however the budget is spent"


@dataclass(frozen=True)
class RecordedStep:
    """One line of a ledger, as it is told."""

    line: int
    at: str
    label: str | None
    mechanism: str
    pot: str
    cost: str
    earlier: bool


@dataclass(frozen=True)
class PrivacyBudget:
    """A budget by its ledger: pots with what was used and is left, and the steps on record.

    ``head`` is the chain of the last line, by which it can be told later whether one is missing.
    """

    ledger: str
    opened: str
    pots: tuple[PotReading, ...]
    steps: tuple[RecordedStep, ...]
    loss: str | None
    lines: int
    head: str

    @property
    def words(self) -> str:
        """How much was spent, in a sentence."""
        many = "1 entry is" if len(self.steps) == 1 else f"{len(self.steps):,} entries are"
        left = "; ".join(f"{pot.left} ({pot.name})" for pot in self.pots)
        return f"{many} on record. Left: {left}."


def privacy_budget(ledger: BudgetLedger, delta: float) -> PrivacyBudget:
    """What a ledger says now; every line is read anew, and `BadLedger` names one that is wrong."""
    checked = ledger.check()
    odometer = ledger.odometer(delta)
    steps = tuple(
        RecordedStep(
            line.number,
            f"{line.at:%Y-%m-%d %H:%M}",
            line.label,
            line.mechanism,
            line.pot,
            ledger.budget.in_words(line.pot, line.cost),
            line.earlier,
        )
        for line in ledger.log()
    )
    loss = None
    if odometer.loss is not None:
        loss = (
            f"So far the privacy loss is at most {short(odometer.loss, up=True)}: read at whatever "
            f"time, this bound fails with probability {short(delta)} at most."
        )
    opened = repr(ledger.budget)
    where = ledger.where
    return PrivacyBudget(where, opened, odometer.pots, steps, loss, checked.lines, checked.head)
