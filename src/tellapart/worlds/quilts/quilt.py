"""The worst record under its best quilt: exactly, or by how fast a chain forgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.sizes import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.models.chain import MarkovChain
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.quilts._influences import Bounded, Exact, Influences
from tellapart.worlds.quilts._mixing import listed, mixing

Places = NDArray[np.int64]
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


def _worth(best: Quilt, distances: Places, found: Array, epsilon: float) -> tuple[Places, Array]:
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
    near: Places,
    influence: Array,
    epsilon: float,
    most: int,
    left: Places | None,
    right: Places | None,
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
