"""Neighbouring pairs of the user's own: a list, a function, or a strategy of hypothesis."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart.audit.searching.domain import Domain, Pair

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
