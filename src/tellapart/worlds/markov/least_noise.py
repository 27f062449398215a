"""The least noise that keeps a promise, where more noise never gives away more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.solve import falling_root

_CLOSE = 1e-10
_FURTHEST = 64.0  # with e^-64 of the noise that is enough for sure, the answer says nothing at all


def least_scale(worst: Callable[[float], float], enough: float, epsilon: float) -> float:
    """The least scale at which ``worst`` is at most ε, rounded up, from one that is enough."""

    def excess(log_scale: Array) -> Array:
        return np.asarray(worst(float(np.exp(log_scale))) / epsilon - 1)

    high, step = float(np.log(enough)), 1.0
    low = high - step
    while excess(np.asarray(low)) <= 0:
        high, step = low, 2 * step
        low = high - step
        if step > _FURTHEST:
            return float(np.exp(high))
    _, kept = falling_root(excess, np.asarray(low), np.asarray(high), narrow=_CLOSE)
    return float(np.exp(kept))
