"""How surely bets that stop when decided would refute a claim, were another curve true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart.audit._stakes import FRACTIONS, Counted
from tellapart.audit.sequential import Wager
from tellapart.curve.base import TradeoffCurve

_PATHS = 400
# The chance that the simulation itself says too much.
_DOUBT = 1e-3
_RATES = np.concatenate([np.geomspace(1e-4, 0.5, 40), 1 - np.geomspace(0.5, 1e-4, 40)[1:]])


def wager_power(wager: Wager, truth: TradeoffCurve, batches: Sequence[int]) -> float:
    """The chance of refuting within these batches by the best fixed event, at the least.

    By simulation with its own doubt taken off; giving up early is counted as failing.
    """
    kinds = _kinds(*_best_rates(wager, truth))
    rng = np.random.default_rng(0)
    counts = np.zeros((_PATHS, 4))
    refuted, going = np.zeros(_PATHS, dtype=bool), np.ones(_PATHS, dtype=bool)
    left = sum(batches)
    for size in batches:
        counts += rng.multinomial(size, kinds, _PATHS)
        left -= size
        so_far = Counted(*counts.T)
        refuted |= going & wager.enough(so_far)
        going &= ~refuted & wager.hope(so_far, left)
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
