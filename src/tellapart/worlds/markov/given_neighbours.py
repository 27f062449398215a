"""A chain's records given all others: only the two neighbours matter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tellapart._checks import Array
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.marginals import log_marginals
from tellapart.worlds.releases import Release

MOST_KINDS = 2**12
Told = Callable[[Array, Array, Release], float]


def given_neighbours(model: MarkovChain) -> tuple[Array, Array, Array]:
    """P(x | right) of the first record, P(x | left, right) within, P(x | left) of the last.

    Values of x run along the last axis; rows of neighbours that cannot be are 0.
    """
    step = model.transition
    first = _scaled((model.initial[:, None] * step).T)
    inner = _scaled(step[:, None, :] * step.T[None, :, :])
    return first, inner, step


def chain_given_others(model: MarkovChain, weights: Array, release: Release, told: Told) -> Array:
    """What noise on a weighted sum tells of each record to someone who knows all others."""
    values = np.asarray(model.values)

    def table(laws: Array, weight: float) -> Array:
        flat = [
            told(weight * values, law, release) if law.any() else 0.0
            for law in laws.reshape(-1, values.size)
        ]
        return np.array(flat).reshape(laws.shape[:-1])

    if model.length == 1:
        return np.array([told(weights[0] * values, model.initial, release)])
    first, inner, last = given_neighbours(model)
    laws = np.exp(log_marginals(model.initial, model.transition, model.length))
    found = np.empty(model.length)
    found[0] = laws[1] @ table(first, weights[0])
    found[-1] = laws[-2] @ table(last, weights[-1])
    twice = model.transition @ model.transition
    kinds, place = np.unique(weights[1:-1], return_inverse=True)
    check_kinds(kinds.size)
    # Of each kind of record, what is told by the state of the one before.
    each = [(twice * table(inner, weight)).sum(axis=1) for weight in kinds.tolist()]
    if each:
        found[1:-1] = (laws[:-2] * np.array(each)[place]).sum(axis=1)
    return found


def check_kinds(kinds: int) -> None:
    """Refuse weights so many of which differ that each takes minutes."""
    if kinds > MOST_KINDS:
        raise Unsupported(
            f"{count_in_words(kinds)} records with weights that differ take too long, at most "
            f"{MOST_KINDS} are asked; let weights repeat, as Sum() does, or ask pufferfish"
        )


def _scaled(rows: Array) -> Array:
    whole = rows.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(rows, whole, out=np.zeros_like(rows), where=whole > 0))
