"""Privacy odometer: what may be said of a budget that is not yet spent, at a stopping time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellapart._numeric.text import short


@dataclass(frozen=True)
class PotReading:
    """What was taken from one pot and what is left, as numbers in words."""

    name: str
    used: str
    left: str


@dataclass(frozen=True)
class Odometer:
    """What people may be told of a budget now, though the next step depends on what was seen.

    ``epsilon`` is of the whole budget, and holds whenever one stops. ``loss`` is a bound that the
    loss of the steps so far keeps at all times at once, but for probability δ: known for Gaussian
    and Laplace steps alone. ``if_planned`` is ε had these steps been fixed in advance, which is
    **no guarantee** where they were not.
    """

    pots: tuple[PotReading, ...]
    delta: float
    epsilon: float
    loss: float | None
    if_planned: float | None

    def __str__(self) -> str:
        at = f"at δ = {short(self.delta)}"
        lines = [f"{pot.name}: {pot.used} used, {pot.left} left" for pot in self.pots]
        lines.append(
            f"guarantee: ε = {short(self.epsilon, up=True)} {at}, however the budget is spent and "
            "whenever you stop"
        )
        if self.loss is not None:
            lines.append(
                f"so far: loss ≤ {short(self.loss, up=True)}; this bound, read at whatever time, "
                f"fails with probability {short(self.delta)} at most"
            )
        if self.if_planned is not None:
            lines.append(
                f"no guarantee: had these steps been the plan, ε = {short(self.if_planned)} {at}"
            )
        return "\n".join(lines)


def loss_at_any_time(variance: float, offset: float, delta: float) -> float:
    """A loss that Gaussian steps exceed, at whatever time one looks, with probability δ at most.

    ½S + √((S + r)·log((S + r)/(r·δ²))) at S = Σ μ² so far, with an ``offset`` r fixed beforehand
    (Robbins 1970; for privacy Whitehouse et al. 2023): the loss less S/2 is a martingale of normal
    steps with variance S, and the mixture of its exponential martingales over λ ~ N(0, 1/r) exceeds
    1/δ ever with probability δ at most (Ville).
    """
    total = variance + offset
    bound = variance / 2 + math.sqrt(total * (math.log(total / offset) - 2 * math.log(delta)))
    return bound * (1 + 1e-14)  # more than the rounding of these
