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

# Parameters are searched from 1e-12 to this; beyond no limit is taken to bind.
_LARGEST = 1e12
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
        return f"{name}({shown})" if shown else name

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
    search = _Search(family, limits, grows_private)
    safe, leaky = _bracket(search)
    binds = leaky != safe and math.isfinite(search.excess(leaky))
    if leaky != safe:
        low, high = solve.falling_root(search.excesses, np.array([leaky]), np.array([safe]))
        search.refuse_wavering(leaky, safe)
        safe, leaky = float(high[0]), float(low[0])
    if whole:
        parameter = _whole(search, safe)
    else:
        parameter = _tight(search, search.parameter(safe), search.parameter(leaky))
    subject = family(parameter)
    curve = curve_of(subject)
    achieved = tuple((limit, limit.value(curve)) for limit in limits)
    binding = max(limits, key=lambda one: one.excess(curve)) if binds else None
    return Choice(parameter, binding, achieved, subject, rounds_down=not grows_private)


class _Search:
    """How far a family's members exceed the limits, by the logarithm of their parameter.

    Turned so that a growing position means more privacy. Where the family has no member the
    excess is infinite: nothing is allowed there.
    """

    def __init__(self, family: Family, limits: list[Limit], grows_private: bool) -> None:
        self.grows_private = grows_private
        self._family, self._limits = family, limits
        self._seen: dict[float, float] = {}
        self._refusal: InvalidArgument | None = None

    def parameter(self, position: float) -> float:
        return math.exp(position if self.grows_private else -position)

    def excess(self, position: float) -> float:
        if position not in self._seen:
            self._seen[position] = self.excess_of(self.parameter(position))
        return self._seen[position]

    def excesses(self, positions: Array) -> Array:
        return np.array([self.excess(float(positions[0]))])

    def excess_of(self, parameter: float) -> float:
        try:
            curve = _curve(self._family, parameter)
        except InvalidArgument as refusal:
            self._refusal = self._refusal or refusal
            return math.inf
        return max(limit.excess(curve) for limit in self._limits)

    def failure(self) -> TellapartError:
        """Why nothing was found: a family that never had a member knows best."""
        if self._refusal is not None and all(map(math.isinf, self._seen.values())):
            return self._refusal
        best = max(position for position, x in self._seen.items() if math.isfinite(x))
        curve = _curve(self._family, self.parameter(best))
        worst = max(self._limits, key=lambda limit: limit.excess(curve))
        return Infeasible(
            f"infeasible: even the most private one tried, with parameter "
            f"{self.parameter(best):.3g}, has {worst.name} = {worst.value(curve):.4g}, and "
            f"{worst} is asked"
        )

    def refuse_wavering(self, leaky: float, safe: float) -> None:
        """The answer is only right for a family and measures that move one way."""
        for position in np.linspace(leaky - 1, safe + 1, 6):
            self.excess(float(position))
        members = [x for _, x in sorted(self._seen.items()) if math.isfinite(x)]
        if any(after > before + _NOISE for before, after in pairwise(members)):
            raise NotCertified(
                "the measures do not fall steadily with the parameter, so no single answer is "
                "safe; use largest for a family that leaks more as it grows, least for one that "
                "leaks less"
            )


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


def _bracket(search: _Search) -> tuple[float, float]:
    """A position that keeps the limits and one that does not; the same if none binds."""
    step, position, edge = 1.0, 0.0, math.log(_LARGEST)
    if search.excess(position) <= 0:
        safe = position
        while position > -edge:
            position = max(position - step, -edge)
            if search.excess(position) > 0:
                return safe, position
            safe, step = position, 2 * step
        return safe, safe
    leaky = position
    while position < edge:
        position = min(position + step, edge)
        if search.excess(position) <= 0:
            return position, leaky
        leaky, step = position, 2 * step
    raise search.failure()


def _tight(search: _Search, safe: float, leaky: float) -> float:
    """The last double, seen from the private side, that keeps the limits as computed."""
    if safe == leaky:
        return safe
    private, revealing = (math.inf, 0.0) if search.grows_private else (0.0, math.inf)
    while search.excess_of(safe) > 0:  # exp() may have moved either end by a few ulp
        safe = math.nextafter(safe, private)
    while search.excess_of(leaky) <= 0:
        safe, leaky = leaky, math.nextafter(leaky, revealing)
    while (middle := (safe + leaky) / 2) not in (safe, leaky):
        if search.excess_of(middle) <= 0:
            safe = middle
        else:
            leaky = middle
    return safe


def _whole(search: _Search, position: float) -> float:
    """The least private whole number that keeps the limits as computed."""
    toward, step = (math.ceil, 1.0) if search.grows_private else (math.floor, -1.0)
    parameter = float(toward(search.parameter(position) - step * 1e-9))
    for _ in range(3):
        if parameter >= 1 and search.excess_of(parameter) <= 0:
            return parameter
        parameter += step
    raise InvalidArgument("limits must leave room for a positive whole parameter of this family")
