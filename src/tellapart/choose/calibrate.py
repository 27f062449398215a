"""Noise calibration: the least noise, or the largest ε, that keeps every risk within its limit."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tellapart import _checks
from tellapart._numeric.text import short, to_decimals, to_digits
from tellapart._shown import Plotted
from tellapart.choose.limit import FORMULAS, Limit, checked_limits
from tellapart.choose.search import Family, ParameterSearch, beyond_perfect, noiseless, real
from tellapart.choose.search import whole as whole_number
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import NotCertified
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.neighbours import Order
from tellapart.risk import summary
from tellapart.risk.attackers import ABSENT_FIRST
from tellapart.risk.catalogue import Reading

# Shares of the largest advantage at which brackets are tried, where a limit names no δ.
_SHARES = (0.9, 0.3, 0.03, 1e-3, 1e-5, 1e-8)
_TRIES = 16
_GAP = 3e-5
_ROUGH = 1e-2


def confirmed(
    family: Family, limits: Sequence[Limit], parameter: float, grows_private: bool, whole: bool
) -> float:
    """The parameter, or one slightly more private, whose certified curves keep every limit."""
    subject = family(parameter)
    if curve_of(subject)._accuracy <= FORMULAS:
        return parameter
    deltas = [_tightest(_composition(subject), limit) for limit in limits]
    orders = [_order_of(_composition(subject), limit) for limit in limits]
    move = 0.0
    for _ in range(_TRIES):
        trial = parameter * (1 + move) if grows_private else parameter / (1 + move)
        if whole:
            trial = float(math.ceil(trial) if grows_private else math.floor(trial))
        made = _composition(family(trial))
        excess = max(
            limit.excess(_lower(made, delta, order))
            for limit, delta, order in zip(limits, deltas, orders, strict=True)
        )
        if excess <= 0:
            return trial
        # A risk moves about as fast as its parameter.
        move = max(2 * move, excess, 1 / parameter if whole else 0.0)
    raise NotCertified(f"no certified curve near {short(parameter, 10)} keeps the limits")


def _composition(subject: Subject) -> Combined:
    if not isinstance(subject, Combined):
        raise NotCertified("a curve alone cannot be certified: let the family return the mechanism")
    return subject


def _order_of(subject: Combined, limit: Limit) -> Order | None:
    """The order in which a limit's measure reads a curve; None for both."""
    return Order.PRESENT if limit.measure in ABSENT_FIRST and subject.neighbours.one_sided else None


def _lower(subject: Combined, delta: float, order: Order | None) -> TradeoffCurve:
    try:
        return subject.bracket(delta, _GAP, order).lower
    except NotCertified as doubt:
        raise NotCertified(
            f"brackets as narrow as {short(_GAP)} are out of reach for this composition"
        ) from doubt


def _tightest(subject: Combined, limit: Limit) -> float:
    """The δ whose bracket tells most about a limit, by rough brackets."""
    named = dict(limit.arguments).get("delta")
    if named is not None:
        return float(named)
    most, order = float(curve_of(subject).delta(0.0)), _order_of(subject, limit)
    _lower(
        subject, _SHARES[1] * most, order
    )  # where fine brackets are out of reach, rough ones are slow
    return min(
        (share * most for share in _SHARES),
        key=lambda delta: limit.excess(subject.bracket(delta, _ROUGH, order).lower),
    )


@dataclass(frozen=True)
class Choice(Plotted):
    """A parameter that keeps every limit, its binding constraint, and what it achieves.

    The next less private number breaks ``binding``; None if no limit binds at all. ``subject`` is
    what the family makes of the parameter, ``scope`` says for whom the number holds. Compositions
    are right to about nine digits, or, ``certified``, conservative with every error counted.
    ``tried`` are the curves seen on the way, by parameter.
    ``name`` is what the family calls the parameter.
    """

    parameter: float
    binding: Limit | None
    achieved: tuple[tuple[Limit, float], ...]
    subject: Subject
    rounds_down: bool
    certified: bool = False
    tried: Mapping[float, TradeoffCurve] = field(default_factory=dict, repr=False, compare=False)
    name: str = "parameter"

    @property
    def curve(self) -> TradeoffCurve:
        """The curve that is left to an attacker."""
        return curve_of(self.subject)

    @property
    def scope(self) -> str:
        """Whether the number is for one mechanism or for all with a guarantee."""
        return scope(self.subject)

    def rounded(self, digits: int) -> float:
        """The parameter with so many decimals, rounded conservatively."""
        places = _checks.whole(0, 300, digits=digits)
        return to_decimals(self.parameter, places, not self.rounds_down)

    @property
    def short(self) -> float:
        """Four decimals, rounded conservatively; four digits where those would be too coarse."""
        up = not self.rounds_down
        if self.parameter < 0.01:
            return to_digits(self.parameter, 4, up)
        return to_decimals(self.parameter, 4, up)

    def summary(self, **arguments: float) -> tuple[Reading, ...]:
        """What the choice achieves on every other measure: `risk.summary` of its curve."""
        return summary(self.curve, **arguments)

    def __str__(self) -> str:
        bound = f"binding constraint: {'none' if self.binding is None else self.binding}"
        shown = to_digits(self.parameter, 6, not self.rounds_down)
        return f"{short(shown)} ({bound}; {self.scope})"

    def __repr__(self) -> str:
        return f"Choice({self.name}={self.parameter!r}, binding={self.binding!r})"


def largest(
    family: Family, limits: Sequence[Limit], *, whole: bool = False, certified: bool = False
) -> Choice:
    """The largest ε (or rate, or number of steps) of a family that keeps every limit.

    ``family`` turns the parameter into a mechanism or curve that leaks more as it grows; say
    ``whole`` where it takes whole numbers only, such as steps, or it counts as undefined between.
    ``certified`` confirms the answer for a composition by a bracket, and moves it if need be.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> from tellapart.choose import at_most
    >>> found = largest(ta.Laplace.with_epsilon, [at_most(0.76, risk.f_score, weight=1)])
    >>> found.rounded(4)
    1.4086
    """
    return _choose(family, limits, False, whole, certified)


def least(
    family: Family, limits: Sequence[Limit], *, whole: bool = False, certified: bool = False
) -> Choice:
    """The least noise of a family that keeps every limit.

    ``family`` turns the parameter into a mechanism or curve that leaks less as it grows; say
    ``whole`` where it takes whole numbers only, such as a data set's size, or it counts as
    undefined between. ``certified`` confirms the answer for a composition by a bracket, and moves
    it if need be.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> from tellapart.choose import at_most
    >>> least(ta.Gaussian, [at_most(0.1, risk.advantage)]).rounded(4)
    3.979
    """
    return _choose(family, limits, True, whole, certified)


def beside(family: Family, limits: Sequence[Limit], choice: Choice, whole: bool = False) -> Choice:
    """What other limits ask of the same family, begun from the curves seen for a choice of it.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> from tellapart.choose import at_most
    >>> strict = least(ta.Gaussian, [at_most(0.1, risk.advantage)])
    >>> loose = [at_most(0.2, risk.advantage)]
    >>> beside(ta.Gaussian, loose, strict).short == least(ta.Gaussian, loose).short
    True
    """
    return _choose(family, limits, not choice.rounds_down, whole, False, choice.tried)


def _choose(
    family: Family,
    limits: Sequence[Limit],
    grows_private: bool,
    whole: bool,
    certified: bool,
    known: Mapping[float, TradeoffCurve] | None = None,
) -> Choice:
    limits = _checked(family, limits)
    refuse_infeasible(limits)
    search = ParameterSearch(family, limits, grows_private, known)
    parameter, beyond = whole_number(search) if whole else real(search)
    search.refuse_wavering()
    search.refuse_rounding()
    binding = None if beyond is None else search.broken_at(beyond)
    # One that keeps the limits without any noise may have no curve of its own.
    curve = search.trial(parameter).curve or curve_of(family(parameter))
    achieved = tuple((limit, limit.value(curve)) for limit in limits)
    choice = Choice(
        *(parameter, binding, achieved, family(parameter), not grows_private),
        name=_parameter_of(family),
        tried=search.curves,
    )
    return certainly(family, choice, whole) if certified else choice


def _parameter_of(family: Family) -> str:
    """What a family calls its parameter: sigma for ta.Gaussian."""
    try:
        return next(iter(inspect.signature(family).parameters), "parameter")
    except ValueError:  # some built-in functions have no signature to look at
        return "parameter"


def certainly(family: Family, choice: Choice, whole: bool = False) -> Choice:
    """The same choice, or one slightly more private, confirmed by certified curves."""
    limits = [limit for limit, _ in choice.achieved]
    bare = noiseless(choice.subject)
    if bare is not None and all(limit.excess(bare) <= 0 for limit in limits):
        return replace(choice, certified=True)
    parameter = confirmed(family, limits, choice.parameter, not choice.rounds_down, whole)
    subject = family(parameter)
    curve = curve_of(subject)
    achieved = tuple((limit, limit.value(curve)) for limit in limits)
    return replace(choice, parameter=parameter, subject=subject, achieved=achieved, certified=True)


def _checked(family: Family, limits: Sequence[Limit]) -> list[Limit]:
    if not callable(family):
        _checks.refuse("family", "be a function from a parameter to a mechanism", family)
    return checked_limits(limits)


def refuse_infeasible(limits: list[Limit]) -> None:
    """Refuse limits that no noise keeps, as they lie below their own baseline."""
    perfect = nothing()
    for limit in limits:
        if limit.excess(perfect) > 0:
            raise beyond_perfect(limit)
