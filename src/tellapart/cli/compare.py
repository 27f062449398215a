"""`tellapart compare`: trade-off curves side by side, and ε of published deployments."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from tellapart import choose
from tellapart import deployments as published
from tellapart._checks import refuse
from tellapart._numeric.text import related, short
from tellapart.choose.comparison import GAPS, Pair, expected_seconds
from tellapart.choose.utility import noise_error
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, of_several
from tellapart.cli.options import (
    AttackerOptions,
    Knowledge,
    Option,
    Output,
    Page,
    PictureKind,
    Verbose,
    name_before,
    option_of,
    page_for,
    picture_of,
    refuse_half_asked,
    refuse_undrawn,
)
from tellapart.cli.process import limits
from tellapart.cli.risk import Mechanism, reading_record
from tellapart.curve.closed import GuaranteeCurve
from tellapart.deployments import CAVEATS, DEPLOYMENTS, LEFT_OUT, Deployment, Gain
from tellapart.mechanisms.catalogue import (
    KINDS,
    SENSITIVITY_ASSUMED,
    assumes_sensitivity,
    parse,
    terms,
)
from tellapart.mechanisms.subject import Subject
from tellapart.risk.catalogue import FPR, essential

if TYPE_CHECKING:
    from tellapart.report.result_model import ResultDocument

# A name has at least so much room beside its numbers; else all stands one below the other.
_ROOM = 24


def compare_deployments(
    beside: Mapping[str, Subject],
    names: Sequence[str],
    *,
    fpr: float,
    prior: float,
    output: Output,
    page: Path | None = None,
) -> None:
    """Show the deployments asked for, or all of them, with mechanisms among them."""
    if page is not None and not names:
        refuse(
            "--report", "come with the names of deployments, as in --deployments apple", str(page)
        )
    asked = _asked(names)
    with terminal.working("reading risks off the curves"):
        rows = published.gains(asked, beside=beside, fpr=fpr, prior=prior)
        pairs = _pairs(beside, asked) if names else []
    left_out = () if names else LEFT_OUT

    def text(console: Console) -> None:
        title = "Risk for one unit of privacy"
        terminal.title(console, title, f"prior {short(prior)}, from least to most")
        console.print()
        _table(console, rows)
        if pairs:
            console.print()
            terminal.title(console, "Who leaks more", "if the units of privacy are the same")
            for pair in pairs:
                terminal.item(console, f"{pair}.")
        console.print()
        terminal.title(console, "Before comparing")
        for caveat in CAVEATS:
            terminal.item(console, caveat)
        if left_out:
            console.print()
            terminal.title(console, "Left out", "parameters that do not fit the variant of DP")
            for entry in left_out:
                terminal.item(console, f"{entry}.")

    def picture() -> Any:
        from tellapart import plot

        return plot.deployments(rows)

    data = {
        "prior": prior,
        "fpr": fpr,
        "source": published.SOURCE,
        "caveats": CAVEATS,
        "rows": [_row(row) for row in rows],
        "pairs": [pair_record(pair) for pair in pairs],
        "left_out": left_out,
    }

    def document() -> ResultDocument:
        from tellapart import report as reporting

        compared = {**beside, **{made.name: made.curve() for made in asked}}
        about = {made.name: f"{made.promise}, for {made.per} ({made.curator})" for made in asked}
        return reporting.of_comparison(
            compared,
            about=about,
            caveats=CAVEATS,
            command=terminal.command_line(),
            fpr=fpr,
            prior=prior,
        )

    output.give(data, text, picture)
    output.file(page, document)


def _asked(names: Sequence[str]) -> tuple[Deployment, ...]:
    for name in names:
        if name.partition(":")[0] in KINDS and ":" in name:
            refuse("mechanisms", "stand before --deployments", name)
    matching = dict.fromkeys(deployment for name in names for deployment in published.find(name))
    return tuple(matching) if names else DEPLOYMENTS


def _pairs(beside: Mapping[str, Subject], asked: Sequence[Deployment]) -> list[Pair]:
    return [
        choose.compare({name: subject, deployment.name: deployment.curve()}).pairs[0]
        for name, subject in beside.items()
        for deployment in asked
    ]


def pair_record(pair: Pair) -> dict[str, object]:
    """Who leaks more, as JSON."""
    return {
        "first": pair.first,
        "second": pair.second,
        "first_leaks_at_least_as_much": pair.first_leaks,
        "second_leaks_at_least_as_much": pair.second_leaks,
        "crossings": [crossing._asdict() for crossing in pair.crossings],
        "gap": pair.gap,
        "gap_back": pair.gap_back,
        "words": str(pair),
    }


def _row(gain: Gain) -> dict[str, object]:
    made = gain.deployment
    return {
        "name": gain.name,
        "key": made and made.key,
        "per": made and made.per,
        "promise": made and made.promise,
        "deployment": made,
        "readings": [reading_record(reading) for reading in gain.readings],
    }


def _details(gain: Gain) -> str:
    made = gain.deployment
    if made is None:
        return "your mechanism, for one record"
    promised = f"{made.promise} for {made.per}"
    return f"{made.curator} {made.published[:4]}: {promised}; {made.model.lower()}; {made.status}"


def _table(console: Console, rows: Sequence[Gain]) -> None:
    """A name and its numbers on one line, what it is under it."""
    cells = [[each.shown for each in row.readings] for row in rows]
    heads = [textwrap.wrap(each.name.removeprefix("membership "), 9) for each in rows[0].readings]
    widths = [
        max(len(part) for part in (*head, *column))
        for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    ]
    room = console.width - 2 - sum(widths) - 2 * len(widths)
    if room < _ROOM:
        _blocks(console, rows)
        return
    depth = max(map(len, heads))
    lifted = [[""] * (depth - len(head)) + head for head in heads]
    for level, parts in enumerate(zip(*lifted, strict=True)):
        first = "deployment" if level == depth - 1 else ""
        console.print(Text(_beside(first, room, parts, widths), style="bold"))
    blind = [each.columns[0] for each in rows[0].readings]
    console.print(Text(_beside("without the output", room, blind, widths)))
    for row, values in zip(rows, cells, strict=True):
        first, *rest = textwrap.wrap(row.name, room) or [""]
        console.print(Text(_beside(first, room, values, widths), style="bold"))
        for part in rest:
            console.print(Text(f"  {part}", style="bold"))
        _under(console, _details(row))


def _beside(first: str, room: int, values: Sequence[str], widths: Sequence[int]) -> str:
    cells = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
    return f"  {'  '.join([first.ljust(room), *cells])}".rstrip()


def _under(console: Console, text: str) -> None:
    kept = text.replace(" = ", "\xa0=\xa0")
    for part in textwrap.wrap(kept, max(console.width - 4, 20)):
        console.print(Text(f"    {part}".replace("\xa0", " "), style="dim"))


def _blocks(console: Console, rows: Sequence[Gain]) -> None:
    for row in rows:
        for part in textwrap.wrap(row.name, max(console.width - 2, 20)):
            console.print(Text(f"  {part}", style="bold"))
        _under(console, _details(row))
        for each in row.readings:
            console.print(Text(f"    {each.name} {each.shown}"))


Names = Annotated[
    tuple[str, ...] | None,
    Parameter(
        name="--deployments",
        consume_multiple=True,
        negative="",
        show_default=False,
        help="Compare with published deployments: all of them, or those whose name or curator "
        "contains one of these words. Risks are for one unit of privacy of each.",
    ),
]


def compare(
    *mechanisms: Mechanism,
    names: Names = None,
    knowledge: Knowledge = Knowledge(),
    attacker: AttackerOptions = AttackerOptions(),
    delta: Annotated[
        Option,
        Parameter(
            help="The δ of every ε.  [default: the one δ of the mechanisms; 0 where all are pure "
            "ε-DP; else 1e-5]"
        ),
    ] = None,
    at_delta: AtDelta = (),
    verbose: Verbose = False,
    kind: PictureKind = "both",
    report: Page = None,
    output: Output = Output(),
) -> None:
    r"""Which mechanism leaks more, at which FPR, and every risk side by side.

    A mechanism can have a name of its own: name=mechanism.

    For example:

        tellapart compare laplace:epsilon=1 \
            gaussian:epsilon=1,delta=1e-5
        tellapart compare ours=laplace:scale=2 \
            theirs=gaussian:sigma=3
        tellapart compare any:epsilon=1 laplace:epsilon=1 \
            staircase:epsilon=1 --prior 0.01
        tellapart compare laplace:scale=1 gaussian:sigma=1.4 \
            --plot compare.svg --report compare.html
        tellapart compare --deployments broadband emojis
        tellapart compare laplace:epsilon=1 --deployments apple
    """
    refuse_undrawn(kind, output)
    page = page_for(report)
    if kind == "people":
        refuse("--kind", "be another picture: people are drawn for one mechanism, by risk", kind)
    specs = _labelled(mechanisms)
    subjects = {label: parse(spec) for label, spec in specs.items()}
    prior = knowledge.prior_inside()
    if names is not None:
        about = attacker.given()
        _refuse_unused({**about, "delta": delta, "at_delta": at_delta})
        compare_deployments(
            subjects, names, fpr=about["fpr"], prior=prior, output=output, page=page
        )
        return
    refuse_half_asked(attacker.given())
    if len(subjects) < 2:
        refuse(
            "mechanisms",
            "be at least two different ones, or stand beside --deployments",
            list(mechanisms),
        )
    deltas = of_several(list(specs.values()), delta, at_delta)
    limits.expect(expected_seconds(list(subjects.values())))
    about = attacker.given()
    comparison = choose.compare(subjects, prior=prior, delta=deltas.every, **about)

    def text(console: Console) -> None:
        terminal.title(console, f"{re.sub('^the ', 'The ', comparison.answer())}.")
        several = len(comparison.pairs) > 1  # of one the title has said all
        for pair in comparison.pairs if several and (len(specs) == 3 or verbose) else ():
            terminal.item(console, f"{pair}.")
        if unlike := comparison.neighbours():
            terminal.item(console, unlike)
        console.print()
        marked = map(deltas.marked, comparison.readings)
        shown = (each if verbose else essential(each, about) for each in marked)
        errors = _errors(subjects)
        cells = (*replace(comparison, readings=tuple(shown)).cells(), *errors)
        terminal.title(console, "Risks", f"prior probability of membership {short(prior)}")
        terminal.columns(console, cells, keep=2)
        legend = [f"{label}: {spec}" for label, spec in specs.items() if label != spec]
        if legend:
            console.print()
        for entry in legend:
            terminal.item(console, entry)
        for label, subject in subjects.items():
            if isinstance(subject, GuaranteeCurve) and subject.claimed_delta > deltas.first:
                own = short(subject.claimed_delta)
                said = f"{label}: the guarantee has δ = {own} and says nothing at a smaller δ."
                terminal.item(console, said)
        if assumed := [label for label, spec in specs.items() if _at_default(spec, bool(errors))]:
            terminal.item(console, f"{', '.join(assumed)}: {SENSITIVITY_ASSUMED}.")
        if not verbose:
            terminal.hint(console, "--verbose: every risk, every pair, and the Δ-divergence")
            return
        console.print()
        terminal.title(console, "By how much")
        terminal.line(console, GAPS)
        terminal.columns(console, comparison.gaps(), keep=1)

    def picture() -> Any:
        fpr = attacker.given()["fpr"]
        return picture_of(kind, subjects, prior=prior, fpr=fpr, delta=deltas.first)

    data = {
        "prior": prior,
        **deltas.data(),
        "mechanisms": [
            {
                "name": name,
                "mechanism": specs[name],
                "scope": scope,
                "readings": [reading_record(reading) for reading in row],
            }
            for name, scope, row in zip(
                comparison.names, comparison.scopes, comparison.readings, strict=True
            )
        ],
        "pairs": [pair_record(pair) for pair in comparison.pairs],
    }

    def document() -> ResultDocument:
        from tellapart import report as reporting

        return reporting.of_comparison(
            subjects,
            about=specs,
            command=terminal.command_line(),
            comparison=comparison,
            prior=prior,
            **about,
        )

    output.give(data, text, picture)
    output.file(page, document)


def _at_default(spec: str, with_error: bool) -> bool:
    """Whether numbers are for a sensitivity of 1 that nobody stated; an error always is."""
    has = any("sensitivity" in KINDS[term.name].parameters for term in terms(spec))
    return assumes_sensitivity(spec) or (with_error and has and "sensitivity" not in spec)


def _errors(subjects: Mapping[str, Subject]) -> list[tuple[str, ...]]:
    """What accuracy costs beside: a row where the noise of every answer is known."""
    errors = [noise_error(subject) for subject in subjects.values()]
    deviations = [
        related("=" if error.exact else "≤", error.deviation)
        for error in errors
        if error is not None and error.deviation is not None
    ]
    if len(deviations) < len(subjects):
        return []
    return [("standard deviation of the answer", "–", *deviations)]


# Longer mechanisms are named by their kind.
_SHORT = 20


def _labelled(mechanisms: Sequence[str]) -> dict[str, str]:
    """Mechanisms by what to call them: the name given, or else their text where it is short.

    A long one is called by its kind, with the parameters in which it differs from others of it.
    """
    given = [name_before(text) for text in mechanisms]
    taken = Counter(name for name, _ in given if name)
    if twice := [name for name, count in taken.items() if count > 1]:
        refuse("names", "be different", twice[0])
    labels: dict[str, str] = {}
    for text, (name, mechanism) in zip(mechanisms, given, strict=True):
        if name:
            labels[name] = mechanism
        elif len(text) <= _SHORT:
            labels.setdefault(text, text)
        elif text not in labels.values():
            label = _apart(text, [mechanism for _, mechanism in given])
            labels[text if label in {*labels, *taken} else label] = text
    return labels


def _apart(text: str, mechanisms: Sequence[str]) -> str:
    """The kind of a mechanism, and of its parameters those that others of its kind have not."""
    (first, *later), kind = terms(text), _kind(text)
    alike = [terms(other)[0] for other in mechanisms if other != text and _kind(other) == kind]
    if not alike:
        return kind
    own = {
        key: value
        for key, value in first.values.items()
        if any(other.values.get(key) != value for other in alike)
    }
    return text if later or not own else str(replace(first, values=own))


def _kind(text: str) -> str:
    return "+".join(term.name for term in terms(text))


def _refuse_unused(given: dict[str, object]) -> None:
    """The table of deployments has no place for these."""
    usual = {**AttackerOptions().given(), "delta": None, "at_delta": ()}
    for name, value in given.items():
        if name != FPR.key and value != usual[name]:
            shown = value[0] if isinstance(value, tuple) else value
            refuse(option_of(name), "be left out beside --deployments", shown)
