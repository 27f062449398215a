"""How far Laplace noise on a sum moves beliefs about a long chain, without the law of any sum.

Let B[a, b] be at most log P(o | a) − log P(o | b) for any output o and two values of a record. The
output's own probability is a mixture of P(o | b) with the prior's shares π(b), so that belief in a
rises by at most −log Σ π(b)·e^−B[a, b] and falls by at most log Σ π(b)·e^B[b, a]. The tails of the
noise show moves that are attained; where the two meet, that is the answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.markov.bounds import chain_log_ratio_bound
from tellapart.worlds.markov.record_epsilons import ChainBounds, agree
from tellapart.worlds.markov.window_bound import log_shares
from tellapart.worlds.models.secrets import RecordIn, RecordValue, Secret
from tellapart.worlds.secret_test import Witness

_ROUNDING = 1e-11


class Believed(NamedTuple):
    """How far beliefs move at most, whether that is attained, by what, and what cannot be."""

    epsilon: float
    exact: bool
    witness: Witness
    skipped: tuple[Secret, ...]


def chain_beliefs(bounds: ChainBounds, positive: bool) -> Believed:
    """The furthest move of the belief in a value of a record; only rises with ``positive``."""
    shares = log_shares(bounds.chain)
    reached = _reached(bounds, shares)
    if positive:
        reached = reached[:1]
    upper = max(_most(bounds, shares, positive), float(np.nanmax(reached)))
    witness = _witness(bounds, reached)
    exact = bool(agree(upper, witness.log_ratio))
    epsilon = upper if exact else upper + _ROUNDING * (1 + upper)
    return Believed(epsilon, exact, witness, bounds.chain.impossible)


def _most(bounds: ChainBounds, shares: Array, positive: bool) -> float:
    """What no output can exceed."""
    apart = chain_log_ratio_bound(bounds.chain, bounds.scale, bounds.query)
    # Of a value and itself, and of values that cannot be, which have no share.
    apart = np.where(apart == -np.inf, 0.0, apart)
    moves = [-logpoly.total(shares[:, None, :] - apart, axis=2)]
    if not positive:
        moves.append(logpoly.total(shares[:, None, :] + apart.transpose(0, 2, 1), axis=2))
    return float(max(one[bounds.chain.possible].max() for one in moves))


def _reached(bounds: ChainBounds, shares: Array) -> Array:
    """What both tails do to each belief: rises, and falls, by tail, record and value."""
    tails = np.where(np.isnan(bounds.tails), -np.inf, bounds.tails)
    untold = logpoly.total(shares + tails, axis=2)
    moved = bounds.tails - untold[:, :, None]
    return np.array([moved, -moved])


def _witness(bounds: ChainBounds, reached: Array) -> Witness:
    falls, tail, record, place = np.unravel_index(int(np.nanargmax(reached)), reached.shape)
    values = bounds.chain.domain(0)
    secret = RecordValue(int(record), float(values[place]))
    anything = RecordIn(int(record), tuple(values.tolist()))
    one, other = (anything, secret) if falls else (secret, anything)
    output = -np.inf if tail else np.inf
    return Witness(one, other, output, float(reached[falls, tail, record, place]))
