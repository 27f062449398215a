"""Privacy filters: budgets that adaptive steps spend, with a guarantee at every stopping time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self

from tellapart import _checks
from tellapart.budget.odometer import loss_at_any_time
from tellapart.budget.pots import (
    ConcentratedPot,
    GaussianPot,
    LaplacePot,
    ProductPot,
    PromisePot,
    PurePot,
    RenyiPot,
    StepPot,
    dominated,
    pot_size,
    shown_by_an_attack,
)
from tellapart.budget.spending import RELATIONS, StepwiseBudget, float_up
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue.short_text import mechanism_of, text_of
from tellapart.mechanisms.combine import Sampled, compose, parts_of
from tellapart.mechanisms.noise import Gaussian, Laplace
from tellapart.neighbours import Neighbours, Order

_NO_CURVE = (
    "a budget must be made of pots, ta.Budget(gaussian=..., laplace=..., steps={...}): steps that "
    "are chosen on the way and stop when their composed curve reaches a target do not keep the "
    "target (docs/budgets.md has a counterexample)"
)

# A bound for all times is closest where Σ μ² is a few times this share of the pot.
_OFFSET = 0.1
# What a record of each kind has, beside its kind and its neighbours.
RECORDED = {
    "pots": {"gaussian", "laplace", "steps"},
    "renyi": {"order", "limit"},
    "zcdp": {"rho"},
    "pure": {"epsilon"},
}


class Budget(StepwiseBudget):
    """A budget of pots that steps of known kinds spend, chosen by whatever was seen before.

    ``gaussian`` is a μ: Gaussian steps with Σ (sensitivity/σ)² ≤ μ². ``laplace`` is an ε: Laplace
    steps with Σ sensitivity/scale ≤ ε. ``steps`` maps a mechanism to how many steps there may be
    that leak no more than it: a Gaussian on a Poisson sample stands for all with no less noise and
    no larger rate. Steps of all pots may come in any order. The guarantee is the curve of all pots
    composed: nothing is lost against a plan that fixes the same in advance.

    >>> import tellapart as ta
    >>> budget = Budget(gaussian=1, laplace=0.5)
    >>> entry = budget.spend(ta.Gaussian(sigma=2), label="mean income")
    >>> entry.pot, entry.cost, budget.left()
    ('gaussian', Decimal('0.25'), {'gaussian': 0.75, 'laplace': 0.5})
    >>> budget.would_allow(ta.Gaussian(sigma=1))
    False
    >>> round(budget.guarantee().epsilon(delta=1e-5), 4)
    4.7374
    """

    def __init__(
        self,
        curve: object = None,
        /,
        *,
        gaussian: float | None = None,
        laplace: float | None = None,
        steps: Mapping[Mechanism, int] | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        if curve is not None:
            raise InvalidArgument(f"{_NO_CURVE}, got {_checks.shortened(repr(curve))}")
        pots: list[ProductPot] = []
        if gaussian is not None:
            pots.append(GaussianPot(pot_size(gaussian=gaussian)))
        if laplace is not None:
            pots.append(LaplacePot(pot_size(laplace=laplace)))
        pots.extend(_step_pots({} if steps is None else steps))
        if not pots:
            raise InvalidArgument(
                "a budget must have at least one pot: gaussian=μ, laplace=ε or "
                "steps={mechanism: how many}"
            )
        super().__init__(tuple(pots), _relation(pots, neighbours))
        self._product = tuple(pots)

    def __repr__(self) -> str:
        return f"Budget({_typed(self._opened(), self.neighbours)})"

    def guarantee(self, order: Order | None = None) -> TradeoffCurve:
        worst = compose([pot.worst(self.neighbours) for pot in self._product])
        return worst.curve(order).made_by(repr(self))

    def _loss(self, delta: float) -> float | None:
        used = {name: float_up(amount) for name, amount in self._used.items() if amount}
        if not used or not used.keys() <= {"gaussian", "laplace"}:
            return None
        loss = used.get("laplace", 0.0)
        for pot in self._product:
            if isinstance(pot, GaussianPot) and pot.name in used:
                offset = _OFFSET * pot.mu * pot.mu
                if not offset or math.isinf(used[pot.name]):  # no double holds them
                    return None
                loss += loss_at_any_time(used[pot.name], offset, delta)
        return loss

    def _opened(self) -> dict[str, Any]:
        opened: dict[str, Any] = {"gaussian": None, "laplace": None, "steps": {}}
        for pot in self._product:
            match pot:
                case GaussianPot(mu):
                    opened["gaussian"] = mu
                case LaplacePot(epsilon):
                    opened["laplace"] = epsilon
                case StepPot(step, count):
                    opened["steps"][step] = count
        return opened

    def to_record(self) -> dict[str, Any]:
        opened = self._opened()
        opened["steps"] = [[text_of(step), count] for step, count in opened["steps"].items()]
        return {"kind": "pots", **opened, "neighbours": _word(self.neighbours)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        relation, opened = _read(record, "pots")
        listed = opened.pop("steps")
        if not isinstance(listed, list) or not all(
            isinstance(pair, list) and len(pair) == 2 for pair in listed
        ):
            rule = 'list texts and numbers: [["gaussian:sigma=1,sampled=0.01", 1000]]'
            _checks.refuse("steps in record", rule, listed)
        steps = {mechanism_of(text, relation): count for text, count in listed}
        return cls(**opened, steps=steps, neighbours=relation)

    def _refusal(self, mechanism: Mechanism) -> str:
        open_ = ", ".join(pot.name for pot in self._pots)
        no_pot = f"no pot of this budget ({open_}) takes {_checks.shortened(repr(mechanism))}"
        kinds = [step for step, _ in parts_of(mechanism)]
        if any(isinstance(step, Sampled) for step in kinds):
            return (
                f"{no_pot}: Gaussian noise on a sample has the μ that it has without (GDP has no "
                "amplification), and Laplace noise on a sample is no Laplace noise; fix beforehand "
                "how many such steps there may be: steps={mechanism: how many}"
            )
        if len({type(step) for step in kinds}) > 1:
            return f"{no_pot}: spend its steps one by one, each from its own pot"
        if all(isinstance(step, Gaussian) for step in kinds):
            return f"{no_pot}: open the budget with gaussian=μ"
        if all(isinstance(step, Laplace) for step in kinds):
            return f"{no_pot}: open the budget with laplace=ε"
        return (
            f"{no_pot}: fix beforehand how many such steps there may be, steps={{mechanism: how "
            "many}, or spend from ta.RenyiBudget, which takes steps of any kind"
        )


class RenyiBudget(StepwiseBudget):
    """A budget for steps of kinds not known beforehand, in Rényi divergence of one order.

    Σ of the steps' divergences stays ≤ ``limit``, at one ``order`` fixed beforehand: stopping when
    any of several orders still fits is not proved to keep its promise. Order inf is pure ε-DP, and
    `RenyiBudget.zcdp` limits all orders at once. It takes every step, sampled ones among them, and
    promises less than pots do (docs/budgets.md has how much).

    >>> import tellapart as ta
    >>> budget = RenyiBudget(order=8, limit=1)
    >>> entry = budget.spend(ta.Gaussian(sigma=1).sampled(0.01), label="step 1")
    >>> budget.spend(ta.Gaussian(sigma=2))
    Traceback (most recent call last):
        ...
    tellapart.errors.BudgetSpent: the step Gaussian(sigma=2.0) costs 1 of order 8, and the \
pot 'renyi' has 0.999106 of order 8 left
    """

    def __init__(
        self, order: float, limit: float, *, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> None:
        if _checks.number(order=order) <= 1:
            _checks.refuse("order", "be greater than 1 (inf for pure ε-DP)", order)
        most = pot_size(limit=limit)
        self._open(PurePot(most) if order == math.inf else RenyiPot(float(order), most), neighbours)

    @classmethod
    def zcdp(cls, rho: float, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Self:
        """A budget in zero-concentrated DP: Σ ρ of the steps stays ≤ ``rho``."""
        budget = cls.__new__(cls)
        budget._open(ConcentratedPot(pot_size(rho=rho)), neighbours)
        return budget

    @classmethod
    def pure(cls, epsilon: float, *, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Self:
        """A budget in pure ε-DP: Σ ε of the steps stays ≤ ``epsilon``."""
        return cls(math.inf, pot_size(epsilon=epsilon), neighbours=neighbours)

    def _open(self, pot: PromisePot, neighbours: Neighbours) -> None:
        super().__init__((pot,), _checks.member(Neighbours, neighbours=neighbours))
        self._only = pot

    def __repr__(self) -> str:
        way = "" if isinstance(self._only, RenyiPot) else f".{self._only.name}"
        return f"RenyiBudget{way}({_typed(asdict(self._only), self.neighbours)})"

    def guarantee(self, order: Order | None = None) -> TradeoffCurve:
        if order is not None:
            _checks.member(Order, order=order)
        return self._only.promise().stated(self.neighbours, order).made_by(repr(self))

    def to_record(self) -> dict[str, Any]:
        numbers = asdict(self._only)
        return {"kind": self._only.name, **numbers, "neighbours": _word(self.neighbours)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        make: dict[str, Callable[..., Self]]
        make = {"renyi": cls, "zcdp": cls.zcdp, "pure": cls.pure}
        relation, numbers = _read(record, *make)
        return make[record["kind"]](**numbers, neighbours=relation)

    def _refusal(self, mechanism: Mechanism) -> str:
        return (
            f"{_checks.shortened(repr(mechanism))} has no finite cost here, as it may reveal all "
            "or its losses are unbounded: spend it from ta.Budget(steps={mechanism: how many})"
        )


def from_record(record: Mapping[str, Any]) -> Budget | RenyiBudget:
    """The budget that a record opens, of whichever kind, with nothing spent.

    >>> from_record(RenyiBudget.zcdp(0.5).to_record())
    RenyiBudget.zcdp(rho=0.5)
    """
    _checks.instance(Mapping, "a mapping, as to_record() returns it", record=record)
    return (Budget if record.get("kind") == "pots" else RenyiBudget).from_record(record)


def _step_pots(steps: Mapping[Mechanism, int]) -> list[StepPot]:
    if not isinstance(steps, Mapping):
        _checks.refuse("steps", "map mechanisms to how many steps there may be", steps)
    for step in steps:
        _checks.instance(Mechanism, "a mechanism", **{"a key of steps": step})
        if shown_by_an_attack(step):
            _checks.refuse("a key of steps", "be more than what an attack has shown", step)
    pots: list[StepPot] = []
    for step, count in steps.items():
        pot = StepPot(step, _checks.whole(1, 10**15, **{"how many steps": count}))
        alike = sum(other.name.partition(" #")[0] == pot.name for other in pots)
        pots.append(replace(pot, number=alike + 1))
    # A step is paid from the first that takes it, so those that leak less come first.
    return sorted(pots, key=lambda pot: sum(dominated(other.step, pot.step) for other in pots))


def _relation(pots: Sequence[ProductPot], neighbours: Neighbours | None) -> Neighbours:
    if neighbours is not None:
        _checks.member(Neighbours, neighbours=neighbours)
    stated = [pot.step.neighbours for pot in pots if isinstance(pot, StepPot)]
    relation = neighbours or (stated[0] if stated else Neighbours.ADD_REMOVE)
    if any(each is not relation for each in stated):
        rule = f"all have the neighbours of the budget (Neighbours.{relation.name})"
        _checks.refuse("steps", rule, [pot.name for pot in pots if isinstance(pot, StepPot)])
    return relation


def _typed(opened: Mapping[str, Any], neighbours: Neighbours) -> str:
    """What a budget was opened with, as it could be typed."""
    usual = neighbours is Neighbours.ADD_REMOVE
    arguments = [f"{key}={value!r}" for key, value in opened.items() if value]
    return ", ".join(arguments + ([] if usual else [f"neighbours=Neighbours.{neighbours.name}"]))


def _word(neighbours: Neighbours) -> str:
    return next(word for word, relation in RELATIONS.items() if relation is neighbours)


def _read(record: Mapping[str, Any], *kinds: str) -> tuple[Neighbours, dict[str, Any]]:
    """The neighbours and the numbers of a record, which must be of one of these kinds."""
    numbers = dict(record)
    kind, word = numbers.pop("kind", None), numbers.pop("neighbours", None)
    if kind not in kinds:
        _checks.refuse("kind in record", f"be {' or '.join(kinds)}", kind)
    if word not in RELATIONS:
        _checks.refuse("neighbours in record", f"be {' or '.join(RELATIONS)}", word)
    expected = RECORDED[kind]
    if set(numbers) != expected:
        _checks.refuse("record", f"have {', '.join(sorted(expected))}", sorted(numbers))
    return RELATIONS[word], numbers
