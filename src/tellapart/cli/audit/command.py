"""`tellapart audit`: from membership-inference scores to a verdict on a privacy claim."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from cyclopts import Parameter

from tellapart._checks import refuse
from tellapart.audit import Evidence, Scores, Verdict, judge, many_runs, metrics, one_run
from tellapart.audit.attack_metrics import why_no_epsilon
from tellapart.audit.summary import DESIGNS, AuditResult
from tellapart.cli import terminal
from tellapart.cli.audit.counts import CountOptions, FlaggedOptions, TargetOptions
from tellapart.cli.audit.matrix import MatrixOptions
from tellapart.cli.audit.method import MethodOptions
from tellapart.cli.audit.score_files import Columns, Files
from tellapart.cli.deltas import AtDelta, Deltas, asked, deltas_at
from tellapart.cli.options import Knowledge, Output, Page, Values, Verbose, option_of
from tellapart.cli.report_text import AuditAnswer, Claimed, ReportAnswers
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.errors import InvalidArgument, Unsupported
from tellapart.mechanisms.subject import Subject


def _refuse_scores(
    counts: str, files: Sequence[str], columns: Columns, looking: MethodOptions
) -> None:
    """Refuse what speaks of scores: these are only counted."""
    rule = f"be left out with counts of {counts}"
    if files:
        refuse("a score file", rule, " ".join(files))
    given = asdict(looking) | asdict(columns)
    usual = asdict(MethodOptions(looking.confidence)) | asdict(Columns())
    for name, value in given.items():
        if value != usual[name]:
            refuse(option_of(name), rule, value)


def audit(
    *files: Annotated[
        str,
        Parameter(
            help="Score files: .csv, .tsv, .txt, .json, .jsonl (also with .gz), .npy, .npz, "
            ".parquet or .feather, also as a pattern such as 'runs/*.csv'."
        ),
    ],
    design: Annotated[
        Literal["many-runs", "one-run", "one-model", "pooled"] | None,
        Parameter(
            help="Experimental design; required but for --successes and --trials.",
            show_default=False,
        ),
    ] = None,
    mechanism: Claimed = None,
    values: Values = Values(),
    at_delta: AtDelta = (),
    columns: Columns = Columns(),
    looking: MethodOptions = MethodOptions(),
    targets: TargetOptions = TargetOptions(),
    flagged: FlaggedOptions = FlaggedOptions(),
    matrix: MatrixOptions = MatrixOptions(),
    knowledge: Knowledge = Knowledge(),
    filing: ReportAnswers = ReportAnswers(),
    report: Page = None,
    verbose: Verbose = False,
    output: Output = Output(),
) -> int:
    r"""Test a privacy claim with membership-inference scores: refuted or not, with p-value and ε.

    Give a file of scores, their experimental design, and the claim:

        tellapart audit scores.csv --design many-runs --epsilon 1

    A file has a column `score` and a column `member` (1 for members, 0 for non-members), or columns
    that can be told by their names; or there is a file for each side. What was inferred is printed
    before the verdict:

        tellapart audit --members in.npy --non-members out.npy \
            --design many-runs --epsilon 1

    The designs:

    - many-runs: every score is of its own independent training or call;
    - one-run: one training, every canary in or out by its own fair coin;
    - one-model: one trained model; attack metrics only, no bound on ε, no verdict.

    A matrix of models by records with its mask (.npz, .parquet, a folder of LiRA's reference code
    or of Privacy Meter) has designs of its own: one-run reads one model, pooled all held-out
    models together, many-runs the most exposed record:

        tellapart audit exp/cifar10 --design one-run \
            --attack lira --epsilon 8 --delta 1e-5

    Exit code: 1 if the claim is refuted, 0 if not, 3 for no verdict (no claim, a Bayesian method,
    or too few scores for any outcome to refute the claim). The attacker's prior changes no
    verdict; it is used in the report, and for the PPV of one-model.

    More examples:

        tellapart audit 'runs/*.parquet' --design many-runs \
            --mechanism gaussian --sigma 2 --report audit.html
        tellapart audit canaries.npz --design one-run \
            --epsilon 8 --delta 1e-5
        tellapart audit losses.csv --design one-model \
            --orientation lower --prior 0.01

    Or give counts: how many targets an attack reconstructed (or guessed an attribute of), each in
    a model of its own, beside how often a blind guess is right. The lower bound on its gain, and
    the verdict, are exact:

        tellapart audit --successes 31 --trials 100 \
            --baseline 0.1 --epsilon 1

    Or how many members and non-members an attack flagged, which was settled before:

        tellapart audit --true-positives 90 --members 100 \
            --false-positives 10 --non-members 100 \
            --design many-runs --epsilon 1
    """
    flagged, given = flagged.split(files)
    counted: CountOptions | None = next((x for x in (targets, flagged) if x.given), None)
    if targets.given and flagged.given:
        option, count = next((name, x) for name, x in asdict(flagged).items() if x is not None)
        refuse(option_of(option), f"be left out with counts of {targets.of}", count)
    if counted is not None:
        _refuse_scores(counted.of, files, columns, looking)
    elif given == Files(()):
        raise InvalidArgument(
            "a score file must be given, such as: tellapart audit scores.csv --design many-runs"
        )
    elif design is None:
        known = "; ".join(f"{name} ({words.meaning})" for name, words in DESIGNS.items())
        raise InvalidArgument(f"--design must be given: {known}")
    claim, name, deltas = _claim(mechanism, values, at_delta, design)
    if output.plot is not None and design in ("one-run", "one-model", "pooled"):
        rule = f"be left out with --design {design}, which shows no curve"
        refuse("--plot", rule, str(output.plot))
    answer = AuditAnswer.asked(report, output, filing, knowledge, deltas, verbose)
    stated = any(value is not None for value in asdict(knowledge).values())
    prior = knowledge.prior_inside() if stated else None
    result: AuditResult
    if counted is not None:
        with terminal.working("testing"):
            evidence = counted.evidence(design, looking.confidence)
            result = _held_against(claim, name, evidence)
        return answer.give(result)
    if matrix.read_from(files):
        with terminal.working("testing"):
            delta = 0.0 if deltas.is_default else deltas.first
            evidence = matrix.evidence(files, str(design), claim, delta, columns, looking)
            result = _held_against(claim, name, evidence)
        return answer.give(result, files=[file for file in files if os.path.isfile(file)])
    if design == "pooled":
        rule = "be another for scores: pooled reads a matrix with its mask (--coins, --inclusion)"
        refuse("--design", rule, design)
    with terminal.working("reading scores") as progress:
        scores = columns.read(given, progress)
    if scores.notes:
        terminal.aside(f"Inferred from the file: {'; '.join(scores.notes)}.")
    with terminal.working("testing"):
        result = _judged(scores, str(design), claim, name, deltas, columns, looking, prior)
    return answer.give(
        result,
        scores=scores,
        files=given.paths,
        seed=looking.seed if looking.method == "split" else None,
    )


def _claim(
    mechanism: str | None, values: Values, more: tuple[float, ...], design: str | None
) -> tuple[Subject | None, str, Deltas]:
    """The claim, what to call it, and where ε is told."""
    given = values.given()
    if mechanism is None and not given:
        return None, "", deltas_at(None, more)
    if design == "one-model":
        raise Unsupported(f"no claim can be judged with --design one-model: {why_no_epsilon(1)}")
    return asked(mechanism or "any", given, more)


def _judged(
    scores: Scores,
    design: str,
    claim: Subject | None,
    name: str,
    deltas: Deltas,
    columns: Columns,
    looking: MethodOptions,
    prior: float | None,
) -> AuditResult:
    grouped = columns.each_group is not None
    if grouped and design != "many-runs":
        refuse("--each-group", f"be left out with --design {design}", columns.each_group)
    if design == "one-model":
        looking.for_one_model(prior)
        return metrics(
            scores, prior=prior, threshold=looking.threshold, confidence=looking.confidence
        )
    delta = 0.0 if deltas.is_default else deltas.first
    evidence: Evidence
    if design == "one-run":
        method_of_one = looking.for_one_run(delta)
        evidence = one_run(scores, looking.confidence, method_of_one, claim=claim)
    else:
        method = looking.for_many_runs(delta)
        shares = looking.shares(columns.each_group)
        evidence = many_runs(scores, looking.confidence, method, each_group=grouped, shares=shares)
    return _held_against(claim, name, evidence)


def _held_against(claim: Subject | None, name: str, evidence: Evidence) -> Verdict | Evidence:
    if claim is None:
        return evidence
    plain = isinstance(claim, GuaranteeCurve | GaussianCurve)
    return judge(claim, evidence, name=None if plain else name)
