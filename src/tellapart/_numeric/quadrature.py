"""Gauss-Legendre quadrature over many intervals at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import roots_legendre

from tellapart import deadline
from tellapart._checks import Array


@cache
def _rule(nodes: int) -> tuple[Array, Array]:
    x, w = roots_legendre(nodes)
    return (1 + x) / 2, w / 2


def integrate(f: Callable[[Array], Array], low: Array, high: Array, nodes: int = 64) -> Array:
    """∫f over each interval [low, high]. f is called on an array with one more, last, axis."""
    deadline.check()
    x, w = _rule(nodes)
    low, width = np.asarray(low)[..., None], (np.asarray(high) - low)[..., None]
    return np.asarray((f(low + width * x) * w).sum(axis=-1) * width[..., 0])
