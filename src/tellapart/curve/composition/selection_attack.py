"""An attack on private selection: an order of outputs by which the best of K runs tells much.

First come the outputs that the one world likes best, S, then those that the other likes best, E,
then all others. Where S is likelier in the first world, the best run lies there more often than in
the other, and seldom in E: with g as in `best_of` it is in E with probability g(P(S) + P(E)) −
g(P(S)). Whoever flags when it is in E has that as FPR under the one law and as TPR under the other.
Every pair of thresholds for S and E is an attack on the mechanism that ranks by this order, so that
their hull is a curve from above.
"""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.certified.discretise import from_points_of_two
from tellapart.curve.composition.best_of import Trials, rounding_room
from tellapart.curve.composition.group_privacy import tangent_losses

# Thresholds that are tried for either set, and room for the rounding of the formulas.
_THRESHOLDS, _ROOM = 800, 1e-9


def two_block_attack(test: TradeoffCurve, trials: Trials) -> AtomicCurve:
    """The curve, from above, of the best of K runs for some order of their outputs."""
    losses = tangent_losses(test)
    if losses.size > _THRESHOLDS:
        losses = losses[np.linspace(0, losses.size - 1, _THRESHOLDS).astype(int)]
    losses = np.concatenate([[losses[0] - 1], losses])
    with np.errstate(all="ignore"):
        ahead = _points(test, losses, trials)
        symmetric = test.mirrored() is test
        back = ahead if symmetric else _points(test.mirrored(), -losses[::-1], trials)
        return from_points_of_two(ahead, back)


def _points(test: TradeoffCurve, losses: Array, trials: Trials) -> tuple[Array, Array]:
    """FPR and TPR of "the best is in E", for S = {loss ≤ s} and E = {loss > t}, s ≤ t."""
    fpr, tpr, fnr, tnr = test._rates(losses)
    s, t = np.triu_indices(losses.size)
    room = _ROOM + rounding_room(test)
    most = trials.best_within(tnr[s], np.minimum(fpr[t], 1 - tnr[s])) * (1 + room)
    least = trials.best_within(fnr[s], np.minimum(tpr[t], 1 - fnr[s])) * (1 - room)
    return _hull(np.minimum(most, 1.0), np.maximum(least, 0.0))


def _hull(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    """The points of which none has a larger TPR at no larger FPR: few of very many."""
    order = np.lexsort((-tpr, fpr))
    fpr, tpr = fpr[order], tpr[order]
    best = np.maximum.accumulate(tpr)
    kept = np.append(True, best[1:] > best[:-1]) & (tpr > fpr)
    return fpr[kept], tpr[kept]
