"""The privacy budget a mechanism has spent, as one number on the side of a guarantee."""

from __future__ import annotations

from tellapart.curve.certified.brackets import Bracket
from tellapart.errors import NotCertified
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Combined

# How far apart the two sides of a bracket may lie, in turn: an accountant must answer, and a wide
# bracket's guarantee side is as true as a narrow one's.
_GAPS = (1e-4, 1e-2, 1.0)
# A bracket is tight near the δ it is made for, so δ is looked for by making it anew.
_FIRST_DELTA, _LEAST_DELTA, _LARGEST_DELTA = 1e-6, 1e-300, 0.5
_ROUNDS = 3


def epsilon(mechanism: Mechanism, delta: float) -> float:
    """The ε at this δ: the curve's, right to about 1e-10, or a bound from a bracket above it."""
    try:
        return mechanism.curve().epsilon(delta)
    except NotCertified:
        return _bracket(mechanism, delta).lower.epsilon(delta)


def delta(mechanism: Mechanism, epsilon: float) -> float:
    """The δ at this ε, from the same two sources."""
    try:
        return mechanism.curve().delta(epsilon)
    except NotCertified:
        least, near = 1.0, _FIRST_DELTA
        for _ in range(_ROUNDS):
            least = min(least, _bracket(mechanism, near).lower.delta(epsilon))
            near = min(max(least, _LEAST_DELTA), _LARGEST_DELTA)
        return least


def _bracket(mechanism: Mechanism, delta: float) -> Bracket:
    if not isinstance(mechanism, Combined):
        raise NotCertified(f"{mechanism!r} has no bracket to fall back on")
    for gap in _GAPS[:-1]:
        try:
            return mechanism.bracket(delta, gap)
        except NotCertified:
            continue
    return mechanism.bracket(delta, _GAPS[-1])
