"""A mechanism of which nothing is known but its promise."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import _checks
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.mechanisms.base import Mechanism


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
