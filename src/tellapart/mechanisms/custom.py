"""A mechanism of one's own: by its dominating pair of output laws, or by an (ε, δ) guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from numpy.typing import ArrayLike

from tellapart import _checks
from tellapart.curve.algebra import check_curve
from tellapart.curve.atomic import from_named_pmfs
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.densities import Density, from_named_densities
from tellapart.mechanisms.base import ADD_REMOVE, EpsilonAtDelta, Mechanism
from tellapart.neighbours import Neighbours, Order


@dataclass(frozen=True, repr=False)
class CustomMechanism(EpsilonAtDelta):
    """Any mechanism whose worst pair of neighbours is known, by the curve of that pair.

    A curve that knows its neighbours brings them along.

    >>> flip = CustomMechanism.from_pmfs(absent=[0.75, 0.25], present=[0.25, 0.75])
    >>> round(flip.curve().epsilon(delta=0), 6)
    1.098612
    """

    test: TradeoffCurve

    def __post_init__(self) -> None:
        super().__post_init__()
        check_curve(test=self.test)
        known = self.test.neighbours or self.neighbours
        if self.neighbours not in (ADD_REMOVE, known):
            _checks.refuse("neighbours", f"be those of the curve, {known}", self.neighbours)
        self._set(neighbours=known)
        if self.test.order is Order.ABSENT:
            rule = "test absent (h0) against present, as test.mirrored() does"
            _checks.refuse("test", rule, self.test)

    @classmethod
    def from_pmfs(
        cls, absent: ArrayLike, present: ArrayLike, *, neighbours: Neighbours = ADD_REMOVE
    ) -> Self:
        """From the probabilities of the same outcomes without and with the record."""
        return cls(from_named_pmfs(absent=absent, present=present), neighbours=neighbours)

    @classmethod
    def from_densities(
        cls,
        absent: Density,
        present: Density,
        support: tuple[float, float],
        breaks: Sequence[float] = (),
        cells: int = 50_000,
        *,
        neighbours: Neighbours = ADD_REMOVE,
    ) -> Self:
        """From the densities of the output without and with the record (`Bound.LOWER`)."""
        pair = from_named_densities(support, breaks, cells, absent=absent, present=present)
        return cls(pair, neighbours=neighbours)

    def _present_test(self) -> TradeoffCurve:
        return self.test


@dataclass(frozen=True, repr=False)
class Promise(Mechanism):
    """Any mechanism that keeps (ε, δ), for all an attacker might make of it.

    Repeated, it has the optimal composition (Kairouz, Oh and Viswanath 2015, Theorem 3.3).

    >>> round(Promise(0.1, 1e-6).repeated(50).curve().epsilon(delta=1e-4), 6)
    2.584094
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            delta=_checks.probability(delta=self.delta),
        )

    def _present_test(self) -> TradeoffCurve:
        return GuaranteeCurve(self.epsilon, self.delta)
