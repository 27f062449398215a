"""Evidence from bets: valid whenever one stops, so one may stop as soon as it is decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.evidence.base import Design, Evidence, Finding, Power
from tellapart.audit.evidence.e_process import Wager
from tellapart.audit.evidence.e_process_power import Batch, wager_power
from tellapart.audit.ledger import Entry, Ledger
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported

_CHOICES_ARE_FREE = "the choice of events: each was chosen before the calls that were bet on"


@dataclass(frozen=True)
class WagerEvidence(Evidence):
    """What bets against one claim of (ε, δ) have won, at any time; they say nothing of others."""

    wager: Wager
    calls: int = field()  # on each input, those on which events were sought included
    event: str
    batches: tuple[Batch, ...]  # all that were allowed for, whether or not they were needed
    ledger: Ledger
    about: str = ""
    method = "bets, stopped when decided"
    design = Design.CALLS

    @classmethod
    def of(
        cls, wager: Wager, calls: int, event: str, batches: tuple[Batch, ...], about: str = ""
    ) -> WagerEvidence:
        """Evidence at the confidence of the wager."""
        level = 1 - wager.confidence
        entries = (Entry("one wager, at all times", 1, level),)
        ledger = Ledger(level, entries, (_CHOICES_ARE_FREE,))
        return cls(wager, calls, event, batches, ledger, about)

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
        share = self.wager.seen.with_only / self.wager.seen.total
        limit = f"a bet against the claim won more than {1 / self.ledger.level:.3g} times its stake"
        return Finding(self.telling(), share, 0.0, self.ledger.level, self.ledger.level, limit)

    def telling(self, delta: float = 0.0) -> str:
        won, lost = self.wager.seen.with_only, self.wager.seen.without_only
        return (
            f"{self.event}, and events before it: of {self.wager.seen.total:,} pairs of calls "
            f"{won:,} had it on one input alone and {lost:,} on the other; decided after "
            f"{self.calls:,} calls on each"
        )

    def _power(self, claim: TradeoffCurve) -> Power:
        self._finding(claim)  # refuses other claims than the one bet against
        return lambda truth: wager_power(self.wager, truth, self.batches)
