"""Random allocation (balls in bins): in each epoch a record takes part in one step, at random.

**Several participations, k of t steps.** The steps are a uniform k-set, so with Y_i = exp(μ·x_i −
μ²/2) the likelihood ratio of an epoch is S = e_k(Y_1, …, Y_t)/C(t, k), e_k the elementary symmetric
polynomial, a mean of products of k.

**Nothing leaks more than independent Gaussian steps.** Whatever came before, a step's own ratio is
at most its Y_i in convex order, and S is affine in it. So, from the last step to the first, it may
be replaced by an independent Y_i, and the mean of no convex function of S gets smaller.

**Not more than one participation in each of k blocks.** Cut the t steps into k blocks of given
sizes, all such partitions equally likely, and draw one step from each: by symmetry that is a
uniform k-set. Given the blocks the ratio is a product of independent means, and S is its mean over
the partitions, so smaller in convex order, by Jensen's inequality. Blocks are epochs of random
allocation, with ⌊t/k⌋ or ⌈t/k⌉ steps (⌊t/k⌋ in Feldman and Shenfeld 2025).

**An attack** looks at a function of the outputs alone: sums of Y_i, or of log(1 − q + q·Y_i) with
q = k/t (the loss of Poisson samples), in cells that are added pair by pair. Each cell keeps its
exact mass in the worlds where 0, 1, …, k of the steps so far have the record. Of n + m steps with
j participations, i are among the first n with hypergeometric probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.algebra import worst_case
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.random_allocation import (
    CELL_ERROR,
    ULP,
    additions,
    allocated,
    contracted,
    curve_on_side,
    normal_cells,
)
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.combine import Enclosed, Fineness, Step, compose
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Curves are within some 5e-4 of ε of the truth; what lies beyond 1e-20 of a law reveals all.
_LARGEST_SHIFT = 20.0
_USUAL = Fineness(width=0.025, tail=1e-20)
# Outputs: cells of this width, out to so many deviations beyond the means.
_WIDTH, _REACH = 0.03, 9.0
# Sums: cells of so many deviations at the centre, wider from so many deviations on.
_CELL, _EVEN = 0.025, 2.0
_FAINTEST = 1e-250
# More participations are not kept apart, and larger shifts not held by doubles; hypergeometric
# weights have an error of less than this.
_MOST, _LARGEST_HELD_SHIFT, _WEIGHT_ERROR = 64, 8.0, 1e-11


@dataclass(frozen=True, repr=False)
class Allocated(Enclosed):
    """An epoch of noisy steps of which your record takes part in exactly one, drawn at random.

    Steps may depend on earlier outputs. Neighbours add or remove one record, whose step is drawn
    on its own: the batches of all others stay as they are. Shuffled batches of fixed size are
    another mechanism. The curve lies on the guarantee's side; ``bracket`` has both.

    With several ``participations``, k of t steps, the guarantee is that of k blocks of about t/k
    steps, with one participation in each (proved above), and the other
    side of the bracket is an attack: the two do not meet.

    >>> import tellapart as ta
    >>> epoch = ta.Gaussian(sigma=1).allocated(steps=100)
    >>> round(epoch.curve().epsilon(delta=1e-5), 3)
    0.621
    >>> often = ta.Gaussian(sigma=2).allocated(steps=100, participations=10)
    >>> most, least = (side.epsilon(delta=1e-5) for side in often.bracket(delta=1e-5, gap=1e-3))
    >>> round(least, 2), round(most, 2)
    (2.12, 2.14)
    """

    base: Gaussian
    times: int
    participations: int = 1
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                "random allocation is accounted for Gaussian noise: "
                f"ta.Gaussian(sigma).allocated(steps=...), got {self.base!r}"
            )
        if self.base.neighbours is not Neighbours.ADD_REMOVE:
            raise Unsupported(
                "random allocation is accounted for neighbours that add or remove one record, "
                f"not for {self.base.neighbours}: give the Gaussian Neighbours.ADD_REMOVE"
            )
        times = _checks.whole(1, 10**9, steps=self.times)
        often = _checks.whole(1, times, participations=self.participations)
        self._set(times=times, participations=often, neighbours=self.base.neighbours)

    def __repr__(self) -> str:
        often = f", participations={self.participations!r}" if self.participations > 1 else ""
        return f"{self.base!r}.allocated(steps={self.times!r}{often})"

    @property
    def closes(self) -> bool:
        return self.participations in (1, self.times)

    def stand_ins(self) -> tuple[Step, ...]:
        if self.participations == 1:
            return ((self, 1),)
        size, larger = divmod(self.times, self.participations)
        blocks = ((size, self.participations - larger), (size + 1, larger))
        return tuple((Allocated(self.base, steps), count) for steps, count in blocks if count)

    def _present_test(self) -> TradeoffCurve:
        return self.enclosed(_USUAL, Bound.LOWER)

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One epoch on this side of the truth, h0 = absent."""
        shift = self.base.sensitivity / self.base.sigma
        if shift == 0:
            return self.base._present_test()
        if self.participations == self.times:
            return GaussianCurve(shift * math.sqrt(self.times))
        if self.participations > 1 and side is Bound.LOWER:
            blocks = compose(epoch.repeated(count) for epoch, count in self.stand_ins())
            return blocks._present_test()
        if shift > _LARGEST_SHIFT:  # ratios that no double holds
            if side is Bound.UPPER:
                raise NotCertified(
                    f"a noise of {short(1 / shift, 3)} sensitivities gives no meaningful privacy: "
                    f"brackets of random allocation begin at {short(1 / _LARGEST_SHIFT)}"
                )
            return GaussianCurve(shift, side)  # an epoch leaks no more than one answer
        if self.participations > 1:
            return allocated_often(shift, self.times, self.participations)
        return allocated(shift, self.times, fineness.width, fineness.tail, side)


class _Cells(NamedTuple):
    """Rising values of a statistic of so many steps, and masses by number of participations."""

    values: Array
    masses: Array
    steps: int


@lru_cache(maxsize=32)
def allocated_often(mu: float, steps: int, often: int) -> TradeoffCurve:
    """What some attackers surely reach, h0 = absent, if the record is in ``often`` of the steps.

    The best of several functions of the outputs, so a convex envelope that composes, as in
    `shuffled_epochs`. The sum of all outputs is one: it moves by ``often``·μ, with noise √t.
    """
    if often > _MOST or mu > _LARGEST_HELD_SHIFT:
        return GaussianCurve(often * mu / math.sqrt(steps), Bound.UPPER)
    rate = often / steps
    return worst_case(
        [
            _attack(mu, steps, often, np.exp, np.log),
            _attack(mu, steps, often, lambda loss: np.log1p(rate * np.expm1(loss)), _as_it_is),
        ]
    )


_Map = Callable[[Array], Array]


def _as_it_is(values: Array) -> Array:
    return values


def _attack(mu: float, steps: int, often: int, term: _Map, spread: _Map) -> AtomicCurve:
    """Whoever sees a sum of terms, each of a step's loss, in cells even in the ``spread`` sum."""
    edges = np.arange(-_REACH, mu + _REACH, _WIDTH)
    middles = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]])
    masses = np.zeros((middles.size, often + 1))
    masses[:, 0], masses[:, 1] = normal_cells(edges), normal_cells(edges - mu)
    single = cells = _Cells(term(mu * middles - mu * mu / 2), masses, 1)
    single_error = error = CELL_ERROR
    for _, double in additions(steps):
        deadline.check()
        other, other_error = (cells, error) if double else (single, single_error)
        count = cells.values.size + other.values.size + often
        cells = _added(cells, other, spread)
        error = (1 + error) * (1 + other_error) * (1 + _WEIGHT_ERROR + (count + 16) * ULP) - 1
    law = contracted(cells.masses[:, 0], cells.masses[:, often])
    return curve_on_side(law, error, Bound.UPPER)


def _added(one: _Cells, other: _Cells, spread: _Map) -> _Cells:
    """The steps of both: every pair of cells meets, and its masses go to the cell of the sum."""
    often = one.masses.shape[1] - 1
    total = np.add.outer(one.values, other.values)
    place = _places(spread(total), one, other)
    # Row by row, masses of the others that meet in a cell, then every number of participations.
    start = np.maximum(np.subtract.outer(np.arange(often + 1), np.arange(often + 1)).T, 0)
    shares = np.take_along_axis(_shares(one.steps, other.steps, often).T, start, axis=0)
    masses, values = np.zeros((2, int(place.max()) + 1, often + 1))
    for row, at in enumerate(place):
        firsts = np.flatnonzero(np.diff(at, prepend=-1))
        met = np.add.reduceat(other.masses, firsts, axis=0)
        masses[at[firsts]] += met @ np.triu(shares * one.masses[row][start])
        weighted = np.add.reduceat(total[row] * other.masses[:, 0], firsts)
        values[at[firsts], 0] += one.masses[row, 0] * weighted
    # Cells that a double hardly holds are never flagged.
    kept = masses[:, 0] > _FAINTEST
    means = values[kept, 0] / masses[kept, 0]
    return _Cells(means, masses[kept], one.steps + other.steps)


def _places(sums: Array, one: _Cells, other: _Cells) -> NDArray[np.intp]:
    """The number of the cell of each sum, rising along rows."""
    weights = np.multiply.outer(one.masses[:, 0], other.masses[:, 0])
    ends = (cells.masses[:, min(cells.steps, cells.masses.shape[1] - 1)] for cells in (one, other))
    weights = weights + np.multiply.outer(*ends)
    weights /= weights.sum()
    centre = float(np.sum(weights * sums))
    scale = _EVEN * math.sqrt(float(np.sum(weights * (sums - centre) ** 2)))
    cells = np.floor(np.arcsinh((sums - centre) / scale) * (_EVEN / _CELL)).astype(np.intp)
    return np.maximum.accumulate(cells - cells.min(), axis=1)  # whatever rounding does


def _shares(first: int, second: int, often: int) -> Array:
    """How likely i of j participations are to be among the first steps: row j, column i."""
    shares = np.zeros((often + 1, often + 1))
    for j in range(min(often, first + second) + 1):
        i = np.arange(max(0, j - second), min(j, first) + 1)
        ratios = np.log((first - i[:-1]) * (j - i[:-1])) - np.log(i[1:] * (second - j + i[1:]))
        logs = np.concatenate([[0.0], np.cumsum(ratios)])
        weights = np.exp(logs - logs.max())
        shares[j, i] = weights / weights.sum()
    return shares
