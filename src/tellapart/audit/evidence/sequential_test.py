"""Sequential tests on an e-process: evidence that may stop once it is decided, and its power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.text import short
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.evidence.base import Design, Evidence, Finding, Power
from tellapart.audit.evidence.e_process import FRACTIONS, PairCounts, Wager
from tellapart.audit.level_budget import Entry, LevelBudget
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject, curve_of

_CHOICES_ARE_FREE = (
    "no correction is needed for choosing events: each was chosen before the calls it is tested on"
)


@dataclass(frozen=True)
class WagerEvidence(Evidence):
    """What a sequential test of one claim of (ε, δ) shows, at any stopping time."""

    wager: Wager
    calls: int = field()  # on each input, those on which events were sought included
    event: str
    batches: tuple[PairBatch, ...]  # all that were allowed for, whether or not they were needed
    ledger: LevelBudget
    about: str = ""
    method = "sequential test (e-process)"
    design = Design.CALLS

    @classmethod
    def of(
        cls, wager: Wager, calls: int, event: str, batches: tuple[PairBatch, ...], about: str = ""
    ) -> WagerEvidence:
        """Evidence at the confidence of the wager."""
        level = 1 - wager.confidence
        entries = (Entry("one e-process, valid at any stopping time", 1, level),)
        ledger = LevelBudget(level, entries, (_CHOICES_ARE_FREE,))
        return cls(wager, calls, event, batches, ledger, about)

    def epsilon_lower(self, delta: float = 0.0) -> LowerBound:
        """The ε that any true promise with the claim's δ must at least have."""
        if delta != self.wager.delta:
            raise Unsupported(
                f"this sequential test bounds ε at δ = {short(self.wager.delta)} alone"
            )
        return self.wager.shown()

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return self.epsilon_lower(delta).value, Basis.EXACT

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        raise Unsupported("a sequential test of ε bounds no δ; probe without until_decided")

    def _mu(self) -> tuple[float, Basis]:
        raise Unsupported("a sequential test of ε bounds no μ; probe without until_decided")

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        bet_against = (self.wager.epsilon, self.wager.delta)
        if not isinstance(claim, GuaranteeCurve) or bet_against != (
            claim.claimed_epsilon,
            claim.claimed_delta,
        ):
            raise Unsupported(
                f"this sequential test was of the claim ε = {short(bet_against[0])}, "
                f"δ = {short(bet_against[1])} alone"
            )
        if self.wager.refuted_after is None:
            return None
        share = self.wager.seen.with_only / self.wager.seen.total
        limit = f"the e-value against the claim exceeds {short(1 / self.ledger.level, 3)}"
        level = self.ledger.level
        return Finding(self.telling(), share, 0.0, level, level, limit, computed=False)

    def telling(self, delta: float = 0.0) -> str:
        won, lost = self.wager.seen.with_only, self.wager.seen.without_only
        return (
            f"{self.event}, and events chosen before it: of {self.wager.seen.total:,} pairs of "
            f"calls {won:,} had it on one input alone and {lost:,} on the other; decided after "
            f"{self.calls:,} calls on each input"
        )

    def could_refute(self, claim: Subject) -> bool:
        self._finding(curve_of(claim, "claim"))  # refuses other claims than the one bet against
        return could_win(self.wager, sum(batch.size for batch in self.batches))

    def _power(self, claim: TradeoffCurve) -> Power:
        self._finding(claim)  # refuses other claims than the one bet against
        return lambda truth: wager_power(self.wager, truth, self.batches)


def could_win(wager: Wager, pairs: int) -> bool:
    """Whether bets suffice if the event comes with the record alone, every time."""
    return bool(wager.enough(PairCounts(*np.array([pairs, 0.0, 0.0, 0.0]))))


# So many pairs serve to find the first event.
FIRST_PAIRS = 32
_BATCH = 16
# An event is sought again when there are so many times the calls of last time.
_AGAIN = 1.5
# Fewer pairs than these say little of what an event can do.
_FEW = 128
_PATHS = 400
# The chance that the simulation itself says too much.
_DOUBT = 1e-3
_RATES = np.concatenate([np.geomspace(1e-4, 0.5, 40), 1 - np.geomspace(0.5, 1e-4, 40)[1:]])


@dataclass(frozen=True)
class PairBatch:
    """So many pairs, how many may come after them, and whether an event is then sought anew."""

    size: int
    left: int
    seek: bool

    def hope(self, wager: Wager, seen: PairCounts, before: PairCounts) -> NDArray[np.bool_]:
        """Whether the pairs since the event was found leave hope, or are too few to tell."""
        recent = PairCounts(*(now - then for now, then in zip(seen, before, strict=True)))
        few = np.asarray(sum(recent)) < _FEW
        return np.asarray((self.left > 0) & (few | wager.hope(seen, self.left, recent)))


def planned(done: int, samples: int) -> Iterator[PairBatch]:
    """The calls to come: few at a time at first, and always a share of all so far."""
    sought = done
    while done < samples:
        deadline.check()
        size = min(max(_BATCH, done // 8), samples - done)
        done += size
        again = done >= _AGAIN * sought
        sought = done if again else sought
        yield PairBatch(size, samples - done, again)


def wager_power(wager: Wager, truth: TradeoffCurve, batches: Sequence[PairBatch]) -> float:
    """The chance of refuting within these batches by the best fixed event, at the least.

    By simulation with its own doubt taken off; giving up early is counted as failing.
    """
    kinds = _kinds(*_best_rates(wager, truth))
    rng = np.random.default_rng(0)
    counts, before = np.zeros((_PATHS, 4)), np.zeros((_PATHS, 4))
    refuted, going = np.zeros(_PATHS, dtype=bool), np.ones(_PATHS, dtype=bool)
    for batch in batches:
        counts += rng.multinomial(batch.size, kinds, _PATHS)
        seen = PairCounts(*counts.T)
        refuted |= going & wager.enough(seen)
        going &= ~refuted & batch.hope(wager, seen, PairCounts(*before.T))
        if batch.seek:
            before = counts.copy()
        if not going.any():
            break
    return float(binomial.lower_limit(int(refuted.sum()), _PATHS, _DOUBT))


def _best_rates(wager: Wager, truth: TradeoffCurve) -> tuple[float, float]:
    """The TPR and FPR of the event on which bets grow fastest, in either order of the worlds."""
    best, rates = -np.inf, (0.0, 0.0)
    for curve in (truth, truth.mirrored()):
        for tpr, fpr in zip(np.asarray(curve.tpr(_RATES)).tolist(), _RATES.tolist(), strict=True):
            growth = float(_growth(wager, _kinds(tpr, fpr)))
            if growth > best:
                best, rates = growth, (tpr, fpr)
    return rates


def _growth(wager: Wager, kinds: Array) -> Array:
    """How fast the wealth grows, in logs a pair, with the best of the stakes."""
    unit = np.exp(-wager.epsilon) / (1 + wager.delta * np.exp(-wager.epsilon))
    stakes = FRACTIONS * unit
    lost = FRACTIONS / (1 + wager.delta * np.exp(-wager.epsilon))  # of a coin, per event without
    logs = [
        np.log1p(stakes * (x - wager.delta) - (lost if y else 0.0))
        for x, y in ((1, 0), (0, 1), (1, 1), (0, 0))
    ]
    return np.asarray(np.max(sum(k * log for k, log in zip(kinds, logs, strict=True))))


def _kinds(tpr: float, fpr: float) -> Array:
    """The chances of the four kinds of pairs: with only, without only, both, neither."""
    chances = np.array([tpr * (1 - fpr), (1 - tpr) * fpr, tpr * fpr, (1 - tpr) * (1 - fpr)]).clip(
        0.0
    )
    return np.asarray(chances / chances.sum())
