"""A sound trade-off curve from two densities (a dominating pair) that can only be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.safe import log_ratio, to_ends
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound

Density = Callable[[Array], ArrayLike]


def from_densities(
    p: Density,
    q: Density,
    support: tuple[float, float],
    breaks: Sequence[float] = (),
    cells: int = 50_000,
) -> AtomicCurve:
    """A curve from below for two densities on an interval: p with the record absent, q present.

    The interval is cut into cells; each cell's masses are split between the likelihood ratios at
    its two ends, keeping both totals, which can only help the attacker (`Bound.LOWER`, off by
    the square of the cell width). Mass outside the support, at least 1e-15, counts as fully
    revealing, so ε is inf for a smaller δ. Both
    densities must be smooth, and their ratio monotone, inside each cell: name kinks and jumps
    in ``breaks``.

    >>> def laplace(centre):
    ...     return lambda x: np.exp(-abs(x - centre)) / 2
    >>> curve = from_densities(laplace(0), laplace(1), support=(-40, 41), breaks=(0, 1))
    >>> round(curve.delta(epsilon=0.0), 5)
    0.39347
    """
    return from_named_densities(support, breaks, cells, p=p, q=q)


def from_named_densities(
    support: tuple[float, float], breaks: Sequence[float], cells: int, **named: Density
) -> AtomicCurve:
    """As `from_densities`, for two densities that have other names."""
    edges = _edges(support, breaks, cells)
    with np.errstate(all="ignore"):
        edges = _closer_to_zeros(edges, named)
        absent, present = (_masses(name, f, edges) for name, f in named.items())
        low, high = _end_losses(named, edges)
        mean = log_ratio(present, absent)
        low, high = np.fmin(low, mean), np.fmax(high, mean)
        absent_up, present_up = to_ends(low, high, absent, present)
    # What the support leaves out may be produced by one world only, for all we know, and no sum
    # of cells can rule out less of it than rounding hides.
    outside = np.array([1 - absent.sum(), 1 - present.sum()]).clip(1e-15)
    losses = np.concatenate([high, low, [-np.inf, np.inf]])
    absent = np.concatenate([absent_up, absent - absent_up, [outside[0], 0.0]])
    present = np.concatenate([present_up, present - present_up, [0.0, outside[1]]])
    return from_atoms(losses, absent / absent.sum(), present / present.sum(), Bound.LOWER)


def _edges(support: tuple[float, float], breaks: Sequence[float], cells: int) -> Array:
    ends = _checks.vector(support=support)
    if ends.size != 2 or ends[0] >= ends[1]:
        _checks.refuse("support", "be two finite numbers, the smaller first", support)
    inner = _checks.reals("be a list of numbers", breaks=breaks)
    if inner.ndim != 1:
        _checks.refuse("breaks", "be a list of numbers", breaks)
    if inner.size and not (inner.min() > ends[0] and inner.max() < ends[1]):
        _checks.refuse("breaks", "lie strictly inside the support", breaks)
    count = _checks.whole(1, 10_000_000, cells=cells)
    knots = np.unique(np.concatenate([ends, inner]))
    share = np.maximum(1, np.round(count * np.diff(knots) / (ends[1] - ends[0]))).astype(int)
    parts = [
        np.linspace(a, b, n, endpoint=False)
        for a, b, n in zip(knots[:-1], knots[1:], share, strict=True)
    ]
    return np.concatenate([*parts, ends[1:]])


def _closer_to_zeros(edges: Array, named: dict[str, Density]) -> Array:
    """Smaller and smaller cells towards edges where one density vanishes and the other does not."""
    p, q = (_values(name, density, edges) for name, density in named.items())
    infinite = np.isinf(log_ratio(q, p))
    shares = 0.5 ** np.arange(1, 61)
    width = np.diff(edges)
    starts = np.flatnonzero(infinite[:-1] & ~infinite[1:])
    ends = np.flatnonzero(infinite[1:] & ~infinite[:-1])
    finer = [
        (edges[starts, None] + width[starts, None] * shares).ravel(),
        (edges[ends + 1, None] - width[ends, None] * shares).ravel(),
    ]
    return np.unique(np.concatenate([edges, *finer]))


def _values(name: str, density: Density, x: Array) -> Array:
    if not callable(density):
        _checks.refuse(name, "be a function of an array of outputs", density)
    returned = density(x)
    values = np.asarray(returned)
    if values.shape != x.shape or values.dtype.kind not in "biuf":
        _checks.refuse(name, f"return one number per point (shape {x.shape})", returned)
    if not np.all(values >= 0):
        _checks.refuse(name, "be at least 0 on the support", float(values[~(values >= 0)].flat[0]))
    return values


def _masses(name: str, density: Density, edges: Array) -> Array:
    masses = integrate(lambda x: _values(name, density, x), edges[:-1], edges[1:], nodes=8)
    total = float(masses.sum())
    if not total <= 1 + 1e-9 or total < 0.5:
        _checks.refuse(name, "integrate to 1 over the support", total)
    return masses


def _end_losses(named: dict[str, Density], edges: Array) -> tuple[Array, Array]:
    """The ratio at both ends of each cell, seen from just inside: a jump belongs to one side."""
    step = 1e-9 * np.diff(edges)
    inside = (edges[:-1] + step, edges[1:] - step)
    (first_name, p), (second_name, q) = named.items()
    first, last = (log_ratio(_values(second_name, q, x), _values(first_name, p, x)) for x in inside)
    low, high = np.fmin(first, last), np.fmax(first, last)
    missed = np.where(np.isfinite(high - low), 4e-9 * (high - low), 0.0)
    # At the edge itself a density may vanish, however close to it the ratio was finite.
    at = log_ratio(_values(second_name, q, edges), _values(first_name, p, edges))
    low, high = low - missed, high + missed
    return np.fmin(low, np.fmin(at[:-1], at[1:])), np.fmax(high, np.fmax(at[:-1], at[1:]))
