"""`tellapart decide`: a decision file answered, checked or begun."""

from __future__ import annotations

import datetime
import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks, _files
from tellapart import decision as decisions
from tellapart import report as reporting
from tellapart._numeric.text import fixed, short
from tellapart.choose.named_limits import explained
from tellapart.cli import report_text, terminal
from tellapart.cli.options import OUTPUT, Output, Switch, Verbose, ends_in
from tellapart.cli.process.exits import Exit, verdict
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.checking import Check
from tellapart.decision.limits import LimitAnswer
from tellapart.decision.open_questions import OpenQuestion, questions
from tellapart.errors import InvalidArgument, LimitReached, TellapartError
from tellapart.report import writing

_FIRST = Path("decision.toml")


def decide(
    file: Annotated[
        Path, Parameter(help="The decision file, in TOML.", show_default=True)
    ] = _FIRST,
    /,
    *,
    init: Annotated[
        Switch,
        Parameter(
            name="--init",
            help="Write a first decision file, with a comment for every key, and end.",
        ),
    ] = False,
    check: Annotated[
        Switch,
        Parameter(
            name="--check",
            help="Exit with 1 where the configured value breaks a limit, evidence refutes a claim "
            "or the review is overdue; with 3 where an open question may change the answer, or "
            "answers are missing: still to do, or the examples of --init.",
        ),
    ] = False,
    today: Annotated[
        str | None, Parameter(help="The date that --check and --report take for today.", show=False)
    ] = None,
    report: Annotated[
        Path | None,
        Parameter(
            group=OUTPUT,
            help="Also write the document to sign, such as decision.html, with its data beside it "
            "in decision.json.",
            validator=ends_in("--report", ".html", ".html", ".htm"),
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = False,
    output: Output = Output(),
) -> int:
    r"""Decisions: the noise that keeps the limits of every attacker named in a file.

    The file says what is released, whom it protects, which attackers there are, how much of which
    risk is accepted and why, and who decided. The first line is the value to configure; then come
    the binding constraint with its attacker, every limited risk without and with the release, and
    questions where the file contradicts itself.

    For example:

        tellapart decide --init decision.toml
        tellapart decide decision.toml
        tellapart decide decision.toml --check
        tellapart decide decision.toml --json
        tellapart decide decision.toml --report decision.html
    """
    if init:
        if report is not None:
            rule = "not stand beside --init, which only begins a file; answer it first"
            _checks.refuse("--report", rule, str(report))
        return _begin(file, output)
    page = None if report is None else writing.target(report, "--report")
    if not file.exists():
        begun = f"tellapart decide --init {shlex.quote(str(file))}"
        _checks.refuse("FILE", f"be there (to begin one: {begun})", str(file))
    record = decisions.read(file)
    if page is not None:
        writing.refuse_sources(page, (file, *record.evidence_paths(file.parent)), "--report")
    with terminal.working("solving for every limit"):
        answer = _answered(file, record)
        asked = questions(record, answer)
    checked = answer.check(_day(today))

    def text(console: Console) -> None:
        if check:
            _check(console, answer, checked)
        else:
            _text(console, answer, asked, checked, verbose)

    document = None
    if page is not None:  # before anything is said: a file of evidence may be none
        with terminal.working("reading risks and evidence"):
            document = reporting.of_decision(
                record,
                folder=file.parent,
                today=_day(today),
                command=terminal.command_line(),
                answer=answer,
            )
    output.say(_data(answer, asked, checked if check else None), text)
    if document is not None:
        report_text.written(document, page, output)
    output.draw(lambda: _picture(answer))
    if check:
        return verdict(None if checked.stands is None else not checked.stands)
    refuted = any(each.refuted for each in answer.evidence or ())
    return Exit.NO if refuted or not answer.feasible else Exit.DONE


def _begin(file: Path, output: Output) -> int:
    """A first file; never in the place of another."""
    if file.exists():
        raise InvalidArgument(f"{file} must be a new file, and it exists; name another one")
    text = decisions.template()
    _files.whole(file, lambda part: part.write_text(text, encoding="utf-8", newline="\n"))
    said = f"{file}: every value in it is an example; replace them, then: tellapart decide {file}"
    output.say({"file": str(file)}, lambda console: terminal.title(console, said))
    return Exit.DONE


def _answered(file: Path, record: decisions.Decision) -> DecisionAnswer:
    try:
        return record.answer(folder=file.parent)
    except LimitReached:
        raise
    except TellapartError as error:
        raise type(error)(f"{file}: {error}") from error


def _day(today: str | None) -> datetime.date:
    if today is None:
        return datetime.date.today()
    try:
        return datetime.date.fromisoformat(today)
    except ValueError as error:
        raise InvalidArgument(
            f"--today must be a date such as 2026-11-17, got {today!r}"
        ) from error


def _text(
    console: Console,
    answer: DecisionAnswer,
    asked: tuple[OpenQuestion, ...],
    checked: Check,
    verbose: bool,
) -> None:
    record = answer.decision
    if not answer.feasible:
        names = ", ".join(f"limit[{limit.place}]" for limit in answer.clashes)
        terminal.title(console, f"INFEASIBLE: {answer.accuracy} clashes with {names}")
        for limit in answer.clashes:
            terminal.line(console, f"limit[{limit.place}] is {limit}.")
        terminal.line(console, "Raise utility.at_most, or accept more of these risks.")
        console.print()
    against = checked.broken[int(checked.overdue) :]  # whether a review is late, --check says
    if against:
        first, *others = against
        terminal.title(console, f"DOES NOT STAND: {first}")
        for reason in others:
            terminal.line(console, _sentence(reason))
        console.print()
    epsilon = f"ε ≤ {fixed(answer.epsilon, up=True)} at δ = {short(answer.delta)}"
    terminal.title(console, answer.asks, f"for {record.mechanism}; {epsilon}")
    terminal.line(console, f"{_title(answer)}. {_protected(answer)}")
    bound = "none" if answer.binding is None else answer.binding
    terminal.line(console, f"Binding constraint: {bound}.")
    said = explained(answer.family, answer.choice, answer.any_mechanism, answer.doubt, answer.delta)
    error = "" if answer.error is None else f"{str(answer.error).capitalize()}."
    scope = f"{answer.scope[0].upper()}{answer.scope[1:]}."
    for sentence in (said[1], scope, *said[3:], answer.sampling, error):
        if sentence:
            terminal.line(console, sentence)
    console.print()
    terminal.table(console, _limit_cells(answer))
    for result in answer.evidence or ():
        terminal.line(console, f"Evidence: {result}.")
    _questions(console, asked)
    if not verbose:
        terminal.hint(console, "--verbose: every risk, a sensitivity analysis and alternatives")
        return
    for each in answer.attackers:
        console.print()
        terminal.title(console, each.attacker.name, each.attacker.knows)
        terminal.readings(console, each.readings)
    console.print()
    terminal.title(console, "Sensitivity analysis", f"at other values of {answer.parameter}")
    terminal.table(console, _nearby_cells(answer), marked=1)
    if answer.alternatives:
        console.print()
        terminal.title(console, "Alternatives considered")
        for other in answer.alternatives:
            terminal.item(console, _alternative(other))


_VERDICTS = {True: "STANDS", False: "DOES NOT STAND", None: "NO VERDICT"}


def _check(console: Console, answer: DecisionAnswer, checked: Check) -> None:
    """The verdict with its first reason; then all others, who decided, and what is to be asked."""
    configured, decided = answer.decision.mechanism.configured, answer.decision.decided
    kept = "" if configured is None else f"{answer.parameter} = {short(configured)}"
    said = checked.reasons[: len(checked.reasons) - len(checked.questions)]  # these follow whole
    first, *others = said or checked.reasons[:1] or (f"{kept} keeps every limit",)
    terminal.title(console, f"{_VERDICTS[checked.stands]}: {first}")
    for reason in others:
        terminal.line(console, _sentence(reason))
    terminal.line(console, f"{_title(answer)}. The limits ask for {answer.asks}.")
    when = f"on {decided.date}; review on {decided.review}"
    terminal.line(console, f"Decided by {decided.owner} {when}.")
    for result in answer.evidence or ():
        terminal.line(console, f"Evidence: {result}.")
    _questions(console, checked.questions)


def _questions(console: Console, asked: tuple[OpenQuestion, ...]) -> None:
    if not asked:
        return
    console.print()
    terminal.title(console, f"Questions: {len(asked)}")
    for question in asked:
        terminal.item(console, str(question))


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."


def _title(answer: DecisionAnswer) -> str:
    """On one line, whatever the file has."""
    return " ".join(answer.decision.title.split()).rstrip(".")


def _protected(answer: DecisionAnswer) -> str:
    privacy = answer.decision.privacy
    number = privacy.group
    if answer.correlation:
        return (
            f"Unit of privacy: {privacy.unit}. The records of one person are {answer.correlation} "
            "(Pufferfish privacy: an attacker knows this model)."
        )
    records = "1 record" if number == 1 else f"{number} records together (group privacy)"
    return f"Unit of privacy: {privacy.unit}, {records}; neighbours: {privacy.relation.value}."


def _limit_cells(answer: DecisionAnswer) -> list[tuple[str, ...]]:
    head = ("risk", "without the output", "with it", "limit", f"{answer.parameter} if alone")
    return [head, *(_limit_row(limit) for limit in answer.limits)]


def _limit_row(limit: LimitAnswer) -> tuple[str, ...]:
    blind, achieved, _ = limit.reading.columns
    return (
        f"{limit.attacker}: {limit.asked.label}",
        blind,
        achieved,
        f"{'≥' if limit.asked.least else '≤'} {short(limit.asked.bound)}",
        ("any" if limit.alone is None else short(limit.alone, 10)) + " (binding)" * limit.binding,
    )


def _nearby_cells(answer: DecisionAnswer) -> list[tuple[str, ...]]:
    head = (answer.parameter, "ε", *(f"limit[{limit.place}]" for limit in answer.limits), "")
    rows = [
        (
            f"{short(near.value)}",
            fixed(near.epsilon, up=True),
            *(
                fixed(value, not limit.asked.least)
                for value, limit in zip(near.risks, answer.limits, strict=True)
            ),
            "kept" if near.kept else "broken",
        )
        for near in answer.sensitivity
    ]
    return [head, *rows]


def _alternative(other: Any) -> str:
    why = other.alternative.why_not.rstrip(".")
    if other.problem:
        return f"{other.alternative.mechanism}: {why}. No answer: {other.problem}."
    error = "" if other.error is None else f"; {other.error}"
    epsilon = f"ε ≤ {fixed(other.epsilon, up=True)}"
    return f"{other.setting}, {epsilon}: {other.verdict}{error}. Not taken: {why}."


def _picture(answer: DecisionAnswer) -> Any:
    from tellapart import plot

    return plot.compare({str(answer.setting): answer.subject})


def _data(
    answer: DecisionAnswer, asked: tuple[OpenQuestion, ...], checked: Check | None
) -> dict[str, Any]:
    data = answer.data()
    data["questions"] = [vars(question) for question in asked]
    if checked is not None:
        data["check"] = {
            "stands": checked.stands,
            "kept": checked.kept,
            "overdue": checked.overdue,
            "broken": checked.broken,
            "undecided": checked.undecided,
            "missing": checked.missing,
            "reasons": checked.reasons,
        }
    return data
