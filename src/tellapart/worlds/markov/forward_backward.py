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
    Both directions are walked in step: forward from the start, backward from the end.
    """
    rows, length, size = emissions.shape
    step = _Step(np.stack([transition, transition.T]))
    own = np.ascontiguousarray(np.stack([emissions, emissions[:, ::-1]]).transpose(2, 0, 1, 3))
    reached = np.zeros((length, 2, rows, size))
    reached[0, 0] = logs_of(initial)
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(1, length):
            reached[t] = step(reached[t - 1] + own[t - 1])
    forward, backward = reached[:, 0], reached[::-1, 1]
    return np.asarray((forward + own[:, 0] + backward).transpose(1, 0, 2))


class _Step:
    """One step along each of two chains, on log-weights of states.

    Where weights fit a double together this is a matrix product; where they do not, as in chains
    whose states never meet, it is a sum of logarithms.
    """

    def __init__(self, matrices: Array) -> None:
        self.matrices, self.logs = matrices, logs_of(matrices)
        self.span = _SPAN + self.logs[self.logs > -np.inf].min()

    def __call__(self, weights: Array) -> Array:
        top = weights.max(axis=2, keepdims=True)
        below = top - weights
        if ((below <= self.span) | (below == np.inf)).all():  # leaving out a 0 costs no digits
            return np.asarray(np.log(np.exp(-below) @ self.matrices) + top)
        return logpoly.total(weights[..., None] + self.logs[:, None], axis=2)
