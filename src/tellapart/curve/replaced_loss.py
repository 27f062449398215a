"""Steps on a sample where neighbours replace a record: one pair for both orders.

For ε ≥ 0 the profile is that of P against the mixture (1 − q)·P + q·Q, for ε < 0 its mirror (Zhu,
Dong and Wang 2022, Theorem 11). One pair has this profile: losses above 0 as the mixture has
them, their mirror below, and the rest of the mass at 0. That pair is composed; composing either
order on its own would promise too much (Lebeda, Regehr, Kamath and Steinke 2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tellapart._checks import Array
from tellapart.curve.bounded_loss import BoundedLoss
from tellapart.curve.losses import FourRates, LossLaw
from tellapart.curve.mixture_loss import MixtureLoss
from tellapart.curve.smooth_loss import Outcomes, SmoothLoss, Spread
from tellapart.errors import Unsupported

_LOG_ROOT = 0.5 * math.log(2 * math.pi)
# So many deviations beyond the peak of a tilted bell, no double holds its mass.
_UNSEEN = 42.0


@dataclass(frozen=True)
class _BellAbove(Outcomes):
    """Losses above 0 of a Gaussian step on a sample: outputs beyond the middle."""

    law: MixtureLoss
    atoms = ()

    def spread(self, x: Array) -> Spread:
        mu, q = self.law.mu, self.law.weights[1]
        slope = mu * q / (q + (1 - q) * np.exp(-mu * (x - mu / 2)))
        return Spread(np.asarray(self.law.loss_at(x)), slope, -x * x / 2 - _LOG_ROOT)

    def grid(self, tilts: Array) -> Array:
        low = self.law.mu / 2
        peaks = [low, *(float(c) * self.law.mu for c in tilts if c > 0)]
        rows = [np.linspace(max(low, at - _UNSEEN), at + _UNSEEN, 600) for at in peaks]
        return np.unique(np.concatenate([[low], *rows]))


@dataclass(frozen=True)
class _BoundedAbove(Outcomes):
    """Losses above 0 of a bounded step on a sample."""

    law: BoundedLoss

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        return tuple(one for one in self.law.atoms if one[0] > 0)

    def spread(self, x: Array) -> Spread:
        return self.law.spread(x)

    def grid(self, tilts: Array) -> Array:
        return np.linspace(0.0, self.law.reach, 801)


@dataclass(frozen=True)
class ReplacedLoss(SmoothLoss):
    """A step on a sample, in the pair that serves both orders."""

    law: MixtureLoss | BoundedLoss

    @cached_property
    def _above(self) -> Outcomes:
        if isinstance(self.law, BoundedLoss):
            return _BoundedAbove(self.law)
        return _BellAbove(self.law)

    @cached_property
    def _still(self) -> float:
        """The mass at loss 0."""
        _, tpr, _, tnr = self.law.rates(np.zeros(1))
        return max(float(tnr[0] - tpr[0]), 0.0)

    @property
    def least(self) -> float:  # type: ignore[override]
        return -self.law.largest

    @property
    def largest(self) -> float:  # type: ignore[override]
        return self.law.largest

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.law.size

    def swapped(self) -> LossLaw:
        return self

    def rates(self, t: Array) -> FourRates:
        fpr, tpr, fnr, tnr = self.law.rates(np.maximum(t, 0.0))
        under = np.nextafter(np.maximum(-t, 0.0), -np.inf)
        back = self.law.rates(np.maximum(under, 0.0))
        low = t < 0
        return (
            np.where(low, back[2], fpr),
            np.where(low, back[3], tpr),
            np.where(low, back[0], fnr),
            np.where(low, back[1], tnr),
        )

    def points(self, tilts: Array, frequency: float) -> tuple[Array, Array]:
        loss, logs = self._above.points(np.concatenate([tilts, 1 - tilts]), frequency)
        losses, masses = [loss, -loss], [logs, logs + loss]
        if self._still > 0:
            losses, masses = [*losses, np.zeros(1)], [*masses, np.log([self._still])]
        return np.concatenate(losses), np.concatenate(masses)

    def rough(self, c: float, top: float) -> tuple[float, float]:
        parts = [self._above.rough(one, top) for one in (c, 1 - c)]
        still = self._still * math.exp(-top)
        return still + parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]


def replaced(law: LossLaw) -> LossLaw:
    """The pair for both orders behind the law of one order on a sample."""
    if isinstance(law, BoundedLoss) or (isinstance(law, MixtureLoss) and len(law.weights) == 2):
        return ReplacedLoss(law)
    raise Unsupported(f"a {type(law).__name__} step whose record is replaced cannot be sampled yet")
