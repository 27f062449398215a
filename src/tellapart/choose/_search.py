"""The search for a parameter: bracket, root, and the last double that is safe."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.choose.limit import FORMULAS, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import InvalidArgument, NotCertified, TellapartError
from tellapart.mechanisms.subject import Subject, curve_of

Family = Callable[[float], Subject]

# Parameters are searched from 1e-12 to this; beyond no limit is taken to bind.
_LARGEST = 1e12
# Values this close are equal: a measure that wavers by less is still monotone.
_NOISE = 1e-9
_COARSE_NOISE = 1e-5


class Infeasible(TellapartError):
    """Says that no parameter keeps the limit, because perfect privacy does not."""


class Search:
    """How far a family's members exceed the limits.

    Where the family has no member the excess is infinite: nothing is allowed there.
    """

    def __init__(self, family: Family, limits: list[Limit], grows_private: bool) -> None:
        self.grows_private = grows_private
        self._family, self._limits = family, limits
        self._seen: dict[float, float] = {}
        self.accuracy = 0.0  # the worst of the curves seen
        self._refusal: InvalidArgument | None = None

    def parameter(self, position: float) -> float:
        """By its logarithm, turned so that a growing position means more privacy."""
        return math.exp(position if self.grows_private else -position)

    def excess(self, parameter: float) -> float:
        if parameter not in self._seen:
            deadline.check()
            curve = self.curve(parameter)
            excesses = (math.inf,) if curve is None else (x.excess(curve) for x in self._limits)
            self._seen[parameter] = max(excesses)
        return self._seen[parameter]

    def excesses(self, positions: Array) -> Array:
        return np.array([self.excess(self.parameter(float(positions[0])))])

    def curve(self, parameter: float) -> TradeoffCurve | None:
        """The member's curve; None where the family has no member."""
        try:
            found = _curve(self._family, parameter)
            self.accuracy = max(self.accuracy, found._accuracy)
            return found
        except InvalidArgument as refusal:
            self._refusal = self._refusal or refusal
            return None

    def broken_at(self, parameter: float) -> Limit | None:
        """The limit that is exceeded most; None where there is no member to exceed it."""
        curve = self.curve(parameter)
        return None if curve is None else max(self._limits, key=lambda one: one.excess(curve))

    def failure(self) -> TellapartError:
        """Why nothing was found: a family that never had a member knows best."""
        members = [x for x in self._seen if math.isfinite(self._seen[x])]
        if self._refusal is not None and not members:
            return self._refusal
        self.refuse_wavering()
        # Against a limit near 0 all may exceed it by more than a double holds.
        members = members or list(self._seen)
        best = max(members) if self.grows_private else min(members)
        curve = _curve(self._family, best)
        worst = max(self._limits, key=lambda limit: limit.excess(curve))
        return Infeasible(
            f"infeasible: even the most private one tried, with parameter {best:.3g}, has "
            f"{worst.name} = {worst.value(curve):.4g}, and {worst} is asked"
        )

    def refuse_gaps(self, safe: float, beyond: float) -> None:
        """A family that ends here must not go on further: whole numbers are asked for as such."""
        if self.curve(beyond) is not None or self._refusal is None:
            return
        side = 1 if beyond > safe else -1
        for further in (math.floor(safe) + side, math.floor(safe) + 2 * side):
            if further > 0 and self.curve(float(further)) is not None:
                said = f"{self._refusal}; for whole numbers only, ask with whole=True"
                raise InvalidArgument(said) from self._refusal

    def refuse_wavering(self) -> None:
        """The answer is only right for a family and measures that move one way."""
        order = sorted(self._seen.items(), reverse=not self.grows_private)
        members = [x for _, x in order if math.isfinite(x)]
        noise = _NOISE if self.accuracy <= FORMULAS else _COARSE_NOISE
        if any(after > before + noise for before, after in pairwise(members)):
            raise NotCertified(
                "the measures do not fall steadily with the parameter, so no single answer is "
                "safe; use largest for a family that leaks more as it grows, least for one that "
                "leaks less"
            )


def _curve(family: Family, parameter: float) -> TradeoffCurve:
    made = family(parameter)
    if not isinstance(made, Subject):
        _checks.refuse("family", "return a mechanism or a curve", made)
    return curve_of(made)


def real(search: Search) -> tuple[float, float | None]:
    """The least private parameter that keeps the limits, and the next, which does not.

    That is the next double, or about ten digits on where curves have no more than that.
    """
    safe, leaky = _bracket(search)
    if safe == leaky:
        return search.parameter(safe), None
    coarse = search.accuracy > FORMULAS
    narrow = 10 * search.accuracy if coarse else 0.0
    low, high = solve.falling_root(search.excesses, np.array([leaky]), np.array([safe]), narrow)
    if coarse:
        found = _clear(search, float(high[0]), narrow), search.parameter(float(low[0]))
    else:
        for position in (leaky - 0.25, safe + 0.25):  # seen, for the sake of monotonicity
            search.excess(search.parameter(position))
        found = _tight(search, search.parameter(float(high[0])), search.parameter(float(low[0])))
    search.refuse_gaps(*found)
    return found


def _clear(search: Search, position: float, step: float) -> float:
    """A parameter that keeps the limits by more than its curves may be off."""
    for _ in range(60):
        parameter = search.parameter(position)
        if search.excess(parameter) <= -search.accuracy:
            return parameter
        position, step = position + step, 2 * step
    raise search.failure()


def _bracket(search: Search) -> tuple[float, float]:
    """A position that keeps the limits and one that does not; the same if none binds."""
    edge = math.log(_LARGEST)

    def excess(position: float) -> float:
        return search.excess(search.parameter(position))

    step, position = 0.5, _first_member(search, edge)
    if excess(position) <= 0:
        safe = position
        while position > -edge:
            position = max(position - step, -edge)
            if excess(position) > 0:
                return safe, position
            safe, step = position, 2 * step
        return safe, safe
    leaky = position
    while position < edge:
        position = min(position + step, edge)
        if excess(position) <= 0:
            return position, leaky
        leaky, step = position, 2 * step
    raise search.failure()


def _first_member(search: Search, edge: float) -> float:
    """A position where the family has a member, as near to the parameter 1 as can be found."""
    for size in np.arange(0.0, edge, 0.25):
        for position in (float(size), -float(size)):
            if math.isfinite(search.excess(search.parameter(position))):
                return position
    raise search.failure()


def _tight(search: Search, safe: float, leaky: float) -> tuple[float, float]:
    """The last double, seen from the private side, that keeps the limits, and the next."""
    private, revealing = (math.inf, 0.0) if search.grows_private else (0.0, math.inf)
    while search.excess(safe) > 0:  # exp() may have moved either end by a few ulp
        safe = math.nextafter(safe, private)
    while search.excess(leaky) <= 0:
        safe, leaky = leaky, math.nextafter(leaky, revealing)
    while (middle := (safe + leaky) / 2) not in (safe, leaky):
        if search.excess(middle) <= 0:
            safe = middle
        else:
            leaky = middle
    return safe, leaky


def whole(search: Search) -> tuple[float, float | None]:
    """The least private whole number that keeps the limits, and its neighbour, which does not."""
    sizes = [2**k for k in range(41)]  # up to about 1e12
    members = (x for x in sizes if math.isfinite(search.excess(float(x))))
    first = next(members, None)
    if first is None:
        raise search.failure()
    none = first // 2  # the least member may lie between powers of two
    while first - none > 1:
        middle = (first + none) // 2
        if math.isfinite(search.excess(float(middle))):
            first = middle
        else:
            none = middle
    private, revealing = (sizes[-1], first) if search.grows_private else (first, sizes[-1])
    if search.excess(float(private)) > 0:
        raise search.failure()
    if search.excess(float(revealing)) <= 0:
        return float(revealing), None
    while abs(private - revealing) > 1:
        # By digits while they differ, then by halves.
        middle = math.isqrt(private * revealing)
        if middle in (private, revealing) or 2 * min(private, revealing) > max(private, revealing):
            middle = (private + revealing) // 2
        if search.excess(float(middle)) <= 0:
            private = middle
        else:
            revealing = middle
    return float(private), float(revealing)
