"""Mechanisms and sampling schemes: inert data that knows its curve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from tellapart import _checks
from tellapart._shown import Plotted
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.provenance import Provenance
from tellapart.errors import Unsupported
from tellapart.neighbours import Neighbours, Order

if TYPE_CHECKING:
    from tellapart.curve.certified.brackets import Bracket
    from tellapart.curve.composition.best_of import Trials
    from tellapart.mechanisms.combine import Repeated, Sampled, Sequence
    from tellapart.mechanisms.repeat_and_select import BestOf
    from tellapart.mechanisms.shuffled import Shuffled


class Sampling(Enum):
    """Whether an attacker must doubt that your record was used at all: how a step picks records.

    `POISSON` samples are for neighbours that add or remove a record; `WITHOUT_REPLACEMENT` needs
    neighbours that replace one, as a batch of fixed size with one more has one other less.
    `RANDOM_ALLOCATION` is for neighbours that add or remove a record, and for whole epochs, as is
    `SHUFFLED`, what most data loaders do, for neighbours that zero out or replace a record.
    `TRUNCATED_POISSON` samples are no larger than a largest batch, as accelerators need.
    """

    POISSON = "each record with the same chance, independently"
    WITHOUT_REPLACEMENT = "a batch of fixed size, all batches equally likely"
    RANDOM_ALLOCATION = "each record in one step of every epoch, drawn independently"
    SHUFFLED = "one random order of all records in every epoch, cut into batches"
    TRUNCATED_POISSON = "each record independently, cut down at random to a largest batch"


# Longer lists are shown by their ends.
_LISTED = 100
ADD_REMOVE = Neighbours.ADD_REMOVE


@dataclass(frozen=True, repr=False)
class Mechanism(Plotted, ABC):
    """A randomised answer, described well enough to know what any attacker can learn from it.

    ``neighbours`` records which change of the data the parameters speak of: a sensitivity is the
    largest change of the answer under that change, so give the one that belongs to it.
    """

    neighbours: Neighbours = field(default=ADD_REMOVE, kw_only=True)

    def __post_init__(self) -> None:
        _checks.member(Neighbours, neighbours=self.neighbours)

    def curve(self, order: Order | None = None) -> TradeoffCurve:
        """How well the best attacker can tell neighbouring data sets apart.

        Without an order the curve holds for both; `Order.PRESENT` tests "absent" against
        "present", `Order.ABSENT` the reverse. The curve knows its neighbours and its order.
        """
        known = Provenance(self.neighbours, Order.PRESENT, source=self)
        test = self._present_test().with_provenance(known)
        if order is None:
            return test.symmetrised()
        return test if _checks.member(Order, order=order) is Order.PRESENT else test.mirrored()

    def tpr(self, fpr: float) -> float:
        """The largest true-positive rate of any attack with this FPR, in either order."""
        return self.curve().tpr(fpr)

    def advantage(self) -> float:
        """The most that TPR − FPR of any attack can be, in either order."""
        return self.curve().delta(0.0)

    # Imported where they are used: what is made of mechanisms is a mechanism itself.

    def sampled(self, rate: float, scheme: Sampling = Sampling.POISSON) -> Sampled:
        """The mechanism on a random part of the data: each record is in it with chance ``rate``.

        One sample serves all of it: ``m.repeated(k).sampled(rate)`` repeats on the same sample,
        and ``m.sampled(rate).repeated(k)`` draws a new one each time, as DP-SGD does.
        """
        from tellapart.mechanisms.combine import Sampled

        return Sampled(self, rate, scheme)

    def repeated(self, times: int) -> Repeated:
        """The mechanism so many times over, all outputs seen."""
        from tellapart.mechanisms.combine import Repeated

        return Repeated(self, times)

    def then(self, other: Mechanism) -> Sequence:
        """The mechanism and then another, which may depend on the first output.

        Whatever the first output, it must keep the curve that ``other`` has.
        """
        from tellapart.mechanisms.combine import Sequence

        if not isinstance(other, Mechanism):
            _checks.refuse("other", "be a mechanism", other)
        return Sequence((self, other))

    def bracket(
        self, delta: float = 1e-5, gap: float = 1e-4, order: Order | None = None
    ) -> Bracket:
        """Two curves that surely enclose what the best attacker can do, every error counted.

        ``lower`` leaks no less and ``upper`` no more than the mechanism; at this δ their ε differ
        by at most gap·max(1, ε), or `NotCertified` is raised. The order is as in ``curve``. Of
        steps known by a guarantee alone the bracket is ``one_sided``: no attacker is known.
        """
        return self.repeated(1).bracket(delta, gap, order)

    def shuffled(self, users: int) -> Shuffled:
        """The mechanism run by so many persons, their answers seen in random order.

        >>> import tellapart as ta
        >>> hidden = ta.RandomizedResponse(epsilon=2).shuffled(users=10_000)
        >>> round(hidden.curve().epsilon(delta=1e-6), 2)
        0.11
        """
        from tellapart.mechanisms.shuffled import Shuffled

        return Shuffled(self, users)

    def best_of(self, trials: int | Trials) -> BestOf:
        """The best of so many runs, as after tuning hyper-parameters: its output alone is seen.

        The number of runs is fixed, or drawn from a law that no data change: `geometric`,
        `negative_binomial`, `poisson`. Which run is best is read off their outputs: a score on
        private data must be released by the mechanism itself, with noise of its own. Each run may
        have its own hyper-parameters, drawn at random; all must keep the mechanism's curve.

        >>> import tellapart as ta
        >>> round(ta.RandomizedResponse(epsilon=0.5).best_of(10).epsilon(delta=0.0), 6)
        5.0
        """
        from tellapart.mechanisms.repeat_and_select import BestOf, number_of_runs

        return BestOf(self, number_of_runs(trials))

    def for_group(self, size: int) -> Mechanism:
        """The mechanism as so many records together see it: all of them there, or none.

        Plain noise sees its sensitivity grow; Gaussian noise on a Poisson sample moves by the
        number of members in the sample; whatever else is bounded along a chain of neighbours.

        >>> import tellapart as ta
        >>> ta.Gaussian(sigma=2).for_group(3)
        Gaussian(sigma=2.0, sensitivity=3.0)
        >>> family = ta.Gaussian(sigma=1).sampled(0.01).repeated(1_000).for_group(4)
        >>> round(family.curve().epsilon(delta=1e-5), 4)
        8.8992
        """
        k = _checks.whole(1, size=size)
        return self if k == 1 else self._grouped(k)

    def _grouped(self, size: int) -> Mechanism:
        from tellapart.mechanisms.group_privacy import grouped

        return grouped(self, size)

    def _unsampled(self, scheme: Sampling) -> str:
        """Why the mechanism cannot run on such a sample; empty where it can."""
        return ""

    @abstractmethod
    def _present_test(self) -> TradeoffCurve:
        """The curve of h0 = record absent against h1 = record present."""

    def __repr__(self) -> str:
        """The parameters that are not the usual ones, as they could be typed."""
        last = sorted(fields(self), key=lambda parameter: parameter.name == "neighbours")
        shown = [
            f"{parameter.name}={typed(getattr(self, parameter.name))}"
            for parameter in last
            if typed(getattr(self, parameter.name)) != typed(parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _set(self, **checked: object) -> None:
        """Store checked values in this frozen record."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def typed(value: object) -> str:
    """A parameter as it could be typed in."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    listed = isinstance(value, np.ndarray) and value.size <= _LISTED
    return repr(np.asarray(value).tolist() if listed else value)


class EpsilonAtDelta(Mechanism):
    """A mechanism that is made from no ε or δ: these are what one asks it."""

    def epsilon(self, delta: float) -> float:
        """The least ε for which it is (ε, δ)-DP, in both orders; inf if none is."""
        return self.curve().epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """The least δ for which it is (ε, δ)-DP, in both orders."""
        return self.curve().delta(epsilon)


class BatchStep(EpsilonAtDelta):
    """A noisy step on a batch drawn in some way: made of plain noise, with laws of its own."""


@dataclass(frozen=True, repr=False)
class LocalMechanism(Mechanism):
    """A mechanism that each person runs on their own value: neighbours replace that value."""

    neighbours: Neighbours = field(default=Neighbours.REPLACE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is not Neighbours.REPLACE:
            _checks.refuse(
                "neighbours",
                "be Neighbours.REPLACE for a mechanism run on one person's own value",
                self.neighbours,
            )

    def _unsampled(self, scheme: Sampling) -> str:
        return (
            f"a sample hides who was asked only among many: {type(self).__name__} is run by each "
            "person, who answers or visibly does not"
        )

    def _grouped(self, size: int) -> Mechanism:
        raise Unsupported(
            f"each person runs {type(self).__name__} on their own value: what a group of {size} "
            f"shows is mechanism.repeated({size})"
        )
