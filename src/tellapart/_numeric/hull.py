"""Convex hulls of operating points and envelopes of lines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array


def best_points(fpr: Array, tpr: Array, fnr: Array, tnr: Array) -> NDArray[np.intp]:
    """Indices, by rising FPR, of the points on the upper hull of an ROC scatter.

    Slopes come from whichever of a rate and its complement is small, so that both corners keep
    their digits. The points must include (0, 0) and (1, 1).
    """
    order = np.lexsort((-fnr, tpr, -tnr, fpr))
    rates = [column.tolist() for column in (fpr, tpr, fnr, tnr)]

    def slope(i: int, j: int) -> float:
        run = _rise(rates[0], rates[3], i, j)
        rise = _rise(rates[1], rates[2], i, j)
        if run > 0:
            return float(rise / run)
        return math.inf if rise > 0 else math.nan

    chain: list[int] = [int(order[0])]
    slopes: list[float] = []
    for j in order[1:].tolist():
        steep = slope(chain[-1], j)
        if math.isnan(steep):  # the same point again
            continue
        while slopes and steep >= slopes[-1]:
            chain.pop()
            slopes.pop()
            steep = slope(chain[-1], j)
        chain.append(j)
        slopes.append(steep)
    return np.array(chain, dtype=np.intp)


def _rise(rate: list[float], complement: list[float], i: int, j: int) -> float:
    return rate[j] - rate[i] if rate[j] < 0.5 else complement[i] - complement[j]


def active_lines(slopes: Array, heights: Array) -> tuple[NDArray[np.intp], Array]:
    """Which lines y = 1 − height − e^slope·x make up their maximum, steepest first, and where.

    Returns their indices and log x of each crossing of one with the next.
    """
    order = np.lexsort((heights, -slopes))
    # Under a line that is no steeper and no lower at 0, none is seen.
    later = np.minimum.accumulate(heights[order][::-1])[::-1]
    order = order[np.append(heights[order][:-1] < later[1:], True)]
    s, h = slopes.tolist(), heights.tolist()

    def crossing(i: int, j: int) -> float:
        if h[j] <= h[i]:
            return -math.inf
        return float(math.log(h[j] - h[i]) - s[i] - math.log(-math.expm1(s[j] - s[i])))

    chain: list[int] = []
    crossings: list[float] = []
    for j in order.tolist():
        if chain and s[j] == s[chain[-1]]:
            continue
        while chain:
            cross = crossing(chain[-1], j)
            if cross > -math.inf and (not crossings or cross > crossings[-1]):
                crossings.append(cross)
                break
            chain.pop()
            if crossings:
                crossings.pop()
        chain.append(j)
    return np.array(chain, dtype=np.intp), np.array(crossings)


def area_beneath(x: Array, y: Array) -> float:
    """An area under a convex falling curve through these points that is never too large.

    Between two points the curve lies above both neighbouring chords, prolonged; what lies
    outside the first and last three points counts as nothing.
    """
    run, rise = np.diff(x), np.diff(y)
    before, after = (rise / run)[:-2], (rise / run)[2:]
    run, rise, start, end = run[1:-1], rise[1:-1], y[1:-2], y[2:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = np.where(after > before, (rise - after * run) / (before - after), 0.0)
    turn = np.clip(turn, 0.0, run)
    dip = np.minimum(start + before * turn, start + rise * turn / run)
    return float(np.sum((start + dip) * turn + (dip + end) * (run - turn)) / 2)


def area_under_tangents(x: Array, y: Array, slope: Array) -> float:
    """An area under a convex falling curve that is never too large, from points and slopes there.

    Between two points the curve lies above both tangents.
    """
    run, rise = np.diff(x), np.diff(y)
    slope = np.maximum(slope, -np.finfo(np.float64).max)  # an infinite one has no run in doubles
    bend = slope[1:] - slope[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = np.where(bend > 0, (slope[1:] * run - rise) / bend, 0.0)
    turn = np.clip(turn, 0.0, run)
    dip = np.maximum(y[:-1] + slope[:-1] * turn, 0.0)
    return float(np.sum((y[:-1] + dip) * turn + (dip + y[1:]) * (run - turn)) / 2)
