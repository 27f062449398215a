"""What Laplace noise on a sum gives away about a chain that is not known exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.known_reversal import reversals
from tellapart.worlds.markov.least_noise import least_scale
from tellapart.worlds.markov.message_passing import Box, one_side
from tellapart.worlds.markov.step import EPS, Mask
from tellapart.worlds.models.base import ImpossibleSecret
from tellapart.worlds.models.queries import Query, Sum, weights_of

_MOST = 2**24


@dataclass(frozen=True, eq=False)
class _Passage:
    """Both directions of a chain or a set of chains, and how much each record weighs."""

    ahead: list[Box]
    back: list[Box]
    possible: Mask
    apart: Array
    weights: Array

    def epsilons(self, scale: float) -> Array:
        """The largest of the log-ratios of each record; NaN where it has no two values."""
        found = self.log_ratios(scale).max(axis=(1, 2))
        return np.where(found == -np.inf, np.nan, found)

    def log_ratios(self, scale: float) -> Array:
        """At most log P(o | x_t = a) − log P(o | x_t = b), by t, a and b; −inf where not two."""
        own = self.weights / scale * (1 + EPS)
        past = one_side(self.back, own, self.apart, self.possible)
        reach = one_side(self.ahead[::-1], own[::-1], self.apart, self.possible[::-1])
        past += reach[::-1]
        past += own[:, None, None] * self.apart
        pairs = self.possible[:, :, None] & self.possible[:, None, :]
        pairs &= ~np.eye(self.apart.shape[0], dtype=bool)
        return np.where(pairs, past * (1 + 4 * EPS), -np.inf)


def chain_epsilon_bound(
    chain: MarkovChain | ChainSet, scale: float, query: Query | None = None
) -> Array:
    """At most how much Laplace noise on a sum gives away about each record of a chain.

    That is for each t an upper bound of the Pufferfish ε: of the log-ratio of the output's
    likelihoods under any two values of record t. ``query`` is the sum by default. For a
    ``ChainSet`` the bound holds for every chain in the set, also for one that moves about in it
    from step to step. It errs on the safe side only: exact for two states that tend to stay (each
    is likelier after itself than after the other) and weights of one sign, larger than the truth
    otherwise: most where states tend to alternate or weights change sign, and cruder with more
    than four states. Values of probability 0 are no secrets; a record with fewer than two
    possible ones reads NaN.

    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=100)
    >>> round(float(chain_epsilon_bound(chain, scale=1).max()), 4)
    3.2982
    """
    return _passage(chain, query).epsilons(_checks.finite_above_zero(scale=scale))


def chain_log_ratio_bound(chain: MarkovChain, scale: float, query: Query | None = None) -> Array:
    """The same for every ordered pair of values, with axes record and both values.

    −inf where the two are alike, or one of them cannot be.
    """
    return _passage(chain, query).log_ratios(_checks.finite_above_zero(scale=scale))


def chain_scale_bound(
    chain: MarkovChain | ChainSet, epsilon: float, query: Query | None = None
) -> float:
    """A scale of Laplace noise that keeps the promise ε for every record of every chain.

    The least one by ``chain_epsilon_bound``, rounded up: one root, as more noise never
    gives away more. Less may do where that bound is not exact.

    >>> chain = MarkovChain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 5)
    >>> round(chain_scale_bound(chain, epsilon=1), 4)
    3.8587
    """
    epsilon = _checks.finite_above_zero(epsilon=epsilon)
    passage = _passage(chain, query)
    if not passage.weights.any():
        _checks.refuse("query", "give some record a weight", query)
    if not (passage.possible.sum(axis=1) > 1).any():
        raise ImpossibleSecret("chain must have a record with two possible values, got none")
    whole = float(passage.weights.sum() * passage.apart.max())

    def worst(scale: float) -> float:
        return float(np.nanmax(passage.epsilons(scale)))

    return least_scale(worst, whole / epsilon * (1 + 1e-9), epsilon)


def _passage(chain: MarkovChain | ChainSet, query: Query | None) -> _Passage:
    _checks.instance(MarkovChain | ChainSet, "a MarkovChain or a ChainSet", chain=chain)
    values = np.asarray(chain.values)
    weights = np.abs(weights_of(Sum() if query is None else query, chain.length))
    size = chain.length * values.size**2
    if size > _MOST:
        raise Unsupported(
            f"{chain.length} records with {values.size} states are {count_in_words(size)} "
            "numbers, more than "
            f"{_MOST}; ask for a shorter chain: in the middle of a long one the bound settles"
        )
    apart = np.abs(np.subtract.outer(values, values))
    if isinstance(chain, MarkovChain):
        back, possible = reversals(chain)
        ahead = Box(chain.transition, chain.transition)
    else:
        ahead, last = Box(*chain.forward), Box(*(chain.backward or chain.forward))
        back = [last] * (chain.length - 1)
        possible = np.ones((chain.length, values.size), dtype=bool)
    return _Passage([ahead] * (chain.length - 1), back, possible, apart, weights)
