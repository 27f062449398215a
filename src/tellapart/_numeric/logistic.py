"""Logistic regression for a few dozen columns: weights that tell two samples apart."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from tellapart._checks import Array

_ROUNDS = 25
_STILL = 1e-6


def logistic(design: Array, label: Array, ridge: float = 1.0) -> tuple[float, ...]:
    """Weights of the columns by Newton's method, kept small by a ridge.

    >>> design, label = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    >>> [round(weight, 2) for weight in logistic(design, label)]
    [0.45]
    """
    rows = np.column_stack([design, np.ones(len(design))])
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 1e-9  # where the two samples differ in size, that is no evidence
    weights = np.zeros(rows.shape[1])
    for _ in range(_ROUNDS):
        chance = expit(rows @ weights)
        slope = rows.T @ (label - chance) - penalty * weights
        bend = (rows.T * (chance * (1 - chance))) @ rows + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        # A step that changes the odds a hundredfold overshoots.
        furthest = float(np.abs(rows @ step).max(initial=0.0))
        weights = weights + step * min(1.0, 5.0 / furthest if furthest > 0 else 1.0)
        if float(np.abs(step).max(initial=0.0)) < _STILL:
            break
    return tuple(weights[:-1].tolist())
