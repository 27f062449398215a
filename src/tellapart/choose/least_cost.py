"""Cost-based choice (Hsu et al. 2014): the value of accuracy against what people may lose.

More noise costs accuracy and lowers the expected extra cost of each person. The sum of the two may
have several valleys, but each term moves one way: between two parameters it is at least the
accuracy's cost at the one end and the extra cost at the other. Intervals that may still hold
something cheaper are halved until none is left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from tellapart import _checks, deadline
from tellapart._numeric.text import fixed, short
from tellapart.choose.limit import by_cost
from tellapart.choose.search import Family
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Infeasible, InvalidArgument, NotCertified
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.risk.attackers import extra_cost

# From the parameter 1 on it is looked so many octaves each way, by steps of one.
_OCTAVES = 40
# Ends this near to each other are one point: what is left between them is a jump.
_NARROW = 1e-12
# A term that moves the wrong way by more than this share of itself is not monotone.
_NOISE = 1e-6
_MOST = 20_000


@dataclass(frozen=True)
class LeastCost:
    """The parameter whose total cost is least: accuracy lost, and what people may lose.

    ``total`` is ``accuracy_cost`` + ``people`` · ``extra_cost``. The extra cost is an upper bound,
    over all attackers, so the true total is at most this. No parameter in ``searched`` has a total
    below ``lower_bound``; none at all, where it holds ``everywhere``.
    """

    parameter: float
    total: float
    accuracy_cost: float
    extra_cost: float
    people: int
    lower_bound: float
    searched: tuple[float, float]
    everywhere: bool
    subject: Subject

    @property
    def curve(self) -> TradeoffCurve:
        """The curve that is left to an attacker."""
        return curve_of(self.subject)

    @property
    def scope(self) -> str:
        """Whether the number is for one mechanism or for all with a guarantee."""
        return scope(self.subject)

    def __str__(self) -> str:
        low, high = self.searched
        between = f"any from {short(low, 4)} to {short(high, 4)}"
        where = "any parameter" if self.everywhere else between
        return (
            f"{short(self.parameter)}: total cost at most {fixed(self.total, up=True)} (accuracy "
            f"{fixed(self.accuracy_cost, up=True)}, {self.people:,} people at most "
            f"{fixed(self.extra_cost, up=True)} each); {where} has at least "
            f"{fixed(self.lower_bound, up=False)}"
        )


class _Point(NamedTuple):
    """A parameter by its logarithm, growing towards privacy, and its two costs."""

    position: float
    accuracy: float
    people: float

    @property
    def total(self) -> float:
        return self.accuracy + self.people


def cheapest(
    family: Family,
    *,
    costs: Mapping[float, float],
    people: int,
    accuracy: Callable[[Any], float],
    grows_private: bool = True,
    between: tuple[float, float] | None = None,
    tolerance: float = 1e-3,
) -> LeastCost:
    """The noise at which accuracy lost and what people may lose cost least together.

    ``costs`` has what each event costs a person, by its chance without the output, as in
    `by_cost`; ``accuracy`` is what the answer's error costs, a function of the mechanism in the
    same currency, at least 0, that grows with privacy. ``grows_private`` says that a larger
    parameter means more privacy; for ε say False. The least total ``between`` two parameters, by
    default everywhere, is missed by at most ``tolerance`` of itself.

    >>> import tellapart as ta
    >>> from tellapart import choose
    >>> choice = choose.cheapest(
    ...     ta.Laplace,
    ...     costs={0.01: 1000},
    ...     people=100,
    ...     accuracy=lambda noise: 50 * noise.deviation(),
    ... )
    >>> print(round(choice.parameter, 1), round(choice.total), round(choice.extra_cost, 2))
    4.2 566 2.66
    """
    by_cost(costs=costs, allowed=1.0)  # refuses costs that are none
    _checks.function(accuracy=accuracy)
    share = _checks.inside_unit(tolerance=tolerance)
    number = _checks.whole(1, people=people)
    low, high = (0.0, math.inf) if between is None else _ends(between)

    def parameter(position: float) -> float:
        return min(max(math.exp(position if grows_private else -position), low), high)

    def point(position: float) -> _Point:
        deadline.check()
        subject = family(parameter(position))
        lost = _checks.finite_at_least_zero(
            **{"the cost of accuracy": accuracy(subject)}  # what is given must be a number
        )
        risked = extra_cost(curve_of(subject, "what family returns"), costs=costs)
        return _Point(position, lost, number * float(risked))

    if between is None:
        points, closed = _outward(point)
    else:
        ends = sorted(math.log(x) * (1 if grows_private else -1) for x in (low, high))
        points, closed = _within(point, *ends), False
    best, bound = _refined(point, points, share)
    first, last = sorted((parameter(points[0].position), parameter(points[-1].position)))
    at = parameter(best.position)
    return LeastCost(
        at,
        best.total,
        best.accuracy,
        best.people / number,
        number,
        bound,
        (first, last),
        closed,
        family(at),
    )


def _within(point: Callable[[float], _Point], low: float, high: float) -> list[_Point]:
    """Points about an octave apart, from end to end."""
    count = max(math.ceil((high - low) / math.log(2)), 1)
    return _falling([point(low + (high - low) * k / count) for k in range(count + 1)])


def _outward(point: Callable[[float], _Point]) -> tuple[list[_Point], bool]:
    """Points an octave apart as far as need be, and whether nothing cheaper lies beyond them."""
    points = [_first(point)]
    closed = [False, False]
    for side, towards in enumerate((-1, 1)):
        for _ in range(_OCTAVES):
            end = points[-side]
            # Beyond an end the costs of people, or those of accuracy, are no less than at it.
            beyond = end.accuracy if side else end.people
            if beyond >= min(each.total for each in points):
                closed[side] = True
                break
            try:
                further = point(end.position + towards * math.log(2))
            except (InvalidArgument, NotCertified):  # the family ends here, or its curves do
                break
            points.insert(len(points) if side else 0, further)
    return _falling(points), all(closed)


def _ends(between: object) -> tuple[float, float]:
    listed = list(between) if isinstance(between, tuple | list) else []
    if len(listed) != 2:
        _checks.refuse("between", "be two parameters, as (0.1, 10)", between)
    low, high = (_checks.finite_above_zero(between=x) for x in listed)
    if low >= high:
        _checks.refuse("between", "rise", between)
    return low, high


def _first(point: Callable[[float], _Point]) -> _Point:
    """A member of the family, as near to the parameter 1 as there is one an octave on."""
    refusal: InvalidArgument | NotCertified | None = None
    for octave in range(_OCTAVES):
        for position in (octave * math.log(2), -octave * math.log(2)):
            try:
                return point(position)
            except (InvalidArgument, NotCertified) as doubt:
                refusal = refusal or doubt
    raise refusal or Infeasible("infeasible: the family has no member")


def _falling(points: list[_Point]) -> list[_Point]:
    """The same points, if accuracy costs more and people less with every step to privacy."""
    for left, right in pairwise(points):
        _refuse_wavering(left, right)
    return points


def _refuse_wavering(left: _Point, right: _Point) -> None:
    cheaper = left.accuracy - right.accuracy > _NOISE * left.accuracy
    if cheaper or right.people - left.people > _NOISE * right.people:
        raise NotCertified(
            "cannot find the least total: the cost of accuracy must grow with privacy, and the "
            "extra cost must fall; say grows_private=False for a parameter such as ε"
        )


def _refined(
    point: Callable[[float], _Point], points: list[_Point], share: float
) -> tuple[_Point, float]:
    """The cheapest point, and what no point between the ends falls short of."""
    best = min(points, key=lambda each: each.total)
    open_: list[tuple[float, int, _Point, _Point]] = []
    jump, made = math.inf, 0

    def add(left: _Point, right: _Point) -> None:
        nonlocal made
        _refuse_wavering(left, right)
        made += 1
        heapq.heappush(open_, (left.accuracy + right.people, made, left, right))

    for left, right in pairwise(points):
        add(left, right)
    while open_ and open_[0][0] < (1 - share) * best.total:
        bound, _, left, right = heapq.heappop(open_)
        if right.position - left.position < _NARROW:
            jump = min(jump, bound)  # both costs jump here, and nothing is known between
            continue
        if made > _MOST:
            raise NotCertified(
                f"the least total is not known to {short(share)} after {_MOST:,} parameters; allow "
                f"more, or give a narrower range (the best so far: {short(best.total)})"
            )
        middle = point((left.position + right.position) / 2)
        best = min(best, middle, key=lambda each: each.total)
        add(left, middle)
        add(middle, right)
    return best, min(best.total, jump, open_[0][0] if open_ else math.inf)
