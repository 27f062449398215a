"""Privacy losses of Laplace, logistic and truncated Laplace noise, subsampled or not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart._checks import Array
from tellapart.curve.base import FourRates
from tellapart.curve.composition.loss_laws import LossLaw, thinned
from tellapart.curve.composition.loss_quadrature import Outcomes, SmoothLoss, Spread


@dataclass(frozen=True)
class BoundedLoss(Outcomes, SmoothLoss):
    """Losses in [−reach, reach] of density ∝ e^(−loss/2)/2 under h0, and ``edge`` times its ends.

    edge = 1 is Laplace noise, 0 logistic noise, in between Laplace noise that is cut off. On a
    sample at ``rate``, h1 is a mixture; ``leak`` is what either world alone could produce before
    it: h0's part then looks like h1 without the record, h1's part is told apart (`FiniteMass`).
    """

    reach: float
    edge: float
    rate: float = 1.0
    leak: float = 0.0

    @property
    def _whole(self) -> float:
        return self.edge * (1 + math.exp(-self.reach)) - math.expm1(-self.reach)

    @property
    def _shift(self) -> float:
        return math.log1p(-self.rate * self.leak)

    def _ahead(self, loss: Array) -> Array:
        """A loss of the step on all data, as it is on a sample."""
        return thinned(loss, self.rate) - self._shift

    def _behind(self, loss: Array) -> Array:
        """The reverse; −∞ where no loss is that small."""
        q, at = self.rate, loss + self._shift
        if q == 1:
            return at
        with np.errstate(all="ignore"):
            near = np.log1p(np.expm1(np.minimum(at, 40.0)) / q)
            low = np.log((np.exp(np.minimum(at, 0.0)) - (1 - q)) / q)
            high = at - math.log(q) + np.log1p(-(1 - q) * np.exp(-at))
        base = np.where(at > 30, high, np.where(at < -0.5, low, near))
        return np.where(np.isnan(base), -np.inf, base)

    @property
    def least(self) -> float:  # type: ignore[override]
        if self.leak > 0:
            return math.log1p(-self.rate) - self._shift
        return float(self._ahead(np.array(-self.reach)))

    @property
    def largest(self) -> float:  # type: ignore[override]
        return float(self._ahead(np.array(self.reach)))

    @property
    def size(self) -> float:  # type: ignore[override]
        return self.reach

    def swapped(self) -> LossLaw:
        return self if self.rate == 1 else super().swapped()

    def rates(self, t: Array) -> FourRates:
        q, w, edge, whole = self.rate, self.reach, self.edge, self._whole
        left = 1 - self.leak
        cut = self._behind(t)
        every, none = t < self.least, t >= self.largest
        at = np.clip(cut, -w, w)
        inside = cut >= -w  # or between the mass that was h0's alone and all others

        def fewer(x: Array) -> Array:
            edge_mass = edge * math.exp(-w)
            return (edge_mass - np.exp(-(x + w) / 2) * np.expm1(-(w - x) / 2)) / whole

        def more(x: Array) -> Array:
            return (edge - np.expm1(-(w - x) / 2)) / whole

        fpr = left * np.where(inside, fewer(at), 1.0)
        tnr = self.leak + left * np.where(inside, more(-at), 0.0)
        tpr = ((1 - q) * fpr + q * left * np.where(inside, more(at), 1.0)) / (1 - q * self.leak)
        fnr = ((1 - q) * tnr + q * left * np.where(inside, fewer(-at), 0.0)) / (1 - q * self.leak)
        columns = zip((fpr, tpr, fnr, tnr), (1.0, 1.0, 0.0, 0.0), strict=True)
        a, b, c, d = (np.where(every, low, np.where(none, 1 - low, x)) for x, low in columns)
        return a, b, c, d

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        w, left = self.reach, 1 - self.leak
        atoms = [(self.least, self.leak)] if self.leak > 0 else []
        if self.edge > 0:
            low, high = (float(self._ahead(np.array(x))) for x in (-w, w))
            atoms += [(low, left * self.edge / self._whole)]
            atoms += [(high, left * self.edge * math.exp(-w) / self._whole)]
        return tuple(atoms)

    def spread(self, x: Array) -> Spread:
        logs = -(x + self.reach) / 2 + math.log((1 - self.leak) / (2 * self._whole))
        slope = self.rate / (self.rate + (1 - self.rate) * np.exp(-x))
        return Spread(self._ahead(x), slope, logs)

    def grid(self, tilts: Array) -> Array:
        return np.linspace(-self.reach, self.reach, 801)
