"""A privacy report is built from a claim, an audit's verdict, evidence or metrics."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np

from tellapart import _checks
from tellapart.audit.attack_metrics import Metrics
from tellapart.audit.evidence.base import Evidence
from tellapart.audit.evidence.reconstruction_counts import ReconstructionEvidence
from tellapart.audit.scores import Scores
from tellapart.audit.summary import AuditResult, AuditSummary, summarise
from tellapart.audit.trainings.watch_verdict import WatchVerdict
from tellapart.audit.verdict import Verdict, WithVerdict, describe
from tellapart.budget.ledger import BudgetLedger
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.in_words import in_words
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.report import checklist, curve_points, watched_training
from tellapart.report.checklist import Known
from tellapart.report.meaning import ClaimReading, ReportOptions, promised, read_claim, unit_words
from tellapart.report.model import Input, Made, Meaning, Report, Traced
from tellapart.report.privacy_budget import ERRS, HOLDS, privacy_budget
from tellapart.risk.catalogue import BASELINE, DELTA, FPR, PRIOR

NO_EVIDENCE = "a claim, with no evidence for or against it"
_TEST_IT = (
    "This report says what is claimed and what that means. It holds no evidence that any code "
    "keeps the claim: tellapart audit and tellapart probe test it."
)


_ON_RECORD = (
    "Every step that is spent from this budget is on record below; steps that are run without it "
    "are not."
)
_OF_ANOTHER = "Computed from the mechanism stated, which is not the one that was run."


@dataclass(frozen=True)
class _Filed:
    """What people said besides: what is protected, and answers to the checklist."""

    unit: str
    answers: Mapping[str, str]
    options: ReportOptions


def of(
    found: AuditResult | WithVerdict | WatchVerdict | Subject | BudgetLedger,
    *,
    name: str = "",
    unit: str = "",
    prior: float = PRIOR.default,
    fpr: float = FPR.default,
    delta: float | Sequence[float] | None = None,
    out_of: int | None = None,
    answers: Mapping[str, str] | None = None,
    scores: Scores | None = None,
    files: Iterable[str | Path] = (),
    seed: int | None = None,
    command: str = "",
    brief: bool = False,
    **others: float,
) -> Report:
    """Everything someone needs to believe, or to doubt, a claim and what an audit says of it.

    ``found`` is a verdict, also that of a watched training, or evidence or metrics without one; or
    a mechanism or a promise, of which nothing but the claim is reported; or the ledger of a privacy
    budget, whose guarantee is the claim. ``name`` is what people call it, its title;
    ``unit`` is the unit of privacy, such as "one patient". ``prior`` is the attacker's prior
    probability of membership, ``fpr`` the share of non-members flagged, ``delta`` where ε is
    reported, or several such δ, the first one first, ``out_of`` the population in sentences, by
    default large enough for counts.
    ``answers`` are a person's, by the keys of ``QUESTIONS``. What else is given is reported, too:
    the scores a verdict was made from, their files, the seed and the command line. ``brief``
    leaves out all that a verdict does not need: some of it takes long to compute. ``others`` are
    what further measures ask for, as `risk.summary` takes them: ``baseline`` for reconstruction.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> report.of(ta.Laplace(1), unit="one patient").headline
    'Laplace, scale 1: a claim, with no evidence for or against it'
    """
    _checks.instance(str, "a text", unit=unit)
    _checks.instance(str, "a text", name=name)
    result = found.verdict if isinstance(found, WithVerdict) else found
    others = {**_baseline(result), **others}
    options = ReportOptions(prior, fpr, _several(delta), out_of, others).checked()
    filed = _Filed(unit.strip(), checklist.checked(answers or {}), options)
    inputs = tuple(Input(str(file), Path(file).stat().st_size) for file in files)
    made = Made(command, inputs, seed, versions())
    if isinstance(result, BudgetLedger):
        return _of_ledger(result, name.strip(), made, filed)
    if isinstance(result, Mechanism | TradeoffCurve):
        return _claimed(result, name.strip(), made, filed)
    if isinstance(result, WatchVerdict):
        report = _watched(result, made, filed, brief=brief)
        return replace(report, title=name.strip())
    if not isinstance(result, Metrics):
        evidence = result.evidence if isinstance(result, Verdict) else result
        rule = "a verdict, evidence or metrics of audit, a mechanism or a guarantee"
        _checks.instance(Evidence, rule, found=evidence)
    summary = summarise(result, scores, options.deltas)
    if not isinstance(summary.result, Verdict):
        report = replace(_short(summary, made), curves=_curves(summary.result), shown=summary.shown)
        report = _finished(report, None, Known(), filed)
    elif brief:
        report = _with_unit(_short(summary, made), _neighbours(summary.result.claim, filed), filed)
    else:
        report = _judged(summary, summary.result, made, filed)
    return replace(report, title=name.strip())


def summary_of(
    result: AuditResult,
    *,
    scores: Scores | None = None,
    deltas: Sequence[float] | None = None,
    unit: str = "",
    answers: Mapping[str, str] | None = None,
) -> AuditSummary:
    """What a report would say of an audit in words, and no more."""
    summary = summarise(result, scores, deltas or ())
    claim = result.claim if isinstance(result, Verdict) else None
    filed = _Filed(unit.strip(), answers or {}, ReportOptions())
    return summary.adding(*unit_words(filed.unit, _neighbours(claim, filed)))


def _baseline(audited: object) -> dict[str, float]:
    """Of counts of targets, their baseline: reconstruction is read there, too."""
    evidence = audited.evidence if isinstance(audited, Verdict) else None
    if not isinstance(evidence, ReconstructionEvidence) or not 0 < evidence.baseline_upper < 1:
        return {}
    return {BASELINE.key: evidence.baseline_upper}


def _several(delta: float | Sequence[float] | None) -> tuple[float, ...]:
    if delta is None:
        return ()
    return tuple(delta) if isinstance(delta, Sequence) else (delta,)


def versions() -> dict[str, str]:
    """What computed the numbers."""
    from tellapart import __version__

    return {
        "tellapart": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": version("scipy"),
    }


def _claimed(subject: Subject, name: str, made: Made, filed: _Filed) -> Report:
    if curve_of(subject).bound is Bound.UPPER:
        _checks.refuse("found", "be a claim, not what an attack has shown (Bound.UPPER)", subject)
    reading = read_claim(subject, filed.options)
    claim = describe(subject).removeprefix("of ") if promised(subject) else in_words(subject)
    title = name or in_words(subject)
    promise = reading.promise()
    drawn = {title: reading.curve}
    if promise is not None:
        drawn[f"any mechanism with {describe(promise)}"] = promise
    report = Report(
        headline=f"{title}: {NO_EVIDENCE}",
        title=title,
        reasons=(
            f"{'' if reading.budget == claim else f'{reading.budget}. '}"
            f"These numbers are {reading.meaning.holds}.",
            _TEST_IT,
        ),
        made=made,
        curves=curve_points.claimed(
            reading.curve, reading.meaning.errs, promise, describe(promise) if promise else ""
        ),
        claim=claim,
        meaning=reading.meaning,
        traced=drawn,
    )
    return _finished(report, subject, _known(subject, reading), filed)


def _of_ledger(ledger: BudgetLedger, name: str, made: Made, filed: _Filed) -> Report:
    relation = {"neighbours": ledger.budget.neighbours.value}
    title = name or ledger.where
    said = replace(filed, answers={**relation, **filed.answers})
    report = _claimed(ledger.guarantee(), title, made, said)
    meaning = cast("Meaning", report.meaning)  # which a claim has
    spent = privacy_budget(ledger, meaning.delta or DELTA.default)
    first = f"{meaning.epsilon.what} {meaning.epsilon.words}, {HOLDS}."
    checklist = tuple(
        replace(item, established=_ON_RECORD, state="established")
        if item.key == "composition"
        else item
        for item in report.checklist
    )
    return replace(
        report,
        headline=f"{title}: a privacy budget, with what was spent and what is left",
        claim=f"the guarantee of {spent.opened}",
        reasons=(first, spent.words, *report.reasons[1:]),
        meaning=replace(meaning, holds=HOLDS, errs=ERRS),
        privacy_budget=spent,
        checklist=checklist,
    )


def _judged(summary: AuditSummary, verdict: Verdict, made: Made, filed: _Filed) -> Report:
    reading, unread = _read(verdict.claim, filed.options)
    curve = curve_of(verdict.claim) if reading is None else reading.curve
    curve = verdict.evidence.held_against(curve)
    report = replace(
        _short(summary.adding(*unread), made),
        curves=curve_points.traced(verdict.evidence, None if unread else curve),
        shown=summary.shown,
        meaning=None if reading is None else reading.meaning,
        traced={} if unread else {f"the claim: {verdict.name}": curve},
    )
    return _finished(report, verdict.claim, _known(verdict.claim, reading), filed)


def _watched(verdict: WatchVerdict, made: Made, filed: _Filed, *, brief: bool) -> Report:
    """Of a watched training: what bets say, and what tests of conformance say."""
    claim = verdict.claim
    reading, unread = (None, ()) if brief else _read(claim, filed.options)
    drawn = {} if reading is None else {f"the claim: {in_words(claim)}": reading.curve}
    report = Report(
        headline=verdict.headline,
        reasons=(*watched_training.sentences(verdict), *unread),
        refuted=verdict.refuted,
        claim=in_words(claim),
        meaning=None if reading is None else reading.meaning,
        design=watched_training.DESIGN,
        sample=watched_training.SAMPLE,
        confidence=verdict.confidence,
        method=watched_training.METHOD,
        shown=watched_training.shown(verdict, filed.options.deltas),
        ledger=verdict.ledger,
        assumptions=watched_training.assumptions(),
        watched=watched_training.watched_training(verdict),
        curves={}
        if reading is None
        else curve_points.claimed(reading.curve, reading.meaning.errs, None, ""),
        made=made,
        traced=drawn,
    )
    if brief:
        return _with_unit(report, _neighbours(claim, filed), filed)
    return _finished(report, claim, _known(claim, reading), filed)


def _read(claim: Subject, options: ReportOptions) -> tuple[ClaimReading | None, tuple[str, ...]]:
    """What a claim means; or why nobody can say, which changes no verdict."""
    try:
        return read_claim(claim, options), ()
    except (NotCertified, Unsupported) as error:
        return None, (f"What the claim means is not reported: {error}.",)


def _curves(result: Evidence | Metrics) -> Mapping[str, Traced]:
    if isinstance(result, Evidence):
        return curve_points.traced(result, None)
    errs = "rates of this attack on these scores: no bound on other attacks"
    return {"attack": Traced("the attack, as measured", "measured", errs, result.roc)}


def _short(summary: AuditSummary, made: Made) -> Report:
    """The summary's words, without what takes long to compute."""
    evidence = summary.evidence
    verdict = summary.result if isinstance(summary.result, Verdict) else None
    power, detectable = (None, None) if verdict is None else _power(verdict)
    return Report(
        headline=summary.headline,
        reasons=summary.reasons,
        refuted=summary.refuted,
        claim=None if verdict is None else verdict.name,
        design=summary.design,
        sample=summary.sample,
        members=summary.members,
        non_members=summary.non_members,
        calls=summary.calls,
        confidence=None if evidence is None else evidence.confidence,
        method=None if evidence is None else evidence.method,
        finding=None if verdict is None else verdict.finding,
        ledger=summary.ledger,
        power=power,
        detectable=detectable,
        samples_needed=None if verdict is None else _samples_needed(verdict),
        assumptions=summary.assumptions,
        curves={},
        made=made,
        summary=summary,
    )


def _power(verdict: Verdict) -> tuple[str | None, float | None]:
    """The power of the test; nothing where the evidence cannot say."""
    if not verdict.evidence.can_refute:
        return None, None
    with suppress(Unsupported):
        return verdict.power, verdict.detectable
    return None, None


def _samples_needed(verdict: Verdict) -> float | None:
    try:
        return verdict.samples_needed
    except (Unsupported, NotCertified):  # the evidence cannot say
        return None


def _known(subject: Subject, reading: ClaimReading | None) -> Known:
    """What the claim itself says of the checklist."""
    stated = checklist.described(subject)
    if reading is None:
        return Known(stated=stated)
    if promised(subject):
        return Known(stated={**stated, "epsilon": f"Claimed: {reading.budget}."})
    computed = f"Computed from the mechanism as described: {reading.budget}."
    return Known({"epsilon": computed, **checklist.error_of(subject)}, stated=stated)


def _finished(report: Report, subject: Subject | None, known: Known, filed: _Filed) -> Report:
    """With what people said, and the checklist."""
    stated = {**known.stated, **({"unit": filed.unit} if filed.unit else {})}
    established, refuted = dict(known.established), dict[str, str]()
    mechanism_alone = report.summary is not None and report.summary.mechanism_alone
    watched = report.watched
    if (watched and watched.not_as_stated) or (mechanism_alone and report.refuted):
        # What was computed is of another mechanism than the one that was run.
        refuted["mechanism"] = f"{report.headline}."
        established.pop("epsilon", None)
        stated["epsilon"] = _OF_ANOTHER
    if report.refuted:
        refuted["tested"] = _tested(report)
        if not mechanism_alone and (watched is None or watched.not_private):
            refuted["epsilon"] = f"{report.headline}."
    elif report.refuted is False:
        established["tested"] = _tested(report)
    elif report.design is not None:  # nothing that could have spoken against a claim
        stated["tested"] = _tested(report)
    listed = checklist.items(Known(established, refuted, stated), filed.answers)
    return replace(_with_unit(report, _neighbours(subject, filed), filed), checklist=listed)


def _with_unit(report: Report, neighbours: str | None, filed: _Filed) -> Report:
    """With what is protected, whom that sets apart, and whether the two are the same thing."""
    sentences = unit_words(filed.unit, neighbours)
    summary = None if report.summary is None else report.summary.adding(*sentences)
    reasons = (*report.reasons, *sentences)
    return replace(
        report, unit=filed.unit or None, neighbours=neighbours, reasons=reasons, summary=summary
    )


def _tested(report: Report) -> str:
    """What a test came to; only its having been done is established."""
    counted = f", {report.counted}" if report.counted else ""
    proof = " Not refuted is not proven." if report.refuted is False else ""
    return f"{report.headline} (design {report.design}{counted}).{proof}"


def _neighbours(subject: Subject | None, filed: _Filed) -> str | None:
    if isinstance(subject, Mechanism):
        return subject.neighbours.value
    return filed.answers.get("neighbours")
