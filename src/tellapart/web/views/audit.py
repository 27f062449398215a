"""Audit: membership-inference scores against a claim, as a picture, a verdict and a report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart import report as reporting
from tellapart._checks import inside_unit, refuse
from tellapart._numeric.text import Scale
from tellapart.audit import Orientation, Scores, judge, many_runs, metrics, one_run
from tellapart.audit.bounds import percent
from tellapart.audit.summary import DELTAS, DESIGNS, AuditResult, AuditSummary, summarise
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.data.columns import Names
from tellapart.data.reading import Preview
from tellapart.drawing.record import Drawing, Mark
from tellapart.errors import InvalidArgument, NoColumn, TellapartError
from tellapart.mechanisms.catalogue import KINDS, parse
from tellapart.mechanisms.subject import curve_of
from tellapart.report import Report
from tellapart.report.model import Input
from tellapart.web import controls, limits
from tellapart.web.answer import Answer, Next, NumberCard, Table, Words
from tellapart.web.controls import Control, ControlGroup, Dial, File, Kept, Line, Select, Tick
from tellapart.web.server import example
from tellapart.web.view import Dropped, View
from tellapart.web.views import evidence, score_file
from tellapart.web.views.compare import called

_DESIGNS = {
    "many-runs": "many runs, one score each",
    "one-run": "one run, canaries by fair coins",
    "one-model": "one model, no verdict",
}
# Whoever has not said how the scores were made is told what they are, not what they prove.
_UNSAID = "how were the scores made?"
_ORIENTATIONS = {
    "higher": "higher means member",
    "lower": "lower means member, as for a loss",
    "either": "not known: test both",
}
_PATH = "\"$(python -c 'from tellapart.web import example; print(example())')\""
_SAY = 'print(told.headline, *told.reasons, sep="\\n")\n'
_MEGABYTES = limits.LARGEST_FILE // 2**20
_MINUTES = round(limits.LONGEST_VISIT / 60)
_LOOKED = (
    "Design, direction, confidence and columns were chosen before any result of these scores was "
    "seen: trying others afterwards is a further test that this budget does not cover."
)
_CLAIMS = {
    "many-runs": "Testing several claims needs no correction.",
    "one-run": "So was the claim, which fixes how many canaries are guessed: on this page another "
    "claim is another test.",
}


@dataclass(frozen=True)
class AuditState:
    """What the view shows, but for the file: that stays with the person."""

    mechanism: str = KINDS["any"].first_text
    design: str = ""
    orientation: str = ""
    confidence: float = 0.95
    score: str = ""  # found in the file where it is not said
    member: str = ""
    run: str = ""
    example: bool = False
    picture: str = "roc"


def _controls_of(state: AuditState, dropped: Dropped | None = None) -> list[Control]:
    """Three steps, of which the next is offered once the one before is done."""
    held = _held(state, dropped)
    return [
        *_file_step(state, held),
        *_design_step(state),
        *_claim_step(state, judged(state) and held is not None),
    ]


def _file_step(state: AuditState, held: Dropped | None) -> list[Control]:
    file = File(
        "file",
        "Scores: pick a file, or drop it here",
        ".csv,.tsv,.txt,.json,.jsonl,.gz,.npy,.npz,.parquet,.feather",
        limits.LARGEST_FILE,
        f"A table of scores (.csv, .json, .npz, .parquet …), up to {_MEGABYTES} MB. It is sent "
        "to the machine that serves this page (your own with tellapart explore) and held in its "
        f"memory, on no disk, until you remove it or {_MINUTES} minutes after the last question.",
        instead_of="example",
        awaited="" if held else "First the scores: pick a file, or the example, in All settings.",
    )
    example = Tick(
        "example",
        "use the example scores",
        state.example,
        "Of many runs: Laplace noise that is half as large as ε = 1 needs.",
    )
    seen = Preview((), ())
    if held is not None:
        with suppress(TellapartError):  # the audit says what is wrong with the file
            seen = score_file.seen_in(held)
    there = seen.columns
    columns: tuple[Line | Select, ...] = (
        _column("score", "attack score", state.score, there, seen.score),
        _column("member", "1 for members, 0 for non-members", state.member, there, seen.member),
        _column(
            "run", "run id of each row, if there is such a column", state.run, there, None, "none"
        ),
    )
    # While the file lacks one that it is read by, there is no verdict, and another can be chosen.
    settled = seen.sides is not None or all(column.value in there for column in columns[:2])
    if judged(state) and settled and state.run in ("", *there):
        columns = tuple(
            replace(column, locked=True) if isinstance(column, Select) else column
            for column in columns
        )
    folded = not there or (not seen.question and settled)
    return [
        ControlGroup("1. File", (file, example)),
        ControlGroup(score_file.COLUMNS, columns, folded=folded),
    ]


def _column(
    field: str,
    label: str,
    value: str,
    there: tuple[str, ...],
    field_found: str | None,
    empty: str = "choose a column",
) -> Line | Select:
    """A list of the columns that the file has, where it is known; else a name to type."""
    if not there:
        return Line(field, label, value)
    chosen = value or field_found or ""
    names = [(name, name) for name in there]
    if not field_found:
        names.insert(0, ("", empty))
    if chosen and chosen not in there:
        names.append((chosen, chosen))
    wanted = "" if chosen or empty == "none" else "The file does not say which: choose one."
    return Select(field, label, chosen, names, wanted)


def _design_step(state: AuditState) -> list[Control]:
    locked = judged(state)
    design = Select(
        "design",
        "How the scores were made",
        state.design,
        tuple(_DESIGNS.items()),
        "No verdict before it is said: the same scores prove much, little or nothing, depending on "
        "how they were made.",
        as_buttons=True,
        locked=locked,
    )
    orientation = Select(
        "orientation",
        "Score direction",
        state.orientation,
        tuple(_ORIENTATIONS.items()),
        "Choose it before you look: the verdict holds for a choice made blind.",
        as_buttons=True,
        locked=locked,
    )
    again = [Tick("again", "Start over: a further test, which this budget does not cover", False)]
    return [
        ControlGroup("2. Experimental design", (design, orientation, *(again if locked else ())))
    ]


def judged(state: AuditState) -> bool:
    """Whether all is said that a verdict needs, but for the file."""
    return state.design in ("many-runs", "one-run") and bool(state.orientation)


def _claim_step(state: AuditState, locked: bool) -> list[Control]:
    if state.design == "one-model":
        kept = ("mechanism", "confidence")
        return [Kept(field, getattr(state, field)) for field in kept]
    sure = Dial(
        "confidence",
        "confidence of all that is shown",
        state.confidence,
        0.5,
        0.999,
        Scale.LINEAR,
        ends=("less sure", "more sure"),
        locked=locked,
    )
    preset, which, *rest = controls.mechanism("mechanism", state.mechanism, "Claim")
    step = ControlGroup("3. Claim and confidence", (sure,))
    return [step, preset, which, *rest]


def _answer(state: AuditState, dropped: Dropped | None) -> Answer:
    _checked(state)
    held = _held(state, dropped)
    if held is None:
        return _wanted(state)
    try:
        scores = _read(replace(state, orientation=state.orientation or "higher"), held)
    except NoColumn as question:
        return _columns_wanted(held, str(question))
    if not (state.design and state.orientation):
        return _described(state, held, scores)
    summary = summarise(_judged(state, scores), scores)
    return Answer(
        headline=summary.headline,
        sentences=summary.reasons,
        mark=Mark.BAD if summary.refuted else Mark.PLAIN,  # not refuted is not proven
        drawings=evidence.drawings(summary.result),
        picture=state.picture,
        cards=evidence.cards(summary),
        parts=(
            *evidence.numbers(summary),
            *evidence.spent(summary.ledger),
            *_rests(state, summary, held.name),
            *score_file.previewed(held),
        ),
        python=_python(state, held),
        command=_command(state, held),
        reports=True,
        scope=summary.brief or "A description of one attack on these scores: it bounds no ε.",
        next=(Next("explore", "Explore the claim", "what any attack finds if it is true"),),
    )


def _columns_wanted(held: Dropped, question: str) -> Answer:
    """The file's first rows, to choose its columns by."""
    return Answer(
        headline="NO VERDICT: choose the columns",
        sentences=(question,),
        cards=(NumberCard("Verdict", "none yet", "", "step 1 is open: the columns of the file"),),
        parts=score_file.previewed(held),
    )


def _described(state: AuditState, held: Dropped, scores: Scores) -> Answer:
    """What was read, for whom these scores prove nothing yet."""
    summary = summarise(metrics(scores), scores)
    missing = [
        words
        for field, words in (("design", "experimental design"), ("orientation", "score direction"))
        if not getattr(state, field)
    ]
    asked = " and the ".join(missing)
    return Answer(
        headline=f"NO VERDICT: choose the {asked}",
        sentences=(
            f"Choose the {asked}. Until then nothing is judged: the same scores prove much, "
            "little or nothing, depending on how they were made.",
            "A description of one model bounds no ε and refutes no claim; for it, say one-model.",
        ),
        cards=(
            NumberCard("Verdict", "none yet", "", "step 2 is open"),
            NumberCard("Members", f"{summary.members:,}", "scores", f"in {held.name}", "member"),
            NumberCard("Non-members", f"{summary.non_members:,}", "scores", f"in {held.name}"),
            NumberCard(
                "Claim to be judged",
                called(state.mechanism),
                "",
                f"at {percent(state.confidence)} confidence; step 3: set both before you look",
            ),
        ),
        parts=(
            *score_file.previewed(held),
            _designs(),
            Words("What was read", (f"{held.name}: {summary.counted}.", *_inferred(scores))),
        ),
    )


def _inferred(scores: Scores) -> tuple[str, ...]:
    return (f"Inferred from the file: {'; '.join(scores.notes)}.",) if scores.notes else ()


def _designs() -> Words:
    return Words(
        "Experimental design",
        tuple(f"{_DESIGNS[name]}: {words.meaning}." for name, words in DESIGNS.items()),
    )


def _checked(state: AuditState) -> None:
    for field, known in (("design", _DESIGNS), ("orientation", _ORIENTATIONS)):
        given = getattr(state, field)
        if given and given not in known:
            refuse(field, f"be one of {', '.join(known)}", given)
    inside_unit(confidence=state.confidence)


def _held(state: AuditState, dropped: Dropped | None) -> Dropped | None:
    """The file to read, by its own name alone: where it lay is nobody's business."""
    if state.example:
        return Dropped("scores.csv", Path(example()).read_bytes())
    if dropped is None:
        return None
    return Dropped(re.split(r"[/\\]", dropped.name)[-1], dropped.content)


def _read(state: AuditState, held: Dropped) -> Scores:
    names = Names(state.score or None, state.member or None, state.run or None)
    return score_file.read_dropped(held, names, Orientation(state.orientation))


def _judged(state: AuditState, scores: Scores) -> AuditResult:
    if state.design == "one-model":
        return metrics(scores)
    claim = parse(state.mechanism)
    if state.design == "many-runs":
        return judge(claim, many_runs(scores, state.confidence), name=_name(state))
    return judge(claim, one_run(scores, state.confidence, claim=claim), name=_name(state))


def _name(state: AuditState) -> str | None:
    """What people call the claim; None where it says so itself."""
    plain = isinstance(parse(state.mechanism), GuaranteeCurve | GaussianCurve)
    return None if plain else state.mechanism


def _counted(state: AuditState, summary: AuditSummary, name: str) -> str:
    return f"{name}: {summary.counted}, {Orientation(state.orientation).meaning}."


def _rests(state: AuditState, summary: AuditSummary, name: str) -> tuple[Words, ...]:
    counted = _counted(state, summary, name)
    if state.design == "one-model":
        return (Words("What was read", (counted,)),)
    design = f"{state.design}: {DESIGNS[state.design].meaning}."
    looked = f"{_LOOKED} {_CLAIMS[state.design]}"
    return (Words("Assumptions", (counted, design, *summary.assumptions, looked)),)


def _wanted(state: AuditState) -> Answer:
    rows = (("2.31", "1"), ("0.98", "1"), ("0.41", "0"), ("-0.87", "0"))
    score, member = state.score or "score", state.member or "member"
    return Answer(
        headline="No scores yet",
        sentences=(
            "Pick or drop a file with one row for each score of an attack, and choose the "
            "experimental design: how the scores were made. Or use the example scores.",
            "The audit then says whether they refute the claim, with a p-value, a lower bound on ε "
            "and its assumptions. It never says that a claim is true.",
        ),
        drawings=() if state.design == "one-model" else _claim(state),
        picture=state.picture,
        cards=(
            NumberCard("Verdict", "none yet", "", "pick a file first"),
            NumberCard("Claim", called(state.mechanism), "", "step 3", mark=Mark.PLAIN),
            NumberCard("Confidence", percent(state.confidence), "", "set it before you look"),
            NumberCard(
                "Experimental design",
                state.design or "not said",
                "",
                "step 2",
                "experimental design",
            ),
        ),
        parts=(
            Table(
                "Expected file format",
                (score, member),
                rows,
                f"{score}: what the attack said. {member}: whether the record was in (1 or true) "
                "or not (0 or false). Other columns are not looked at. An .npz file may hold "
                "arrays members and non_members instead.",
            ),
            _designs(),
        ),
    )


def _claim(state: AuditState) -> tuple[Drawing, ...]:
    curve = curve_of(parse(state.mechanism))
    name = called(state.mechanism)
    return tuple(evidence.claimed(kind, curve, name) for kind, _ in evidence.KINDS)


def _python(state: AuditState, held: Dropped) -> str:
    where, first = repr(held.name), ""
    if state.example:
        where, first = "example()", "from tellapart.web import example\n"
    columns = {"score": state.score, "member": state.member, "run": state.run}
    given = "".join(f", {key}={column!r}" for key, column in columns.items() if column)
    direction = f"audit.Orientation.{state.orientation.upper()}"
    read = f"scores = audit.Scores.read({where}{given}, orientation={direction})\n"
    if state.design == "one-model":
        return (
            f"from tellapart import audit, report\n{first}\n{read}"
            "told = report.of(audit.metrics(scores), scores=scores)\n"
            f"{_SAY}for one in told.shown:\n    print(one.what, one.words, one.basis)\n"
        )
    name = "" if _name(state) is None else f", name={state.mechanism!r}"
    made = f"audit.many_runs(scores, {state.confidence!r})"
    if state.design == "one-run":
        made = f"audit.one_run(scores, {state.confidence!r}, claim=claim)"
    return f"""\
import tellapart as ta
from tellapart import audit, report
{first}
{read}claim = {controls.typed(state.mechanism)}
evidence = {made}
verdict = audit.judge(claim, evidence{name})
told = report.of(verdict, scores=scores, brief=True)
{_SAY}for delta in sorted({{verdict.delta, {", ".join(map(repr, DELTAS))}}}):
    print(f"ε at δ = {{delta:g}}".replace("e-0", "e-"), evidence.epsilon_lower(delta))
"""


def _command(state: AuditState, held: Dropped) -> str:
    file = f"./{held.name}" if held.name.startswith("-") else held.name
    given = [_PATH if state.example else shlex.quote(file), "--design", state.design]
    if state.design != "one-model":
        given += ["--mechanism", shlex.quote(state.mechanism)]
        given += ["--confidence", repr(state.confidence)]
    given += ["--orientation", state.orientation]
    for key in ("score", "member", "run"):
        if getattr(state, key):
            given.append(shlex.quote(f"--{key}-column={getattr(state, key)}"))
    return " ".join(["tellapart audit", *given])


def _report(state: AuditState, dropped: Dropped | None) -> Report:
    _checked(state)
    held = _held(state, dropped)
    if held is None:
        return refuse("file", "be dropped, or the example used, for a report", None)
    if not state.design:
        names = "; ".join(f"{name} ({words})" for name, words in _DESIGNS.items())
        raise InvalidArgument(f"design must say how the scores were made: {names}")
    if not state.orientation:
        refuse("orientation", f"be one of {', '.join(_ORIENTATIONS)}", state.orientation)
    scores = _read(state, held)
    report = reporting.of(_judged(state, scores), scores=scores, command=_command(state, held))
    inputs = (Input(held.name, len(held.content)),)
    return replace(report, made=replace(report.made, inputs=inputs))


def _settled(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
    """Whoever starts over is asked for the design again; another file has columns of its own."""
    if changed == "again":
        return {**values, "design": "", "orientation": ""}
    if changed == "file":
        return {**values, "score": "", "member": "", "run": ""}
    return dict(values)


VIEW = View(
    "/audit",
    "Audit scores",
    "Do attack scores refute a claim?",
    "An attack gives every record a score: how much it looks like a member. Scores can show that a "
    "promise of privacy is broken; they never show that it is kept.",
    AuditState,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
    takes_file=True,
    settle=_settled,
)
