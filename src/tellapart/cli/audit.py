"""`tellapart audit`: from membership-inference scores to a verdict on a privacy claim."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from cyclopts import Group, Parameter

from tellapart._checks import refuse
from tellapart.audit import (
    Band,
    Coins,
    Counts,
    Credible,
    Evidence,
    Fixed,
    Guessing,
    Independent,
    Matrix,
    Orientation,
    Outputs,
    Prior,
    Ranks,
    Scores,
    Split,
    Verdict,
    attacks,
    from_counts,
    judge,
    many_runs,
    metrics,
    one_run,
    reconstruction,
)
from tellapart.audit.attack_metrics import why_no_epsilon
from tellapart.audit.methods import Method
from tellapart.audit.summary import DESIGNS, AuditResult
from tellapart.audit.trainings import matrix_files
from tellapart.audit.trainings.attacks import Attack
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, Deltas, asked, deltas_at
from tellapart.cli.options import Knowledge, Option, Output, Page, Values, Verbose, Whole, option_of
from tellapart.cli.report_text import AuditAnswer, Claimed, Confidence, ReportAnswers
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.data import sources
from tellapart.errors import BadScores, InvalidArgument, NoColumn, Unsupported
from tellapart.mechanisms.subject import Subject


@Parameter(name="*", group=Group("Columns of the files", sort_key=2))
@dataclass(frozen=True)
class Columns:
    """Names of the columns, and the score direction."""

    score_column: Annotated[
        str | None,
        Parameter(
            help="Column of attack scores. Default: score, or the one that can be meant.",
            show_default=False,
        ),
    ] = None
    member_column: Annotated[
        str | None,
        Parameter(
            help="Column of labels: 1/0, true/false, yes/no, in/out, member/non-member or "
            "train/test. Default: member, or the one that can be meant.",
            show_default=False,
        ),
    ] = None
    member_value: Annotated[
        str | None,
        Parameter(
            help="The label of members where it is none of these; all others are non-members.",
            show_default=False,
        ),
    ] = None
    drop_missing: Annotated[
        bool,
        Parameter(
            help="Leave out rows without a score or a label, which are refused otherwise. The "
            "verdict counts them, as this may bias it.",
            negative="",
            show_default=False,
        ),
    ] = False
    run_column: Annotated[
        str | None,
        Parameter(
            help="Column of run ids: checks that scores are independent, as the design requires.",
            show_default=False,
        ),
    ] = None
    each_group: Annotated[
        str | None,
        Parameter(
            help="Audit each group in this column by itself, with an equal share of the level.",
            show_default=False,
        ),
    ] = None
    orientation: Annotated[
        Orientation, Parameter(help="Score direction: higher (or lower) means member.", negative="")
    ] = Orientation.HIGHER

    def read(self, given: Files, progress: Callable[[str, float], None]) -> Scores:
        """The scores in these files; where a column is missing, the options that name others."""
        try:
            return Scores.read(
                given.files or None,
                members=given.members,
                non_members=given.non_members,
                score=self.score_column,
                member=self.member_column,
                run=self.run_column,
                group=self.each_group,
                member_value=self.member_value,
                drop_missing=self.drop_missing,
                orientation=self.orientation,
                progress=progress,
            )
        except NoColumn as error:
            if not error.column:  # it says itself which options there are
                raise
            raise BadScores(f"{error}; {self._named_by(error.column)}") from error

    def _named_by(self, column: str) -> str:
        """The option that says which column is meant by this one."""
        if column == self.run_column:
            return "--run-column names the column of run ids"
        if column == self.each_group:
            return "--each-group names the column of groups"
        return "--score-column and --member-column name the columns"


@dataclass(frozen=True)
class Files:
    """Files of scores: of both sides, or one for each side."""

    files: tuple[str, ...]
    members: str | None = None
    non_members: str | None = None

    @property
    def paths(self) -> list[Path]:
        """The files themselves."""
        sides = [side for side in (self.members, self.non_members) if side is not None]
        named = [sources.matching(group)[1] for group in (self.files, *sides) if group]
        return [path for paths in named for path in paths]


@Parameter(name="*", group=Group("Statistical method", sort_key=3))
@dataclass(frozen=True)
class MethodOptions:
    """The confidence, and how thresholds are chosen."""

    confidence: Confidence = 0.95
    method: Annotated[
        Literal["ranks", "split", "band", "fixed", "joint-beta", "jeffreys", "independent"] | None,
        Parameter(
            help="How thresholds are chosen. ranks: pre-set ranks, the default of many-runs; "
            "split: one rank, chosen on held-out scores; band: a band over all thresholds; "
            "fixed: --threshold; joint-beta, jeffreys: Bayesian bounds, which cannot refute. "
            "For one-run: leave it out, and the claim fixes how many canaries to guess; split; or "
            "independent: canaries independent by the claim, which refutes the stated mechanism, "
            "not differential privacy.",
            show_default=False,
        ),
    ] = None
    threshold: Annotated[
        Option,
        Parameter(
            help="For fixed, joint-beta, jeffreys, and for the PPV of one-model: chosen before "
            "seeing these scores."
        ),
    ] = None
    guesses_in: Annotated[
        tuple[Whole, ...],
        Parameter(
            help="For one-run: how many canaries to guess “in”; repeated, several numbers share "
            "the level.",
            negative="",
            show_default=False,
        ),
    ] = ()
    guesses_out: Annotated[
        tuple[Whole, ...],
        Parameter(
            help="For one-run: how many canaries to guess “out”; as often as --guesses-in.",
            negative="",
            show_default=False,
        ),
    ] = ()
    share: Annotated[
        tuple[str, ...],
        Parameter(
            help="A share of the level, fixed before seeing these scores; may be repeated. With "
            "--each-group as group=0.5 (groups without one divide the rest), with several "
            "--guesses-in one number for each.",
            negative="",
            show_default=False,
        ),
    ] = ()
    seed: Annotated[Whole, Parameter(help="Random seed of --method split, and of matrices.")] = 0

    def for_many_runs(self, delta: float) -> Method:
        """The method for many runs."""
        self._unused("many-runs", "guesses_in", "guesses_out")
        if self.method == "independent":
            refuse("--method", "be left out with --design many-runs: runs are", self.method)
        at_one: dict[str | None, Callable[[float], Method]] = {
            "fixed": Fixed,
            "joint-beta": Credible,
            "jeffreys": lambda threshold: Credible(threshold, Prior.JEFFREYS),
        }
        if (self.method in at_one) != (self.threshold is not None):
            if self.threshold is None:
                refuse(
                    "--method",
                    "come with --threshold, chosen before seeing these scores",
                    self.method,
                )
            rule = "come with --method fixed, joint-beta or jeffreys, and only with them"
            refuse("--threshold", rule, self.threshold)
        if self.threshold is not None:
            return at_one[self.method](self.threshold)
        if self.method == "split":
            return Split(delta=delta, seed=self.seed)
        return Band() if self.method == "band" else Ranks()

    def shares(self, each_group: str | None) -> dict[str, float] | None:
        """The shares of the level, by group."""
        if self.share and each_group is None:
            refuse("--share", "come with --each-group, or with several --guesses-in", self.share[0])
        shares: dict[str, float] = {}
        for given in self.share:
            name, equals, share = given.rpartition("=")
            if not equals or name in shares:
                refuse("--share", "be written as group=0.5, once for a group", given)
            shares[name] = _share(share)
        return shares or None

    def for_one_run(self, delta: float) -> list[Guessing] | Split | Independent | None:
        """The method for one run; None lets the claim fix how many canaries to guess."""
        self._unused("one-run", "threshold")
        known: dict[str | None, Split | Independent | None] = {
            None: None,
            "split": Split(delta=delta, seed=self.seed),
            "independent": Independent(),
        }
        if self.method not in known:
            rule = "be split or independent, or be left out, with --design one-run"
            refuse("--method", rule, self.method)
        count = max(len(self.guesses_in), len(self.guesses_out))
        if self.share and len(self.share) != count:
            rule = f"be given for each of {count} numbers of guesses" if count else _NOT_SHARED
            refuse("--share", rule, " ".join(self.share))
        if not count:
            return known[self.method]
        if self.method is not None:
            refuse("--method", "be left out where guesses are given", self.method)
        sides = [side or (0,) * count for side in (self.guesses_in, self.guesses_out)]
        if {len(side) for side in sides} != {count}:
            refuse("--guesses-out", "be given as often as --guesses-in", self.guesses_out)
        shares = [_share(share) for share in self.share] or [1 / count] * count
        return [Guessing(*each) for each in zip(*sides, shares, strict=True)]

    def for_one_model(self, prior: float | None) -> None:
        """Nothing is to be looked for in one model but, with a prior, beyond one threshold."""
        self._unused("one-model", "method", "guesses_in", "guesses_out", "share")
        if prior is None and self.threshold is not None:
            rule = "come with --prior with --design one-model, for the PPV beyond it"
            refuse("--threshold", rule, self.threshold)

    def _unused(self, design: str, *options: str) -> None:
        for name in options:
            if (value := asdict(self)[name]) not in (None, ()):
                option = f"--{name.replace('_', '-')}"
                value = value[0] if isinstance(value, tuple) else value
                refuse(option, f"be left out with --design {design}", value)


_NOT_SHARED = "come with several --guesses-in with --design one-run"


def _share(given: str) -> float:
    """A share of the level as typed."""
    try:
        return float(given)
    except ValueError:
        refuse("--share", "end in a number, such as 0.5", given)


class _CountOptions(ABC):
    """Counts of what an attack got right, instead of files of scores."""

    of: ClassVar[str]

    @property
    def given(self) -> bool:
        """Whether any of them was."""
        return self != type(self)()

    @abstractmethod
    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show."""


@Parameter(
    name="*",
    group=Group("Counts of a reconstruction or attribute attack, instead of files", sort_key=3),
)
@dataclass(frozen=True)
class TargetOptions(_CountOptions):
    """How many targets an attack guessed right, and how many a blind guess would."""

    of: ClassVar[str] = "targets, such as --successes"

    successes: Annotated[
        Whole | None,
        Parameter(help="How many targets the attack guessed right.", show_default=False),
    ] = None
    trials: Annotated[
        Whole | None, Parameter(help="How many targets there were.", show_default=False)
    ] = None
    baseline: Annotated[
        Option,
        Parameter(
            help="How often the best blind guess is right, by someone who knows all other records: "
            "1/10 for a secret drawn from ten."
        ),
    ] = None
    control_successes: Annotated[
        Whole | None,
        Parameter(
            help="Instead of --baseline: how many targets that blind guess had right.",
            show_default=False,
        ),
    ] = None
    control_trials: Annotated[
        Whole | None, Parameter(help="Of how many targets it guessed.", show_default=False)
    ] = None
    shared_model: Annotated[
        bool,
        Parameter(
            help="All targets are in one model (or release), not each in its own: then only far "
            "more successes refute (Markov's inequality).",
            negative="",
            show_default=False,
        ),
    ] = False

    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show."""
        if design is not None:
            refuse("--design", f"be left out with counts of {self.of}", design)
        for option, other in (("successes", "trials"), ("control_successes", "control_trials")):
            this, that = getattr(self, option), getattr(self, other)
            if (this is None) != (that is None):
                both = f"{option_of(option)} and {option_of(other)}"
                raise InvalidArgument(f"{both} must be given together")
        if self.successes is None or self.trials is None:
            raise InvalidArgument(
                "--successes and --trials must be given, as in: tellapart audit --successes 31 "
                "--trials 100 --baseline 0.1 --epsilon 1"
            )
        control = None
        if self.control_successes is not None and self.control_trials is not None:
            control = self.control_successes, self.control_trials
        if (self.baseline is None) == (control is None):
            raise InvalidArgument(
                "--baseline must be given, or --control-successes and --control-trials of a blind "
                "guess; one of the two"
            )
        return reconstruction(
            successes=self.successes,
            trials=self.trials,
            baseline=self.baseline,
            control=control,
            independent=not self.shared_model,
            confidence=confidence,
        )


@Parameter(
    name="*", group=Group("Counts of a membership attack, instead of files: all four", sort_key=3)
)
@dataclass(frozen=True)
class FlaggedOptions(_CountOptions):
    """How many members and non-members an attack flagged, each in a run of its own."""

    of: ClassVar[str] = "flagged records, such as --true-positives"

    true_positives: Annotated[
        Whole | None, Parameter(help="How many members it flagged.", show_default=False)
    ] = None
    members: Annotated[
        str | None,
        Parameter(
            help="Of how many members; without --true-positives, a file of members' scores.",
            show_default=False,
        ),
    ] = None
    false_positives: Annotated[
        Whole | None, Parameter(help="How many non-members it flagged.", show_default=False)
    ] = None
    non_members: Annotated[
        str | None,
        Parameter(
            help="Of how many non-members; without --false-positives, a file of their scores.",
            show_default=False,
        ),
    ] = None

    def split(self, files: Sequence[str]) -> tuple[FlaggedOptions, Files]:
        """Counts and files apart: --members and --non-members may be either."""
        sides = {"members": self.members, "non_members": self.non_members}
        named = {name: text for name, text in sides.items() if text and not text.isdecimal()}
        if not named:
            return self, Files(tuple(files))
        counted = (self.true_positives, self.false_positives) != (None, None)
        if set(sides) - set(named) or counted or files:
            raise InvalidArgument(
                "--members and --non-members must be given together, each a file of scores and "
                "without other files; or each a number, with --true-positives and "
                "--false-positives"
            )
        return type(self)(), Files((), **named)

    def evidence(self, design: str | None, confidence: float) -> Evidence:
        """What the counts show, of an attack that was settled before."""
        counts = {
            name: int(count) if isinstance(count, str) else count
            for name, count in asdict(self).items()
        }
        if missing := [option_of(name) for name, count in counts.items() if count is None]:
            raise InvalidArgument(
                f"{', '.join(missing)} must be given, too, as in: tellapart audit "
                "--true-positives 90 --members 100 --false-positives 10 --non-members 100 "
                "--design many-runs --epsilon 1"
            )
        if design != "many-runs":
            rule = "be many-runs with counts: each record was attacked in a run of its own"
            refuse("--design", rule, design)
        return from_counts(Counts(**counts), confidence)


@Parameter(name="*", group=Group("A matrix of models by records, instead of scores", sort_key=3))
@dataclass(frozen=True)
class MatrixOptions:
    """How the training sets of many models were drawn, what the numbers are, and the attack."""

    coins: Annotated[
        Literal["independent", "fixed-size", "balanced", "one-record"] | None,
        Parameter(
            help="How training sets were drawn. independent: a coin for each record and model; "
            "fixed-size: random subsets of one size; balanced: each record in as many models as "
            "any other; one-record: models differ in one record. Known for folders of LiRA's "
            "reference code and of Privacy Meter.",
            show_default=False,
        ),
    ] = None
    inclusion: Annotated[
        str | None,
        Parameter(help="The mask, an .npy file: who was in which model.", show_default=False),
    ] = None
    outputs: Annotated[
        Literal["confidence", "loss", "logit", "score"] | None,
        Parameter(help="What the numbers are, if their name does not say.", show_default=False),
    ] = None
    attack: Annotated[
        Literal["lira", "lira-offline", "rmia", "rmia-offline"] | None,
        Parameter(
            help="An attack that learns from other models; without it numbers are scores.",
            show_default=False,
        ),
    ] = None
    audited_model: Annotated[
        Whole | None,
        Parameter(help="For one-run: which row, from 0. Default: 0.", show_default=False),
    ] = None

    def read_from(self, files: Sequence[str]) -> bool:
        """Whether these files are a matrix."""
        return self != MatrixOptions() or any(matrix_files.is_matrix(file) for file in files)

    def evidence(
        self,
        files: Sequence[str],
        design: str,
        claim: Subject | None,
        delta: float,
        columns: Columns,
        looking: MethodOptions,
    ) -> Evidence:
        """What the matrix shows, read by the design."""
        if len(files) != 1:
            refuse("a matrix", "be one file or folder", " ".join(files))
        for name, value in asdict(columns).items():
            if value != asdict(Columns(orientation=columns.orientation))[name]:
                refuse(option_of(name), "be left out with a matrix", value)
        looking._unused(f"{design} of a matrix", "method", "threshold", "guesses_in", "guesses_out")
        options: dict[str, Any] = {"orientation": columns.orientation, "inclusion": self.inclusion}
        if self.coins is not None:
            options["coins"] = Coins(self.coins)
        if self.outputs is not None:
            options["outputs"] = Outputs(self.outputs)
        matrix = Matrix.read(files[0], **options)
        kinds: dict[str, Callable[[bool], Attack]] = {
            "lira": lambda online: attacks.Lira(online=online),
            "rmia": lambda online: attacks.Rmia(online=online),
        }
        attack = None
        if self.attack is not None:
            kind, _, offline = self.attack.partition("-")
            attack = kinds[kind](not offline)
        if self.audited_model is not None and design != "one-run":
            refuse("--audited-model", "come with --design one-run", self.audited_model)
        if design == "many-runs":
            return matrix.by_record(looking.confidence, attack=attack, delta=delta)
        if design == "one-run":
            row = self.audited_model or 0
            return matrix.one_run(
                row, looking.confidence, attack=attack, claim=claim, seed=looking.seed
            )
        if design != "pooled":
            refuse("--design", "be one-run, pooled or many-runs with a matrix", design)
        return matrix.pooled(looking.confidence, attack=attack, claim=claim, seed=looking.seed)


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
    counted: _CountOptions | None = next((x for x in (targets, flagged) if x.given), None)
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
        refuse("--design", "be another for scores: pooled reads a matrix", design)
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
