"""Bayesian DP of a Markov chain: the adversary knows some of the other records.

Given the nearest known records on both sides, the records beyond are independent of the one in
question. Not knowing them only adds noise to a sum, so the worst adversary knows them all, or
none on that side at all. What is left are stretches of the chain between two known states, which
look the same wherever they lie, and stretches that reach the first or the last record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.marginals import log_marginals
from tellapart.worlds.markov.record_epsilons import agree
from tellapart.worlds.markov.window_bound import SegmentSums, forgotten
from tellapart.worlds.models.base import Mask, logs_of
from tellapart.worlds.models.grid import Grid, grid_of
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.pairs.finite_outputs import log_likelihoods
from tellapart.worlds.secret_test import Witness


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


class KnownSides(NamedTuple):
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
    parts: SegmentSums,
    radius: int,
    states: list[int],
    width: float,
    release: Laplace,
    attained: Callable[[KnownSides], bool],
) -> tuple[KnownSides | None, float]:
    """The attained pair that tells most, and what no knowledge whatever can exceed."""
    best: KnownSides | None = None
    most = -np.inf
    for batch in _batches(list(_lefts(parts, radius, states)), list(_rights(parts, radius))):
        for pair in _ratios(parts, batch, width, release):
            most = max(most, pair.ratio)
            if (best is None or pair.ratio > best.ratio) and pair.exact and attained(pair):
                best = pair
    return best, most


def _lefts(parts: SegmentSums, radius: int, states: list[int]) -> Iterator[Flank]:
    for t in range(radius):
        yield Flank(_given(parts.start[t]), t, None, None)
        for u in states:
            yield Flank(_given(parts.between[t][u]), t, (t + 1, u), None)
    far = parts.between[radius - 1]
    masses = logpoly.total(far, axis=2)
    beyond = _largest(masses[states, None, :], masses[states, :, None])
    for u in states:
        yield Flank(far[u], radius - 1, None, beyond)


def _rights(parts: SegmentSums, radius: int) -> Iterator[Flank]:
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
        ratios = ones - others
    return np.asarray(np.where(np.isnan(ratios), -np.inf, ratios).max(axis=0))


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


def _ratios(
    parts: SegmentSums, batch: list[tuple[Flank, Flank]], width: float, release: Laplace
) -> Iterator[KnownSides]:
    every = np.ones(parts.states, dtype=bool)
    laws = np.array(
        [
            parts.emitted(logpoly.multiply_each(left.rows, right.rows), every)
            for left, right in batch
        ]
    )
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
            yield KnownSides(float(apart[high, low]), left, right, law, place, high, low)


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


_MOST_CASES = 2**15
_ROUNDING = 1e-11


class _Case(NamedTuple):
    """A record and the known states nearest to it, None where none is known on that side.

    ``laws`` has for each state of the record its log-weights at the sums of all between, -inf
    throughout for states that cannot be.
    """

    record: int
    left: tuple[int, int] | None
    right: tuple[int, int] | None
    laws: Array


class ChainLeakage(NamedTuple):
    """What is told at most, whether that is the truth, and what is attained."""

    epsilon: float
    exact: bool
    witness: Witness


def chain_leakage(chain: MarkovChain, query: Query, release: Laplace) -> ChainLeakage | None:
    """How much an output tells at worst, of any record and whatever is known of the others."""
    weights = weights_of(query, chain.length)
    few = chain.length**2 * chain.initial.size**3 <= _MOST_CASES // 4
    radius = chain.length if few else _affordable_radius(chain)
    if chain.length <= 2 * radius:
        grid = grid_of(weights, [chain.domain(0)] * chain.length)
        batches = [
            batch for batch in _known_batches(SegmentSums(chain, grid, chain.length)) if batch
        ]
        worst_of = [_look(batch, grid.width, release) for batch in batches]
        if not worst_of:
            return None
        worst = max(worst_of, key=lambda case: case.ratio)
        return ChainLeakage(worst.ratio, True, _witness(chain, float(weights[0]), grid, worst))
    return long_chain_leakage(chain, weights, release, radius)


def _affordable_radius(chain: MarkovChain) -> int:
    states = chain.initial.size
    most = int(((_MOST_CASES / states) ** 0.5 - states) / (1 + states))
    if most < 1:
        raise Unsupported(
            f"what may be known of a chain of {states} states is more than {_MOST_CASES} cases; "
            "join some states, or ask pufferfish(..., known=...)"
        )
    return min(most, forgotten(chain.transition))


def long_chain_leakage(
    chain: MarkovChain, weights: Array, release: Laplace, radius: int
) -> ChainLeakage | None:
    """The same for a chain with more than ``2·radius`` records, as closely as that allows."""
    grid = grid_of(weights[:1], [chain.domain(0)])
    possible = chain.possible
    states = np.flatnonzero(possible.any(axis=0)).tolist()
    parts = SegmentSums(chain, grid, radius + 1)
    best, most = furthest_pairs(
        parts, radius, states, grid.width, release, lambda pair: _placed(possible, pair) is not None
    )
    case = None if best is None else _placed(possible, best)
    if best is None or case is None:
        return None
    worst = _WorstCase(best.ratio, case, best.place, best.high, best.low)
    seen = _witness(chain, float(weights[0]), grid, worst)
    return ChainLeakage(most + _ROUNDING * (1 + abs(most)), bool(agree(most, best.ratio)), seen)


def _placed(possible: Mask, pair: KnownSides) -> _Case | None:
    """The first record in the chain of which so much may be known on both sides."""
    left, right, last = pair.left, pair.right, len(possible) - 1
    if left.known is None:
        record, before = left.open, None
    else:
        away, state = left.known
        room = last - away - (right.open if right.known is None else right.known[0])
        times = [room] if right.known is None else range(room + 1)
        start = next((t for t in times if possible[t, state]), None)
        if start is None:
            return None
        record, before = start + away, (start, state)
    after = None if right.known is None else (record + right.known[0], right.known[1])
    return _Case(record, before, after, pair.laws)


def _known_batches(chain: SegmentSums) -> Iterator[list[_Case]]:
    """Cases with as many records between, so that their sums have one grid."""
    for size in range(1, chain.length + 1):
        yield [case for case in _cases(chain, size) if case is not None]


def _cases(chain: SegmentSums, size: int) -> Iterator[_Case | None]:
    """All stretches of so many records, and each record in them."""
    length, states = chain.length, range(chain.states)
    for inner in range(size):
        rest = size - 1 - inner
        before, after = chain.between[inner], chain.between[rest]
        if size == length:
            yield _case(inner, None, None, chain.law(chain.start[inner], chain.end[rest]))
            continue
        for state in states:
            yield _case(inner, None, (size, state), chain.law(chain.start[inner], after[:, state]))
            at = length - size - 1
            if chain.possible[at, state]:
                law = chain.law(before[state], chain.end[rest])
                yield _case(at + 1 + inner, (at, state), None, law)
        for first, u in chain.starts(length - size - 1):
            for v in states:
                law = chain.law(before[u], after[:, v])
                yield _case(first + 1 + inner, (first, u), (first + size + 1, v), law)


def _case(record: int, left: Any, right: Any, laws: Array | None) -> _Case | None:
    return None if laws is None else _Case(record, left, right, laws)


class _WorstCase(NamedTuple):
    """The case with which an output tells most: that output's place, and the two states."""

    ratio: float
    case: _Case
    place: int
    high: int
    low: int


def _look(cases: list[_Case], width: float, release: Laplace) -> _WorstCase:
    laws = np.array([case.laws for case in cases])
    sums = np.asarray(width * np.arange(laws.shape[2]), dtype=float)
    seen = log_likelihoods(sums, laws.reshape(-1, sums.size), release).reshape(laws.shape)
    held = (laws.max(axis=2) > -np.inf)[:, :, None]
    high, low = np.where(held, seen, -np.inf), np.where(held, seen, np.inf)
    wide = high.max(axis=1) - low.min(axis=1)
    case, place = divmod(int(np.argmax(wide)), sums.size)
    top, bottom = int(high[case, :, place].argmax()), int(low[case, :, place].argmin())
    return _WorstCase(float(wide[case, place]), cases[case], place, top, bottom)


def _witness(chain: MarkovChain, weight: float, grid: Grid, worst: _WorstCase) -> Witness:
    """The witness, with everything that its adversary knows."""
    case = worst.case
    known = _path(chain, case)
    values = chain.domain(0)
    each = weight * float(values[np.argmin(weight * values)])
    between = chain.length - len(known)
    output = sum(weight * values[state] for state in known.values())
    output += between * each + grid.width * worst.place
    return Witness(
        RecordValue(case.record, float(values[worst.high])),
        RecordValue(case.record, float(values[worst.low])),
        float(output),
        worst.ratio,
        tuple((record, float(values[state])) for record, state in sorted(known.items())),
    )


def _path(chain: MarkovChain, case: _Case) -> dict[int, int]:
    """States of all records beyond the known ones, as likely as any."""
    known: dict[int, int] = {}
    if case.left is not None:
        record, state = case.left
        known[record] = state
        laws = log_marginals(chain.initial, chain.transition, record + 1)
        for before in range(record - 1, -1, -1):
            state = int(np.argmax(laws[before] + logs_of(chain.transition[:, state])))
            known[before] = state
    if case.right is not None:
        record, state = case.right
        known[record] = state
        for after in range(record + 1, chain.length):
            state = int(np.argmax(chain.transition[state]))
            known[after] = state
    return known
