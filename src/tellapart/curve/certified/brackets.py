"""Certified brackets of privacy loss distributions (PLD): curves on both sides of a composition.

δ(ε) is the mean of (1 − e^(ε − loss))⁺ under h1. From above it comes from losses that rounding
only raised (`Pieces.stronger`), from below from an attacker who rounds losses and adds them up
(`Pieces.rounded`), whose rates are tails of sums. Sums come with their errors (`convolve.Sum`),
which are charged to δ, to FPR upwards and to TPR downwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.convolution import GridMasses, TiltedSum, composed
from tellapart._numeric.text import short
from tellapart.curve.algebra import worst_case
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified.discretise import (
    DiscretisedLoss,
    discretised,
    from_points_of_two,
    from_two_profiles,
)
from tellapart.curve.certified.tilts import Guide
from tellapart.curve.composition.compose import Losses, together, total_finite_mass
from tellapart.curve.composition.infinite_loss import with_infinite_loss
from tellapart.curve.composition.loss_laws import AtomicLoss, LossLaw, Swapped
from tellapart.curve.gdp import least_mu
from tellapart.curve.guarantees import nothing, profile_lines
from tellapart.errors import NotCertified

Steps = Sequence[tuple[LossLaw, int]]

_ROUNDS = 6
# Beyond this ε the attacks have FPRs that no double holds: a finer mesh shows none that is better.
_BEYOND = 670.0
# How often, and by how many grid points, one looks closer at the asked δ.
_CLOSER = 3
_STRIDES = 40
# Of a tilted sum, e^−14 of the gap may lie outside the window.
_WINDOW = 14.0
# Room for the rounding of the polygons made of lines and points.
_ROOM = 1e-12
# Where the sides of a bracket are compared before it is handed out, and digits that a reading has.
_COMPARED = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
_DIGITS = 1e-13


class Bracket(NamedTuple):
    """What the best attacker can surely do, and what no attacker can do: the truth is between.

    ε lies between ``upper.epsilon(delta)`` and ``lower.epsilon(delta)``, as do all other numbers:
    ``lower`` and ``upper`` are sides of the curve, and the lower the curve, the more it leaks.
    """

    lower: TradeoffCurve
    upper: TradeoffCurve

    @property
    def one_sided(self) -> bool:
        """Whether no attacker is known, so that ``upper`` says nothing: steps are a guarantee."""
        return False

    def gdp(self, at_least: float = 1e-6) -> tuple[float, float]:
        """Between which two numbers the μ of Gaussian DP surely lies, from a least FPR and FNR on.

        The larger is that of ``lower.gdp(at_least)``, which is what to claim.

        >>> import tellapart as ta
        >>> low, high = ta.dp_sgd(1.0, 0.01, 1_000).bracket().gdp(at_least=1e-3)
        >>> round(low, 4), round(high, 4)
        (0.4437, 0.4439)
        """
        most = self.lower.gdp(at_least).mu
        return least_mu(self.upper, at_least), most


class OneSidedBound(Bracket):
    """What no attacker can do, by a guarantee of the steps; that any attacker does it, none says.

    ``upper`` is the curve of no leak at all.
    """

    __slots__ = ()

    @property
    def one_sided(self) -> bool:
        """Always: no attacker is known."""
        return True

    def __repr__(self) -> str:
        nobody = "no attacker is known (steps known by a guarantee alone)"
        return f"Bracket(lower={self.lower!r}, upper: {nobody})"


@dataclass(frozen=True)
class Ordered:
    """One order of all steps on a grid: bounds on what any attacker, and some attacker, does."""

    pieces: tuple[tuple[DiscretisedLoss, int], ...]
    mesh: float
    tilts: tuple[float, ...]
    delta: float
    gap: float

    @cached_property
    def _leaks(self) -> tuple[list[TiltedSum], float]:
        stronger = [piece.stronger(count) for piece, count in self.pieces]
        parts, revealed = zip(*stronger, strict=True)
        return [self._sum(parts, tilt) for tilt in self.tilts], sum(revealed)

    @cached_property
    def _attacks(self) -> list[tuple[TiltedSum, TiltedSum]]:
        absent, present = zip(*(piece.rounded(n) for piece, n in self.pieces), strict=True)
        return [(self._sum(absent, tilt + 1), self._sum(present, tilt)) for tilt in self.tilts]

    def _sum(self, parts: Sequence[GridMasses], tilt: float) -> TiltedSum:
        """What is left out of the window costs far less than the gap."""
        return composed(parts, self.mesh, tilt, outside=_WINDOW - math.log(min(self.gap, 1.0)))

    def slip(self) -> float:
        """How far rounding may have moved the sum of the losses."""
        return sum(count * piece.slip for piece, count in self.pieces) * (1 + 1e-9)

    def grid(self) -> Array:
        """Grid points where δ is worth knowing, all of them near the asked one."""
        rough = _around(self._leaks[0])
        at = np.unique(np.append(rough[rough >= 0], 0.0))
        for _ in range(_CLOSER):
            k = int(np.count_nonzero(self.most_delta(at) > self.delta))
            near = _between(at, k - 1, k)
            at = np.union1d(at, near[near >= 0])
        return at

    def points(self) -> tuple[Array, Array]:
        """FPR and TPR of attacks of all sizes, all of them near the best at the asked δ."""
        at = np.unique(_around([attack for _, attack in self._attacks]))
        for _ in range(_CLOSER):
            fpr, tpr = self.attacks(at)
            with np.errstate(all="ignore"):
                shown = np.log(np.maximum(tpr - self.delta, 0.0)) - np.log(fpr)
            best = int(np.argmax(np.where(np.isnan(shown), -np.inf, shown)))
            at = np.union1d(at, _between(at, best - 1, best + 1))
        return self.attacks(at)

    def most_delta(self, at: Array) -> Array:
        """δ at these multiples of the mesh (plus the slip), from above."""
        sums, revealed = self._leaks
        with np.errstate(all="ignore"):
            delta = np.min([total.most_excess(at) for total in sums], axis=0) + revealed
        return np.minimum(np.where(np.isnan(delta), 1.0, delta) * (1 + _ROOM), 1.0)

    def attacks(self, at: Array) -> tuple[Array, Array]:
        """FPR from above and TPR from below of flagging where the rounded loss exceeds these."""
        with np.errstate(all="ignore"):
            fpr = np.min([absent.most_above(at) for absent, _ in self._attacks], axis=0)
            tpr = np.max([present.least_above(at) for _, present in self._attacks], axis=0)
        fpr, tpr = np.where(np.isnan(fpr), 1.0, fpr), np.where(np.isnan(tpr), 0.0, tpr)
        return np.minimum(fpr * (1 + _ROOM), 1.0), np.minimum(tpr * (1 - _ROOM), 1.0)


def _around(sums: Sequence[TiltedSum]) -> Array:
    """Grid points about the bulk of some sums."""
    rows = [np.rint(total.mean + total.spread * np.linspace(-8.0, 8.0, 401)) for total in sums]
    return np.concatenate(rows)


def _between(grid: Array, first: int, last: int) -> Array:
    """All grid points between two of those given, but for a stride where they are many."""
    low, high = (float(grid[min(max(k, 0), grid.size - 1)]) for k in (first, last))
    return np.arange(low - 2, high + 3, max(1, math.ceil((high - low) / _STRIDES)))


def bracketed_losses(losses: Losses, delta: float, gap: float, ordered: bool) -> Bracket:
    """As `bracketed`, for steps some of which may reveal all: both curves are wrapped alike."""
    finite_mass = total_finite_mass(losses)
    if finite_mass.shift and not ordered:
        swapped = tuple((loss.swapped(), count) for loss, count in losses)
        orders = [bracketed_losses(each, delta, gap, ordered=True) for each in (losses, swapped)]
        return _in_order(_either(*orders), delta)
    sure = finite_mass.delta_infinity[1]
    if not delta > sure:
        _checks.refuse("delta", f"exceed {short(sure)}, the chance that all is revealed", delta)
    # What is left of δ, and of a gap that is relative to an ε which the shift may lower.
    left, width = (delta - sure) / math.exp(finite_mass.present), gap / (1 + abs(finite_mass.shift))
    steps = [(loss.law, count) for loss, count in losses]
    lower, upper = bracketed(steps, min(left, 1 - 1e-16), width, ordered)
    return _in_order(
        Bracket(with_infinite_loss(lower, finite_mass), with_infinite_loss(upper, finite_mass)),
        delta,
    )


def _in_order(bracket: Bracket, delta: float) -> Bracket:
    """The bracket, if what some attacker does is nowhere seen to exceed what any attacker can."""
    lower, upper = bracket
    deltas = np.append(_COMPARED, delta)
    leaks = upper.epsilon(deltas) > lower.epsilon(deltas) * (1 + _ROOM) + _DIGITS
    misses = lower.beta(_COMPARED) > upper.beta(_COMPARED) + _DIGITS
    if leaks.any() or misses.any():
        raise RuntimeError(
            f"the two sides of a bracket at δ = {short(delta)} contradict each other, so "
            "at least one "
            "is wrong and neither is given; this is a fault of tellapart, please report it"
        )
    return bracket


def _either(ahead: Bracket, back: Bracket) -> Bracket:
    """Around both orders, from a bracket of each in its own order."""
    lower = [bracket.lower for bracket in (ahead, back)]
    ends = [curve._largest_loss() for curve in lower]
    lines = [
        curve.losses[np.isfinite(curve.losses)] for curve in lower if isinstance(curve, AtomicCurve)
    ]
    epsilons = np.unique(np.maximum(np.concatenate([*lines, ends]), 0.0))
    deltas = np.minimum(
        np.max([curve.delta(epsilons) for curve in lower], axis=0) * (1 + _ROOM), 1.0
    )
    attacks = [ahead.upper, back.upper]
    return Bracket(
        profile_lines(epsilons, deltas),
        worst_case([*attacks, *(curve.mirrored() for curve in attacks)]),
    )


def bracketed(steps: Steps, delta: float, gap: float, ordered: bool) -> Bracket:
    """Curves on both sides of all steps together, at most gap·max(1, ε) apart in ε at this δ.

    ``ordered``: for h1 = present only; otherwise for whichever order is worse.
    """
    steps = together(steps)
    if not steps:
        return Bracket(nothing(Bound.LOWER), nothing(Bound.UPPER))
    tail = min(1e-20, 1e-5 * delta * gap) / sum(count for _, count in steps)
    guides = [Guide(steps, delta, tail)]
    if not all(law.swapped() is law for law, _ in steps):
        guides.append(Guide([(law.swapped(), count) for law, count in steps], delta, tail))
    binding = guides[0] if ordered else max(guides, key=lambda guide: guide.epsilon)
    mesh, lattice = _aligned(steps, binding.mesh(gap))
    largest = [math.fsum(n * law.largest for law, n in steps)]
    largest.append(-math.fsum(n * law.least for law, n in steps))
    for turn in range(_ROUNDS):
        deadline.check()
        pieces = tuple((discretised(law, mesh, tail), count) for law, count in steps)
        reflected = tuple((step.reflected(), count) for step, count in pieces)
        orders = [
            Ordered(each, mesh, tuple({min(tilt, 20 / mesh) for tilt in guide.tilts}), delta, gap)
            for each, guide in zip((pieces, reflected), guides, strict=False)
        ]
        bracket = _curves(orders, ordered, largest)
        most, least = (float(curve.epsilon(delta)) for curve in bracket)
        allowed = gap * max(1.0, least)
        if most - least <= allowed:
            return bracket
        if least > _BEYOND:
            break
        if turn or most - least > 2 * allowed:  # a near miss asks for a finer mesh alone
            for guide in guides:
                guide.learn(most, least)
        if lattice:
            mesh /= 4
            continue
        better = 0.95 * math.sqrt(allowed / (most - least)) if math.isfinite(most) else 0.25
        mesh, lattice = _aligned(steps, mesh * min(max(better, 0.2), 0.95))
    raise NotCertified(
        f"a bracket of width {short(gap)}·max(1, ε) at δ = {short(delta)} was not reached; "
        "allow a wider gap"
    )


def _aligned(steps: Steps, mesh: float) -> tuple[float, bool]:
    """A mesh that has the ends of the losses on it, where mass gathers; whether it has it all."""
    laws = [law.law if isinstance(law, Swapped) else law for law, _ in steps]
    if all(isinstance(law, AtomicLoss) for law in laws):
        losses = np.concatenate([law.losses for law in laws if isinstance(law, AtomicLoss)])
        whole = losses / (unit := _common_unit(losses))
        if np.all(np.abs(whole - np.rint(whole)) < 1e-12 * (1 + np.abs(whole))):
            return unit, True
    ends = [(n, end) for law, n in steps for end in (law.largest, -law.least)]
    anchor = max(((n, end) for n, end in ends if 2 * mesh < end < math.inf), default=None)
    return (mesh, False) if anchor is None else (anchor[1] / math.ceil(anchor[1] / mesh), False)


def _common_unit(losses: Array) -> float:
    """What all losses are whole multiples of, if anything: Euclid's algorithm."""
    largest = float(np.abs(losses).max())
    unit = 0.0
    for loss in np.unique(np.abs(losses)).tolist():
        rest = loss
        while rest > 1e-6 * largest:
            unit, rest = rest, unit % rest
    return largest / max(round(largest / unit), 1)


def _curves(orders: list[Ordered], ordered: bool, largest: Sequence[float]) -> Bracket:
    """Lines and points of both orders on one grid; beyond its largest loss an order has δ = 0."""
    grid = np.unique(np.concatenate([order.grid() for order in orders]))
    slip = orders[0].slip()
    # Where all losses may have slipped, δ(ε + slip) is known; at 0 that is δ(0) less the slip.
    epsilons = grid * orders[0].mesh + np.where(grid > 0, slip, 0.0)
    spent = np.where(grid > 0, 0.0, slip)
    tops = np.array([end + slip for end in largest if math.isfinite(end)])
    lines = np.concatenate([epsilons, tops])
    ahead, back = (
        np.where(
            lines >= end + slip,
            0.0,
            np.append(np.minimum(order.most_delta(grid) + spent, 1.0), np.ones(tops.size)),
        )
        for order, end in ((orders[0], largest[0]), (orders[-1], largest[-1]))
    )
    points, mirrored = orders[0].points(), orders[-1].points()
    if not ordered:
        ahead = back = np.maximum(ahead, back)
        both = (np.append(points[0], mirrored[0]), np.append(points[1], mirrored[1]))
        points = mirrored = both
    return Bracket(
        from_two_profiles(lines, ahead, back),
        from_points_of_two(points, mirrored),
    )
