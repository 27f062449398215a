"""Coins of a game: each a function of the seed, the model and the example's place alone.

They are drawn in tiles of models and examples, so that a single model and a million models with
one target each cost little. A coin is the same whichever others are asked for with it.
"""

from __future__ import annotations

import numpy as np

from tellapart import run
from tellapart._checks import Array
from tellapart.audit._datasets import Index

_MODELS, _EXAMPLES = 32, 64


def drawn(seed: int, purpose: int, models: range, examples: Index) -> Array:
    """Uniform numbers, one row for each model and one column for each example."""
    found = np.empty((len(models), examples.size))
    wanted, which = np.unique(examples // _EXAMPLES, return_inverse=True)
    columns = [np.flatnonzero(which == k) for k in range(wanted.size)]
    for tile in range(models.start // _MODELS, -(-models.stop // _MODELS)):
        first = max(models.start, tile * _MODELS)
        last = min(models.stop, (tile + 1) * _MODELS)
        inside = slice(first - tile * _MODELS, last - tile * _MODELS)
        rows = slice(first - models.start, last - models.start)
        for block, some in zip(wanted.tolist(), columns, strict=True):
            numbers = run.generator((seed, purpose, tile, block)).random((_MODELS, _EXAMPLES))
            found[rows, some] = numbers[inside][:, examples[some] % _EXAMPLES]
    return found
