"""ε of every record of a chain under Laplace noise on a sum, without the law of any sum.

The tails of the noise show log-ratios that are attained, so the truth is at least their largest.
Leakage along the chain bounds it from above. Where the two meet, as they do for two states that
tend to stay, that is the answer; where they do not, a ratio may be largest between the tails. Then
windows around a record bound it from above, as closely as wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.markov.bounds import chain_epsilon_bound, chain_log_ratio_bound
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.laplace_tails import chain_log_mgf, tail_pair
from tellapart.worlds.markov.marginals import log_marginals
from tellapart.worlds.markov.window_bound import window_bound
from tellapart.worlds.models.grid import on_grid
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.models.secrets import RecordIn, RecordValue, Secret
from tellapart.worlds.secret_test import Witness

_ROUNDING = 1e-11


def agree(upper: Any, lower: Any) -> Any:
    """Whether two bounds leave no room to speak of: 1e-9, and a millionth of what is told."""
    return upper - lower <= np.minimum(1e-9, 1e-6 * np.abs(upper) + 1e-13)


@dataclass(frozen=True, eq=False)
class ChainBounds:
    """For every record of a chain what the tails show, and what nothing can exceed."""

    chain: MarkovChain
    query: Query
    scale: float

    @cached_property
    def tails(self) -> Array:
        """Of each sign, record t and value a: log E[e^(±f/b) | x_t = a]; NaN where impossible."""
        return chain_log_mgf(self.chain, [1 / self.scale, -1 / self.scale], self.query)

    @cached_property
    def lower(self) -> Array:
        """What the tails tell of each record; NaN for records with one possible value."""
        high, low = (
            _filled(self.tails, -np.inf).max(axis=2),
            _filled(self.tails, np.inf).min(axis=2),
        )
        alone = (~np.isnan(self.tails[0])).sum(axis=1) < 2
        return np.where(alone, np.nan, (high - low).max(axis=0))

    @cached_property
    def upper(self) -> Array:
        """At most this much is told of each record."""
        return np.fmax(chain_epsilon_bound(self.chain, self.scale, self.query), self.lower)

    @cached_property
    def windows(self) -> Array:
        """The same by windows, which takes longer; only for sums in which all count alike."""
        weights = weights_of(self.query, self.chain.records)
        even = np.ptp(weights) == 0 and on_grid(weights[0] * self.chain.domain(0))
        found = window_bound(self.chain, self.query, self.scale) if even else None
        return self.upper if found is None else np.fmax(np.fmin(self.upper, found), self.lower)

    def witness(self, record: int) -> Witness:
        """The two values of a record that a tail tells apart most."""
        sign, *places = tail_pair(self.tails[:, record])
        values = self.chain.domain(record)
        one, other = (float(values[i]) for i in places)
        return Witness(
            RecordValue(record, one),
            RecordValue(record, other),
            np.inf if sign == 0 else -np.inf,
            float(self.lower[record]),
        )


def _filled(array: Array, value: float) -> Array:
    return np.where(np.isnan(array), value, array)


class Believed(NamedTuple):
    """How far beliefs move at most, whether that is attained, by what, and what cannot be."""

    epsilon: float
    exact: bool
    witness: Witness
    skipped: tuple[Secret, ...]


def chain_beliefs(bounds: ChainBounds, positive: bool) -> Believed:
    """The furthest move of the belief in a value of a record; only rises with ``positive``.

    Let B[a, b] be at most log P(o | a) − log P(o | b) for any output o and two values of a record.
    The output's own probability is a mixture of P(o | b) with the prior's shares π(b), so that
    belief in a rises by at most −log Σ π(b)·e^−B[a, b] and falls by at most log Σ π(b)·e^B[b, a].
    The tails of the noise show moves that are attained; where the two meet, that is the answer.
    """
    chain = bounds.chain
    shares = log_marginals(chain.initial, chain.transition, chain.length)
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
