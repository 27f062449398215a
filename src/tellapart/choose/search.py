"""Root-finding for a calibration: a bracket, a root, and the last double that is safe."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.choose.limit import BRACKETS, FORMULAS, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee, nothing
from tellapart.errors import Infeasible, InvalidArgument, NotCertified, TellapartError
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import Sampled, parts_of
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.risk.decisions import max_posterior

Family = Callable[[float], Subject]

# Every parameter that a double holds in full is searched, for a family may have any unit.
LEAST, MOST = 2.0**-1022, 2.0**1022
_EDGE = math.log(MOST)
# A limit nearer to its baseline than this may be kept by rounding to it; and by underflow, or where
# the baseline is not 0 by rounding, a curve of less advantage than these may look like none.
_DIGITS, _UNDERFLOW, _FAINT = 1e-12, 1e-290, 1e-7
# Values this close are equal: a measure that wavers by less is still monotone.
_NOISE = 1e-9
_COARSE_NOISE = 1e-5
# By so many times its accuracy may the ε of a curve made of brackets lie above the truth.
_GAP = 10
# Steps from the parameter 1 on, by logarithms. The first ones are small: curves of very little
# noise take longest. All together they lead to the other end from anywhere.
_STEPS = [0.5] * 4 + [2.0**k for k in range(11)]
# Whole numbers are tried at these first.
_SIZES: list[int] = [2**k for k in range(1023)]
# Where curves end, a search for one that still answers goes on to this relative width.
_NARROW = 1e-3


class Trial(NamedTuple):
    """How far one member exceeds the limits: at most ``excess``, and less by at most ``slack``.

    ``curve`` is what shows it; None where the family has no member, or that has no curve.
    """

    curve: TradeoffCurve | None
    excess: float
    slack: float
    member: bool = True

    @property
    def known(self) -> bool:
        """Whether the family has a member here, and that a curve."""
        return self.curve is not None


class ParameterSearch:
    """How far a family's members exceed the limits.

    Where the family has no member the excess is infinite: nothing is allowed there. So it is where
    a member has no curve: as far as anyone can tell it has too little noise.
    """

    def __init__(
        self,
        family: Family,
        limits: list[Limit],
        grows_private: bool,
        known: Mapping[float, TradeoffCurve] | None = None,
    ) -> None:
        self.grows_private = grows_private
        self._family, self._limits = family, limits
        # Curves of members that another search has seen, with other limits on the same family.
        self._known = dict(known or {})
        side = 1 if grows_private else -1
        self._positions = {side * math.log(x): x for x in self._known}
        self._seen: dict[float, Trial] = {}
        self.accuracy = 0.0  # the worst of the curves seen
        self._refusal: InvalidArgument | None = None
        self._doubt: NotCertified | None = None

    def parameter(self, position: float) -> float:
        """By its logarithm, turned so that a growing position means more privacy."""
        if position in self._positions:
            return self._positions[position]
        if abs(position) >= _EDGE:
            return MOST if (position > 0) == self.grows_private else LEAST
        return math.exp(position if self.grows_private else -position)

    def trial(self, parameter: float) -> Trial:
        if parameter not in self._seen:
            deadline.check()
            self._seen[parameter] = self._tried(parameter)
        return self._seen[parameter]

    def excess(self, parameter: float) -> float:
        return self.trial(parameter).excess

    def excesses(self, positions: Array) -> Array:
        return np.array([self.excess(self.parameter(float(positions[0])))])

    @property
    def curves(self) -> dict[float, TradeoffCurve]:
        """The curves of all members seen, by parameter."""
        seen = {x: trial.curve for x, trial in self._seen.items() if not math.isinf(trial.slack)}
        return {x: curve for x, curve in seen.items() if curve is not None}

    def known_bracket(self) -> tuple[float, float] | None:
        """Two neighbours of the members known before, of which one keeps the limits."""
        order = sorted(self._positions)
        kept = [self.excess(self._positions[position]) <= 0 for position in order]
        first = next((k for k, keeps in enumerate(kept) if keeps), 0)
        return (order[first], order[first - 1]) if first and all(kept[first:]) else None

    def _tried(self, parameter: float) -> Trial:
        if parameter in self._known:
            self.accuracy = max(self.accuracy, self._known[parameter]._accuracy)
            return self._judged(self._known[parameter])
        try:
            subject = self._family(parameter)
        except InvalidArgument as refusal:
            self._refusal = self._refusal or refusal
            return Trial(None, math.inf, 0.0, member=False)
        if not isinstance(subject, Subject):
            _checks.refuse("family", "return a mechanism or a curve", subject)
        bare = noiseless(subject)
        if bare is not None and (kept := self._judged(bare)).excess <= 0:  # so with any noise
            return kept._replace(slack=math.inf)
        try:
            curve = curve_of(subject)
            trial = self._judged(curve)
        except InvalidArgument as refusal:
            self._refusal = self._refusal or refusal
            return Trial(None, math.inf, 0.0, member=False)
        except NotCertified as doubt:
            self._doubt = self._doubt or doubt
            return Trial(None, math.inf, math.inf)
        self.accuracy = max(self.accuracy, curve._accuracy)
        return trial

    def _judged(self, curve: TradeoffCurve) -> Trial:
        excess, place = max((limit.excess(curve), -k) for k, limit in enumerate(self._limits))
        return Trial(curve, excess, _slack(curve, self._limits[-place]))

    def broken_at(self, parameter: float) -> Limit | None:
        """The limit that is exceeded most; None where there is no member to exceed it."""
        curve = self.trial(parameter).curve
        return None if curve is None else max(self._limits, key=lambda limit: limit.excess(curve))

    def failure(self) -> TellapartError:
        """Why nothing was found: a family that never had a member knows best."""
        members = [x for x, trial in self._seen.items() if trial.member]
        if self._refusal is not None and not members:
            return self._refusal
        self.refuse_wavering()
        best = max(members) if self.grows_private else min(members)
        curve = self.trial(best).curve
        if curve is None:
            return self._doubt or NotCertified("no member of the family has a curve")
        worst = max(self._limits, key=lambda limit: limit.excess(curve))
        if worst.excess(nothing()) >= 0 or worst.excess(curve) <= 0:
            return beyond_perfect(worst)
        had, asked = worst.beside(worst.value(curve))
        if worst.measure is max_posterior and worst.value(curve) == 1:
            return Infeasible(
                f"infeasible: no parameter keeps {asked}: some outputs, however rare, make "
                "membership as good as certain, as with Gaussian noise or any δ > 0; use laplace "
                "or discrete-laplace, or limit the PPV at an FPR (--max-ppv)"
            )
        if worst.value(curve) == math.inf:
            return Infeasible(
                f"infeasible: no parameter keeps {asked}: it is infinite at every one tried, as ε "
                "is at δ = 0 with Gaussian noise; take a larger δ (--delta 1e-5), or laplace"
            )
        return Infeasible(
            f"infeasible: even the most private one tried, with parameter {short(best, 3)}, has "
            f"{worst.name} = {had}, and {asked} is asked"
        )

    def refuse_baselines(self) -> None:
        """Refuse limits that perfect privacy keeps by no more than these curves may be off."""
        if self.accuracy <= FORMULAS:
            return
        for limit in self._limits:
            if limit.excess(nothing()) > -self.accuracy:
                raise beyond_perfect(limit)

    def refuse_rounding(self) -> None:
        """Refuse limits at their baseline that none is seen to keep but by rounding to it.

        With enough noise every risk is its baseline to the last digit. A family truly reaches that
        only where some member does which leaks enough to be seen.
        """
        curves = [trial.curve for trial in self._seen.values() if trial.curve is not None]
        for limit in self._limits:
            if at_baseline(limit.excess(nothing())):
                kept = (curve for curve in curves if limit.excess(curve) <= 0)
                if not any(seen_to_leak(curve, limit) for curve in kept):
                    raise beyond_perfect(limit)

    def refuse_gaps(self, safe: float, beyond: float) -> None:
        """A family that ends here must not go on further: whole numbers are asked for as such."""
        if self.trial(beyond).member or self._refusal is None:
            return
        side = 1 if beyond > safe else -1
        for further in (math.floor(safe) + side, math.floor(safe) + 2 * side):
            on = side * (further - beyond) > 0  # beyond 2^53 every double is a whole number
            if on and further > 0 and self.trial(float(further)).member:
                said = f"{self._refusal}; for whole numbers only, ask with whole=True"
                raise InvalidArgument(said) from self._refusal

    def refuse_unknown(self, safe: float, beyond: float) -> None:
        """Where what lies beyond the answer has no curve, nobody knows that it is the answer."""
        trial = self.trial(beyond)
        if trial.known or not trial.member:
            return
        raise NotCertified(
            f"the parameter {short(safe)} keeps the limits, but no curve is known for "
            f"{short(beyond)} and beyond, which may keep them, too"
        ) from self._doubt

    def refuse_wavering(self) -> None:
        """The answer is only right for a family and measures that move one way.

        A curve from below may lie further below at one parameter than at the next: only what
        exceeds its slack counts.
        """
        order = sorted(self._seen.items(), reverse=not self.grows_private)
        members = [trial for _, trial in order if math.isfinite(trial.excess)]
        noise = _NOISE if self.accuracy <= FORMULAS else _COARSE_NOISE
        least = accumulate((trial.excess for trial in members), min)
        pairs = zip(least, members[1:], strict=False)
        if any(trial.excess - trial.slack > before + noise for before, trial in pairs):
            for limit in self._limits:  # of so small a difference the last digits waver by much
                if 0 < abs(limit.bound - limit.value(nothing())) <= _DIGITS:
                    raise beyond_perfect(limit)
            raise NotCertified(
                "cannot solve for the parameter: the risks do not change in one direction with "
                "it; use largest for a family that leaks more as it grows, least for one that "
                "leaks less"
            )


def at_baseline(excess: float) -> bool:
    """Whether a limit that perfect privacy exceeds by so much may be kept by rounding alone."""
    return excess > -_DIGITS


def seen_to_leak(curve: TradeoffCurve, limit: Limit) -> bool:
    """Whether the risk would be seen to exceed its baseline, were it to do so for this curve."""
    return float(curve.delta(0.0)) >= (_FAINT if limit.value(nothing()) else _UNDERFLOW)


def beyond_perfect(limit: Limit) -> TellapartError:
    """What is said of a limit at its baseline, or beyond: without any output it is that large."""
    had, asked = limit.beside(limit.value(nothing()))
    more = "less" if limit.least else "more"
    if limit.excess(nothing()) < 0:
        return NotCertified(
            f"{asked} lies too near to what perfect privacy (ε = 0) has, {had}, for the digits of "
            f"these curves; ask for {more}"
        )
    reached = ", which none here is shown to reach" if limit.excess(nothing()) == 0 else ""
    return Infeasible(
        f"infeasible: even perfect privacy (ε = 0) has {limit.stated(f'= {had}', where=False)}"
        f"{reached}, and {asked} is asked; ask for {more} than {had}"
    )


def _slack(curve: TradeoffCurve, limit: Limit) -> float:
    """How far the excess may lie above the truth, for a curve made of brackets.

    Such curves have an ε of at most a gap·max(1, ε) too much, and with it a chance p, or one whose
    odds are raised, that is at most gap·p too large. The excess is the logarithm of either.
    """
    if curve._accuracy <= BRACKETS:
        return 0.0
    gap = _GAP * curve._accuracy * max(1.0, abs(limit.bound))
    return gap / limit.bound if limit.bound > 0 else gap


def noiseless(subject: Subject) -> TradeoffCurve | None:
    """What samples alone leave to an attacker, whatever the noise; None where there are none.

    Outputs are made of the samples, and those of both worlds can be drawn alike until one has the
    record: no attack has TPR − FPR above the chance that any has it.
    """
    steps = parts_of(subject) if isinstance(subject, Mechanism) else ()
    rates = [(step.rate if isinstance(step, Sampled) else 1.0, count) for step, count in steps]
    if not rates or any(rate == 1 for rate, _ in rates):
        return None
    missed = math.fsum(count * math.log1p(-rate) for rate, count in rates)
    return guarantee(0.0, -math.expm1(missed))


def real(search: ParameterSearch) -> tuple[float, float | None]:
    """The least private parameter that keeps the limits, and the next, which does not.

    That is the next double, or about ten digits on where curves have no more than that.
    """
    safe, leaky = _known(search, *_bracket(search))
    if safe == leaky:
        return search.parameter(safe), None
    coarse = search.accuracy > FORMULAS
    # A curve made of brackets has no more digits than its gap.
    narrow = min(10 * search.accuracy, _NARROW / 10) if coarse else 0.0
    low, high = solve.falling_root(search.excesses, np.array([leaky]), np.array([safe]), narrow)
    if coarse:
        ends = _clear(search, float(high[0]), narrow), search.parameter(float(low[0]))
    else:
        for position in (leaky - 0.25, safe + 0.25):  # seen, for the sake of monotonicity
            search.excess(search.parameter(position))
        ends = _tight(search, search.parameter(float(high[0])), search.parameter(float(low[0])))
    search.refuse_gaps(*ends)
    return ends


def _known(search: ParameterSearch, safe: float, leaky: float) -> tuple[float, float]:
    """The same two positions, or nearer ones, of which the leaky one has a curve."""
    while safe != leaky and search.trial(search.parameter(leaky)).member:
        if search.trial(search.parameter(leaky)).known:
            break
        if safe - leaky < _NARROW:
            search.refuse_unknown(search.parameter(safe), search.parameter(leaky))
        middle = (safe + leaky) / 2
        if search.excess(search.parameter(middle)) <= 0:
            safe = middle
        else:
            leaky = middle
    return safe, leaky


def _clear(search: ParameterSearch, position: float, step: float) -> float:
    """A parameter that keeps the limits by more than its curves may be off."""
    while position <= _EDGE:
        parameter = search.parameter(position)
        if search.excess(parameter) <= -search.accuracy:
            return parameter
        position, step = position + step, 2 * step
    raise search.failure()


def _bracket(search: ParameterSearch) -> tuple[float, float]:
    """A position that keeps the limits and one that does not; the same if none binds."""

    def excess(position: float) -> float:
        return search.excess(search.parameter(position))

    if (between := search.known_bracket()) is not None:
        search.refuse_baselines()
        return between
    position = _first_member(search)
    if not math.isinf(search.trial(search.parameter(position)).slack):  # not by samples alone
        search.refuse_baselines()
    if excess(position) <= 0:
        safe = position
        for step in _STEPS:
            position = max(position - step, -_EDGE)
            if excess(position) > 0:
                return safe, position
            safe = position
        return safe, safe
    leaky = position
    for step in _STEPS:
        position = min(position + step, _EDGE)
        if excess(position) <= 0:
            return position, leaky
        leaky = position
    raise search.failure()


def _first_member(search: ParameterSearch) -> float:
    """A position where the family has a member, as near to the parameter 1 as can be found."""
    for size in np.arange(0.0, _EDGE, 0.25):
        for position in (float(size), -float(size)):
            if search.trial(search.parameter(position)).member:
                return position
    raise search.failure()


def _tight(search: ParameterSearch, safe: float, leaky: float) -> tuple[float, float]:
    """The last double, seen from more privacy, that keeps the limits, and the next."""
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


def whole(search: ParameterSearch) -> tuple[float, float | None]:
    """The least private whole number that keeps the limits, and its neighbour, which does not."""
    first = _first_whole(search)
    private, revealing = _around(search, first)
    if private == revealing:
        return float(private), None
    while abs(private - revealing) > 1:
        # By digits while they differ, then by halves.
        middle = math.isqrt(private * revealing)
        if middle in (private, revealing) or 2 * min(private, revealing) > max(private, revealing):
            middle = (private + revealing) // 2
        if search.excess(float(middle)) <= 0:
            private = middle
        else:
            revealing = middle
    search.refuse_unknown(float(private), float(revealing))
    return float(private), float(revealing)


def _first_whole(search: ParameterSearch) -> int:
    """The least whole number of which the family has a member."""
    members = (x for x in _SIZES if search.trial(float(x)).member)
    first = next(members, None)
    if first is None:
        raise search.failure()
    # The least member may lie between powers of two.
    return solve.first_whole(lambda x: search.trial(float(x)).member, first // 2, first)


def _around(search: ParameterSearch, first: int) -> tuple[int, int]:
    """A number that keeps the limits and one that does not, far apart; the same if none binds.

    Doubled from the least on, so that numbers far beyond the answer are never tried.
    """
    before = first
    for size in [first, *(x for x in _SIZES if x > first)]:
        kept = search.excess(float(size)) <= 0
        if kept and search.grows_private:
            return size, before
        if not kept and not search.grows_private:
            if size == first:
                break
            return before, size
        before = size
    if search.grows_private or search.excess(float(first)) > 0:
        raise search.failure()
    return before, before
