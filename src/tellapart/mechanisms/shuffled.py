"""The shuffle model: local answers in random order, so that nobody knows whose is whose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.composition.shuffling import shuffled_curve
from tellapart.curve.guarantees import nothing
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.choice import RandomizedResponse
from tellapart.mechanisms.combine import Combined, Step
from tellapart.neighbours import Neighbours

# Clones of a louder randomiser are too rare to count on.
_LOUDEST = 100.0


@dataclass(frozen=True, repr=False)
class Shuffled(Combined):
    """So many persons run a local randomiser, and the attacker sees all answers in random order.

    Known from below, by clones (Feldman, McMillan and Talwar 2021, Theorem 3.1): each other person
    answers as a clone with chance e^−ε₀, or 2/(e^ε₀ + 1) for yes-no randomised response.
    """

    base: Mechanism
    users: int

    def __post_init__(self) -> None:
        if self.base.neighbours is not Neighbours.REPLACE:
            raise Unsupported(
                "answers are shuffled that each person gives on their own value: the mechanism "
                "needs neighbours=Neighbours.REPLACE"
            )
        self._set(users=_checks.whole(1, 10**9, users=self.users), neighbours=Neighbours.REPLACE)

    def __repr__(self) -> str:
        return f"{self.base!r}.shuffled({self.users!r})"

    def steps(self) -> tuple[Step, ...]:
        return ((self, 1),)

    def _unsampled(self, scheme: Sampling) -> str:
        # Who hides among fewer persons than were counted on is hidden less.
        if scheme is Sampling.WITHOUT_REPLACEMENT:
            return ""
        return (
            "a Poisson sample has no fixed number of users to hide among: take "
            "Sampling.WITHOUT_REPLACEMENT, and as users the size of the sample"
        )

    def _present_test(self) -> TradeoffCurve:
        local = float(self.base.curve().epsilon(0.0))
        if not local <= _LOUDEST:
            raise Unsupported(
                f"shuffling is understood for pure ε of at most {short(_LOUDEST)}, and "
                f"{type(self.base).__name__} has {short(local)}"
            )
        if local == 0:
            return nothing()
        binary = isinstance(self.base, RandomizedResponse) and self.base.categories == 2
        chance = 2 / (math.exp(local) + 1) if binary else math.exp(-local)
        return shuffled_curve(local, self.users - 1, chance)
