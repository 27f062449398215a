"""An audit on the terminal: verdict, bounds, error budget and assumptions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tellapart.audit.bounds import percent
from tellapart.audit.ledger import Ledger
from tellapart.audit.summary import AuditSummary
from tellapart.cli import exits, terminal
from tellapart.cli.options import Output
from tellapart.report import Report, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More lines of a ledger than these are summed up.
_LINES = 12


def give(
    summary: AuditSummary,
    report: Report | None,
    page: Path | None,
    output: Output,
    picture: Callable[[], Figure],
) -> int:
    """Answer, then write the page and the picture asked for; the exit code is the verdict's."""
    output.say({} if report is None else report.data(), lambda console: text(console, summary))
    if report is not None:
        written(report, page, output)
    output.draw(picture)
    # A belief can refute nothing, so that its silence is no answer.
    return exits.verdict(None if summary.bayesian else summary.refuted)


def written(report: Report, page: Path | None, output: Output) -> None:
    """Write the page if one was asked for, and say where it is."""
    if page is None:
        return
    with terminal.working("writing"):
        write(report, page)
    output.tell(f"Report: {page} and {page.with_suffix('.json')}")


def text(console: Console, summary: AuditSummary) -> None:
    """The verdict first, then what it cost and what it rests on."""
    terminal.title(console, summary.headline)
    for sentence in summary.reasons:
        terminal.line(console, sentence)
    if summary.refuted is None:
        console.print()
        described = summary.ledger is None
        head = ("", "value", "where") if described else ("", "at least", "basis")
        rows = ((row.what, row.words, row.basis) for row in summary.shown)
        terminal.table(console, [head, *rows])
    if summary.ledger is not None and not summary.bayesian:
        console.print()
        spent = f"How the {percent(summary.ledger.level)} were spent"
        terminal.title(console, spent, "(the chance of any false claim)")
        for line in _ledger(summary.ledger):
            terminal.item(console, line)
    console.print()
    terminal.title(console, "What this rests on", f"{summary.design}, {summary.counted}")
    terminal.line(console, f"{summary.sample[0].upper()}{summary.sample[1:]}.")
    for sentence in summary.assumptions:
        terminal.item(console, sentence)


def _ledger(ledger: Ledger) -> list[str]:
    """Every look with its share; many of them summed up."""
    entries, rest = ledger.abridged(_LINES)
    lines = [str(entry) for entry in entries]
    if rest is not None:
        lines.append(f"and {rest.looks:,} looks more, {rest.spent:.3g} together")
    return [*lines, *(f"free: {what}" for what in ledger.free)]
