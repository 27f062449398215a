"""What `tellapart budget` says of a ledger: what is left, the log, and whether it is sound."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from rich.console import Console

from tellapart._numeric.text import short
from tellapart.budget.ledger import BudgetLedger, LedgerCheck, LedgerLine
from tellapart.budget.odometer import Odometer
from tellapart.cli import terminal

# The answer as JSON, and as text.
Answer = tuple[dict[str, Any], Callable[[Console], None]]
_RUN = "Run the step now: it is on record, and stays spent whether or not its output is released."


def opened(ledger: BudgetLedger, reading: Odometer) -> Answer:
    """A budget that was opened, or was open already."""

    def text(console: Console) -> None:
        terminal.title(console, _guarantee(reading))
        _pots(console, reading)
        terminal.line(console, f"Ledger: {ledger.where}.")
        terminal.line(console, f"Neighbours: {ledger.budget.neighbours.value}.")

    return _read(ledger, reading), text


def left(ledger: BudgetLedger, reading: Odometer) -> Answer:
    """What every pot still holds."""

    def text(console: Console) -> None:
        terminal.title(console, f"Left: {_left(reading)}")
        _pots(console, reading)
        terminal.line(console, f"{_guarantee(reading)}.")
        if reading.loss is not None:
            terminal.line(
                console,
                f"So far the privacy loss is at most {short(reading.loss, up=True)}: read at "
                f"whatever time, this bound fails with probability {short(reading.delta)} at most.",
            )

    return _read(ledger, reading), text


def spent(ledger: BudgetLedger, line: LedgerLine) -> Answer:
    """A step that is on record."""
    cost = ledger.budget.in_words(line.pot, line.cost)

    def text(console: Console) -> None:
        terminal.title(console, f"Spent: {cost} of the pot {line.pot}", line.label or "")
        terminal.line(console, f"{_RUN} It is line {line.number} of {ledger.where}.")
        if line.earlier:
            terminal.line(console, _EARLIER)

    data = {"spent": True, **_told(line)}
    return {"ledger": ledger.where, **data, "left": ledger.left()}, text


def refused(ledger: BudgetLedger, mechanism: str, why: str) -> Answer:
    """A step that is not, or would not be."""

    def text(console: Console) -> None:
        terminal.title(console, "NO: nothing was spent")
        terminal.line(console, f"{_as_options(why)}.")

    data = {"allowed": False, "mechanism": mechanism, "why": why}
    return {"ledger": ledger.where, **data, "left": ledger.left()}, text


def allowed(ledger: BudgetLedger, mechanism: str, pot: str, cost: Decimal) -> Answer:
    """A step that would be."""
    words = ledger.budget.in_words(pot, cost)

    def text(console: Console) -> None:
        terminal.title(console, f"YES: it would cost {words} of the pot {pot}")
        terminal.line(console, "Nothing was spent; somebody else may be quicker.")

    data = {"allowed": True, "mechanism": mechanism, "pot": pot, "cost": float(cost)}
    return {"ledger": ledger.where, **data, "left": ledger.left()}, text


# What a refusal says to Python, and what is typed here.
_OPTIONS = {
    "steps={mechanism: how many}": "--steps",
    "gaussian=μ": "--gaussian",
    "laplace=ε": "--laplace",
    "ta.RenyiBudget": "a budget with --zcdp or --renyi-order",
}
_EARLIER = (
    "The clock here stands before the time of the line above: the order is that of the lines, and "
    "no time is relied on."
)


def log(ledger: BudgetLedger) -> Answer:
    """Every step on record."""
    lines = ledger.log()

    def text(console: Console) -> None:
        many = "1 entry" if len(lines) == 1 else f"{len(lines):,} entries"
        terminal.title(console, f"{many} on record", ledger.where)
        if not lines:
            return
        head = ("line", "step", "cost", "time (UTC)")
        rows = [
            (
                f"{line.number}  {line.label or ''}",
                line.mechanism,
                ledger.budget.in_words(line.pot, line.cost),
                f"{line.at:%Y-%m-%d %H:%M}{' *' if line.earlier else ''}",
            )
            for line in lines
        ]
        terminal.table(console, [head, *rows])
        if any(line.earlier for line in lines):
            said = "* before the time of the line above: a clock was wrong; the order is right."
            terminal.line(console, said)

    return {"ledger": ledger.where, "steps": [_told(line) for line in lines]}, text


def sound(ledger: BudgetLedger, checked: LedgerCheck) -> Answer:
    """A ledger whose lines are all as they were written."""

    def text(console: Console) -> None:
        many = "1 line" if checked.lines == 1 else f"{checked.lines:,} lines"
        terminal.title(console, f"SOUND: {many}, each as it was written", ledger.where)
        terminal.line(console, f"Chain: {checked.head}")
        said = "Note it elsewhere: --head shows later whether a line up to here was cut off."
        terminal.line(console, said)
        for note in checked.notes:
            terminal.item(console, f"{note[0].upper()}{note[1:]}.")

    data = {
        "sound": True,
        "lines": checked.lines,
        "head": checked.head,
        "notes": list(checked.notes),
    }
    return {"ledger": ledger.where, **data}, text


def damaged(ledger: str, why: str) -> Answer:
    """A ledger that is not as it was written."""

    def text(console: Console) -> None:
        terminal.title(console, f"DAMAGED: {ledger}")
        terminal.line(console, f"{why}.")

    return {"sound": False, "why": why}, text


def _as_options(why: str) -> str:
    """Why a step is refused, with options in the place of Python's arguments."""
    words = f"{why[0].upper()}{why[1:]}"
    for argument, option in _OPTIONS.items():
        words = words.replace(argument, option)
    return words


def _read(ledger: BudgetLedger, reading: Odometer) -> dict[str, Any]:
    return {
        "ledger": ledger.where,
        "neighbours": ledger.budget.neighbours.name.lower(),
        "pots": dict(ledger.budget.pots),
        "left": ledger.left(),
        "delta": reading.delta,
        "epsilon": reading.epsilon,
        "loss": reading.loss,
    }


def _told(line: LedgerLine) -> dict[str, Any]:
    return {
        "line": line.number,
        "at": line.at.isoformat(),
        "label": line.label,
        "mechanism": line.mechanism,
        "pot": line.pot,
        "cost": float(line.cost),
    }


def _guarantee(reading: Odometer) -> str:
    epsilon = short(reading.epsilon, up=True)
    return (
        f"Guarantee: ε = {epsilon} at δ = {short(reading.delta)}, however the budget is spent and "
        "whenever you stop"
    )


def _left(reading: Odometer) -> str:
    return "; ".join(f"{pot.left} ({pot.name})" for pot in reading.pots)


def _pots(console: Console, reading: Odometer) -> None:
    rows = [(pot.name, pot.used, pot.left) for pot in reading.pots]
    terminal.table(console, [("pot", "used", "left"), *rows])
