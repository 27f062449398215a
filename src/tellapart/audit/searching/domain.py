"""Input domains: a description of inputs proposes pairs of neighbours, and more near a good one.

The plainest are neighbouring pairs of the user's own, `Examples`.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from tellapart import _checks
from tellapart.audit.probing.calling.caller import fingerprint

Pair = tuple[Any, Any]
Draft = TypeVar("Draft")

# The share of the first drafts that may be well-known patterns; the others are drawn.
_PATTERNS = 0.75


class Domain(ABC, Generic[Draft]):
    """Which inputs there are, and which two of them are neighbours.

    A draft is a pair as the domain thinks of it: what both inputs share, and what differs. So
    whatever becomes of a draft, it stays one of neighbours.
    """

    @abstractmethod
    def telling(self) -> Iterator[Draft]:
        """Patterns that give many a bug away, the best known first."""

    @abstractmethod
    def drawn(self, count: int, rng: np.random.Generator) -> Iterable[Draft]:
        """So many drafts at random, or fewer where there are no more."""

    @abstractmethod
    def near(self, draft: Draft, count: int, rng: np.random.Generator) -> Iterable[Draft]:
        """So many drafts that differ a little from this one, or fewer."""

    @abstractmethod
    def pair(self, draft: Draft) -> Pair:
        """The two inputs, made anew."""

    def first(self, count: int, rng: np.random.Generator) -> dict[Hashable, Draft]:
        """Patterns and then drafts at random, the pairs to begin with."""
        patterns = list(islice(self.distinct(self.telling()), count))
        others = list(self.distinct(self.drawn(count, rng)))
        kept = max(math.ceil(_PATTERNS * count), count - len(others))
        return dict(islice((dict(patterns[:kept]) | dict(others)).items(), count))

    def distinct(self, drafts: Iterable[Draft]) -> Iterator[tuple[Hashable, Draft]]:
        """Drafts whose inputs differ, each pair once in whichever order, with a mark of it.

        Where inputs cannot be told apart, each draft is taken for another.
        """
        seen = set[Hashable]()
        for draft in drafts:
            prints = frozenset(fingerprint(data) for data in self.pair(draft))
            unknown = None in prints
            mark: Hashable = id(draft) if unknown else prints
            if mark not in seen and (unknown or len(prints) == 2):
                yield mark, draft
            seen.add(mark)


def ordered(low: float, high: float) -> None:
    """Bounds with room between them."""
    _checks.finite(low=low)
    if not _checks.finite(high=high) > low:
        _checks.refuse("high", f"be greater than low = {low}", high)


def by_rank(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """All combinations, those of early choices first."""
    sizes = [list(options) for options in choices]
    places = np.indices([len(options) for options in sizes]).reshape(len(sizes), -1).T
    order = np.argsort(places.sum(axis=1), kind="stable")
    return [tuple(options[k] for options, k in zip(sizes, places[at], strict=True)) for at in order]


def unique(items: Iterable[Any]) -> list[Any]:
    """Each of them once; they need not be hashable."""
    kept: list[Any] = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


# A list that never ends is read so far.
_MOST = 10_000


@dataclass(frozen=True)
class Examples(Domain[Pair]):
    """Pairs of your own: a list of them, ``make(rng)``, or a strategy of hypothesis.

    That they are neighbours is yours to see to.

    >>> def one_more(rng):
    ...     data = rng.integers(0, 2, size=3).tolist()
    ...     return data, [*data, 1]
    >>> Examples(one_more).drawn(2, np.random.default_rng(0))
    [([1, 1, 1], [1, 1, 1, 1]), ([0, 0, 0], [0, 0, 0, 1])]
    """

    source: Any

    def __post_init__(self) -> None:
        if callable(self.source) or _is_strategy(self.source):
            return
        if isinstance(self.source, str) or not isinstance(self.source, Iterable):
            rule = "be pairs of inputs, a function of a generator, or a strategy of hypothesis"
            _checks.refuse("source", rule, self.source)
        listed = tuple(_two(pair) for pair in islice(self.source, _MOST))
        if not listed:
            _checks.refuse("source", "not be empty", self.source)
        object.__setattr__(self, "source", listed)

    def pair(self, draft: Pair) -> Pair:
        """The pair itself."""
        return draft

    def telling(self) -> Iterator[Pair]:
        """The pairs of a list, in its order."""
        if isinstance(self.source, tuple):
            yield from self.source

    def drawn(self, count: int, rng: np.random.Generator) -> list[Pair]:
        """Pairs as the function or the strategy makes them, or any of the list."""
        if isinstance(self.source, tuple):
            return [self.source[k] for k in rng.permutation(len(self.source))[:count]]
        if _is_strategy(self.source):
            return [_two(pair) for pair in _by_hypothesis(self.source, count, rng)]
        return [_two(self.source(rng)) for _ in range(count)]

    def near(self, draft: Pair, count: int, rng: np.random.Generator) -> list[Pair]:
        """Other pairs: nothing is known of what is near."""
        return self.drawn(count, rng)


def _two(pair: Any) -> Pair:
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        _checks.refuse("source", "give pairs of inputs", pair)
    return pair[0], pair[1]


def _is_strategy(source: Any) -> bool:
    """Whoever made a strategy has imported hypothesis; without, it need not be there."""
    if "hypothesis" not in sys.modules:
        return False
    from hypothesis.strategies import SearchStrategy

    return isinstance(source, SearchStrategy)


def _by_hypothesis(strategy: Any, count: int, rng: np.random.Generator) -> list[Any]:
    """What a test of this strategy would be given; nothing is stored, timed or shrunk."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    pairs: list[Any] = []

    @seed(int(rng.integers(2**62)))
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(pair: Any) -> None:
        pairs.append(pair)

    collect()
    return pairs
