"""Trade-off curves of a report as ROC points (FPR, TPR), each with the side it errs on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tellapart._checks import Array
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.base import Evidence
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.report.model import Traced

# The rates at which a table tells what a picture shows.
TOLD = (1e-4, 1e-3, 0.01, 0.1)
RATES = np.unique(np.concatenate([[0.0], TOLD, np.geomspace(1e-4, 1, 81)[1:]]))

CLAIM, CLAIMED = "the claim", "no attacker does better, if the claim is true"
ERRS = {
    Bound.LOWER: "upper bound on every attack: errs towards a stronger attacker",
    Bound.EXACT: "exact: the ROC of the best attack, up to rounding",
    Bound.UPPER: "lower bound, shown by an attack: errs towards a weaker attacker",
}


def shown_by(evidence: Evidence) -> tuple[TradeoffCurve | None, Array]:
    """The curve that evidence shows, if it shows one, and the rates to read curves at."""
    try:
        shown = evidence.curve()
    except Unsupported:
        return None, RATES
    if isinstance(shown, AtomicCurve):
        return shown, np.unique(np.concatenate([RATES, shown.vertices()[0]]))
    return shown, RATES


def traced(evidence: Evidence, claim: TradeoffCurve | None) -> Mapping[str, Traced]:
    """What evidence shows, and what the claim allows."""
    curves = {}
    shown, rates = shown_by(evidence)
    if claim is not None:
        curves["claim"] = _traced(CLAIM, claim, rates, CLAIMED)
    if shown is not None:
        sure = f"some attacker does at least this well, with {percent(evidence.confidence)} "
        kind = "confidence" if evidence.can_refute else "probability under the prior"
        curves["evidence"] = _traced("shown by the evidence", shown, rates, sure + kind)
    return curves


def claimed(
    claim: TradeoffCurve, errs: str, promise: TradeoffCurve | None, name: str
) -> Mapping[str, Traced]:
    """The claim, and any mechanism with the same (ε, δ)."""
    curves = {"claim": _traced(CLAIM, claim, RATES, errs)}
    if promise is not None:
        curves["promise"] = _traced(
            f"any mechanism with {name}", promise, RATES, ERRS[promise.bound]
        )
    return curves


def _traced(name: str, curve: TradeoffCurve, rates: Array, errs: str) -> Traced:
    tpr = np.asarray(curve.tpr(rates)).tolist()
    return Traced(name, curve.bound.value, errs, tuple(zip(rates.tolist(), tpr, strict=True)))
