"""Selections: noisy maxima, exponential mechanism, permute-and-flip, medians; right and wrong.

Unless a function says otherwise the data holds one score per option, and one record changes
every score by at most 1, in either direction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.zoo.specimen import batched

Indices = NDArray[np.intp]
# What noise of this scale keeps: ε = 1 for a choice among scores that move both ways.
SCALE = 2.0
# Where the values of a private quantile lie.
RANGE = (0.0, 10.0)


def _scores(data: Any) -> Array:
    return np.asarray(data, dtype=np.float64)


@batched
def noisy_max_1(data: Any, rng: Generator, size: int) -> Indices:
    """The option with the largest score after Laplace noise of scale 2/ε."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE, (size, scores.size))).argmax(axis=1))


@batched
def noisy_max_2(data: Any, rng: Generator, size: int) -> Indices:
    """The option with the largest score after exponential noise of scale 2/ε."""
    scores = _scores(data)
    return np.asarray((scores + rng.exponential(SCALE, (size, scores.size))).argmax(axis=1))


@batched
def noisy_max_3(data: Any, rng: Generator, size: int) -> Array:
    """As the first, but the noisy score is shown instead of the option."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE, (size, scores.size))).max(axis=1))


@batched
def noisy_max_4(data: Any, rng: Generator, size: int) -> Array:
    """As the second, but the noisy score is shown instead of the option."""
    scores = _scores(data)
    return np.asarray((scores + rng.exponential(SCALE, (size, scores.size))).max(axis=1))


@batched
def noisy_max_half(data: Any, rng: Generator, size: int) -> Indices:
    """Noise of scale 1/ε, as if scores could only move together."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE / 2, (size, scores.size))).argmax(axis=1))


def _draw(weights: Array, rng: Generator, size: int) -> Indices:
    return rng.choice(weights.size, size, p=weights / weights.sum()).astype(np.intp)


@batched
def exponential(data: Any, rng: Generator, size: int) -> Indices:
    """An option with probability proportional to exp(ε·score/2)."""
    return _draw(np.exp(_scores(data) / 2), rng, size)


@batched
def exponential_no_half(data: Any, rng: Generator, size: int) -> Indices:
    """The factor 2 is forgotten: exp(ε·score)."""
    return _draw(np.exp(_scores(data)), rng, size)


def _first_taken(accept: Array, order: Indices, rng: Generator) -> Indices:
    """The first option, each row in its order, whose coin says yes; the best always does."""
    chances = accept[order]
    taken = rng.random(chances.shape) < chances
    return np.asarray(order[np.arange(len(order)), taken.argmax(axis=1)])


@batched
def permute_and_flip(data: Any, rng: Generator, size: int) -> Indices:
    """Options in random order, each taken with probability exp(ε·(score − best)/2)."""
    scores = _scores(data)
    order = rng.random((size, scores.size)).argsort(axis=1)
    return _first_taken(np.exp((scores - scores.max()) / 2), order, rng)


@batched
def flip_without_permuting(data: Any, rng: Generator, size: int) -> Indices:
    """The options come in a fixed order, so the first, if best, hides all others."""
    scores = _scores(data)
    order = np.broadcast_to(np.arange(scores.size), (size, scores.size))
    return _first_taken(np.exp((scores - scores.max()) / 2), order, rng)


def quantile_pieces(data: Any, scale: float) -> tuple[Array, Array]:
    """Where the density of a private median is constant, and how much mass each piece has."""
    values = np.sort(np.clip(_scores(data), *RANGE))
    edges = np.concatenate([[RANGE[0]], values, [RANGE[1]]])
    rank = np.arange(edges.size - 1)
    weights = np.diff(edges) * np.exp(-np.abs(rank - values.size / 2) / scale)
    return edges, weights / weights.sum()


def _quantile(data: Any, scale: float, rng: Generator, size: int) -> Array:
    edges, masses = quantile_pieces(data, scale)
    piece = rng.choice(masses.size, size, p=masses)
    return np.asarray(edges[piece] + rng.random(size) * np.diff(edges)[piece])


@batched
def median(data: Any, rng: Generator, size: int) -> Array:
    """A number between 0 and 10, likelier the nearer its rank is to the middle of the values."""
    # One record more moves every rank and the middle by at most 1/2 relative to each other.
    return _quantile(data, 1.0, rng, size)


@batched
def median_no_half(data: Any, rng: Generator, size: int) -> Array:
    """The factor 2 of the exponential mechanism is forgotten."""
    return _quantile(data, 0.5, rng, size)


@batched
def median_of_values(data: Any, rng: Generator, size: int) -> Array:
    """One of the values themselves is shown, the likelier the nearer it is to the middle."""
    values = np.sort(_scores(data))
    middle = (values.size - 1) / 2
    weights = np.exp(-np.abs(np.arange(values.size) - middle) / math.e)
    return np.asarray(values[_draw(weights, rng, size)])
