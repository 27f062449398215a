"""Group privacy: several records together, all of them present or all of them absent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py, xlogy

from tellapart import _checks
from tellapart._numeric.binomial import log_choose
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve
from tellapart.curve.composition.compose import PrivacyLoss, privacy_loss_of
from tellapart.curve.composition.group_privacy import OneStep, group_curve
from tellapart.curve.composition.infinite_loss import FiniteMass, with_infinite_loss
from tellapart.curve.composition.subsampled_gaussian import MixtureLoss
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.combine import Asked, Ready, Repeated, Sampled, Sequence, Step, parts_of
from tellapart.mechanisms.noise import Gaussian

# Larger groups have no use, and their mixtures have too many terms.
_MOST = 1000
# Numbers of sampled members less likely than this, all together, are rounded conservatively.
_RAREST = 1e-200


@dataclass(frozen=True, repr=False)
class Group(Ready):
    """One step, faced by a group of so many records; build one with ``for_group``."""

    base: Mechanism
    size: int

    def __post_init__(self) -> None:
        self._set(
            size=_checks.whole(1, _MOST, size=self.size),
            neighbours=self.base.neighbours,
        )

    def __repr__(self) -> str:
        return f"{self.base!r}.for_group({self.size!r})"

    def steps(self) -> tuple[Step, ...]:
        return ((self, 1),)

    def _present_test(self) -> TradeoffCurve:
        mixture = self._mixture()
        if mixture is not None:
            return with_infinite_loss(
                OneStep(mixture.law, self._bound(mixture)), mixture.finite_mass
            )
        return group_curve(self.base._present_test(), self.size)

    def privacy_loss(self, asked: Asked | None = None) -> tuple[PrivacyLoss, Bound]:
        """The step, for a composition."""
        mixture = self._mixture()
        if mixture is not None:
            return mixture, self._bound(mixture)
        return privacy_loss_of(self._present_test())[0], Bound.LOWER

    def _bound(self, loss: PrivacyLoss) -> Bound:
        return Bound.EXACT if loss.finite_mass == FiniteMass() else Bound.LOWER

    def _unsampled(self, scheme: Sampling) -> str:
        return "a group is sampled member by member: take .sampled(rate) first"

    def _mixture(self) -> PrivacyLoss | None:
        """Gaussian noise on a Poisson sample: as many shifts as members are in the sample."""
        inner: Mechanism = self.base
        rate = 1.0
        while isinstance(inner, Sampled):
            rate, inner = rate * inner.rate, inner.base
        plain = all(isinstance(step, Gaussian) for step, _ in parts_of(inner))
        if not plain or not inner.neighbours.one_sided or not 0 < rate < 1:
            return None
        test = inner._present_test()
        if not isinstance(test, GaussianCurve):
            return None
        weights, finite_mass = _binomial(self.size, rate)
        return PrivacyLoss(MixtureLoss(test.mu, weights), finite_mass)


def _binomial(size: int, rate: float) -> tuple[tuple[float, ...], FiniteMass]:
    """How likely each number of members is; rare large ones count as revealing all.

    Rare small ones count as the least of the others, which moves the answer further.
    """
    j = np.arange(size + 1)
    weights = np.exp(log_choose(size, j) + xlogy(j, rate) + xlog1py(size - j, -rate))
    weights /= math.fsum(weights)
    above = np.cumsum(weights[::-1])[::-1]
    last = int(np.count_nonzero(above > _RAREST)) - 1
    first = int(np.count_nonzero(np.cumsum(weights) <= _RAREST))
    sure = float(weights[last + 1 :].sum())
    kept = weights[: last + 1].copy()
    kept[first] += kept[:first].sum()
    kept[:first] = 0.0
    if last < size:
        sure = max(sure, _RAREST)  # what underflows is charged, too
    return tuple(kept.tolist()), FiniteMass(0.0, math.log1p(-sure))


def grouped(mechanism: Mechanism, size: int) -> Mechanism:
    """The mechanism as a group of so many records sees it."""
    if isinstance(mechanism, Repeated):
        return Repeated(mechanism.base.for_group(size), mechanism.times)
    if isinstance(mechanism, Sequence):
        return Sequence(tuple(part.for_group(size) for part in mechanism.parts))
    if isinstance(mechanism, Group):
        return Group(mechanism.base, size * mechanism.size)
    return Group(mechanism, size)
