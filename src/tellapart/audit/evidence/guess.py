"""Guesses in a one-run audit: of numbers fixed beforehand, or chosen on held-out canaries.

Numbers of guesses that are fixed before any score is seen (`guess_numbers`) cost nothing. Numbers
read off a part of the canaries cost that part; the rest is then a game of its own, but one in which
the number of guesses depends on the output. For (ε, δ) that can be allowed for
(`p_value_if_chosen`); for other curves no proof is known, and none is offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.counts.one_run_guesses import Guesses, epsilon_lower
from tellapart.audit.counts.one_run_worst_case import CurveTest, curve_test, mu_lower
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported

# How unlikely a number of included canaries must be to rule out fair coins.
_UNFAIR = 1e-9


class _GuessCut(NamedTuple):
    """Guesses up to a cut: how many beyond its score are right, and how many are made at it.

    As many canaries are tied there, of which ``hits`` would be right.
    """

    right: int
    made: int
    tied: int
    hits: int

    @property
    def surely(self) -> int:
        """How many of those at the cut are right however the tie is broken."""
        return max(0, self.made - (self.tied - self.hits))

    @property
    def likely(self) -> float:
        """How many are on average where it is broken by chance."""
        return self.made * self.hits / self.tied


@dataclass(frozen=True)
class RankedCanaries:
    """Canaries from the least to the most suspicious, and how many of the lowest are members."""

    scores: Array
    members_below: NDArray[np.int64]

    @classmethod
    def of(cls, members: Array, non_members: Array) -> RankedCanaries:
        """Rank the scores of the canaries put in and of those left out; higher says "member".

        Equal scores are kept apart by membership only, so the order of the rows says nothing.
        """
        canaries = members.size + non_members.size
        fair_coins(members.size, canaries)
        return cls._sorted(
            np.concatenate([non_members, members]), np.arange(canaries) >= non_members.size
        )

    @classmethod
    def _sorted(cls, scores: Array, member: NDArray[np.bool_]) -> RankedCanaries:
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
        made = guesses_in + guesses_out
        if made > self.canaries:
            rule = f"be at most the number of canaries = {self.canaries}"
            _checks.refuse("guesses_in + guesses_out", rule, made)
        cuts = self._cuts(guesses_in, guesses_out)
        return Guesses(self.canaries, made, sum(cut.right + cut.surely for cut in cuts))

    def lost_to_ties(self, guesses_in: int, guesses_out: int) -> float:
        """How many more of these guesses ties broken by chance would make right, on average."""
        return sum(cut.likely - cut.surely for cut in self._cuts(guesses_in, guesses_out))

    def _cuts(self, guesses_in: int, guesses_out: int) -> Iterator[_GuessCut]:
        if guesses_in:
            first, end = self._tied(self.canaries - guesses_in)
            yield _GuessCut(
                self._members(end, self.canaries),
                guesses_in - (self.canaries - end),
                end - first,
                self._members(first, end),
            )
        if guesses_out:
            first, end = self._tied(guesses_out - 1)
            others = end - first - self._members(first, end)
            yield _GuessCut(
                first - self._members(0, first), guesses_out - first, end - first, others
            )

    def _tied(self, place: int) -> tuple[int, int]:
        """Where the scores equal to the one at this place begin and end."""
        score = self.scores[place]
        first = np.searchsorted(self.scores, score, side="left")
        return int(first), int(np.searchsorted(self.scores, score, side="right"))

    def _members(self, first: int, end: int) -> int:
        return int(self.members_below[end] - self.members_below[first])

    def drawn(self, share: float) -> int:
        """How many canaries are this share of them, leaving some on either side."""
        return min(max(round(share * self.canaries), 1), self.canaries - 1)

    def divided(self, first_share: float, seed: int) -> tuple[RankedCanaries, RankedCanaries]:
        """Two parts by places that the seed draws; about this share of the canaries is first.

        Equal scores stay together: between them only membership decides the order, and which
        part a canary is in must not depend on that. So with few scores a part may be empty.
        """
        order = np.random.default_rng(seed).permutation(self.canaries)
        drawn = np.zeros(self.canaries, dtype=bool)
        drawn[order[: self.drawn(first_share)]] = True
        in_first = drawn[np.searchsorted(self.scores, self.scores, side="left")]
        return self._part(in_first), self._part(~in_first)

    def _part(self, kept: NDArray[np.bool_]) -> RankedCanaries:
        member = np.diff(self.members_below)[kept]
        return RankedCanaries(self.scores[kept], np.concatenate([[0], np.cumsum(member)]))


def fair_coins(included: int, canaries: int) -> None:
    """Refuse canaries that were plainly not put in by one fair coin each."""
    fewer = float(bdtr(included, canaries, 0.5))
    more = 1.0 if included == 0 else float(bdtrc(included - 1, canaries, 0.5))
    if 2 * min(fewer, more) < _UNFAIR:
        _checks.refuse(
            "included",
            f"be near {short(canaries / 2)} of {canaries} canaries (bounds from one run need each "
            "canary put in by its own fair coin)",
            included,
        )


_CANDIDATES = 24


@dataclass(frozen=True)
class ChosenGuesses:
    """The guesses of an attack, and the level at which each bound from them may be read.

    ``read_off`` says that their number was read off a part of the canaries of the same run, of
    which ``aside`` were spent, and that up to ``most`` guesses could have been made of scores
    without ties. Scores decide which canaries those are, so δ may still act through all.
    """

    guesses_in: int
    guesses_out: int
    guesses: Guesses
    level: float
    read_off: bool
    aside: int = 0
    most: int = 0
    lost_to_ties: float = 0.0  # right guesses, on average

    def perfect(self) -> list[ChosenGuesses]:
        """The same guesses, all of them right; of any number where that was read off."""
        numbers = {(self.guesses_in, self.guesses_out)}
        if self.read_off:
            numbers |= {(count, count) for count in _geometric(1, self.most // 2, _CANDIDATES)}
        all_right = []
        for guesses_in, guesses_out in sorted(numbers):
            made = guesses_in + guesses_out
            guesses = Guesses(self.guesses.canaries, made, made)
            numbered = replace(self, guesses_in=guesses_in, guesses_out=guesses_out)
            all_right.append(replace(numbered, guesses=guesses))
        return all_right

    def epsilon_lower(self, delta: float) -> float:
        """The largest ε that these guesses refute; errs downward."""
        return epsilon_lower(self.guesses, delta, self.level, chosen=self.read_off)

    def mu_lower(self) -> float:
        """The largest μ of Gaussian DP that these guesses refute; errs downward."""
        self._need_fixed_numbers()
        return mu_lower(self.guesses, self.level)

    def refutes(self, claim: TradeoffCurve) -> bool:
        """Whether these guesses refute a claimed curve; errs towards no."""
        return self.test_of(claim).refutes(self.guesses.right)

    def test_of(self, claim: TradeoffCurve) -> CurveTest:
        """The test of a claimed curve by as many guesses."""
        self._need_fixed_numbers()
        return curve_test(claim, self.guesses.canaries, self.guesses.made, self.level)

    def _need_fixed_numbers(self) -> None:
        if self.read_off:
            raise Unsupported(
                "a curve is tested by numbers of guesses fixed beforehand: leave the method out, "
                "or use audit.Guessing"
            )


def fixed(
    ranking: RankedCanaries, guesses_in: int, guesses_out: int, level: float
) -> ChosenGuesses:
    """Guesses whose numbers were fixed before anyone saw a score: all of the level is theirs."""
    guesses = ranking.guesses(guesses_in, guesses_out)
    lost = ranking.lost_to_ties(guesses_in, guesses_out)
    return ChosenGuesses(guesses_in, guesses_out, guesses, level, read_off=False, lost_to_ties=lost)


def read_off(
    ranking: RankedCanaries, delta: float, level: float, *, share: float = 0.2, seed: int = 0
) -> ChosenGuesses:
    """Guesses as a random part of the canaries suggests, made on the others alone.

    About ``share`` of the canaries, by places in the ranking that ``seed`` draws, is spent on the
    choice. All of them count where δ is paid for: an output that picks its canary picks its place.
    """
    if ranking.canaries < 4:
        _checks.refuse("canaries", "be at least 4 to choose on a part of them", ranking.canaries)
    first, rest = ranking.divided(share, seed)
    if rest.canaries == 0:  # one score for all: nothing is spent, and nothing is learnt
        first, rest = rest, first
    count = _most_promising(first, rest.canaries, delta, level)
    guesses = replace(rest.guesses(count, count), canaries=ranking.canaries)
    most = ranking.canaries - ranking.drawn(share)
    lost = rest.lost_to_ties(count, count)
    return ChosenGuesses(count, count, guesses, level, True, first.canaries, most, lost)


def _most_promising(first: RankedCanaries, canaries: int, delta: float, level: float) -> int:
    """How many guesses of each kind would refute most if the rest were like the first part."""
    best, most = canaries // 2, 0.0
    for count in _geometric(1, first.canaries // 2, _CANDIDATES) if first.canaries > 1 else []:
        seen = first.guesses(count, count)
        scaled = min(round(count * canaries / first.canaries), canaries // 2)
        # Half a right and half a wrong guess more: a few all right promise little.
        right = int(2 * scaled * (seen.right + 0.5) / (seen.made + 1))
        likely = Guesses(canaries + first.canaries, 2 * scaled, right)
        epsilon = epsilon_lower(likely, delta, level, chosen=True, above=most)
        if epsilon > most:
            best, most = scaled, epsilon
    return best


def _geometric(fewest: int, most: int, count: int) -> list[int]:
    """At most so many whole numbers from the fewest to the most, evenly spread in ratio."""
    if most <= fewest:
        return [most]
    ratio = (most / fewest) ** (1 / (count - 1))
    return sorted({min(round(fewest * ratio**i), most) for i in range(count)})
