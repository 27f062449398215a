"""An attack that was seen: its rates or its counts, and where it lies under a claim."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import _checks, audit
from tellapart.audit.counts.intervals import clopper_pearson
from tellapart.audit.evidence.count import CORNER
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.region import Failure, MechanismRegion, PrivacyRegion


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


def seen(fpr: float, tpr: float, members: int, others: int, confidence: float) -> Seen:
    """The attack with these rates, rounded to whole counts where both are given."""
    _checks.probability(fpr=fpr), _checks.probability(tpr=tpr)
    each = each_confidence(_checks.inside_unit(confidence=confidence))
    if not (members and others):
        return Seen(fpr, tpr)
    counts = audit.Counts(round(tpr * members), members, round(fpr * others), others)
    across = clopper_pearson(counts.accused_others, others, confidence=each)
    up = clopper_pearson(counts.accused_members, members, confidence=each)
    return Seen(counts.fpr, counts.tpr, Sample(counts, confidence, (*across, *up)))


def each_confidence(together: float) -> float:
    """The confidence of each rate's limits: those of the corner that the verdict's ledger buys.

    So a box that lies outside is a refutation, and one of a claim that stands reaches inside.
    """
    return 1 - (1 - together) * CORNER


def failures(curve: TradeoffCurve, fpr: float, tpr: float) -> tuple[Failure, ...]:
    """The inequalities of the claim that a point breaks, by the library's region of it."""
    region = allowed(curve)
    if isinstance(region, PrivacyRegion):
        return region.failures(fpr, tpr=tpr)
    return region.failures(fpr, 1 - tpr)


def allowed(curve: TradeoffCurve) -> PrivacyRegion | MechanismRegion:
    """All that attacks can do if the claim is true."""
    if isinstance(curve, GuaranteeCurve):
        return PrivacyRegion(curve.claimed_epsilon, curve.claimed_delta)
    return MechanismRegion(curve)
