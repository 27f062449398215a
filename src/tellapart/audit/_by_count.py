"""Evidence at one threshold fixed beforehand: two counts, tested exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial, solve
from tellapart.audit._buehler import buehler_p_value
from tellapart.audit._together import together
from tellapart.audit.bounds import Basis
from tellapart.audit.counts import Counts
from tellapart.audit.evidence import Design, Evidence, Finding
from tellapart.audit.ledger import CLAIMS_ARE_FREE, Entry, Ledger
from tellapart.audit.looks import directions
from tellapart.audit.methods import Fixed
from tellapart.audit.scores import Scores
from tellapart.curve.atomic import AtomicCurve, from_corners
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import gaussian

# How close to the exact bound a search ends; it ends below it.
_NARROW = 1e-4


@dataclass(frozen=True)
class CountEvidence(Evidence):
    """What one attack, decided upon beforehand, did to members and others."""

    counts: Counts
    ledger: Ledger
    event: str = "accused"
    method = Fixed.name
    design = Design.MANY_RUNS

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self._largest(lambda epsilon: GuaranteeCurve(epsilon, delta), 700.0), Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        return self._largest(lambda delta: GuaranteeCurve(epsilon, delta), 1.0), Basis.EXACT

    def _mu(self) -> tuple[float, Basis]:
        return self._largest(gaussian, 70.0), Basis.EXACT

    def _largest(self, claim: Callable[[float], TradeoffCurve], most: float) -> float:
        """The largest parameter whose claim is refuted, from below."""

        def refuting(parameter: Array) -> Array:
            at = min(float(parameter), most)
            return np.asarray(self.ledger.level - self._p_value(claim(at)))

        zero = np.zeros(())
        if refuting(zero) <= 0:
            return 0.0
        high = np.minimum(solve.climb(refuting, zero, min(1.0, most / 2)), most)
        return float(solve.falling_root(refuting, zero, high, narrow=_NARROW * most**0.1)[0])

    def _p_value(self, claim: TradeoffCurve) -> float:
        return buehler_p_value(self.counts, claim.tpr, confidence=self.confidence)

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        p = self._p_value(claim)
        if p > self.ledger.level:
            return None
        some, all_of = self.counts.accused_members, self.counts.members
        where = (
            f"{self.event}: {100 * self.counts.tpr:.3g} % of members ({some:,} of {all_of:,}) "
            f"against {100 * self.counts.fpr:.3g} % of others"
        )
        allowed = float(claim.tpr(self.counts.fpr))
        return Finding(where, self.counts.tpr, allowed, p, self.ledger.level)

    def curve(self) -> AtomicCurve:
        """The corner of the box around both rates that is least kind to the attacker.

        A box costs more than the exact test of a claim, so the curve may cross fewer claims.
        """
        half = self.ledger.level / 2
        fpr = float(binomial.upper_limit(self.counts.accused_others, self.counts.others, half))
        tpr = float(binomial.lower_limit(self.counts.accused_members, self.counts.members, half))
        one, two = np.array([0.0, fpr, 1.0]), np.array([0.0, tpr, 1.0])
        return from_corners(one, two, 1 - two, 1 - one, bound=Bound.UPPER)

    def _power(self, claim: TradeoffCurve, truth: TradeoffCurve) -> float:
        """With as many others accused as were: the chance that enough members would be."""
        low, high = 0, self.counts.members + 1
        while high - low > 1:
            middle = (low + high) // 2
            tried = replace(self, counts=replace(self.counts, accused_members=middle))
            if tried._p_value(claim) <= self.ledger.level:
                high = middle
            else:
                low = middle
        if high > self.counts.members:
            return 0.0
        share = float(truth.tpr(self.counts.fpr))
        return float(betainc(high, self.counts.members - high + 1, share))

    def scaled(self, factor: float) -> CountEvidence:
        some = (self.counts.accused_members, self.counts.members)
        others = (self.counts.accused_others, self.counts.others)
        return replace(self, counts=Counts(*(round(one * factor) for one in some + others)))


def from_counts(counts: Counts | Mapping[str, Counts], confidence: float = 0.95) -> Evidence:
    """What attacks show that were decided upon before these runs were made.

    One attack's counts, or several by name: each then gets an equal share of the level.
    """
    if isinstance(counts, Mapping):
        share = (1 - _checks.inside_unit(confidence=confidence)) / max(len(counts), 1)
        return together({name: from_counts(one, 1 - share) for name, one in counts.items()})
    level = 1 - _checks.inside_unit(confidence=confidence)
    _checks.instance(Counts, "audit.Counts", counts=counts)
    return CountEvidence(
        counts, Ledger(level, (Entry("one attack", 1, level),), (CLAIMS_ARE_FREE,))
    )


def fixed_evidence(scores: Scores, level: float, method: Fixed) -> Evidence:
    """The counts beyond one threshold, for each way in which scores may point."""
    ways = directions(scores.orientation)
    found = {}
    for higher in ways:
        counts = counts_beyond(scores, method.threshold, higher)
        event = f"score {'>' if higher else '<'} {method.threshold:.6g}"
        entry = Entry(f"the event {event}", 1, level / len(ways))
        ledger = Ledger(level / len(ways), (entry,), (CLAIMS_ARE_FREE,))
        found[event] = CountEvidence(counts, ledger, event)
    return together(found) if len(found) > 1 else next(iter(found.values()))


def counts_beyond(scores: Scores, threshold: float, higher: bool) -> Counts:
    """How many of each side lie strictly beyond a threshold."""
    one, two = (
        int(side.above(threshold) if higher else side.below(threshold))
        for side in (scores.members, scores.others)
    )
    return Counts(one, scores.members.count, two, scores.others.count)
