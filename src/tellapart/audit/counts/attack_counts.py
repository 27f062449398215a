"""The confusion matrix of one attack: how many members and non-members it flagged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellapart import _checks

_ROUNDING = 1 + 1e-12


@dataclass(frozen=True)
class Counts:
    """How many of the members, and of the others, one attack accused.

    >>> Counts(accused_members=90, members=100, accused_others=10, others=100).fpr
    0.1
    """

    accused_members: int
    members: int
    accused_others: int
    others: int

    def __post_init__(self) -> None:
        for total, accused in (("members", "accused_members"), ("others", "accused_others")):
            all_of = _checks.whole(1, 10**15, **{total: getattr(self, total)})
            some = _checks.whole(0, **{accused: getattr(self, accused)})
            if some > all_of:
                _checks.refuse(accused, f"be at most {total} = {all_of}", some)
            object.__setattr__(self, total, all_of)
            object.__setattr__(self, accused, some)

    @classmethod
    def from_precision_recall(
        cls, *, precision: float, recall: float, members: int, others: int
    ) -> Counts:
        """The counts behind a published precision and recall, on so many members and others.

        Where rounded figures fit no whole counts, the attack is read as the weaker of two.

        >>> Counts.from_precision_recall(precision=0.9, recall=0.45, members=1000, others=1000)
        Counts(accused_members=450, members=1000, accused_others=50, others=1000)
        """
        some = _checks.probability(recall=recall) * _checks.whole(1, 10**15, members=members)
        right = _checks.probability(precision=precision)
        if right == 0 and some > 0:
            _checks.refuse("precision", "exceed 0 where members are found", precision)
        wrong = some * (1 - right) / right if some > 0 else 0.0
        flagged, falsely = math.floor(some * _ROUNDING), math.ceil(wrong / _ROUNDING)
        if falsely > _checks.whole(1, 10**15, others=others):
            rule = f"be possible: {falsely} others would have been accused of {others}"
            _checks.refuse("precision", rule, precision)
        return cls(flagged, members, falsely, others)

    @property
    def tpr(self) -> float:
        """The share of members it accused."""
        return self.accused_members / self.members

    @property
    def fpr(self) -> float:
        """The share of others it accused."""
        return self.accused_others / self.others

    def opposite(self) -> Counts:
        """The same outputs read the other way: who was cleared, with the two worlds exchanged.

        TNR ≤ e^ε·FNR + δ for these counts is TPR ≤ e^ε·FPR + δ for the opposite ones.
        """
        return Counts(
            self.others - self.accused_others,
            self.others,
            self.members - self.accused_members,
            self.members,
        )
