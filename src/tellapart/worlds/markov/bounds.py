"""Upper bounds of Pufferfish ε for a Markov chain known exactly or up to a set: Laplace noise.

With noise of scale b the likelihood of an output moves by at most a factor e^(|x|/b) when a sum
moves by x. So if the records beyond a neighbour say at most A[z, z′] about it, neighbour and
records beyond say at most A[z, z′] + |w·(v_z − v_z′)|/b, w being the neighbour's weight; one step
of the chain turns that into what they say about the record itself. What both sides say, and the
record's own |w·(v_x − v_y)|/b, add up to a bound for the whole sum: given the record the sides are
independent, and the answer with noise and one side is again such a likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.solve import falling_root
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.chain_sets import ChainSet
from tellapart.worlds.markov.reversal import reversals
from tellapart.worlds.markov.step import EPS, FEW, Box, Cone, Mask, Two, pair_lifts, two_states
from tellapart.worlds.models.base import ImpossibleSecret
from tellapart.worlds.models.queries import Query, Sum, weights_of

Step = Callable[[Array, float], Array]

_MOST = 2**24
_STILL, _SETTLED = 1e-12, 1e-10
_CLOSE = 1e-10
_FURTHEST = 64.0  # with e^-64 of the noise that is enough for sure, the answer says nothing at all


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


def least_scale(worst: Callable[[float], float], enough: float, epsilon: float) -> float:
    """The least scale at which ``worst`` is at most ε, rounded up, from one that is enough."""

    def excess(log_scale: Array) -> Array:
        return np.asarray(worst(float(np.exp(log_scale))) / epsilon - 1)

    high, step = float(np.log(enough)), 1.0
    low = high - step
    while excess(np.asarray(low)) <= 0:
        high, step = low, 2 * step
        low = high - step
        if step > _FURTHEST:
            return float(np.exp(high))
    _, kept = falling_root(excess, np.asarray(low), np.asarray(high), narrow=_CLOSE)
    return float(np.exp(kept))


def one_side(boxes: Sequence[Box], own: Array, apart: Array, possible: Mask) -> Array:
    """What the records before each one say about it, for every ordered pair of its values.

    ``boxes[t]`` leads from record t + 1 to record t; ``own`` are the records' |weights|/b,
    ``apart`` the |v_x − v_y| and ``possible`` the states that each record may have.
    """
    if apart.shape[0] == 2:
        return _two(boxes, own, float(apart[0, 1]), possible)
    return _many(boxes, own, apart, possible)


def _two(boxes: Sequence[Box], own: Array, apart: float, possible: Mask) -> Array:
    found = np.zeros((own.size, 2, 2))
    told: Two = (0.0, 0.0)
    budgets: list[float] = (own * apart).tolist()
    certain: list[bool] = np.logical_not(possible.all(axis=1)).tolist()
    ends = _runs(boxes, own, possible)
    t = 0
    while t < len(boxes):
        deadline.check()
        if t == 0 or boxes[t] is not boxes[t - 1]:
            rows = (boxes[t].low.tolist(), boxes[t].high.tolist())
        before = told
        # α of state 1 over 0 limits where u_1 is large, α of 0 over 1 where u_0 is.
        alphas = (_plus(told[0], budgets[t]), _plus(told[1], budgets[t]))
        told = (0.0, 0.0) if certain[t + 1] else two_states(*rows, alphas)
        end = t + 1
        if t and ends[t - 1] > t and _settled(before, told):
            # What tells no more than itself bounds all to come.
            told, end = before, int(ends[t])
        found[t + 1 : end + 1, 0, 1], found[t + 1 : end + 1, 1, 0] = told
        t = end
    return found


def _settled(before: Two, told: Two) -> bool:
    return all(now <= old <= now + _STILL for old, now in zip(before, told, strict=True))


def _plus(one: float, other: float) -> float:
    return (one + other) * (1 + EPS)


def _many(boxes: Sequence[Box], own: Array, apart: Array, possible: Mask) -> Array:
    found = np.zeros((own.size, *apart.shape))
    unlike = ~np.eye(len(apart), dtype=bool)
    ends = _runs(boxes, own, possible)
    step: Step | None = None
    t = 0
    while t < len(boxes):
        deadline.check()
        if step is None or boxes[t] is not boxes[t - 1]:
            step = _step(boxes[t])
        met = possible[t + 1][:, None] & possible[t + 1] & unlike

        def told(leaked: Array, t: int = t, step: Step = step, met: Mask = met) -> Array:
            return np.where(met, step(*_limits(leaked + own[t] * apart, possible[t])), 0.0)

        found[t + 1] = told(found[t])
        t += 1
        if ends[t - 1] > t and np.abs(found[t] - found[t - 1]).max() <= _STILL:
            most = _lasting(told, found[t], met)
            if most is not None:
                end = int(ends[t - 1])
                found[t : end + 1], t = most, end
    return found


def _lasting(told: Callable[[Array], Array], found: Array, met: Mask) -> Array | None:
    """A little more than was found, if it tells no more than itself: so it bounds all to come."""
    for more in (_SETTLED * (1 + found), _SETTLED * found / found.max(initial=EPS)):
        most = np.where(met, found + more, 0.0)
        if np.all(told(most) <= most):
            return most
    return None


def _runs(boxes: Sequence[Box], own: Array, possible: Mask) -> NDArray[np.intp]:
    """For each step the end of the run of steps that are all alike."""
    kinds = np.fromiter(map(id, boxes), dtype=np.int64, count=len(boxes))
    same = (own[1:] == own[:-1]) & (possible[1:] == possible[:-1]).all(axis=1)
    goes_on = (kinds[1:] == kinds[:-1]) & same[:-1] & same[1:]
    last = np.append(np.flatnonzero(~goes_on), len(boxes) - 1)
    return np.asarray(last[np.searchsorted(last, np.arange(len(boxes)))] + 1)


def _limits(leaked: Array, possible: Mask) -> tuple[Array, float]:
    """How unlike likelihoods may be, rounded up, and the largest such limit.

    A state that cannot be limits no other.
    """
    alpha = leaked * (1 + 2 * EPS)
    both = possible[:, None] & possible
    top = float(np.where(both, alpha, 0.0).max())
    return np.where(both, alpha, 2 * top), top


def _step(box: Box) -> Step:
    if len(box.low) <= FEW:
        cone = Cone(box.low, box.high)
        return lambda alpha, top: cone(alpha)
    lifts = pair_lifts(box.low, box.high)
    return lambda alpha, top: lifts(top)
