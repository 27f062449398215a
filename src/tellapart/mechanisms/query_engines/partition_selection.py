"""Partition selection: with which probability a key may be shown that so many people have."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart.curve.atomic import from_corners
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.mechanisms.base import Mechanism
from tellapart.neighbours import Neighbours

# Beyond so many people before a key is certain, the curve is that of the promise itself.
_MOST_PEOPLE = 20_000


def refuse_other_neighbours(neighbours: Neighbours) -> None:
    """Where keys are shown, the pair of worlds is that of a person who comes or goes."""
    if neighbours is not Neighbours.ADD_REMOVE:
        rule = "be Neighbours.ADD_REMOVE where keys are shown: a person may be alone with one"
        _checks.refuse("neighbours", rule, neighbours)


@dataclass(frozen=True, repr=False)
class PartitionSelection(Mechanism):
    """Shows a key as often as (ε, δ) allows for the number of people who have it.

    The optimal probabilities are π(0) = 0 and π(n) = min(e^ε·π(n−1) + δ, 1 − e^−ε·(1 − π(n−1) − δ),
    1) (Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1). The curve is exact: the worst over
    n of "n people" against "n + 1". One person has one key: for k keys, split ε and δ, and take
    ``.repeated(k)``.

    >>> import tellapart as ta
    >>> chosen = ta.PartitionSelection(epsilon=1, delta=1e-5)
    >>> round(chosen.shown(10), 5), round(chosen.shown(12), 5), chosen.shown(23)
    (0.12818, 0.76031, 1.0)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_other_neighbours(self.neighbours)
        self._set(
            epsilon=_checks.finite_at_least_zero(epsilon=self.epsilon),
            delta=_checks.inside_unit(delta=self.delta),
        )

    def shown(self, people: int) -> float:
        """The probability π(n) that a key is shown which so many people have."""
        n = _checks.whole(0, 10**7, people=people)
        chance, rest = 0.0, 1.0
        for _ in range(n):
            chance, rest = self._next(chance, rest)
            if rest == 0:
                break
        return chance

    def _next(self, chance: float, rest: float) -> tuple[float, float]:
        """π(n + 1) and 1 − π(n + 1), each from what has its digits."""
        if rest <= self.delta:
            return 1.0, 0.0
        spared = math.exp(-self.epsilon) * (rest - self.delta)
        grown = math.exp(min(self.epsilon, 700.0)) * chance + self.delta
        return (grown, 1 - grown) if grown <= 1 - spared else (1 - spared, spared)

    def _present_test(self) -> TradeoffCurve:
        chances, rests = [0.0], [1.0]
        while rests[-1] > 0:
            if len(chances) > _MOST_PEOPLE:
                return GuaranteeCurve(self.epsilon, self.delta)
            chance, rest = self._next(chances[-1], rests[-1])
            chances.append(chance)
            rests.append(rest)
        pi, left = np.array(chances), np.array(rests)
        # "Shown" means the larger number of people; and the tests that never and always say so.
        fpr, tpr = (np.concatenate([[0.0], rates, [1.0]]) for rates in (pi[:-1], pi[1:]))
        fnr, tnr = (np.concatenate([[1.0], rates, [0.0]]) for rates in (left[1:], left[:-1]))
        return from_corners(fpr, tpr, fnr, tnr, Bound.EXACT)
