"""Conversion between privacy definitions: pure DP, (ε, δ)-DP, zCDP, Rényi DP, Gaussian DP, f-DP.

All of them are read off a trade-off function, or off the moments of what made it, and rounded
conservatively. A definition keeps only part of what the function says: what it alone would allow an
attacker stands beside each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart import _checks
from tellapart._numeric.text import related, short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.curve.guarantees import guarantee
from tellapart.errors import InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue import KINDS, parse
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.in_words import in_words
from tellapart.mechanisms.other_accountants import renyi_divergence, zcdp_rho
from tellapart.mechanisms.subject import Subject, curve_of

# What a text may begin with besides a mechanism's name, and the numbers that follow.
PROMISES = {"pure": "ε", "dp": "ε,δ", "zcdp": "ρ", "rdp": "order,ε", "gdp": "μ"}
_USUAL_DELTA = 1e-6
_REVEALS = "with probability δ all may be revealed, so that moments are infinite"
_UNKNOWN = "a curve alone does not tell it: give the mechanism, or the promise as text"


@dataclass(frozen=True)
class Currency:
    """One privacy definition's value for a promise, rounded up; infinite where it has none.

    ``remark`` says for what the value holds, or why there is none; ``curve`` is what the value
    alone lets an attacker do, from below.
    """

    name: str
    symbol: str
    value: float
    remark: str = ""
    curve: TradeoffCurve | None = field(default=None, repr=False)

    @property
    def advantage(self) -> float:
        """The largest membership advantage that the value alone allows."""
        return 1.0 if self.curve is None else self.curve.delta(0.0)

    def __str__(self) -> str:
        if math.isinf(self.value):
            return "none"
        return f"{self.symbol} {related('≤', self.value)} {self.remark}".rstrip()


@dataclass(frozen=True)
class Conversion:
    """A promise in every currency, and what all of it together allows (f-DP)."""

    promise: str
    curve: TradeoffCurve = field(repr=False)
    pure: Currency
    dp: Currency
    zcdp: Currency
    rdp: Currency
    gdp: Currency

    @property
    def advantage(self) -> float:
        """The largest membership advantage under the promise itself."""
        return self.curve.delta(0.0)

    @property
    def currencies(self) -> tuple[Currency, ...]:
        """All of them, in one order."""
        return (self.pure, self.dp, self.zcdp, self.rdp, self.gdp)

    def __str__(self) -> str:
        lines = [f"{self.promise}: advantage {related('≤', self.advantage)}"]
        for each in self.currencies:
            by_it = f"advantage {related('≤', each.advantage)} by it alone"
            lines.append(f"  {each.name}: {each}; {each.remark if each.curve is None else by_it}")
        return "\n".join(lines)


def convert(
    promise: str | Subject, delta: float | None = None, order: float = 8.0, at_least: float = 1e-6
) -> Conversion:
    """The same promise as pure DP, (ε, δ)-DP, zCDP, Rényi DP and Gaussian DP, and what each loses.

    A promise is a text (``pure:1``, ``dp:1,1e-5``, ``zcdp:0.1``, ``rdp:8,0.5`` for order and ε,
    ``gdp:1``, or a mechanism such as ``laplace:epsilon=1``), a mechanism or a curve. Without a
    ``delta`` it is that of the promise, or 1e-6. Rényi DP is asked at one ``order``; μ of Gaussian
    DP holds for all attacks where there is such a μ, else for attacks whose FPR and FNR are
    ``at_least`` this, and such μ do not compose.

    >>> import tellapart as ta
    >>> found = ta.convert("zcdp:0.1", delta=1e-6)
    >>> round(found.dp.value, 3), round(found.rdp.value, 3)
    (2.142, 0.8)
    >>> found.dp.advantage > 3 * found.advantage
    True
    """
    asked = _checks.number(order=order)
    if not 1 < asked < math.inf:
        _checks.refuse("order", "be finite and greater than 1", order)
    curve, moments = _read(promise) if isinstance(promise, str) else _of_subject(promise)
    if curve.bound is Bound.UPPER:
        _checks.refuse("promise", "be a guarantee or a mechanism, not an attack", promise)
    if delta is None:
        own = curve.claimed_delta if isinstance(curve, GuaranteeCurve) else 0.0
        delta = own or _USUAL_DELTA
    return Conversion(
        promise if isinstance(promise, str) else in_words(promise),
        curve,
        _pure(curve),
        _approximate(curve, _checks.probability(delta=delta)),
        _concentrated(moments),
        _renyi(moments, asked),
        _gaussian(curve, at_least),
    )


class _Moments(NamedTuple):
    """ρ of zCDP and ε of Rényi DP by order, both infinite where ``why`` says so."""

    rho: float
    divergence: Callable[[float], float]
    why: str = ""


def _none(why: str) -> _Moments:
    return _Moments(math.inf, lambda order: math.inf, why)


def _read(text: str) -> tuple[TradeoffCurve, _Moments]:
    """A promise by its short name, or a mechanism."""
    name, _, rest = text.strip().partition(":")
    if name in KINDS:
        return _of_subject(parse(text))
    if name not in PROMISES:
        rule = f"begin with {', '.join(PROMISES)}, or with a mechanism's name"
        _checks.refuse("promise", rule, text)
    numbers = [_number(part, name, text) for part in rest.split(",")]
    if len(numbers) != PROMISES[name].count(",") + 1:
        _checks.refuse("promise", f"be written as {name}:{PROMISES[name]}", text)
    if name == "zcdp":
        (rho,) = numbers
        return guarantee(zcdp=rho), _Moments(rho, lambda order: _up(rho * order))
    if name == "rdp":
        (known, epsilon) = numbers
        why = f"Rényi DP at order {short(known)} says nothing of larger orders"
        return guarantee(rdp=[(known, epsilon)]), _Moments(
            math.inf, lambda order: epsilon if order <= known else math.inf, why
        )
    return _of_subject(guarantee(mu=numbers[0]) if name == "gdp" else guarantee(*numbers))


def _number(part: str, name: str, text: str) -> float:
    try:
        return float(part)
    except ValueError:
        return _checks.refuse("promise", f"be written as {name}:{PROMISES[name]}", text)


def _of_subject(subject: Subject) -> tuple[TradeoffCurve, _Moments]:
    curve = curve_of(subject, "promise").symmetrised()  # a promise holds in both orders
    if isinstance(subject, GuaranteeCurve):
        delta = subject.claimed_delta
        return curve, _none(_REVEALS) if delta else _of_mechanism(Promise(subject.claimed_epsilon))
    if isinstance(subject, GaussianCurve):
        rho = _up(subject.mu**2 / 2)
        return curve, _Moments(rho, lambda order: _up(rho * order))
    return curve, _of_mechanism(subject) if isinstance(subject, Mechanism) else _none(_UNKNOWN)


def _up(value: float) -> float:
    """More than what one product was rounded from."""
    return math.nextafter(value, math.inf) if value else 0.0


def _of_mechanism(mechanism: Mechanism) -> _Moments:
    try:
        rho = zcdp_rho(mechanism)
    except Unsupported as error:
        why = str(error)
        return _Moments(math.inf, lambda order: _divergence(mechanism, order), why)
    return _Moments(rho, lambda order: _divergence(mechanism, order))


def _divergence(mechanism: Mechanism, order: float) -> float:
    try:
        return renyi_divergence(mechanism, order)
    except Unsupported:
        return math.inf


def _pure(curve: TradeoffCurve) -> Currency:
    epsilon = curve.epsilon(0.0)
    if math.isinf(epsilon):
        return Currency("pure DP", "ε", epsilon, "losses are unbounded, or all may be revealed")
    return Currency("pure DP", "ε", epsilon, "", guarantee(epsilon))


def _approximate(curve: TradeoffCurve, delta: float) -> Currency:
    epsilon, at = curve.epsilon(delta), f"at δ = {short(delta)}"
    if math.isinf(epsilon):
        return Currency("(ε, δ)-DP", "ε", epsilon, f"no ε is enough {at}")
    return Currency("(ε, δ)-DP", "ε", epsilon, at, guarantee(epsilon, delta))


def _concentrated(moments: _Moments) -> Currency:
    if math.isinf(moments.rho):
        return Currency("zCDP", "ρ", math.inf, moments.why)
    return Currency("zCDP", "ρ", moments.rho, "", guarantee(zcdp=moments.rho))


def _renyi(moments: _Moments, order: float) -> Currency:
    epsilon, at = moments.divergence(order), f"at order {short(order)}"
    if math.isinf(epsilon):
        return Currency("Rényi DP", "ε", epsilon, moments.why or f"the moment {at} is infinite")
    return Currency("Rényi DP", "ε", epsilon, at, guarantee(rdp=[(order, epsilon)]))


def _gaussian(curve: TradeoffCurve, at_least: float) -> Currency:
    """For all attacks where that is answered, else from a least FPR and FNR on."""
    for least in dict.fromkeys([0.0, _checks.probability(at_least=at_least)]):
        try:
            summary = curve.gdp(least)
        except (InvalidArgument, NotCertified, Unsupported):
            continue
        if math.isfinite(summary.mu):
            remark = f"for FPR and FNR from {short(least)} on" if least else ""
            alone = summary.curve() if least else guarantee(mu=summary.mu)
            return Currency("Gaussian DP", "μ", summary.mu, remark, alone)
    return Currency("Gaussian DP", "μ", math.inf, "no Gaussian noise leaks as much at every FPR")
