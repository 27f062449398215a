"""A known chain seen from its end: one matrix per step, also where some states cannot occur."""

from __future__ import annotations

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.message_passing import Box
from tellapart.worlds.markov.step import EPS, Mask
from tellapart.worlds.models.base import logs_of

_SETTLED = 1e-10


def reversals(chain: MarkovChain) -> tuple[list[Box], Mask]:
    """For each step the law of a record given the next, and which states each record may have.

    By logarithms, as a state's probability may fall below any double and still be a secret. Where
    laws of neighbouring records agree up to e^±δ all later ones do; once all of them together move
    rows by less than 1e-10 one box holds for the rest.
    """
    moves = logs_of(chain.transition)
    law = logs_of(chain.initial)
    boxes: list[Box] = []
    possible = np.zeros((chain.length, law.size), dtype=bool)
    possible[0] = law > -np.inf
    with np.errstate(invalid="ignore"):
        for t in range(1, chain.length):
            together = law[:, None] + moves
            new = np.logaddexp.reduce(together, axis=0)
            occurs = possible[t] = new > -np.inf
            # A state that cannot occur has an empty row.
            rows = np.where(occurs[:, None], np.exp(together.T - new[:, None]), 0.0)
            drift = 2 * (chain.length - t) * (_change(law, new) + 4 * EPS)
            if drift <= _SETTLED:
                rest = Box(rows * (1 - 2 * drift), np.minimum(rows * (1 + 2 * drift), 1.0))
                possible[t:] = occurs
                return boxes + [rest] * (chain.length - t), possible
            boxes.append(Box(rows, rows))
            law = new
    return boxes, possible


def _change(law: Array, new: Array) -> float:
    """The largest change of a log-probability; infinite where a state comes or goes."""
    change = np.abs(new - law)
    return float(np.where(np.isnan(change), 0.0, change).max())
