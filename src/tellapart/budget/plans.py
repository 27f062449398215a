"""Plans: steps fixed in advance, of which one may stop early at the curve of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import compose
from tellapart.neighbours import Neighbours, Order


@dataclass(frozen=True)
class Plan:
    """Steps fixed in advance: what attackers learn from all of them, or from as many as are run.

    How each step is run may depend on earlier outputs, as long as it keeps the curve planned for
    its place. Stopping early, whatever outputs suggest it, is free at the curve of the whole plan:
    who sees all outputs sees those before the stop. The curve of the steps that were run is no
    guarantee then (docs/budgets.md has a counterexample).

    >>> import tellapart as ta
    >>> plan = Plan([ta.Gaussian(sigma=4)] * 16)
    >>> plan.curve() == ta.Gaussian(sigma=1).curve()
    True
    """

    mechanisms: tuple[Mechanism, ...]

    def __init__(self, mechanisms: Iterable[Mechanism]) -> None:
        object.__setattr__(self, "mechanisms", compose(mechanisms).parts)

    @property
    def neighbours(self) -> Neighbours:
        """Which two data sets the curve says are hard to tell apart."""
        return self.mechanisms[0].neighbours

    def curve(self, order: Order | None = None) -> TradeoffCurve:
        """What any attacker can do who sees the outputs up to any stopping time."""
        return compose(self.mechanisms).curve(order)

    def epsilon(self, delta: float) -> float:
        """The least ε for which the plan is (ε, δ)-DP, in both orders; inf if none is."""
        return self.curve().epsilon(delta)
