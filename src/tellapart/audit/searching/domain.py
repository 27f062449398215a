"""Input domains: a description of inputs proposes pairs of neighbours, and more near a good one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from tellapart import _checks
from tellapart.audit.probing.calling.inputs import fingerprint

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
