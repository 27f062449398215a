"""Bayesian credible bounds at one threshold: shown beside evidence, never proof."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.attack_counts import Counts
from tellapart.audit.counts.credible import jeffreys_epsilon, joint_beta_epsilon
from tellapart.audit.evidence.base import Design, Evidence, Finding, Power
from tellapart.audit.ledger import Entry, Ledger
from tellapart.audit.methods import Credible, Prior
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported

_BOUNDS = {Prior.JOINT_BETA: joint_beta_epsilon, Prior.JEFFREYS: jeffreys_epsilon}


@dataclass(frozen=True, repr=False)
class Belief(Evidence):
    """What one would believe under a prior: how often it overclaims is measured, not bounded."""

    counts: Counts
    prior: Prior
    ledger: Ledger
    design = Design.MANY_RUNS
    method = Credible.name
    can_refute = False

    def epsilon_lower(self, delta: float = 0.0) -> LowerBound:
        """The ε believed at least, with how often such a belief would be too high."""
        return _BOUNDS[self.prior](self.counts, delta=delta, confidence=self.confidence)

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self.epsilon_lower(delta).value, Basis.BAYESIAN

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        raise Unsupported("a credible bound is on ε alone; audit.Fixed(threshold) bounds δ")

    def _mu(self) -> tuple[float, Basis]:
        raise Unsupported("a credible bound is on ε alone; audit.Fixed(threshold) bounds μ")

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        return None

    def _power(self, claim: TradeoffCurve) -> Power:
        return lambda truth: 0.0


def belief(counts: Counts, prior: Prior, level: float) -> Belief:
    """A belief from the counts of one attack; its ledger says that nothing was guaranteed."""
    entry = Entry("posterior probability left out, which bounds no false claims", 1, level)
    return Belief(counts, prior, Ledger(level, (entry,)))
