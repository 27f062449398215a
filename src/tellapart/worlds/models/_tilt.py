"""Forward and backward sums over the paths of a chain, each path with a factor for its states."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import logs_of

_SPAN = 600.0


def occupation(initial: Array, transition: Array, emissions: Array) -> Array:
    """Logarithms of E[1{X_t = a} · Π e^(emission of each state passed)], for all rows, t and a.

    ``emissions`` has axes row, time and state; rows are independent questions asked at once.
    """
    length = emissions.shape[1]
    forward, backward = np.empty_like(emissions), np.zeros_like(emissions)
    ahead, back = _Step(transition), _Step(transition.T)
    forward[:, 0] = logs_of(initial) + emissions[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(1, length):
            forward[:, t] = ahead(forward[:, t - 1]) + emissions[:, t]
        for t in range(length - 2, -1, -1):
            backward[:, t] = back(backward[:, t + 1] + emissions[:, t + 1])
    return forward + backward


class _Step:
    """One step of a chain on log-weights of states.

    Where weights fit a double together this is a matrix product; where they do not, as in chains
    whose states never meet, it is a sum of logarithms.
    """

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.logs = matrix, logs_of(matrix)
        self.span = _SPAN + self.logs[self.logs > -np.inf].min()

    def __call__(self, weights: Array) -> Array:
        top = weights.max(axis=1, keepdims=True)
        below = top - weights
        if np.all((below <= self.span) | (below == np.inf)):  # 0 is no loss of digits
            return np.asarray(np.log(np.exp(-below) @ self.matrix) + top)
        return logpoly.total(weights[:, :, None] + self.logs, axis=1)
