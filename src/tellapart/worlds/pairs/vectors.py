"""Several answers released jointly, each with noise of its own: extremes and trade-off curves.

In each coordinate with Laplace noise the likelihood ratio is a Moebius function between
neighbouring atoms and constant beyond them, so that its extremes over a rectangle are at corners:
those of all are on the grid of the atoms' coordinates. Curves come from below: a rectangle's two
masses, which are exact, are split between its lowest and its highest ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.safe import log_ratio as mass_ratio
from tellapart._numeric.safe import to_ends
from tellapart._numeric.text import count_in_words
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.models.laws import VectorLaw
from tellapart.worlds.pairs.finite_outputs import log_ratio
from tellapart.worlds.pairs.level_sets import blocks
from tellapart.worlds.releases import Channel, Release

Index = NDArray[np.intp]
MOST_POINTS = 1 << 24
_MOST_TERMS = 1 << 30
_MOST_CELLS = 1 << 21
# Curves from both sides as close as this are fine enough.
_CLOSE = 1e-6


class OutputAxis(NamedTuple):
    """One coordinate: outputs, the log-density of each given each point, and cells between them.

    ``low`` and ``high`` are the outputs at the ends of each cell, ``masses`` its chance given
    each point.
    """

    outputs: tuple[Any, ...]
    logs: Array
    low: Index
    high: Index
    masses: Array


def vector_extremes(
    present: VectorLaw, absent: VectorLaw, releases: Sequence[Release]
) -> tuple[tuple[float, Any], tuple[float, Any]]:
    """The largest and the smallest log-likelihood ratio, each with its outputs."""
    points, logs_1, logs_0 = present.beside(absent)
    axes = [_axis(points[:, i], release) for i, release in enumerate(releases)]
    ratios = log_ratio(*(grid_logs(logs, axes) for logs in (logs_1, logs_0)))
    ends = []
    for place in (int(np.argmax(ratios)), int(np.argmin(ratios))):
        where = np.unravel_index(place, [len(axis.outputs) for axis in axes])
        outputs = tuple(axis.outputs[i] for axis, i in zip(axes, where, strict=True))
        ends.append((float(ratios[place]), outputs))
    return ends[0], ends[1]


def vector_log_masses(laws: Sequence[VectorLaw], releases: Sequence[Release]) -> Array:
    """Log-chances of all lists of outputs of channels, one row for each law."""
    if not all(isinstance(release, Channel) for release in releases):
        raise Unsupported(
            "averages over several answers are worked out for channels alone; "
            "ask about one answer at a time"
        )
    rows = []
    for law in laws:
        axes = [_axis(law.points[:, i], release) for i, release in enumerate(releases)]
        rows.append(grid_logs(law.log_weights, axes))
    return np.array(rows)


def vector_curve(present: VectorLaw, absent: VectorLaw, releases: Sequence[Release]) -> AtomicCurve:
    """The curve of two laws of several answers: exact for channels, from below with noise."""
    points, logs_1, logs_0 = present.beside(absent)
    axes = [_axis(points[:, i], release) for i, release in enumerate(releases)]
    if all(isinstance(release, Channel) for release in releases):
        chances_1, chances_0 = grid_logs(logs_1, axes), grid_logs(logs_0, axes)
        seen = (chances_1 > -np.inf) | (chances_0 > -np.inf)
        losses = log_ratio(chances_1[seen], chances_0[seen])
        return from_atoms(losses, np.exp(chances_0[seen]), np.exp(chances_1[seen]), Bound.EXACT)
    _check_cells(axes, len(points))
    enclosed, steps = _enclosed(logs_1, logs_0, axes), 4
    while enclosed[1] > _CLOSE:
        deadline.check()
        steps *= 2
        axes = [_axis(points[:, i], release, steps) for i, release in enumerate(releases)]
        if not _fits(axes, len(points)):
            break
        enclosed = _enclosed(logs_1, logs_0, axes)
    return enclosed[0]


def grid_logs(log_weights: Array, axes: Sequence[OutputAxis]) -> Array:
    """Log-densities of a mixture on the grid of all axes' outputs, flattened."""
    sizes = [len(axis.logs) for axis in axes]
    size = math.prod(sizes)
    if size > MOST_POINTS or size * log_weights.size > _MOST_TERMS:
        raise Unsupported(
            f"{len(axes)} answers have a grid of {count_in_words(size)} outputs for "
            f"{log_weights.size} lists of "
            f"true answers, more than {MOST_POINTS} or {_MOST_TERMS} in all; "
            "ask about fewer answers at once"
        )
    logs_on_grid = np.empty(size)
    for some in blocks(size, log_weights.size):
        places = np.unravel_index(np.arange(some.start, min(some.stop, size)), sizes)
        logs = log_weights + sum(axis.logs[at] for axis, at in zip(axes, places, strict=True))
        logs_on_grid[some] = logpoly.total(logs, axis=1)
    return logs_on_grid


def _enclosed(
    logs_1: Array, logs_0: Array, axes: Sequence[OutputAxis]
) -> tuple[AtomicCurve, float]:
    """A curve from below, and how far below one from above it lies."""
    sizes = [len(axis.logs) for axis in axes]
    losses = log_ratio(*(_at_corners(logs, axes) for logs in (logs_1, logs_0))).reshape(sizes)
    low, high = losses, losses
    for i, axis in enumerate(axes):
        low = np.minimum(low.take(axis.low, axis=i), low.take(axis.high, axis=i))
        high = np.maximum(high.take(axis.low, axis=i), high.take(axis.high, axis=i))
    factors = [axis.masses for axis in axes]
    with np.errstate(all="ignore"):
        present, absent = (_folded(np.exp(logs), factors) for logs in (logs_1, logs_0))
        mean = mass_ratio(present, absent)
        mean = np.where(np.isnan(mean), 0.0, mean)
        low, high = np.fmin(low.ravel(), mean), np.fmax(high.ravel(), mean)
        absent_up, present_up = to_ends(low, high, absent, present)
    below = from_atoms(
        np.concatenate([high, low]),
        np.concatenate([absent_up, absent - absent_up]),
        np.concatenate([present_up, present - present_up]),
        Bound.LOWER,
    )
    above = from_atoms(mean, absent, present, Bound.UPPER)
    alphas = np.linspace(0.0, 1.0, 129)
    return below, float(np.max(above.beta(alphas) - below.beta(alphas)))


def _at_corners(log_weights: Array, axes: Sequence[OutputAxis]) -> Array:
    """As `grid_logs`, but for what both laws share; by products where these do not vanish."""
    shared = [axis.logs.max(axis=1, keepdims=True) for axis in axes]
    shared = [np.where(np.isfinite(top_of), top_of, 0.0) for top_of in shared]
    factors = [np.exp(axis.logs - top_of) for axis, top_of in zip(axes, shared, strict=True)]
    top = float(log_weights.max())
    with np.errstate(divide="ignore"):
        corners = np.log(_folded(np.exp(log_weights - top), factors)) + top
    faint = np.flatnonzero(corners < top - 600.0)
    sizes = [len(axis.logs) for axis in axes]
    for some in blocks(faint.size, log_weights.size):
        places = np.unravel_index(faint[some], sizes)
        parts = zip(axes, shared, places, strict=True)
        logs = log_weights + sum((axis.logs - top_of)[at] for axis, top_of, at in parts)
        corners[faint[some]] = logpoly.total(logs, axis=1)
    return corners


def _folded(weights: Array, factors: Sequence[Array]) -> Array:
    """Σ over points of weight times a product of one factor from each axis, flattened."""
    held = weights[None, :]
    for factor in factors[:-1]:
        held = (held[:, None, :] * factor).reshape(-1, weights.size)
    return np.asarray(held @ factors[-1].T).ravel()


def _check_cells(axes: Sequence[OutputAxis], points: int) -> None:
    if not _fits(axes, points):
        cells = math.prod(len(axis.masses) for axis in axes)
        raise Unsupported(
            f"{len(axes)} noisy answers are cut into {count_in_words(cells)} cells for {points} "
            "lists of true "
            f"answers, more than {_MOST_CELLS} or too many in all; ask for epsilon, or about "
            "fewer answers at once"
        )


def _fits(axes: Sequence[OutputAxis], points: int) -> bool:
    sizes = [len(axis.masses) for axis in axes]
    rows = math.prod(sizes[:-1]) * points
    return math.prod(sizes) <= _MOST_CELLS and rows <= MOST_POINTS


def _axis(values: Array, release: Release, steps: int = 0) -> OutputAxis:
    """A coordinate; its gaps between atoms cut into about so many pieces for each noise scale."""
    if isinstance(release, Channel):
        logs = release.log_chances(values).T
        every = np.arange(len(logs))
        names: Any = release.outputs
        return OutputAxis(tuple(names), logs, every, every, np.exp(logs))
    if not isinstance(release, Laplace):
        raise Unsupported(
            "several answers with Gaussian noise are not told apart here; "
            "use Laplace noise or channels, or ask about one answer at a time"
        )
    atoms = np.unique(values) / release.scale
    outputs = _refined(atoms, steps)
    away = outputs[:, None] - values / release.scale
    last = outputs.size - 1
    places = np.arange(outputs.size)
    low, high = np.concatenate([[0], places]), np.concatenate([places, [last]])
    return OutputAxis(
        tuple((outputs * release.scale).tolist()), -np.abs(away), low, high, _cells(away)
    )


def _refined(atoms: Array, steps: int) -> Array:
    pieces = np.maximum(np.ceil(steps * np.diff(atoms)), 1).astype(int)
    parts = [
        np.linspace(a, b, n, endpoint=False)
        for a, b, n in zip(atoms[:-1], atoms[1:], pieces, strict=True)
    ]
    return np.concatenate([*parts, atoms[-1:]])


def _cells(away: Array) -> Array:
    """What Laplace noise of scale 1 has below the first place, between, and above the last."""
    start, end = away[:-1], away[1:]
    # No atom lies inside a cell, so that its nearer end has the larger density.
    nearer = np.exp(-np.minimum(np.abs(start), np.abs(end))) / 2
    between = nearer * -np.expm1(start - end)
    below, above = np.exp(-np.abs(away[:1])) / 2, np.exp(-np.abs(away[-1:])) / 2
    return np.concatenate([below, between, above])
