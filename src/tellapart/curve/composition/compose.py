"""Composition: from steps to the curve of all, by exact shortcuts or by the contour engine."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart.curve.algebra import worst_case
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, FourRates, TradeoffCurve
from tellapart.curve.certified.discretise import from_two_profiles
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve, LaplaceCurve, LogisticCurve
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.group_privacy import OneStep
from tellapart.curve.composition.infinite_loss import (
    ALL_FINITE,
    FiniteMass,
    InfiniteLossCurve,
    finite_mass_of,
    with_infinite_loss,
)
from tellapart.curve.composition.laplace_convolution import (
    MOST_REPEATED,
    repeated_laplace,
    two_laplace,
)
from tellapart.curve.composition.laplace_loss import BoundedLoss
from tellapart.curve.composition.loss_laws import (
    AtomicLoss,
    GaussianLoss,
    LaplaceLoss,
    LossLaw,
    thinned,
)
from tellapart.curve.composition.moment_bounds import beneath
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss, replaced
from tellapart.curve.discrete_gaussian import DiscreteGaussianCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.truncated_laplace import TruncatedLaplaceCurve
from tellapart.errors import NotCertified, Unsupported

Steps = tuple[tuple[LossLaw, int], ...]

# Compositions of finitely many outcomes with more atoms than this are left to other engines.
_MOST_ATOMS = 300_000
# Masses below this count as revealing all: composed, they would underflow.
_FAINTEST = 1e-290
_STEEPEST = 660.0
# A step known by its curve alone: how many lines of its profile stand for it, what is left beyond
# the steepest, and room for the rounding of each.
_LINES, _EVENLY, _FLATTEST = 500, np.linspace(0.0, 1.0, 2_000), 1e-9
_LEFT = (1e-28, 1e-24, 1e-20, 1e-16)
_ROOM = 1e-8
# The widest discrete Gaussian whose outputs are listed; lines of its profile stand for a wider one.
_WIDEST = 1e4


class PrivacyLoss(NamedTuple):
    """One step: the law of its finite losses, and how likely it is to show one."""

    law: LossLaw
    finite_mass: FiniteMass = ALL_FINITE

    def swapped(self) -> PrivacyLoss:
        """The same step with the hypotheses exchanged."""
        return PrivacyLoss(self.law.swapped(), self.finite_mass.swapped())


# The steps of a composition, and how often each is taken.
Losses = tuple[tuple[PrivacyLoss, int], ...]


def privacy_loss_of(curve: TradeoffCurve) -> tuple[PrivacyLoss, Bound]:
    """The step behind one ordered curve, and the side of it; from below by lines of its profile."""
    make = _PARTS.get(type(curve))
    wide = isinstance(curve, DiscreteGaussianCurve) and curve.sigma > _WIDEST
    if make is not None and not wide:
        return make(curve), curve.bound
    return _atoms(_from_profile(curve)), curve.bound if curve.bound is Bound.UPPER else Bound.LOWER


def _from_profile(curve: TradeoffCurve) -> AtomicCurve:
    """A polygon that no attack on the curve crosses, such as a composition's that is then sampled.

    Lines are tangents of the privacy profile in either order, so that each holds on its own.
    """
    orders = curve, curve.mirrored()
    top = max(map(_steepest, orders))
    lines = np.concatenate([[0.0], np.geomspace(1e-7 * top, top, _LINES), top * _EVENLY])
    lines = np.unique(np.minimum(lines, top))
    with np.errstate(all="ignore"):
        profiles = [np.asarray(order._delta(lines)) * (1 + _ROOM) for order in orders]
    return from_two_profiles(lines, *(np.clip(profile, 0.0, 1.0) for profile in profiles))


def _steepest(curve: TradeoffCurve) -> float:
    """Where losses end, or next to nothing is left of them."""
    if math.isfinite(largest := curve._largest_loss()):
        return max(largest, _FLATTEST)
    sure = curve._delta_at_infinity()
    for left in _LEFT:
        with contextlib.suppress(NotCertified, Unsupported), np.errstate(all="ignore"):
            epsilon = float(curve._epsilon(np.asarray(min(sure + left, 0.5))))
            if math.isfinite(epsilon):
                return max(epsilon, _FLATTEST)
    return _STEEPEST


def _atoms(curve: AtomicCurve) -> PrivacyLoss:
    """Losses whose masses a double hardly holds count as revealing, which helps an attacker."""
    both = np.isfinite(curve.losses) & (np.minimum(curve.absent, curve.present) > _FAINTEST)
    if not both.any():
        return PrivacyLoss(_SILENT, FiniteMass(-math.inf, -math.inf))
    finite_mass = finite_mass_of(curve.absent, curve.present, both)
    losses = curve.losses[both] - finite_mass.shift
    return PrivacyLoss(
        AtomicLoss(losses, curve.absent[both] / math.exp(finite_mass.absent)), finite_mass
    )


def _promise(curve: GuaranteeCurve) -> PrivacyLoss:
    """All that (ε, δ) allows is randomised response that reveals all with chance δ."""
    e, d = curve.claimed_epsilon, curve.claimed_delta
    left = math.log1p(-d) if d < 1 else -math.inf
    if e > _STEEPEST:  # the rarer answer is hardly a double: it counts as revealing
        return PrivacyLoss(_SILENT, FiniteMass(-math.inf, -math.inf))
    return PrivacyLoss(
        AtomicLoss(np.array([e, -e]), expit(np.array([-e, e]))), FiniteMass(left, left)
    )


def _cut_off(curve: TruncatedLaplaceCurve) -> PrivacyLoss:
    m, c, leak = curve.shift, curve.cutoff, curve.delta(math.inf)
    left = math.log1p(-leak)
    if m == 0:
        return PrivacyLoss(_SILENT)
    if c <= m:  # no output lies beyond both centres
        return PrivacyLoss(BoundedLoss(2 * c - m, 0.0), FiniteMass(left, left))
    return PrivacyLoss(BoundedLoss(m, -math.expm1(m - c)), FiniteMass(left, left))


_SILENT = AtomicLoss(np.zeros(1), np.ones(1))

_PARTS: dict[type[TradeoffCurve], Callable[[Any], PrivacyLoss]] = {
    GaussianCurve: lambda curve: PrivacyLoss(GaussianLoss(curve.mu)),
    LaplaceCurve: lambda curve: PrivacyLoss(LaplaceLoss(curve.shift)),
    AtomicCurve: _atoms,
    GuaranteeCurve: _promise,
    DiscreteGaussianCurve: lambda curve: _atoms(curve.table()),
    LogisticCurve: lambda curve: PrivacyLoss(
        BoundedLoss(curve.shift, 0.0) if curve.shift else _SILENT
    ),
    TruncatedLaplaceCurve: _cut_off,
    OneStep: lambda curve: PrivacyLoss(curve.law),
}


def subsampled_loss(part: PrivacyLoss, rate: float) -> PrivacyLoss:
    """The step taken on a Poisson sample: h1 is the mixture (1 − rate)·P + rate·Q."""
    if rate == 1:
        return part
    if rate == 0:
        return PrivacyLoss(_SILENT)
    law, finite_mass = part
    if isinstance(law, AtomicLoss):
        return _sampled_atoms(law, finite_mass, rate)
    if isinstance(law, LaplaceLoss):
        law = BoundedLoss(law.shift, 1.0)
    if isinstance(law, BoundedLoss) and law.rate == 1 and not finite_mass.shift:
        leak = finite_mass.delta_infinity[1]
        return PrivacyLoss(
            replace(law, rate=rate, leak=leak), FiniteMass(0.0, math.log1p(-rate * leak))
        )
    if finite_mass != ALL_FINITE:
        raise Unsupported(f"a {type(law).__name__} step that may reveal all cannot be sampled yet")
    if isinstance(law, BoundedLoss):
        return PrivacyLoss(replace(law, rate=law.rate * rate))
    if isinstance(law, GaussianLoss):
        return PrivacyLoss(MixtureLoss(law.mu, (1 - rate, rate)))
    if isinstance(law, MixtureLoss):
        thinner = tuple(rate * weight for weight in law.weights)
        return PrivacyLoss(replace(law, weights=(1 - rate + thinner[0], *thinner[1:])))
    raise Unsupported(f"a {type(law).__name__} step cannot be sampled yet")


def subsampled_replacing(part: PrivacyLoss, rate: float) -> PrivacyLoss:
    """The step on a sample, of any scheme, where neighbours replace a record: for both orders.

    ``part`` must be the same in both orders.
    """
    if rate in (0, 1):
        return subsampled_loss(part, rate)
    law, finite_mass = subsampled_loss(part, rate)
    if isinstance(law, AtomicLoss):
        return _replaced_atoms(law, finite_mass)
    if finite_mass != ALL_FINITE:
        raise Unsupported(f"a {type(law).__name__} step that may reveal all cannot be sampled yet")
    return PrivacyLoss(replaced(law))


def _replaced_atoms(law: AtomicLoss, finite_mass: FiniteMass) -> PrivacyLoss:
    """Losses above 0, their mirror, and the rest at 0; what reveals all does so in both orders."""
    losses, left = law.losses + finite_mass.shift, math.exp(finite_mass.present)
    above = losses > 0
    losses, absent = losses[above], law.absent[above] / left
    present = times_exp(absent, losses)
    still = max(1 - float(absent.sum() + present.sum()), 0.0)
    both = np.concatenate([losses, -losses]), np.concatenate([absent, present])
    if still > 0:
        both = np.append(both[0], 0.0), np.append(both[1], still)
    return PrivacyLoss(AtomicLoss(*both), FiniteMass(finite_mass.present, finite_mass.present))


def _sampled_atoms(law: AtomicLoss, finite_mass: FiniteMass, rate: float) -> PrivacyLoss:
    """What only h0 could show may now be h1 without the record; what only h1 could show remains."""
    a, b = finite_mass.delta_infinity
    left = FiniteMass(0.0, math.log1p(-rate * b))
    absent = law.absent * math.exp(finite_mass.absent)
    seen = absent > 0  # none, where each world shows what only it can
    losses, absent = (
        thinned(law.losses[seen] + finite_mass.shift, rate) - left.present,
        absent[seen],
    )
    if a > 0:
        losses = np.append(losses, math.log1p(-rate) - left.present)
        absent = np.append(absent, a)
    return PrivacyLoss(AtomicLoss(losses, absent), left)


def composed_losses(losses: Losses, bound: Bound) -> TradeoffCurve:
    """The curve of all steps, exact where an engine answers for it, else from below."""
    rest = composed([(loss.law, count) for loss, count in losses], bound)
    curve = with_infinite_loss(rest, total_finite_mass(losses))
    # Sums of losses with atoms, such as a few hundred Laplace steps, jump: no contour smooths that.
    doubt = curve.rest if isinstance(curve, InfiniteLossCurve) else curve
    if isinstance(doubt, ComposedCurve) and not doubt.has_digits:
        return EnclosedCurve(losses)
    return curve


def total_finite_mass(losses: Losses) -> FiniteMass:
    """How likely all steps together are to leave a doubt."""
    absent = math.fsum([count * loss.finite_mass.absent for loss, count in losses])
    present = math.fsum([count * loss.finite_mass.present for loss, count in losses])
    return FiniteMass(absent, present)


@dataclass(frozen=True, repr=False)
class EnclosedCurve(TradeoffCurve):
    """Steps seen together, from below: ε is mostly within 1e-4·max(1, ε), every error counted."""

    parts: Losses
    ordered: bool = True
    bound: ClassVar[Bound] = Bound.LOWER  # type: ignore[misc]
    _accuracy: ClassVar[float] = 1e-5

    @cached_property
    def _polygon(self) -> TradeoffCurve:
        finite_mass, steps = (
            total_finite_mass(self.parts),
            together((loss.law, n) for loss, n in self.parts),
        )
        if self.ordered or not finite_mass.shift:
            return with_infinite_loss(beneath(steps, self.ordered), finite_mass)
        # Each order is normalised by what it reveals for sure.
        ahead = with_infinite_loss(beneath(steps, ordered=True), finite_mass)
        return worst_case([ahead, ahead.mirrored()])

    def _mirrored(self) -> EnclosedCurve:
        if not self.ordered:
            return self
        return EnclosedCurve(tuple((loss.swapped(), count) for loss, count in self.parts))

    def _symmetrised(self) -> EnclosedCurve:
        return EnclosedCurve(self.parts, ordered=False)

    def _rates(self, threshold: Array) -> FourRates:
        return self._polygon._rates(threshold)

    def _largest_loss(self) -> float:
        return self._polygon._largest_loss()

    def _smallest_loss(self) -> float:
        return self._polygon._smallest_loss()

    def _delta_at_infinity(self) -> float:
        return self._polygon._delta_at_infinity()

    def _beta(self, alpha: Array) -> Array:
        return self._polygon._beta(alpha)

    def _tpr(self, fpr: Array) -> Array:
        return self._polygon._tpr(fpr)

    def _delta(self, epsilon: Array) -> Array:
        return self._polygon._delta(epsilon)

    def _epsilon(self, delta: Array) -> Array:
        return self._polygon._epsilon(delta)

    def _area(self) -> float:
        return self._polygon._area()


def composed(steps: Iterable[tuple[LossLaw, int]], bound: Bound = Bound.EXACT) -> TradeoffCurve:
    """The curve of independent (or adaptively chosen) steps, seen together."""
    merged = together(steps)
    if not merged:
        return nothing()
    if len(merged) == 1 and isinstance(merged[0][0], GaussianLoss) and merged[0][1] == 1:
        return GaussianCurve(merged[0][0].mu, bound)
    few = _few_laplace(merged, bound)
    if few is not None:
        return few
    atoms = _all_atoms(merged)
    if atoms is not None:
        return from_atoms(*atoms, bound)
    return ComposedCurve(merged, bound)


def _few_laplace(steps: Steps, bound: Bound) -> TradeoffCurve | None:
    """Laplace steps alone, where they are few enough for a formula."""
    shifts = [law.shift for law, _ in steps if isinstance(law, LaplaceLoss)]
    if len(shifts) != len(steps):
        return None
    counts = [count for _, count in steps]
    if counts == [1]:
        return LaplaceCurve(shifts[0], bound)
    if counts == [1, 1]:
        return two_laplace(shifts[0], shifts[1], bound)
    if len(steps) == 1 and counts[0] <= MOST_REPEATED:
        return repeated_laplace(shifts[0], counts[0], bound)
    return None


def together(steps: Iterable[tuple[LossLaw, int]]) -> Steps:
    """Equal steps counted together, all Gaussian ones as one, what reveals nothing left out."""
    shifts: list[tuple[float, int]] = []
    counts: dict[LossLaw, int] = {}
    for law, count in steps:
        if isinstance(law, GaussianLoss):
            shifts.append((law.mu, count))
        elif law.largest > law.least:
            counts[law] = counts.get(law, 0) + count
    if shifts:
        top = max(mu for mu, _ in shifts)  # so that no square is lost to underflow
        squares = math.fsum(count * (mu / top) ** 2 for mu, count in shifts)
        counts[GaussianLoss(top * math.sqrt(squares))] = 1
    return tuple(counts.items())


def _all_atoms(steps: Steps) -> tuple[Array, Array, Array] | None:
    """Losses and both masses of all outcomes, where they are few enough to list."""
    losses, logs = np.zeros(1), np.zeros(1)
    for law, count in steps:
        if not isinstance(law, AtomicLoss) or (law.losses.size > 4 and count > 1):
            return None
        size = math.comb(count + law.losses.size - 1, law.losses.size - 1)
        if size * losses.size > _MOST_ATOMS:
            return None
        step_losses, step_logs = _power(law, count)
        losses = np.add.outer(losses, step_losses).ravel()
        logs = np.add.outer(logs, step_logs).ravel()
    return losses, np.exp(logs), np.exp(logs + losses)


def _power(law: AtomicLoss, count: int) -> tuple[Array, Array]:
    """All outcomes of a step taken so often, by how often each of its atoms occurs."""
    if count == 1:
        return law.losses, np.log(law.absent)
    counts = _counts(law.losses.size, count)
    ways = gammaln(count + 1) - gammaln(counts + 1).sum(axis=1)
    return counts @ law.losses, ways + counts @ np.log(law.absent)


def _counts(kinds: int, total: int) -> Array:
    """Every way to write ``total`` as an ordered sum of so many whole numbers."""
    rows = np.arange(total + 1, dtype=float)[:, None] if kinds > 1 else np.empty((1, 0))
    for _ in range(kinds - 2):
        rest = (total - rows.sum(axis=1)).astype(int)
        start = np.repeat(rows, rest + 1, axis=0)
        last = np.concatenate([np.arange(n + 1) for n in rest])
        rows = np.column_stack([start, last])
    return np.column_stack([rows, total - rows.sum(axis=1)])
