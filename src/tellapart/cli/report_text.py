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
from tellapart.audit import Scores, Verdict
from tellapart.audit.attack_metrics import Metrics
from tellapart.audit.bounds import percent
from tellapart.audit.ledger import Ledger
from tellapart.audit.summary import AuditResult, AuditSummary
from tellapart.cli import exits, terminal
from tellapart.cli.deltas import Deltas
from tellapart.cli.options import MECHANISM, OUTPUT, Knowledge, Output, ends_in
from tellapart.mechanisms.catalogue import KINDS
from tellapart.report import QUESTIONS, Report, writing
from tellapart.report.building import summary_of
from tellapart.report.checklist import checked

# More lines of a ledger than these are summed up.
_LINES = 12

Confidence = Annotated[
    float, Parameter(help="Least chance that nothing at all is falsely claimed, below 1.")
]
Claimed = Annotated[
    str | None,
    Parameter(
        group=MECHANISM,
        help=f"The mechanism that is claimed, as name:key=value or with its parameters below: "
        f"{', '.join(KINDS)}. Without it --epsilon, --delta, --mu or --zcdp are the claim.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None,
    Parameter(
        group=OUTPUT,
        help="Also write a page, such as out.html, and the same as out.json beside it.",
        validator=ends_in("--report", ".html", ".html", ".htm"),
        show_default=False,
    ),
]


@Parameter(name="*", group=Group("What people say, for a report", sort_key=5))
@dataclass(frozen=True)
class ReportAnswers:
    """What only people know of a release, and a report should say."""

    unit: Annotated[
        str, Parameter(help='What is protected: "one patient".', show_default=False)
    ] = ""
    answer: Annotated[
        tuple[str, ...],
        Parameter(
            help="An answer to the checklist, as key=text; may be given often. The keys: "
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

    @classmethod
    def asked(
        cls,
        report: Path | None,
        output: Output,
        about: ReportAnswers,
        knowledge: Knowledge,
        deltas: Deltas,
    ) -> AuditAnswer:
        """From the options of a command."""
        page = None if report is None else writing.target(report)
        prior = knowledge.prior_inside()
        return cls(page, output, about.unit, about.answers(), prior, deltas)

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
        self.output.say(data, lambda console: text(console, summary))
        if report is not None:
            written(report, self.page, self.output)
        self.output.draw(lambda: _picture(result))
        return exits.verdict(summary.refuted)


def _picture(result: AuditResult) -> Any:
    from tellapart import plot

    return None if isinstance(result, Metrics) else plot.audit(result)


def written(report: Report, page: Path | None, output: Output) -> None:
    """Write the page if one was asked for, and say where it is."""
    if page is None:
        return
    with terminal.working("writing"):
        reporting.write(report, page)
    output.tell(f"Report: {page} and {page.with_suffix('.json')}")


def text(console: Console, summary: AuditSummary) -> None:
    """The verdict first, then what it cost and what it rests on."""
    terminal.title(console, summary.headline)
    for sentence in summary.reasons:
        terminal.line(console, sentence)
    if not isinstance(summary.result, Verdict):
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
