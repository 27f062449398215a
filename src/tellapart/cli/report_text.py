"""An audit on the terminal: verdict, bounds, multiple-testing budget; options of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console

from tellapart import _checks
from tellapart import report as reporting
from tellapart._numeric.text import short
from tellapart.audit import Scores, Verdict
from tellapart.audit.attack_metrics import Metrics
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.summary import AuditResult, AuditSummary
from tellapart.cli import terminal
from tellapart.cli.deltas import Deltas
from tellapart.cli.options import MECHANISM, Knowledge, Output, TextOption
from tellapart.cli.process import exits
from tellapart.mechanisms.catalogue import KINDS
from tellapart.report import QUESTIONS, writing
from tellapart.report.building import summary_of
from tellapart.report.checklist import checked

# More lines of a ledger than these are summed up.
_LINES = 12

Confidence = Annotated[
    float, Parameter(help="Family-wise confidence of all that is shown, below 1.")
]
Claimed = Annotated[
    TextOption,
    Parameter(
        group=MECHANISM,
        help="The claimed mechanism, as name:key=value or with its parameters below; without it, "
        f"--epsilon and --delta (or --mu, or --zcdp) are the claim. Names: {', '.join(KINDS)}.",
    ),
]


@Parameter(name="*", group=Group("Statements for the privacy report", sort_key=5))
@dataclass(frozen=True)
class ReportAnswers:
    """What only people know of a release, for its report."""

    unit: Annotated[
        str, Parameter(help='The unit of privacy, such as "one patient".', show_default=False)
    ] = ""
    answer: Annotated[
        tuple[str, ...],
        Parameter(
            help="An answer to the checklist, as key=text; may be repeated. Keys: "
            f"{', '.join(key for key in QUESTIONS if key != 'unit')}.",
            show_default=False,
            negative="",
        ),
    ] = ()

    def answers(self) -> dict[str, str]:
        """The answers by their keys."""
        answers: dict[str, str] = {}
        for given in self.answer:
            key, equals, text = given.partition("=")
            key = key.strip()
            if not equals:
                _checks.refuse("--answer", "be written as key=text", given)
            if key in answers:
                _checks.refuse("--answer", f"be given once for {key}", given)
            answers[key] = text
        return checked(answers)


@dataclass(frozen=True)
class AuditAnswer:
    """How the answer of an audit is to be given; refused before anything is computed."""

    page: Path | None
    output: Output
    unit: str
    answers: Mapping[str, str]
    prior: float
    deltas: Deltas
    verbose: bool = False

    @classmethod
    def asked(
        cls,
        report: Path | None,
        output: Output,
        about: ReportAnswers,
        knowledge: Knowledge,
        deltas: Deltas,
        verbose: bool = False,
    ) -> AuditAnswer:
        """From the options of a command."""
        page = None if report is None else writing.target(report, "--report")
        prior = knowledge.prior_inside()
        return cls(page, output, about.unit, about.answers(), prior, deltas, verbose)

    def give(
        self,
        result: AuditResult,
        *,
        scores: Scores | None = None,
        files: Sequence[str | Path] = (),
        seed: int | None = None,
    ) -> int:
        """Answer, then write the page and the picture asked for; the exit code is the verdict's."""
        report = None
        with terminal.working("judging"):
            if self.page is not None or self.output.as_json:
                report = reporting.of(
                    result,
                    scores=scores,
                    files=files,
                    seed=seed,
                    command=terminal.command_line(),
                    unit=self.unit,
                    prior=self.prior,
                    delta=self.deltas.asked,
                    answers=self.answers,
                )
            summary = None if report is None else report.summary
            if summary is None:
                summary = summary_of(
                    result,
                    scores=scores,
                    deltas=self.deltas.asked,
                    unit=self.unit,
                    answers=self.answers,
                )
        data = {} if report is None else report.data()
        self.output.say(data, lambda console: text(console, summary, verbose=self.verbose))
        if report is not None:
            written(report, self.page, self.output)
        self.output.draw(lambda: _picture(result))
        return exits.verdict(summary.refuted)


def _picture(result: AuditResult) -> Any:
    from tellapart import plot

    return None if isinstance(result, Metrics) else plot.audit(result)


def written(report: writing.Document, page: Path | None, output: Output) -> None:
    """Write the page if one was asked for, and say where it is."""
    if page is None:
        return
    with terminal.working("writing"):
        reporting.write(report, page)
    output.tell(f"Report: {page} and {page.with_suffix('.json')}")


def text(console: Console, summary: AuditSummary, *, verbose: bool = False) -> None:
    """The verdict first; then budget and assumptions, a line each unless all of them are wanted."""
    terminal.title(console, summary.headline)
    for sentence in summary.reasons:
        terminal.line(console, sentence)
    if not isinstance(summary.result, Verdict):
        console.print()
        described = summary.ledger is None
        head = ("", "value", "where") if described else ("", "at least", "basis")
        rows = ((row.what, row.words, row.basis) for row in summary.shown)
        terminal.table(console, [head, *rows])
    if verbose:
        _in_full(console, summary)
        return
    console.print()
    if summary.ledger is not None and not summary.bayesian:
        terminal.line(console, summary.ledger.in_short)
    terminal.line(console, f"Experimental design: {_design(summary)}.")
    if summary.brief:
        terminal.line(console, f"Assumptions: {summary.brief}")
        terminal.hint(console, "--verbose: the whole multiple-testing budget and all assumptions")


def _in_full(console: Console, summary: AuditSummary) -> None:
    if summary.ledger is not None and not summary.bayesian:
        console.print()
        terminal.title(console, summary.ledger.title)
        for line in _ledger(summary.ledger):
            terminal.item(console, line)
    console.print()
    terminal.title(console, "Experimental design", _design(summary))
    terminal.line(console, f"{summary.sample[0].upper()}{summary.sample[1:]}.")
    if summary.assumptions:
        console.print()
        terminal.title(console, "Assumptions")
        for sentence in summary.assumptions:
            terminal.item(console, sentence)


def _design(summary: AuditSummary) -> str:
    return f"{summary.design}, {summary.counted}" if summary.counted else summary.design


def _ledger(ledger: LevelBudget) -> list[str]:
    """Every test with its level; many of them summed up."""
    entries, rest = ledger.abridged(_LINES)
    lines = [str(entry) for entry in entries]
    if rest is not None:
        lines.append(f"and {rest.looks:,} further tests, {short(rest.spent, 3)} together")
    return [*lines, *ledger.free]
