"""Numbers of guesses in a one-run audit: the best of a few fixed, or chosen on held-out canaries.

Either way the search is paid for. The best of K numbers of guesses fixed beforehand gets the K-th
part of the level each. Numbers read off a part of the canaries cost that part; the rest is then
a game of its own, but one in which the number of guesses depends on the output. For (ε, δ) that
can be allowed for (`p_value_if_chosen`); for other curves no proof is known, and none is offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc

from tellapart import _checks
from tellapart._checks import Array
from tellapart.audit.counts.one_run_curves import gaussian_epsilon_lower, mu_lower, refutes_curve
from tellapart.audit.counts.one_run_guesses import Guesses, epsilon_lower
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported

# How unlikely a number of included canaries must be to rule out fair coins.
_UNFAIR = 1e-9

# How many guesses of "in", and of "out".
Numbers = tuple[int, int]


@dataclass(frozen=True)
class RankedCanaries:
    """Canaries from the least to the most suspicious, and how many of the lowest are members."""

    scores: Array
    members_below: NDArray[np.int64]

    @classmethod
    def of(cls, members: ArrayLike, others: ArrayLike) -> RankedCanaries:
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

    def divided(self, first_share: float, seed: int) -> tuple[RankedCanaries, RankedCanaries]:
        """Two parts by places that the seed draws; about this share of the canaries is first.

        Equal scores stay together: between them only membership decides the order, and which
        part a canary is in must not depend on that. So with few scores a part may be empty.
        """
        size = min(max(round(first_share * self.canaries), 1), self.canaries - 1)
        drawn = np.zeros(self.canaries, dtype=bool)
        drawn[np.random.default_rng(seed).permutation(self.canaries)[:size]] = True
        in_first = drawn[np.searchsorted(self.scores, self.scores, side="left")]
        return self._part(in_first), self._part(~in_first)

    def _part(self, kept: NDArray[np.bool_]) -> RankedCanaries:
        member = np.diff(self.members_below)[kept]
        return RankedCanaries(self.scores[kept], np.concatenate([[0], np.cumsum(member)]))


def guess(members: ArrayLike, others: ArrayLike, *, guesses_in: int, guesses_out: int) -> Guesses:
    """How an attacker fares who accuses the highest scores and clears the lowest.

    ``guesses_in`` and ``guesses_out`` must be fixed before the scores are seen.

    >>> guess([3, 2, 2], [1, 2, 0], guesses_in=2, guesses_out=2)
    Guesses(canaries=6, made=4, right=3)
    """
    return RankedCanaries.of(members, others).guesses(guesses_in, guesses_out)


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


_FAMILY = 6
_FEWEST = 8
_CANDIDATES = 24


class GuessedSide(Enum):
    """Which canaries are guessed: the highest scores as "in", the lowest as "out", or both."""

    BOTH = "both"
    IN = "in"
    OUT = "out"

    def numbers(self, count: int) -> Numbers:
        """So many guesses on each side it has."""
        return (0 if self is GuessedSide.OUT else count, 0 if self is GuessedSide.IN else count)

    def most(self, canaries: int) -> int:
        """The most guesses there can be on each side it has."""
        return canaries // 2 if self is GuessedSide.BOTH else canaries


@dataclass(frozen=True)
class ChosenGuesses:
    """The guesses that speak for an attack, and the level at which each bound from them may.

    ``read_off`` says that their number was read off a part of the canaries of the same run, of
    which ``aside`` were spent. Scores decide which those are, so δ may still act through all.
    """

    guesses_in: int
    guesses_out: int
    guesses: Guesses
    level: float
    read_off: bool
    aside: int = 0

    def epsilon_lower(self, delta: float) -> float:
        """The largest ε that these guesses refute; errs downward."""
        return epsilon_lower(self.guesses, delta, self.level, chosen=self.read_off)

    def mu_lower(self) -> float:
        """The largest μ of Gaussian DP that these guesses refute; errs downward."""
        self._need_fixed_numbers()
        return mu_lower(self.guesses, self.level)

    def gaussian_epsilon_lower(self, delta: float) -> float:
        """The ε of the largest μ of Gaussian DP refuted: against claims of Gaussian DP alone."""
        self._need_fixed_numbers()
        return gaussian_epsilon_lower(self.guesses, delta, self.level)

    def refutes(self, claim: TradeoffCurve) -> bool:
        """Whether these guesses refute a claimed curve; errs towards no."""
        self._need_fixed_numbers()
        return refutes_curve(self.guesses, claim, self.level)

    def _need_fixed_numbers(self) -> None:
        if self.read_off:
            raise Unsupported(
                "a curve is tested by numbers of guesses fixed beforehand: take the best of a "
                "family instead of reading them off a part of the canaries"
            )


def fixed(
    ranking: RankedCanaries, guesses_in: int, guesses_out: int, level: float
) -> ChosenGuesses:
    """Guesses whose numbers were fixed before anyone saw a score: all of the level is theirs."""
    level = _checks.inside_unit(level=level)
    guesses = ranking.guesses(guesses_in, guesses_out)
    return ChosenGuesses(guesses_in, guesses_out, guesses, level, read_off=False)


def family(canaries: int, side: GuessedSide = GuessedSide.BOTH) -> tuple[Numbers, ...]:
    """A few numbers of guesses, from a handful to every canary, that the count alone fixes.

    >>> family(1000)
    ((8, 8), (18, 18), (42, 42), (96, 96), (219, 219), (500, 500))
    """
    canaries = _checks.whole(1, canaries=canaries)
    _checks.member(GuessedSide, side=side)
    counts = _geometric(_FEWEST, side.most(canaries), _FAMILY)
    return tuple(side.numbers(count) for count in counts)


def read_off(
    ranking: RankedCanaries,
    delta: float,
    level: float,
    *,
    share: float = 0.2,
    seed: int = 0,
    sides: Sequence[GuessedSide] = (GuessedSide.BOTH,),
) -> ChosenGuesses:
    """Guesses as a random part of the canaries suggests, made on the others alone.

    About ``share`` of the canaries, by places in the ranking that ``seed`` draws, is spent on the
    choice. All of them count where δ is paid for: an output that picks its canary picks its place.
    """
    delta = _checks.probability(delta=delta)
    level = _checks.inside_unit(level=level)
    share = _checks.inside_unit(share=share)
    seed = _checks.whole(0, seed=seed)
    if not sides:
        _checks.refuse("sides", "not be empty", sides)
    if ranking.canaries < 4:
        _checks.refuse("canaries", "be at least 4 to choose on a part of them", ranking.canaries)
    first, rest = ranking.divided(share, seed)
    if rest.canaries == 0:  # one score for all: nothing is spent, and nothing is learnt
        first, rest = rest, first
    numbers = _most_promising(first, rest.canaries, sides, (delta, level))
    guesses = replace(rest.guesses(*numbers), canaries=ranking.canaries)
    return ChosenGuesses(*numbers, guesses, level, read_off=True, aside=first.canaries)


def _most_promising(
    first: RankedCanaries, canaries: int, sides: Sequence[GuessedSide], test: tuple[float, float]
) -> Numbers:
    """Which numbers of guesses would refute most if the rest were like the first part."""
    best, most = sides[0].numbers(sides[0].most(canaries)), 0.0
    for side in sides:
        _checks.member(GuessedSide, side=side)
        if not side.most(first.canaries):
            continue
        for count in _geometric(1, side.most(first.canaries), _CANDIDATES):
            seen = first.guesses(*side.numbers(count))
            scaled = min(round(count * canaries / first.canaries), side.most(canaries))
            numbers = side.numbers(scaled)
            # Half a right and half a wrong guess more: a few all right promise little.
            right = int(sum(numbers) * (seen.right + 0.5) / (seen.made + 1))
            likely = Guesses(canaries + first.canaries, sum(numbers), right)
            epsilon = epsilon_lower(likely, *test, chosen=True, above=most)
            if epsilon > most:
                best, most = numbers, epsilon
    return best


def _geometric(fewest: int, most: int, count: int) -> list[int]:
    """At most so many whole numbers from the fewest to the most, evenly spread in ratio."""
    if most <= fewest:
        return [most]
    ratio = (most / fewest) ** (1 / (count - 1))
    return sorted({min(round(fewest * ratio**i), most) for i in range(count)})
