"""Floating-point samplers (Mironov 2012): which doubles noise from uniform numbers can reach.

Whoever knows the true answer, the scale and the sampler asks of an output whether any uniform
number gives it. Many doubles are given by none (Mironov 2012; Jin, McMurtry, Rubinstein and
Ohrimenko 2022). A sampler is inverted roughly and run forwards from the grid points near there.
Where rounding leaves more grid points than are tried, an output counts as reached.

Answer and scale are guessed from outputs and inputs where nobody gives them. A wrong guess finds
nothing and proves nothing: whatever comes of it is counted on other calls.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart._checks import Array

Reached = NDArray[np.bool_]

# How far from the rough inverse grid points are tried, for one uniform number and for two.
_ASIDE = np.arange(-4.0, 5.0)
_ASIDE_PAIR = np.arange(-2.0, 3.0)
# Rounding makes a box of the inverse of a pair. Is one side longer than this and the other
# shorter than the next, in grid points, then not all of the box is tried.
_LONG, _SHORT = 1.0, 1.0
_RESIDUES = 8
_EVERY = frozenset(range(_RESIDUES))
_EVEN = frozenset(range(0, _RESIDUES, 2))


class FloatSampler(ABC):
    """Noise as a program makes it from uniform numbers, for ``takes`` outputs at a time."""

    name: str
    takes: int
    law: str

    @abstractmethod
    def reached(self, outputs: Array, centre: Array, scale: float) -> Reached:
        """Whether noise of this scale around a centre can give each row of outputs."""


@dataclass(frozen=True)
class LogUniform(FloatSampler):
    """centre ± scale·log(u), u a multiple of 2^−bits in (0, 1]: Laplace noise.

    Whether noise is added to the centre or drawn around it comes to the same double. ``above``
    and ``below`` say which multiples come up on either side of the centre, by their remainder
    modulo 8. With ``divides`` the logarithm is divided by the inverse of the scale.
    """

    name: str
    above: frozenset[int] = _EVERY
    below: frozenset[int] = _EVERY
    divides: bool = False
    bits: int = 53
    takes = 1
    law = "Laplace"

    def reached(self, outputs: Array, centre: Array, scale: float) -> Reached:
        given, middle = outputs[:, :1], float(centre[0])
        with np.errstate(all="ignore"):
            nearest = np.rint(np.exp(-np.abs(given - middle) / scale) * 2.0**self.bits)
        steps = np.clip(np.nan_to_num(nearest) + _ASIDE, 1.0, 2.0**self.bits)
        below = given < middle
        remainder = (steps % _RESIDUES).astype(np.intp)
        drawn = np.where(below, _mask(self.below)[remainder], _mask(self.above)[remainder])
        uniform = steps * 2.0**-self.bits
        hit = drawn & (self._shifted(np.log(uniform), below, middle, scale) == given)
        reached = hit.any(axis=1)
        # NumPy's logarithm of arrays and the C library's, which its generators use, may differ.
        rest = ~reached
        again = self._shifted(_libm_log(uniform[rest]), below[rest], middle, scale) == given[rest]
        reached[rest] = (drawn[rest] & again).any(axis=1)
        return np.asarray(reached)

    def _shifted(self, logs: Array, below: Reached, middle: float, scale: float) -> Array:
        noise = logs / _inverse(scale) if self.divides else scale * logs
        return np.where(below, middle + noise, middle - noise)


def _mask(residues: frozenset[int]) -> Reached:
    return np.array([residue in residues for residue in range(_RESIDUES)])


def _inverse(scale: float) -> float:
    """The rate whose inverse a scale is: 0.3 for the double nearest to 10/3."""
    return float(f"{1 / scale:.12g}")


def _libm_log(values: Array) -> Array:
    logs = [math.log(value) for value in values.ravel().tolist()]
    return np.array(logs, dtype=np.float64).reshape(values.shape)


class PairSampler(FloatSampler):
    """Two Gaussian numbers at a time from two uniform ones."""

    bits: int
    takes = 2
    law = "Gaussian"

    def reached(self, outputs: Array, centre: Array, scale: float) -> Reached:
        with np.errstate(all="ignore"):
            rough = (outputs - centre) / scale
            doubt = np.spacing(np.abs(outputs).max(axis=1)) / (2 * scale)
            places, sides = self._inverted(rough)
            box = sides * (doubt * 2.0**self.bits)[:, None]
        # What is no number is given by nothing.
        known = np.isfinite(places).all(axis=1) & np.isfinite(outputs).all(axis=1)
        reached = known & (box.max(axis=1) > _LONG) & (box.min(axis=1) < _SHORT)
        for step in product(_ASIDE_PAIR, repeat=2):
            rest = known & ~reached
            points = (places[rest] + np.array(step)) * 2.0**-self.bits
            for noise in self._noises(points):
                reached[rest] |= (centre + scale * noise == outputs[rest]).all(axis=1)
        return np.asarray(reached)

    @abstractmethod
    def _inverted(self, rough: Array) -> tuple[Array, Array]:
        """The nearest grid points, and how far noise that is off by one would move them."""

    @abstractmethod
    def _noises(self, uniform: Array) -> Iterator[Array]:
        """The noise from these uniform numbers, by either logarithm."""


@dataclass(frozen=True)
class PolarPair(PairSampler):
    """A point of the disc, stretched (Marsaglia), as NumPy's RandomState draws."""

    name: str
    bits: int = 52

    def _inverted(self, rough: Array) -> tuple[Array, Array]:
        length = np.hypot(rough[:, 0], rough[:, 1])
        radius = np.exp(-(length**2) / 4)
        shrunk = radius / length
        sides = np.stack([shrunk, radius * length / 2], axis=1)
        return np.rint(rough * shrunk[:, None] * 2.0**self.bits), sides

    def _noises(self, uniform: Array) -> Iterator[Array]:
        square = uniform[:, 0] * uniform[:, 0] + uniform[:, 1] * uniform[:, 1]
        inside = (square > 0) & (square < 1)
        safe = np.where(inside, square, 0.5)
        for logs in (np.log(safe), _libm_log(safe)):
            factor = np.where(inside, np.sqrt(-2.0 * logs / safe), np.nan)
            yield factor[:, None] * uniform


@dataclass(frozen=True)
class BoxMullerPair(PairSampler):
    """A radius and an angle, each from its own uniform number (Box and Muller)."""

    name: str
    bits: int = 53

    def _inverted(self, rough: Array) -> tuple[Array, Array]:
        radius = np.hypot(rough[:, 0], rough[:, 1])
        first = np.exp(-(radius**2) / 2)
        second = np.arctan2(rough[:, 1], rough[:, 0]) / (2 * math.pi) % 1.0
        sides = np.stack([first * radius, 1 / (2 * math.pi * radius)], axis=1)
        return np.rint(np.stack([first, second], axis=1) * 2.0**self.bits), sides

    def _noises(self, uniform: Array) -> Iterator[Array]:
        first, turned = uniform[:, 0], 2 * math.pi * uniform[:, 1]
        inside = (first > 0) & (first <= 1)
        safe = np.where(inside, first, 1.0)
        directions = np.stack([np.cos(turned), np.sin(turned)], axis=1)
        for logs in (np.log(safe), _libm_log(safe)):
            radius = np.where(inside, np.sqrt(-2.0 * logs), np.nan)
            yield radius[:, None] * directions


# Above its centre NumPy takes log(2 − U − U), whose first difference is rounded: of the
# multiples of 2⁻⁵³ only those that leave 0, 1, 4 or 7 come up. Below it takes log(U + U).
_NUMPY = LogUniform("NumPy's Laplace noise", frozenset({0, 1, 4, 7}), _EVEN)
LAPLACE = (
    _NUMPY,
    LogUniform("inverse-CDF Laplace noise", _EVEN, _EVEN),
    LogUniform("textbook Laplace noise"),
    LogUniform("inverse-CDF Laplace noise, divided by ε", _EVEN, _EVEN, divides=True),
    LogUniform("textbook Laplace noise, divided by ε", divides=True),
)
GAUSSIAN = (
    PolarPair("the polar method's Gaussian noise"),
    BoxMullerPair("Box and Muller's Gaussian noise"),
)
SAMPLERS: tuple[FloatSampler, ...] = LAPLACE + GAUSSIAN


Exponents = NDArray[np.int64]

# The lowest bit of what has none: 0, infinities and NaN. Higher than that of any number.
NO_BITS = 2000
_SIGNIFICAND = 53


class Bits(NamedTuple):
    """Where a double's bits lie: the highest and the lowest that is set, as powers of two."""

    highest: Exponents
    lowest: Exponents


def bits(values: Array) -> Bits:
    """The highest and lowest bit set in each double.

    >>> bits(np.array([0.75, 6.0, 0.0]))
    Bits(highest=array([  -1,    2, 2000]), lowest=array([  -2,    1, 2000]))
    """
    real = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(real, values, 1.0))
    whole = np.abs(np.ldexp(fraction, _SIGNIFICAND)).astype(np.int64)
    # The lowest bit of a whole number, itself a power of two and so exact as a double.
    spare = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    top = exponent.astype(np.int64) - 1
    bottom = top - (_SIGNIFICAND - 1) + spare
    return Bits(np.where(real, top, NO_BITS), np.where(real, bottom, NO_BITS))


# -- the true answers, and the scale of the noise -------------------------------------------------

Both = tuple[Array, Array]
LAWS = ("Laplace", "Gaussian")

# Medians this many of their standard errors away, or scales, are not what is sought.
_ERRORS = 5.0
_MOST_DECIMALS = 3
_MOST_SCALES = 12
_FEWEST = 2


@dataclass(frozen=True, eq=False)
class Guess:
    """The answers on both inputs, one number a column, and the scale of noise of some law."""

    centres: Both
    scale: float
    law: str


def guesses(
    outputs: Both,
    inputs: tuple[Any, Any],
    centres: Both | None,
    scale: float | None,
    epsilon: float | None,
) -> Iterator[Guess]:
    """What the answers and the scale may be; what is known of them is not guessed."""
    finite = tuple(side[np.isfinite(side).all(axis=1)] for side in outputs)
    if min(len(side) for side in finite) < _FEWEST:
        return
    seen = finite[0], finite[1]
    for pair in [centres] if centres is not None else _centres(seen, inputs):
        for law in LAWS:
            for width in [scale] if scale is not None else _scales(seen, pair, epsilon, law):
                yield Guess(pair, width, law)


# -- answers -------------------------------------------------------------------------------------


def _centres(outputs: Both, inputs: tuple[Any, Any]) -> Iterator[Both]:
    middles = [np.median(side, axis=0) for side in outputs]
    errors = [
        _ERRORS * np.median(np.abs(side - middle), axis=0) / math.sqrt(len(side))
        for side, middle in zip(outputs, middles, strict=True)
    ]
    coarse = max(float(error.max()) for error in errors)
    # Decimals that the error leaves open would be drawn, not read.
    places = [place for place in range(_MOST_DECIMALS + 1) if 10.0**-place > coarse]
    rounded = ([np.round(middle, place) for middle in middles] for place in places)
    seen = set()
    for first, second in itertools.chain(_read(inputs, len(middles[0])), rounded):
        near = all(
            bool((np.abs(centre - middle) <= error).all())
            for centre, middle, error in zip((first, second), middles, errors, strict=True)
        )
        key = (*first.tolist(), *second.tolist())
        if near and key not in seen:
            seen.add(key)
            # Without a sign of zero, which noise would not keep.
            yield first + 0.0, second + 0.0


def _read(inputs: tuple[Any, Any], columns: int) -> Iterator[list[Array]]:
    """Answers that people ask for: the number itself, how many, the sum, the mean."""
    try:
        first, second = (np.asarray(data, dtype=np.float64).ravel() for data in inputs)
    except (TypeError, ValueError):
        first = second = np.full(1, np.nan)
    readings = [[first, second], [np.array([side.sum()]) for side in (first, second)]]
    if min(len(first), len(second)) > 0:
        readings.append([np.array([side.mean()]) for side in (first, second)])
    if all(hasattr(data, "__len__") for data in inputs):
        readings.append([np.array([float(len(data))]) for data in inputs])
    for pair in readings:
        if all(answer.shape == (columns,) and np.isfinite(answer).all() for answer in pair):
            yield pair


# -- scales --------------------------------------------------------------------------------------


def _scales(outputs: Both, centres: Both, epsilon: float | None, law: str) -> Iterator[float]:
    """What the claim asks for, then short decimals and their inverses near what is seen."""
    off = np.concatenate(
        [(side - centre).ravel() for side, centre in zip(outputs, centres, strict=True)]
    )
    about = float(np.abs(off).mean() if law == "Laplace" else np.sqrt((off**2).mean()))
    if not 0 < about < math.inf:
        return
    error = _ERRORS / math.sqrt(off.size)
    moved = np.abs(centres[1] - centres[0])
    asked = [width / epsilon for width in (moved.sum(), moved.max(), 1.0)] if epsilon else []
    scales = _decimals(about, error) + [1 / rate for rate in _decimals(1 / about, error)]
    near = sorted(scales, key=lambda scale: abs(scale - about))[:_MOST_SCALES]
    likely = [float(scale) for scale in asked if abs(scale / about - 1) < error]
    yield from dict.fromkeys(likely + near)


def _decimals(about: float, error: float) -> list[float]:
    """Numbers of two digits about here."""
    step = math.floor(math.log10(about)) - 1
    low, high = (math.floor(about * (1 + way) / 10.0**step) for way in (-error, error))
    return [float(f"{digits}e{step}") for digits in range(max(low, 1), high + 2)]
