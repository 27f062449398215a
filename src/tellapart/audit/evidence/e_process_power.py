"""When bets on a mechanism stop, and how surely they would have refuted a claim by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart.audit.evidence.e_process import FRACTIONS, Counted, Wager
from tellapart.curve.base import TradeoffCurve

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
class Batch:
    """So many pairs, how many may come after them, and whether an event is then sought anew."""

    size: int
    left: int
    seek: bool

    def hope(self, wager: Wager, seen: Counted, before: Counted) -> NDArray[np.bool_]:
        """Whether the pairs since the event was found leave hope, or are too few to tell."""
        recent = Counted(*(now - then for now, then in zip(seen, before, strict=True)))
        few = np.asarray(sum(recent)) < _FEW
        return np.asarray((self.left > 0) & (few | wager.hope(seen, self.left, recent)))


def planned(done: int, samples: int) -> Iterator[Batch]:
    """The calls to come: few at a time at first, and always a share of all so far."""
    sought = done
    while done < samples:
        deadline.check()
        size = min(max(_BATCH, done // 8), samples - done)
        done += size
        again = done >= _AGAIN * sought
        sought = done if again else sought
        yield Batch(size, samples - done, again)


def wager_power(wager: Wager, truth: TradeoffCurve, batches: Sequence[Batch]) -> float:
    """The chance of refuting within these batches by the best fixed event, at the least.

    By simulation with its own doubt taken off; giving up early is counted as failing.
    """
    kinds = _kinds(*_best_rates(wager, truth))
    rng = np.random.default_rng(0)
    counts, before = np.zeros((_PATHS, 4)), np.zeros((_PATHS, 4))
    refuted, going = np.zeros(_PATHS, dtype=bool), np.ones(_PATHS, dtype=bool)
    for batch in batches:
        counts += rng.multinomial(batch.size, kinds, _PATHS)
        seen = Counted(*counts.T)
        refuted |= going & wager.enough(seen)
        going &= ~refuted & batch.hope(wager, seen, Counted(*before.T))
        if batch.seek:
            before = counts.copy()
        if not going.any():
            break
    return float(binomial.lower_limit(int(refuted.sum()), _PATHS, _DOUBT))


def _best_rates(wager: Wager, truth: TradeoffCurve) -> tuple[float, float]:
    """The TPR and FPR of the event on which bets grow fastest, in either order of the worlds."""
    best, found = -np.inf, (0.0, 0.0)
    for curve in (truth, truth.mirrored()):
        for tpr, fpr in zip(np.asarray(curve.tpr(_RATES)).tolist(), _RATES.tolist(), strict=True):
            growth = float(_growth(wager, _kinds(tpr, fpr)))
            if growth > best:
                best, found = growth, (tpr, fpr)
    return found


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
    found = np.array([tpr * (1 - fpr), (1 - tpr) * fpr, tpr * fpr, (1 - tpr) * (1 - fpr)]).clip(0.0)
    return np.asarray(found / found.sum())
