"""Query answers as inputs: neighbours differ by the sensitivity of one record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.searching.domain import Domain, Pair, by_rank, ordered

# How far behind an answer may lie, in changes.
_BEHIND = 3
# A lone answer is tried at so many places, and then at more between them.
_PLACES = (2, 3, 5, 9, 17, 33)
_STEPS = 24


class Moves(Enum):
    """Which answers one record may change.

    ONE: a single one, as in a histogram. TOGETHER: any, all up or all down, as counts when a
    record is added or removed. ANY: any, some up and some down, as counts when one is replaced.
    """

    ONE = "one answer"
    TOGETHER = "any answers, in one direction"
    ANY = "any answers, in any direction"


class Moved(NamedTuple):
    """Answers and what a record does to each."""

    base: Array
    change: Array


@dataclass(frozen=True)
class Answers(Domain[Moved]):
    """Answers to queries, each of which one record changes by at most ``change``.

    One number, or with ``length`` a list of them, from ``low`` to ``high``. ``moves`` says which
    of them one record may change: with more than the claim speaks of, pairs are no neighbours and
    refute nothing. Bounds that are whole numbers stand for whole numbers.

    >>> Answers(5, Moves.ANY, low=0, high=10).pair(Moved(np.zeros(2), np.ones(2)))
    ([0, 0], [1, 1])
    """

    length: int | None = None
    moves: Moves | None = None
    low: float = 0
    high: float = 10
    change: float = 1

    def __post_init__(self) -> None:
        if self.length is not None:
            _checks.whole(1, 10**6, length=self.length)
        if self.length is not None or self.moves is not None:
            _checks.member(Moves, moves=self.moves)
        ordered(self.low, self.high)
        room = self.high - self.low
        if _checks.finite_above_zero(change=self.change) > room:
            _checks.refuse("change", f"fit between low and high, {room} apart", self.change)

    def pair(self, draft: Moved) -> Pair:
        """The answers without the record, and with it."""
        first, second = draft.base, draft.base + draft.change
        kind = int if self._whole else float
        before, after = ([kind(value) for value in side] for side in (first, second))
        return (before, after) if self.length is not None else (before[0], after[0])

    @property
    def _whole(self) -> bool:
        given = (self.low, self.high, self.change)
        return all(isinstance(bound, int | np.integer) for bound in given)

    # -- patterns ----------------------------------------------------------------------------

    def telling(self) -> Iterator[Moved]:
        """One answer against the rest, halves against each other, all at once; at some levels."""
        if (self.length or 1) == 1:
            for count in _PLACES:
                places = self._rounded(np.linspace(self.low, self.high - self.change, count))
                yield from (self._fit([place], [self.change]) for place in places)
            return
        middle, top = (self.low + self.high) / 2, self.high - self.change
        levels = list(dict.fromkeys(self._rounded([self.low, self.low + self.change, middle, top])))
        shapes, changes = self._shapes(), self._changes()
        level_ones = product(levels[:2], shapes[:1], changes)
        for level, base, change in chain(level_ones, by_rank(levels, shapes, changes)):
            moved = self._fit(level + base, change)
            # At a bound something else would become of a pattern.
            if np.array_equal(moved.base, level + base) and np.array_equal(moved.change, change):
                yield moved

    def _shapes(self) -> list[Array]:
        """Where answers lie: level, one of them or half of them apart from the others."""
        count, step = self.length or 1, self.change
        shapes = [np.zeros(count) for _ in range(6)]
        shapes[1][: count // 2] = step
        shapes[2][-1] = step
        shapes[3][1:] = _BEHIND * step
        shapes[4][0] = _BEHIND * step
        shapes[5][:-1] = _BEHIND * step
        return shapes

    def _changes(self) -> list[Array]:
        """What a record does: to all, to the last or first, to halves; and the other way round."""
        count = self.length or 1
        first, last, half = np.zeros(count), np.zeros(count), np.zeros(count)
        first[0], last[-1], half[: count // 2] = 1, 1, 1
        every = np.ones(count)
        if self.moves is Moves.ONE:
            ways = [first, last]
        elif self.moves is Moves.TOGETHER:
            ways = [every, first, last, half]
        else:
            ways = [every, 1 - 2 * half, 1 - 2 * last, 2 * first - 1, first, last, half]
        return [self.change * sign * way for way in ways for sign in (1, -1)]

    # -- chance ------------------------------------------------------------------------------

    def drawn(self, count: int, rng: np.random.Generator) -> list[Moved]:
        """Answers around some level, moved at random."""
        return [self._random(rng) for _ in range(count)]

    def _random(self, rng: np.random.Generator) -> Moved:
        count = self.length or 1
        base = np.full(count, rng.uniform(self.low, self.high))
        if rng.random() < 0.5:
            base += self.change * rng.integers(-_BEHIND, _BEHIND + 1) * rng.integers(0, 2, count)
        elif rng.random() < 0.5:
            base = rng.uniform(self.low, self.high, count)
        ways = self._changes()
        change = ways[rng.integers(len(ways))]
        if rng.random() < 0.5:
            change = rng.permutation(change)
        if not self._whole:
            change = change * rng.choice([1.0, 0.5, rng.random()])
        return self._fit(base, change)

    def near(self, draft: Moved, count: int, rng: np.random.Generator) -> list[Moved]:
        """All answers shifted, one of them moved, or one moved otherwise by the record."""
        return [self._mutated(draft, rng) for _ in range(count)]

    def _mutated(self, draft: Moved, rng: np.random.Generator) -> Moved:
        base, change = draft.base.copy(), draft.change.copy()
        at, other = rng.integers(base.size, size=2)
        # As likely from 1 to 10 changes as from 10 to 100, whatever the room.
        step = self.change * ((self.high - self.low) / self.change) ** rng.random()
        step *= rng.choice([-1, 1])
        way = rng.integers(4) if base.size > 1 else 0
        if way == 0:
            base += step
        elif way == 1:
            base[at] += step
        elif way == 2 or self.moves is Moves.ONE:
            base[at], base[other] = base[other], base[at]
            change[at], change[other] = change[other], change[at]
        elif self.moves is Moves.TOGETHER:
            change[at] = 0 if change[at] else self.change * np.sign(change.sum())
        else:
            change[at] = self.change * rng.choice([-1, 0, 1])
        return self._fit(base, change)

    # -- bounds ------------------------------------------------------------------------------

    def _fit(self, base: Any, change: Any) -> Moved:
        """The nearest pair within the bounds that is one."""
        first = np.clip(self._rounded(base), self.low, self.high)
        second = np.clip(first + np.asarray(change), self.low, self.high)
        if np.array_equal(first, second):
            at = 0
            up = first[at] + self.change <= self.high
            second[at] += self.change if up else -self.change
        return Moved(first, second - first)

    def _rounded(self, values: Any) -> Array:
        answers = np.asarray(values, dtype=np.float64)
        return np.rint(answers) if self._whole else answers


class KeyCounts(NamedTuple):
    """How often each key occurs, and which key one record more has."""

    counts: tuple[int, ...]
    place: int


@dataclass(frozen=True)
class Tallies(Domain[KeyCounts]):
    """How many records have each key, as a dictionary of the keys that occur.

    One record more is one more of one key, which may be new. ``largest`` bounds the counts.

    >>> from tellapart.audit import domains
    >>> domains.Tallies(("flu", "cold"), largest=3)
    Tallies(keys=('flu', 'cold'), largest=3)
    """

    keys: tuple[Any, ...]
    largest: int = 10

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", distinct(2, keys=self.keys))
        _checks.whole(1, largest=self.largest)

    def pair(self, draft: KeyCounts) -> Pair:
        """The tallies without the record, and with it."""
        more = [count + (k == draft.place) for k, count in enumerate(draft.counts)]
        first, second = (
            {key: count for key, count in zip(self.keys, side, strict=True) if count}
            for side in (draft.counts, more)
        )
        return first, second

    def telling(self) -> Iterator[KeyCounts]:
        """A first record, a new key beside others, and every step of one count."""
        steps = np.linspace(0, self.largest - 1, min(self.largest, _STEPS)).astype(int).tolist()
        for count, other, place in by_rank(steps, (0, self.largest), (0, len(self.keys) - 1)):
            counts = [other] * len(self.keys)
            counts[place] = count
            yield KeyCounts(tuple(counts), place)

    def drawn(self, count: int, rng: np.random.Generator) -> list[KeyCounts]:
        """Tallies at random, some keys absent."""
        return [self._random(rng) for _ in range(count)]

    def _random(self, rng: np.random.Generator) -> KeyCounts:
        size = len(self.keys)
        counts = rng.integers(0, self.largest, size) * rng.integers(0, 2, size)
        return KeyCounts(tuple(counts.tolist()), int(rng.integers(size)))

    def near(self, draft: KeyCounts, count: int, rng: np.random.Generator) -> list[KeyCounts]:
        """One count changed, or the record's key."""
        return [self._mutated(draft, rng) for _ in range(count)]

    def _mutated(self, draft: KeyCounts, rng: np.random.Generator) -> KeyCounts:
        at, counts = int(rng.integers(len(self.keys))), list(draft.counts)
        if rng.random() < 0.3:
            return KeyCounts(tuple(counts), at)
        counts[at] = int(np.clip(counts[at] + rng.choice([-1, 1]), 0, self.largest - 1))
        return KeyCounts(tuple(counts), draft.place)


@dataclass(frozen=True)
class OneOf(Domain[tuple[int, int]]):
    """What one person says, as in local privacy: any two of the options are neighbours.

    >>> from tellapart.audit import domains
    >>> domains.OneOf(("yes", "no", "maybe"))
    OneOf(options=('yes', 'no', 'maybe'))
    """

    options: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", distinct(2, options=self.options))

    def pair(self, draft: tuple[int, int]) -> Pair:
        """What one person would say, and another."""
        return self.options[draft[0]], self.options[draft[1]]

    def telling(self) -> Iterator[tuple[int, int]]:
        """All pairs of options, those of the first ones first."""
        for later in range(1, len(self.options)):
            yield from ((earlier, later) for earlier in range(later))

    def drawn(self, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
        """Pairs of options at random."""
        return [self._two(rng) for _ in range(count)]

    def near(
        self, draft: tuple[int, int], count: int, rng: np.random.Generator
    ) -> list[tuple[int, int]]:
        """The first option, with another beside it."""
        others = [(draft[0], k) for k in range(len(self.options)) if k not in draft]
        return [others[k] for k in rng.permutation(len(others))[:count]]

    def _two(self, rng: np.random.Generator) -> tuple[int, int]:
        first, second = rng.choice(len(self.options), 2, replace=False).tolist()
        return first, second


def distinct(least: int, /, **named: Any) -> tuple[Any, ...]:
    """A list of so many things or more, none of them twice."""
    ((name, value),) = named.items()
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        _checks.refuse(name, "be a list", value)
    items = tuple(value)
    if len(items) < least:
        _checks.refuse(name, f"hold at least {least} of them", value)
    if any(item == earlier for k, item in enumerate(items) for earlier in items[:k]):
        _checks.refuse(name, "hold none twice", value)
    return items
