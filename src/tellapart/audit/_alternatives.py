"""What might be true instead of a claim: less noise, or a weaker promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.curve.guarantees import gaussian
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import Subject, curve_of

# An ε that says nothing any more: a larger δ says more of the same curve.
LARGE = 30.0
# Fields of mechanisms that hold the size of their noise.
_NOISE = ("sigma", "scale")
# By how much ε grows where the claimed one is too small to be multiplied.
_STEP = 0.1


@dataclass(frozen=True)
class Alternative:
    """A family of truths that leak more and more; strength 1 is the claim itself."""

    curve: Callable[[float], TradeoffCurve]
    words: Callable[[float], str]


def alternative(claim: Subject) -> Alternative:
    """The family a claim is held against: its own noise scaled down where it has noise."""
    if isinstance(claim, Mechanism):
        quieter = _quieter(claim, 0.5)
        if quieter is not None:
            return Alternative(
                lambda strength: _less_noise(claim, strength).curve(),
                lambda strength: f"the claimed mechanism with its noise divided by {strength:.3g}",
            )
    curve = curve_of(claim, "claim")
    if isinstance(curve, GaussianCurve):
        mu = curve.mu
        return Alternative(
            lambda strength: gaussian(mu * strength),
            lambda strength: f"Gaussian noise with μ = {mu * strength:.3g}",
        )
    epsilon, delta = _as_pair(curve)

    def stronger(strength: float) -> float:
        return epsilon + (strength - 1) * max(epsilon, _STEP)

    return Alternative(
        lambda strength: GuaranteeCurve(stronger(strength), delta),
        lambda strength: (
            f"randomised response with ε = {stronger(strength):.3g}"
            + (f", revealing all with probability δ = {delta:.3g}," if delta else "")
        ),
    )


def _as_pair(curve: TradeoffCurve) -> tuple[float, float]:
    """The (ε, δ) that stands for a claim: its own, or what it comes to at a small δ."""
    if isinstance(curve, GuaranteeCurve):
        return curve.claimed_epsilon, curve.claimed_delta
    both = curve.symmetrised()
    if float(both.epsilon(0.0)) < LARGE:
        return float(both.epsilon(0.0)), 0.0
    delta = max(float(both.delta(math.inf)), 1e-5)
    return float(both.epsilon(delta)), delta


def _less_noise(mechanism: Mechanism, strength: float) -> Mechanism:
    found = _quieter(mechanism, 1 / strength)
    return mechanism if found is None else found


def _quieter(value: Any, factor: float) -> Any:
    """The same tree with every noise multiplied; None if there is none to multiply."""
    if not isinstance(value, Mechanism) or not is_dataclass(value):
        return None
    changed: dict[str, Any] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.name in _NOISE and isinstance(held, float | int):
            changed[field.name] = held * factor
        elif isinstance(held, Mechanism):
            changed[field.name] = _quieter(held, factor)
        elif isinstance(held, tuple) and held and all(isinstance(o, Mechanism) for o in held):
            parts = tuple(_quieter(one, factor) for one in held)
            changed[field.name] = None if any(part is None for part in parts) else parts
    if not changed or any(one is None for one in changed.values()):
        return None
    return replace(value, **changed)
