"""One-run auditing (Steinke et al. 2023): what right guesses of canaries say about (ε, δ) or f-DP.

Each of m canaries was put into the data by its own fair coin. An auditor who sees the output
guesses r of the coins, in or out, and v guesses are right. Let p_k be the chance of k right ones
and b_k that of Bin(r, q), q = 1/(1 + e^−ε). "This guess right, k − 1 of the others right" and
"this guess wrong, k − 1 of the others right" are one event seen from two worlds that differ in
one coin. For any set of k, (ε, δ) averaged over the canaries says of these events

    Σ_k (k·p_k − e^ε·(r − k + 1)·p_{k−1})⁺ ≤ mδ,   that is   Σ_k k·b_k·(ρ_k − ρ_{k−1})⁺ ≤ mδ

with ρ = p/b. Summed by parts, P[v or more right] − β is Σ_k D_k·(ρ_k − ρ_{k−1}), where β is
P[Bin ≥ v] and D_k is β·P[Bin < k] for k ≤ v and (1 − β)·P[Bin ≥ k] beyond. As b is log-concave,
D_k/(k·b_k) is largest at k = v. So no (ε, δ)-DP mechanism is guessed v times or more with a chance
above β + mδ·β·(1 − β)/(v·b_v), and spending all of δ at k = v attains it.

For any trade-off curve, with r guesses fixed in number before the output was seen, let

    R_j = Σ_{k ≥ j} k·p_k/m   and   H_j = Σ_{k ≥ j} (r − k)·p_k/m.

The same two events, with "at least j − 1 of the others right", are one event seen from two worlds.
A claimed curve, read in both orders and averaged over the canaries, allows R_j ≤ tpr(H_{j−1}).
From P[v or more right] = level onwards this fixes, downwards in j, the least mass that must lie
below. If all of it exceeds r/m, then v right guesses are less likely than the level (Mahloujifar,
Melis and Chaudhuri 2024, Theorem 4.2 and Algorithm 1).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc, expit
from scipy.special.cython_special import ndtr, ndtri

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.solve import first_whole
from tellapart.curve.base import TradeoffCurve

_EPS = 2.0**-52
# Above what the tail of a binomial law is off by, relatively, for up to 10^9 guesses.
TAIL_ROUNDING = 1e-12
LARGEST_EPSILON = 700.0
# A parameter is found to within a factor of two by its size, and in so many parts from there.
_HALVINGS, PARTS = 64, 2**33
MOST_CANARIES = 10**9
# Below it a probability may have lost digits to underflow.
_TINY = 1e-290


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
        canaries = _checks.whole(1, MOST_CANARIES, canaries=self.canaries)
        made = _checks.whole(0, made=self.made)
        right = _checks.whole(0, right=self.right)
        if made > canaries:
            _checks.refuse("made", f"be at most canaries = {canaries}", made)
        if right > made:
            _checks.refuse("right", f"be at most made = {made}", right)
        for name, value in (("canaries", canaries), ("made", made), ("right", right)):
            object.__setattr__(self, name, value)

    @property
    def wrong(self) -> int:
        """How many guesses were wrong."""
        return self.made - self.right


def p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """How likely an (ε, δ)-DP mechanism lets anyone guess this well, at most.

    Attained by some such mechanism, so no test of the number of right guesses is stronger. How
    many guesses of either kind to make must have been fixed before the output was seen. Errs
    towards "likely", by rounding alone.

    >>> round(p_value(Guesses(canaries=1000, made=100, right=95), epsilon=1, delta=1e-5), 6)
    0.000122
    """
    lucky, failing = _chances(guesses, epsilon, delta)
    return min(1.0, lucky + failing)


def p_value_if_chosen(guesses: Guesses, epsilon: float, delta: float, level: float) -> float:
    """The same where the number of guesses was read off the output, for a test at this level.

    Only the sum of δ's shares over all numbers of guesses is bounded, so all of it may sit where
    it helps most. Each of the two terms gets its own part of the level, fixed by m and δ alone;
    then P[rejected] ≤ max β + mδ·max β(1 − β)/(v·b_v) over those numbers stays within the level.
    """
    lucky, failing = _chances(guesses, epsilon, delta)
    part = _part_for_failures(guesses.canaries, delta, level)
    if part == 0:
        return lucky
    return min(1.0, max(lucky / (1 - part), failing / part))


def epsilon_lower(
    guesses: Guesses,
    delta: float,
    level: float,
    *,
    chosen: bool = False,
    above: float = 0.0,
    parts: int = PARTS,
) -> float:
    """The largest ε that so many right guesses refute at this level; 0 if they refute none.

    An ε whose p-value was computed and lies below the level, so it errs downward. ``chosen``
    says that how many guesses to make was read off the same output (see `p_value_if_chosen`).
    An answer that is not ``above`` so much need not be sought: it comes as 0. It is found in so
    many ``parts`` of its size.

    >>> guesses = Guesses(canaries=1000, made=100, right=95)
    >>> round(epsilon_lower(guesses, delta=1e-5, level=0.05), 4)
    2.1719
    """

    def refuted(epsilon: float) -> bool:
        if chosen:
            return p_value_if_chosen(guesses, epsilon, delta, level) < level
        return p_value(guesses, epsilon, delta) < level

    return largest_refuted(refuted, LARGEST_EPSILON, above=above, parts=parts)


def largest_refuted(
    refuted: Callable[[float], bool], most: float, *, above: float = 0.0, parts: int = PARTS
) -> float:
    """The largest parameter found to be refuted, by halving; 0 if the one at ``above`` is not.

    Only a parameter that was tried is returned. A mechanism that keeps a promise keeps every
    weaker one, and each is tested by "so many right or more": that any is rejected has the
    chance of the easiest. So every answer is sound, even where p-values were not monotone.
    """
    if not refuted(above):
        return 0.0
    halvings = first_whole(lambda k: refuted(most * 0.5**k), -1, _HALVINGS)
    low = max(above, most * 0.5**halvings) if halvings < _HALVINGS else above
    step = (most * 0.5 ** (halvings - 1) - low) / parts
    return low + step * (first_whole(lambda k: not refuted(low + step * k), 0, parts) - 1)


def _chances(guesses: Guesses, epsilon: float, delta: float) -> tuple[float, float]:
    """Of v or more right by luck alone, and by what δ adds to luck."""
    if guesses.right == 0:
        return 1.0, 0.0
    miss = float(expit(-epsilon))
    lucky = at_most(guesses.wrong, guesses.made, miss)
    raised = min(1.0, lucky * (1 + TAIL_ROUNDING))
    if delta == 0 or lucky == 1:
        return raised, 0.0
    rate = guesses.canaries / guesses.right * delta
    added = rate * (1 - lucky) * _tail_over_term(guesses, miss, lucky)
    return raised, min(1.0, added * (1 + TAIL_ROUNDING))


def _tail_over_term(guesses: Guesses, miss: float, tail: float) -> float:
    """P[Bin ≥ v]/P[Bin = v], from above."""
    term = exactly(guesses.wrong, guesses.made, miss)
    if term > _TINY:
        return tail / term
    # So far out, each further term is smaller by this or more.
    falls = guesses.wrong / (guesses.right + 1) * (1 - miss) / miss if miss > 0 else math.inf
    return 1 / (1 - falls) if falls < 1 else math.inf


def at_most(wrong: int, made: int, miss: float) -> float:
    """P[Bin(made, miss) ≤ wrong]: right guesses counted by the wrong ones, which keep digits."""
    return 1.0 if wrong >= made else float(betaincc(wrong + 1, made - wrong, miss))


def exactly(wrong: int, made: int, miss: float) -> float:
    """P[Bin(made, miss) = wrong], from below: less all that its logarithm can be off by."""
    if miss == 0:
        return float(wrong == 0)
    terms = (
        math.lgamma(made + 1),
        -math.lgamma(wrong + 1),
        -math.lgamma(made - wrong + 1),
        wrong * math.log(miss),
        (made - wrong) * math.log1p(-miss),
    )
    return math.exp(math.fsum(terms) - 2 * _EPS * sum(map(abs, terms)))


def _part_for_failures(canaries: int, delta: float, level: float) -> float:
    """Which part of the level pays for δ: from what is known before any guess is made."""
    if delta == 0:
        return 0.0
    ratio = delta * math.sqrt(canaries) / level
    return min(max(ratio / (ratio + 0.3), 0.01), 0.99)


# -- any trade-off curve -------------------------------------------------------------------------

Inverse = Callable[[float], float]

# Relative errors of a claimed curve's rates stay below the first, of Φ and its inverse below the
# second: every FPR is lowered by so much, and the test is that of a claim so much weaker.
_CURVE_ROUNDING = 1e-9
_NORMAL_ROUNDING = 1e-12
_ULPS = 4 * 2.0**-53
# No test that rejects was seen to need more; a test cut short accepts.
_STEPS = 2_000_000
_KNOTS = 8192
LARGEST_MU = 75.0


def refutes_curve(guesses: Guesses, claim: TradeoffCurve, level: float) -> bool:
    """Whether so many right guesses refute that the mechanism keeps this curve, in both orders.

    For every claim, (ε, δ) among them, by the recursion; `one_run_worst_case` has the sharpest test
    of few guesses. Every rounding errs towards "not refuted".

    >>> from tellapart.curve.guarantees import guarantee
    >>> refutes_curve(Guesses(canaries=1000, made=100, right=95), guarantee(mu=0.78), level=0.05)
    True
    """
    if guesses.right == 0:
        return False
    share = guesses.made / guesses.canaries
    least = min(level * guesses.right / guesses.canaries, share / 2)
    fpr_at = tabulated(claim.symmetrised(), least, share)
    return overflows(guesses, fpr_at, level)


def mu_lower(guesses: Guesses, level: float, *, above: float = 0.0, parts: int = PARTS) -> float:
    """The largest μ for which so many right guesses refute Gaussian DP; 0 if for none.

    A μ that was tried and refuted, so it errs downward. Nothing is assumed of the mechanism: it
    does not keep μ-Gaussian DP, at this level. An answer that is not ``above`` so much need not be
    sought: it comes as 0.

    >>> round(mu_lower(Guesses(canaries=1000, made=100, right=95), level=0.05), 4)
    0.7868
    """
    if guesses.right == 0:
        return 0.0
    return largest_refuted(
        lambda mu: mu_refuted(guesses, mu, level), LARGEST_MU, above=above, parts=parts
    )


def mu_refuted(guesses: Guesses, mu: float, level: float) -> bool:
    """Whether so many right guesses refute Gaussian DP with this μ; errs towards no."""
    return guesses.right > 0 and overflows(guesses, _gaussian(mu), level)


def overflows(guesses: Guesses, fpr_at: Inverse, level: float) -> bool:
    """Whether the masses implied by "v or more are right with chance ``level``" exceed all."""
    right, made = guesses.right, guesses.made
    whole = made / guesses.canaries * (1 + _ULPS)
    r = level * right / guesses.canaries
    h = level * (made - right) / guesses.canaries
    for i in range(right - 1, max(right - 1 - _STEPS, -1), -1):
        deadline.check()
        needed = fpr_at(r)
        if needed <= h:  # nothing moves from here on
            return False
        r = (r + i / (made - i) * (needed - h)) * (1 - _ULPS)
        h = needed
        if r + h > whole:
            return True
    return False


def _gaussian(mu: float) -> Inverse:
    def fpr_at(tpr: float) -> float:
        return float(ndtr(ndtri(tpr) - mu)) * (1 - _NORMAL_ROUNDING)

    return fpr_at


def tabulated(claim: TradeoffCurve, least: float, most: float) -> Inverse:
    """The least FPR at a TPR from ``least`` to ``most``, from below.

    FPR is convex in TPR: between two knots it lies above the chords on either side, prolonged.
    Before the first chord it does not fall; beyond the last there is none, which says nothing.
    """
    knots = np.geomspace(least, most, _KNOTS)
    knots[0], knots[-1] = least, most
    values = np.asarray(claim.fpr(knots)) * (1 - _CURVE_ROUNDING)
    slopes = np.diff(values) / np.diff(knots)
    before = np.concatenate([[0.0], slopes[:-1]]).tolist()
    after = np.concatenate([slopes[1:], [math.inf]]).tolist()
    return _beneath_chords(knots, values, before, after)


def _beneath_chords(
    knots: Array, values: Array, before: list[float], after: list[float]
) -> Inverse:
    x, y = knots.tolist(), values.tolist()
    last = len(x) - 1

    def fpr_at(tpr: float) -> float:
        k = bisect_right(x, tpr) - 1
        if k >= last:
            return float(y[last])
        from_left = y[k] + before[k] * (tpr - x[k])
        from_right = y[k + 1] - after[k] * (x[k + 1] - tpr)
        return float(max(from_left, from_right))

    return fpr_at
