"""Alternative hypotheses: mechanisms that leak more than a claim, and the least that is found.

A claim with noise is held against its own noise scaled down, one with an ε inside against itself
with a larger ε. Of a curve, every ε of its (ε, δ) is scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit.evidence.base import promised
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.curve.guarantees import gaussian, profile_lines
from tellapart.curve.loss_tails import sketched
from tellapart.errors import NotCertified
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.choice import UnaryEncoding
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.subject import Subject, curve_of

# An ε that says nothing any more: a larger δ says more of the same curve.
LARGE = 30.0
# A curve is told by its δ at so many ε, up to where so little is left.
_LINES, _TAIL = 400, 1e-9
# What counts as "would have been found".
SURE = 0.9
# Fields of mechanisms that hold the size of their noise, or their ε, and to which power of the
# strength they are scaled.
_NOISE = dict.fromkeys(("sigma", "scale", "threshold_scale", "query_scale", "width"), -1)
_EPSILON = {"epsilon": 1}
_WAYS = (
    (_NOISE, "its noise divided by"),
    (_EPSILON, "its ε multiplied by"),
    (_NOISE | _EPSILON, "its noise divided, and every ε multiplied, by"),
)
# Their ε is a promise alone, or follows from other fields.
_UNSCALED = (Promise, UnaryEncoding)
# By how much ε grows where the claimed one is too small to be multiplied.
_STEP = 0.1


@dataclass(frozen=True)
class AlternativeHypotheses:
    """Alternative hypotheses that leak more and more; strength 1 is the claim itself."""

    claim: Subject
    made: Callable[[float], TradeoffCurve]
    words: Callable[[float], str]

    @cached_property
    def claimed(self) -> TradeoffCurve:
        """What the claim promises, as it is read many times over."""
        return sketched(promised(self.claim))

    @cached_property
    def curve(self) -> Callable[[float], TradeoffCurve]:
        """The curve of each, made once."""
        return cache(self.made)

    @cached_property
    def sketch(self) -> Callable[[float], TradeoffCurve]:
        """The same as it is read many times over, sketched once; the curve itself, if as quick."""
        return cache(lambda strength: sketched(self.curve(strength)))


def alternative(claim: Subject) -> AlternativeHypotheses:
    """The family a claim is held against: its own noise scaled down where it has noise.

    >>> import tellapart as ta
    >>> alternative(ta.Laplace(2)).words(1.2)
    'the claimed mechanism with its noise divided by 1.2'
    >>> alternative(ta.RandomizedResponse(1)).words(1.2)
    'the claimed mechanism with its ε multiplied by 1.2'
    """
    how = next((words for names, words in _WAYS if _scaled(claim, 2.0, names) is not None), None)
    if how is not None and isinstance(claim, Mechanism):
        return AlternativeHypotheses(
            claim,
            lambda strength: leaking_more(claim, strength).curve(),
            lambda strength: f"the claimed mechanism with {how} {short(strength, 3)}",
        )
    curve = curve_of(claim, "claim")
    if isinstance(curve, GaussianCurve):
        mu = curve.mu
        return AlternativeHypotheses(
            claim,
            lambda strength: gaussian(mu * strength),
            lambda strength: (
                f"a mechanism that truly leaks all that μ ≥ {short(mu * strength, 3)} allows"
            ),
        )
    if isinstance(curve, GuaranteeCurve):
        return _of_a_pair(claim, curve.claimed_epsilon, curve.claimed_delta)
    both = curve.symmetrised()
    epsilons = _promised_at(both)
    if epsilons[-1] == 0:
        return _of_a_pair(claim, 0.0, float(both.delta(0.0)))
    deltas = np.asarray(both.delta(epsilons))
    return AlternativeHypotheses(
        claim,
        lambda strength: profile_lines(strength * epsilons, deltas),
        lambda strength: (
            "a mechanism that truly leaks all that the claim allows with every ε multiplied by "
            f"{short(strength, 3)}"
        ),
    )


def _of_a_pair(claim: Subject, epsilon: float, delta: float) -> AlternativeHypotheses:
    """The same δ, and a larger ε."""

    def stronger(strength: float) -> float:
        return epsilon + (strength - 1) * max(epsilon, _STEP)

    return AlternativeHypotheses(
        claim,
        lambda strength: GuaranteeCurve(stronger(strength), delta),
        lambda strength: (
            f"a mechanism that truly leaks all that ε ≥ {short(stronger(strength), 3)} "
            + (f"at δ = {short(delta, 3)} allows" if delta else "allows")
        ),
    )


def _promised_at(curve: TradeoffCurve) -> Array:
    """The ε at which a curve is told by its δ: its own losses, or many from 0 on."""
    if isinstance(curve, AtomicCurve) and curve.losses.size <= _LINES:
        return np.unique(np.append(curve.losses[(curve.losses > 0) & np.isfinite(curve.losses)], 0))
    known = float(curve.delta(math.inf))
    most = min(float(curve.epsilon(known + (1 - known) * _TAIL)), LARGE)
    return np.linspace(0.0, most, _LINES)


def leaking_more(mechanism: Mechanism, strength: float) -> Mechanism:
    """The mechanism with its noise divided, or its ε multiplied, by so much; or as it is."""
    scaled = _scaled(mechanism, strength, _NOISE | _EPSILON)
    return mechanism if scaled is None else scaled


def _scaled(value: Any, strength: float, powers: dict[str, int]) -> Any:
    """The same tree with these fields scaled; None if a part of it has none of them."""
    if not isinstance(value, Mechanism) or not is_dataclass(value) or isinstance(value, _UNSCALED):
        return None
    changed: dict[str, Any] = {}
    for field in fields(value):
        held = getattr(value, field.name)
        if field.name in powers and isinstance(held, float | int) and held > 0:
            changed[field.name] = held * strength ** powers[field.name]
        elif isinstance(held, Mechanism):
            changed[field.name] = _scaled(held, strength, powers)
        elif isinstance(held, tuple) and held and all(isinstance(o, Mechanism) for o in held):
            parts = tuple(_scaled(part, strength, powers) for part in held)
            changed[field.name] = None if any(part is None for part in parts) else parts
    if not changed or any(value is None for value in changed.values()):
        return None
    return replace(value, **changed)


# The strongest alternative tried; whoever misses even that has no power to speak of. And how finely
# the weakest one is told that would have been found, as a share of what it leaks beyond the claim.
# Nearer to the claim none is told: a family may begin beyond a claim that none of it keeps.
STRONGEST, _CLOSE, _NEAREST = 64.0, 0.01, 1e-6
# How far from a rough answer it is looked for first, of what it exceeds 1 by.
_NEAR = 0.03


def weakest_found(
    power: Callable[[float], float], roughly: Callable[[float], float] | None = None
) -> tuple[bool, float]:
    """Whether any strength has a power of 90 %, and which is the least; or the strongest tried.

    A power that is quicker to ask ``roughly`` says where to look. As more leaks are found more
    often, the answer is the same, after a few questions.
    """
    enough = _Enough(power)
    if roughly is not None:
        enough.seek(weakest_found(roughly)[1])
    low, high = 1.0, 1.25
    try:
        while not enough(high):
            deadline.check()
            if high == STRONGEST:
                return False, high
            low, high = high, min(1.5 * high, STRONGEST)
    except NotCertified:  # no curve is known for so little noise
        return False, low
    while high - low > max(_CLOSE * (high - 1), _NEAREST):
        deadline.check()
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return True, high


def planned_finding(
    claim: Subject,
    power: Callable[[float], float],
    roughly: Callable[[float], float] | None = None,
) -> str:
    """Whether a test that is planned finds a leak with a power of 90 %, and which, in words."""
    detected, strength = weakest_found(power, roughly)
    leak = alternative(claim).words(strength)
    return f"{'finds' if detected else 'may miss even'} {leak} (90 % power)"


def against_alternatives(
    family: AlternativeHypotheses, power: Callable[[TradeoffCurve], float]
) -> Callable[[float], float]:
    """The power against each strength of these alternatives, of that against a curve."""
    return lambda strength: power(family.sketch(strength))


class _Enough:
    """Whether a strength has a power of 90 %, asked where no stronger or weaker one tells."""

    def __init__(self, power: Callable[[float], float]) -> None:
        self._power = power
        self._none, self._some = 1.0, math.inf  # known to be too weak, and to be found

    def __call__(self, strength: float) -> bool:
        if self._none < strength < self._some:
            if self._power(strength) >= SURE:
                self._some = strength
            else:
                self._none = strength
        return strength >= self._some

    def seek(self, near: float) -> None:
        """Ask on either side of a likely answer, further and further off."""
        if near <= 1:
            return
        step = _NEAR * (near - 1)
        try:
            while self(near) and near > 1 + step:
                deadline.check()
                near, step = near - step, 2 * step
            step = _NEAR * (near - 1) if math.isinf(self._some) else step
            while math.isinf(self._some) and near + step < STRONGEST:
                deadline.check()
                near, step = near + step, 2 * step
                self(near)
        except NotCertified:
            return
