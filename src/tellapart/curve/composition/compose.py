"""From steps to the curve of all of them: exact shortcuts first, the contour engine otherwise."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaln

from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified.discretise import from_two_profiles
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve, LaplaceCurve, LogisticCurve
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.infinite_loss import NOTHING_SURE, Kept, kept_of, revealing
from tellapart.curve.composition.laplace_convolution import MOST_FOLDS, laplace_folds, laplace_two
from tellapart.curve.composition.laplace_loss import BoundedLoss
from tellapart.curve.composition.loss_laws import (
    AtomicLoss,
    GaussianLoss,
    LaplaceLoss,
    LossLaw,
    thinned,
)
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss, replaced
from tellapart.curve.discrete_gaussian import DiscreteGaussianCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.truncated_laplace import TruncatedLaplaceCurve
from tellapart.errors import TellapartError, Unsupported

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
# The widest discrete Gaussian whose outputs are listed.
_WIDEST = 1e4


class Part(NamedTuple):
    """One step: the law of its finite losses, and how likely it is to show one."""

    law: LossLaw
    kept: Kept = NOTHING_SURE


def part_of(curve: TradeoffCurve) -> tuple[Part, Bound]:
    """The step behind one ordered curve, and the side of it; from below by lines of its profile."""
    make = _PARTS.get(type(curve))
    if make is not None:
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
    profiles = [np.asarray(order._delta(lines)) * (1 + _ROOM) for order in orders]
    return from_two_profiles(lines, *(np.clip(one, 0.0, 1.0) for one in profiles))


def _steepest(curve: TradeoffCurve) -> float:
    """Where losses end, or next to nothing is left of them."""
    if math.isfinite(largest := curve._largest_loss()):
        return max(largest, _FLATTEST)
    sure = curve._delta_at_infinity()
    for left in _LEFT:
        with contextlib.suppress(TellapartError):
            epsilon = float(curve._epsilon(np.asarray(min(sure + left, 0.5))))
            if math.isfinite(epsilon):
                return max(epsilon, _FLATTEST)
    return _STEEPEST


def _atoms(curve: AtomicCurve) -> Part:
    """Losses whose masses a double hardly holds count as revealing, which helps an attacker."""
    both = np.isfinite(curve.losses) & (np.minimum(curve.absent, curve.present) > _FAINTEST)
    if not both.any():
        return Part(_SILENT, Kept(-math.inf, -math.inf))
    kept = kept_of(curve.absent, curve.present, both)
    losses = curve.losses[both] - kept.shift
    return Part(AtomicLoss(losses, curve.absent[both] / math.exp(kept.absent)), kept)


def _promise(curve: GuaranteeCurve) -> Part:
    """All that (ε, δ) allows is randomised response that reveals all with chance δ."""
    e, d = curve.claimed_epsilon, curve.claimed_delta
    left = math.log1p(-d) if d < 1 else -math.inf
    if e > _STEEPEST:  # the rarer answer is hardly a double: it counts as revealing
        return Part(_SILENT, Kept(-math.inf, -math.inf))
    return Part(AtomicLoss(np.array([e, -e]), expit(np.array([-e, e]))), Kept(left, left))


def _discrete(curve: DiscreteGaussianCurve) -> Part:
    if curve.sigma > _WIDEST:
        raise Unsupported(
            f"discrete Gaussian steps are composed up to sigma = {_WIDEST:g}; beyond it the "
            "Gaussian of the same sigma is as good as equal"
        )
    return _atoms(curve.table())


def _cut_off(curve: TruncatedLaplaceCurve) -> Part:
    m, c, leak = curve.shift, curve.cutoff, curve.delta(math.inf)
    left = math.log1p(-leak)
    if m == 0:
        return Part(_SILENT)
    if c <= m:  # no output lies beyond both centres
        return Part(BoundedLoss(2 * c - m, 0.0), Kept(left, left))
    return Part(BoundedLoss(m, -math.expm1(m - c)), Kept(left, left))


_SILENT = AtomicLoss(np.zeros(1), np.ones(1))

_PARTS: dict[type[TradeoffCurve], Callable[[Any], Part]] = {
    GaussianCurve: lambda curve: Part(GaussianLoss(curve.mu)),
    LaplaceCurve: lambda curve: Part(LaplaceLoss(curve.shift)),
    AtomicCurve: _atoms,
    GuaranteeCurve: _promise,
    DiscreteGaussianCurve: _discrete,
    LogisticCurve: lambda curve: Part(BoundedLoss(curve.shift, 0.0) if curve.shift else _SILENT),
    TruncatedLaplaceCurve: _cut_off,
}


def sampled_part(part: Part, rate: float) -> Part:
    """The step taken on a Poisson sample: h1 is the mixture (1 − rate)·P + rate·Q."""
    if rate == 1:
        return part
    if rate == 0:
        return Part(_SILENT)
    law, kept = part
    if isinstance(law, AtomicLoss):
        return _sampled_atoms(law, kept, rate)
    if isinstance(law, LaplaceLoss):
        law = BoundedLoss(law.shift, 1.0)
    if isinstance(law, BoundedLoss) and law.rate == 1 and not kept.shift:
        leak = kept.sure[1]
        return Part(replace(law, rate=rate, leak=leak), Kept(0.0, math.log1p(-rate * leak)))
    if kept != NOTHING_SURE:
        raise Unsupported(f"a {type(law).__name__} step that may reveal all cannot be sampled yet")
    if isinstance(law, BoundedLoss):
        return Part(replace(law, rate=law.rate * rate))
    if isinstance(law, GaussianLoss):
        return Part(MixtureLoss(law.mu, (1 - rate, rate)))
    if isinstance(law, MixtureLoss):
        thinner = tuple(rate * weight for weight in law.weights)
        return Part(MixtureLoss(law.mu, (1 - rate + thinner[0], *thinner[1:])))
    raise Unsupported(f"a {type(law).__name__} step cannot be sampled yet")


def replaced_part(part: Part, rate: float) -> Part:
    """The step on a sample, of any scheme, where neighbours replace a record: for both orders.

    ``part`` must be the same in both orders.
    """
    if rate in (0, 1):
        return sampled_part(part, rate)
    law, kept = sampled_part(part, rate)
    if isinstance(law, AtomicLoss):
        return _replaced_atoms(law, kept)
    if kept != NOTHING_SURE:
        raise Unsupported(f"a {type(law).__name__} step that may reveal all cannot be sampled yet")
    return Part(replaced(law))


def _replaced_atoms(law: AtomicLoss, kept: Kept) -> Part:
    """Losses above 0, their mirror, and the rest at 0; what reveals all does so in both orders."""
    losses, left = law.losses + kept.shift, math.exp(kept.present)
    above = losses > 0
    losses, absent = losses[above], law.absent[above] / left
    present = times_exp(absent, losses)
    still = max(1 - float(absent.sum() + present.sum()), 0.0)
    both = np.concatenate([losses, -losses]), np.concatenate([absent, present])
    if still > 0:
        both = np.append(both[0], 0.0), np.append(both[1], still)
    return Part(AtomicLoss(*both), Kept(kept.present, kept.present))


def _sampled_atoms(law: AtomicLoss, kept: Kept, rate: float) -> Part:
    """What only h0 could show may now be h1 without the record; what only h1 could show remains."""
    a, b = kept.sure
    left = Kept(0.0, math.log1p(-rate * b))
    absent = law.absent * math.exp(kept.absent)
    seen = absent > 0  # none, where each world shows what only it can
    losses, absent = thinned(law.losses[seen] + kept.shift, rate) - left.present, absent[seen]
    if a > 0:
        losses = np.append(losses, math.log1p(-rate) - left.present)
        absent = np.append(absent, a)
    return Part(AtomicLoss(losses, absent), left)


def composed_parts(parts: Iterable[tuple[Part, int]], bound: Bound = Bound.EXACT) -> TradeoffCurve:
    """The curve of independent (or adaptively chosen) steps, some of which may reveal all."""
    listed = list(parts)
    rest = composed([(part.law, count) for part, count in listed], bound)
    return revealing(rest, kept_by_all(listed))


def kept_by_all(parts: Iterable[tuple[Part, int]]) -> Kept:
    """How likely all steps together are to leave a doubt."""
    listed = list(parts)
    logs = (math.fsum(count * part.kept[k] for part, count in listed) for k in (0, 1))
    return Kept(*logs)


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
        return laplace_two(shifts[0], shifts[1], bound)
    if len(steps) == 1 and counts[0] <= MOST_FOLDS:
        return laplace_folds(shifts[0], counts[0], bound)
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
