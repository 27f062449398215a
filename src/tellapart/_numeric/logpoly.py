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
    for i, run in _runs(first):
        deadline.check()
        for j, other in others:
            logs = _scaled_product(run, other)
            place = slice(i + j, i + j + logs.size)
            product[place] = np.logaddexp(product[place], logs)
    return product


def multiply_each(first: Array, second: Array) -> Array:
    """The product of each row with the other's row in its place."""
    return np.array([multiply(row, other) for row, other in zip(first, second, strict=True)])


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
        logarithm = np.log(np.sum(np.exp(logs - shift), axis=axis, keepdims=True)) + shift
    return np.asarray(np.squeeze(logarithm, axis=axis))


def mix(vector: Array, log_matrix: Array) -> Array:
    """A row of polynomials times a matrix of numbers given by their logarithms."""
    return np.asarray(np.logaddexp.reduce(vector[:, None] + log_matrix[:, :, None], axis=0))


def _scaled_product(run: Array, other: Array) -> Array:
    top, other_top = run.max(), other.max()
    with np.errstate(divide="ignore"):
        product = np.log(np.convolve(np.exp(run - top), np.exp(other - other_top)))
    return np.asarray(product + (top + other_top))


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
