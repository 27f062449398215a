"""Estimates of the true query answers and the scale of the noise, from outputs and inputs.

A wrong guess finds nothing and proves nothing: whatever comes of it is counted on other calls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart._checks import Array

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
