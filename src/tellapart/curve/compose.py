"""From steps to the curve of all of them: exact shortcuts first, the contour engine otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import expit, gammaln

from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve, from_atoms
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve, LaplaceCurve
from tellapart.curve.composed import ComposedCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.laplace_folds import MOST_FOLDS, laplace_folds, laplace_two
from tellapart.curve.losses import AtomicLoss, GaussianLoss, LaplaceLoss, LossLaw
from tellapart.curve.mixture_loss import MixtureLoss
from tellapart.errors import Unsupported

Steps = tuple[tuple[LossLaw, int], ...]

# Compositions of finitely many outcomes with more atoms than this are left to other engines.
_MOST_ATOMS = 300_000


def law_of(curve: TradeoffCurve) -> LossLaw:
    """The law of the loss behind one ordered curve."""
    make = _LAWS.get(type(curve))
    if make is None:
        kind = type(curve).__name__
        raise Unsupported(f"steps with a {kind} cannot be composed yet")
    return make(curve)


def _atoms(curve: AtomicCurve) -> LossLaw:
    if not np.isfinite(curve.losses).all():
        raise Unsupported("steps that may reveal all (δ at every ε) cannot be composed yet")
    return AtomicLoss(curve.losses, curve.absent)


def _promise(curve: GuaranteeCurve) -> LossLaw:
    """All that pure ε allows is randomised response."""
    if curve.claimed_delta > 0:
        raise Unsupported("steps that may reveal all (δ at every ε) cannot be composed yet")
    e = curve.claimed_epsilon
    return AtomicLoss(np.array([e, -e]), expit(np.array([-e, e])))


_LAWS: dict[type[TradeoffCurve], Callable[[Any], LossLaw]] = {
    GaussianCurve: lambda curve: GaussianLoss(curve.mu),
    LaplaceCurve: lambda curve: LaplaceLoss(curve.shift),
    AtomicCurve: _atoms,
    GuaranteeCurve: _promise,
}


def sampled_law(law: LossLaw, rate: float) -> LossLaw:
    """The step taken on a Poisson sample: h1 is the mixture (1 − rate)·P + rate·Q."""
    if rate == 1:
        return law
    if rate == 0:
        return AtomicLoss(np.zeros(1), np.ones(1))
    if isinstance(law, GaussianLoss):
        return MixtureLoss(law.mu, (1 - rate, rate))
    if isinstance(law, MixtureLoss):
        thinner = tuple(rate * weight for weight in law.weights)
        return MixtureLoss(law.mu, (1 - rate + thinner[0], *thinner[1:]))
    if isinstance(law, AtomicLoss):
        return AtomicLoss(np.log1p(rate * np.expm1(law.losses)), law.absent)
    raise Unsupported(f"a {type(law).__name__} step cannot be sampled yet")


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
        if not isinstance(law, AtomicLoss) or law.losses.size > 4:
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
