"""One bracketed root-finder. It returns the bracket, so that the caller picks the sound end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart.errors import NotCertified

Falling = Callable[[Array], Array]

_ROUNDS = 200
_ULPS = 4 * np.finfo(float).eps


def falling_root(f: Falling, low: Array, high: Array, narrow: float = 0.0) -> tuple[Array, Array]:
    """Shrink low < root ≤ high of a falling f, elementwise, to neighbouring doubles.

    Or to intervals as narrow as asked.

    Keeps f(low) > 0 ≥ f(high), also where f jumps or is infinite. Chandrupatla's method (1997):
    inverse quadratic steps where they can be trusted, halving elsewhere.
    """
    a, b = np.array(low, dtype=float), np.array(high, dtype=float)
    fa, fb = f(a), f(b)
    if not (np.all(fa > 0) and np.all(fb <= 0)):
        raise NotCertified("a root was searched in an interval that does not hold one")
    c, fc = a, fa
    step = np.full_like(a, 0.5)
    for _ in range(_ROUNDS):
        deadline.check()
        x = a + step * (b - a)
        fx = f(x)
        same = (fx > 0) == (fa > 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        width = np.abs(b - a)
        tolerance = _ULPS * np.maximum(np.abs(a), np.abs(b)) + 1e-300 + narrow
        if np.all(width <= tolerance):
            break
        step = np.clip(_inverse_quadratic(a, b, c, fa, fb, fc), tolerance / (2 * width), None)
        step = np.minimum(step, 1 - np.minimum(tolerance / (2 * width), 0.5))
    falls = fa > 0
    return np.where(falls, a, b), np.where(falls, b, a)


def _inverse_quadratic(a: Array, b: Array, c: Array, fa: Array, fb: Array, fc: Array) -> Array:
    """The next step as a fraction of [a, b]; one half where the quadratic cannot be trusted."""
    with np.errstate(all="ignore"):
        xi = (a - b) / (c - b)
        phi = (fa - fb) / (fc - fb)
        step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(step)
    return np.where(trusted, step, 0.5)


def climb(f: Falling, start: Array, step: float) -> Array:
    """Move from start in doubling steps until f ≤ 0 (or, for a negative step, until f > 0)."""
    x = np.array(start, dtype=float)
    for _ in range(1100):
        deadline.check()
        done = (f(x) <= 0) if step > 0 else (f(x) > 0)
        if np.all(done):
            return x
        x = np.where(done, x, x + step)
        step *= 2
    raise NotCertified("no threshold separates the asked rate")


def first_whole(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first whole number above low at which a statement begins to hold; high where none is."""
    while high - low > 1:
        deadline.check()
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def first_wholes(holds: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array) -> Array:
    """`first_whole`, elementwise."""
    while np.any(high - low > 1):
        deadline.check()
        middle = np.floor((low + high) / 2)
        enough = holds(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
