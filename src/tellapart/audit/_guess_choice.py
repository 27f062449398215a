"""How many guesses to make: the best of a few fixed beforehand, or as a part of the canaries says.

Either way the search is paid for. The best of K numbers of guesses fixed beforehand gets the K-th
part of the level each. Numbers read off a part of the canaries cost that part; the rest is then
a game of its own, but one in which the number of guesses depends on the output. For (ε, δ) that
can be allowed for (`p_value_if_chosen`); for other curves no proof is known, and none is offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tellapart import _checks
from tellapart.audit._canaries import Numbers, Ranking
from tellapart.audit._guessed_curve import gaussian_epsilon_lower, mu_lower, refutes_curve
from tellapart.audit._guesses import Guesses, epsilon_lower
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported

_FAMILY = 6
_FEWEST = 8
_CANDIDATES = 24


class Side(Enum):
    """Which canaries are guessed: the highest scores as "in", the lowest as "out", or both."""

    BOTH = "both"
    IN = "in"
    OUT = "out"

    def numbers(self, count: int) -> Numbers:
        """So many guesses on each side it has."""
        return (0 if self is Side.OUT else count, 0 if self is Side.IN else count)

    def most(self, canaries: int) -> int:
        """The most guesses there can be on each side it has."""
        return canaries // 2 if self is Side.BOTH else canaries


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


def fixed(ranking: Ranking, guesses_in: int, guesses_out: int, level: float) -> ChosenGuesses:
    """Guesses whose numbers were fixed before anyone saw a score: all of the level is theirs."""
    level = _checks.inside_unit(level=level)
    guesses = ranking.guesses(guesses_in, guesses_out)
    return ChosenGuesses(guesses_in, guesses_out, guesses, level, read_off=False)


def family(canaries: int, side: Side = Side.BOTH) -> tuple[Numbers, ...]:
    """A few numbers of guesses, from a handful to every canary, that the count alone fixes.

    >>> family(1000)
    ((8, 8), (18, 18), (42, 42), (96, 96), (219, 219), (500, 500))
    """
    canaries = _checks.whole(1, canaries=canaries)
    _checks.member(Side, side=side)
    counts = _geometric(_FEWEST, side.most(canaries), _FAMILY)
    return tuple(side.numbers(count) for count in counts)


def read_off(
    ranking: Ranking,
    delta: float,
    level: float,
    *,
    share: float = 0.2,
    seed: int = 0,
    sides: Sequence[Side] = (Side.BOTH,),
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
    first: Ranking, canaries: int, sides: Sequence[Side], test: tuple[float, float]
) -> Numbers:
    """Which numbers of guesses would refute most if the rest were like the first part."""
    best, most = sides[0].numbers(sides[0].most(canaries)), 0.0
    for side in sides:
        _checks.member(Side, side=side)
        if not side.most(first.canaries):
            continue
        for count in _geometric(1, side.most(first.canaries), _CANDIDATES):
            seen = first.guesses(*side.numbers(count))
            scaled = min(round(count * canaries / first.canaries), side.most(canaries))
            numbers = side.numbers(scaled)
            # Half a right and half a wrong guess more: a few all right promise little.
            right = int(sum(numbers) * (seen.right + 0.5) / (seen.made + 1))
            likely = Guesses(canaries + first.canaries, sum(numbers), right)
            found = epsilon_lower(likely, *test, chosen=True, above=most)
            if found > most:
                best, most = numbers, found
    return best


def _geometric(fewest: int, most: int, count: int) -> list[int]:
    """At most so many whole numbers from the fewest to the most, evenly spread in ratio."""
    if most <= fewest:
        return [most]
    ratio = (most / fewest) ** (1 / (count - 1))
    return sorted({min(round(fewest * ratio**i), most) for i in range(count)})
