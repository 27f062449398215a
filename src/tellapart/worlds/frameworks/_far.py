"""Knowledge of a long chain: exact where it is near the record, bounded where it is far away.

What someone knows further than r records away reaches the record through the state there only.
For any output the likelihood under a value x is then a mixture over that state z, with weights
P(z | x, knowledge). A ratio of two mixtures is at most the largest ratio of their parts, and

    P(z | x, known)/P(z | y, known) ≤ P(x | z)/P(y | z) · max over z′ of P(y | z′)/P(x | z′),

as knowledge further away mixes the z′. What z tells fades with r, and so does the excess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks._outputs import log_likelihoods
from tellapart.worlds.frameworks._stretches import Stretches, joined
from tellapart.worlds.models.base import Mask


class Flank(NamedTuple):
    """One side of a record: sums of all that is not known there, for each state of the record.

    ``known`` is how far away the nearest known record is, and its state; None where all up to the
    end of the chain are unknown. ``beyond`` bounds what lies further away, by which ``rows`` is
    one part of a mixture; None where ``rows`` are exact laws.
    """

    rows: Array
    open: int
    known: tuple[int, int] | None
    beyond: Array | None

    @property
    def possible(self) -> Mask:
        """The states that the record may have by this side."""
        return np.asarray(self.rows.max(axis=1) > -np.inf)


class Pair(NamedTuple):
    """Both sides of a record, with how much is told of it at most, or exactly."""

    ratio: float
    left: Flank
    right: Flank
    laws: Array
    place: int
    high: int
    low: int

    @property
    def exact(self) -> bool:
        """Whether nothing is bounded."""
        return self.left.beyond is None and self.right.beyond is None


def furthest_pairs(
    parts: Stretches,
    radius: int,
    states: list[int],
    width: float,
    release: Laplace,
    attained: Callable[[Pair], bool],
) -> tuple[Pair | None, float]:
    """The attained pair that tells most, and what no knowledge whatever can exceed."""
    best: Pair | None = None
    most = -np.inf
    for batch in _batches(list(_lefts(parts, radius, states)), list(_rights(parts, radius))):
        for pair in _told(parts, batch, width, release):
            most = max(most, pair.ratio)
            if (best is None or pair.ratio > best.ratio) and pair.exact and attained(pair):
                best = pair
    return best, most


def _lefts(parts: Stretches, radius: int, states: list[int]) -> Iterator[Flank]:
    for t in range(radius):
        yield Flank(_given(parts.start[t]), t, None, None)
        for u in states:
            yield Flank(_given(parts.between[t][u]), t, (t + 1, u), None)
    far = parts.between[radius - 1]
    masses = logpoly.total(far, axis=2)
    beyond = _largest(masses[states, None, :], masses[states, :, None])
    for u in states:
        yield Flank(far[u], radius - 1, None, beyond)


def _rights(parts: Stretches, radius: int) -> Iterator[Flank]:
    states = range(parts.states)
    for t in range(radius):
        yield Flank(_given(parts.end[t]), t, None, None)
        for v in states:
            yield Flank(_given(parts.between[t][:, v]), t, (t + 1, v), None)
    far = parts.between[radius - 1]
    masses = logpoly.total(far, axis=2).T
    beyond = np.maximum(_largest(masses[:, None, :], masses[:, :, None]), 0.0)
    for v in states:
        yield Flank(far[:, v], radius - 1, None, beyond)


def _largest(ones: Array, others: Array) -> Array:
    """For states x and y the largest log P(y, z)/P(x, z) over z, which is the first axis."""
    with np.errstate(invalid="ignore"):
        found = ones - others
    return np.asarray(np.where(np.isnan(found), -np.inf, found).max(axis=0))


def _given(rows: Array) -> Array:
    """Laws of the sum given each state, from probabilities of both."""
    whole = logpoly.total(rows, axis=1)[:, None]
    return np.asarray(rows - np.where(whole == -np.inf, 0.0, whole))


def _batches(lefts: list[Flank], rights: list[Flank]) -> Iterator[list[tuple[Flank, Flank]]]:
    """Pairs with as many records between, so that their sums have one grid."""
    groups: dict[int, list[tuple[Flank, Flank]]] = {}
    for left in lefts:
        for right in rights:
            ends = [side.known is None and side.beyond is None for side in (left, right)]
            if not all(ends):  # the chain is longer than both together
                groups.setdefault(left.open + right.open, []).append((left, right))
    yield from groups.values()


def _told(
    parts: Stretches, batch: list[tuple[Flank, Flank]], width: float, release: Laplace
) -> Iterator[Pair]:
    every = np.ones(parts.states, dtype=bool)
    laws = np.array([parts.emitted(joined(left.rows, right.rows), every) for left, right in batch])
    sums = np.asarray(width * np.arange(laws.shape[2]), dtype=float)
    seen = log_likelihoods(sums, laws.reshape(-1, sums.size), release).reshape(laws.shape)
    for (left, right), rows, law in zip(batch, seen, laws, strict=True):
        with np.errstate(invalid="ignore"):
            ratios = rows[:, None] - rows[None]
        apart = np.where(np.isnan(ratios), -np.inf, ratios).max(axis=2)
        apart = _limited(apart, left, right)
        high, low = divmod(int(apart.argmax()), parts.states)
        if apart[high, low] > -np.inf:
            place = int(ratios[high, low].argmax())
            yield Pair(float(apart[high, low]), left, right, law, place, high, low)


def _limited(apart: Array, left: Flank, right: Flank) -> Array:
    """With what lies beyond; only of two states that can both be."""
    possible = np.ones(len(apart), dtype=bool)
    for side in (left, right):
        if side.beyond is None:
            possible &= side.possible
        else:
            with np.errstate(invalid="ignore"):
                apart = apart + side.beyond
    both = possible[:, None] & possible & ~np.eye(len(apart), dtype=bool)
    shown = left.possible & right.possible
    return np.where(both & shown[:, None], np.where(shown, apart, np.inf), -np.inf)
