"""A chain's records given all others: only the two neighbours matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart._checks import Array
from tellapart.worlds.models.chain import MarkovChain
from tellapart.worlds.releases import Release

Told = Callable[[Array, Array, Release], float]


def given_neighbours(model: MarkovChain) -> tuple[Array, Array, Array]:
    """P(x | right) of the first record, P(x | left, right) within, P(x | left) of the last.

    Values of x run along the last axis; rows of neighbours that cannot be are 0.
    """
    step = model.transition
    first = _scaled((model.initial[:, None] * step).T)
    inner = _scaled(step[:, None, :] * step.T[None, :, :])
    return first, inner, step


def chain_given_others(
    model: MarkovChain, weights: Array, release: Release, told: Told
) -> tuple[list[float], list[Array]]:
    """What noise on a weighted sum tells of each record to someone who knows all others.

    With it comes the law of each record.
    """
    values = np.asarray(model.values)
    if model.length == 1:
        return [told(weights[0] * values, model.initial, release)], [model.initial]
    first, inner, last = given_neighbours(model)
    tables: dict[tuple[str, float], Array] = {}

    def table(kind: str, laws: Array, weight: float) -> Array:
        if (kind, weight) not in tables:
            flat = [
                told(weight * values, law, release) if law.any() else 0.0
                for law in laws.reshape(-1, values.size)
            ]
            tables[kind, weight] = np.array(flat).reshape(laws.shape[:-1])
        return tables[kind, weight]

    twice = model.transition @ model.transition
    laws = [model.initial]
    for _ in range(model.length - 1):
        laws.append(laws[-1] @ model.transition)
    found = [float(laws[1] @ table("first", first, weights[0]))]
    for before, weight in zip(laws[:-2], weights[1:-1], strict=True):
        pairs = before[:, None] * twice
        found.append(float((pairs * table("inner", inner, weight)).sum()))
    found.append(float(laws[-2] @ table("last", last, weights[-1])))
    return found, laws


def _scaled(rows: Array) -> Array:
    whole = rows.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0))
