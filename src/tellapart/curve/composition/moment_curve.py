"""Compositions that no engine has digits for: a curve from below, out of lines that always hold.

Sums of losses with atoms, such as a few hundred Laplace steps, jump; no contour smooths that over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tellapart._checks import Array
from tellapart.curve.algebra import worst_case
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.composition.compose import (
    PrivacyLoss,
    composed_losses,
    together,
    total_finite_mass,
)
from tellapart.curve.composition.contour import ComposedCurve
from tellapart.curve.composition.infinite_loss import InfiniteLossCurve, with_infinite_loss
from tellapart.curve.composition.moment_bounds import beneath

Parts = tuple[tuple[PrivacyLoss, int], ...]


def composed_or_enclosed(parts: Sequence[tuple[PrivacyLoss, int]], bound: Bound) -> TradeoffCurve:
    """The curve of all steps, exact where an engine answers for it, else from below."""
    curve = composed_losses(parts, bound)
    rest = curve.rest if isinstance(curve, InfiniteLossCurve) else curve
    if isinstance(rest, ComposedCurve) and not rest.has_digits:
        return EnclosedCurve(tuple(parts))
    return curve


@dataclass(frozen=True)
class EnclosedCurve(TradeoffCurve):
    """Steps seen together, from below: ε is mostly within 1e-4·max(1, ε), every error counted."""

    parts: Parts
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

    def mirrored(self) -> EnclosedCurve:
        if not self.ordered:
            return self
        swapped = (
            (PrivacyLoss(loss.law.swapped(), loss.finite_mass.swapped()), n)
            for loss, n in self.parts
        )
        return EnclosedCurve(tuple(swapped))

    def symmetrised(self) -> EnclosedCurve:
        return EnclosedCurve(self.parts, ordered=False)

    def _rates(self, threshold: Array) -> tuple[Array, Array, Array, Array]:
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
