"""The confusion matrix of one attack: how many members and non-members it flagged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tellapart import _checks
from tellapart._moved import renamed

_ROUNDING = 1 + 1e-12


@renamed(accused_members="true_positives", accused_others="false_positives", others="non_members")
@dataclass(frozen=True)
class Counts:
    """How many of the members, and of the non-members, one attack flagged.

    >>> Counts(true_positives=90, members=100, false_positives=10, non_members=100).fpr
    0.1
    """

    true_positives: int
    members: int
    false_positives: int
    non_members: int

    def __post_init__(self) -> None:
        for total, flagged in (("members", "true_positives"), ("non_members", "false_positives")):
            all_of = _checks.whole(1, 10**15, **{total: getattr(self, total)})
            some = _checks.whole(0, **{flagged: getattr(self, flagged)})
            if some > all_of:
                _checks.refuse(flagged, f"be at most {total} = {all_of}", some)
            object.__setattr__(self, total, all_of)
            object.__setattr__(self, flagged, some)

    @classmethod
    @renamed(others="non_members")
    def from_precision_recall(
        cls, *, precision: float, recall: float, members: int, non_members: int
    ) -> Counts:
        """The counts behind a published precision and recall, on so many members and non-members.

        Where rounded figures fit no whole counts, the attack is read as the weaker of two.

        >>> Counts.from_precision_recall(
        ...     precision=0.9, recall=0.45, members=1000, non_members=1000
        ... )
        Counts(true_positives=450, members=1000, false_positives=50, non_members=1000)
        """
        some = _checks.probability(recall=recall) * _checks.whole(1, 10**15, members=members)
        right = _checks.probability(precision=precision)
        if right == 0 and some > 0:
            _checks.refuse("precision", "exceed 0 where recall does", precision)
        wrong = some * (1 - right) / right if some > 0 else 0.0
        flagged, falsely = math.floor(some * _ROUNDING), math.ceil(wrong / _ROUNDING)
        if falsely > _checks.whole(1, 10**15, non_members=non_members):
            rule = f"be possible: {falsely} of {non_members} non-members would have been flagged"
            _checks.refuse("precision", rule, precision)
        return cls(flagged, members, falsely, non_members)

    @property
    def tpr(self) -> float:
        """The true-positive rate: the share of members it flagged."""
        return self.true_positives / self.members

    @property
    def fpr(self) -> float:
        """The false-positive rate: the share of non-members it flagged."""
        return self.false_positives / self.non_members

    def opposite(self) -> Counts:
        """The same outputs read the other way: who was not flagged, with the roles exchanged.

        TNR ≤ e^ε·FNR + δ for these counts is TPR ≤ e^ε·FPR + δ for the opposite ones.
        """
        return Counts(
            self.non_members - self.false_positives,
            self.non_members,
            self.members - self.true_positives,
            self.members,
        )

    # The names of 0.1.
    @property
    def accused_members(self) -> int:
        """The old name of ``true_positives``."""
        return self.true_positives

    @property
    def accused_others(self) -> int:
        """The old name of ``false_positives``."""
        return self.false_positives

    @property
    def others(self) -> int:
        """The old name of ``non_members``."""
        return self.non_members
