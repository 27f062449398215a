"""Bracketed root-finding, here and nowhere else: Chandrupatla, Newton, bisection of whole numbers.

`falling_root`, `falling_roots` and `falling_whole` return the bracket, so that the caller picks the
sound end; `newton_root` is for functions whose slope is known and whose values cost much. `climb`
finds where to begin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart.errors import NotCertified

Falling = Callable[[Array], Array]
# Places among all: of some, or of all where it is `...`.
Places = Any
# A falling function at points that stand at these places among all.
Placed = Callable[[Array, Places], Array]
# A falling function and its slope, at points that stand at these places among all.
Sloped = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]

_ROUNDS = 200
_ULPS = 4 * np.finfo(float).eps
# Where one end lies so many times further out than the other, halving the way takes too long.
_FAR = 2.0**20
# A bracket left so wide holds no threshold.
_COARSE = 1e-6
_NEWTON_ROUNDS = 100
# So few are asked all together to the end: to pick out those still open would take longer.
_FEW = 200


def falling_root(f: Falling, low: Array, high: Array, narrow: float = 0.0) -> tuple[Array, Array]:
    """Shrink low < root ≤ high of a falling f, elementwise, to neighbouring doubles.

    Or to intervals as narrow as asked.

    Keeps f(low) > 0 ≥ f(high), also where f jumps or is infinite. Chandrupatla's method (1997):
    inverse quadratic steps where they can be trusted, halving elsewhere. Each element stops by
    itself, so that its root does not depend on what else is asked. NotCertified where none settles.
    """
    return _falling_root(lambda x, _: f(x), low, high, narrow, few=0)


def falling_roots(f: Placed, low: Array, high: Array, narrow: float = 0.0) -> tuple[Array, Array]:
    """`falling_root` of many, for an f that can be asked at the places of those still open."""
    return _falling_root(f, low, high, narrow, few=_FEW)


def _falling_root(
    f: Placed, low: Array, high: Array, narrow: float, few: int
) -> tuple[Array, Array]:
    a, b = np.array(low, dtype=float), np.array(high, dtype=float)
    where: Places = ...
    fa, fb = f(a, where), f(b, where)
    if not (np.all(fa > 0) and np.all(fb <= 0)):
        raise NotCertified("a root was searched in an interval that does not hold one")
    c, fc = a, fa
    step, going = np.full_like(a, 0.5), np.ones(a.shape, dtype=bool)
    below, above = np.empty_like(a), np.empty_like(a)
    for _ in range(_ROUNDS):
        deadline.check()
        x = np.where(going, _between(a, b, step), a)
        fx = f(x, where)
        same = (fx > 0) == (fa > 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        width = np.abs(b - a)
        tolerance = _ULPS * np.maximum(np.abs(a), np.abs(b)) + 1e-300 + narrow
        going = width > tolerance
        left = np.count_nonzero(going)
        if not left:
            break
        if a.size > few > 0 and 2 * left < a.size:
            below[where], above[where] = _sides(a, b, fa)
            where = np.flatnonzero(going) if where is ... else where[going]
            a, b, c, fa, fb, fc, width, tolerance = (
                array[going] for array in (a, b, c, fa, fb, fc, width, tolerance)
            )
            going = going[going]
        least = tolerance / (2 * width)
        step = np.maximum(_inverse_quadratic(a, b, c, fa, fb, fc), least)
        step = np.minimum(step, 1 - np.minimum(least, 0.5))
    if np.any(np.abs(b - a) > _COARSE * (1 + np.abs(a)) + narrow):
        raise NotCertified("the search for a threshold did not settle")
    below[where], above[where] = _sides(a, b, fa)
    return below, above


def _sides(a: Array, b: Array, fa: Array) -> tuple[Array, Array]:
    """The end of each bracket where f is above 0, and the other."""
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


def _between(a: Array, b: Array, step: Array) -> Array:
    """A point on the way from a to b; half-way by digits where one lies far beyond the other."""
    point, halved = a + step * (b - a), step == 0.5
    if not halved.any():
        return point
    inner, outer = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    far = halved & (outer > _FAR * (1 + inner))
    if not far.any():
        return point
    return np.where(far, np.sinh((np.arcsinh(a) + np.arcsinh(b)) / 2), point)


def falling_whole(f: Falling, low: Array, high: Array) -> tuple[Array, Array]:
    """Shrink low < root ≤ high of a falling f to neighbouring whole numbers, elementwise.

    f(low) > 0 ≥ f(high) is taken for granted: f is asked strictly between the two only.
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    while True:
        deadline.check()
        middle = np.floor((low + high) / 2)
        inside = (middle > low) & (middle < high)  # also beyond 2^53, where whole numbers are rare
        if not inside.any():
            return low, high
        above = f(middle) > 0
        low, high = np.where(inside & above, middle, low), np.where(inside & ~above, middle, high)


def newton_root(
    f: Sloped,
    start: Array,
    ends: tuple[Array | float, Array | float],
    *,
    zero: float = 0.0,
    relative: float = _ULPS,
    finest: float = 1e-300,
    stride: float = np.inf,
) -> tuple[Array, NDArray[np.bool_]]:
    """Roots of a falling f between two ends by Newton's steps, halving where these leave a bracket.

    Done where |f| ≤ zero, where a step moves by less than ``relative``, or where the bracket is so
    narrow or narrower than ``finest``. No step is longer than ``stride`` beyond doubling. Returns
    the roots and whether f has one there, or jumps over it. Ends may be infinite. Points that are
    done are not asked again, so that an answer does not depend on what else is asked.
    """
    t = np.array(start, dtype=float)
    low, high = (np.array(np.broadcast_to(end, t.shape), dtype=float) for end in ends)
    hit = np.ones(t.shape, dtype=bool)
    todo = np.arange(t.size)
    for _ in range(_NEWTON_ROUNDS):
        if not todo.size:
            return t, hit
        now, left, right = t[todo], low[todo], high[todo]
        now = np.where((now > left) & (now < right), now, _middle(left, right))
        with np.errstate(all="ignore"):
            away, slope = f(now, todo)
            step = -away / slope
        low[todo], high[todo] = np.where(away > 0, now, left), np.where(away > 0, right, now)
        close = (np.abs(away) <= zero) | (np.abs(step) <= relative * np.abs(now))
        narrow = high[todo] - low[todo] <= relative * np.abs(now) + finest
        hit[todo] = close
        # A flat start would send it to where nothing is known.
        limit = np.abs(now) + stride
        far = np.where(close, 0.0, np.clip(step, -limit, limit))
        t[todo] = now + np.where(np.abs(step) < limit, step, far)
        t[todo[narrow & ~close]] = now[narrow & ~close]
        todo = todo[~(close | narrow)]
    raise NotCertified("the search for a threshold did not settle")


def _middle(low: Array, high: Array) -> Array:
    """Between two ends, either of which may be infinite."""
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2
        beyond = np.where(np.isfinite(low), low + np.abs(low) + 1, high - np.abs(high) - 1)
    return np.where(np.isfinite(middle), middle, np.where(np.isfinite(beyond), beyond, 0.0))


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
    return falling_whole(lambda middle: np.where(holds(middle), 0.0, 1.0), low, high)[1]
