"""Two mixtures of normal laws of deviation 1 on the same atoms: densities, masses and turns.

The log-ratio of their densities has the slope M1 − M0, the difference of the two posterior means
of the atom given the output, each of which rises with the output. So a stretch [a, b] on which
M1(a) > M0(b) certainly rises, and one on which M1(b) < M0(a) certainly falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tellapart._checks import Array
from tellapart.errors import NotCertified

Mask = NDArray[np.bool_]
# Φ(−REACH) is 0 in doubles.
REACH = 40.0
# So many numbers are held at once where many outputs meet many atoms.
HELD = 1 << 21
# A ratio that moves by less over a stretch does not move: rounding makes as much.
_STILL = 1e-14
_MOST_CELLS = 1 << 16
_EPS = float(np.finfo(float).eps)


class Seen(NamedTuple):
    """Of each law at each output: the log-density over that of the nearest atom, and the mean."""

    absent: Array
    present: Array
    absent_mean: Array
    present_mean: Array

    @property
    def loss(self) -> Array:
        """The log-likelihood ratio."""
        return self.present - self.absent


@dataclass(frozen=True, eq=False)
class Bells:
    """Log-weights of two laws at rising ``atoms``, each of which at least one of them has."""

    atoms: Array
    absent: Array
    present: Array

    @cached_property
    def gains(self) -> Array:
        """The log-ratio of the weights at each atom; ±inf where one law has none."""
        return self.present - self.absent

    @property
    def size(self) -> int:
        return self.atoms.size

    def seen(self, outputs: Array) -> Seen:
        """What either law makes of these outputs."""
        parts = _in_rows(self._seen, outputs, self.size)
        return Seen(*parts)

    def _heights(self, outputs: Array) -> Array:
        """The log-density at each output of each atom, over that of the nearest place."""
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        away = self.atoms - nearest[:, None]
        return np.asarray(away * ((outputs - nearest)[:, None] - away / 2))

    def _seen(self, outputs: Array) -> Array:
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        away, heights = self.atoms - nearest[:, None], self._heights(outputs)
        found = [_posterior(logs + heights, away) for logs in (self.absent, self.present)]
        return np.array([found[0][0], found[1][0], nearest + found[0][1], nearest + found[1][1]])

    def log_height(self, outputs: Array) -> Array:
        """The log-density of the nearest atom, which `seen` leaves out."""
        nearest = np.clip(outputs, self.atoms[0], self.atoms[-1])
        return np.asarray(-((outputs - nearest) ** 2) / 2 - math.log(2 * math.pi) / 2)

    def masses(self, start: Array, end: Array) -> tuple[Array, Array]:
        """What either law has between two outputs, from the tail that has the digits."""
        weights = np.exp(np.array([self.absent, self.present]))

        def between(rows: Array) -> Array:
            low, high = (rows[:, i, None] - self.atoms for i in range(2))
            upper = low > 0
            one, two = np.where(upper, -low, high), np.where(upper, -high, low)
            shares = np.maximum(ndtr(one) - ndtr(two), 0.0)
            # A matrix product would add in an order that depends on how many outputs there are.
            return np.array([(shares * law).sum(axis=1) for law in weights])

        absent, present = _in_rows(between, np.stack([start, end], axis=-1), self.size)
        return absent, present

    def crossing(self, start: Array, end: Array, level: Array, falls: Mask) -> Array:
        """Where the log-ratio meets a level in cells in which it does so once.

        Newton steps, or halving where they leave the bracket or are slow; each cell stops by
        itself, so that an answer does not depend on what else is asked.
        """
        low, high, place = start.copy(), end.copy(), (start + end) / 2
        last = high - low
        going = np.arange(place.size)
        for _ in range(200):
            seen = self.seen(place[going])
            excess = seen.loss - level[going]
            up = (excess > 0) == falls[going]
            low[going], high[going] = (
                np.where(up, place[going], low[going]),
                np.where(up, high[going], place[going]),
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                step = excess / (seen.present_mean - seen.absent_mean)
            moved, middle = place[going] - step, (low[going] + high[going]) / 2
            trusted = (moved >= low[going]) & (moved <= high[going])
            trusted &= np.abs(step) <= np.abs(last[going]) / 2
            moved = np.where(trusted, moved, middle)
            last[going] = moved - place[going]
            place[going] = moved
            finest = 2 * _EPS * (np.abs(low[going]) + np.abs(high[going])) / 2 + 1e-18
            going = going[(np.abs(last[going]) > finest) & (high[going] - low[going] > finest)]
            if going.size == 0:
                break
        return place

    def limits(self) -> tuple[float, float]:
        """What the log-ratio tends to far below and far above."""
        return float(self.gains[0]), float(self.gains[-1])

    def never_turns(self) -> bool:
        """Whether the weights' ratio rises or falls all along, hence that of the densities too.

        Normal kernels diminish variation (Karlin 1968). Weights that miss this by rounding
        move no loss by more than they miss it.
        """
        finite = [logs[np.isfinite(logs)] for logs in (self.absent, self.present)]
        slack = 64 * _EPS * (1 + max(float(np.abs(one).max()) for one in finite))
        return _drop(self.gains) <= slack or _drop(-self.gains) <= slack

    def turns(self) -> Array:
        """Outputs between which, and beyond which, the log-ratio only rises or only falls."""
        finite = self.gains[np.isfinite(self.gains)]
        spread = float(np.ptp(self.gains)) if finite.size == self.size else math.inf
        if self.never_turns() or spread <= _STILL:
            return np.zeros(0)
        low, high = (self._outer(side) for side in (-1, 1))
        start = np.unique(np.concatenate([[low, high], self._first_edges(low, high)]))
        return _joined(*self._cells(start, spread))

    def _first_edges(self, low: float, high: float) -> Array:
        edges = np.linspace(self.atoms[0] - REACH, self.atoms[-1] + REACH, 129)
        return edges[(edges > low) & (edges < high)]

    def _outer(self, side: int) -> float:
        """An output beyond which the log-ratio keeps its direction, or does not move at all."""
        end = self.atoms[0] if side < 0 else self.atoms[-1]
        own = 0 if side < 0 else -1
        extremes = [self.atoms[np.isfinite(logs)][own] for logs in (self.absent, self.present)]
        apart = side * (extremes[1] - extremes[0])
        step = 1.0
        for _ in range(70):
            output = float(end + side * step)
            if apart == 0:
                done = self._excess(output, own) <= _STILL
            else:  # the law that reaches further has its mean beyond all of the other
                seen = self.seen(np.array([output]))
                mean = seen.absent_mean[0] if apart < 0 else seen.present_mean[0]
                done = side * (mean - extremes[1 if apart < 0 else 0]) > self._margin
            if done:
                return output
            step *= 2
        raise NotCertified("two atoms lie too close together for their tails to be told apart")

    def _excess(self, output: float, own: int) -> float:
        """What atoms inside the outermost one can still move the log-ratio, in all."""
        total = 0.0
        for logs in (self.absent, self.present):
            away = self.atoms - self.atoms[own]
            heights = logs - logs[own] + away * ((output - self.atoms[own]) - away / 2)
            inner = np.delete(heights, own)
            total += float(np.log1p(np.exp(np.minimum(inner, 700.0)).sum()))
        return total

    @cached_property
    def _margin(self) -> float:
        """What rounding can change of a mean."""
        return 8 * _EPS * float(np.abs(self.atoms).max())

    def _cells(self, edges: Array, spread: float) -> tuple[Array, Array]:
        """Starts of stretches, and whether the ratio rises (1), falls (−1) or rests (0) on each."""
        start, end = edges[:-1], edges[1:]
        starts, ways = [np.array([-np.inf, edges[-1]])], [self._outer_ways(edges)]
        while start.size:
            if start.size > _MOST_CELLS:
                raise NotCertified(
                    "the likelihood ratio of these two laws turns too often, or too slowly, to "
                    "be followed"
                )
            way, open_ = self._ways(start, end, spread)
            starts.append(start[~open_])
            ways.append(way[~open_])
            middle = (start[open_] + end[open_]) / 2
            start, end = np.append(start[open_], middle), np.append(middle, end[open_])
        order = np.argsort(np.concatenate(starts))
        return np.concatenate(starts)[order], np.concatenate(ways)[order]

    def _outer_ways(self, edges: Array) -> Array:
        loss = self.seen(edges[[0, -1]]).loss
        low, high = self.limits()
        moves = np.array([loss[0] - low, high - loss[1]])
        return np.where(np.abs(moves) <= 4 * _STILL, 0.0, np.sign(moves))

    def _ways(self, start: Array, end: Array, spread: float) -> tuple[Array, Mask]:
        middle, width = (start + end) / 2, end - start
        first, last, centre = (self._means(x) for x in (start, end, middle))
        around = width / 2 * self._bend(middle, width, spread)
        slope = _gap(centre[1], centre[0])
        least = np.maximum(_gap(first[1], last[0])[0], slope[0] - around)
        most = np.minimum(_gap(last[1], first[0])[1], slope[1] + around)
        way = np.where(least > 0, 1.0, np.where(most < 0, -1.0, 0.0))
        moves = width * np.maximum(np.abs(least), np.abs(most)) > _STILL
        return way, (way == 0) & moves & (width > 4 * _EPS * np.abs(start))

    def _means(self, outputs: Array) -> Array:
        """Each law's mean, by its distance from the first atom and from the last one."""

        def rows(some: Array) -> Array:
            heights = self._heights(some)
            ends = self.atoms - self.atoms[0], self.atoms[-1] - self.atoms
            return np.array(
                [
                    _posterior(logs + heights, end)[1]
                    for logs in (self.absent, self.present)
                    for end in ends
                ]
            )

        return _in_rows(rows, outputs, self.size).reshape(2, 2, -1)

    def _bend(self, middle: Array, width: Array, spread: float) -> Array:
        """How fast the slope M1 − M0 can change at most within a stretch.

        It does by the difference of two posterior variances. Each grows by e^(reach·step) at
        most, and they differ by a factor of e^±2·spread at most.
        """
        reach = float(self.atoms[-1] - self.atoms[0])
        variances = _in_rows(self._variances, middle, self.size)
        local = variances.max(axis=0) * min(math.expm1(min(2 * spread, 700.0)), 1.0)
        grown = local * np.exp(np.minimum(reach * width / 2, 700.0))
        return np.asarray(np.minimum(grown, reach**2 * min(0.25, math.tanh(spread / 2) / 2)))

    def _variances(self, outputs: Array) -> Array:
        heights, away = self._heights(outputs), self.atoms - self.atoms[0]
        means = [_posterior(logs + heights, away)[1] for logs in (self.absent, self.present)]
        return np.array(
            [
                _posterior(logs + heights, (away - mean[:, None]) ** 2)[1]
                for logs, mean in zip((self.absent, self.present), means, strict=True)
            ]
        )


def _posterior(logs: Array, away: Array) -> tuple[Array, Array]:
    """Log-sums over atoms, and means of the atoms weighed by the terms."""
    largest = logs.max(axis=1)
    shares = np.exp(logs - largest[:, None])
    total = shares.sum(axis=1)
    return largest + np.log(total), (shares * away).sum(axis=1) / total


def _gap(one: Array, other: Array) -> tuple[Array, Array]:
    """What the difference of two means is at least and at most, whatever was rounded.

    Near either end the distances from that end have all their digits.
    """
    up, down = one[0] - other[0], other[1] - one[1]
    slack = 16 * _EPS * (one + other)
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


def _in_rows(function: Callable[[Array], Array], rows: Array, atoms: int) -> Array:
    """Columns for many outputs, few at a time where there are many atoms."""
    step = max(1, HELD // atoms)
    parts = [function(rows[i : i + step]) for i in range(0, max(len(rows), 1), step)]
    return np.concatenate(parts, axis=1)
