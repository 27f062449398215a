"""The published p-value of right guesses in one run, to compare with the sharper one of tellapart.

Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (2023), Theorem 5.2.
Where a test looks, below one half, the sharper one was never seen to exceed it. Near 1 it can: a
mechanism on two canaries is guessed more often than the published bound allows.
"""

from __future__ import annotations

from scipy.special import expit

from tellapart.audit.counts.one_run_guesses import (
    LARGEST_EPSILON,
    TAIL_ROUNDING,
    Guesses,
    at_most,
    exactly,
    largest_refuted,
)


def steinke_p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """How likely an (ε, δ)-DP mechanism lets anyone guess this well, by the published bound.

    β + 2mδ·max over i of P[v > Bin(r, q) ≥ v − i]/i. Numbers of guesses fixed beforehand.

    >>> round(steinke_p_value(Guesses(canaries=1000, made=100, right=95), 1, delta=1e-5), 6)
    0.000664
    """
    if guesses.right == 0:
        return 1.0
    miss = float(expit(-epsilon))
    found = at_most(guesses.wrong, guesses.made, miss)
    if delta > 0:
        found += 2 * guesses.canaries * delta * _largest_mean(guesses.wrong, guesses.made, miss)
    return min(1.0, found * (1 + TAIL_ROUNDING))


def steinke_epsilon_lower(guesses: Guesses, delta: float, level: float) -> float:
    """The largest ε that the published p-value refutes at this level; 0 if it refutes none.

    >>> guesses = Guesses(canaries=1000, made=100, right=95)
    >>> round(steinke_epsilon_lower(guesses, delta=1e-5, level=0.05), 4)
    2.1652
    """

    def refuted(epsilon: float) -> bool:
        return steinke_p_value(guesses, epsilon, delta) < level

    return largest_refuted(refuted, LARGEST_EPSILON)


def _largest_mean(wrong: int, made: int, miss: float) -> float:
    """The largest average of P[Bin(made, miss) = w] over w = wrong + 1, ..., wrong + i.

    The terms rise, then fall (their logarithm is concave). So the average rises while the next
    term exceeds it and falls for good once one does not: halving finds where.
    """
    least = at_most(wrong, made, miss)

    def mean(i: int) -> float:
        return (at_most(wrong + i, made, miss) - least) / i

    first, last = 1, made - wrong
    while first < last:
        i = (first + last) // 2
        if exactly(wrong + i + 1, made, miss) > mean(i):
            first = i + 1
        else:
            last = i
    # Where the difference of two tails has lost its digits, the first term has not.
    return max(mean(first), exactly(wrong + 1, made, miss))
