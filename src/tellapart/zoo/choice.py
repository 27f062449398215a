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
from tellapart.zoo.specimen import FOLKLORE, SUPPORT, declared_in, specimen

Indices = NDArray[np.intp]
# What noise of this scale keeps: ε = 1 for a choice among scores that move both ways.
SCALE = 2.0
# Where the values of a private quantile lie.
RANGE = (0.0, 10.0)

_QUADRATURE = "chances of the options by quadrature"
_PIECES = "ratio of densities that are constant in pieces"
_MAXIMA = "Dwork and Roth 2014, section 3.3; Ding, Wang, Wang, Zhang and Kifer 2018"
_SCORES = ((0.0, 3.0, 3.0, 3.0, 3.0), (1.0, 2.0, 2.0, 2.0, 2.0))
_ALL = ((0.0,) * 5, (1.0,) * 5)
_MANY = ((0.0,) * 50, (1.0, *(-1.0,) * 49))
_VALUES = ((1.0, 2.0, 8.0, 9.0), (1.0, 2.0, 8.0, 9.0, 10.0))


def _many(power: float) -> float:
    """The loss of the first of 50 options that rises while all others fall."""
    return power - math.log((math.exp(power) + 49 * math.exp(-power)) / 50)


def _scores(data: Any) -> Array:
    return np.asarray(data, dtype=np.float64)


@specimen(_SCORES, _ALL, truth=0.995662664, flaw=None, known=_QUADRATURE, source=_MAXIMA)
def noisy_max_1(data: Any, rng: Generator, size: int) -> Indices:
    """The option with the largest score after Laplace noise of scale 2/ε."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE, (size, scores.size))).argmax(axis=1))


@specimen(_SCORES, _ALL, truth=1.0, flaw=None, known=_QUADRATURE, source=_MAXIMA)
def noisy_max_2(data: Any, rng: Generator, size: int) -> Indices:
    """The option with the largest score after exponential noise of scale 2/ε."""
    scores = _scores(data)
    return np.asarray((scores + rng.exponential(SCALE, (size, scores.size))).argmax(axis=1))


@specimen(_ALL, truth=2.5, known="limit of the ratio of densities at −∞", source=_MAXIMA)
def noisy_max_3(data: Any, rng: Generator, size: int) -> Array:
    """As the first, but the noisy score is shown instead of the option."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE, (size, scores.size))).max(axis=1))


@specimen(_ALL, truth=math.inf, known=SUPPORT, source=_MAXIMA)
def noisy_max_4(data: Any, rng: Generator, size: int) -> Array:
    """As the second, but the noisy score is shown instead of the option."""
    scores = _scores(data)
    return np.asarray((scores + rng.exponential(SCALE, (size, scores.size))).max(axis=1))


@specimen(_SCORES, truth=1.998985939, known=_QUADRATURE, source=FOLKLORE)
def noisy_max_half(data: Any, rng: Generator, size: int) -> Indices:
    """Noise of scale 1/ε, as if scores could only move together."""
    scores = _scores(data)
    return np.asarray((scores + rng.laplace(0.0, SCALE / 2, (size, scores.size))).argmax(axis=1))


def _draw(weights: Array, rng: Generator, size: int) -> Indices:
    return rng.choice(weights.size, size, p=weights / weights.sum()).astype(np.intp)


@specimen(
    _MANY,
    truth=_many(0.5),
    flaw=None,
    known="ratio of the chances of the first option",
    source="McSherry and Talwar 2007",
)
def exponential(data: Any, rng: Generator, size: int) -> Indices:
    """An option with probability proportional to exp(ε·score/2)."""
    return _draw(np.exp(_scores(data) / 2), rng, size)


@specimen(
    _MANY, truth=_many(1.0), known="ratio of the chances of the first option", source=FOLKLORE
)
def exponential_no_half(data: Any, rng: Generator, size: int) -> Indices:
    """The factor 2 is forgotten: exp(ε·score)."""
    return _draw(np.exp(_scores(data)), rng, size)


def _first_taken(accept: Array, order: Indices, rng: Generator) -> Indices:
    """The first option, each row in its order, whose coin says yes; the best always does."""
    chances = accept[order]
    taken = rng.random(chances.shape) < chances
    return np.asarray(order[np.arange(len(order)), taken.argmax(axis=1)])


@specimen(
    _SCORES,
    truth=1.0,
    flaw=None,
    known="all orders of the options",
    source="McKenna and Sheldon 2020",
)
def permute_and_flip(data: Any, rng: Generator, size: int) -> Indices:
    """Options in random order, each taken with probability exp(ε·(score − best)/2)."""
    scores = _scores(data)
    order = rng.random((size, scores.size)).argsort(axis=1)
    return _first_taken(np.exp((scores - scores.max()) / 2), order, rng)


@specimen(((1.0, 0.0), (0.0, 1.0)), truth=math.inf, known=SUPPORT, source="made for the zoo")
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


@specimen(_VALUES, truth=0.883631137, flaw=None, known=_PIECES, source="Smith 2011")
def median(data: Any, rng: Generator, size: int) -> Array:
    """A number between 0 and 10, likelier the nearer its rank is to the middle of the values."""
    # One record more moves every rank and the middle by at most 1/2 relative to each other.
    return _quantile(data, 1.0, rng, size)


@specimen(_VALUES, truth=1.855343515, known=_PIECES, source=FOLKLORE)
def median_no_half(data: Any, rng: Generator, size: int) -> Array:
    """The factor 2 of the exponential mechanism is forgotten."""
    return _quantile(data, 0.5, rng, size)


@specimen(_VALUES, truth=math.inf, known=SUPPORT, source=FOLKLORE)
def median_of_values(data: Any, rng: Generator, size: int) -> Array:
    """One of the values themselves is shown, the likelier the nearer it is to the middle."""
    values = np.sort(_scores(data))
    middle = (values.size - 1) / 2
    weights = np.exp(-np.abs(np.arange(values.size) - middle) / math.e)
    return np.asarray(values[_draw(weights, rng, size)])


SPECIMENS = declared_in(__name__)
