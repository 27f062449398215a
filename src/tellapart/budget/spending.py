"""Spending from pots (a privacy filter): entries, what is left, and a halt before too much."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from tellapart import _checks
from tellapart.budget.odometer import Odometer, PotReading
from tellapart.budget.pots import DOWN, UP, Pot
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import BudgetSpent, NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.combine import compose
from tellapart.neighbours import Neighbours, Order

RELATIONS = {
    "add-remove": Neighbours.ADD_REMOVE,
    "replace-one": Neighbours.REPLACE,
    "zero-out": Neighbours.ZERO_OUT,
}


@dataclass(frozen=True)
class SpentStep:
    """One step that was paid for: a name for it, from which pot, and how much.

    The cost is in the unit in which costs add up: μ² of a Gaussian pot, ε of a Laplace pot, the
    number of steps of a fixed pair. ``mechanism`` is None where an entry was read without it.
    """

    label: str | None
    pot: str
    cost: Decimal
    mechanism: Mechanism | None = None


class StepwiseBudget(ABC):
    """What is spent step by step: each step may depend on all outputs before it."""

    _pots: tuple[Pot, ...]
    _neighbours: Neighbours

    def __init__(self, pots: tuple[Pot, ...], neighbours: Neighbours) -> None:
        self._pots, self._neighbours = pots, neighbours
        self._entries: list[SpentStep] = []
        self._used = {pot.name: Decimal(0) for pot in pots}
        if len(self._used) < len(pots):
            _checks.refuse("pots", "have names of their own", [pot.name for pot in pots])

    @property
    def neighbours(self) -> Neighbours:
        """Which two data sets the guarantee says are hard to tell apart."""
        return self._neighbours

    @property
    def spent(self) -> tuple[SpentStep, ...]:
        """All that was paid for, in order."""
        return tuple(self._entries)

    @property
    def pots(self) -> Mapping[str, float]:
        """How much each pot was opened with, in the unit in which costs add up."""
        return {pot.name: _float_down(pot.size) for pot in self._pots}

    def cost(self, mechanism: Mechanism, pot: str | None = None) -> tuple[str, Decimal]:
        """From which pot a step is paid, and how much it takes; nothing is spent.

        It depends on the mechanism and on how the budget was opened, not on what was spent: the
        Gaussian or the Laplace pot, or the one of the steps that leak least among those that leak
        no less; or the ``pot`` of this name.
        """
        _checks.instance(Mechanism, "a mechanism", mechanism=mechanism)
        if mechanism.neighbours is not self.neighbours:
            rule = f"have the neighbours of the budget (Neighbours.{self.neighbours.name})"
            _checks.refuse("mechanism", rule, mechanism)
        for each in self._pots if pot is None else [self._named(pot)]:
            price = each.price(mechanism)
            if price is not None:
                return each.name, price
        raise Unsupported(self._refusal(mechanism))

    def would_allow(self, mechanism: Mechanism, pot: str | None = None) -> bool:
        """Whether `spend` would record this step now."""
        try:
            name, cost = self.cost(mechanism, pot)
        except Unsupported:
            return False
        return self._fits(self._named(name), cost)

    def spend(
        self, mechanism: Mechanism, label: str | None = None, *, pot: str | None = None
    ) -> SpentStep:
        """Pay for a step **before** it is run; `BudgetSpent` where too little is left.

        What was paid stays paid, whether or not the output is ever released.
        """
        if label is not None:
            _checks.instance(str, "a text", label=label)
        return self.replay(SpentStep(label, *self.cost(mechanism, pot), mechanism))

    def replay(self, entry: SpentStep) -> SpentStep:
        """Count an entry that was paid for before, as read from where it was kept."""
        self.require(entry)
        self._used[entry.pot] = UP.add(self._used[entry.pot], entry.cost)
        self._entries.append(entry)
        return entry

    def require(self, entry: SpentStep) -> None:
        """Refuse an entry that too little is left for; nothing is spent."""
        pot = self._named(entry.pot)
        if not (entry.cost.is_finite() and entry.cost >= 0):
            _checks.refuse("entry", "have a finite cost of at least 0", str(entry.cost))
        if not self._fits(pot, entry.cost):
            raise BudgetSpent(self._overspent(pot, entry), self.left())

    def in_words(self, pot: str, cost: Decimal) -> str:
        """A cost in the unit of its pot, rounded up."""
        return self._named(pot).said(cost, up=True)

    def left(self) -> dict[str, float]:
        """What each pot still holds, rounded down, in the unit in which costs add up."""
        return {pot.name: _float_down(self._left(pot)) for pot in self._pots}

    @abstractmethod
    def guarantee(self, order: Order | None = None) -> TradeoffCurve:
        """What any attacker can do, however the budget is spent and whenever one stops."""

    def odometer(self, delta: float) -> Odometer:
        """What may be said now, at a time that was chosen by what was seen."""
        asked = _checks.inside_unit(delta=delta)
        readings = tuple(
            PotReading(
                pot.name,
                pot.said(self._used[pot.name], up=True),
                pot.said(self._left(pot), up=False),
            )
            for pot in self._pots
        )
        epsilon = self.guarantee().epsilon(asked)
        return Odometer(readings, asked, epsilon, self._loss(asked), self._if_planned(asked))

    def _loss(self, delta: float) -> float | None:
        """A bound on the loss so far that holds at all times at once; None where none is known."""
        return None

    def _if_planned(self, delta: float) -> float | None:
        counts = Counter(entry.mechanism for entry in self._entries)
        steps = [step.repeated(count) for step, count in counts.items() if step is not None]
        if not steps or None in counts:
            return None
        try:
            return compose(steps).epsilon(delta)
        except (NotCertified, Unsupported):  # it is only said beside what counts
            return None

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """How the budget was opened, as JSON can hold it; `from_record` opens it again."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The budget opened again, with nothing spent."""

    @abstractmethod
    def _refusal(self, mechanism: Mechanism) -> str:
        """Why no pot takes a step, and what would."""

    def _left(self, pot: Pot) -> Decimal:
        used = self._used[pot.name]
        if not used:  # a double has more digits than a difference keeps
            return pot.size
        left = DOWN.subtract(pot.size, used)
        return left if left > 0 else Decimal(0)  # which, rounded down, may come out as -0

    def _fits(self, pot: Pot, cost: Decimal) -> bool:
        return UP.add(self._used[pot.name], cost) <= pot.most

    def _named(self, name: str) -> Pot:
        for pot in self._pots:
            if pot.name == name:
                return pot
        return _checks.refuse("pot", f"be {' or '.join(self._used)}", name)

    def _overspent(self, pot: Pot, entry: SpentStep) -> str:
        left = self._left(pot)
        what = repr(entry.mechanism) if entry.label is None else repr(entry.label)
        return (
            f"the step {_checks.shortened(what)} costs {pot.said(entry.cost, up=True)}, and the "
            f"pot {pot.name!r} has {pot.said(left, up=False)} left{pot.hint(left)}"
        )


def float_up(amount: Decimal) -> float:
    """A double that is no smaller."""
    return math.nextafter(float(amount), math.inf)


def _float_down(amount: Decimal) -> float:
    """The nearest double that is no larger; a whole number where there is one."""
    if amount == amount.to_integral_value() and amount < 2**53:
        return int(amount)
    nearest = float(amount)
    return nearest if Decimal(nearest) <= amount else math.nextafter(nearest, -math.inf)
