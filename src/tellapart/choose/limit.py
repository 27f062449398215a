"""Limits on risk measures: how much of a risk someone can accept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.risk.attackers import extra_cost
from tellapart.risk.catalogue import PRIOR, measure_of, stated
from tellapart.risk.rates import epsilon as epsilon_of

# Curves at least this accurate are formulas, searched to the last double.
FORMULAS = 1e-13
# Curves less accurate than this are made of brackets, and lie on the attacker's side by as much.
BRACKETS = 1e-8
# A risk this share of its limit is as good as none.
_FAR = 1e-9
# In so many digits a risk is told beside its limit, unless they look alike in them.
_DIGITS = 4
Measure = Callable[..., Any]


class FromModel(Enum):
    """Stands for the prior that a data model gives each secret, in `noise`."""

    PRIOR = "the model's"

    def __repr__(self) -> str:
        return self.value


FROM_MODEL = FromModel.PRIOR


@dataclass(frozen=True)
class Limit:
    """One risk and how much of it is acceptable. Build one with `at_most` or `at_least`."""

    bound: float
    measure: Measure
    arguments: tuple[tuple[str, Any], ...]
    least: bool = False

    def value(self, curve: TradeoffCurve) -> float:
        """The risk this curve has."""
        value = self.measure(curve, **dict(self.arguments))
        return _checks.number(**{f"the value of {self.name}": value})

    def excess(self, curve: TradeoffCurve) -> float:
        """How far the risk lies beyond the limit; at most 0 where it is kept.

        As a logarithm for positive limits: risks grow like powers of noise, so a search sees a
        line. Far within the limit it does not matter how far.
        """
        value, bound = self.value(curve), self.bound
        delta = dict(self.arguments).get("delta", 0.0)
        if self.measure is epsilon_of and bound == 0 < delta and not self.least:
            # ε is 0 from the advantage δ down: by how much less it is, only the advantage says.
            value, bound = float(curve.delta(0.0)), delta
        off = value - bound
        if bound > 0:
            off = math.log1p(max(off / bound, -1.0 + _FAR))
        return -off if self.least else off

    @property
    def name(self) -> str:
        """What is limited, as it was asked for."""
        name = getattr(self.measure, "__name__", repr(self.measure))
        shown = ", ".join(f"{key}={_short(value)}" for key, value in self.arguments)
        return f"{name}({shown})" if shown else name

    @property
    def label(self) -> str:
        """What is limited, in the words of the catalogue where it is one of its measures."""
        known = measure_of(self.measure)
        if known is None:
            return self.name
        given = dict(self.arguments)  # by the function's keywords, which may not be the keys
        about = {
            argument.key: given.get(argument.keyword or argument.key, argument.default)
            for argument in known.arguments
        }
        return known.named(**about)

    def stated(self, value: str, where: bool = True) -> str:
        """What is limited beside a value, in words: ``PPV ≤ 0.05 at FPR 0.01, prior 0.001``."""
        known = measure_of(self.measure)
        if known is None:
            return f"{self.name} {value}"
        if not where:
            return stated(self.label, value).partition(value)[0] + value
        if PRIOR not in known.arguments:
            return stated(self.label, value)
        prior = dict(self.arguments).get(PRIOR.key, PRIOR.default)
        whose = f"{prior!r} prior" if prior is FROM_MODEL else f"prior {_short(prior)}"
        return f"{stated(self.label, value)}, {whose}"

    def beside(self, value: float) -> tuple[str, str]:
        """A value of the risk and the limit, in as many digits as tell them apart."""
        apart = (
            digits
            for digits in range(_DIGITS, 18)
            if short(value, digits) != short(self.bound, digits)
        )
        digits = next(apart, _DIGITS)
        return short(value, digits), self._words(max(digits, 6))

    def _words(self, digits: int) -> str:
        return self.stated(f"{'≥' if self.least else '≤'} {short(self.bound, digits)}")

    def __str__(self) -> str:
        return self._words(6)

    def __repr__(self) -> str:
        """As it could be typed."""
        known = "" if measure_of(self.measure) is None else "risk."
        measure = f"{known}{getattr(self.measure, '__name__', repr(self.measure))}"
        given = [f"{key}={value!r}" for key, value in self.arguments]
        side = "at_least" if self.least else "at_most"
        return f"choose.{side}({', '.join([repr(self.bound), measure, *given])})"


def _short(value: Any) -> str:
    return short(value) if isinstance(value, int | float) else repr(value)


def at_most(bound: float, measure: Measure, **arguments: Any) -> Limit:
    """A risk that may not exceed this: ``at_most(0.1, risk.advantage)``.

    >>> from tellapart import risk
    >>> print(at_most(0.1, risk.advantage))
    membership advantage ≤ 0.1
    """
    return _limit(bound, measure, arguments, least=False)


def at_least(bound: float, measure: Measure, **arguments: Any) -> Limit:
    """A number that may not fall below this: ``at_least(0.4, risk.bayes_error, prior=0.5)``.

    >>> from tellapart import risk
    >>> print(at_least(0.4, risk.bayes_error, prior=0.5))
    Bayes error ≥ 0.4, prior 0.5
    """
    return _limit(bound, measure, arguments, least=True)


def by_cost(
    *, costs: Mapping[float, float] | Sequence[tuple[float, float]], allowed: float
) -> Limit:
    """How much a person may be expected to lose by being in the data, as a limit.

    ``costs`` has what each event costs, by its chance if the release were made without this person
    (pairs, where two events have one chance), and ``allowed`` is the extra cost that each person
    accepts or is paid; a budget for all is divided by their number (Hsu et al. 2014).

    >>> import tellapart as ta
    >>> from tellapart import choose
    >>> limit = by_cost(costs={0.01: 1000}, allowed=5)
    >>> choose.largest(lambda epsilon: ta.guarantee(epsilon), [limit]).rounded(4)
    0.4054
    """
    rule = "a mapping from chances to costs, as {0.01: 1000}, or pairs of them"
    _checks.instance((Mapping, Sequence), rule, costs=costs)
    extra_cost(nothing(), costs=costs)  # refused here rather than in a search
    most = _checks.finite_above_zero(allowed=allowed)
    listed = tuple(costs.items() if isinstance(costs, Mapping) else map(tuple, costs))
    return _limit(most, extra_cost, {"costs": listed}, least=False)


def _limit(bound: float, measure: Measure, arguments: dict[str, Any], least: bool) -> Limit:
    if not callable(measure):
        _checks.refuse("measure", "be a function of a curve, such as risk.advantage", measure)
    _checks.keywords(measure, arguments, filled=())
    return Limit(_checks.finite(bound=bound), measure, tuple(arguments.items()), least)


def checked_limits(limits: Sequence[Limit]) -> list[Limit]:
    """Limits as they were given; refused unless there are some, and nothing else."""
    listed = list(limits) if isinstance(limits, Sequence) else []
    if not listed or not all(isinstance(limit, Limit) for limit in listed):
        _checks.refuse("limits", "be a list of choose.at_most(...) or choose.at_least(...)", limits)
    return listed
