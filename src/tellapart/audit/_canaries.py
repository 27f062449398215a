"""From the scores of canaries to guesses, counted so that no choice is made in our favour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit._guesses import Guesses

# How unlikely a number of included canaries must be to rule out fair coins.
_UNFAIR = 1e-9

# How many guesses of "in", and of "out".
Numbers = tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """Canaries from the least to the most suspicious, and how many of the lowest are members."""

    scores: Array
    members_below: NDArray[np.int64]

    @classmethod
    def of(cls, members: ArrayLike, others: ArrayLike) -> Ranking:
        """Rank the scores of the canaries put in and of those left out; higher says "member".

        Equal scores are kept apart by membership only, so the order of the rows says nothing.
        """
        inside, outside = _scores(members=members), _scores(others=others)
        canaries = inside.size + outside.size
        if canaries == 0:
            _checks.refuse("members and others", "not both be empty", [])
        fair_coins(inside.size, canaries)
        return cls._sorted(np.concatenate([outside, inside]), np.arange(canaries) >= outside.size)

    @classmethod
    def _sorted(cls, scores: Array, member: NDArray[np.bool_]) -> Ranking:
        order = np.argsort(scores)
        ordered = scores[order]
        if np.any(ordered[1:] == ordered[:-1]):
            order = np.lexsort((member, scores))
        below = np.concatenate([[0], np.cumsum(member[order], dtype=np.int64)])
        return cls(ordered, below)

    @property
    def canaries(self) -> int:
        """How many canaries were ranked."""
        return self.scores.size

    def guesses(self, guesses_in: int, guesses_out: int) -> Guesses:
        """Guess "in" of so many at the top and "out" of so many at the bottom.

        Where a cut falls among equal scores, as few of them are counted right as any way to
        break the tie could give: a way that knows nothing of membership gives no fewer.
        """
        k_in = _checks.whole(0, guesses_in=guesses_in)
        k_out = _checks.whole(0, guesses_out=guesses_out)
        if k_in + k_out > self.canaries:
            rule = f"be at most the number of canaries = {self.canaries}"
            _checks.refuse("guesses_in + guesses_out", rule, k_in + k_out)
        right = self._right_in(k_in) + self._right_out(k_out)
        return Guesses(self.canaries, k_in + k_out, right)

    def _right_in(self, count: int) -> int:
        if count == 0:
            return 0
        first, end = self._tied(self.canaries - count)
        sure = self._members(end, self.canaries)
        tied_others = (end - first) - self._members(first, end)
        return sure + max(0, count - (self.canaries - end) - tied_others)

    def _right_out(self, count: int) -> int:
        if count == 0:
            return 0
        first, end = self._tied(count - 1)
        sure = first - self._members(0, first)
        return sure + max(0, count - first - self._members(first, end))

    def _tied(self, place: int) -> tuple[int, int]:
        """Where the scores equal to the one at this place begin and end."""
        score = self.scores[place]
        first = np.searchsorted(self.scores, score, side="left")
        return int(first), int(np.searchsorted(self.scores, score, side="right"))

    def _members(self, first: int, end: int) -> int:
        return int(self.members_below[end] - self.members_below[first])

    def divided(self, first_share: float, seed: int) -> tuple[Ranking, Ranking]:
        """Two parts by places that the seed draws; about this share of the canaries is first.

        Equal scores stay together: between them only membership decides the order, and which
        part a canary is in must not depend on that. So with few scores a part may be empty.
        """
        size = min(max(round(first_share * self.canaries), 1), self.canaries - 1)
        drawn = np.zeros(self.canaries, dtype=bool)
        drawn[np.random.default_rng(seed).permutation(self.canaries)[:size]] = True
        in_first = drawn[np.searchsorted(self.scores, self.scores, side="left")]
        return self._part(in_first), self._part(~in_first)

    def _part(self, kept: NDArray[np.bool_]) -> Ranking:
        member = np.diff(self.members_below)[kept]
        return Ranking(self.scores[kept], np.concatenate([[0], np.cumsum(member)]))


def guess(members: ArrayLike, others: ArrayLike, *, guesses_in: int, guesses_out: int) -> Guesses:
    """How an attacker fares who accuses the highest scores and clears the lowest.

    ``guesses_in`` and ``guesses_out`` must be fixed before the scores are seen.

    >>> guess([3, 2, 2], [1, 2, 0], guesses_in=2, guesses_out=2)
    Guesses(canaries=6, made=4, right=3)
    """
    return Ranking.of(members, others).guesses(guesses_in, guesses_out)


def fair_coins(included: int, canaries: int) -> None:
    """Refuse canaries that were plainly not put in by one fair coin each."""
    canaries = _checks.whole(1, canaries=canaries)
    included = _checks.whole(0, canaries, included=included)
    fewer = float(bdtr(included, canaries, 0.5))
    more = 1.0 if included == 0 else float(bdtrc(included - 1, canaries, 0.5))
    if 2 * min(fewer, more) < _UNFAIR:
        _checks.refuse(
            "included",
            f"be near {canaries / 2:g} of {canaries} canaries (bounds from one run need each "
            "canary put in by its own fair coin)",
            included,
        )


def _scores(**named: ArrayLike) -> Array:
    ((name, value),) = named.items()
    array = _checks.reals("be a list of numbers", **named)
    if array.ndim != 1:
        _checks.refuse(name, "be a list of numbers", value)
    return array
