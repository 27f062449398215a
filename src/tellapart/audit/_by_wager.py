"""Evidence from bets: valid whenever one stops, so one may stop as soon as it is decided."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.audit._wager_power import wager_power
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.evidence import Design, Evidence, Finding, Power
from tellapart.audit.ledger import Entry, Ledger
from tellapart.audit.sequential import Wager
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported


@dataclass(frozen=True)
class WagerEvidence(Evidence):
    """What bets against one claim of (ε, δ) have won, at any time; they say nothing of others."""

    wager: Wager
    calls: int  # on each input, those on which events were sought included
    event: str
    batches: tuple[int, ...]  # all that were allowed for, whether or not they were needed
    ledger: Ledger
    method = "bets, stopped when decided"
    design = Design.MANY_RUNS

    @classmethod
    def of(cls, wager: Wager, calls: int, event: str, batches: tuple[int, ...]) -> WagerEvidence:
        """Evidence at the confidence of the wager."""
        level = 1 - wager.confidence
        ledger = Ledger(level, (Entry("one wager, at all times", 1, level),))
        return cls(wager, calls, event, batches, ledger)

    def epsilon_lower(self, delta: float = 0.0) -> LowerBound:
        """The ε that any true promise with the claim's δ must at least have."""
        if delta != self.wager.delta:
            raise Unsupported(
                f"these bets were at δ = {self.wager.delta:g}, and show no ε at others"
            )
        return self.wager.shown()

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self.epsilon_lower(delta).value, Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        raise Unsupported("bets against ε bound no δ; probe without until_decided")

    def _mu(self) -> tuple[float, Basis]:
        raise Unsupported("bets against ε bound no μ; probe without until_decided")

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        told = (self.wager.epsilon, self.wager.delta)
        if not isinstance(claim, GuaranteeCurve) or told != (
            claim.claimed_epsilon,
            claim.claimed_delta,
        ):
            raise Unsupported(f"these bets were against ε = {told[0]:g}, δ = {told[1]:g} alone")
        if self.wager.refuted_after is None:
            return None
        won, lost = self.wager.seen.with_only, self.wager.seen.without_only
        share = won / self.wager.seen.total
        where = (
            f"{self.event}, and events before it: of {self.wager.seen.total:,} pairs of calls "
            f"{won:,} had it on one input alone and {lost:,} on the other; decided after "
            f"{self.calls:,} calls on each"
        )
        limit = f"a bet against the claim won more than {1 / self.ledger.level:.3g} times its stake"
        return Finding(where, share, 0.0, self.ledger.level, self.ledger.level, limit)

    def _power(self, claim: TradeoffCurve) -> Power:
        self._finding(claim)  # refuses other claims than the one bet against
        return lambda truth: wager_power(self.wager, truth, self.batches)
