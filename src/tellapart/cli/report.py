"""`tellapart report`: a privacy report of a claim, with what it means and what is open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import report as reporting
from tellapart.cli import report_text, terminal
from tellapart.cli.deltas import AtDelta, asked
from tellapart.cli.options import (
    AttackerOptions,
    Knowledge,
    OutOf,
    Output,
    TextOption,
    Values,
    name_before,
    refuse_half_asked,
)
from tellapart.cli.report_text import ReportAnswers
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS
from tellapart.mechanisms.in_words import text_in_words
from tellapart.report import Report, writing


def report(
    mechanism: Annotated[
        TextOption,
        Parameter(
            help=f"{', '.join(KINDS)}; or name:key=value,key=value. Without it the parameters "
            "are a guarantee of any mechanism. What stands before it, as in "
            "'Cardiology counts=gaussian', is the title."
        ),
    ] = None,
    page: Annotated[
        TextOption, Parameter(help="The page to write; its data go to .json beside it.")
    ] = None,
    /,
    *,
    name: Annotated[
        str, Parameter(help="What people call the release: the title.", show_default=False)
    ] = "",
    values: Values = Values(),
    knowledge: Knowledge = Knowledge(),
    attacker: AttackerOptions = AttackerOptions(),
    at_delta: AtDelta = (),
    out_of: OutOf = None,
    filing: ReportAnswers = ReportAnswers(),
    output: Output = Output(),
) -> None:
    r"""Privacy report: a claim, what it means for people, and a checklist of open questions.

    One HTML page: the claim with its unit of privacy and neighbouring relation, its trade-off
    curve, every risk beside its baseline, and a checklist after NIST SP 800-226, open where
    nobody answered.

    It holds no evidence: tellapart audit and tellapart probe write the same report with their
    verdict, by --report.

    For example:

        tellapart report gaussian out.html --sigma 2 \
            --name 'Cardiology counts' \
            --unit 'one patient' --prior 0.001
        tellapart report out.html --epsilon 1 --delta 1e-6
        tellapart report dpsgd out.html --noise-multiplier 1 \
            --sampling-rate 0.01 --steps 1000 \
            --unit 'one photo' \
            --answer access='The registry; nobody else.'
        tellapart report laplace out.html --epsilon 1 \
            --baseline 0.01
        tellapart report laplace --epsilon 1 --json
    """
    if page is None and mechanism is not None and _is_page(mechanism):
        mechanism, page = None, mechanism
    if page is None and not output.as_json:
        raise InvalidArgument(
            "PAGE must be given, as in: tellapart report laplace out.html --epsilon 1"
        )
    place = None if page is None else writing.target(page, "PAGE")
    refuse_half_asked(attacker.given())
    before, text = name_before(mechanism or "any")
    subject, called, deltas = asked(text, values.given(), at_delta)
    with terminal.working("reading every risk off the curve"):
        filed = reporting.of(
            subject,
            name=name.strip() or before or text_in_words(called),
            unit=filing.unit,
            prior=knowledge.prior_inside(),
            delta=deltas.asked,
            out_of=out_of,  # type: ignore[arg-type] # checked there
            answers=filing.answers(),
            command=terminal.command_line(),
            **attacker.given(),
        )
    output.say(filed.data(), lambda console: _text(console, filed))
    report_text.written(filed, place, output)
    output.draw(lambda: _picture(filed))


def _picture(filed: Report) -> Any:
    from tellapart import plot

    return plot.compare(filed.traced)


def _is_page(text: str) -> bool:
    return Path(text).suffix.lower() in (".html", ".htm")


def _text(console: Console, filed: Report) -> None:
    """What was filed in short, and what is open."""
    terminal.title(console, filed.headline)
    for sentence in filed.reasons:
        terminal.line(console, sentence)
    console.print()
    counted = len(filed.checklist)
    unanswered = [item for item in filed.checklist if item.state == "open"]
    terminal.title(console, "Checklist", f"{len(unanswered)} of {counted} questions are open")
    for item in unanswered:
        terminal.item(console, f"{item.key}: {item.question}")
