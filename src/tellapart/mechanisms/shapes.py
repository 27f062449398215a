"""Staircase, uniform and planar Laplace noise: best for pure ε, for pure δ, and in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tellapart import _checks
from tellapart._numeric.safe import times_exp
from tellapart._numeric.text import short
from tellapart.curve.atomic import three_ratios
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import nothing
from tellapart.curve.planar_laplace import FURTHEST, PlanarLaplaceCurve
from tellapart.mechanisms.base import ADD_REMOVE, EpsilonAtDelta, LocalMechanism, Mechanism
from tellapart.mechanisms.laws import missed
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, repr=False)
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
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            sensitivity=_checks.finite_above_zero(sensitivity=self.sensitivity),
        )
        if self.fraction is not None:
            self._set(fraction=_checks.probability(fraction=self.fraction))

    def deviation(self) -> float:
        """How far the noisy answer usually lies from the true one (standard deviation)."""
        fall, upper, wide = self._stair()
        gone = -math.expm1(-self.epsilon)
        if gone == 0:
            return math.inf
        within = upper * wide / 2 + (1 - upper) * (1 + wide) / 2
        within_squared = upper * wide**2 / 3 + (1 - upper) * (1 + wide + wide**2) / 3
        # The stair's number has mean fall/gone and mean square fall·(1 + fall)/gone².
        square = fall * (1 + fall) + gone * (2 * fall * within + gone * within_squared)
        return self.sensitivity * (math.sqrt(square) / gone)

    def margin(self, coverage: float = 0.95, cells: int = 1) -> float:
        """How far the noisy answer lies from the true one at most, this share of the time.

        Of so many ``cells`` with independent noise, how far the one lies that is furthest off.
        """
        log_tail = math.log(missed(coverage, cells))
        _, upper, wide = self._stair()
        reach = -log_tail / self.epsilon if self.epsilon else math.inf
        if math.isinf(reach):
            return math.inf
        stairs = math.floor(reach)
        # What is still missing on the last stair, as a share of that stair.
        share = math.expm1(log_tail + stairs * self.epsilon) / math.expm1(-self.epsilon)
        share = min(max(share, 0.0), 1.0)
        if share <= upper:
            step = wide * share / upper if upper else 0.0
        else:
            step = wide + (1 - wide) * (share - upper) / (1 - upper)
        return self.sensitivity * (stairs + step)

    def _stair(self) -> tuple[float, float, float]:
        """Stair over stair, the mass on a stair's upper step, and that step's width."""
        fall = math.exp(-self.epsilon)
        wide = 1 / (1 + math.exp(min(self.epsilon, 1400.0) / 2))
        if self.fraction is not None:
            wide = self.fraction
        total = wide + (1 - wide) * fall
        return fall, (wide / total if wide else 0.0), wide

    def _present_test(self) -> TradeoffCurve:
        """Outputs have ratio e^ε, 1 or e^−ε; those in the middle lie on one step of both laws."""
        fall = math.exp(-self.epsilon)
        if self.fraction is None:
            share = math.sqrt(fall) / (1 + math.sqrt(fall))
            grown = math.exp(min(self.epsilon, 1400.0) / 2) * (1 - share)  # share·e^ε
        else:
            share = self.fraction
            with np.errstate(over="ignore"):
                grown = float(times_exp(share, self.epsilon))
        rise = -math.expm1(-self.epsilon) * abs(2 * share - 1) / 2
        below_half = share < 0.5
        middle = rise / (grown + 1 - share if below_half else share + fall * (1 - share))
        return three_ratios(self.epsilon, 1 - middle, middle)


@dataclass(frozen=True, repr=False)
class UniformNoise(EpsilonAtDelta):
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
        width = size * (1 - atom) / (d - atom)
        while _revealed(width, atom, size) > d:  # rounding
            width = math.nextafter(width, math.inf)
        return cls(width, atom, size, neighbours=neighbours)

    def deviation(self) -> float:
        """How far the noisy answer usually lies from the true one (standard deviation)."""
        return math.sqrt((1 - self.atom) / 12) * self.width

    def margin(self, coverage: float = 0.95, cells: int = 1) -> float:
        """How far the noisy answer lies from the true one at most, this share of the time.

        Of so many ``cells`` with independent noise, how far the one lies that is furthest off.
        """
        outside, noisy = missed(coverage, cells), 1 - self.atom
        return 0.0 if outside >= noisy else (1 - outside / noisy) * self.width / 2

    def _grouped(self, size: int) -> Mechanism:
        return replace(self, sensitivity=size * self.sensitivity)

    def _present_test(self) -> TradeoffCurve:
        leak = _revealed(self.width, self.atom, self.sensitivity)
        return GuaranteeCurve(0.0, leak, Bound.EXACT)


def _revealed(width: float, atom: float, sensitivity: float) -> float:
    """The chance of an output that only one of two shifted worlds can produce."""
    return atom + (1 - atom) * min(1.0, sensitivity / width)


@dataclass(frozen=True, repr=False)
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
        if self.epsilon * self.distance > FURTHEST:
            rule = f"be at most {short(FURTHEST)}"
            _checks.refuse("epsilon times distance", rule, self.epsilon * self.distance)

    def _present_test(self) -> TradeoffCurve:
        shift = self.epsilon * self.distance
        return PlanarLaplaceCurve(shift) if shift else nothing()
