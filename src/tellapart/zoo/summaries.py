"""Tables and their summaries: histograms, sums, means, keys; right and wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator

from tellapart._checks import Array
from tellapart.curve.guarantees import guarantee
from tellapart.zoo.specimen import FOLKLORE, SUPPORT, declared_in, specimen

SCALE = 1.0
# The claim for the histogram whose scale is ε instead of 1/ε: at ε = 1 nobody would see.
UPSIDE_DOWN = 0.5
# Keys are shown when their noisy count exceeds 1 + ln(1/2δ)/ε.
KEY_DELTA = 0.01
KEY_THRESHOLD = 1 + math.log(1 / (2 * KEY_DELTA))
ENOUGH = 5

_LAPLACE = "ratio of two Laplace densities"
_TAILS = "ratio of Laplace densities of unlike scale, unbounded"
_DWORK = "Dwork, McSherry, Nissim and Smith 2006"
_KOROLOVA = "Korolova, Kenthapadi, Mishra and Ntoulas 2009"
_BINS = ((5, 3, 2), (5, 4, 2))
_NEW_KEY = ({"a": 5}, {"a": 5, "b": 1})


def _table(data: Any) -> Array:
    return np.asarray(data, dtype=np.float64)


@specimen(_BINS, truth=1.0, flaw=None, known=_LAPLACE, source=_DWORK)
def histogram(data: Any, rng: Generator, size: int) -> Array:
    """Every bin with Laplace noise of scale 1/ε; a record is in one bin."""
    counts = _table(data)
    return np.asarray(counts + rng.laplace(0.0, SCALE, (size, counts.size)))


@specimen(
    _BINS,
    claim=guarantee(epsilon=UPSIDE_DOWN),
    truth=2.0,
    known=_LAPLACE,
    source="Ding, Wang, Wang, Zhang and Kifer 2018",
)
def histogram_upside_down(data: Any, rng: Generator, size: int) -> Array:
    """The scale is ε instead of 1/ε."""
    counts = _table(data)
    return np.asarray(counts + rng.laplace(0.0, UPSIDE_DOWN, (size, counts.size)))


@specimen(_BINS, truth=math.inf, known="differences of bins have no noise", source=FOLKLORE)
def histogram_one_noise(data: Any, rng: Generator, size: int) -> Array:
    """One noise is drawn and added to every bin, so that differences are exact."""
    return np.asarray(_table(data) + rng.laplace(0.0, SCALE, (size, 1)))


@specimen(((0, 3, 2), (1, 3, 2)), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def histogram_exact_zeros(data: Any, rng: Generator, size: int) -> Array:
    """Empty bins stay exactly 0, so that the picture looks tidy."""
    counts = _table(data)
    return np.where(counts > 0, counts + rng.laplace(0.0, SCALE, (size, counts.size)), 0.0)


@specimen(
    ((0.0,) * 10, (1.0,) * 10),
    truth=10.0,
    known="product of ten Laplace ratios",
    source="Bichsel et al. 2021",
)
def prefix_sums(data: Any, rng: Generator, size: int) -> Array:
    """Running sums of noisy answers, though one record changes every answer."""
    answers = _table(data)
    noisy = answers + rng.laplace(0.0, SCALE, (size, answers.size))
    return np.cumsum(noisy, axis=1)


@specimen(((0.5,), (0.5, 10.0)), truth=1.0, flaw=None, known=_LAPLACE, source=_DWORK)
def bounded_sum(data: Any, rng: Generator, size: int) -> Array:
    """A sum of values clipped to [0, 1], with Laplace noise."""
    return float(np.clip(_table(data), 0, 1).sum()) + rng.laplace(0.0, SCALE, size)


@specimen(((0.5,), (0.5, 10.0)), truth=10.0, known=_LAPLACE, source=FOLKLORE)
def sum_without_clipping(data: Any, rng: Generator, size: int) -> Array:
    """Values are said to lie in [0, 1], and nothing makes them."""
    return float(_table(data).sum()) + rng.laplace(0.0, SCALE, size)


@specimen(((0.5,), (0.5, math.nan)), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def sum_nan(data: Any, rng: Generator, size: int) -> Array:
    """np.clip keeps NaN, so one record can turn every answer into NaN."""
    return np.asarray(np.clip(_table(data), 0, 1).sum() + rng.laplace(0.0, SCALE, size))


@specimen(((0.0,), (0.0, 0.0)), truth=math.inf, known=_TAILS, source=FOLKLORE)
def mean_by_true_size(data: Any, rng: Generator, size: int) -> Array:
    """A noisy sum divided by the true number of records."""
    values = np.clip(_table(data), 0, 1)
    return np.asarray((values.sum() + rng.laplace(0.0, SCALE, size)) / values.size)


@specimen(
    ((0.0,), (0.0, 1.0)),
    ((0.0,), (0.0, 0.0)),
    truth=None,
    flaw=None,
    known="at most 1, by composition of two halves",
    source="Dwork and Roth 2014, theorem 3.14",
)
def mean_by_noisy_size(data: Any, rng: Generator, size: int) -> Array:
    """A noisy sum divided by a noisy number of records, with half the budget each."""
    values = np.clip(_table(data), 0, 1)
    total = values.sum() + rng.laplace(0.0, 2 * SCALE, size)
    return np.asarray(total / np.maximum(values.size + rng.laplace(0.0, 2 * SCALE, size), 1.0))


@specimen(((1.0,) * 3, (1.0, 1.0, 1.0, 10.0)), truth=math.inf, known=_TAILS, source=FOLKLORE)
def mean_bound_from_data(data: Any, rng: Generator, size: int) -> Array:
    """The bound that sets the noise is the largest value in the data."""
    values = _table(data)
    bound = float(np.abs(values).max())
    return np.asarray(values.sum() + rng.laplace(0.0, SCALE * bound, size))


@specimen(((1, 1, 0), (1, 1, 1)), truth=math.inf, known="one input has one output", source=FOLKLORE)
def scale_from_private_count(data: Any, rng: Generator, size: int) -> Array:
    """The noise shrinks with the number of features that occur, which is private."""
    features = _table(data)
    scale = SCALE * (features.size - np.count_nonzero(features))
    return np.asarray(features.sum() + scale * rng.laplace(0.0, 1.0, size))


@specimen(((0.5,), (0.5, 0.5)), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def mean_with_size(data: Any, rng: Generator, size: int) -> list[dict[str, float]]:
    """A noisy sum with the true number of records beside it, for information."""
    values = np.clip(_table(data), 0, 1)
    sums = values.sum() + rng.laplace(0.0, SCALE, size)
    return [{"sum": total, "records": values.size} for total in sums.tolist()]


CountsOfKeys = list[dict[str, float]]


def _noisy_counts(counts: dict[str, int], rng: Generator, size: int) -> list[list[float]]:
    exact = np.array(list(counts.values()), dtype=np.float64)
    noisy = exact + rng.laplace(0.0, SCALE, (size, exact.size))
    return noisy.tolist()  # type: ignore[no-any-return]


@specimen(
    ({"a": 5}, {"a": 6}),
    _NEW_KEY,
    claim=guarantee(1, KEY_DELTA),
    truth=1 + 2 * math.log1p(-KEY_DELTA),
    flaw=None,
    known="Laplace curve: what is hidden has one and the same loss",
    source=_KOROLOVA,
)
def keys_above_threshold(data: Any, rng: Generator, size: int) -> CountsOfKeys:
    """Noisy counts of the keys that occur, if large enough to hide that a key is new."""
    return [
        {key: count for key, count in zip(data, row, strict=True) if count > KEY_THRESHOLD}
        for row in _noisy_counts(data, rng, size)
    ]


@specimen(_NEW_KEY, truth=math.inf, known=SUPPORT, source=_KOROLOVA)
def keys_without_threshold(data: Any, rng: Generator, size: int) -> CountsOfKeys:
    """Noisy counts of all keys that occur: a new key gives its record away."""
    return [dict(zip(data, row, strict=True)) for row in _noisy_counts(data, rng, size)]


@specimen(({"a": 5, "b": 4}, {"a": 5, "b": 5}), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def keys_by_true_count(data: Any, rng: Generator, size: int) -> CountsOfKeys:
    """Keys are shown when their true count is large enough; then noise is added."""
    large = {key: count for key, count in data.items() if count >= ENOUGH}
    return [dict(zip(large, row, strict=True)) for row in _noisy_counts(large, rng, size)]


@specimen(
    (5, 6),
    (4, 5),
    truth=1.0,
    flaw=None,
    known=_LAPLACE,
    source="Dwork and Roth 2014, proposition 2.1",
)
def count_or_none(data: Any, rng: Generator, size: int) -> list[float | None]:
    """A noisy count, or nothing where the noisy count is small, which costs nothing."""
    noisy = (data + rng.laplace(0.0, SCALE, size)).tolist()
    return [count if count > ENOUGH else None for count in noisy]


@specimen((4, 5), truth=math.inf, known=SUPPORT, source=FOLKLORE)
def count_or_none_by_true_count(data: Any, rng: Generator, size: int) -> list[float | None]:
    """A noisy count, or nothing where the true count is small."""
    if data < ENOUGH:
        return [None] * size
    return list((data + rng.laplace(0.0, SCALE, size)).tolist())


SPECIMENS = declared_in(__name__)
