"""Sums over stretches of a chain, for what happens at both of their ends."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import Mask, logs_of
from tellapart.worlds.models.grid import Grid, emitted


class Stretches:
    """Log-polynomials in the sum of all records that lie between, in steps of the grid.

    ``start[i]`` is of the records before record i, with its state; ``end[i]`` of i records that
    follow, given the state before them; ``between[i]`` of i records between two states, given the
    first and with the second. Each for less than ``length`` records.
    """

    def __init__(self, chain: MarkovChain, laid: Grid, length: int) -> None:
        self.length, self.states = length, chain.initial.size
        self.steps = laid.steps[0]
        logs = logs_of(chain.transition)
        every = np.ones(self.states, dtype=bool)
        self.start = [logs_of(chain.initial)[:, None]]
        self.end = [np.zeros((self.states, 1))]
        self.between = [np.array([row[:, None] for row in logs])]
        for _ in range(1, self.length):
            self.start.append(logpoly.mix(emitted(self.start[-1], self.steps, every), logs))
            self.end.append(logpoly.mix(emitted(self.end[-1], self.steps, every), logs.T))
            last = self.between[-1]
            further = [logpoly.mix(emitted(row, self.steps, every), logs) for row in last]
            self.between.append(np.array(further))
        # Which states each record may have.
        self.possible = np.array([row.max(axis=1) > -np.inf for row in self.start])

    def law(self, before: Array, after: Array) -> Array | None:
        """For each state the law of the sum; None where fewer than two states can be."""
        rows = joined(before, after)
        whole = logpoly.total(rows, axis=1)
        possible = whole > -np.inf
        if possible.sum() < 2:
            return None
        rows[possible] -= whole[possible, None]
        return self.emitted(rows, possible)

    def emitted(self, rows: Array, possible: Mask) -> Array:
        """With the record's own state added to the sum."""
        return emitted(rows, self.steps, possible)

    def starts(self, end: int) -> list[tuple[int, int]]:
        """For each state the first of so many records that may have it, if any may."""
        some = self.possible[:end]
        states = [state for state in range(self.states) if some[:, state].any()]
        return [(int(some[:, state].argmax()), state) for state in states]


def joined(before: Array, after: Array) -> Array:
    """The sums on both sides of a record together, for each of its states."""
    return logpoly.multiply_each(before, after)
