"""Products of polynomials with positive coefficients, each given by its logarithm.

Sums over 10^4 records have probabilities far below the smallest double. Coefficients are cut into
runs that fit a double once their largest is divided out; runs are multiplied directly, which adds
positive terms only, so every coefficient keeps its digits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellapart import deadline
from tellapart._checks import Array

_SPAN = 300.0  # two runs of this many nats multiply to numbers above 1e-261


def multiply(first: Array, second: Array) -> Array:
    """Log-coefficients of the product of two polynomials."""
    product = np.full(first.size + second.size - 1, -np.inf)
    others = list(_runs(second))
    for i, one in _runs(first):
        deadline.check()
        for j, other in others:
            found = _scaled_product(one, other)
            place = slice(i + j, i + j + found.size)
            product[place] = np.logaddexp(product[place], found)
    return product


def multiply_each(first: Array, second: Array) -> Array:
    """The product of each row with the other's row in its place."""
    return np.array([multiply(one, other) for one, other in zip(first, second, strict=True)])


def apply(vector: Array, matrix: Array) -> Array:
    """A row of polynomials times a matrix of polynomials, coefficients along the last axis."""
    rows, columns, size = matrix.shape
    result = np.full((columns, vector.shape[1] + size - 1), -np.inf)
    for j in range(columns):
        for i in range(rows):
            result[j] = np.logaddexp(result[j], multiply(vector[i], matrix[i, j]))
    return result


def total(logs: Array, axis: int | None = None) -> Array:
    """The logarithm of a sum of exponentials; -inf where all terms are."""
    if logs.size == 0:
        return np.asarray(-np.inf)
    largest = np.max(logs, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.sum(np.exp(logs - shift), axis=axis, keepdims=True)) + shift
    return np.asarray(np.squeeze(found, axis=axis))


def mix(vector: Array, log_matrix: Array) -> Array:
    """A row of polynomials times a matrix of numbers given by their logarithms."""
    return np.asarray(np.logaddexp.reduce(vector[:, None] + log_matrix[:, :, None], axis=0))


def _scaled_product(one: Array, other: Array) -> Array:
    top, other_top = one.max(), other.max()
    with np.errstate(divide="ignore"):
        found = np.log(np.convolve(np.exp(one - top), np.exp(other - other_top)))
    return np.asarray(found + (top + other_top))


def _runs(logs: Array, start: int = 0) -> Iterator[tuple[int, Array]]:
    """Pieces whose finite entries lie close together, with where each begins."""
    finite = logs[np.isfinite(logs)]
    if finite.size == 0:
        return
    if finite.max() - finite.min() <= _SPAN:
        yield start, logs
        return
    middle = logs.size // 2
    yield from _runs(logs[:middle], start)
    yield from _runs(logs[middle:], start + middle)
