"""Evidence from simultaneous confidence bands (as DKW's) of FPR and TPR, at all thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.counts.confidence_band import default_ranks, fpr_upper_above, tpr_lower
from tellapart.audit.counts.rank_test import RankCounts, RateCells
from tellapart.audit.evidence.base import CurveEvidence, Design, Finding, Power, shown_corners
from tellapart.audit.evidence.thresholds import directions
from tellapart.audit.level_budget import CLAIMS_ARE_FREE, Entry, LevelBudget
from tellapart.audit.methods import Band
from tellapart.audit.scores import Scores
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve

_POWER_RANKS = 40
# By less than this a claim is crossed by rounding alone.
_ROUNDING = 1e-12


@dataclass(frozen=True, repr=False)
class BandEvidence(CurveEvidence):
    """What holds wherever one looks: every answer is read off one curve from above."""

    shown: AtomicCurve
    members: int
    non_members: int
    ledger: LevelBudget
    method = Band.name
    design = Design.MANY_RUNS

    def _curve(self) -> AtomicCurve:
        return self.shown

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        fpr, fnr = self.shown.vertices()
        excess = claim.beta(fpr) * (1 - _ROUNDING) - fnr
        excess[(fpr >= 1) | (fnr >= 1)] = 0.0
        worst = int(np.argmax(excess))
        if excess[worst] <= 0:
            return None
        shown, allowed = 1 - float(fnr[worst]), 1 - float(claim.beta(float(fpr[worst])))
        where = (
            f"some threshold flags at least {short(100 * shown, 3, up=False)} % of members "
            f"and at most {short(100 * float(fpr[worst]), 3, up=True)} % of non-members"
        )
        level, at = self.ledger.level, (float(fpr[worst]), shown)
        names = ("FPR from above", "TPR from below")
        return Finding(where, shown, allowed, level, level, at=at, rates=names, computed=False)

    def at_best(self) -> BandEvidence:
        """One threshold that flags every member and no non-member."""
        level = self.ledger.entries[0].level  # of FPR, one way; that of TPR is the same
        fpr = fpr_upper_above(np.array([0]), self.non_members, level)
        tpr = tpr_lower(np.array([self.members]), self.members, level)
        return replace(self, shown=shown_corners(tpr, fpr))

    def _power(self, claim: TradeoffCurve) -> Power:
        """At ranks of non-members alone: the band may see more."""
        steps = np.geomspace(1, max(self.non_members // 2, 1), _POWER_RANKS)
        ranks = np.unique(np.round(steps)).astype(np.int64)
        level = self.ledger.level / 2
        rate = fpr_upper_above(ranks - 1, self.non_members, level)
        counts = np.unique(np.concatenate([[0], default_ranks(self.members)]))
        shares = tpr_lower(counts, self.members, level)
        place = np.searchsorted(shares, claim.tpr(np.asarray(rate)), side="right")
        needed = np.append(counts, self.members + 1)[place].astype(float)
        every = np.ones(len(ranks))
        looks = RankCounts(
            ranks.astype(np.float64), every * self.non_members, needed, every * self.members
        )
        cells = RateCells.of(looks, every * level)
        return lambda truth: float(np.max(cells.least(needed, truth.tpr(cells.cuts))))


def band_evidence(scores: Scores, level: float) -> BandEvidence:
    """One band for each way in which scores may point."""
    ways = directions(scores.orientation)
    share = level / len(ways)
    corners = [_corners(scores, higher, share) for higher in ways]
    fpr, tpr = (np.concatenate(parts) for parts in zip(*corners, strict=True))
    entries = [
        Entry(f"{side} at all thresholds{_way(higher, ways)}", 1, share / 2)
        for higher in ways
        for side in ("FPR", "TPR")
    ]
    ledger = LevelBudget(level, tuple(entries), (CLAIMS_ARE_FREE,))
    return BandEvidence(
        shown_corners(tpr, fpr), scores.members.count, scores.non_members.count, ledger
    )


def _way(higher: bool, ways: list[bool]) -> str:
    return f", {'higher' if higher else 'lower'} means member" if len(ways) > 1 else ""


def _corners(scores: Scores, higher: bool, level: float) -> tuple[Array, Array]:
    """FPR from above and TPR from below at thresholds of both sides' ranks."""
    cuts = np.unique(
        np.concatenate(
            [
                side.descending(default_ranks(side.count))
                for side in (scores.non_members, scores.members)
            ]
        )
    )
    non_members, members = (
        side.above(cuts) if higher else side.below(cuts)
        for side in (scores.non_members, scores.members)
    )
    fpr = fpr_upper_above(non_members, scores.non_members.count, level / 2)
    tpr = tpr_lower(members, scores.members.count, level / 2)
    return fpr, tpr
