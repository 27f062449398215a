"""The command that probes: from a function, or any program, and two inputs to a verdict."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from tellapart import audit
from tellapart import report as reporting
from tellapart._checks import refuse
from tellapart.cli import loading, show, telling
from tellapart.cli.deltas import Asked, AtDelta, asked
from tellapart.cli.options import (
    Claimed,
    Filing,
    Knowledge,
    Option,
    Output,
    Page,
    Values,
    typed,
)
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.errors import InvalidArgument


@Parameter(name="*", group=Group("How to look", sort_key=3))
@dataclass(frozen=True)
class Calling:
    """How often to call, and how sure to be."""

    samples: Annotated[float, Parameter(help="Calls on each input, a whole number.")] = 100_000
    until_decided: Annotated[
        bool,
        Parameter(
            negative="",
            help="Stop as soon as the claim, which must be of ε and δ, is refuted or out of reach "
            "within --samples.",
            show_default=False,
        ),
    ] = False
    confidence: Annotated[
        float, Parameter(help="Least chance that nothing at all is falsely claimed, below 1.")
    ] = 0.95
    timeout: Annotated[
        Option,
        Parameter(help="Seconds after which a call is cut off; that is an output, too."),
    ] = None
    seed: Annotated[
        int, Parameter(help="Draws all that is drawn; with one seed it always says the same.")
    ] = 0
    folder: Annotated[
        Path | None,
        Parameter(
            help="Keep finished calls here, so that the same command goes on after it was killed.",
            show_default=False,
        ),
    ] = None


def probe(
    function: Annotated[
        str | None,
        Parameter(
            help="What to call: package.module:function, or path/to/file.py:function.",
            show_default=False,
        ),
    ] = None,
    /,
    *,
    d0: Annotated[
        str | None,
        Parameter(help="An input, as JSON, or as @file.json; must be given.", show_default=False),
    ] = None,
    d1: Annotated[
        str | None,
        Parameter(
            help="Its neighbour: the same with one person more, say; must be given.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        str | None,
        Parameter(
            help="A program to probe instead of a function. For every call it reads one line, "
            '{"data": ..., "seed": 123}, and prints one line of JSON, its output. The seed is new '
            "each time; using it is optional.",
            show_default=False,
        ),
    ] = None,
    mechanism: Claimed = None,
    values: Values = Values(),
    at_delta: AtDelta = (),
    calling: Calling = Calling(),
    knowledge: Knowledge = Knowledge(),
    filing: Filing = Filing(),
    report: Page = None,
    output: Output = Output(),
) -> int:
    r"""Whether code keeps its privacy claim: call it often on two inputs, and tell them apart.

    The function is called as function(data), with data as JSON has it: lists, numbers, texts,
    dictionaries. If it has a parameter rng, it is handed a NumPy generator; if it has a parameter
    size, it is asked for many outputs at once. Outputs may be anything. What takes a table, or
    more than data, needs a function around it: def f(rows): return mean(pd.DataFrame(rows), 1.0).

    The two inputs must be neighbours, such as data with and without one person.

    The exit code is 1 if the claim is refuted, 0 if not, 2 if something is wrong or cannot be
    judged.

    What an attacker knows beforehand changes no verdict: a report says what the claim means to it.

    For example:

        tellapart probe mycode.release:noisy_count \
            --d0 '[3, 1]' --d1 '[3, 1, 4]' --epsilon 1
        tellapart probe release.py:noisy_mean \
            --d0 @without.json --d1 @with.json \
            --mechanism gaussian --sigma 2 --report probe.html
        tellapart probe --command './release --fast' \
            --d0 3 --d1 4 --epsilon 1 --until-decided
    """
    if (function is None) == (command is None):
        raise InvalidArgument(
            "one thing to probe must be given: package.module:function, path/to/file.py:function, "
            "or --command './program'"
        )
    (absent, one), (present, two) = loading.value("--d0", d0), loading.value("--d1", d1)
    claim, name, deltas = _claim(mechanism, values, at_delta)
    if json.dumps(absent) == json.dumps(present):
        refuse("--d1", "differ from --d0", d1)
    if output.plot is not None and calling.until_decided:
        rule = "be left out with --until-decided, which shows no curve"
        refuse("--plot", rule, str(output.plot))
    page = None if report is None else reporting.target(report)
    prior, answers = knowledge.prior_inside(), filing.answers()
    with show.working("calling") as progress, _probed(function, command) as probed:
        verdict = audit.probe(
            probed,
            absent,
            present,
            claim=claim,
            samples=calling.samples,  # type: ignore[arg-type] # checked there
            confidence=calling.confidence,
            seed=calling.seed,
            timeout=calling.timeout,
            until_decided=calling.until_decided,
            folder=calling.folder,
            progress=lambda share: progress("calling", share),
        )
    if not isinstance(claim, GuaranteeCurve | GaussianCurve):
        verdict = replace(verdict, name=name)
    with show.working("judging"):
        told = reporting.of(
            verdict,
            files=one + two,
            seed=calling.seed,
            command=shlex.join(["tellapart", *typed.get()]),
            brief=page is None and not output.as_json,
            unit=filing.unit,
            prior=prior,
            delta=deltas.asked,
            answers=answers,
        )
    return telling.give(told, page, output, lambda: _picture(verdict))


def _claim(mechanism: str | None, values: Values, more: tuple[float, ...]) -> Asked:
    given = values.given()
    if mechanism is None and not given:
        raise InvalidArgument("a claim must be given, such as --epsilon 1, or --mechanism laplace")
    return asked(mechanism or "any", given, more)


@contextmanager
def _probed(function: str | None, command: str | None) -> Iterator[Callable[..., Any]]:
    """What is to be called, for as long as it is."""
    if function is not None:
        with loading.function(function) as found:
            yield found
    if command is not None:
        yield audit.Program(command)


def _picture(verdict: audit.Verdict) -> Any:
    from tellapart import plot

    return plot.audit(verdict)
