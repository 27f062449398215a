"""The least noise, or the largest ε, that keeps every risk within its limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.rounding import to_decimals
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import InvalidArgument, NotCertified, TellapartError
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.risk import Reading, summary

Measure = Callable[..., Any]
Family = Callable[[float], Subject]

# Parameters are searched between these; beyond them no limit is taken to bind.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Values this close are equal: a measure that wavers by less is still monotone.
_NOISE = 1e-9


class Infeasible(TellapartError):
    """Says that no parameter keeps the limit, because perfect privacy does not."""


@dataclass(frozen=True)
class Limit:
    """One risk and how much of it is acceptable. Build one with `at_most` or `at_least`."""

    bound: float
    measure: Measure
    arguments: tuple[tuple[str, Any], ...]
    least: bool = False

    def value(self, curve: TradeoffCurve) -> float:
        """The risk this curve has."""
        found = self.measure(curve, **dict(self.arguments))
        return _checks.number(**{f"the value of {self.name}": found})

    def excess(self, curve: TradeoffCurve) -> float:
        """How far the risk lies beyond the limit; at most 0 where it is kept."""
        off = self.value(curve) - self.bound
        return -off if self.least else off

    @property
    def name(self) -> str:
        """What is limited, as it was asked for."""
        name = getattr(self.measure, "__name__", repr(self.measure))
        shown = ", ".join(f"{key}={_short(value)}" for key, value in self.arguments)
        return f"{name}({shown})"

    def __str__(self) -> str:
        return f"{self.name} {'≥' if self.least else '≤'} {self.bound:g}"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else repr(value)


def at_most(bound: float, measure: Measure, **arguments: Any) -> Limit:
    """A risk that may not exceed this: ``at_most(0.1, risk.advantage)``."""
    return _limit(bound, measure, arguments, least=False)


def at_least(bound: float, measure: Measure, **arguments: Any) -> Limit:
    """A number that may not fall below this: ``at_least(0.4, risk.bayes_error, prior=0.5)``."""
    return _limit(bound, measure, arguments, least=True)


def _limit(bound: float, measure: Measure, arguments: dict[str, Any], least: bool) -> Limit:
    if not callable(measure):
        _checks.refuse("measure", "be a function of a curve, such as risk.advantage", measure)
    return Limit(_checks.finite(bound=bound), measure, tuple(arguments.items()), least)


@dataclass(frozen=True)
class Choice:
    """A parameter that keeps every limit, what binds it, and what it achieves.

    The next less private double breaks ``binding``; None if no limit binds at all. ``subject`` is
    what the family makes of the parameter, ``scope`` says for whom the number holds.
    """

    parameter: float
    binding: Limit | None
    achieved: tuple[tuple[Limit, float], ...]
    subject: Subject
    rounds_down: bool

    @property
    def curve(self) -> TradeoffCurve:
        """The curve that is left to an attacker."""
        return curve_of(self.subject)

    @property
    def scope(self) -> str:
        """Whether the number is for one mechanism or for all that keep a promise."""
        return scope(self.subject)

    def rounded(self, digits: int) -> float:
        """The parameter with so many decimals, rounded to the private side."""
        return to_decimals(self.parameter, _checks.whole(0, digits=digits), not self.rounds_down)

    def summary(self, **arguments: float) -> tuple[Reading, ...]:
        """What the choice achieves on every other measure: `risk.summary` of its curve."""
        return summary(self.curve, **arguments)

    def __str__(self) -> str:
        bound = "no limit binds" if self.binding is None else f"binding: {self.binding}"
        return f"{self.parameter:.6g} ({bound}; {self.scope})"


def largest(family: Family, limits: Sequence[Limit], *, whole: bool = False) -> Choice:
    """The largest ε (or rate, or number of steps) of a family that keeps every limit.

    ``family`` turns the parameter into a mechanism or curve that leaks more as it grows.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> found = largest(ta.Laplace.with_epsilon, [at_most(0.76, risk.f_score, weight=1)])
    >>> found.rounded(4)
    1.4086
    """
    return _choose(family, limits, grows_private=False, whole=whole)


def least(family: Family, limits: Sequence[Limit], *, whole: bool = False) -> Choice:
    """The least noise of a family that keeps every limit.

    ``family`` turns the parameter into a mechanism or curve that leaks less as it grows.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> least(ta.Gaussian, [at_most(0.1, risk.advantage)]).rounded(4)
    3.979
    """
    return _choose(family, limits, grows_private=True, whole=whole)


def _choose(family: Family, limits: Sequence[Limit], grows_private: bool, whole: bool) -> Choice:
    limits = _checked(family, limits)
    _refuse_infeasible(limits)
    # Search in log-parameter, turned so that growing means more private.
    sign = 1.0 if grows_private else -1.0

    def curve_at(position: float) -> TradeoffCurve:
        return _curve(family, math.exp(sign * position))

    def excess(positions: Array) -> Array:
        curve = curve_at(float(positions[0]))
        return np.array([max(limit.excess(curve) for limit in limits)])

    edge = math.log(_LARGEST)
    start = np.zeros(1)
    safe, leaky = _bracket(excess, start, edge)
    _refuse_wavering(excess, leaky, safe)
    if leaky == safe:
        parameter = math.exp(sign * safe)
    else:
        _, high = solve.falling_root(excess, np.array([leaky]), np.array([safe]))
        parameter = math.exp(sign * float(high[0]))
    parameter = _settled(family, limits, parameter, grows_private, whole)
    subject = family(parameter)
    curve = curve_of(subject)
    achieved = tuple((limit, limit.value(curve)) for limit in limits)
    binding = None if leaky == safe else max(limits, key=lambda one: one.excess(curve))
    return Choice(parameter, binding, achieved, subject, rounds_down=not grows_private)


def _checked(family: Family, limits: Sequence[Limit]) -> list[Limit]:
    if not callable(family):
        _checks.refuse("family", "be a function from a parameter to a mechanism", family)
    listed = list(limits) if isinstance(limits, Sequence) else []
    if not listed or not all(isinstance(one, Limit) for one in listed):
        _checks.refuse("limits", "be a list of choose.at_most(...) or choose.at_least(...)", limits)
    return listed


def _curve(family: Family, parameter: float) -> TradeoffCurve:
    made = family(parameter)
    if not isinstance(made, Subject):
        _checks.refuse("family", "return a mechanism or a curve", made)
    return curve_of(made)


def _refuse_infeasible(limits: list[Limit]) -> None:
    perfect = nothing()
    for limit in limits:
        if limit.excess(perfect) > 0:
            raise Infeasible(
                f"infeasible: even perfect privacy (ε = 0) has {limit.name} = "
                f"{limit.value(perfect):.4g}, and {limit} is asked"
            )


def _bracket(excess: solve.Falling, start: Array, edge: float) -> tuple[float, float]:
    """A position that keeps the limits and one that does not; the same if none binds."""
    step, position = 1.0, float(start[0])
    if excess(start)[0] <= 0:
        safe = position
        while position > -edge:
            position = max(position - step, -edge)
            if excess(np.array([position]))[0] > 0:
                return safe, position
            safe, step = position, 2 * step
        return safe, safe
    leaky = position
    while position < edge:
        position = min(position + step, edge)
        if excess(np.array([position]))[0] <= 0:
            return position, leaky
        leaky, step = position, 2 * step
    raise Infeasible("infeasible: no parameter up to 1e12 keeps the limits")


def _refuse_wavering(excess: solve.Falling, leaky: float, safe: float) -> None:
    """The answer is only right for a family and measures that move one way."""
    if leaky == safe:
        return
    positions = np.linspace(leaky - 1, safe + 1, 9)
    values = [float(excess(np.array([x]))[0]) for x in positions]
    if any(after > before + _NOISE for before, after in pairwise(values)):
        raise NotCertified(
            "the measures do not fall steadily with the parameter, so no single answer is safe; "
            "use largest for a family that leaks more as it grows, least for one that leaks less"
        )


def _settled(
    family: Family, limits: list[Limit], parameter: float, grows_private: bool, whole: bool
) -> float:
    """A parameter, whole if asked, that does keep the limits as computed."""
    if whole:
        parameter = float(
            math.ceil(parameter - 1e-9) if grows_private else math.floor(parameter + 1e-9)
        )
    toward = math.inf if grows_private else 0.0
    for _ in range(200):
        if parameter <= 0:
            break
        curve = _curve(family, parameter)
        if all(limit.excess(curve) <= 0 for limit in limits):
            return parameter
        if whole:
            parameter += 1.0 if grows_private else -1.0
        else:
            parameter = math.nextafter(parameter, toward)
    raise InvalidArgument("limits must leave room for a positive parameter of this family")
