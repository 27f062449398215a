"""The sparse vector technique: which of many answers exceed a threshold; right and wrong.

The data holds the answers to the queries in order, each changed by at most 1 by one record.
Outputs say 1 for "above" and 0 for "below", and −1 for queries that were not asked any more.
The numbers are those of Lyu, Su and Li (2017), figure 1; ε is 1.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.zoo.specimen import FOLKLORE, SUPPORT, declared_in, specimen

Answers = NDArray[np.int64]
# Queries are compared with this number.
THRESHOLD = 1.0
# How often the second variant and the numerical one say "above" before they stop.
TWICE = 2

_LYU = "Lyu, Su and Li 2017, algorithm "
_LAST = ((*(0.0,) * 9, 1.0), (*(1.0,) * 9, 0.0))
_LAST_TWO = ((*(0.0,) * 8, 1.0, 1.0), (*(1.0,) * 8, 0.0, 0.0))
_HALVES = (((0.0,) * 5 + (1.0,) * 5), ((1.0,) * 5 + (0.0,) * 5))
_LONGER_HALVES = (((0.0,) * 7 + (1.0,) * 7), ((1.0,) * 7 + (0.0,) * 7))
_ALL_TEN = ((0.0,) * 10, (1.0,) * 10)


def _queries(data: Any) -> Array:
    return np.asarray(data, dtype=np.float64)


def _stopped(above: NDArray[np.bool_], most: int) -> Answers:
    """Answers up to the one that says "above" for the ``most``-th time."""
    before: Answers = np.cumsum(above, axis=1) - above
    return np.where(before < most, above.astype(np.int64), -1)


def _above(data: Any, rng: Generator, size: int, rho: float, nu: float) -> NDArray[np.bool_]:
    """Noisy answers of scale ``nu`` against one noisy threshold of scale ``rho``."""
    queries = _queries(data)
    bar = THRESHOLD + rng.laplace(0.0, rho, (size, 1))
    return np.asarray(queries + rng.laplace(0.0, nu, (size, queries.size)) >= bar)


@specimen(
    _LAST,
    _HALVES,
    _ALL_TEN,
    truth=0.963997858,
    flaw=None,
    known="all outputs by quadrature over the threshold; 1 for ever more queries",
    source=_LYU + "1",
)
def sparse_vector_1(data: Any, rng: Generator, size: int) -> Answers:
    """Half the budget for the threshold, half for the answers; stops after one "above"."""
    return _stopped(_above(data, rng, size, rho=2.0, nu=4.0), 1)


def _redrawn(noisy: Array, bars: Array) -> Answers:
    """Answers against a threshold that is replaced by the next one after each "above"."""
    rows, most = np.arange(len(noisy)), bars.shape[1]
    seen = np.zeros(len(noisy), dtype=np.int64)
    answers = np.full(noisy.shape, -1, dtype=np.int64)
    for column, values in enumerate(noisy.T):
        asked = seen < most
        above = asked & (values >= bars[rows, np.minimum(seen, most - 1)])
        answers[asked, column] = above[asked]
        seen += above
    return answers


@specimen(
    _LAST_TWO,
    _HALVES,
    _ALL_TEN,
    truth=0.567059349,
    flaw=None,
    known="all outputs by quadrature over the thresholds",
    source=_LYU + "2",
)
def sparse_vector_2(data: Any, rng: Generator, size: int) -> Answers:
    """The threshold's noise is drawn anew after each "above"; stops after two."""
    queries = _queries(data)
    bars = THRESHOLD + rng.laplace(0.0, 2.0 * TWICE, (size, TWICE))
    return _redrawn(queries + rng.laplace(0.0, 4.0 * TWICE, (size, queries.size)), bars)


@specimen(
    _LAST,
    _HALVES,
    truth=4.5,
    known="ratio of the densities of low values; grows with the number of queries",
    source=_LYU + "3",
)
def sparse_vector_3(data: Any, rng: Generator, size: int) -> Array:
    """The noisy answer that was compared is shown; NaN stands for "below" and "not asked"."""
    queries = _queries(data)
    bar = THRESHOLD + rng.laplace(0.0, 2.0, (size, 1))
    noisy = queries + rng.laplace(0.0, 2.0, (size, queries.size))
    return np.where(_stopped(noisy >= bar, 1) == 1, noisy, np.nan)


@specimen(
    _LAST,
    _HALVES,
    truth=1.727911931,
    known="all outputs by quadrature over the threshold; 7/4 for ever more queries",
    source=_LYU + "4",
)
def sparse_vector_4(data: Any, rng: Generator, size: int) -> Answers:
    """The answers' noise is too small for what an "above" reveals; stops after one."""
    return _stopped(_above(data, rng, size, rho=4.0, nu=4 / 3), 1)


@specimen(_HALVES, truth=math.inf, known=SUPPORT, source=_LYU + "5")
def sparse_vector_5(data: Any, rng: Generator, size: int) -> Answers:
    """Only the threshold is noisy, and it never stops."""
    queries = _queries(data)
    bar = THRESHOLD + rng.laplace(0.0, 2.0, (size, 1))
    return np.asarray(queries >= bar).astype(np.int64)


@specimen(
    _LONGER_HALVES,
    _HALVES,
    truth=5.744246515,
    known="all outputs by quadrature over the threshold; grows with the number of queries",
    source=_LYU + "6",
)
def sparse_vector_6(data: Any, rng: Generator, size: int) -> Answers:
    """It never stops, and the noise does not grow with the number of "above"."""
    return _above(data, rng, size, rho=2.0, nu=2.0).astype(np.int64)


@specimen(
    _LAST_TWO,
    _HALVES,
    truth=None,
    flaw=None,
    known="at most 1, by theorem",
    source="Dwork and Roth 2014, algorithm 3",
)
def numerical_sparse_vector(
    data: Any, rng: Generator, size: int
) -> list[tuple[tuple[int, float], ...]]:
    """Which queries are above, and their answers with fresh noise; stops after two."""
    queries = _queries(data)
    scale = 2 * TWICE / (8 / 9)
    bars = THRESHOLD + rng.laplace(0.0, scale, (size, TWICE))
    above = _redrawn(queries + rng.laplace(0.0, 2 * scale, (size, queries.size)), bars) == 1
    row, column = np.nonzero(above)
    answers = queries[column] + rng.laplace(0.0, 2 * TWICE / (2 / 9), column.size)
    shown = list(zip(column.tolist(), answers.tolist(), strict=True))
    ends = np.searchsorted(row, np.arange(size + 1)).tolist()
    return [tuple(shown[start:end]) for start, end in pairwise(ends)]


@specimen(((0.0, 3.0), (0.0, 4.0)), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def sparse_vector_true_value(data: Any, rng: Generator, size: int) -> Array:
    """As the first, but the answer found above is shown as it is, without noise."""
    queries = _queries(data)
    above = _stopped(_above(data, rng, size, rho=2.0, nu=4.0), 1) == 1
    return np.where(above.any(axis=1), queries[above.argmax(axis=1)], np.nan)


SPECIMENS = declared_in(__name__)
