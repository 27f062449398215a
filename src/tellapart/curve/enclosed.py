"""Compositions that only brackets can answer for: a curve from below, out of several of them.

Sums of losses with atoms, such as a few hundred Laplace steps, jump; no contour smooths that over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tellapart._checks import Array
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.certified import bracketed_parts
from tellapart.curve.compose import Part, composed_parts, kept_by_all
from tellapart.curve.composed import ComposedCurve
from tellapart.curve.outlines import from_two_profiles
from tellapart.curve.revealing import RevealingCurve
from tellapart.errors import InvalidArgument, NotCertified

Parts = tuple[tuple[Part, int], ...]

# Brackets are made for these δ; together they are close to the truth for every one between.
_USUAL = 1e-5
_OTHERS = (0.5, 0.2, 0.05, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-15)
_GAP = 1e-4
# An engine that answers in the middle and for this δ is taken to answer for others.
_PROBE = 1e-6
# Lines enough that the polygon between them is as close as the brackets.
_LINES = 6_000
_PARALLEL = 1e-8
# Room for the rounding of a polygon made of lines.
_ROOM = 1e-12


def composed_or_enclosed(parts: Sequence[tuple[Part, int]], bound: Bound) -> TradeoffCurve:
    """The curve of all steps, exact where an engine answers for it, else from below."""
    curve = composed_parts(parts, bound)
    rest = curve.rest if isinstance(curve, RevealingCurve) else curve
    if isinstance(rest, ComposedCurve) and not rest.has_folds:
        try:
            rest.delta(0.0)
            rest.epsilon(_PROBE)
        except NotCertified:
            return EnclosedCurve(tuple(parts))
    return curve


@dataclass(frozen=True)
class EnclosedCurve(TradeoffCurve):
    """Steps seen together, from below: within 1e-4·max(1, ε) of their ε, every error counted."""

    parts: Parts
    ordered: bool = True
    bound: ClassVar[Bound] = Bound.LOWER  # type: ignore[misc]
    _accuracy: ClassVar[float] = 1e-5

    @cached_property
    def _polygon(self) -> AtomicCurve:
        """The lines of all brackets: each holds on its own, so they hold together."""
        sure = kept_by_all(self.parts).sure
        usual = self._lower(min(max(_USUAL, 3 * max(sure)), 0.5))
        if usual is None:  # others would only fail as slowly
            raise NotCertified(f"no bracket was reached for these steps at δ = {_USUAL:g}")
        lowers = [usual, *(one for one in map(self._lower, _OTHERS) if one is not None)]
        losses = np.concatenate([np.abs(one.losses[np.isfinite(one.losses)]) for one in lowers])
        epsilons = np.unique(np.append(losses, 0.0))
        # Lines that are all but parallel cross nobody knows where; any may be left out.
        apart = np.diff(epsilons, prepend=-1.0) > _PARALLEL * epsilons[-1]
        epsilons = epsilons[apart][:: 1 + epsilons.size // _LINES]
        ahead, back = (
            np.minimum(np.min([one.delta(epsilons) for one in some], axis=0) * (1 + _ROOM), 1.0)
            for some in (lowers, [one.mirrored() for one in lowers])
        )
        return from_two_profiles(epsilons, ahead, back)

    def _lower(self, delta: float) -> AtomicCurve | None:
        try:
            found = bracketed_parts(self.parts, delta, _GAP, self.ordered).lower
        except (NotCertified, InvalidArgument):  # out of reach, or below what is revealed for sure
            return None
        return found if isinstance(found, AtomicCurve) else None

    def mirrored(self) -> EnclosedCurve:
        if not self.ordered:
            return self
        swapped = ((Part(one.law.swapped(), one.kept.swapped()), n) for one, n in self.parts)
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
