"""Pots: additive currencies of privacy (GDP, Laplace, Rényi, zCDP, pure ε), and what steps cost.

A pot of size b promises a curve V_b. It takes a step M at a price c if M ⊗ V_{b−c} ≥ V_b. Then any
adaptive interaction that stops in time keeps V_b, and several pots keep the product of theirs
(docs/budgets.md has the proof). Prices and sums are decimals of 50 digits, rounded up. A pot takes
up to 1e-12 of itself more than it was opened with, so that 0.7 and 0.3 fit 1 in doubles, and what
it promises is the curve of the pot so enlarged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import reduce

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue.short_text import text_of
from tellapart.mechanisms.choice import RandomizedResponse
from tellapart.mechanisms.combine import Repeated, Sampled, Sequence, parts_of
from tellapart.mechanisms.custom import CustomMechanism, Promise
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.mechanisms.other_accountants import renyi_divergence, zcdp_rho
from tellapart.neighbours import Neighbours

UP = Context(prec=50, rounding=ROUND_CEILING)
DOWN = Context(prec=50, rounding=ROUND_FLOOR)
# More than the rounding of any price that comes from doubles, less than anyone can see.
SLACK = 1e-12
_MOST = 1e6


def pot_size(**named: float) -> float:
    """How much a pot is opened with, checked."""
    size = _checks.finite_above_zero(**named)
    if size > _MOST:
        ((name, value),) = named.items()
        _checks.refuse(name, f"be at most {short(_MOST)}: more is no privacy", value)
    return size


def enlarged(size: float) -> float:
    """The size of a pot that covers all that one opened with this size takes."""
    return math.nextafter(size * (1 + 2 * SLACK), math.inf)


@dataclass(frozen=True)
class Pot(ABC):
    """One currency of a budget: its name, how much there is, and what steps cost."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the pot is called in a budget."""

    @property
    @abstractmethod
    def size(self) -> Decimal:
        """How much there is, in the unit in which prices add up."""

    @property
    def most(self) -> Decimal:
        """The largest sum of prices that is taken."""
        return DOWN.multiply(self.size, DOWN.add(1, Decimal(SLACK)))

    @abstractmethod
    def price(self, step: Mechanism) -> Decimal | None:
        """What a step costs; None where no price is known."""

    @abstractmethod
    def said(self, amount: Decimal, up: bool) -> str:
        """An amount in words, rounded up for a cost and down for what is left."""

    def hint(self, left: Decimal) -> str:
        """Which step what is left would still pay for, where that is a number people know."""
        return ""


@dataclass(frozen=True)
class ProductPot(Pot):
    """A pot whose curve is that of a mechanism, so that pots compose exactly."""

    @abstractmethod
    def worst(self, neighbours: Neighbours) -> Mechanism:
        """The mechanism whose curve no use of the pot falls below."""


@dataclass(frozen=True)
class GaussianPot(ProductPot):
    """Gaussian DP: prices are μ², as G_a ⊗ G_b = G_√(a² + b²) (Dong, Roth and Su 2022)."""

    mu: float

    @property
    def name(self) -> str:
        return "gaussian"

    @property
    def size(self) -> Decimal:
        return DOWN.multiply(Decimal(self.mu), Decimal(self.mu))

    def price(self, step: Mechanism) -> Decimal | None:
        return _summed(step, _gaussian_price)

    def said(self, amount: Decimal, up: bool) -> str:
        return f"μ² = {_digits(amount, up)}"

    def hint(self, left: Decimal) -> str:
        if not left:
            return ""
        sigma = UP.divide(1, left.sqrt(DOWN))
        return f"; σ ≥ {short(float(sigma), 6, up=True)} fits, at sensitivity 1"

    def worst(self, neighbours: Neighbours) -> Mechanism:
        return Gaussian(1.0, enlarged(self.mu), neighbours=neighbours)


@dataclass(frozen=True)
class LaplacePot(ProductPot):
    """Laplace noise: prices are its ε, as L_a ⊗ L_b ≥ L_{a+b} (docs/budgets.md)."""

    epsilon: float

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def size(self) -> Decimal:
        return Decimal(self.epsilon)

    def price(self, step: Mechanism) -> Decimal | None:
        return _summed(step, _laplace_price)

    def said(self, amount: Decimal, up: bool) -> str:
        return f"ε = {_digits(amount, up)}"

    def worst(self, neighbours: Neighbours) -> Mechanism:
        return Laplace(1.0, enlarged(self.epsilon), neighbours=neighbours)


@dataclass(frozen=True)
class StepPot(ProductPot):
    """So many steps of one pair: prices are the number of steps that leak no more than it."""

    step: Mechanism
    count: int
    number: int = 1  # of those whose words are the same

    @property
    def name(self) -> str:
        try:
            words = text_of(self.step)
        except Unsupported:
            words = repr(self.step)
        return words if self.number == 1 else f"{words} #{self.number}"

    @property
    def size(self) -> Decimal:
        return Decimal(self.count)

    @property
    def most(self) -> Decimal:
        return self.size  # counts are not rounded

    def price(self, step: Mechanism) -> Decimal | None:
        if dominated(step, self.step):
            return Decimal(1)
        if isinstance(step, Sequence):
            prices = [self.price(part) for part in step.parts]
            known = [price for price in prices if price is not None]
            return reduce(UP.add, known) if len(known) == len(prices) else None
        if not isinstance(step, Repeated):
            return None
        if isinstance(self.step, Repeated) and dominated(step.base, self.step.base):
            return Decimal(-(-step.times // self.step.times))
        each = self.price(step.base)
        return None if each is None else UP.multiply(each, step.times)

    def said(self, amount: Decimal, up: bool) -> str:
        return f"{amount:,} step{'' if amount == 1 else 's'}"

    def worst(self, neighbours: Neighbours) -> Mechanism:
        return self.step.repeated(self.count)


@dataclass(frozen=True)
class PromisePot(Pot):
    """A pot for steps of any kind: what it promises is a guarantee, and no mechanism's curve."""

    @abstractmethod
    def promise(self) -> TradeoffCurve:
        """What no use of the pot falls below, in either order."""


@dataclass(frozen=True)
class RenyiPot(PromisePot):
    """Rényi DP at one order fixed beforehand (Feldman and Zrnic 2021; Lécuyer 2021)."""

    order: float
    limit: float

    @property
    def name(self) -> str:
        return "renyi"

    @property
    def size(self) -> Decimal:
        return Decimal(self.limit)

    def price(self, step: Mechanism) -> Decimal | None:
        return _finite(renyi_divergence(step, self.order))

    def said(self, amount: Decimal, up: bool) -> str:
        return f"{_digits(amount, up)} of order {short(self.order)}"

    def promise(self) -> TradeoffCurve:
        return guarantee(rdp=[(self.order, enlarged(self.limit))])


@dataclass(frozen=True)
class ConcentratedPot(PromisePot):
    """Zero-concentrated DP: prices are ρ, Rényi DP at all orders at once (Bun, Steinke 2016)."""

    rho: float

    @property
    def name(self) -> str:
        return "zcdp"

    @property
    def size(self) -> Decimal:
        return Decimal(self.rho)

    def price(self, step: Mechanism) -> Decimal | None:
        return _finite(zcdp_rho(step))

    def said(self, amount: Decimal, up: bool) -> str:
        return f"ρ = {_digits(amount, up)}"

    def promise(self) -> TradeoffCurve:
        return guarantee(zcdp=enlarged(self.rho))


@dataclass(frozen=True)
class PurePot(PromisePot):
    """Pure ε-DP: prices are ε (Dwork et al. 2006; adaptive: Rogers et al. 2016)."""

    epsilon: float

    @property
    def name(self) -> str:
        return "pure"

    @property
    def size(self) -> Decimal:
        return Decimal(self.epsilon)

    def price(self, step: Mechanism) -> Decimal | None:
        return _summed(step, _pure_price)

    def said(self, amount: Decimal, up: bool) -> str:
        return f"ε = {_digits(amount, up)}"

    def promise(self) -> TradeoffCurve:
        return guarantee(enlarged(self.epsilon))


def _summed(mechanism: Mechanism, price: Callable[[Mechanism], Decimal | None]) -> Decimal | None:
    """The prices of all steps of a mechanism; None where one has none."""
    total = Decimal(0)
    for step, count in parts_of(mechanism):
        each = price(step)
        if each is None:
            return None
        total = UP.add(total, UP.multiply(each, count))
    return total


def _gaussian_price(step: Mechanism) -> Decimal | None:
    if isinstance(step, Gaussian):
        mu = UP.divide(Decimal(step.sensitivity), Decimal(step.sigma))
        return UP.multiply(mu, mu)
    return None


def _laplace_price(step: Mechanism) -> Decimal | None:
    if isinstance(step, Laplace):
        return UP.divide(Decimal(step.sensitivity), Decimal(step.scale))
    return None


def _pure_price(step: Mechanism) -> Decimal | None:
    exact = _laplace_price(step)
    if exact is not None:
        return exact
    return None if shown_by_an_attack(step) else _finite(step.curve().epsilon(0.0))


def _digits(amount: Decimal, up: bool) -> str:
    """Six digits on the asked side; a number that misses fewer by its slack alone is those."""
    value = float(amount)
    near = abs(float(short(value)) - value) <= 2 * SLACK * value
    return short(value, 6, up=None if near else up)


def _finite(price: float) -> Decimal | None:
    return Decimal(price) if price < math.inf else None


def shown_by_an_attack(step: Mechanism) -> bool:
    """Whether some part is known by an attack alone (Bound.UPPER), which promises nothing."""
    if isinstance(step, CustomMechanism):
        return step.test.bound is Bound.UPPER
    inner = step.parts if isinstance(step, Sequence) else [getattr(step, "base", None)]
    return any(isinstance(part, Mechanism) and shown_by_an_attack(part) for part in inner)


def dominated(step: Mechanism, bound: Mechanism) -> bool:
    """Whether it is proved that no attack on ``step`` beats the best one on ``bound``.

    Noise of one kind leaks less the smaller its sensitivity is beside it. On a sample h0 is P and
    h1 is (1 − q)·P + q·Q, whose curve (1 − q)·(1 − α) + q·f(α) falls in q and grows with f, as
    f(α) ≤ 1 − α; its inverse, the other order, does as well, and so does the bound for neighbours
    that replace a record, which is made of these. Fewer steps show less.
    """
    if step == bound:
        return True
    if isinstance(step, Repeated):
        times, base = (bound.times, bound.base) if isinstance(bound, Repeated) else (1, bound)
        return step.times <= times and dominated(step.base, base)
    if isinstance(bound, Repeated):
        return dominated(step, bound.base)
    if isinstance(step, Sampled):
        if not isinstance(bound, Sampled):
            return dominated(step.base, bound)
        same = step.scheme is bound.scheme and step.rate <= bound.rate
        return same and dominated(step.base, bound.base)
    if type(step) is not type(bound) or step.neighbours is not bound.neighbours:
        return False
    match step, bound:
        case (Gaussian(), Gaussian()):
            return _shift(step.sensitivity, step.sigma) <= _shift(bound.sensitivity, bound.sigma)
        case (Laplace(), Laplace()):
            return _shift(step.sensitivity, step.scale) <= _shift(bound.sensitivity, bound.scale)
        case (Promise(), Promise()):
            return step.epsilon <= bound.epsilon and step.delta <= bound.delta
        case (RandomizedResponse(), RandomizedResponse()):
            return step.epsilon <= bound.epsilon and step.categories == bound.categories
    return False


def _shift(sensitivity: float, noise: float) -> Fraction:
    """The sensitivity in units of the noise, exactly."""
    return Fraction(sensitivity) / Fraction(noise) if noise < math.inf else Fraction(0)
