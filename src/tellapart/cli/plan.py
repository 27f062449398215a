"""`tellapart plan`: which audit could refute a claim, at what cost, before anything is run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from tellapart import audit
from tellapart._decimals import plain_exponent
from tellapart._numeric.text import short
from tellapart.audit.planning import PlannedDesign
from tellapart.cli import terminal
from tellapart.cli.deltas import asked
from tellapart.cli.options import Json, Option, Output, Values, Whole
from tellapart.cli.report_text import Confidence
from tellapart.cli.risk import Mechanism
from tellapart.errors import InvalidArgument


def plan(
    mechanism: Mechanism = "any",
    /,
    *,
    values: Values = Values(),
    seconds: Annotated[
        Option, Parameter(help="Seconds that one call or one training takes; required.")
    ] = None,
    budget: Annotated[float, Parameter(help="Seconds that the whole audit may take.")] = 60.0,
    available: Annotated[
        tuple[audit.Access, ...],
        Parameter(
            help="What can be done with the code; may be repeated. steps: see each step of a "
            "training; step: call one step on gradients, which beside trainings takes its share "
            "of the seconds of one; function: call it on two inputs; "
            "trainings: train many models; one-run: train once, with canaries. "
            "[default: function]",
            negative="",
            show_default=False,
        ),
    ] = (audit.Access.FUNCTION,),
    canaries: Annotated[Whole, Parameter(help="Canaries of one run.")] = 1_000,
    confidence: Confidence = 0.95,
    as_json: Json = False,
) -> None:
    r"""Plan an audit: what each design could show of a claim, and how long it takes.

    The power of a test follows from the claim, the number of samples and the confidence, so it is
    known beforehand: the smallest leak that is found with 90 % probability, and what it would take
    to find noise that is 1.2 times too small.

    For example:

        tellapart plan laplace --epsilon 1 --seconds 0.4 --budget 600
        tellapart plan --epsilon 8 --delta 1e-5 --seconds 180 \
            --budget 36000 --available trainings
        tellapart plan dpsgd --noise-multiplier 1 --sampling-rate 0.01 \
            --steps 1000 --seconds 180 --available steps --available one-run
    """
    given = values.given()
    if mechanism == "any" and not given:
        raise InvalidArgument("a claim must be given, such as --epsilon 1, or the name laplace")
    if seconds is None:
        raise InvalidArgument("--seconds must be given: how long one call or one training takes")
    subject, name, _ = asked(mechanism, given)
    with terminal.working("planning"):
        planned = audit.plan(
            subject,
            seconds=seconds,
            budget=budget,
            available=available,
            canaries=canaries,
            confidence=confidence,
        )

    def text(console: Console) -> None:
        for place, design in enumerate(planned.designs):
            terminal.title(console, f"{'Instead' if place else 'Plan'}: {planned.takes(design)}.")
            # Not wrapped, so that it can be copied.
            console.print(Text(f"  {_typed(design, mechanism, given)}"))
            for words in planned.shows(design):
                terminal.line(console, words)
            console.print()
        for words in planned.notes:
            terminal.line(console, words)

    designs = [
        {**design.data(), "command": _command(design, mechanism, given)}
        for design in planned.designs
    ]
    Output(as_json).say({"mechanism": name, **planned.data(), "designs": designs}, text)


# What is typed for a design that has a command; for the others, it is Python.
_COMMANDS = {
    "probe": "probe FILE.py:FUNCTION --d0 @WITHOUT.json --d1 @WITH.json",
    "one_run": "audit SCORES.csv --design one-run",
}


def _typed(design: PlannedDesign, mechanism: str, given: Mapping[str, float]) -> str:
    """The command that runs a design, else its call in Python."""
    return _command(design, mechanism, given) or f"{design.call}  # in Python"


def _command(design: PlannedDesign, mechanism: str, given: Mapping[str, float]) -> str | None:
    """The command that runs a design, with the claim as it was typed; None if there is none."""
    command = _COMMANDS.get(design.function)
    if command is None:
        return None
    claim = [] if mechanism == "any" else ["--mechanism", shlex.quote(mechanism)]
    for name, value in {**given, **design.options}.items():
        claim.append(f"--{name.replace('_', '-')}")
        claim += [] if value is True else [in_full(value)]
    return " ".join(["tellapart", command, *claim])


def in_full(value: float) -> str:
    """The number, to its last digit."""
    few = short(value)
    exact = int(value) if float(value).is_integer() else float(value)
    return few if float(few) == value else plain_exponent(repr(exact))
