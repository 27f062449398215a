"""Where the likelihood ratio of two normal mixtures turns, certified.

The log-ratio of the densities has the slope M1 − M0, the difference of the two posterior means of
the atom given the output, each of which rises with the output. So a stretch [a, b] on which
M1(a) > M0(b) certainly rises, and one on which M1(b) < M0(a) certainly falls.
"""

from __future__ import annotations

import math

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart.errors import NotCertified
from tellapart.worlds.pairs._bells import EPS, REACH, Bells, Mask, posterior
from tellapart.worlds.pairs._blocks import in_rows

# A ratio that moves by less over a stretch does not move: rounding makes as much.
_STILL = 1e-14
_MOST_CELLS = 1 << 16


def never_turns(bells: Bells) -> bool:
    """Whether the weights' ratio rises or falls all along, hence that of the densities too.

    Normal kernels diminish variation (Karlin 1968). Weights that miss this by rounding
    move no loss by more than they miss it.
    """
    slack = 32 * _rough(bells)
    return _drop(bells.gains) <= slack or _drop(-bells.gains) <= slack


def turns(bells: Bells) -> Array:
    """Outputs between which, and beyond which, the log-ratio only rises or only falls."""
    finite = bells.gains[np.isfinite(bells.gains)]
    spread = float(np.ptp(bells.gains)) if finite.size == bells.size else math.inf
    if never_turns(bells) or spread <= _STILL:
        return np.zeros(0)
    low, high = (_outer(bells, side) for side in (-1, 1))
    start = np.unique(np.concatenate([[low, high], _first_edges(bells, low, high)]))
    return _joined(*_cells(bells, start, spread))


def _first_edges(bells: Bells, low: float, high: float) -> Array:
    edges = np.linspace(bells.atoms[0] - REACH, bells.atoms[-1] + REACH, 129)
    return edges[(edges > low) & (edges < high)]


def _outer(bells: Bells, side: int) -> float:
    """An output beyond which the log-ratio keeps its direction, or does not move at all."""
    end = bells.atoms[0] if side < 0 else bells.atoms[-1]
    own = 0 if side < 0 else -1
    extremes = [bells.atoms[np.isfinite(logs)][own] for logs in (bells.absent, bells.present)]
    apart = side * (extremes[1] - extremes[0])
    margin, step = _rough(bells) * float(np.abs(bells.atoms).max()), 1.0
    for _ in range(70):
        output = float(end + side * step)
        if apart == 0:
            done = _excess(bells, output, own) <= _STILL
        else:  # the law that reaches further has its mean beyond all of the other
            seen = bells.seen(np.array([output]))
            mean = seen.absent_mean[0] if apart < 0 else seen.present_mean[0]
            done = side * (mean - extremes[1 if apart < 0 else 0]) > margin
        if done:
            return output
        step *= 2
    raise NotCertified("two atoms lie too close together for their tails to be told apart")


def _excess(bells: Bells, output: float, own: int) -> float:
    """What atoms inside the outermost one can still move the log-ratio, in all."""
    total = 0.0
    for logs in (bells.absent, bells.present):
        away = bells.atoms - bells.atoms[own]
        heights = logs - logs[own] + away * ((output - bells.atoms[own]) - away / 2)
        inner = np.delete(heights, own)
        total += float(np.log1p(np.exp(np.minimum(inner, 700.0)).sum()))
    return total


def _rough(bells: Bells) -> float:
    """What rounding can change of a mean, relatively: exponents are as long as log-weights."""
    finite = [logs[np.isfinite(logs)] for logs in (bells.absent, bells.present)]
    return EPS * (16 + 2 * max(float(np.abs(one).max()) for one in finite))


def _cells(bells: Bells, edges: Array, spread: float) -> tuple[Array, Array]:
    """Starts of stretches, and whether the ratio rises (1), falls (−1) or rests (0) on each."""
    start, end = edges[:-1], edges[1:]
    starts, ways = [np.array([-np.inf, edges[-1]])], [_outer_ways(bells, edges)]
    while start.size:
        deadline.check()
        if start.size > _MOST_CELLS:
            raise NotCertified(
                "the likelihood ratio of these two laws turns too often, or too slowly, to "
                "be followed"
            )
        way, open_ = _ways(bells, start, end, spread)
        starts.append(start[~open_])
        ways.append(way[~open_])
        middle = (start[open_] + end[open_]) / 2
        start, end = np.append(start[open_], middle), np.append(middle, end[open_])
    order = np.argsort(np.concatenate(starts))
    return np.concatenate(starts)[order], np.concatenate(ways)[order]


def _outer_ways(bells: Bells, edges: Array) -> Array:
    loss = bells.seen(edges[[0, -1]]).loss
    low, high = bells.limits()
    moves = np.array([loss[0] - low, high - loss[1]])
    return np.where(np.abs(moves) <= 4 * _STILL, 0.0, np.sign(moves))


def _ways(bells: Bells, start: Array, end: Array, spread: float) -> tuple[Array, Mask]:
    middle, width = (start + end) / 2, end - start
    first, last, centre = (_means(bells, x) for x in (start, end, middle))
    around = width / 2 * _bend(bells, middle, width, spread)
    rough = _rough(bells)
    slope = _gap(centre[1], centre[0], rough)
    least = np.maximum(_gap(first[1], last[0], rough)[0], slope[0] - around)
    most = np.minimum(_gap(last[1], first[0], rough)[1], slope[1] + around)
    way = np.where(least > 0, 1.0, np.where(most < 0, -1.0, 0.0))
    moves = width * np.maximum(np.abs(least), np.abs(most)) > _STILL
    return way, (way == 0) & moves & (width > 4 * EPS * np.abs(start))


def _means(bells: Bells, outputs: Array) -> Array:
    """Each law's mean, by its distance from the first atom and from the last one."""

    def rows(some: Array) -> Array:
        heights = bells.heights(some)
        ends = bells.atoms - bells.atoms[0], bells.atoms[-1] - bells.atoms
        return np.array(
            [
                posterior(logs + heights, end)[1]
                for logs in (bells.absent, bells.present)
                for end in ends
            ]
        )

    return in_rows(rows, outputs, bells.size).reshape(2, 2, -1)


def _bend(bells: Bells, middle: Array, width: Array, spread: float) -> Array:
    """How fast the slope M1 − M0 can change at most within a stretch.

    It does by the difference of two posterior variances. Each grows by e^(reach·step) at
    most, and they differ by a factor of e^±2·spread at most.
    """
    reach = float(bells.atoms[-1] - bells.atoms[0])
    variances = in_rows(lambda some: _variances(bells, some), middle, bells.size)
    local = variances.max(axis=0) * min(math.expm1(min(2 * spread, 700.0)), 1.0)
    grown = local * np.exp(np.minimum(reach * width / 2, 700.0))
    return np.asarray(np.minimum(grown, reach**2 * min(0.25, math.tanh(spread / 2) / 2)))


def _variances(bells: Bells, outputs: Array) -> Array:
    heights, away = bells.heights(outputs), bells.atoms - bells.atoms[0]
    means = [posterior(logs + heights, away)[1] for logs in (bells.absent, bells.present)]
    return np.array(
        [
            posterior(logs + heights, (away - mean[:, None]) ** 2)[1]
            for logs, mean in zip((bells.absent, bells.present), means, strict=True)
        ]
    )


def _gap(one: Array, other: Array, rough: float) -> tuple[Array, Array]:
    """What the difference of two means is at least and at most, whatever was rounded.

    Near either end the distances from that end have all their digits.
    """
    up, down = one[0] - other[0], other[1] - one[1]
    slack = rough * (one + other)
    least = np.maximum(up - slack[0], down - slack[1])
    return least, np.minimum(up + slack[0], down + slack[1])


def _drop(gains: Array) -> float:
    """By how much a sequence falls below what it had reached before."""
    reached = np.maximum.accumulate(gains)
    with np.errstate(invalid="ignore"):
        return float(np.where(reached == gains, 0.0, reached - gains).max())


def _joined(starts: Array, ways: Array) -> Array:
    """Where the direction changes; a stretch at rest goes with what was before it."""
    moving = ways != 0
    starts, ways = starts[moving], ways[moving]
    return np.asarray(starts[1:][ways[1:] != ways[:-1]])
