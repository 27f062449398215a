"""From a verdict, evidence or metrics to a report."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.rounding import fixed
from tellapart.audit._metrics import WHY_NO_EPSILON, Metrics
from tellapart.audit.bounds import LowerBound, percent
from tellapart.audit.evidence import Design, Evidence
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import REFUTES_NOTHING, Verdict
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.subject import curve_of
from tellapart.report.designs import CALLS, DESIGNS, NAMES, RUNS_CHECKED, RUNS_ON_TRUST
from tellapart.report.model import Found, Input, Made, Report, Shown

# The δ at which ε is always told, besides the claim's own.
_DELTAS = (0.0, 1e-6, 1e-5, 1e-3)
_RATES = np.concatenate([[0.0], np.geomspace(1e-4, 1, 81)])


def of(
    found: Found,
    *,
    scores: Scores | None = None,
    files: Iterable[str | Path] = (),
    seed: int | None = None,
    command: str = "",
    brief: bool = False,
) -> Report:
    """Everything someone needs to believe, or to doubt, what an audit says.

    ``found`` is a verdict, or evidence or metrics without one. What else is given is told along:
    the scores it was made from, their files, the seed and the command line. ``brief`` leaves out
    the bounds beside a verdict, which names one itself: some take long to compute.
    """
    inputs = tuple(Input(str(file), Path(file).stat().st_size) for file in files)
    made = Made(command, inputs, seed, _versions())
    if isinstance(found, Metrics):
        return _described(found, made)
    evidence = found.evidence if isinstance(found, Verdict) else found
    _checks.instance(Evidence, "a verdict, evidence or metrics of audit", found=evidence)
    if isinstance(found, Verdict):
        return _judged(found, scores, made, brief)
    return _unjudged(evidence, scores, made)


def _versions() -> dict[str, str]:
    from tellapart import __version__

    return {
        "tellapart": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": version("scipy"),
    }


def _judged(verdict: Verdict, scores: Scores | None, made: Made, brief: bool) -> Report:
    power, detectable = _power(verdict)
    return Report(
        headline=verdict.headline,
        reasons=(*verdict.reasons(), *(() if verdict.refuted else _against(scores))),
        refuted=verdict.refuted,
        claim=verdict.name,
        shown=() if brief else _bounds(verdict.evidence, {verdict.delta, *_DELTAS}),
        finding=verdict.finding,
        power=power,
        detectable=detectable,
        samples_needed=_needed(verdict),
        curves=_curves(verdict.evidence, curve_of(verdict.claim)),
        made=made,
        found=verdict,
        **_common(verdict.evidence, scores),
    )


def _unjudged(evidence: Evidence, scores: Scores | None, made: Made) -> Report:
    sure = f"at {percent(evidence.confidence)} confidence"
    reasons: tuple[str, ...] = ("Without a claim there is no verdict.",)
    if not evidence.can_refute:
        sure, reasons = "by a Bayesian bound", (*reasons, REFUTES_NOTHING)
    return Report(
        headline=f"NO CLAIM: what the {_samples(evidence)} show, {sure}",
        reasons=(*reasons, *_against(scores)),
        refuted=None,
        claim=None,
        shown=_bounds(evidence, _DELTAS),
        finding=None,
        power=None,
        detectable=None,
        samples_needed=None,
        curves=_curves(evidence, None),
        made=made,
        found=evidence,
        **_common(evidence, scores),
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
    looked = ("The direction of the scores was chosen after looking both ways.",)
    return Report(
        headline="NO VERDICT: one attack on one model, described",
        reasons=(
            f"{WHY_NO_EPSILON[0].upper()}{WHY_NO_EPSILON[1:]}.",
            *(looked if metrics.looked_both_ways else ()),
        ),
        refuted=None,
        claim=None,
        design="one-model",
        unit=DESIGNS["one-model"].unit,
        members=metrics.members,
        others=metrics.others,
        calls=None,
        confidence=None,
        method=None,
        shown=tuple(rows),
        finding=None,
        ledger=None,
        power=None,
        detectable=None,
        samples_needed=None,
        assumptions=(),
        curves={"attack": metrics.roc},
        made=made,
        found=metrics,
    )


def _common(evidence: Evidence, scores: Scores | None) -> dict[str, Any]:
    design = NAMES[evidence.design]
    words = CALLS if evidence.design is Design.CALLS else DESIGNS[design]
    trust = words.assumptions
    if scores is not None and design == "many-runs":
        known = scores.independent is not None
        trust = (*trust, RUNS_CHECKED if known else RUNS_ON_TRUST)
    return {
        "design": design,
        "unit": words.unit,
        "members": None if scores is None else scores.members.count,
        "others": None if scores is None else scores.others.count,
        "calls": evidence.calls,
        "confidence": evidence.confidence,
        "method": evidence.method,
        "ledger": evidence.ledger,
        "assumptions": trust,
    }


def _samples(evidence: Evidence) -> str:
    return "outputs" if evidence.design is Design.CALLS else "scores"


def _power(verdict: Verdict) -> tuple[str | None, float | None]:
    """What would have been found; nothing where the evidence cannot say."""
    if not verdict.evidence.can_refute:
        return None, None
    with suppress(Unsupported):
        return verdict.power, verdict.detectable
    return None, None


def _against(scores: Scores | None) -> tuple[str, ...]:
    """A word to those whose scores may point the other way."""
    if scores is None or scores.orientation is Orientation.EITHER:
        return ()
    members, others = scores.sides
    beyond = int(members.above(float(others.descending((others.count + 1) // 2)))) / members.count
    # Three deviations: chance alone rarely says so.
    if beyond > 0.5 - 1.5 * math.sqrt(1 / members.count + 1 / others.count):
        return ()
    told = scores.orientation.value
    found = "lower" if scores.orientation is Orientation.HIGHER else "higher"
    return (
        f"Orientation: {told} scores were to speak for membership, but members mostly score "
        f"{found} than others. If that was a slip, correct it; if it is a surprise, draw new "
        "scores.",
    )


def _bounds(evidence: Evidence, deltas: Iterable[float]) -> tuple[Shown, ...]:
    rows = []
    for delta in sorted(deltas):
        with suppress(Unsupported):  # some evidence speaks of one δ alone
            rows.append(_row(f"ε at δ = {delta:g}", evidence.epsilon_lower(delta)))
    with suppress(Unsupported):  # and some of (ε, δ) alone
        rows.append(_row("μ of Gaussian DP", evidence.mu_lower()))
    return tuple(rows)


def _row(what: str, bound: LowerBound) -> Shown:
    basis = bound.basis.value
    if bound.false_claims is not None:
        basis += f", overclaims in {100 * bound.false_claims:.2g} % of audits"
    return Shown(what, bound.value, f"≥ {fixed(bound.value, up=False)}", basis)


def _needed(verdict: Verdict) -> float | None:
    try:
        return verdict.samples_needed
    except (Unsupported, NotCertified):
        return None


def _curves(
    evidence: Evidence, claim: TradeoffCurve | None
) -> dict[str, tuple[tuple[float, float], ...]]:
    found = {}
    rates = _RATES
    try:
        shown = evidence.curve()
    except Unsupported:
        shown = None
    if shown is not None:
        if isinstance(shown, AtomicCurve):
            rates = np.unique(np.concatenate([rates, shown.vertices()[0]]))
        found["evidence"] = _points(shown, rates)
    if claim is not None:
        found["claim"] = _points(claim, rates)
    return found


def _points(curve: TradeoffCurve, rates: Array) -> tuple[tuple[float, float], ...]:
    return tuple(zip(rates.tolist(), np.asarray(curve.tpr(rates)).tolist(), strict=True))
