"""The mechanism that is guessed best of all that keep a curve: power of one-run audits, by an LP.

A formulation of its own, in the chances p_k themselves: what the package certifies is held to it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def least_favourable(canaries, made, right, profile, log_ratios):
    """The law of right guesses that makes ``right`` or more of them likeliest, and that chance.

    p obeys (R_v − b·L_v)⁺ + (L_v − b·R_v)⁺ summed ≤ δ(ln b) for the b listed, no others.
    """
    k, v, b = np.arange(made + 1), np.arange(made), np.exp(log_ratios)
    one, cells = np.eye(made + 1), b.size * made
    r = one[1:] * (v + 1)[:, None] / canaries
    w = one[:-1] * (made - v)[:, None] / canaries
    excess = np.concatenate([r - ratio * w for ratio in b] + [w - ratio * r for ratio in b])
    parts = np.concatenate([-np.eye(cells), -np.eye(cells)])  # one part for both: never both > 0
    total = np.kron(np.eye(b.size), np.ones(made))
    solved = linprog(
        -np.concatenate([(k >= right).astype(float), np.zeros(cells)]),
        A_ub=np.block([[excess, parts], [np.zeros((b.size, made + 1)), total]]),
        b_ub=np.concatenate([np.zeros(2 * cells), profile(log_ratios)]),
        A_eq=np.concatenate([np.ones(made + 1), np.zeros(cells)])[None],
        b_eq=[1.0],
        method="highs",
    )
    law = np.maximum(solved.x[: made + 1], 0)
    return law / law.sum(), -solved.fun


def play(rng, inside, law, made):
    """Scores of canaries, of which a random few are told truly, as many as the law draws.

    Those said to be in score highest, those said to be out lowest, and the others in between.
    """
    told = rng.permutation(inside.size)[:made]
    truly = rng.permutation(made) < rng.choice(made + 1, p=law)
    scores = rng.random(inside.size)
    scores[told] += np.where(inside[told] == truly, 2.0, -2.0)
    return scores
