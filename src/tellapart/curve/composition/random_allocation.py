"""Random allocation (balls in bins): Gaussian noise at t steps, a record in exactly one of them.

With the record, the outputs of an epoch are the mixture P = (1/t)·Σ N(μ·e_i, I) against
Q = N(0, I) without it, also where later steps look at earlier outputs (Chua et al. 2024,
"Balls-and-bins sampling for DP-SGD"; Feldman and Shenfeld 2025). The likelihood ratio
S = (1/t)·Σ exp(μ·x_i − μ²/2) is, under Q, a mean of t independent log-normals of mean 1, and

    δ(ε) = E (S − e^ε)⁺ with the record under h1,  E (1 − e^ε·S)⁺ in the other order.

Both are means of convex functions of S, and convex order survives sums of independent terms
(Shaked and Shanthikumar 2007, Theorem 3.A.12). So a law is kept as finitely many ratios, and means
of two laws, formed pair by pair, are put back on a grid

- by a mean-preserving spread, each ratio split between the two nodes around it: leaks no less;
- by a mean-preserving contraction, each cell at its own mean: leaks no more, as whoever merges
  outputs learns no more.

All terms are positive, so every mass has digits of its own, however small; errors are of second
order in the width of the cells. Epochs in which a record takes part in k of t steps stand with
their mechanism, `tellapart.mechanisms.batches.random_allocation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tellapart import deadline
from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, Mask
from tellapart.curve.certified.discretise import from_points_of_two
from tellapart.errors import NotCertified

# What a cell of a log-normal, as a difference of normal tails, may be off by, relatively: the
# tails have an error of some 1e-15 and cells are wider than 1e-3 of a deviation.
CELL_ERROR = 1e-11
ULP = 2.0**-53
# Nodes of the rough run that tells where the laws lie, and how much further the grids reach.
_ROUGH, _FURTHER = 64, 0.05
# Cells widen from this many deviations on, up to so many times their width at the centre.
_EVEN, _WIDEST = 4.0, 2.0
_FAINTEST = 1e-200
# Pairs that are worked on at once, so that they stay in the cache, and the most nodes of a law.
_BLOCK, _MOST = 1 << 15, 20_000


class Law(NamedTuple):
    """Ratios under h0 with their masses, and the mass of h1 beyond the last, that reveals all."""

    ratios: Array
    masses: Array
    revealed: float = 0.0


class _Frame(NamedTuple):
    """Where the logarithm of a ratio lies: its centre, its deviation, and both ends."""

    centre: float
    deviation: float
    low: float
    high: float

    def nodes(self, width: float | None) -> Array:
        """Ratios, ``width`` deviations apart at the centre; without a width a few of them."""
        u = np.concatenate([np.linspace(self.low, self.high, 2_000), self._spread(2_000)])
        u = np.unique(np.clip(u, self.low, self.high))
        z = (u - self.centre) / (_EVEN * self.deviation)
        # In units of the central width: even about the centre, even in the logarithm far out.
        place = _EVEN * np.arcsinh(z) + (u - self.centre) / _WIDEST
        count = _ROUGH if width is None else math.ceil((place[-1] - place[0]) / width)
        if count > _MOST:
            raise NotCertified(f"random allocation needs {count} nodes here; allow a wider gap")
        even = np.linspace(place[0], place[-1], max(count, 8) + 1)
        return np.asarray(np.exp(np.interp(even, place, u)))

    def _spread(self, count: int) -> Array:
        scale = _EVEN * self.deviation
        ends = [math.asinh((end - self.centre) / scale) for end in (self.low, self.high)]
        return self.centre + scale * np.sinh(np.linspace(ends[0], ends[1], count))


@lru_cache(maxsize=64)
def allocated(mu: float, steps: int, width: float, tail: float, side: Bound) -> AtomicCurve:
    """One epoch with shift ``mu`` (sensitivity over σ), h0 = absent, on the named side.

    ``width`` is that of a cell in deviations, and ``tail`` what of either law lies beyond the
    grids; neither decides on which side of the truth the curve lies.
    """
    frames = iter(_frames(mu, steps, tail))
    law, error = _averaged(mu, steps, frames, width, side)
    return curve_on_side(law, error, side)


def _frames(mu: float, steps: int, tail: float) -> list[_Frame]:
    """Where the laws on the way lie, by a rough run; grids there are a matter of speed alone."""
    reach = mu * -float(ndtri(tail))
    frames = [_Frame(0.0, mu * math.hypot(1, mu / 2), -mu * mu / 2 - reach, mu * mu / 2 + reach)]
    single = law = _single(mu, frames[0].nodes(None), Bound.UPPER)
    for share, double in additions(steps):
        ratios, masses = _all_pairs(law, law if double else single, share)
        frames.append(_frame(ratios, masses, tail))
        cells = np.searchsorted(nodes := frames[-1].nodes(None), ratios, side="right")
        law = contracted(*_cells(cells, ratios, masses, nodes.size + 1))
    return frames


def additions(steps: int) -> Iterator[tuple[float, bool]]:
    """From 1 to so many by doubling and adding 1: the share of the law so far, and which it is."""
    count = 1
    for bit in f"{steps:b}"[1:]:
        yield 0.5, True
        count *= 2
        if bit == "1":
            yield count / (count + 1), False
            count += 1


def _frame(ratios: Array, masses: Array, tail: float) -> _Frame:
    order = np.argsort(ratios)
    ratios, masses = ratios[order], masses[order]
    present = masses * ratios
    first = int(np.searchsorted(np.cumsum(masses), tail))
    last = ratios.size - 1 - int(np.searchsorted(np.cumsum(present[::-1]), tail))
    logs, weights = np.log(ratios), masses + present
    centre = float(weights @ logs / weights.sum())
    deviation = math.sqrt(float(weights @ (logs - centre) ** 2 / weights.sum()))
    further = _FURTHER * (logs[last] - logs[first])
    return _Frame(centre, deviation, float(logs[first] - further), float(logs[last] + further))


def _averaged(
    mu: float, steps: int, frames: Iterator[_Frame], width: float, side: Bound
) -> tuple[Law, float]:
    """The law of the mean of so many ratios, and how far off its masses may be, relatively."""
    single = law = _single(mu, next(frames).nodes(width), side)
    single_error = error = CELL_ERROR
    for share, double in additions(steps):
        deadline.check()
        other, other_error = (law, error) if double else (single, single_error)
        nodes = next(frames).nodes(width)
        cells, terms = _paired(law, other, share, nodes)
        # Factors, product, and a sum of so many positive terms.
        error = (1 + error) * (1 + other_error) * (1 + (terms + 8) * ULP) - 1
        kept = share * law.revealed + (1 - share) * other.revealed
        law = _put(nodes, *cells, side)
        law = law._replace(revealed=law.revealed + kept)
    return law, error


def _single(mu: float, nodes: Array, side: Bound) -> Law:
    """One step's log-normal, its cells as differences of tails from whichever end is near."""
    z = np.log(nodes) / mu + mu / 2
    return _put(nodes, normal_cells(z), normal_cells(z - mu), side)


def normal_cells(z: Array) -> Array:
    """Normal masses below the first edge, between edges and above the last, each with digits."""
    below = np.concatenate([[0.0], ndtr(z), [1.0]])
    above = np.concatenate([[1.0], ndtr(-z), [0.0]])
    right = np.concatenate([[-np.inf], z]) > 0
    return np.asarray(np.where(right, above[:-1] - above[1:], below[1:] - below[:-1]))


def _paired(law: Law, other: Law, share: float, nodes: Array) -> tuple[tuple[Array, Array], int]:
    """Masses of both worlds in each cell, of the mean of two laws, and most terms in a cell."""
    absent, present, terms = (np.zeros(nodes.size + 1) for _ in range(3))
    near, far = law.ratios * share, other.ratios * (1 - share)
    rows = max(1, _BLOCK // far.size)
    for first in range(0, near.size, rows):
        block = slice(first, first + rows)
        # Of a law with itself pairs come twice, but for those within the block.
        start = first if law is other else 0
        ratios = np.add.outer(near[block], far[start:]).ravel()
        twice = other.masses[start:].copy()
        if law is other:
            twice[rows:] *= 2
        masses = np.multiply.outer(law.masses[block], twice).ravel()
        cells = np.searchsorted(nodes, ratios, side="right")
        each = _cells(cells, ratios, masses, terms.size)
        absent += each[0]
        present += each[1]
        terms += np.bincount(cells, minlength=terms.size)
    return (absent, present), int(terms.max())


def _all_pairs(law: Law, other: Law, share: float) -> tuple[Array, Array]:
    ratios = np.add.outer(law.ratios * share, other.ratios * (1 - share)).ravel()
    return ratios, np.multiply.outer(law.masses, other.masses).ravel()


def _cells(
    cells: NDArray[np.intp], ratios: Array, masses: Array, count: int
) -> tuple[Array, Array]:
    """Masses of h0 and of h1 (ratio times mass) in each cell, by its number."""
    absent, present = (np.bincount(cells, mass, count) for mass in (masses, masses * ratios))
    return absent.astype(float), present.astype(float)


def _put(nodes: Array, absent: Array, present: Array, side: Bound) -> Law:
    """Cells put on a grid: below the first node, between nodes, beyond the last."""
    if side is Bound.UPPER:
        return contracted(absent, present)
    inner, widths = slice(1, -1), np.diff(nodes)
    right = np.clip((present[inner] - nodes[:-1] * absent[inner]) / widths, 0.0, absent[inner])
    masses = np.zeros(nodes.size + 1)
    masses[1:-1] += absent[inner] - right
    masses[2:] += right
    low = min(present[0] / nodes[0], absent[0])
    masses[:2] += absent[0] - low, low
    masses[-1] += absent[-1]
    beyond = max(float(present[-1] - nodes[-1] * absent[-1]), 0.0)
    return Law(np.concatenate([[0.0], nodes]), masses, beyond)


def contracted(absent: Array, present: Array) -> Law:
    """Each cell at its own mean; cells that a double hardly holds are one cell."""
    faint = np.minimum(absent, present) < _FAINTEST
    absent = np.append(absent[~faint], absent[faint].sum())
    present = np.append(present[~faint], present[faint].sum())
    some = np.minimum(absent, present) > 0
    return Law(present[some] / absent[some], absent[some])


def curve_on_side(law: Law, error: float, side: Bound) -> AtomicCurve:
    """The pair of both worlds' masses, on this side of the truth by at least their relative error.

    From above by the tests that flag the likeliest cells, each with its FPR raised and its TPR
    lowered. From below, raise the masses of h1 and lower those of h0 where h1 is likelier, and the
    other way round where it is not: Σ (p − e^ε·q)⁺ is then no less than with the true masses for
    every ε ≥ 0, in both orders. Totals stay 1.
    """
    ratios, absent = law.ratios, law.masses
    present = absent * ratios
    slack = 2 * error + (16 + ratios.size) * ULP
    if side is Bound.UPPER:
        order = np.argsort(-ratios)
        ahead = _attacks(absent[order], present[order], slack)
        return from_points_of_two(ahead, _attacks(present[order[::-1]], absent[order[::-1]], slack))
    up = ratios >= 1
    revealed = law.revealed * (1 + slack)
    present = _tilted(present, up, slack, 1 - revealed)
    absent = _tilted(absent, ~up, slack, 1.0)
    hidden = ratios > 0
    with np.errstate(all="ignore"):
        losses = np.where(hidden, np.log(present) - np.log(absent), -np.inf)
    return from_atoms(
        np.append(losses, np.inf), np.append(absent, 0.0), np.append(present, revealed), side
    )


def _attacks(absent: Array, present: Array, slack: float) -> tuple[Array, Array]:
    """FPR from above and TPR from below of flagging the first cell, the first two, and so on."""
    fpr, tpr = np.cumsum(absent) * (1 + slack), np.cumsum(present) * (1 - slack)
    return np.minimum(fpr, 1.0), np.minimum(tpr, 1.0)


def _tilted(masses: Array, raised: Mask, slack: float, total: float) -> Array:
    """Masses raised by the slack on one part and scaled on the other so that the total is kept."""
    part = masses[raised] * (1 + slack)
    rest = masses[~raised]
    masses = masses.copy()
    masses[raised] = part
    masses[~raised] = rest * (max(total - float(part.sum()), 0.0) / float(rest.sum()))
    return masses
