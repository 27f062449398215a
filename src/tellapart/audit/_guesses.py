"""One training run, many canaries: what so many right guesses say about (ε, δ).

Each of m canaries was put into the data by its own fair coin. An auditor who sees the output
says "in" of some, "out" of others, and nothing of the rest. Under pure ε-DP each guess made is
right with chance at most q = 1/(1 + e^−ε), whatever the other coins and the output, so that the
number of right ones is at most binomial; δ lets a few more be right (Steinke, Nasr and Jagielski
2023, Theorem 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import betaincc, expit

from tellapart import _checks

# Above what rounding in the tails of a binomial law amounts to, for up to 10^9 guesses.
_ROUNDING = 1e-9
_LARGEST_EPSILON = 700.0


@dataclass(frozen=True)
class Guesses:
    """How many canaries there were, how many the attacker guessed, and how many it got right.

    >>> Guesses(canaries=1000, made=100, right=95).made
    100
    """

    canaries: int
    made: int
    right: int

    def __post_init__(self) -> None:
        canaries = _checks.whole(1, 10**9, canaries=self.canaries)
        made = _checks.whole(0, made=self.made)
        right = _checks.whole(0, right=self.right)
        if made > canaries:
            _checks.refuse("made", f"be at most canaries = {canaries}", made)
        if right > made:
            _checks.refuse("right", f"be at most made = {made}", right)
        for name, value in (("canaries", canaries), ("made", made), ("right", right)):
            object.__setattr__(self, name, value)


def p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """How likely an (ε, δ)-DP mechanism lets anyone guess this well, at most.

    β + 2mδ·max over i of P[v > Bin(r, q) ≥ v − i]/i. How many guesses of either kind to make must
    have been fixed before the output was seen. Errs towards "likely".

    >>> p_value(Guesses(canaries=1000, made=100, right=95), epsilon=1, delta=0)
    1.4604...e-08
    """
    epsilon = _checks.at_least_zero(epsilon=epsilon)
    delta = _checks.probability(delta=delta)
    lucky, failing = _chances(guesses, epsilon, delta)
    return min(1.0, lucky + failing)


def p_value_if_chosen(guesses: Guesses, epsilon: float, delta: float, level: float) -> float:
    """The same where the number of guesses was read off the output, for a test at this level.

    Given the output t, right guesses are at most Bin(r(t), q) plus F(t) failures, and only the
    mean of F over outputs is known to be at most 2mδ: it may sit where failures help most. So
    each of the two chances gets its own part of the level, fixed by m and δ alone; then both
    hold for every r, and their sum over outputs stays within the level.
    """
    epsilon = _checks.at_least_zero(epsilon=epsilon)
    delta = _checks.probability(delta=delta)
    level = _checks.inside_unit(level=level)
    lucky, failing = _chances(guesses, epsilon, delta)
    part = _part_for_failures(guesses.canaries * delta, level)
    if part == 0:
        return min(1.0, lucky + failing)
    return min(1.0, max(lucky / (1 - part), failing / part))


def epsilon_lower(
    guesses: Guesses, delta: float, level: float, *, chosen: bool = False, above: float = 0.0
) -> float:
    """The largest ε that so many right guesses refute at this level; 0 if they refute none.

    An ε whose p-value was computed and lies below the level, so it errs downward. ``chosen``
    says that how many guesses to make was read off the same output (see `p_value_if_chosen`).
    An answer that is not ``above`` so much need not be sought: it comes as 0.

    >>> epsilon_lower(Guesses(canaries=1000, made=100, right=95), delta=1e-5, level=0.05)
    2.16517...
    """
    delta = _checks.probability(delta=delta)
    level = _checks.inside_unit(level=level)

    def refuted(epsilon: float) -> bool:
        if chosen:
            return p_value_if_chosen(guesses, epsilon, delta, level) < level
        return p_value(guesses, epsilon, delta) < level

    # A mechanism that keeps (ε, δ) keeps every larger ε too, and the test of each is "so many
    # right or more": that any of them is rejected has the chance of the easiest. So every
    # rejected ε is a sound answer, even if p were not rising in ε.
    return largest_refuted(refuted, above, _LARGEST_EPSILON)


def largest_refuted(refuted: Callable[[float], bool], above: float, most: float) -> float:
    """The largest parameter found to be refuted, by halving: never one that was not tried.

    0 if the one at ``above`` is not.
    """
    if not refuted(above):
        return 0.0
    low, high = above, max(1.0, 2 * above)
    while high < most and refuted(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1e-10 * max(high, 1e-3):
        middle = (low + high) / 2
        if refuted(middle):
            low = middle
        else:
            high = middle
    return low


def _chances(guesses: Guesses, epsilon: float, delta: float) -> tuple[float, float]:
    """Of being right v times by luck, and of the δ-failures that could make up for luck."""
    wrong = guesses.made - guesses.right
    if guesses.right == 0:
        return 1.0, 0.0
    miss = float(expit(-epsilon))
    lucky = _at_most(wrong, guesses.made, miss)
    if delta == 0 or lucky >= 1:
        return min(1.0, lucky * (1 + _ROUNDING)), 0.0
    help_by_failures = 2 * guesses.canaries * delta * _largest_mean(wrong, guesses.made, miss)
    return min(1.0, lucky * (1 + _ROUNDING)), min(1.0, help_by_failures * (1 + _ROUNDING))


def _at_most(wrong: int, made: int, miss: float) -> float:
    """P[Bin(made, miss) ≤ wrong], in wrong guesses: their chance has its digits at large ε."""
    if wrong >= made:
        return 1.0
    return float(betaincc(wrong + 1, made - wrong, miss))


def _largest_mean(wrong: int, made: int, miss: float) -> float:
    """The largest average of P[Bin(made, miss) = w] over w = wrong + 1, ..., wrong + i.

    The terms rise, then fall (their logarithm is concave). So the average rises while the next
    term exceeds it and falls for good once one does not: halving finds where.
    """
    least = _at_most(wrong, made, miss)

    def mean(i: int) -> float:
        return (_at_most(wrong + i, made, miss) - least) / i

    first, last = 1, made - wrong
    while first < last:
        i = (first + last) // 2
        if _exactly(wrong + i + 1, made, miss) > mean(i):
            first = i + 1
        else:
            last = i
    # At tiny means the difference of two tails has lost its digits; the first term never has.
    return max(mean(first), _exactly(wrong + 1, made, miss))


def _exactly(wrong: int, made: int, miss: float) -> float:
    """P[Bin(made, miss) = wrong]."""
    if miss == 0:
        return float(wrong == 0)
    ways = math.lgamma(made + 1) - math.lgamma(wrong + 1) - math.lgamma(made - wrong + 1)
    return math.exp(ways + wrong * math.log(miss) + (made - wrong) * math.log1p(-miss))


def _part_for_failures(expected: float, level: float) -> float:
    """Which part of the level pays for δ-failures, from m·δ alone.

    All but nothing where failures are rarer than the level, all but everything where they abound.
    """
    if expected == 0:
        return 0.0
    ratio = 2 * expected / level
    return min(max(ratio / (ratio + 3), 0.01), 0.99)
