"""Evidence from counts of several pre-set events: Clopper-Pearson limits, Bonferroni over events.

Each event has a share of the level, half of it for either rate: the rate of the side it speaks
against from below, that of the other from above, both by Clopper and Pearson. From a million calls
on, sharper limits would gain less than the noise of the rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart.audit.counts.clopper_pearson import least_levels
from tellapart.audit.evidence.base import (
    CurveEvidence,
    Design,
    Finding,
    Power,
    event_in_words,
    limit_in_words,
    shown_corners,
)
from tellapart.audit.evidence.thresholds import End
from tellapart.audit.level_budget import CLAIMS_ARE_FREE, Entry, LevelBudget
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve

# How much the claim must be crossed by, of what it allows: rounding does less.
_ROUNDING = 1e-12
# Of so many audits one may see more of the reference beyond a cut than power is stated for.
_SELDOM = 1 / 50


@dataclass(frozen=True)
class EventCounts:
    """One event, and how many of the calls on each input it happened in.

    It speaks against the ``tested`` input: outputs on d1, or on d0 where it clears.
    """

    words: str
    end: End
    happened: int
    tested: int
    against: int
    reference: int
    level: float

    @property
    def rates(self) -> tuple[float, float]:
        """The observed (FPR, TPR) of the attack that takes the event for d1, or its absence."""
        share, other = self.happened / self.tested, self.against / self.reference
        return (other, share) if self.end is End.FLAG else (1 - share, 1 - other)

    def __str__(self) -> str:
        who, whom = ("d1", "d0") if self.end is End.FLAG else ("d0", "d1")
        return event_in_words(
            self.words,
            (self.happened, self.tested, f"outputs on {who}"),
            (self.against, self.reference, f"outputs on {whom}"),
        )


@dataclass(frozen=True, repr=False)
class CutEvidence(CurveEvidence):
    """What counts at several cuts show; every cut has its own share of the level."""

    cuts: tuple[EventCounts, ...]
    ledger: LevelBudget
    calls: int | None = None
    about: str = ""
    method = "thresholds fixed on held-out calls"
    design = Design.CALLS

    @property
    def held_out(self) -> int | None:
        return None if self.calls is None else self.calls - self.cuts[0].tested

    @cached_property
    def _rates(self) -> tuple[Array, Array]:
        """The share of the tested from below, and of the reference from above."""
        return self._limits(np.array([cut.level for cut in self.cuts]))

    def _limits(self, levels: Array) -> tuple[Array, Array]:
        shown = binomial.lower_limit(
            [cut.happened for cut in self.cuts], [cut.tested for cut in self.cuts], levels / 2
        )
        rate = binomial.upper_limit(
            [cut.against for cut in self.cuts], [cut.reference for cut in self.cuts], levels / 2
        )
        return shown, rate

    def _curve(self) -> AtomicCurve:
        return self._shown

    @cached_property
    def _shown(self) -> AtomicCurve:
        return shown_corners(*self._rates, np.array([cut.end is End.CLEAR for cut in self.cuts]))

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        share, above = self._rates
        allowed = self._allowed(claim, above)
        refuting = np.flatnonzero(share > allowed * (1 + _ROUNDING))
        if not refuting.size:
            return None
        p = self._p_values(claim)
        worst = int(min(refuting, key=lambda k: p[k] / self.cuts[k].level))
        cut = self.cuts[worst]
        there = float(self._allowed(claim, self._observed)[worst])
        shown = cut.happened / cut.tested
        rate = "FPR" if cut.end is End.FLAG else "FNR"
        limit = limit_in_words(there, cut.against, cut.reference, rate)
        return Finding(str(cut), shown, there, float(p[worst]), cut.level, limit, cut.rates)

    def telling(self, delta: float = 0.0) -> str:
        share, rate = self._rates
        asked = _checks.probability(delta=delta)
        return str(self.cuts[int(np.argmax(np.maximum(share - asked, 0.0) / rate))])

    @property
    def _observed(self) -> Array:
        """The rates of the reference; where none was seen, one might have been."""
        return np.array([max(cut.against, 1) / cut.reference for cut in self.cuts])

    def _allowed(self, claim: TradeoffCurve, rate: Array) -> Array:
        """What the claim allows of the tested at these rates of the reference."""
        rocs: dict[End, Callable[[Array], Array]]
        rocs = {End.FLAG: claim.tpr, End.CLEAR: claim.mirrored().tpr}
        return np.array(
            [
                float(rocs[cut.end](np.asarray(fpr)))
                for cut, fpr in zip(self.cuts, rate, strict=True)
            ]
        )

    def _p_values(self, claim: TradeoffCurve) -> Array:
        """The least level at which each cut would refute, up to its own, from above."""

        def refutes(levels: Array) -> NDArray[np.bool_]:
            share, rate = self._limits(levels)
            return np.asarray(share > self._allowed(claim, rate) * (1 + _ROUNDING))

        return least_levels(refutes, np.array([cut.level for cut in self.cuts]))

    def _power(self, claim: TradeoffCurve) -> Power:
        """Were the reference's rates as observed: at most so many of it, and enough tested."""
        against = np.array([cut.against / cut.reference for cut in self.cuts])
        of, tested = self.cuts[0].reference, self.cuts[0].tested
        most = binomial.least_surprising(of, against, _SELDOM) - 1
        so_few = binomial.lower_tail(most, of, against)
        halves = np.array([cut.level / 2 for cut in self.cuts])
        allowed = self._allowed(claim, binomial.upper_limit(np.maximum(most, 0), of, halves))
        needed = np.array(
            [
                binomial.least_surprising(tested, np.array(tpr), float(half)) + 1
                for tpr, half in zip(allowed, halves, strict=True)
            ]
        )

        def power(truth: TradeoffCurve) -> float:
            reached = binomial.upper_tail(needed, tested, self._allowed(truth, against))
            return float(np.max(so_few * reached))

        return power

    def at_best(self) -> CutEvidence:
        """Events that happen on one input in every call and on the other in none."""
        perfect = (replace(cut, happened=cut.tested, against=0) for cut in self.cuts)
        return replace(self, cuts=tuple(perfect))

    def scaled(self, factor: float) -> CutEvidence:
        names = ("happened", "tested", "against", "reference")
        many = [
            replace(cut, **{name: round(getattr(cut, name) * factor) for name in names})
            for cut in self.cuts
        ]
        return replace(self, cuts=tuple(many))

    def at_level(self, level: float) -> CutEvidence:
        factor = level / self.ledger.level
        cuts = tuple(replace(cut, level=cut.level * factor) for cut in self.cuts)
        return replace(self, cuts=cuts, ledger=self.ledger.at_level(level))


def cut_ledger(level: float, ranks: int) -> tuple[LevelBudget, float, float]:
    """The level shared out: to the event itself, and to each of so many cuts beside it."""
    own = level / 2 if ranks else level
    each = (level - own) / ranks if ranks else 0.0
    entries = [Entry("the event found on held-out calls", 1, own)]
    if ranks:
        entries.append(Entry("thresholds of its score at ranks of held-out calls", ranks, each))
    return LevelBudget(level, tuple(entries), (CLAIMS_ARE_FREE,)), own, each
