"""From a claim, a verdict, evidence or metrics to a report."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from tellapart import _checks
from tellapart.audit.attack_metrics import Metrics, attacked, why_no_epsilon
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.scores import Scores
from tellapart.audit.verdict import REFUTES_NOTHING, Verdict, describe
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.report import checklist, curve_points, shown
from tellapart.report.checklist import Known
from tellapart.report.designs import DESIGNS
from tellapart.report.meaning import Asked, Told, promised, told, unit_words
from tellapart.report.model import Found, Input, Made, Report, Shown, Traced

_NO_EVIDENCE = (
    "This says what is claimed and what that means. It holds no evidence that any code keeps the "
    "claim: an audit of attack scores, or a probe of the code, looks for evidence against it."
)


@dataclass(frozen=True)
class _Filed:
    """What people said besides: what is protected, and answers to the checklist."""

    unit: str
    answers: Mapping[str, str]
    asked: Asked


def of(
    found: Found | Subject,
    *,
    name: str = "",
    unit: str = "",
    prior: float = 0.5,
    fpr: float = 0.01,
    delta: float | Sequence[float] | None = None,
    out_of: int = 1_000,
    answers: Mapping[str, str] | None = None,
    scores: Scores | None = None,
    files: Iterable[str | Path] = (),
    seed: int | None = None,
    command: str = "",
    brief: bool = False,
) -> Report:
    """Everything someone needs to believe, or to doubt, a claim and what an audit says of it.

    ``found`` is a verdict, or evidence or metrics without one; or a mechanism or a promise, of
    which nothing but the claim is told. ``name`` is what people call a mechanism or promise;
    ``unit`` is what it protects, such as "one patient". ``prior`` is the chance that an attacker
    gives membership beforehand, ``fpr`` the share of others it accuses, ``delta`` where ε is told,
    or several such δ, the first one first, ``out_of`` the number of people that sentences speak
    of. ``answers`` are a person's, by the keys of ``QUESTIONS``. What else is given is told
    along: the scores a verdict was made from, their files, the seed and the command line.
    ``brief`` leaves out all that a verdict does not need: some of it takes long to compute.
    """
    _checks.instance(str, "a text", unit=unit)
    _checks.instance(str, "a text", name=name)
    asked = Asked(prior, fpr, _several(delta), out_of).checked()
    filed = _Filed(unit.strip(), checklist.checked(answers or {}), asked)
    inputs = tuple(Input(str(file), Path(file).stat().st_size) for file in files)
    made = Made(command, inputs, seed, _versions())
    if isinstance(found, Mechanism | TradeoffCurve):
        return _claimed(found, name.strip(), made, filed)
    if isinstance(found, Metrics):
        return _finished(_described(found, made), None, Known(), filed)
    evidence = found.evidence if isinstance(found, Verdict) else found
    rule = "a verdict, evidence or metrics of audit, a mechanism or a promise"
    _checks.instance(Evidence, rule, found=evidence)
    if isinstance(found, Verdict):
        return _judged(found, scores, made, filed, brief)
    return _finished(_unjudged(evidence, scores, made, asked), None, Known(), filed)


def _several(delta: float | Sequence[float] | None) -> tuple[float, ...]:
    if delta is None:
        return ()
    return tuple(delta) if isinstance(delta, Sequence) else (delta,)


def _versions() -> dict[str, str]:
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
    found = told(subject, filed.asked)
    called = name or describe(subject).removeprefix("of ")
    promise = found.promise()
    drawn = {called: found.curve}
    if promise is not None:
        drawn[f"all that keeps {describe(promise)}"] = promise
    report = Report(
        headline=f"CLAIM: {called}, with no evidence for or against it",
        reasons=(
            f"{'' if found.budget == called else f'{found.budget}. '}"
            f"These numbers hold {found.meaning.holds}.",
            _NO_EVIDENCE,
        ),
        made=made,
        curves=curve_points.claimed(
            found.curve, found.meaning.errs, promise, describe(promise) if promise else ""
        ),
        claim=called,
        meaning=found.meaning,
        found=subject,
        traced=drawn,
    )
    return _finished(report, subject, _known(subject, found), filed)


def _judged(
    verdict: Verdict, scores: Scores | None, made: Made, filed: _Filed, brief: bool
) -> Report:
    power, detectable = shown.power(verdict)
    found, untold = (None, ()) if brief else _told(verdict.claim, filed.asked)
    if filed.asked.deltas:
        verdict = replace(verdict, at=filed.asked.deltas[0])
    more = [one for one in filed.asked.deltas if one != verdict.delta]
    rows = {verdict.delta, *more, *shown.DELTAS}
    curve = curve_of(verdict.claim) if found is None else found.curve
    report = Report(
        headline=verdict.headline,
        reasons=(
            *verdict.reasons(),
            *shown.besides(verdict.evidence, more),
            *(() if verdict.refuted else shown.against(scores)),
            *untold,
        ),
        made=made,
        curves={} if brief else curve_points.traced(verdict.evidence, None if untold else curve),
        claim=verdict.name,
        meaning=None if found is None else found.meaning,
        refuted=verdict.refuted,
        shown=() if brief else shown.bounds(verdict.evidence, rows),
        finding=verdict.finding,
        power=power,
        detectable=detectable,
        samples_needed=shown.needed(verdict),
        found=verdict,
        traced={} if untold else {f"the claim: {verdict.name}": curve},
        **shown.common(verdict.evidence, scores),
    )
    if brief:
        return _with_unit(report, _neighbours(verdict.claim), filed)
    return _finished(report, verdict.claim, _known(verdict.claim, found), filed)


def _told(claim: Subject, asked: Asked) -> tuple[Told | None, tuple[str, ...]]:
    """What a claim means; or why nobody can say, which changes no verdict."""
    try:
        return told(claim, asked), ()
    except (NotCertified, Unsupported) as error:
        return None, (f"What the claim means is not told: {error}.",)


def _unjudged(evidence: Evidence, scores: Scores | None, made: Made, asked: Asked) -> Report:
    sure = f"at {percent(evidence.confidence)} confidence"
    reasons: tuple[str, ...] = ("Without a claim there is no verdict.",)
    if not evidence.can_refute:
        sure, reasons = "by a Bayesian bound", (*reasons, REFUTES_NOTHING)
    samples = "outputs" if evidence.design is Design.CALLS else "scores"
    return Report(
        headline=f"NO CLAIM: what the {samples} show, {sure}",
        reasons=(*reasons, *shown.against(scores)),
        made=made,
        curves=curve_points.traced(evidence, None),
        shown=shown.bounds(evidence, {*asked.deltas, *shown.DELTAS}),
        found=evidence,
        **shown.common(evidence, scores),
    )


def _described(metrics: Metrics, made: Made) -> Report:
    beyond = f"{metrics.direction.value} scores accuse"
    rows = [Shown("AUC", metrics.auc, f"{metrics.auc:.4f}", beyond)]
    for most, at in metrics.at_fpr.items():
        words = f"{at.tpr:.4f}"
        rows.append(Shown(f"TPR at FPR ≤ {most:g}", at.tpr, words, f"FPR {at.fpr:.4g}"))
    at = metrics.largest_advantage
    rates = f"TPR {at.tpr:.4g} at FPR {at.fpr:.4g}"
    rows.append(Shown("largest TPR − FPR", metrics.advantage, f"{metrics.advantage:.4f}", rates))
    why, single = why_no_epsilon(metrics.models), (metrics.models or 1) == 1
    looked = ("The direction of the scores was chosen after looking both ways.",)
    errs = "rates of this attack on these scores: nothing follows for any other"
    return Report(
        headline=f"NO VERDICT: one attack on {attacked(metrics.models)}, described",
        reasons=(
            f"{why[0].upper()}{why[1:]}.",
            *(looked if metrics.looked_both_ways else ()),
        ),
        made=made,
        curves={"attack": Traced("the attack, as measured", "measured", errs, metrics.roc)},
        design="one-model" if single else "several models",
        sample=DESIGNS["one-model"].sample,
        members=metrics.members,
        others=metrics.others,
        shown=tuple(rows),
        found=metrics,
    )


def _known(subject: Subject, found: Told | None) -> Known:
    """What the claim itself says of the checklist."""
    stated = checklist.described(subject)
    if found is None:
        return Known(stated=stated)
    if promised(subject):
        return Known(stated={**stated, "epsilon": f"Promised: {found.budget}."})
    computed = f"Computed from the mechanism as described: {found.budget}."
    return Known({"epsilon": computed, **checklist.error_of(subject)}, stated=stated)


def _finished(report: Report, subject: Subject | None, known: Known, filed: _Filed) -> Report:
    """With what people said, and the checklist."""
    stated = {**known.stated, **({"unit": filed.unit} if filed.unit else {})}
    established, refuted = dict(known.established), {}
    if report.refuted:
        refuted = {"epsilon": f"{report.headline}.", "tested": _tested(report)}
    elif report.refuted is False and not report.bayesian:
        established["tested"] = _tested(report)
    elif report.design is not None:  # nothing that could have spoken against a claim
        stated["tested"] = _tested(report)
    listed = checklist.items(Known(established, refuted, stated), filed.answers)
    neighbours = _neighbours(subject) or filed.answers.get("neighbours")
    return replace(_with_unit(report, neighbours, filed), checklist=listed)


def _with_unit(report: Report, neighbours: str | None, filed: _Filed) -> Report:
    """With what is protected, whom that sets apart, and whether the two are the same thing."""
    reasons = (*report.reasons, *unit_words(filed.unit, neighbours))
    return replace(report, unit=filed.unit or None, neighbours=neighbours, reasons=reasons)


def _tested(report: Report) -> str:
    """What a test came to; only its having been done is established."""
    counted = f", {report.counted}" if report.counted else ""
    proof = " Not refuted is not proven." if report.refuted is False else ""
    return f"{report.headline} (design {report.design}{counted}).{proof}"


def _neighbours(subject: Subject | None) -> str | None:
    return subject.neighbours.value if isinstance(subject, Mechanism) else None
