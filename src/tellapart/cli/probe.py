"""`tellapart probe`: black-box test of a function or a program on two neighbouring inputs."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from tellapart import audit, run
from tellapart._checks import refuse
from tellapart.audit.probing.pace import SlowProbe
from tellapart.cli import terminal
from tellapart.cli.deltas import Asked, AtDelta, asked
from tellapart.cli.options import (
    Knowledge,
    Option,
    Output,
    Page,
    Switch,
    TextOption,
    Values,
    Verbose,
)
from tellapart.cli.process import child_process, limits
from tellapart.cli.report_text import AuditAnswer, Claimed, Confidence, ReportAnswers
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.data import sources
from tellapart.errors import InvalidArgument


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: of two values of one key, JSON would drop the first."""
    held = dict(pairs)
    if len(held) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return held


def load_value(option: str, text: str | None) -> tuple[Any, list[str]]:
    """An input that was given as JSON, or as @ and a file of it; and the file, if there is one."""
    if text is None:
        raise InvalidArgument(
            "--d0 and --d1 must be given: two neighbouring inputs as JSON, such as --d0 '[3, 1]' "
            "--d1 '[3, 1, 4]'"
        )
    files = [text[1:]] if text.startswith("@") else []
    try:
        held = sources.text(files[0]) if files else text
        return json.loads(held, object_pairs_hook=_named_once), files
    except (ValueError, RecursionError) as error:  # no JSON, or no text at all, or too deep
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        raise InvalidArgument(
            f"{option} must be JSON, such as '[3, 1]', '\"text\"' or @file.json, got {shown} "
            f"({error})"
        ) from error


@Parameter(name="*", group=Group("Calls and statistical method", sort_key=3))
@dataclass(frozen=True)
class CallOptions:
    """How often to call, and at which confidence."""

    samples: Annotated[
        Option,
        Parameter(
            help="Calls on each input, a whole number; by default as many as take about a minute, "
            "from 200 to 100,000."
        ),
    ] = None
    seconds: Annotated[
        Option,
        Parameter(
            help="Budget of seconds for calls: as many as fit are made, and none is begun later; "
            "exit code 3 where that is too little for a verdict. Working out the verdict takes "
            "some seconds more."
        ),
    ] = None
    until_decided: Annotated[
        Switch,
        Parameter(
            help="Sequential test of a claim of ε and δ: stop as soon as it is refuted, or can no "
            "longer be within --samples."
        ),
    ] = False
    confidence: Confidence = 0.95
    timeout: Annotated[
        Option,
        Parameter(help="Seconds after which a call is stopped; that counts as an output."),
    ] = None
    seed: Annotated[int, Parameter(help="Random seed; the same seed gives the same answer.")] = 0
    folder: Annotated[
        Path | None,
        Parameter(
            help="Checkpoint: keep finished calls here, so that a killed command can go on. Draws "
            "other random numbers than the same seed without a folder.",
            show_default=False,
        ),
    ] = None


def probe(
    function: Annotated[
        TextOption,
        Parameter(
            help="The function to test: path/to/file.py:function, or package.module:function."
        ),
    ] = None,
    /,
    *,
    d0: Annotated[
        TextOption, Parameter(help="An input, as JSON or as @file.json; required.")
    ] = None,
    d1: Annotated[
        TextOption, Parameter(help="A neighbouring input, with one person more, say; required.")
    ] = None,
    command: Annotated[
        TextOption,
        Parameter(
            help="A program to test instead of a function. For every call it reads a line "
            '{"data": ..., "seed": 123} and prints its output as one line of JSON. The seed is new '
            "for each call; using it is optional."
        ),
    ] = None,
    mechanism: Claimed = None,
    values: Values = Values(),
    at_delta: AtDelta = (),
    calling: CallOptions = CallOptions(),
    knowledge: Knowledge = Knowledge(),
    filing: ReportAnswers = ReportAnswers(),
    report: Page = None,
    verbose: Verbose = False,
    output: Output = Output(),
) -> int:
    r"""Test whether code keeps its privacy claim: call it often on two neighbouring inputs.

    Give a function, two neighbouring inputs as JSON (data with and without one person, say), and
    the claim:

        tellapart probe release.py:noisy_count \
            --d0 '[3, 1]' --d1 '[3, 1, 4]' --epsilon 1

    The function is called as function(data); a parameter rng is given a NumPy generator,
    and a parameter size is asked for many outputs at once. Outputs may be anything. What takes a
    table, or more than data, needs a wrapper: def f(rows): return mean(pd.DataFrame(rows), 1.0).

    The code runs in a process of its own, with your rights. Exit code: 1 if the claim is refuted,
    0 if not, 3 for no verdict (calls share noise, the code ends its process, or there are too few
    calls for any outcome to refute the claim). The attacker's prior changes no verdict; it is used
    in the report.

    More examples:

        tellapart probe mycode.release:noisy_mean \
            --d0 @without.json --d1 @with.json \
            --mechanism gaussian --sigma 2 --report probe.html
        tellapart probe --command './release --fast' \
            --d0 3 --d1 4 --epsilon 1 --until-decided
    """
    if (function is None) == (command is None):
        raise InvalidArgument(
            "one function or program must be given: path/to/file.py:function, "
            "package.module:function, or --command './program'"
        )
    (absent, d0_file), (present, d1_file) = load_value("--d0", d0), load_value("--d1", d1)
    claim, name, deltas = _claim(mechanism, values, at_delta)
    if json.dumps(absent) == json.dumps(present):
        refuse("--d1", "differ from --d0", d1)
    if output.plot is not None and calling.until_decided:
        rule = "be left out with --until-decided, which shows no curve"
        refuse("--plot", rule, str(output.plot))
    answer = AuditAnswer.asked(report, output, filing, knowledge, deltas, verbose)
    with terminal.working("calling") as progress:
        question = _ProbeQuestion(
            (absent, present), mechanism, values, calling, output.plot is not None
        )

        tell: run.Progress = partial(progress, "calling")
        if not calling.until_decided:  # which may end at any time
            tell = limits.foreseen(tell)
        if function is not None:
            verdict = child_process.call(
                partial(_of_function, function, question), child_process.IMPORTED, tell
            )
        else:
            verdict = question.of(audit.Program(command or ""), tell)
    if not isinstance(claim, GuaranteeCurve | GaussianCurve):
        verdict = replace(verdict, name=name)
    return answer.give(verdict, files=d0_file + d1_file, seed=calling.seed)


def _claim(mechanism: str | None, values: Values, more: tuple[float, ...]) -> Asked:
    given = values.given()
    if mechanism is None and not given:
        raise InvalidArgument("a claim must be given, such as --epsilon 1, or --mechanism laplace")
    return asked(mechanism or "any", given, more)


@dataclass(frozen=True)
class _ProbeQuestion:
    """A question about code, complete enough to be asked in another process."""

    inputs: tuple[Any, Any]
    mechanism: str | None
    values: Values
    calling: CallOptions
    draws: bool  # a picture needs a curve, which a sequential test does not show

    def of(self, probed: Callable[..., Any], progress: run.Progress) -> audit.Verdict:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SlowProbe)
            warnings.showwarning = lambda message, *_: terminal.aside(f"Note: {message}.")
            return audit.probe(
                probed,
                *self.inputs,
                claim=_claim(self.mechanism, self.values, ()).subject,
                samples=self.calling.samples,  # type: ignore[arg-type] # checked there
                confidence=self.calling.confidence,
                seed=self.calling.seed,
                seconds=self.calling.seconds,
                timeout=self.calling.timeout,
                until_decided=self.calling.until_decided or (False if self.draws else None),
                folder=self.calling.folder,
                progress=progress,
            )


def _of_function(function: str, question: _ProbeQuestion, say: child_process.Say) -> audit.Verdict:
    """Load the code, then call it: in a process that it may end."""
    probed = child_process.load_function(function)
    say(child_process.CALLED)
    return question.of(probed, say)
