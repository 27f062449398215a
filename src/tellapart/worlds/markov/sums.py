"""The law of a sum along a chain, together with the state at one time.

A step of the chain is a matrix of polynomials in the sum. Stretches of equal steps are powers of
one matrix, found by squaring.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import Mask, logs_of
from tellapart.worlds.models.grid import emitted

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


def supports(initial: Array, transition: Array, length: int) -> Mask:
    """The states of positive probability at each time, which from some time on come round again."""
    moves, now = transition > 0, initial > 0
    rows: list[Mask] = []
    seen: dict[bytes, int] = {}
    while len(rows) < length and now.tobytes() not in seen:
        deadline.check()
        seen[now.tobytes()] = len(rows)
        rows.append(now)
        now = np.asarray(moves[now].any(axis=0))
    found = np.array(rows)
    if len(rows) == length:
        return found
    start = seen[now.tobytes()]
    later = np.arange(length - start) % (len(rows) - start)
    return np.concatenate([found[:start], found[start:][later]])
