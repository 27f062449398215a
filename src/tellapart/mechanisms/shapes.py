"""Noise of unusual shape: the best for pure ε, the best for pure δ, and noise in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from tellapart import _checks
from tellapart.curve.atomic import three_ratios
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.planar import PlanarLaplaceCurve
from tellapart.mechanisms.base import ADD_REMOVE, LocalMechanism, Mechanism, Neighbours


@dataclass(frozen=True)
class Staircase(Mechanism):
    """Adds staircase noise, the least noise for a given ε (Geng and Viswanath 2014).

    ``fraction`` is the share of each stair on its upper step; left out, it is the one with the
    least mean size, 1/(1 + e^(ε/2)).

    >>> round(Staircase(epsilon=1).curve().delta(0.0), 6)
    0.44042
    """

    epsilon: float
    sensitivity: float = 1.0
    fraction: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        e = _checks.finite_at_least_zero(epsilon=self.epsilon)
        best = math.exp(-e / 2) / (1 + math.exp(-e / 2))
        share = best if self.fraction is None else self.fraction
        self._set(
            epsilon=e,
            sensitivity=_checks.finite_above_zero(sensitivity=self.sensitivity),
            fraction=_checks.probability(fraction=share),
        )

    def _present_test(self) -> TradeoffCurve:
        """Outputs have ratio e^ε, 1 or e^−ε; those in the middle lie on one step of both laws."""
        share, fall = float(self.fraction or 0.0), math.exp(-self.epsilon)
        if self.epsilon == 0:
            return nothing()
        # Height of the first step times the sensitivity, halved: the law's normalisation.
        height = -math.expm1(-self.epsilon) / (2 * (share + fall * (1 - share)))
        middle = height * abs(2 * share - 1) * (fall if share < 0.5 else 1.0)
        return three_ratios(self.epsilon, middle)


@dataclass(frozen=True)
class UniformNoise(Mechanism):
    """Adds nothing with probability ``atom``, else noise spread evenly over ``width``.

    Whoever sees an output that only one world can produce is certain; nobody else learns a
    thing. So ε = 0, with δ = atom + (1 − atom)·sensitivity/width.

    >>> UniformNoise.optimal(delta=0.1).curve().epsilon(delta=0.1)
    0.0
    """

    width: float
    atom: float = 0.0
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            width=_checks.finite_above_zero(width=self.width),
            atom=_checks.probability(atom=self.atom),
            sensitivity=_checks.finite_above_zero(sensitivity=self.sensitivity),
        )

    @classmethod
    def optimal(
        cls,
        delta: float,
        sensitivity: float = 1.0,
        power: float = 1.0,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """The least E|noise|^power among all (0, δ)-DP additive noise (Geng et al. 2019).

        It leaves the answer untouched with positive probability once δ > power/(power + 1).
        """
        d = _checks.inside_unit(delta=delta)
        size = _checks.finite_above_zero(sensitivity=sensitivity)
        p = _checks.finite_above_zero(power=power)
        atom = max(0.0, (p + 1) * d - p)
        return cls(size * (1 - atom) / (d - atom), atom, size, neighbours=neighbours)

    def _present_test(self) -> TradeoffCurve:
        outside = min(1.0, self.sensitivity / self.width)
        return GuaranteeCurve(0.0, self.atom + (1 - self.atom) * outside, Bound.EXACT)


@dataclass(frozen=True)
class PlanarLaplace(LocalMechanism):
    """Reports a place with planar Laplace noise: geo-indistinguishability.

    ``epsilon`` is per unit of length; the curve is for two places ``distance`` apart.

    >>> round(PlanarLaplace(epsilon=1, distance=1).curve().beta(0.1), 6)
    0.743541
    """

    epsilon: float
    distance: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            distance=_checks.finite_at_least_zero(distance=self.distance),
        )

    def _present_test(self) -> TradeoffCurve:
        shift = self.epsilon * self.distance
        return PlanarLaplaceCurve(shift) if shift else nothing()
