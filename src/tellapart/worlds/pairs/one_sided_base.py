"""What the two hypotheses of a one-sided question have in common, whatever the noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tellapart._checks import Array

_ROUNDS = 200
_ULPS = 2 * np.finfo(float).eps


class Side(ABC):
    """One hypothesis: at which distances d from the cut its centres lie, in units of the noise."""

    reach: ClassVar[float]  # noise further out than this has no mass that a double can hold

    @abstractmethod
    def furthest(self) -> float:
        """The largest distance."""

    @abstractmethod
    def tail(self, x: Array, sign: Array | float) -> Array:
        """The mean of P(noise > x + sign·d), for signs ±1."""


def mean_tail(
    tail_mean: Callable[[Array, Array], Array], x: Array, sign: Array | float, width: float
) -> Array:
    """The mean of P(noise > y) over y between x and x + sign·width, split where the tail turns.

    ``tail_mean(y, w)`` is that mean from y ≥ 0 to y + w, of symmetric noise.
    """
    low = x + np.minimum(sign, 0.0) * width
    below = np.clip(-low, 0.0, width)
    share = below / width if width else np.where(low < 0, 1.0, 0.0)
    left = 1 - tail_mean(np.maximum(-low - width, 0.0), below)
    return np.asarray(share * left + (1 - share) * tail_mean(np.maximum(low, 0.0), width - below))


def log_mean_exp(exponents: Array, weights: Array) -> Array:
    """The log of Σ w·e^x along the last axis; near 0 its error is as small as the x are."""
    top = exponents.max(axis=-1)
    lower = exponents - top[..., None]
    fall = (np.expm1(lower) * weights).sum(axis=-1)
    whole = (np.exp(lower) * weights).sum(axis=-1)
    return np.asarray(top + np.where(fall < -0.5, np.log(whole), np.log1p(fall)))


def rising_root(f: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where a rising f crosses 0 between low and high, to the rounding of max(1, |root|).

    Ridders' method (1979). Each element stops by itself, so that its root does not depend on
    its company: searches that call this one compare roots bit by bit.
    """
    a, b, fa, fb = low, high, f(low), f(high)
    root, running = low, np.ones_like(low, dtype=bool)
    for _ in range(_ROUNDS):
        middle = (a + b) / 2
        fm = f(middle)
        x = np.clip(middle + (a - middle) * _ridders(fa, fm, fb), a, b)
        fx = f(x)
        settled = (fx == 0) | (np.abs(x - root) <= _ULPS * np.maximum(np.abs(x), 1.0))
        root = np.where(running, x, root)
        running = running & ~settled
        if not running.any():
            break
        for point, value in ((middle, fm), (x, fx)):
            lower, upper = (value < 0) & (point > a), (value >= 0) & (point < b)
            a, fa = np.where(lower, point, a), np.where(lower, value, fa)
            b, fb = np.where(upper, point, b), np.where(upper, value, fb)
    return root


def _ridders(fa: Array, fm: Array, fb: Array) -> Array:
    """How far from the middle towards a the root is, as a part of the half; ends may round to 0."""
    scale = np.maximum(np.maximum(-fa, fb), np.finfo(float).tiny)
    product = np.maximum((fm / scale) ** 2 - (fa / scale) * (fb / scale), np.finfo(float).tiny)
    return np.asarray(fm / scale / np.sqrt(product))
