"""One step on a grid: its outcomes in pieces, from which both sides of a bracket are made.

A piece holds the outcomes whose losses lie between two neighbouring multiples of mesh/2, with
their masses under h0 and h1 and how wrong each may be. Two grids come from the same pieces:

- `Pieces.stronger` sends each piece to the two grid losses around it so that both its masses are
  kept: telling the attacker which only helps. Rounding moves mass up: under h1 the losses then
  dominate those of a pair that is at least as easy to tell apart, which is all that δ needs.
- `Pieces.rounded` is an attacker who rounds the loss of each step to the nearest grid point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart._numeric.convolve import MOST_POINTS, Part
from tellapart._numeric.safe import log_ratio
from tellapart.curve.losses import AtomicLoss, LossLaw, Swapped
from tellapart.errors import NotCertified

_U = 2.0**-53
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Pieces:
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

    def reflected(self) -> Pieces:
        """The same step with the hypotheses exchanged."""
        below, below_present, above, above_present = self.outside
        return Pieces(
            self.mesh,
            -self.half[::-1] - 1,
            self.present[::-1],
            self.absent[::-1],
            self.present_error[::-1],
            self.absent_error[::-1],
            (above_present, above, below_present, below),
            self.slip,
        )

    def stronger(self, count: int) -> tuple[Part, float]:
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
        return Part(first, whole, count), count * self.outside[3]

    def rounded(self, count: int) -> tuple[Part, Part]:
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
        masses = (np.asarray(one, dtype=float) for one in (absent * up, present / up))
        most_absent, least_present = (Part(first, one, count) for one in masses)
        return most_absent, least_present

    def _grid(self, low: Index, high: Index) -> tuple[int, int]:
        first, last = int(low.min()), int(high.max())
        if not last - first < MOST_POINTS:
            raise _too_long()
        return first, last - first + 1

    def _sums_up(self) -> float:
        """What the rounding of the sums over pieces can amount to."""
        return 1 + _U * (16 + 2 * int(np.bincount(self.half - self.half.min()).max()))


def in_pieces(law: LossLaw, mesh: float, tail: float) -> Pieces:
    """The pieces of a step; beyond them lies less than ``tail`` on either side."""
    if isinstance(law, Swapped):
        return in_pieces(law.law, mesh, tail).reflected()
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
    return Pieces(mesh, edges[:-1], absent, present, *errors, outside, slip)


def _from_atoms(law: AtomicLoss, mesh: float, tail: float) -> Pieces:
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
        found = _from_atoms(inner, mesh, 0.0)
        return replace(found, outside=(below, below_present, above, above_present))
    half = np.floor(law.losses / (mesh / 2)).astype(np.int64)
    order = np.argsort(half, kind="stable")
    wrong = 4 * _U * (4 + np.abs(law.losses[order]))
    absent, present = law.absent[order], law.present[order]
    slip = _slip(law, law.size)
    none = (0.0, 0.0, 0.0, 0.0)
    return Pieces(mesh, half[order], absent, present, wrong * absent, wrong * present, none, slip)


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
