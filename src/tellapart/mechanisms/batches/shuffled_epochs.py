"""Shuffled epochs: batches cut from a random order of the records, as most data loaders do.

**An attack.** A record is in one of t batches of equal size, every batch equally likely, and
batches answer with Gaussian noise. No tight bound from above is known; from below there is an
attack. All other records point the other way, so that the batch that takes the record in, and one
of them less, moves by 2μ, and by μ with the record zeroed out (Chua et al. 2024, "How private are
DP-SGD implementations?"):

    P = (1/t)·Σ N(2μ·e_i, I) with the record,  Q = (1/t)·Σ N(μ·e_i, I) with it zeroed out.

Against N = N(0, I) both densities are means over the steps, of A = exp(2μ·x − 2μ²) and of
B = exp(μ·x − μ²/2). So the best test of slope c looks at Σ (A_i − c·B_i), a sum of independent
terms. Here sums are put into cells, pair by pair, and each cell keeps its mass under N, P and Q:
that is a function of the true outputs, whatever the cells, and whoever looks at a function of the
outputs learns no more. The largest x_i is another such function, with masses in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.algebra import worst_case
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.announced import AnnouncedCurve
from tellapart.curve.composition.loss_laws import thinned
from tellapart.curve.composition.random_allocation import (
    CELL_ERROR,
    ULP,
    additions,
    allocated,
    contracted,
    curve_on_side,
    normal_cells,
)
from tellapart.curve.guarantees import nothing
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Sampling
from tellapart.mechanisms.combine import Enclosed, Fineness
from tellapart.mechanisms.noise import Gaussian
from tellapart.neighbours import Neighbours

# Beyond this shift the masses of an attack are not held by doubles.
_LARGEST_SHIFT = 20.0
# Outputs: cells of this width, out to so many deviations beyond the means.
_WIDTH, _REACH = 0.03, 9.0
# Sums: cells of asinh(sum/unit) of this width. The unit is this share of a usual term.
_CELL, _UNIT = 0.06, 0.1
# Pairs that are worked on at once, so that they stay in the cache.
_BLOCK = 1 << 16
# What a cell of the largest output may be off by, relatively: a difference, across a cell, of
# exponentials of at most 700 that have errors of 1e-12.
_LARGEST_ERROR = 1e-9
# Beyond this shift sums do not fit into doubles, and the largest output tells all there is to tell.
_LARGEST_SUMMED_SHIFT = 8.0
_STEEPEST = 300.0


@dataclass(frozen=True, repr=False)
class ShuffledEpoch(Enclosed):
    """An epoch of noisy steps on batches that are cut from one random order of all records.

    Neighbours zero a record out or replace it, so that all others stay where they are. Truly
    removing a record from batches of fixed size would move the others.

    **The curve is a guarantee** (`Bound.LOWER`): given the order of the records, which does not
    depend on their values, both worlds answer alike but for the one step that has the record, and
    that step is a Gaussian answer, whatever came before. So the epoch leaks no more than one
    Gaussian answer, by joint convexity over the orders. A record that falls on none of the steps,
    as an epoch drops its last records or is cut short, moves nothing: with the share ``used``
    of the records that take part, δ(ε) ≤ used·δ of the Gaussian, for every ε ≥ 0. No
    amplification by the random order is claimed: no tight bound is known.

    **The other side of its bracket is an attack** (`Bound.UPPER`). Zeroing out: all other records
    point the other way (Chua et al. 2024). Replacing: one value is that of all the others, which
    point the other way; that is the pair of random allocation. ``last`` is the size of a smaller
    batch after the ``times`` full ones, as a share of one; the attacker does not look at it.

    >>> import tellapart as ta
    >>> step = ta.Gaussian(sigma=1, neighbours=ta.Neighbours.ZERO_OUT)
    >>> epoch = step.shuffled_batches(steps=100)
    >>> most, least = (side.epsilon(delta=1e-5) for side in epoch.bracket(delta=1e-5))
    >>> round(least, 2), round(most, 2)
    (4.07, 4.38)
    """

    base: Gaussian
    times: int
    last: float = 0.0
    used: float = 1.0
    neighbours: Neighbours = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.base, Gaussian):
            raise Unsupported(
                "shuffled batches are accounted for Gaussian noise: "
                f"ta.Gaussian(sigma, ...).shuffled_batches(steps=...), got {self.base!r}"
            )
        if self.base.neighbours is Neighbours.ADD_REMOVE:
            raise Unsupported(
                "shuffled batches are of fixed size, and adding or removing a record would move "
                "others from batch to batch: give the Gaussian neighbours=Neighbours.ZERO_OUT, or "
                "Neighbours.REPLACE and the sensitivity that belongs to it (of clipped sums, "
                "twice the clipping norm)"
            )
        self._set(
            times=_checks.whole(1, 10**9, steps=self.times),
            last=_checks.probability(last=self.last),
            used=_checks.probability(used=self.used),
            neighbours=self.base.neighbours,
        )

    def __repr__(self) -> str:
        last = f", last={self.last!r}" if self.last else ""
        used = f", used={self.used!r}" if self.used < 1 else ""
        return f"{self.base!r}.shuffled_batches(steps={self.times!r}{last}{used})"

    @property
    def closes(self) -> bool:
        """Guarantee and attack do not meet."""
        return False

    @property
    def _shift(self) -> float:
        return self.base.sensitivity / self.base.sigma

    @property
    def _seen(self) -> float:
        """How likely a record is to be in one of the batches of full size."""
        return self.used * self.times / (self.times + self.last)

    def _present_test(self) -> TradeoffCurve:
        if self._shift == 0 or self.used == 0:
            return nothing()
        answer = GaussianCurve(self._shift, Bound.LOWER)
        if self.used == 1:
            return answer
        return AnnouncedCurve(((self.used, answer), (1 - self.used, nothing())))

    def enclosed(self, fineness: Fineness, side: Bound) -> TradeoffCurve:
        """One epoch on this side of the truth: the guarantee, or what attacks reach."""
        if side is Bound.LOWER or self._shift == 0 or self._seen == 0:
            return self._present_test()
        if self._shift > _LARGEST_SHIFT:
            raise NotCertified(
                f"a noise of {short(1 / self._shift, 3)} sensitivities gives no meaningful "
                f"privacy: brackets of shuffled batches begin at {short(1 / _LARGEST_SHIFT)}"
            )
        if self.neighbours is Neighbours.ZERO_OUT:
            return shuffled_attack(self._shift, self.times, self._seen, fineness.delta)
        epoch = allocated(self._shift, self.times, fineness.width, fineness.tail, side)
        return _sometimes(epoch, self._seen)

    def _unsampled(self, scheme: Sampling) -> str:
        return "shuffled batches are those of the whole data: leave .sampled out"


def _sometimes(attack: AtomicCurve, seen: float) -> AtomicCurve:
    """An attack on a record that is seen with some probability, h0 being that it never is."""
    if seen == 1:
        return attack
    present = seen * attack.present + (1 - seen) * attack.absent
    return from_atoms(thinned(attack.losses, seen), attack.absent, present, Bound.UPPER)


class _EpochCells(NamedTuple):
    """Masses of cells under N, and under N times the sum of the A, and of the B."""

    noise: Array
    present: Array
    absent: Array


@lru_cache(maxsize=64)
def shuffled_attack(mu: float, steps: int, seen: float, delta: float) -> TradeoffCurve:
    """What some attackers surely reach in one epoch, h0 = zeroed out: the best of several.

    The record is in one of the steps with probability ``seen``, and else in none that the
    attacker looks at. The curve of P and Q lies below that of each statistic, so below their
    convex envelope, which is therefore the curve of some post-processing of the outputs (Dong,
    Roth and Su 2022, Theorem 2.10, by Blackwell) and composes. It is closest near this δ.
    """
    largest = _curve(_largest(mu, steps), seen, _LARGEST_ERROR)
    if mu > _LARGEST_SUMMED_SHIFT:
        return largest
    ahead, back = (float(curve.epsilon(delta)) for curve in (largest, largest.mirrored()))
    slopes = dict.fromkeys([0.0, min(ahead, _STEEPEST), -min(back, _STEEPEST)])
    sums = (_sums(mu, steps, math.exp(slope)) for slope in slopes)
    return worst_case([largest, *(_curve(cells, seen, error) for cells, error in sums)])


def _curve(cells: _EpochCells, seen: float, error: float) -> AtomicCurve:
    """From above, h0 = zeroed out: both worlds are N where the record is not seen."""
    absent, present = (
        seen * masses + (1 - seen) * cells.noise for masses in (cells.absent, cells.present)
    )
    return curve_on_side(contracted(absent, present), error, Bound.UPPER)


def _largest(mu: float, steps: int) -> _EpochCells:
    """Cells of the largest output: it is below u with probability Φ(u)^(t − 1)·Φ(u − shift)."""
    edges = np.arange(-_REACH, 2 * mu + _REACH, _WIDTH)
    others = (steps - 1) * log_ndtr(edges)

    def cells(shift: float) -> Array:
        logs = others + log_ndtr(edges - shift)
        below = np.concatenate([[0.0], np.exp(logs), [1.0]])
        above = np.concatenate([[1.0], -np.expm1(logs), [0.0]])
        return np.maximum(np.where(below[1:] > 0.5, -np.diff(above), np.diff(below)), 0.0)

    return _EpochCells(cells(0.0), cells(2 * mu), cells(mu))


def _sums(mu: float, steps: int, slope: float) -> tuple[_EpochCells, float]:
    """Cells of Σ (A − slope·B), and how far off their masses may be, relatively."""
    edges = np.arange(-_REACH, 2 * mu + _REACH, _WIDTH)
    middles = np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2, edges[-1:]])
    terms = np.exp(2 * mu * middles - 2 * mu * mu) - slope * np.exp(mu * middles - mu * mu / 2)
    unit = _UNIT * min(slope, 1.0)
    single = values, cells = terms, _EpochCells(*(normal_cells(edges - s) for s in (0, 2 * mu, mu)))
    single_error = error = CELL_ERROR
    for _, double in additions(steps):
        deadline.check()
        other, other_error = ((values, cells), error) if double else (single, single_error)
        values, cells, most = _added((values, cells), other, unit)
        error = (1 + error) * (1 + other_error) * (1 + (most + 8) * ULP) - 1
    return cells._replace(present=cells.present / steps, absent=cells.absent / steps), error


_Sum = tuple[Array, _EpochCells]


def _added(one: _Sum, other: _Sum, unit: float) -> tuple[Array, _EpochCells, int]:
    """The sum of two sums: values and cells, and the most terms that a cell is made of."""
    values, mine = one
    others, theirs = other
    ends = [np.arcsinh((x + y) / unit) for x, y in zip(_ends(values), _ends(others), strict=True)]
    first = math.floor(ends[0] / _CELL)
    count = math.floor(ends[1] / _CELL) - first + 2
    columns, terms = np.zeros((4, count)), np.zeros(count)
    rows = max(1, _BLOCK // others.size)
    for start in range(0, values.size, rows):
        block = slice(start, start + rows)
        total = np.add.outer(values[block], others).ravel()
        place = np.floor(np.arcsinh(total / unit) / _CELL).astype(np.intp) - first
        place = np.clip(place, 0, count - 1)
        noise = np.multiply.outer(mine.noise[block], theirs.noise).ravel()
        weights = [noise, *(_either(mine, theirs, block, k) for k in (1, 2)), noise * total]
        columns += [np.bincount(place, weight, count) for weight in weights]
        terms += np.bincount(place, minlength=count)
    noise, present, absent, mean = columns
    centres = unit * np.sinh((first + np.arange(count) + 0.5) * _CELL)
    kept = (noise > 0) | (present > 0) | (absent > 0)
    with np.errstate(all="ignore"):
        values = np.where(noise > 0, mean / noise, centres)
    cells = _EpochCells(noise[kept], present[kept], absent[kept])
    return values[kept], cells, int(terms.max())


def _ends(values: Array) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _either(mine: _EpochCells, theirs: _EpochCells, block: slice, column: int) -> Array:
    """The mean of a sum over two parts, where each pair of cells meets."""
    here, there = mine[column][block], theirs[column]
    pairs = np.multiply.outer(here, theirs.noise) + np.multiply.outer(mine.noise[block], there)
    return np.asarray(pairs).ravel()
