"""Records in a row, each of which depends on the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.worlds.markov import forward_backward, sums
from tellapart.worlds.markov.stationary import stationary_law
from tellapart.worlds.models.base import (
    Mask,
    SummedModel,
    check_law,
    check_table,
    check_values,
    logs_of,
)
from tellapart.worlds.models.grid import Grid, check_work, grid
from tellapart.worlds.models.secrets import RecordValue

_MOST_KEPT = 2**24  # numbers of the backward pass held at once


_TINY = 1e-200


@dataclass(frozen=True, eq=False)
class MarkovChain(SummedModel):
    """A person's states over time, or neighbours in a line, each depending on the last.

    States are 0, 1, ... unless ``values`` says what each one counts.

    >>> MarkovChain([0.8, 0.2], [[0.9, 0.1], [0.4, 0.6]], length=100).records
    100
    """

    initial: Array
    transition: Array
    length: int
    values: Array | None = None

    def __post_init__(self) -> None:
        initial = check_law(initial=self.initial)
        size = initial.size
        fields: dict[str, Any] = {
            "initial": initial,
            "transition": check_table("transition", self.transition, (size, size)),
            "length": _checks.whole(1, 10**7, length=self.length),
            "values": check_values(size, values=self.values),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def stationary(cls, transition: Array, length: int, values: Array | None = None) -> Self:
        """A chain that has been running for ever, so that every record has the same law."""
        rows = check_table("transition", transition)
        table = check_table("transition", rows, (rows.shape[0], rows.shape[0]))
        return cls(stationary_law(table), table, length, values)

    @property
    def records(self) -> int:
        return self.length

    def domain(self, record: int) -> Array:
        return np.asarray(self.values)

    @cached_property
    def possible(self) -> Mask:
        """Which values each record may have, however unlikely: a row for each record."""
        return sums.supports(self.initial, self.transition, self.length)

    @property
    def impossible(self) -> tuple[RecordValue, ...]:
        """The values that records cannot have, which are no secrets."""
        values = self.domain(0).tolist()
        return tuple(RecordValue(t, values[a]) for t, a in np.argwhere(~self.possible).tolist())

    def _laid(self, weights: Array) -> Grid:
        size, domain = self.initial.size, self.domain(0)
        # Each record that counts moves the sum by one step at least, so that some need no grid.
        least = int(np.count_nonzero(weights)) if size > 1 else 0
        check_work(size, self.length, least, "MarkovChain")
        laid = grid(weights, [domain] * self.length)
        check_work(size, self.length, laid.reach, "MarkovChain")
        return laid

    def _joint(self, weights: Array, record: int, allowed: list[Mask]) -> tuple[Array, Array]:
        laid = self._laid(weights)
        logs = sums.joint(self.initial, self.transition, laid.steps, allowed, record)
        return laid.sums(logs.shape[1]), logs

    def _joints(self, weights: Array, allowed: list[Mask]) -> Iterator[tuple[Array, Array]]:
        laid = self._laid(weights)
        if self.initial.size * self.length * laid.reach > _MOST_KEPT:
            yield from super()._joints(weights, allowed)
            return
        for logs in sums.joints(self.initial, self.transition, laid.steps, allowed):
            yield laid.sums(logs.shape[1]), logs

    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        if all(mask.all() for mask in allowed):
            shares = self.initial @ np.linalg.matrix_power(self.transition, record)
            # What is tiny there may have lost its digits, or all of itself, on the way.
            if np.all(shares > _TINY):
                return logs_of(shares)
        emissions = np.where(np.array(allowed), 0.0, -np.inf)[None]
        return np.asarray(
            forward_backward.occupation(self.initial, self.transition, emissions)[0, record]
        )
