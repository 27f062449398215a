"""Evidence of exact rank tests at ranks fixed beforehand, whatever the law of the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.bounds import Basis
from tellapart.audit.counts import rank_test
from tellapart.audit.counts.boundary_crossing import Boundaries, Whole
from tellapart.audit.counts.rank_test import ClaimFamily, RankCounts, RateCells, upper_p_values
from tellapart.audit.evidence.base import (
    Design,
    Evidence,
    Finding,
    Power,
    limit_in_words,
    shown_corners,
)
from tellapart.audit.evidence.thresholds import TIES, End, Look, columns
from tellapart.audit.level_budget import LevelBudget
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.neighbours import Neighbours

# How a look's level is divided between the two rates of one corner of the curve.
_SHARES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


@dataclass(frozen=True, repr=False)
class RankEvidence(Evidence):
    """What thresholds at pre-set ranks show; every look has its own share of the level."""

    looks: tuple[Look, ...]
    ledger: LevelBudget
    method: str
    design: Design = Design.MANY_RUNS
    calls: int | None = None
    about: str = ""
    assumptions: tuple[str, ...] = ()
    mechanism_alone: bool = False
    neighbours: Neighbours | None = None

    @property
    def held_out(self) -> int | None:
        return None if self.calls is None else self.calls - self.looks[0].tested

    @cached_property
    def _columns(self) -> RankCounts:
        return columns(self.looks)

    @cached_property
    def _levels(self) -> Array:
        return np.array([look.level for look in self.looks])

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self._largest(rank_test.epsilons(delta))

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        return self._largest(rank_test.deltas(epsilon))

    def _mu(self) -> tuple[float, Basis]:
        return self._largest(rank_test.gaussians())

    def _largest(self, family: ClaimFamily) -> tuple[float, Basis]:
        return rank_test.largest_refuted(self._columns, self._levels, family)[0], Basis.EXACT

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        p = self._p_values(claim, self._columns)
        worst = int(np.argmin(p / self._levels))
        if not p[worst] <= self._levels[worst]:
            return None
        look = self.looks[worst]
        allowed = float(_roc(claim, look.end)(np.array([look.rank / look.reference]))[0])
        shown = look.beyond / look.tested
        # What ties cost is in the p-value, so that the level is the ledger's.
        p_value, level = min(float(p[worst]) / (1 - TIES), 1.0), look.level / (1 - TIES)
        limit = limit_in_words(allowed, look.rank, look.reference, look.rate)
        return Finding(str(look), shown, allowed, p_value, level, limit, look.rates)

    def telling(self, delta: float = 0.0) -> str:
        _, best = rank_test.largest_refuted(
            self._columns, self._levels, rank_test.epsilons(_checks.probability(delta=delta))
        )
        return "" if best is None else str(self.looks[best])

    def _p_values(self, claim: TradeoffCurve, counts: RankCounts) -> Array:
        """The p-value of each look, had it so many beyond."""
        if isinstance(claim, GuaranteeCurve):
            family = rank_test.epsilons(claim.claimed_delta)
            at = np.full(len(self.looks), claim.claimed_epsilon)
            return rank_test.p_values(counts, family, at)
        if isinstance(claim, GaussianCurve):
            at = np.full(len(self.looks), claim.mu)
            return rank_test.p_values(counts, rank_test.gaussians(), at)
        p_values = np.empty(len(self.looks))
        for end in End:
            some = np.flatnonzero(self._clears == (end is End.CLEAR))
            if some.size:
                roc = _roc(claim, end)
                p_values[some] = upper_p_values(counts.at(some), roc, self._levels[some])
        return p_values

    def _curve(self) -> AtomicCurve:
        """The hull of one corner per look and share: FPR from above, TPR from below.

        Both limits of a corner fail with at most the look's level, and a look whose exact test
        spares the true curve cannot fail them: the curve costs nothing more.
        """
        level = self._levels[:, None]
        a, b = (part[:, None] for part in self._columns.rate_law())
        rate, rate_left = _above(a, b, level * _SHARES)
        c, d = (part[:, None] for part in self._columns.count_law())
        none = self._columns.beyond[:, None] <= 0
        share = np.where(none, 0.0, betaincinv(c, d, level * (1 - _SHARES)))
        share = share * (1 - 1e-12)
        return shown_corners(share, rate, self._clears[:, None], rate_left)

    def _power(self, claim: TradeoffCurve) -> Power:
        """That any look refutes, of those for which the same scores are suspicious."""
        needed = self._critical(claim)
        ways = [
            Boundaries.of(*self._pairs(needed, some), *_sides(self.looks[some[0]]))
            for some in self._ways()
        ]
        return lambda truth: max(way.power(truth.tpr) for way in ways)

    def _ways(self) -> list[NDArray[np.intp]]:
        """Looks for which the same scores are suspicious."""
        upward = self._clears != np.array([look.higher for look in self.looks])
        return [np.flatnonzero(upward == way) for way in np.unique(upward)]

    def _pairs(self, needed: Array, some: NDArray[np.intp]) -> tuple[Whole, Whole]:
        """The order statistics of non-members and members that each look compares."""
        counts, clears = self._columns.at(some), self._clears[some]
        first = np.where(clears, counts.tested - needed[some] + 1, counts.rank)
        second = np.where(clears, counts.reference - counts.rank + 1, needed[some])
        return first.astype(np.int64), second.astype(np.int64)

    def _critical(self, claim: TradeoffCurve) -> Array:
        """The least counts beyond that refute a claim; where cells leave it open, the test says."""
        roc, counts = self._at_cuts(claim), self._columns
        needed = self._cells.critical(roc)
        unsure = (needed <= counts.tested) & (self._cells.most(needed, roc) > self._levels)
        if not unsure.any():
            return needed
        p = self._p_values(claim, counts._replace(beyond=np.where(unsure, needed, 0.0)))
        return needed + (unsure & (p > self._levels))

    @cached_property
    def _clears(self) -> NDArray[np.bool_]:
        return np.array([look.end is End.CLEAR for look in self.looks])

    @cached_property
    def _cells(self) -> RateCells:
        return RateCells.of(self._columns, self._levels)

    def _at_cuts(self, curve: TradeoffCurve) -> Array:
        roc = np.empty_like(self._cells.cuts)
        for end in End:
            some = self._clears == (end is End.CLEAR)
            if some.any():
                roc[some] = _roc(curve, end)(self._cells.cuts[some])
        return roc

    def at_best(self) -> RankEvidence:
        """All of the tested beyond the first of the reference, at either end.

        Ranks fixed beforehand include the first at both ends; one that was chosen on held-out
        scores could have been either.
        """
        perfect = dict.fromkeys(
            replace(look, end=end, rank=1, reference=reference, beyond=tested, tested=tested)
            for look in self.looks
            for end, (reference, tested) in _ends(look).items()
        )
        return replace(self, looks=tuple(perfect))

    def scaled(self, factor: float) -> RankEvidence:
        many = [
            replace(
                look,
                rank=max(round(look.rank * factor), 1),
                reference=round(look.reference * factor),
                beyond=round(look.beyond * factor),
                tested=round(look.tested * factor),
            )
            for look in self.looks
        ]
        return replace(self, looks=tuple(many))

    def at_level(self, level: float) -> RankEvidence:
        factor = level / self.ledger.level
        looks = tuple(replace(look, level=look.level * factor) for look in self.looks)
        return replace(self, looks=looks, ledger=self.ledger.at_level(level))


def _ends(look: Look) -> dict[End, tuple[int, int]]:
    """How many are the reference and how many are tested, from either end."""
    reference, tested = look.reference, look.tested
    other_end = End.CLEAR if look.end is End.FLAG else End.FLAG
    return {look.end: (reference, tested), other_end: (tested, reference)}


def _sides(look: Look) -> tuple[int, int]:
    """How many non-members and members there are."""
    clears = look.end is End.CLEAR
    return (look.tested, look.reference) if clears else (look.reference, look.tested)


def _above(a: Array, b: Array, level: Array) -> tuple[Array, Array]:
    """The rate that a Beta law exceeds with this chance, and one minus it, both with digits."""
    rate = betainccinv(a, b, level) * (1 + 1e-12)
    return np.minimum(rate, 1.0), betaincinv(b, a, level) * (1 - 1e-12)


def _roc(claim: TradeoffCurve, end: End) -> Callable[[Array], Array]:
    """The claim's cap on what a look tests, as a function of the reference's rate."""
    return claim.tpr if end is End.FLAG else claim.mirrored().tpr
