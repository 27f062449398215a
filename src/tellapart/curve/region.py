"""Privacy regions: all pairs of error rates that a guarantee, or a mechanism, allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.safe import times_exp
from tellapart._numeric.text import short
from tellapart.curve.algebra import check_curve
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported


class Failure(NamedTuple):
    """One inequality that a point breaks, and by how much."""

    inequality: str
    excess: float

    def __str__(self) -> str:
        return f"{self.inequality} fails by {short(self.excess, 4)}"


@dataclass(frozen=True)
class PrivacyRegion:
    """All (FPR, FNR) that a test against an (ε, δ)-DP mechanism can have: R(ε, δ).

    Four half-planes: each error, and each error of the opposite answer, is bounded by the other.

    >>> region = PrivacyRegion(epsilon=1)
    >>> region.contains(fpr=0.8, fnr=0.7)
    False
    >>> print(region.failures(fpr=0.8, fnr=0.7)[0])
    FNR ≤ e^ε·TNR + δ fails by 0.1563

    See Also
    --------
    tellapart.plot.region_point : an attack beside what a promise allows
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        epsilon = _checks.finite_at_least_zero(epsilon=self.epsilon)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", _checks.probability(delta=self.delta))

    @overload
    def contains(
        self, fpr: float, fnr: float | None = None, *, tpr: float | None = None
    ) -> bool: ...
    @overload
    def contains(
        self, fpr: ArrayLike, fnr: ArrayLike | None = None, *, tpr: ArrayLike | None = None
    ) -> NDArray[np.bool_]: ...
    def contains(
        self, fpr: ArrayLike, fnr: ArrayLike | None = None, *, tpr: ArrayLike | None = None
    ) -> bool | NDArray[np.bool_]:
        """Whether the point keeps all four inequalities, to the last bit but rounding.

        Give the FNR or the TPR, whichever is known with its digits.
        """
        excesses = [excess for _, excess in self._excesses(fpr, fnr, tpr)]
        inside = np.all(np.stack(excesses) <= 0, axis=0)
        return bool(inside) if inside.ndim == 0 else inside

    def failures(
        self, fpr: float, fnr: float | None = None, *, tpr: float | None = None
    ) -> tuple[Failure, ...]:
        """The inequalities this point breaks, worst first; none if it lies inside.

        Give the FNR or the TPR, whichever is known with its digits.
        """
        for name, rate in (("fpr", fpr), ("fnr", fnr), ("tpr", tpr)):
            if rate is not None:
                _checks.probability(**{name: rate})
        every = [(name, float(x)) for name, x in self._excesses(fpr, fnr, tpr)]
        return _worst_first([(name, x) for name, x in every if x > 0])

    def _excesses(
        self, fpr: ArrayLike, fnr: ArrayLike | None, tpr: ArrayLike | None
    ) -> list[tuple[str, Array]]:
        """Left − right of each "left ≤ e^ε·right + δ", 0 where they agree up to rounding."""
        if (fnr is None) == (tpr is None):
            _checks.refuse("fnr or tpr", "be given, and only one of them", (fnr, tpr))
        ulp = 4 * np.finfo(float).eps
        # A complement is known to an ulp of 1 only, a rate that was given to an ulp of itself.
        if tpr is None:
            alpha, beta = _checks.rates_together(fpr=fpr, fnr=fnr)
            power = 1 - beta
            beta_off, power_off = ulp * beta, ulp * (power > 0)
        else:
            alpha, power = _checks.rates_together(fpr=fpr, tpr=tpr)
            beta = 1 - power
            beta_off, power_off = ulp * (beta > 0), ulp * power
        tnr = 1 - alpha
        alpha_off, tnr_off = ulp * alpha, ulp * (tnr > 0)
        return [
            ("TNR ≤ e^ε·FNR + δ", self._excess(tnr, beta, tnr_off, beta_off)),
            ("TPR ≤ e^ε·FPR + δ", self._excess(power, alpha, power_off, alpha_off)),
            ("FPR ≤ e^ε·TPR + δ", self._excess(alpha, power, alpha_off, power_off)),
            ("FNR ≤ e^ε·TNR + δ", self._excess(beta, tnr, beta_off, tnr_off)),
        ]

    def _excess(
        self, left: Array, right: Array, left_off: Array | float, right_off: Array | float
    ) -> Array:
        with np.errstate(over="ignore"):
            excess = left - (times_exp(right, self.epsilon) + self.delta)
            rounding = left_off + times_exp(right_off, self.epsilon) + left_off * self.delta
        return np.where(np.abs(excess) <= rounding, 0.0, excess)

    def vertices(self) -> Array:
        """The eight corners (FPR, FNR), counter-clockwise from (0, 1)."""
        d = self.delta
        knot = (1 - d) * float(expit(-self.epsilon))
        lower = [(0, 1), (0, 1 - d), (knot, knot), (1 - d, 0)]
        upper = [(1, 0), (1, d), (1 - knot, 1 - knot), (d, 1)]
        return np.array(lower + upper)

    def area(self) -> float:
        """The share of the unit square an attacker could reach: 0 is perfect privacy."""
        return 1 - 2 * GuaranteeCurve(self.epsilon, self.delta)._area()


@dataclass(frozen=True)
class MechanismRegion:
    """All (FPR, FNR) that tests of one pair of worlds can have: between the curve and its image.

    >>> import tellapart as ta
    >>> round(MechanismRegion(ta.Laplace(1).curve()).area(), 6)
    0.448181
    """

    curve: TradeoffCurve

    def __post_init__(self) -> None:
        check_curve(curve=self.curve)

    @overload
    def contains(self, fpr: float, fnr: float) -> bool: ...
    @overload
    def contains(self, fpr: ArrayLike, fnr: ArrayLike) -> NDArray[np.bool_]: ...
    def contains(self, fpr: ArrayLike, fnr: ArrayLike) -> bool | NDArray[np.bool_]:
        """Whether some test has exactly these two error rates, up to rounding."""
        alpha, beta = _checks.rates_together(fpr=fpr, fnr=fnr)
        low, high = self._excesses(alpha, beta)
        inside = (low <= 0) & (high <= 0)
        return bool(inside) if inside.ndim == 0 else inside

    def failures(self, fpr: float, fnr: float) -> tuple[Failure, ...]:
        """The sides of the region this point lies beyond; none if it lies inside."""
        alpha, beta = _checks.probability(fpr=fpr), _checks.probability(fnr=fnr)
        low, high = self._excesses(np.array(alpha), np.array(beta))
        every = [("FNR ≥ β(FPR)", float(low)), ("FNR ≤ 1 − β(TNR)", float(high))]
        return _worst_first([(name, x) for name, x in every if x > 0])

    def _excesses(self, fpr: Array, fnr: Array) -> tuple[Array, Array]:
        low = np.asarray(self.curve.beta(fpr) - fnr)
        high = np.asarray(fnr - self.curve.tpr(1 - fpr))
        tiny = 8 * np.finfo(float).eps
        return np.where(np.abs(low) <= tiny, 0.0, low), np.where(np.abs(high) <= tiny, 0.0, high)

    def vertices(self) -> Array:
        """The corners (FPR, FNR) of a polygonal region, counter-clockwise from (0, 1)."""
        if not isinstance(self.curve, AtomicCurve | GuaranteeCurve):
            raise Unsupported("this region is smooth and has no corners; ask for its boundary(...)")
        lower = np.stack(self.curve.vertices(), axis=1)
        return np.concatenate([lower[:-1], 1 - lower[:-1]])

    def boundary(self, points: int = 201) -> Array:
        """Points (FPR, FNR) around the region, counter-clockwise from (0, 1)."""
        count = _checks.whole(3, 10_000_000, points=points)
        fpr = (1 - np.cos(np.linspace(0, math.pi, count))) / 2
        lower = np.stack([fpr, np.asarray(self.curve.beta(fpr))], axis=1)
        return np.concatenate([[[0.0, 1.0]], lower, [[1.0, 0.0]], 1 - lower])

    def area(self) -> float:
        """The share of the unit square an attacker could reach: 2·AUC − 1."""
        return 1 - 2 * self.curve.area()


def _worst_first(broken: list[tuple[str, float]]) -> tuple[Failure, ...]:
    return tuple(Failure(*failure) for failure in sorted(broken, key=lambda pair: -pair[1]))
