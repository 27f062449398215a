"""Sensitivity of a strategy matrix: how far a record moves all answers, over ways to take part.

A record that takes part in a set of steps π, with gradients g of norm at most 1, moves C·G by
Σ over π of column i times gᵢ, whose squared length is Σ (CᵀC)ᵢⱼ⟨gᵢ, gⱼ⟩ ≤ Σ |CᵀC|ᵢⱼ. The bound is
attained where signs ±1 for the gradients make all terms positive, as for C ≥ 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

Places = NDArray[np.signedinteger[Any]]

# Two sums of the same positive terms differ by rounding alone.
ROUNDING = 1e-12


class SensitivityRange(NamedTuple):
    """How far a record moves all answers together: what some record does, and what none exceeds."""

    least: float
    most: float

    @property
    def exact(self) -> bool:
        """Whether some record moves the answers that far."""
        return self.least == self.most


def exactly(value: float) -> SensitivityRange:
    """What some record reaches and none exceeds."""
    return SensitivityRange(float(value), float(value))


def between(least: float, most: float) -> SensitivityRange:
    """Between two ends, which are one where they differ by rounding alone."""
    return exactly(most) if least >= most * (1 - ROUNDING) else SensitivityRange(least, most)


def of_set(gram: Array) -> SensitivityRange:
    """For one set of steps, with the signs of its gradients as good as they are found."""
    most = math.sqrt(float(np.abs(gram).sum()))
    signs = np.ones((3, len(gram)))
    for place in range(1, len(gram)):
        signs[1, place] = -1.0 if gram[place, :place] @ signs[1, :place] < 0 else 1.0
    signs[2] = np.where(np.linalg.eigh(gram)[1][:, -1] < 0, -1.0, 1.0)
    least = math.sqrt(max(0.0, float(np.einsum("si,ij,sj->s", signs, gram, signs).max())))
    return between(least, most)


def best_sets(values: Array, apart: int, times: int) -> Array:
    """The largest sum over steps that one record can take part in, for values ≥ 0 on each row."""
    steps = values.shape[-1]
    best = np.zeros((*values.shape[:-1], steps + apart))
    for _ in range(times):
        best[..., :steps] = values + best[..., apart:]
        best = np.maximum.accumulate(best[..., ::-1], axis=-1)[..., ::-1].copy()
    return np.asarray(best[..., 0])


def listed_sets(steps: int, apart: int, times: int) -> int:
    """How many sets of all but the last step there are to list."""
    if apart == 1 and times >= steps:
        return 1
    return sum(
        math.comb(max(steps - (size - 1) * (apart - 1), 0), size) for size in range(1, times)
    )


def best_listed(sizes: Array, apart: int, times: int) -> Places:
    """The steps of the record that moves the answers furthest, by all sets of them."""
    steps = len(sizes)
    if apart == 1 and times >= steps:  # more steps never move less
        return np.arange(steps)
    alone = np.diag(sizes)
    best_value, best_set = -1.0, [0]
    pending: list[tuple[list[int], float, Array]] = [([], 0.0, np.zeros(steps))]
    while pending:
        chosen, total, beside = pending.pop()
        first = chosen[-1] + apart if chosen else 0
        gains = alone[first:] + 2 * beside[first:]
        if not gains.size:
            continue
        place = int(np.argmax(gains))
        if total + gains[place] > best_value:
            best_value, best_set = total + float(gains[place]), [*chosen, first + place]
        if len(chosen) + 1 < times:
            for step in range(first, steps - apart):
                grown = total + float(gains[step - first])
                pending.append(([*chosen, step], grown, beside + sizes[step]))
    return np.array(best_set)
