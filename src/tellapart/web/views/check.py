"""Check an attack: its FPR and TPR against a claim's privacy region, and what that proves."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from tellapart import _checks, audit, pictures, report, risk
from tellapart._numeric.text import Scale, fixed, short
from tellapart.audit.bounds import LowerBound, percent
from tellapart.audit.counts.intervals import clopper_pearson
from tellapart.audit.evidence.count import CORNER
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.drawing.record import Drawing, Ink, Mark, Spot
from tellapart.errors import TellapartError
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.in_words import text_in_words
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.report.results import compared, failures, least_tpr, outline
from tellapart.report.writing import Document
from tellapart.risk.catalogue import DELTA
from tellapart.web import controls
from tellapart.web.answer import Answer, Next, NumberCard, Table
from tellapart.web.controls import Control, ControlGroup, Dial, Select
from tellapart.web.view import View


@dataclass(frozen=True)
class Sample:
    """What was counted, and between which rates the truth lies: FPR first, then TPR."""

    counts: audit.Counts
    confidence: float
    box: tuple[float, float, float, float]

    @property
    def corners(self) -> list[tuple[float, float]]:
        """The four worst and best pairs of rates that the counts leave open."""
        return [(fpr, tpr) for fpr in self.box[:2] for tpr in self.box[2:]]


@dataclass(frozen=True)
class Seen:
    """The attack as it is judged: with no sample, its rates are taken as exact."""

    fpr: float
    tpr: float
    sample: Sample | None = None


def seen(fpr: float, tpr: float, members: int, non_members: int, confidence: float) -> Seen:
    """The attack with these rates, rounded to whole counts where both are given."""
    _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    each = each_confidence(_checks.inside_unit(confidence=confidence))
    if not (members and non_members):
        return Seen(fpr, tpr)
    counts = audit.Counts(round(tpr * members), members, round(fpr * non_members), non_members)
    across = clopper_pearson(counts.false_positives, non_members, confidence=each)
    up = clopper_pearson(counts.true_positives, members, confidence=each)
    return Seen(counts.fpr, counts.tpr, Sample(counts, confidence, (*across, *up)))


def each_confidence(together: float) -> float:
    """The confidence of each rate's limits: those of the corner that the verdict's ledger buys.

    So a box that lies outside is a refutation, and one of a claim that stands reaches inside.
    """
    return 1 - (1 - together) * CORNER


def python_of(claim: str, curve: TradeoffCurve, seen: Seen, delta: float) -> str:
    """Where the attack lies, what it needs and, with counts, what they prove."""
    imports = "from tellapart.curve.region import MechanismRegion\n"
    region, fnr = "MechanismRegion(curve)", "fnr=1 - attack.tpr"
    if isinstance(curve, GuaranteeCurve):
        imports = ""
        region = f"ta.PrivacyRegion({curve.claimed_epsilon!r}, {curve.claimed_delta!r})"
        fnr = "tpr=attack.tpr"
    sample = seen.sample
    attack = f"SimpleNamespace(fpr={seen.fpr!r}, tpr={seen.tpr!r})"
    lines = [
        "from types import SimpleNamespace\n" if sample is None else "",
        "import tellapart as ta",
        f"from tellapart import {'risk' if sample is None else 'audit, risk'}",
        imports,
        f"curve = {controls.typed_curve(claim)}",
        f"attack = {attack if sample is None else f'audit.{sample.counts!r}'}",
        f"for failure in {region}.failures(attack.fpr, {fnr}):",
        "    print(failure)",
        'print("FPR", attack.fpr, "TPR", attack.tpr)',
        'print("TPR ≤", curve.tpr(attack.fpr))',
        'print("TPR ≥", 1 - curve.tpr(1 - attack.fpr))',
        f'print("ε ≥", risk.least_epsilon(fpr=attack.fpr, tpr=attack.tpr, delta={delta!r}))',
        *([] if sample is None else _proof(claim, curve, sample, delta)),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _proof(claim: str, curve: TradeoffCurve, sample: Sample, delta: float) -> list[str]:
    each = each_confidence(sample.confidence)
    called = "" if isinstance(curve, GuaranteeCurve) else f", name={claim!r}"
    return [
        "limits = audit.intervals.clopper_pearson",
        f"print(limits(attack.false_positives, attack.non_members, confidence={each!r}))",
        f"print(limits(attack.true_positives, attack.members, confidence={each!r}))",
        f"sure = {sample.confidence!r}",
        "evidence = audit.from_counts(attack, confidence=sure)",
        f"print(evidence.epsilon_lower({delta!r}))",
        f"verdict = audit.judge({controls.typed(claim)}, evidence{called})",
        "print(verdict.headline)",
        "print(verdict.finding)",
    ]


def command_of(claim: str, curve: TradeoffCurve, seen: Seen, delta: float) -> str:
    """Where the attack lies; of counts, what they prove."""
    claimed = ""
    if isinstance(curve, GuaranteeCurve):
        claimed = f"--epsilon {curve.claimed_epsilon!r} --delta {curve.claimed_delta!r}"
    if seen.sample is not None:
        some = seen.sample.counts
        at = controls.at_delta_option(claim, delta)
        named = claimed or f"--mechanism {shlex.quote(claim)}{at}"
        return (
            f"tellapart audit --true-positives {some.true_positives} --members {some.members} "
            f"--false-positives {some.false_positives} --non-members {some.non_members} "
            f"--design many-runs {named} --confidence {seen.sample.confidence!r}"
        )
    return f"tellapart region {claimed or shlex.quote(claim)} --fpr {seen.fpr!r} --tpr {seen.tpr!r}"


_KINDS = (("roc", "The attack and the claim"), ("roc-log", "At low FPR"))
_CAVEAT = (
    "The rates are taken as exact. Rates measured on samples prove nothing by themselves: "
    "give both counts, and the experimental design behind them, for a verdict."
)
_DESIGNS = {
    "many-runs": "every count is of a run of its own",
    "one-model": "one model, many records: no verdict",
}
_ASK_DESIGN = (
    "These counts have no verdict yet: say how they were made (experimental design). They prove "
    "something only where every one is of an independent training or call."
)
_ONE_MODEL = (
    "One model was attacked{}. Its records are no independent runs, and members may differ from "
    "non-members in more than membership: whatever the rates, they refute no claim."
)
_WORSE = (
    "This attack is worse than guessing and proves nothing. Its opposite is an attack of its own, "
    "at 1 − FPR and 1 − TPR, if it was chosen beforehand."
)
_NOTE = (
    "The attack, threshold included, must be fixed before these counts are drawn. All of it is one "
    "test: limits are the Clopper-Pearson corner that its ledger pays for, and its exact part, "
    "which looks at both counts together, may refute where the box still reaches inside."
)

_SURE = "within the verdict's confidence"


@dataclass(frozen=True)
class CheckState:
    """What the view shows; without counts of both sides and a design, rates are exact."""

    mechanism: str = "any:epsilon=1"
    fpr: float = 0.1
    tpr: float = 0.35
    members: int = 0
    others: int = 0
    design: str = ""
    confidence: float = 0.95
    at_delta: float = DELTA.default
    picture: str = "roc"


def _controls_of(state: CheckState) -> list[Control]:
    sure = ("less sure", "more sure")
    attack = ControlGroup(
        "Observed attack",
        (
            _rate("fpr", "FPR: share of non-members flagged", state.fpr),
            _rate("tpr", "TPR: share of members flagged", state.tpr),
            _count("members", "members it was tried on", state.members),
            _count("others", "non-members it was tried on", state.others),
            Select(
                "design",
                "Experimental design",
                state.design,
                (("", "how were the counts made?"), *_DESIGNS.items()),
                "Counts prove something only where every one is of an independent training or "
                "call, with the record in or out.",
            ),
            Dial("confidence", "confidence", state.confidence, 0.5, 0.999, Scale.LINEAR, ends=sure),
        ),
    )
    *claim, more = controls.mechanism("mechanism", state.mechanism, "Claim")
    shown: list[Control] = [attack, *claim]
    if not _is_guarantee(state.mechanism):
        shown += controls.delta_dials("δ at which ε is told", state.mechanism, state.at_delta)
    return [*shown, more]


def _is_guarantee(claim: str) -> bool:
    """Whether the claim is an ε and a δ; what is no claim at all is refused where it is judged."""
    try:
        return isinstance(parse(claim), GuaranteeCurve)
    except TellapartError:
        return False


def _rate(field: str, label: str, value: float) -> Dial:
    return Dial(field, label, value, 0, 1, Scale.LINEAR, ends=("none", "all"))


def _count(field: str, label: str, value: int) -> Dial:
    said = "0 if unknown"
    ends = ("few", "many")
    return Dial(field, label, value, 10, 1_000_000, Scale.WHOLE, ends=ends, help=said)


def _answer(state: CheckState) -> Answer:
    subject, attack = parse(state.mechanism), _seen(state)
    curve = curve_of(subject)
    broken = failures(curve, attack.fpr, attack.tpr)
    evidence = None
    if attack.sample is not None:
        evidence = audit.from_counts(attack.sample.counts, confidence=state.confidence)
    headline, mark, sentences = _headline(state, subject, attack, evidence, bool(broken))
    signs = [f"✗ {each}." for each in broken] or ["✓ Every inequality of the claim holds here."]
    delta = _delta(state, curve)
    return Answer(
        headline,
        (*signs, *sentences),
        mark,
        tuple(_drawing(kind, state, curve, attack, bool(broken), mark) for kind, _ in _KINDS),
        (_numbers(curve, attack, delta, evidence),),
        python_of(state.mechanism, curve, attack, delta),
        command_of(state.mechanism, curve, attack, delta),
        reports=True,
        cards=_cards(state, curve, attack, delta, evidence),
        picture=state.picture,
        scope=_scope(state, attack),
        next=(
            Next("audit", "Audit scores", "a file of scores proves more than two rates"),
            Next("explore", "Explore the claim", "what any attack finds under it"),
        ),
    )


def _seen(state: CheckState) -> Seen:
    if state.picture not in dict(_KINDS):
        _checks.refuse("picture", f"be one of {', '.join(dict(_KINDS))}", state.picture)
    if state.design not in ("", *_DESIGNS):
        _checks.refuse("design", f"be one of {', '.join(_DESIGNS)}", state.design)
    # Of counts that depend on each other nothing follows: their rates are all there is.
    members = state.members if state.design == "many-runs" else 0
    return seen(state.fpr, state.tpr, members, state.others, state.confidence)


def _unproved(state: CheckState) -> str:
    """Why there is no verdict, where more than rates was said and none follows from it."""
    counted = state.members and state.others
    some = f"{state.members:,} members and {state.others:,} non-members"
    if state.design == "one-model":
        return _ONE_MODEL.format(f", on {some}" if counted else "")
    if counted and not state.design:
        return f"The attack was tried on {some}. {_ASK_DESIGN}"
    return ""


def _scope(state: CheckState, attack: Seen) -> str:
    """What the headline rests on."""
    if attack.sample is not None:
        sure = percent(attack.sample.confidence)
        return f"By the exact test of both counts, {sure} confidence: the point alone is no proof."
    if state.design == "one-model":
        return "One model refutes no claim, wherever its attack lies."
    if _unproved(state):
        return "Counts without their experimental design refute no claim."
    return "Rates alone, taken as exact, refute no claim: give both counts and how they were made."


def _delta(state: CheckState, curve: TradeoffCurve) -> float:
    """The δ of every ε."""
    if isinstance(curve, GuaranteeCurve):
        return curve.claimed_delta
    return controls.told_at(state.mechanism, state.at_delta)


def _report(state: CheckState) -> Document:
    """The verdict of counts as an audit reports it; of rates alone, whether they are possible."""
    subject, attack = parse(state.mechanism), _seen(state)
    curve, name = curve_of(subject), text_in_words(state.mechanism)
    delta = _delta(state, curve)
    command, unproved = command_of(state.mechanism, curve, attack, delta), _unproved(state)
    if unproved:  # which no command has a word for
        command = f"# Where the attack lies; only the page writes this report.\n{command}"
    else:
        command += " --report report.html"
    if attack.sample is None:
        return report.of_attack(
            subject, fpr=attack.fpr, tpr=attack.tpr, delta=delta, name=name, unproved=unproved,
            command=command,
        )  # fmt: skip
    evidence = audit.from_counts(attack.sample.counts, confidence=state.confidence)
    called = None if isinstance(curve, GuaranteeCurve) else state.mechanism
    verdict = audit.judge(subject, evidence, name=called)
    return report.of(verdict, name=name, delta=delta or None, command=command)


def _cards(
    state: CheckState,
    curve: TradeoffCurve,
    attack: Seen,
    delta: float,
    evidence: audit.Evidence | None,
) -> tuple[NumberCard, ...]:
    limit, rate = compared(curve, attack.fpr, attack.tpr)
    needs = float(risk.least_epsilon(fpr=attack.fpr, tpr=attack.tpr, delta=delta))
    shown = None if evidence is None else evidence.epsilon_lower(delta).value
    lacks = "rates alone prove nothing: give both counts"
    if _unproved(state):
        lacks = "one model proves nothing" if state.design else "say how the counts were made"
    proved = NumberCard("Confidence", "none", "", lacks)
    if shown is not None:
        said = f"proved by the counts, at δ = {short(delta)}"
        name = f"ε, {percent(state.confidence)} confidence"
        proved = NumberCard(name, f"≥ {fixed(shown, False)}", "", said, "ε")
    return (
        NumberCard("TPR that the claim allows", limit, "", f"at FPR {short(attack.fpr)}", "TPR"),
        NumberCard("TPR reported", rate, "", f"guessing: {short(attack.fpr, 4)}"),
        NumberCard(
            "Least ε that allows it", f"≥ {fixed(needs, False)}", "", f"at δ = {short(delta)}", "ε"
        ),
        proved,
    )


def _headline(
    state: CheckState,
    subject: Subject,
    attack: Seen,
    evidence: audit.Evidence | None,
    outside: bool,
) -> tuple[str, Mark, list[str]]:
    """The headline, how it is meant, and what explains it."""
    where, mark = ("Outside", Mark.BAD) if outside else ("Inside", Mark.GOOD)
    if unproved := _unproved(state):
        lacks = "one model proves nothing" if state.design else "say how the counts were made"
        return f"{where} the region; {lacks}: NO VERDICT", Mark.PLAIN, [unproved]
    if attack.sample is None or evidence is None:
        said = "impossible if the claim is true" if outside else "possible under the claim"
        return f"{where}: {said}", mark, [_CAVEAT]
    curve = curve_of(subject)
    name = None if isinstance(curve, GuaranteeCurve) else state.mechanism
    verdict = audit.judge(subject, evidence, name=name)
    sentences = _proved(attack, attack.sample, curve, verdict)
    if not verdict.could_refute:
        return f"{where}. {verdict.headline}", Mark.PLAIN, sentences
    if outside and not verdict.refuted:
        return f"{where}, yet {verdict.headline}", Mark.PLAIN, sentences
    return f"{where}. {verdict.headline}", mark, sentences


def _proved(
    attack: Seen, sample: Sample, curve: TradeoffCurve, verdict: audit.Verdict
) -> list[str]:
    some = sample.counts
    said = [
        f"In whole counts: {some.true_positives:,} of {some.members:,} members and "
        f"{some.false_positives:,} of {some.non_members:,} non-members were flagged."
    ]
    beyond = [bool(failures(curve, fpr, tpr)) for fpr, tpr in sample.corners]
    if verdict.finding is not None:
        return [*said, f"Where: {verdict.finding}."]
    if attack.tpr < attack.fpr:
        said.append(_WORSE)
    elif any(beyond):
        said.append(
            "The box reaches outside and inside: the counts leave rates of both kinds open."
        )
    else:
        said.append("The whole box lies inside: no rates that the counts leave open are outside.")
    return [*said, "Not refuted does not mean that the claim is true."]


def _drawing(
    kind: str, state: CheckState, curve: TradeoffCurve, attack: Seen, outside: bool, mark: Mark
) -> Drawing:
    box = None if attack.sample is None else attack.sample.box
    where = "✗ outside" if outside else "✓ inside"
    spot = Spot("this attack", attack.fpr, attack.tpr, Ink.EVIDENCE, mark, ("fpr", "tpr"), box)
    log = kind == "roc-log"
    drawn = pictures.draw(kind, {state.mechanism: curve}, 0.5, [spot])
    guess, line = drawn.traces
    name = f"what the claim allows: {text_in_words(state.mechanism)}"
    drawn_line = line if log else outline(curve, line)
    around = replace(drawn_line, name=name, ink=Ink.PROMISE)
    boxed = ""
    if attack.sample is not None:
        boxed = f" The box holds its true rates, {_SURE}."
    words = f"The point is the attack, {where}: drag it, or use its dials.{boxed}"
    title = dict(_KINDS)[kind]
    return replace(drawn, title=title, caption=words, traces=(guess, around), kind=kind)


def _numbers(
    curve: TradeoffCurve, attack: Seen, delta: float, evidence: audit.Evidence | None
) -> Table:
    needs = float(risk.least_epsilon(fpr=attack.fpr, tpr=attack.tpr, delta=delta))
    most = fixed(float(curve.tpr(attack.fpr)), True)
    least = fixed(least_tpr(curve, attack.fpr), False)
    rows = [
        ("FPR", short(attack.fpr), "share of non-members flagged"),
        ("TPR", short(attack.tpr), "share of members flagged"),
        ("largest TPR allowed", f"≤ {most}", "at this FPR, if the claim is true"),
        ("least TPR allowed", f"≥ {least}", "the same, since the opposite answer is an attack"),
        (
            "least ε that allows it",
            f"≥ {fixed(needs, False)}",
            f"of any mechanism, at δ = {short(delta)}",
        ),
    ]
    note = ""
    if attack.sample is not None and evidence is not None:
        rows += _limits(attack.sample, evidence.epsilon_lower(delta), delta)
        note = _NOTE
    return Table("In numbers", ("number", "value", "what it is"), tuple(rows), note)


def _limits(sample: Sample, shown: LowerBound, delta: float) -> list[tuple[str, str, str]]:
    left, right, low, high = sample.box
    sure = (
        f"at δ = {short(delta)}, by the test of the verdict, {percent(sample.confidence)} "
        "confidence"
    )
    return [
        ("true FPR", f"{fixed(left, False)} to {fixed(right, True)}", _SURE),
        ("true TPR", f"{fixed(low, False)} to {fixed(high, True)}", _SURE),
        ("ε that is shown", f"≥ {fixed(shown.value, False)}", sure),
    ]


VIEW = View(
    "/check",
    "Check an attack",
    "Is this attack possible, if the claim is true?",
    "An attack flags a share of the members (TPR) and a share of the non-members (FPR). A claim of "
    "privacy allows only some pairs of these rates: true rates outside prove it broken.",
    CheckState,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
)
