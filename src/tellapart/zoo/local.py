"""Local differential privacy: randomised response, RAPPOR and unary encoding; right and wrong.

The data is one person's value; any two values are neighbours.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tellapart._checks import Array
from tellapart.curve.guarantees import guarantee
from tellapart.zoo.specimen import FOLKLORE, declared_in, specimen

Bits = NDArray[np.int8]
COLOURS = ("red", "green", "blue", "black")
# RAPPOR: the size of the Bloom filter and the number of its hashes.
FILTER, HASHES = 20, 4
# How often a bit is replaced by a coin: once and for all where that is all there is, and before
# each report is randomised anew; and how often a report then says 1 for a 0 and for a 1.
ONE_TIME, LASTING = 0.95, 0.75
ZERO, ONE = 0.45, 0.55
# One of so many categories, as bits of which one is set.
CATEGORIES = 6

_RATIO = "ratio of the two chances"
_BITS = "product over the bits that differ"
_ERLINGSSON = "Erlingsson, Pihur and Korolova 2014"
_WANG = "Wang, Blocki, Li and Jha 2017"
# Each of the hashes sets one bit in either filter.
_ONE_TIME = 2 * HASHES * math.log((1 - ONE_TIME / 2) / (ONE_TIME / 2))


def _rappor() -> float:
    """The loss of one report: bits that say 1 for a set bit, and for one that is not."""
    coin = LASTING / 2 * (ZERO + ONE)
    when_set = coin + (1 - LASTING) * ONE
    when_clear = coin + (1 - LASTING) * ZERO
    return HASHES * math.log(when_set * (1 - when_clear) / (when_clear * (1 - when_set)))


def sigmoid(x: float) -> float:
    """The chance of yes at log-odds x."""
    return 1 / (1 + math.exp(-x))


@specimen((False, True), truth=1.0, flaw=None, known=_RATIO, source="Warner 1965")
def randomised_response(data: Any, rng: Generator, size: int) -> NDArray[np.bool_]:
    """The truth with probability e^ε/(1 + e^ε), else its opposite."""
    return np.asarray((rng.random(size) < sigmoid(1.0)) == bool(data))


@specimen((False, True), truth=math.log(math.expm1(2)), known=_RATIO, source="made for the zoo")
def randomised_response_too_honest(data: Any, rng: Generator, size: int) -> NDArray[np.bool_]:
    """Tells the truth with probability 1 − e^−2ε: an exponent in the wrong place."""
    return np.asarray((rng.random(size) < 1 - math.exp(-2)) == bool(data))


def _colour(keep: float, data: Any, rng: Generator, size: int) -> NDArray[np.str_]:
    """The true colour with probability ``keep``, else one of the others at random."""
    truth = COLOURS.index(data)
    other = (truth + rng.integers(1, len(COLOURS), size)) % len(COLOURS)
    return np.array(COLOURS)[np.where(rng.random(size) < keep, truth, other)]


@specimen(
    COLOURS[:2], truth=1.0, flaw=None, known=_RATIO, source="Kairouz, Bonawitz and Ramage 2016"
)
def colour_response(data: Any, rng: Generator, size: int) -> NDArray[np.str_]:
    """One of four colours, the true one with odds e^ε against each other one."""
    return _colour(sigmoid(1.0 - math.log(len(COLOURS) - 1)), data, rng, size)


@specimen(COLOURS[:2], truth=1 + math.log(3), known=_RATIO, source=FOLKLORE)
def colour_response_binary_odds(data: Any, rng: Generator, size: int) -> NDArray[np.str_]:
    """One of four colours, kept with the probability that is right for two."""
    return _colour(sigmoid(1.0), data, rng, size)


def bloom(value: str) -> Array:
    """The bits that this value sets in the filter."""
    bits = np.zeros(FILTER)
    for hashed in range(HASHES):
        bits[zlib.crc32(f"{hashed}:{value}".encode()) % FILTER] = 1
    return bits


def _flipped(chances: Array, rng: Generator, size: int) -> Bits:
    return (rng.random((size, chances.size)) < chances).astype(np.int8)


@specimen(
    ("a", "b"),
    claim=guarantee(epsilon=_ONE_TIME),
    truth=_ONE_TIME,
    flaw=None,
    known=_BITS,
    source=_ERLINGSSON,
)
def rappor_one_time(data: Any, rng: Generator, size: int) -> Bits:
    """A Bloom filter whose bits are replaced by coins, each with probability f."""
    return _flipped(ONE_TIME / 2 + (1 - ONE_TIME) * bloom(data), rng, size)


@specimen(
    ("a", "b"),
    claim=guarantee(epsilon=_rappor()),
    truth=_rappor(),
    flaw=None,
    known=_BITS,
    source=_ERLINGSSON,
)
def rappor(data: Any, rng: Generator, size: int) -> Bits:
    """One report about a filter with lasting coins, its bits randomised once more."""
    lasting = _flipped(LASTING / 2 + (1 - LASTING) * bloom(data), rng, size)
    report = rng.random(lasting.shape) < np.where(lasting == 1, ONE, ZERO)
    return report.astype(np.int8)


def _one_hot(data: Any) -> Array:
    return np.asarray(np.arange(CATEGORIES) == data, dtype=np.float64)


@specimen((0, 1), truth=1.0, flaw=None, known=_BITS, source=_WANG)
def unary(data: Any, rng: Generator, size: int) -> Bits:
    """A category as bits, each flipped with odds e^(ε/2), since two bits differ."""
    keep = sigmoid(0.5)
    return _flipped(1 - keep + (2 * keep - 1) * _one_hot(data), rng, size)


@specimen((0, 1), truth=2.0, known=_BITS, source=FOLKLORE)
def unary_full_budget(data: Any, rng: Generator, size: int) -> Bits:
    """Every bit gets the whole budget, though two bits differ."""
    keep = sigmoid(1.0)
    return _flipped(1 - keep + (2 * keep - 1) * _one_hot(data), rng, size)


@specimen((0, 1), truth=1.0, flaw=None, known=_BITS, source=_WANG)
def unary_optimised(data: Any, rng: Generator, size: int) -> Bits:
    """A set bit is kept by a coin, others are set with odds e^−ε."""
    return _flipped(np.where(_one_hot(data) == 1, 0.5, sigmoid(-1.0)), rng, size)


SPECIMENS = declared_in(__name__)
