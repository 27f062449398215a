"""The command that audits: from files of attack scores to a verdict on a claim."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from tellapart import report as reporting
from tellapart._checks import refuse
from tellapart.audit import (
    Evidence,
    Metrics,
    Scores,
    judge,
    many_runs,
    metrics,
    one_run,
)
from tellapart.audit._metrics import why_no_epsilon
from tellapart.cli import show, telling
from tellapart.cli.deltas import AtDelta, Deltas, asked, told_at
from tellapart.cli.looking import Columns, Looking
from tellapart.cli.options import Claimed, Filing, Knowledge, Output, Page, Values, typed
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.data import paths
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.subject import Subject
from tellapart.report import DESIGNS
from tellapart.report.model import Found


def audit(
    *files: Annotated[
        str,
        Parameter(
            help="Scores: .csv or .csv.gz (commas, semicolons or tabs; the first row names the "
            "columns), .parquet or .npz. Patterns are expanded."
        ),
    ],
    design: Annotated[
        Literal["many-runs", "one-run", "one-model"] | None,
        Parameter(help="How the scores came about; must be given.", show_default=False),
    ] = None,
    mechanism: Claimed = None,
    values: Values = Values(),
    at_delta: AtDelta = (),
    columns: Columns = Columns(),
    looking: Looking = Looking(),
    knowledge: Knowledge = Knowledge(),
    filing: Filing = Filing(),
    report: Page = None,
    output: Output = Output(),
) -> int:
    r"""What attack scores say of a privacy claim: refuted or not, and how sure that is.

    A file has one row per score, and a column that says whether the record was in. Columns of
    other names than score and member are named by --score-column and --member-column. The design
    says how the scores came about:

    - many-runs: every score is of its own independent training or call;
    - one-run: one training, every canary in or out by its own fair coin;
    - one-model: one trained model; attack metrics only, no bound on ε, no verdict.

    The exit code is 1 if the claim is refuted, 0 if not, 3 if nothing was judged, as without a
    claim or by a Bayesian method.

    What an attacker knows beforehand changes no verdict: a report says what the claim means to it.

    For example:

        tellapart audit scores.csv --design many-runs \
            --epsilon 1 --delta 1e-5
        tellapart audit 'runs/*.parquet' --design many-runs \
            --mechanism gaussian --sigma 2 --report audit.html
        tellapart audit canaries.npz --design one-run \
            --epsilon 8 --delta 1e-5
        tellapart audit attack.csv --design one-model \
            --orientation lower
    """
    if not files:
        raise InvalidArgument("files must be given: tellapart audit scores.csv --design …")
    if design is None:
        told = "; ".join(f"{name} ({words.meaning})" for name, words in DESIGNS.items())
        raise InvalidArgument(f"--design must say how the scores came about: {told}")
    claim, name, deltas = _claim(mechanism, values, at_delta, design)
    if output.plot is not None and design != "many-runs":
        rule = f"be left out with --design {design}, which shows no curve"
        refuse("--plot", rule, str(output.plot))
    page = None if report is None else reporting.target(report)
    prior, answers = knowledge.prior_inside(), filing.answers()
    with show.working("reading scores") as progress:
        scores = columns.read(files, progress)
    with show.working("looking"):
        found = _found(scores, design, claim, name, deltas, columns, looking)
        told_all = reporting.of(
            found,
            scores=scores,
            files=paths.found(files)[1],
            seed=looking.seed if looking.method == "split" else None,
            command=shlex.join(["tellapart", *typed.get()]),
            brief=page is None and not output.as_json,
            unit=filing.unit,
            prior=prior,
            delta=deltas.asked,
            answers=answers,
        )
    return telling.give(told_all, page, output, lambda: _picture(found))


def _claim(
    mechanism: str | None, values: Values, more: tuple[float, ...], design: str
) -> tuple[Subject | None, str, Deltas]:
    """The claim, what to call it, and where ε is told."""
    given = values.given()
    if mechanism is None and not given:
        return None, "", told_at(None, more)
    if design == "one-model":
        raise Unsupported(f"no claim can be judged with --design one-model: {why_no_epsilon(1)}")
    return asked(mechanism or "any", given, more)


def _found(
    scores: Scores,
    design: str,
    claim: Subject | None,
    name: str,
    deltas: Deltas,
    columns: Columns,
    looking: Looking,
) -> Found:
    grouped = columns.each_group is not None
    if grouped and design != "many-runs":
        refuse("--each-group", f"be left out with --design {design}", columns.each_group)
    if design == "one-model":
        looking.none()
        return metrics(scores)
    delta = 0.0 if deltas.is_default else deltas.first
    evidence: Evidence
    if design == "one-run":
        evidence = one_run(scores, looking.confidence, looking.one(delta))
    else:
        method = looking.many(delta)
        evidence = many_runs(scores, looking.confidence, method, each_group=grouped)
    if claim is None:
        return evidence
    plain = isinstance(claim, GuaranteeCurve | GaussianCurve)
    return judge(claim, evidence, name=None if plain else name)


def _picture(found: Found) -> Any:
    from tellapart import plot

    return None if isinstance(found, Metrics) else plot.audit(found)
