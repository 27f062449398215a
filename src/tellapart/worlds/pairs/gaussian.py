"""Trade-off curve of two mixtures of normal laws: level sets between certified turns.

Outputs are cut into cells in which the likelihood ratio only rises or only falls, so that it
meets a level once at most in each. Rates are sums over cells of normal masses, none negative.
Where the ratio never turns, a threshold on the output is sought at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import hull, solve
from tellapart._numeric.quadrature import integrate
from tellapart._numeric.safe import times_exp
from tellapart.curve.base import Around, FourRates
from tellapart.errors import NotCertified
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.pairs.level_sets import HELD, Index, Mask, MixturePair, in_noise, in_rows
from tellapart.worlds.pairs.normal_mixtures import EPS, REACH, Bells, posterior

# A ratio that moves by less over a stretch does not move: rounding makes as much.
_STILL = 1e-14
_MOST_CELLS = 1 << 16
_MOST_AWAY = 2.0**70
# Squares of outputs must be doubles too.
_LONGEST = 1e150


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
    margin = _rough(bells) * float(np.abs(bells.atoms).max())

    def unsettled(away: Array) -> Array:
        if not away < _MOST_AWAY:
            raise NotCertified("two atoms lie too close together for their tails to be told apart")
        output = end + side * away
        if apart == 0:
            return np.asarray(_excess(bells, float(output), own) - _STILL)
        # The law that reaches further has its mean beyond all of the other.
        seen = bells.seen(output[None])
        mean = seen.absent_mean[0] if apart < 0 else seen.present_mean[0]
        return np.asarray(0.0 if side * (mean - extremes[1 if apart < 0 else 0]) > margin else 1.0)

    return float(end + side * solve.climb(unsettled, np.ones(()), 1.0))


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
    return EPS * (16 + 2 * max(float(np.abs(logs).max()) for logs in finite))


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


def _gap(first: Array, other: Array, rough: float) -> tuple[Array, Array]:
    """What the difference of two means is at least and at most, whatever was rounded.

    Near either end the distances from that end have all their digits.
    """
    up, down = first[0] - other[0], other[1] - first[1]
    slack = rough * (first + other)
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


_NODES = 20
# Below this share of the true-positive rate a difference of rates has too few digits for δ.
_FEW_DIGITS = 1e-3
_MOST_WORK = 1 << 25
# A limit counts as an extreme if it misses it by this.
_NUDGE = 1e-13


class GaussianPair(MixturePair):
    """Told apart under normal noise of deviation 1: ``present`` from ``absent``."""

    @cached_property
    def _bells(self) -> Bells:
        had = (self.absent > -np.inf) | (self.present > -np.inf)
        return Bells(self.atoms[had], self.absent[had], self.present[had])

    # -- what is extreme -----------------------------------------------------------------------

    @cached_property
    def monotone(self) -> bool:
        """Whether the ratio never turns, so that a threshold on the output is a best test."""
        return self._turns.size == 0

    @property
    def extremes(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The largest and the smallest log-ratio, each with its output; ±inf for limits."""
        # A limit that other outputs reach but for rounding is named first.
        signed = self._losses, -self._losses
        high, low = (int(np.argmax(losses + _NUDGE * np.isinf(self._edges))) for losses in signed)
        return (
            (self._largest_loss(), float(self._edges[high])),
            (self._smallest_loss(), float(self._edges[low])),
        )

    # -- cells ---------------------------------------------------------------------------------

    @cached_property
    def _turns(self) -> Array:
        return turns(self._bells)

    @property
    def _ends(self) -> tuple[float, float]:
        """Outputs beyond which neither law has any mass in doubles."""
        return float(self._bells.atoms[0] - REACH), float(self._bells.atoms[-1] + REACH)

    @cached_property
    def _edges(self) -> Array:
        """Ends of the cells, all turns among them, from −∞ to ∞."""
        low, high = self._ends
        count = int(np.clip((1 << 21) // self._bells.size, 32, 256))
        inner = np.concatenate([np.linspace(low, high, count + 1), self._turns])
        return np.concatenate([[-np.inf], np.unique(inner), [np.inf]])

    @cached_property
    def _losses(self) -> Array:
        low, high = self._bells.limits()
        return np.concatenate([[low], self._bells.seen(self._edges[1:-1]).loss, [high]])

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        return self._bells.masses(self._edges[:-1], self._edges[1:])

    def _cell(self, column: Index) -> tuple[Array, Array]:
        return self._edges[column], self._edges[column + 1]

    def _crossing(self, column: Index, level: Array, falls: Mask) -> Array:
        """Where the ratio meets a level; an infinite cell, where no mass is, at its finite end."""
        place = np.where(column == 0, self._edges[1], self._edges[column])
        inside = (column > 0) & (column < self._edges.size - 2)
        left, right = self._edges[column[inside]], self._edges[column[inside] + 1]
        place[inside] = self._bells.crossing(left, right, level[inside], falls[inside])
        return place

    # -- rates and profile ---------------------------------------------------------------------

    def _rates(self, threshold: Array) -> FourRates:
        rates = in_rows(self._some_rates, threshold.ravel(), self._edges.size, HELD // 4)
        columns = np.minimum(rates, 1.0)
        fpr, tpr, fnr, tnr = columns.reshape(4, *threshold.shape)
        none, every = threshold >= self._largest_loss(), threshold < self._smallest_loss()
        # Where nothing is left on one side, all is on the other, whatever the sums say.
        none_0, none_1 = none | (fpr == 0), none | (tpr == 0)
        all_0, all_1 = every | (tnr == 0), every | (fnr == 0)
        return (
            np.where(none_0, 0.0, np.where(all_0, 1.0, fpr)),
            np.where(none_1, 0.0, np.where(all_1, 1.0, tpr)),
            np.where(none_1, 1.0, np.where(all_1, 0.0, fnr)),
            np.where(none_0, 1.0, np.where(all_0, 0.0, tnr)),
        )

    def _some_rates(self, level: Array) -> Array:
        """One column for each level; what is above it and below it, counted separately."""
        whole, cut = self._split(level)
        left, right = self._edges[cut.column], self._edges[cut.column + 1]
        inner = self._bells.masses(cut.start, cut.end)
        outer = [self._bells.masses(*ends) for ends in ((left, cut.start), (cut.end, right))]
        rates = []
        for law, masses in enumerate(self._masses):
            above, below = (
                np.where(held, masses, 0.0).sum(axis=1) for held in (whole, ~(whole | cut.met))
            )
            np.add.at(above, cut.row, inner[law])
            np.add.at(below, cut.row, outer[0][law] + outer[1][law])
            rates += [above, below]
        fpr, tnr, tpr, fnr = rates
        return np.array([fpr, tpr, fnr, tnr])

    def _delta(self, epsilon: Array) -> Array:
        flat = epsilon.ravel()
        fpr, tpr, _, _ = self._rates(flat)
        given = times_exp(fpr, flat)
        # Rounding of two sums, always towards the attacker.
        delta = np.maximum(tpr - given, 0.0) + 1e-15 * (tpr + given)
        delta = np.where(flat >= self._largest_loss(), 0.0, delta)
        for i in np.flatnonzero((delta > 0) & (delta < _FEW_DIGITS * tpr)):
            sharp = self._integral(float(flat[i]))
            delta[i] = delta[i] if sharp is None else sharp
        return np.minimum(delta, 1.0).reshape(epsilon.shape)

    def _integral(self, level: float) -> float | None:
        """δ as an integral of p·(1 − e^(level − loss)) ≥ 0; None where that takes too long."""
        whole, cut = self._split(np.array([level]))
        low, high = self._ends
        start = np.clip(np.append(self._edges[:-1][whole[0]], cut.start), low, high)
        end = np.clip(np.append(self._edges[1:][whole[0]], cut.end), low, high)
        panels = np.ceil(end - start).astype(int)
        if int(panels.sum()) * _NODES * self._bells.size > _MOST_WORK:
            return None
        width = (end - start) / np.maximum(panels, 1)
        starts = np.concatenate(
            [a + w * np.arange(n) for a, w, n in zip(start, width, panels, strict=True)]
        )

        def excess(outputs: Array) -> Array:
            flat = outputs.ravel()
            seen = self._bells.seen(flat)
            density = np.exp(seen.present + self._bells.log_height(flat))
            gain = density * np.maximum(-np.expm1(level - seen.loss), 0.0)
            return np.asarray(gain.reshape(outputs.shape))

        return float(integrate(excess, starts, starts + np.repeat(width, panels), _NODES).sum())

    # -- a threshold on the output, where the ratio never turns --------------------------------

    @property
    def _rising(self) -> bool:
        return bool(self._losses[0] <= self._losses[-1])

    def _beyond(self, output: Array) -> FourRates:
        """The rates of the test that rejects on the side of an output where h1 is likelier."""
        ends = np.full_like(output, np.inf)
        up, down = self._bells.masses(output, ends), self._bells.masses(-ends, output)
        if not self._rising:
            up, down = down, up
        return up[0], up[1], down[1], down[0]

    def _around(self, excess: Callable[[FourRates], Array], like: Array) -> Around:
        if not self.monotone:
            return super()._around(excess, like)
        low, high = self._ends

        def rates(away: Array) -> FourRates:
            return self._beyond(low + away if self._rising else high - away)

        start, end = np.zeros_like(like), np.full_like(like, high - low)
        start, end = solve.falling_root(lambda away: excess(rates(away)), start, end)
        return rates(start), rates(end)

    def _area(self) -> float:
        size = self._bells.size
        if self.monotone and size**2 <= HELD:  # the mean of Φ(−m/√2), m being two atoms' distance
            apart = np.subtract.outer(self._bells.atoms, self._bells.atoms) / np.sqrt(2)
            absent, present = np.exp(self._bells.absent), np.exp(self._bells.present)
            return float(present @ ndtr(-apart if self._rising else apart) @ absent)
        # The error falls with the square of the points, of which large mixtures have fewer.
        points = max(1 << 10, min(self._area_points, (1 << 24) // size))
        atoms = self._bells.atoms
        outputs = np.append(np.linspace(atoms[0] - 9.0, atoms[-1] + 9.0, points), self._turns)
        losses = self._bells.seen(outputs).loss
        order = np.argsort(-losses, kind="stable")
        if self.monotone:
            fpr, _, fnr, _ = self._beyond(outputs[order])
        else:
            fpr, _, fnr, _ = self._rates(losses[order])
        return hull.area_under_tangents(fpr, fnr, -np.exp(losses[order]))


def gaussian_pair(present: FiniteLaw, absent: FiniteLaw, sigma: float) -> GaussianPair:
    """The curve of two laws of a true answer to which normal noise of this deviation is added."""
    values, logs_1, logs_0 = present.beside(absent)
    return GaussianPair(in_noise(values, sigma, _LONGEST), logs_0, logs_1)
