"""A report on the terminal: what an audit or a probe found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tellapart.audit import Ledger
from tellapart.audit.bounds import percent
from tellapart.cli import exits, terminal
from tellapart.cli.options import Output
from tellapart.report import Report, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More lines of a ledger than these are summed up.
_LINES = 12


def give(told: Report, page: Path | None, output: Output, picture: Callable[[], Figure]) -> int:
    """Answer, then write the page and the picture asked for; the exit code is the verdict's."""
    output.say(told.data(), lambda console: text(console, told))
    written(told, page, output)
    output.draw(picture)
    # A belief can refute nothing, so that its silence is no answer.
    return exits.verdict(None if told.bayesian else told.refuted)


def written(told: Report, page: Path | None, output: Output) -> None:
    """Write the page if one was asked for, and say where it is."""
    if page is None:
        return
    with terminal.working("writing"):
        write(told, page)
    output.tell(f"Report: {page} and {page.with_suffix('.json')}")


def text(console: Console, told: Report) -> None:
    """The verdict first, then what it cost and what it rests on."""
    terminal.title(console, told.headline)
    for sentence in told.reasons:
        terminal.line(console, sentence)
    if told.refuted is None:
        console.print()
        described = told.ledger is None
        head = ("", "value", "where") if described else ("", "at least", "basis")
        terminal.table(console, [head, *((one.what, one.words, one.basis) for one in told.shown)])
    if told.ledger is not None and not told.bayesian:
        console.print()
        spent = f"How the {percent(told.ledger.level)} were spent"
        terminal.title(console, spent, "(the chance of any false claim)")
        for line in _ledger(told.ledger):
            terminal.item(console, line)
    console.print()
    terminal.title(console, "What this rests on", f"{told.design}, {told.counted}")
    if told.sample is not None:
        terminal.line(console, f"{told.sample[0].upper()}{told.sample[1:]}.")
    for sentence in told.assumptions:
        terminal.item(console, sentence)


def _ledger(ledger: Ledger) -> list[str]:
    """Every look with its share; many of them summed up."""
    shown, rest = ledger.entries[:_LINES], ledger.entries[_LINES:]
    lines = [str(entry) for entry in shown]
    if rest:
        looks, spent = sum(one.looks for one in rest), sum(one.spent for one in rest)
        lines.append(f"and {looks:,} looks more, {spent:.3g} together")
    return [*lines, *(f"free: {one}" for one in ledger.free)]
