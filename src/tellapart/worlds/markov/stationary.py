"""The law that a chain keeps once it has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from tellapart import _checks
from tellapart._checks import Array


def stationary_law(transition: Array) -> Array:
    """The one stationary law, by elimination without subtraction (Grassmann, Taksar, Heyman)."""
    law = np.zeros(transition.shape[0])
    states = closed_class(transition)
    law[states] = _eliminated(transition[np.ix_(states, states)])
    return law


def closed_class(transition: Array) -> NDArray[np.int64]:
    """The states a chain ends up in for ever, if there is one such class only."""
    count, labels = connected_components(transition > 0, connection="strong")
    moves = [labels[np.nonzero(transition[labels == one])[1]] for one in range(count)]
    closed = [one for one in range(count) if np.all(moves[one] == one)]
    if len(closed) > 1:
        _checks.refuse(
            "transition",
            "lead to one stationary law; from some states others are never reached, so "
            "give an initial law",
            transition.tolist(),
        )
    return np.flatnonzero(labels == closed[0]).astype(np.int64)


def _eliminated(transition: Array) -> Array:
    work = np.array(transition)
    size = work.shape[0]
    for last in range(size - 1, 0, -1):
        work[:last, last] /= work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    law = np.ones(size)
    for state in range(1, size):
        law[state] = law[:state] @ work[:state, state]
    return np.asarray(law / law.sum())
