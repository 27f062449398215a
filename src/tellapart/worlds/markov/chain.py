"""Records in a row, each of which depends on the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.markov.marginals import stationary_law, supports
from tellapart.worlds.models.base import (
    Mask,
    SummedModel,
    check_law,
    check_table,
    check_values,
    logs_of,
)
from tellapart.worlds.models.grid import Grid, check_work, emitted, grid
from tellapart.worlds.models.secrets import RecordValue

_SPAN = 600.0


def occupation(initial: Array, transition: Array, emissions: Array) -> Array:
    """Logarithms of E[1{X_t = a} · Π e^(emission of each state passed)], for all rows, t and a.

    ``emissions`` has axes row, time and state; rows are independent questions asked at once.
    Both directions are walked in step: forward from the start, backward from the end.
    """
    rows, length, size = emissions.shape
    step = _Step(np.stack([transition, transition.T]))
    own = np.ascontiguousarray(np.stack([emissions, emissions[:, ::-1]]).transpose(2, 0, 1, 3))
    reached = np.zeros((length, 2, rows, size))
    reached[0, 0] = logs_of(initial)
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(1, length):
            reached[t] = step(reached[t - 1] + own[t - 1])
    forward, backward = reached[:, 0], reached[::-1, 1]
    return np.asarray((forward + own[:, 0] + backward).transpose(1, 0, 2))


class _Step:
    """One step along each of two chains, on log-weights of states.

    Where weights fit a double together this is a matrix product; where they do not, as in chains
    whose states never meet, it is a sum of logarithms.
    """

    def __init__(self, matrices: Array) -> None:
        self.matrices, self.logs = matrices, logs_of(matrices)
        self.span = _SPAN + self.logs[self.logs > -np.inf].min()

    def __call__(self, weights: Array) -> Array:
        top = weights.max(axis=2, keepdims=True)
        below = top - weights
        if ((below <= self.span) | (below == np.inf)).all():  # leaving out a 0 costs no digits
            return np.asarray(np.log(np.exp(-below) @ self.matrices) + top)
        return logpoly.total(weights[..., None] + self.logs[:, None], axis=2)


Steps = NDArray[np.int64]
_SHORT = 12  # stretches of fewer steps are walked one by one
_WIDE = 64  # and so are those whose sums are far apart, as squares of long polynomials are dear


def joint(
    initial: Array, transition: Array, steps: list[Steps], allowed: list[Mask], time: int
) -> Array:
    """Logarithms of P(state at ``time``, sum), one row of sums for each state."""
    logs = logs_of(transition)
    past = emitted(logs_of(initial)[:, None], steps[0], allowed[0])
    past = _walk(past, logs, list(_stretches(steps[1 : time + 1], allowed[1 : time + 1])), False)
    rest = list(_stretches(steps[time + 1 :], allowed[time + 1 :]))
    future = _walk(np.zeros((initial.size, 1)), logs, rest[::-1], True)
    return logpoly.multiply_each(past, future)


def joints(
    initial: Array, transition: Array, steps: list[Steps], allowed: list[Mask]
) -> Iterator[Array]:
    """The same at every time in turn, by one walk in either direction."""
    logs = logs_of(transition)
    futures = [np.zeros((initial.size, 1))]
    for one, mask in zip(steps[:0:-1], allowed[:0:-1], strict=True):
        futures.append(_step(futures[-1], logs, one, mask, True))
    past = emitted(logs_of(initial)[:, None], steps[0], allowed[0])
    for time in range(len(steps)):
        deadline.check()
        if time:
            past = _step(past, logs, steps[time], allowed[time], False)
        yield logpoly.multiply_each(past, futures.pop())


def _stretches(steps: list[Steps], allowed: list[Mask]) -> Iterator[tuple[int, Steps, Mask]]:
    """Maximal runs of times that count alike, with how long each is."""
    start = 0
    for end in range(1, len(steps) + 1):
        deadline.check()
        if end == len(steps) or not (
            _same(steps[end], steps[start]) and _same(allowed[end], allowed[start])
        ):
            yield end - start, steps[start], allowed[start]
            start = end


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one is other or np.array_equal(one, other)


def _walk(
    row: Array, logs: Array, stretches: list[tuple[int, Steps, Mask]], backwards: bool
) -> Array:
    for length, steps, allowed in stretches:
        if length < _SHORT or logs.shape[0] * int(steps.max()) > _WIDE:
            for _ in range(length):
                row = _step(row, logs, steps, allowed, backwards)
        else:
            units = np.where(np.eye(logs.shape[0], dtype=bool), 0.0, -np.inf)[:, :, None]
            matrix = np.array([_step(one, logs, steps, allowed, backwards) for one in units])
            row = _times_power(row, matrix, length)
    return row


def _step(row: Array, logs: Array, steps: Steps, allowed: Mask, backwards: bool) -> Array:
    if backwards:
        return logpoly.mix(emitted(row, steps, allowed), logs.T)
    return emitted(logpoly.mix(row, logs), steps, allowed)


def _times_power(row: Array, matrix: Array, power: int) -> Array:
    while power:
        deadline.check()
        if power % 2:
            row = logpoly.apply(row, matrix)
        power //= 2
        if power:
            matrix = np.array([logpoly.apply(one, matrix) for one in matrix])
    return row


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
        return supports(self.initial, self.transition, self.length)

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
        logs = joint(self.initial, self.transition, laid.steps, allowed, record)
        return laid.sums(logs.shape[1]), logs

    def _joints(self, weights: Array, allowed: list[Mask]) -> Iterator[tuple[Array, Array]]:
        laid = self._laid(weights)
        if self.initial.size * self.length * laid.reach > _MOST_KEPT:
            yield from super()._joints(weights, allowed)
            return
        for logs in joints(self.initial, self.transition, laid.steps, allowed):
            yield laid.sums(logs.shape[1]), logs

    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        if all(mask.all() for mask in allowed):
            shares = self.initial @ np.linalg.matrix_power(self.transition, record)
            # What is tiny there may have lost its digits, or all of itself, on the way.
            if np.all(shares > _TINY):
                return logs_of(shares)
        emissions = np.where(np.array(allowed), 0.0, -np.inf)[None]
        return np.asarray(occupation(self.initial, self.transition, emissions)[0, record])
