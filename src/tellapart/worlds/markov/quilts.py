"""The worst record under its best quilt: exactly, or by how fast a chain forgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.marginals import log_marginals, stationary_law
from tellapart.worlds.models.base import logs_of
from tellapart.worlds.models.queries import Query, weights_of

Places = NDArray[np.int64] | int
_STILL = 2.0**-51  # a step that moves a law by rounding only


class Influences(ABC):
    """Log-ratios of what stands at a distance from a node, before it or after it."""

    length: int

    @abstractmethod
    def left(self, node: Places, distance: Places) -> Array:
        """Of the record so far before the node; the largest over its values."""

    @abstractmethod
    def right(self, node: Places, distance: Places) -> Array:
        """Of the record so far after the node; the largest over its values."""

    def pair(self, nodes: NDArray[np.int64], left: int | None, right: int | None) -> Array:
        """The influence of one quilt on each of many nodes."""
        found: Any = 0.0
        if left is not None:
            found = found + self.left(nodes, left)
        if right is not None:
            found = found + self.right(nodes, right)
        return np.asarray(found.max(axis=-1))


class Bounded(Influences):
    """Bounds for all chains with this least stationary probability and eigengap."""

    def __init__(self, length: int, least: float, gap: float) -> None:
        self.length, self._least, self._gap = length, least, gap

    def left(self, node: Places, distance: Places) -> Array:
        return 2 * self.right(node, distance)

    def right(self, node: Places, distance: Places) -> Array:
        node, distance = np.broadcast_arrays(node, distance)
        if self._least == 0:
            return np.full((*distance.shape, 1), np.inf)
        off = np.exp(-self._gap * distance / 2) / self._least
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.log1p(off) - np.log1p(-off)
        return np.where(off < 1, bound, np.inf)[..., None]


class Exact(Influences):
    """The influences in one or several chains, side by side."""

    def __init__(self, chains: list[MarkovChain]) -> None:
        self.length = chains[0].length
        self._chains = [_Chain(chain) for chain in chains]

    def left(self, node: Places, distance: Places) -> Array:
        each = [one.left(node, distance) for one in self._chains]
        return np.concatenate([*each, _nothing(node, distance)], axis=-1)

    def right(self, node: Places, distance: Places) -> Array:
        each = [one.right(node, distance) for one in self._chains]
        return np.concatenate([*each, _nothing(node, distance)], axis=-1)


def _nothing(node: Places, distance: Places) -> Array:
    """Two values alike, so that influences are at least 0 where no two values are possible."""
    return np.zeros((*np.broadcast_shapes(np.shape(node), np.shape(distance)), 1))


class _Chain:
    """One chain: P^d in logarithms as far as it was asked for, and the law of every record.

    As published, a record of the quilt may have any value that the chain takes at some time, also
    where its own law excludes it: the bound is never too small for that.
    """

    def __init__(self, chain: MarkovChain) -> None:
        step = logs_of(chain.transition)
        laws = log_marginals(chain.initial, chain.transition, chain.length, _STILL)
        taken = np.flatnonzero((laws > -np.inf).any(axis=0))
        laws, self._step = laws[:, taken], step[np.ix_(taken, taken)]
        apart = np.eye(taken.size) == 0
        self._x, self._y = np.nonzero(apart)
        self._possible = (laws[:, self._x] > -np.inf) & (laws[:, self._y] > -np.inf)
        with np.errstate(invalid="ignore"):
            odds = laws[:, self._y] - laws[:, self._x]
        self._odds = np.where(self._possible, odds, 0.0)
        self._power = np.where(apart, -np.inf, 0.0)
        nothing = np.full((1, self._x.size), np.inf)
        self._forward, self._backward = nothing, nothing

    def left(self, node: Places, distance: Places) -> Array:
        self._extend(distance)
        found = self._backward[distance] + self._odds[node]
        return np.where(self._possible[node], found, -np.inf)

    def right(self, node: Places, distance: Places) -> Array:
        self._extend(distance)
        return np.where(self._possible[node], self._forward[distance], -np.inf)

    def _extend(self, distance: Places) -> None:
        forward, backward = [], []
        for _ in range(len(self._forward), int(np.max(distance, initial=0)) + 1):
            self._power = logpoly.total(self._power[:, :, None] + self._step, axis=1)
            there, back = self._power, self._power.T
            forward.append(_ratio(there[self._x], there[self._y]).max(axis=1))
            backward.append(_ratio(back[self._x], back[self._y]).max(axis=1))
        if forward:
            self._forward = np.vstack([self._forward, *forward])
            self._backward = np.vstack([self._backward, *backward])


def _ratio(one: Array, other: Array) -> Array:
    """Log-ratios; what has probability 0 in the first place tells nothing."""
    with np.errstate(invalid="ignore"):
        return np.where(one == -np.inf, -np.inf, one - other)


_ROUNDING = 1e-12


@dataclass(frozen=True)
class Mixing:
    """How fast chains forget: the larger both numbers, the less a record tells of far ones."""

    least_probability: float
    gap: float


def listed(chains: MarkovChain | Sequence[MarkovChain]) -> list[MarkovChain]:
    """One or several chains, as a list."""
    given = [chains] if isinstance(chains, MarkovChain) else chains
    _checks.instance(Sequence, "a MarkovChain or several", chains=given)
    if not given:
        _checks.refuse("chains", "not be empty", given)
    for i, chain in enumerate(given):
        _checks.instance(MarkovChain, "a MarkovChain", **{f"chains[{i}]": chain})
    return list(given)


def mixing(chains: MarkovChain | Sequence[MarkovChain], *, reversible: bool = False) -> Mixing:
    """How fast the slowest of some chains forgets, as ``quilt_scale_approximate`` asks it.

    That is the least stationary probability π of a state and the least eigengap 1 - ``|λ₂(P·P*)|``,
    where P* is the chain run backwards. For chains that look the same backwards
    ``reversible=True`` gives the larger 2(1 - ``|λ₂(P)|``), and less noise. Gaps are rounded down.

    >>> chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=100)
    >>> found = mixing(chain)
    >>> round(found.least_probability, 9), round(found.gap, 9)
    (0.2, 0.75)
    """
    each = [_one(chain.transition, reversible) for chain in listed(chains)]
    return Mixing(min(one.least_probability for one in each), min(one.gap for one in each))


def _one(transition: Array, reversible: bool) -> Mixing:
    law = stationary_law(transition)
    if law.min() == 0:
        if reversible:
            _checks.refuse("transition", "return to every state to be reversible", transition)
        return Mixing(0.0, 0.0)
    root = np.sqrt(law)
    # Similar to P, and times its own transpose similar to P·P*.
    alike = root[:, None] * transition / root
    if not reversible:
        sizes = np.asarray(np.linalg.svd(alike, compute_uv=False) ** 2)
        return Mixing(float(law.min()), _gap(sizes))
    if np.abs(alike - alike.T).max() > _ROUNDING:
        _checks.refuse("transition", "look the same backwards to be reversible", transition)
    return Mixing(float(law.min()), 2 * _gap(np.abs(np.linalg.eigvalsh(alike))))


def _gap(sizes: Array) -> float:
    second = float(np.sort(sizes)[-2]) if sizes.size > 1 else 0.0
    return max(1 - second - _ROUNDING, 0.0)


Steps = NDArray[np.int64]
_FIRST_REACH = 16
_BLOCK = 2**16
_LONGEST = 2 * 10**6


@dataclass(frozen=True)
class Quilt:
    """The noise that hides every record, and the record and quilt that ask for that much.

    ``node`` counts from 0; ``left`` and ``right`` say how far before and after it the quilt's
    records are, None where there is none; ``influence`` is what they tell of it, at most, and
    ``nearby`` how many records are on its side of the quilt.
    """

    scale: float
    node: int
    left: int | None
    right: int | None
    influence: float
    nearby: int


def quilt_scale(
    chains: MarkovChain | Sequence[MarkovChain],
    epsilon: float,
    *,
    exact: bool = True,
    nearby: int | None = None,
    query: Query | None = None,
    lipschitz: float | None = None,
) -> Quilt:
    """Laplace noise that hides any record of a chain in any query that one record moves by 1.

    Several chains of one length are all guarded against. Every record and every quilt count;
    ``nearby`` leaves out quilts with more records on the near side, save the one that has all:
    faster, and never less noise. Where one record can change the query by more than 1, say by
    how much (``lipschitz``), or give the ``query`` itself if it is a weighted sum.
    ``exact=False`` replaces influences by their bounds from ``mixing``. The true ε is at most
    that asked, up to rounding, and often far below. A move that is impossible has infinite
    influence, so that other quilts serve.

    >>> chain = MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=100)
    >>> round(quilt_scale(chain, 1).scale, 4)
    12.84
    """
    given = listed(chains)
    lengths = {chain.length for chain in given}
    if len(lengths) > 1:
        _checks.refuse("chains", "have one length", sorted(lengths))
    if query is not None:
        if lipschitz is not None:
            _checks.refuse("lipschitz", "not be given beside a query", lipschitz)
        lipschitz = _change(query, given)
    lipschitz = 1.0 if lipschitz is None else lipschitz
    _check_length(given[0].length)
    if exact:
        return _least(Exact(given), epsilon, nearby, lipschitz)
    found = mixing(given)
    source = Bounded(given[0].length, found.least_probability, found.gap)
    return _least(source, epsilon, nearby, lipschitz)


def quilt_scale_approximate(
    length: int,
    epsilon: float,
    least_probability: float,
    gap: float,
    *,
    nearby: int | None = None,
    lipschitz: float = 1.0,
) -> Quilt:
    """Noise that hides any record of any chain that forgets as fast as this (MQMApprox).

    ``least_probability`` is the least that a stationary law gives to a state, ``gap`` the least
    eigengap, over all chains; see ``mixing``. Never less noise than ``quilt_scale`` asks for.

    >>> round(quilt_scale_approximate(100, 1, least_probability=0.2, gap=0.75).scale, 4)
    31.7098
    """
    length = _check_length(_checks.whole(1, 10**7, length=length))
    least = _checks.probability(least_probability=least_probability)
    gap = _checks.finite_at_least_zero(gap=gap)
    return _least(Bounded(length, least, gap), epsilon, nearby, lipschitz)


def _check_length(length: int) -> int:
    """A number of records whose quilts take seconds."""
    if length > _LONGEST:
        raise Unsupported(
            f"quilts for {count_in_words(length)} records take too long, at most {_LONGEST} are "
            "tried; ask for a shorter chain: in the middle of a long one the noise settles"
        )
    return length


def _change(query: Query, chains: list[MarkovChain]) -> float:
    """How much one record can change a weighted sum, in any of the chains."""
    weight = float(np.abs(weights_of(query, chains[0].length)).max())
    return weight * max(float(np.ptp(chain.domain(0))) for chain in chains)


def _least(source: Influences, epsilon: float, nearby: int | None, lipschitz: float) -> Quilt:
    """The worst record under its best quilt, by bounds that rule out most records at once.

    ``bounds`` has a scale that suffices for each record. The record that seems to need most is
    searched in full, and the quilt that serves it best is tried on all.
    """
    epsilon = _checks.finite_above_zero(epsilon=epsilon)
    lipschitz = _checks.finite_at_least_zero(lipschitz=lipschitz)
    most = source.length if nearby is None else _checks.whole(1, nearby=nearby)
    bounds = np.full(source.length, source.length / epsilon)
    open_ = np.ones(source.length, dtype=bool)
    worst: Quilt | None = None
    while worst is None or open_.any():
        deadline.check()
        node = int(np.argmax(np.where(open_, bounds, -np.inf)))
        found = _best(source, node, epsilon, most)
        open_[node] = False
        if worst is None or found.scale > worst.scale:
            worst = found
        bounds = np.minimum(bounds, _scores(source, found, epsilon, most))
        open_ &= bounds > worst.scale
    return replace(worst, scale=lipschitz * worst.scale)


def _scores(source: Influences, quilt: Quilt, epsilon: float, most: int) -> Array:
    """What one shape of quilt, or either half of it, gives for every record; at best."""
    nodes = np.arange(source.length)
    before, after = nodes, source.length - 1 - nodes
    best = np.full(source.length, np.inf)
    a, b = quilt.left, quilt.right
    for left, right in {(a, b), (a, None), (None, b)} - {(None, None)}:
        fits = np.full(source.length, True)
        fits &= before >= left if left is not None else True
        fits &= after >= right if right is not None else True
        chosen = nodes[fits]
        influence = source.pair(chosen, left, right)
        near = (left - 1 if left is not None else before[fits]) + 1
        near = near + (right - 1 if right is not None else after[fits])
        best[fits] = np.minimum(best[fits], _score(near, influence, epsilon, most))
    return best


def _score(near: object, influence: Array, epsilon: float, most: int) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        serves = (influence < epsilon) & (np.asarray(near) <= most)
        return np.where(serves, np.asarray(near) / (epsilon - influence), np.inf)


def _best(source: Influences, node: int, epsilon: float, most: int) -> Quilt:
    """The best quilt of one record. None with more than scale·ε records nearby can be better."""
    best = Quilt(source.length / epsilon, node, None, None, 0.0, source.length)
    reach = _FIRST_REACH
    while True:
        deadline.check()
        best = _within(source, best, epsilon, min(reach, most))
        if reach >= min(most, source.length) or best.scale * epsilon <= reach + 1:
            return best
        reach *= 2


def _within(source: Influences, best: Quilt, epsilon: float, most: int) -> Quilt:
    """The best quilt with so many records nearby, or what is known to be as good."""
    node, before, after = best.node, best.node, source.length - 1 - best.node
    lefts, rights = np.arange(1, min(before, most) + 1), np.arange(1, min(after, most) + 1)
    left, right = source.left(node, lefts), source.right(node, rights)
    best = _better(best, lefts + after, left.max(axis=1), epsilon, most, lefts, None)
    best = _better(best, rights + before, right.max(axis=1), epsilon, most, None, rights)
    # Two records tell no less than one, so most distances are out of question by themselves.
    lefts, left = _worth(best, lefts, left, epsilon)
    rights, right = _worth(best, rights, right, epsilon)
    rows = max(_BLOCK // max(rights.size, 1), 1)
    for start in range(0, lefts.size if rights.size else 0, rows):
        a, b = np.meshgrid(lefts[start : start + rows], rights, indexing="ij")
        influence = _largest(left[start : start + rows], right)
        best = _better(best, a + b - 1, influence, epsilon, most, a, b)
    return best


def _worth(best: Quilt, distances: Steps, found: Array, epsilon: float) -> tuple[Steps, Array]:
    kept = _score(distances, found.max(axis=1), epsilon, distances.size) < best.scale
    return distances[kept], found[kept]


def _largest(left: Array, right: Array) -> Array:
    """The largest sum along the last axis, for each of the left with each of the right."""
    largest = np.full((len(left), len(right)), -np.inf)
    for one, other in zip(left.T, right.T, strict=True):
        np.maximum(largest, one[:, None] + other, out=largest)
    return largest


def _better(
    best: Quilt,
    near: Steps,
    influence: Array,
    epsilon: float,
    most: int,
    left: Steps | None,
    right: Steps | None,
) -> Quilt:
    if influence.size == 0:
        return best
    scores = _score(near, influence, epsilon, most)
    place = int(np.argmin(scores))
    if not scores.flat[place] < best.scale:
        return best
    return Quilt(
        scale=float(scores.flat[place]),
        node=best.node,
        left=None if left is None else int(left.flat[place]),
        right=None if right is None else int(right.flat[place]),
        influence=float(influence.flat[place]),
        nearby=int(near.flat[place]),
    )
