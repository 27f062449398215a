"""Connect the dots: one step's privacy loss discretised on a grid, pessimistic and optimistic.

A piece holds the outcomes whose losses lie between two neighbouring multiples of mesh/2, with
their masses under h0 and h1 and how wrong each may be. Two grids come from the same pieces:

- `DiscretisedLoss.stronger` sends each piece to the two grid losses around it so that both its
  masses are kept: telling the attacker which only helps. Rounding moves mass up: under h1 the
  losses then dominate those of a pair that is at least as easy to tell apart, which is all that
  δ needs.
- `DiscretisedLoss.rounded` is an attacker who rounds each step's loss to the nearest grid point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import hull
from tellapart._numeric.convolution import MOST_POINTS, GridMasses
from tellapart._numeric.safe import log_ratio
from tellapart.curve.atomic import AtomicCurve, from_atoms, from_corners
from tellapart.curve.base import Bound
from tellapart.curve.composition.loss_laws import AtomicLoss, LossLaw, Swapped
from tellapart.errors import NotCertified

_U = 2.0**-53
Index = NDArray[np.int64]


@dataclass(frozen=True)
class DiscretisedLoss:
    """The outcomes of one step by half cells: piece k has losses in [k, k + 1]·mesh/2.

    ``outside`` has four bounds on mass beyond the pieces: h0 and h1 below, h0 and h1 above.
    ``slip`` bounds how far rounding may have moved a loss.
    """

    mesh: float
    half: Index
    absent: Array
    present: Array
    absent_error: Array
    present_error: Array
    outside: tuple[float, float, float, float]
    slip: float

    def reflected(self) -> DiscretisedLoss:
        """The same step with the hypotheses exchanged."""
        below, below_present, above, above_present = self.outside
        return DiscretisedLoss(
            self.mesh,
            -self.half[::-1] - 1,
            self.present[::-1],
            self.absent[::-1],
            self.present_error[::-1],
            self.absent_error[::-1],
            (above_present, above, below_present, below),
            self.slip,
        )

    def stronger(self, count: int) -> tuple[GridMasses, float]:
        """Masses under h1 of a step that leaks no less, and what counts as fully revealing."""
        cell = self.half // 2
        low = cell * self.mesh
        most = self.present + self.present_error
        with np.errstate(all="ignore"):
            mean = log_ratio(most, np.maximum(self.absent - self.absent_error, 0.0))
            ahead = mean - low + 16 * _U * (1 + np.abs(low))
            ahead = np.where(np.isnan(ahead), self.mesh, np.clip(ahead, 0.0, self.mesh))
        up = np.minimum(most * np.expm1(-ahead) / math.expm1(-self.mesh) * (1 + 8 * _U), most)
        first, size = self._grid(cell, cell + 1)
        masses = np.bincount(cell - first, most - up, size)
        masses += np.bincount(cell + 1 - first, up, size)
        masses[0] += self.outside[1]  # what lies below is moved up to the grid
        whole = np.asarray(masses * self._sums_up(), dtype=float)
        return GridMasses(first, whole, count), count * self.outside[3]

    def rounded(self, count: int) -> tuple[GridMasses, GridMasses]:
        """Masses of the rounded loss: under h0 no less, under h1 no more than they are."""
        nearest = (self.half + 1) // 2
        # Losses so large that h0 hardly has them: the attacker takes them all for the first one.
        rest = np.cumsum(self.absent[::-1])[::-1] + self.outside[2]
        nearest = np.minimum(nearest, nearest[max(int(np.count_nonzero(rest > 1e-285)) - 1, 0)])
        first, size = self._grid(nearest, nearest)
        most = self.absent + self.absent_error
        least = np.maximum(self.present - self.present_error, 0.0)
        absent = np.bincount(nearest - first, most, size)
        absent[0] += self.outside[0]
        absent[-1] += self.outside[2]
        present = np.bincount(nearest - first, least, size)
        up = self._sums_up()
        masses = (np.asarray(column, dtype=float) for column in (absent * up, present / up))
        most_absent, least_present = (GridMasses(first, column, count) for column in masses)
        return most_absent, least_present

    def _grid(self, low: Index, high: Index) -> tuple[int, int]:
        first, last = int(low.min()), int(high.max())
        if not last - first < MOST_POINTS:
            raise _too_long()
        return first, last - first + 1

    def _sums_up(self) -> float:
        """What the rounding of the sums over pieces can amount to."""
        return 1 + _U * (16 + 2 * int(np.bincount(self.half - self.half.min()).max()))


def discretised(law: LossLaw, mesh: float, tail: float) -> DiscretisedLoss:
    """The pieces of a step; beyond them lies less than ``tail`` on either side."""
    if isinstance(law, Swapped):
        return discretised(law.law, mesh, tail).reflected()
    if isinstance(law, AtomicLoss):
        return _from_atoms(law, mesh, tail)
    first, last = _ends(law, mesh, tail)
    edges = np.arange(2 * first, 2 * last + 1, dtype=np.int64)
    fpr, tpr, fnr, tnr = law.rates(np.asarray(edges * (mesh / 2), dtype=float))
    rough = 32 * _U * (1 + math.sqrt(law.size) / 8)
    absent, absent_error = _differences(fpr, tnr, rough)
    present, present_error = _differences(tpr, fnr, rough)
    ends = np.array([tnr[0], fnr[0], fpr[-1], tpr[-1]])
    below, below_present, above, above_present = (ends + _error(ends, rough)).tolist()
    outside = (below, below_present, above, above_present)
    slip = _slip(law, mesh * max(abs(first), abs(last)))
    errors = absent_error, present_error
    return DiscretisedLoss(mesh, edges[:-1], absent, present, *errors, outside, slip)


def _from_atoms(law: AtomicLoss, mesh: float, tail: float) -> DiscretisedLoss:
    """All atoms; where the rarest, less than ``tail`` on either side, reach far, without them."""
    order = np.argsort(law.losses, kind="stable")
    losses, absent, present = law.losses[order], law.absent[order], law.present[order]
    first = int(np.count_nonzero(np.cumsum(absent) < tail / 2))
    last = losses.size - int(np.count_nonzero(np.cumsum(present[::-1]) < tail / 2))
    if losses[last - 1] - losses[first] < (losses[-1] - losses[0]) / 4:
        ends = [
            x[part].sum() for part in (slice(first), slice(last, None)) for x in (absent, present)
        ]
        below, below_present, above, above_present = (float(x) * (1 + 1e-9) for x in ends)
        inner = AtomicLoss(losses[first:last], absent[first:last])
        outside = below, below_present, above, above_present
        return replace(_from_atoms(inner, mesh, 0.0), outside=outside)
    half = np.floor(law.losses / (mesh / 2)).astype(np.int64)
    order = np.argsort(half, kind="stable")
    wrong = 4 * _U * (4 + np.abs(law.losses[order]))
    absent, present = law.absent[order], law.present[order]
    slip = _slip(law, law.size)
    none = (0.0, 0.0, 0.0, 0.0)
    return DiscretisedLoss(
        mesh, half[order], absent, present, wrong * absent, wrong * present, none, slip
    )


def _slip(law: LossLaw, reach: float) -> float:
    return 32 * _U * (1 + reach + law.size)


def _differences(above: Array, below: Array, rough: float) -> tuple[Array, Array]:
    """Masses between neighbouring thresholds, from whichever tail is smaller, and their errors."""
    from_above = above[:-1] <= below[1:]
    more = np.where(from_above, above[:-1], below[1:])
    less = np.where(from_above, above[1:], below[:-1])
    return np.maximum(more - less, 0.0), _error(more, rough) + _error(less, rough)


def _error(rate: Array, rough: float) -> Array:
    with np.errstate(all="ignore"):
        part = np.where(rate > 0, rough * rate * (1 - np.log(rate)), 0.0)
    return np.asarray(part + 1e-305 * (rate < 1e-290))


def _reach(law: LossLaw, tail: float) -> tuple[float, float]:
    """Losses between which all lie, but for less than ``tail`` on either side."""
    deviation = math.sqrt(float(law.cumulants(np.array([0.5])).variance[0]))
    away = deviation * np.geomspace(1e-2, 1e7, 400)
    with np.errstate(all="ignore"):
        beyond, before = law.rates(away)[1], law.rates(-away)[3]
    if not (beyond[-1] <= tail and before[-1] <= tail):
        raise NotCertified("the losses of a step reach too far for a grid")
    top = min(float(away[int(np.argmax(beyond <= tail))]), law.largest)
    bottom = max(-float(away[int(np.argmax(before <= tail))]), law.least)
    return bottom, top


def _ends(law: LossLaw, mesh: float, tail: float) -> tuple[int, int]:
    bottom, top = _reach(law, tail)
    if not (top - bottom) / mesh < MOST_POINTS:
        raise _too_long()
    return math.floor(bottom / mesh) - 1, math.ceil(top / mesh) + 1


def _too_long() -> NotCertified:
    return NotCertified(f"the losses of a step need more than {MOST_POINTS} grid points")


def sketched(law: LossLaw, tail: float) -> tuple[Array, Array]:
    """Some losses and about how likely each is under h1, finest near 0: a guide, not a bound."""
    bottom, top = _reach(law, tail)
    away = max(-bottom, top) * np.geomspace(1e-6, 1.0, 1000)
    edges = np.concatenate([[bottom - 1e-9], -away[::-1], [0.0], away])
    edges = edges[(edges >= bottom - 1e-9) & (edges <= top)]
    fpr, tpr, fnr, tnr = law.rates(np.append(edges, top))
    absent, _ = _differences(fpr, tnr, 0.0)
    present, _ = _differences(tpr, fnr, 0.0)
    kept = (absent > 0) & (present > 0)
    return log_ratio(present[kept], absent[kept]), present[kept]


Points = tuple[Array, Array]


def from_two_profiles(epsilons: Array, ahead: Array, back: Array) -> AtomicCurve:
    """The most that lines 1 − δ − e^ε·α allow, and the same lines of the mirrored test.

    ε ≥ 0 for both. Each line holds on its own, so that leaving one out only helps an attacker.
    """
    # δ(0) is the same for both: it is the largest advantage.
    ahead, back = (np.where(epsilons == 0, np.minimum(ahead, back), x) for x in (ahead, back))
    left, right = _Envelope(epsilons, ahead), _Envelope(epsilons, back)
    while True:
        deadline.check()
        (e, d), (f, g) = left.last(), right.last()
        both = -math.expm1(-e - f)
        if both > 0:
            # 1 − d − e^−f·(1 − g) and its mirror, by what they lack: small ε leave no digits else.
            fpr = (g * math.exp(-f) - math.expm1(-f) - d) * math.exp(-e) / both
            fnr = (d * math.exp(-e) - math.expm1(-e) - g) * math.exp(-f) / both
        else:  # both are the line α + β = 1 − δ: meet half-way
            height = 1 - min(d, g)
            fpr = (height + left.reached_fpr() - right.reached_fpr()) / 2
            fnr = height - fpr
        if fpr < left.reached_fpr() and left.drop():
            continue
        if fnr < right.reached_fpr() and right.drop():
            continue
        break
    if fpr < 0:  # lines of the mirrored test lie above all others
        return right.alone()._mirrored()
    if fnr < 0:
        return left.alone()
    absent, present = left.masses(1 - fnr)
    other_present, other_absent = right.masses(1 - fpr)
    losses = np.concatenate([[np.inf], left.slopes(), -right.slopes()[::-1], [-np.inf]])
    return from_atoms(
        losses,
        np.concatenate([absent, other_absent[::-1]]),
        np.concatenate([present, other_present[::-1]]),
        Bound.LOWER,
    )


class _Envelope:
    """Lines, steepest first, that make up a maximum, and TPR where each hands over to the next."""

    def __init__(self, epsilons: Array, deltas: Array) -> None:
        active, _ = hull.active_lines(epsilons, deltas)
        e, d = epsilons[active], deltas[active]
        with np.errstate(over="ignore"):
            corners = d[:-1] + np.diff(d) / -np.expm1(np.diff(e))
            feet = np.exp(np.log(np.diff(d)) - np.log(-np.expm1(np.diff(e))) - e[:-1])
        self._e, self._d = e.tolist(), d.tolist()
        self._tpr, self._fpr = corners.tolist(), feet.tolist()

    def last(self) -> tuple[float, float]:
        return self._e[-1], self._d[-1]

    def reached_fpr(self) -> float:
        return float(self._fpr[-1]) if self._fpr else 0.0

    def drop(self) -> bool:
        """Leave out the flattest line, unless it is the only one."""
        if not self._fpr:
            return False
        for column in (self._e, self._d, self._tpr, self._fpr):
            column.pop()
        return True

    def slopes(self) -> Array:
        return np.array(self._e)

    def alone(self) -> AtomicCurve:
        """The curve along these lines up to TPR = 1; what is left then only h0 can show."""
        while self._tpr and self._tpr[-1] >= 1:
            self.drop()
        absent, present = self.masses(1.0)
        losses = np.concatenate([[np.inf], self.slopes(), [-np.inf]])
        rest = max(1 - float(absent.sum()), 0.0)
        return from_atoms(losses, np.append(absent, rest), np.append(present, 0.0), Bound.LOWER)

    def masses(self, end: float) -> tuple[Array, Array]:
        """Masses of what is fully revealing and of each line up to TPR = end: h0, h1."""
        corners = np.array([self._d[0], *self._tpr, max(end, *self._tpr, self._d[0])])
        present = np.maximum(np.diff(corners), 0.0)
        absent = present * np.exp(-self.slopes())
        return np.concatenate([[0.0], absent]), np.concatenate([[self._d[0]], present])


def from_points_of_two(ahead: Points, back: Points) -> AtomicCurve:
    """The hull of attacks: (FPR, TPR) of one order, and those of the other, mirrored."""
    fpr, tpr = ahead
    fnr, tnr = back
    ends = np.array([0.0, 1.0])
    kept = np.concatenate([[True, True], tpr > fpr, tnr > fnr])
    return from_corners(
        np.concatenate([ends, fpr, 1 - tnr])[kept],
        np.concatenate([ends, tpr, 1 - fnr])[kept],
        np.concatenate([1 - ends, 1 - tpr, fnr])[kept],
        np.concatenate([1 - ends, 1 - fpr, tnr])[kept],
        Bound.UPPER,
    )
