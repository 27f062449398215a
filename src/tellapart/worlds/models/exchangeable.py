"""Exchangeable binary records: only their number of ones has a law of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.binomial import log_choose
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import Mask, SummedModel, check_law, logs_of


@dataclass(frozen=True, eq=False)
class Exchangeable(SummedModel):
    """People of whom any so many are equally likely to be the ones with a 1.

    ``count_law`` has the probability of 0, 1, ..., n ones among n records.

    >>> Exchangeable([0.1, 0.15, 0.5, 0.15, 0.1]).records
    4
    """

    count_law: Array

    def __post_init__(self) -> None:
        law = check_law(count_law=self.count_law)
        if law.size < 2:
            _checks.refuse("count_law", "have a probability for 0 and for 1 at least", law.size)
        object.__setattr__(self, "count_law", law)

    @property
    def records(self) -> int:
        return self.count_law.size - 1

    def domain(self, record: int) -> Array:
        return np.array([0.0, 1.0])

    def _joint(self, weights: Array, record: int, allowed: list[Mask]) -> tuple[Array, Array]:
        asked = weights != 0
        sizes = np.unique(weights[asked])
        if sizes.size > 1:
            raise Unsupported(
                "Exchangeable knows sums in which records count alike or not at all; "
                "for other weights describe the data by a JointTable"
            )
        weight = float(sizes[0]) if sizes.size else 0.0
        free = np.array([mask.all() for mask in allowed])
        free[record] = False
        fixed = np.array([mask[1] and not mask[0] for mask in allowed])
        logs = np.full((2, int(asked.sum()) + 1), -np.inf)
        for value in range(2):
            if allowed[record][value]:
                ones = fixed.copy()
                ones[record] = value == 1
                inside = self._counts(int(ones.sum()), int(free.sum()), int((free & asked).sum()))
                start = int((ones & asked).sum())
                logs[value, start : start + inside.size] = inside
        sums, order = np.unique(weight * np.arange(logs.shape[1]), return_index=True)
        return sums, logs[:, order]

    def _counts(self, ones: int, free: int, asked: int) -> Array:
        """Log-probabilities of the ones among ``asked`` of the free records, and of the rest.

        The rest, some records known to be 1 and the others known to be 0, is fixed in place.
        """
        every = np.arange(self.records + 1)
        orders = logs_of(self.count_law) - log_choose(self.records, every)
        inside = log_choose(asked, np.arange(asked + 1))
        outside = log_choose(free - asked, np.arange(free - asked + 1))
        logs = np.full(asked + 1, -np.inf)
        for rest, ways in enumerate(outside):
            start = ones + rest
            logs = np.logaddexp(logs, orders[start : start + asked + 1] + inside + ways)
        return logs

    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        _, joint = self._joint(np.ones(self.records), record, allowed)
        return logpoly.total(joint, axis=1)
