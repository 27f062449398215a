"""Private training as people write it: steps on gradients, right and wrong, for `audit.step`.

The data holds one gradient per record. Where nothing else is said, gradients are clipped to norm
CLIP, summed, and Gaussian noise of standard deviation SIGMA·CLIP is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from tellapart._checks import Array
from tellapart.zoo.specimen import batched
from tellapart.zoo.steps import (
    BATCH,
    CLIP,
    GROUP,
    LAYERS,
    ROUNDS,
    SIGMA,
    WORKERS,
    clipped,
    noised,
    rows_of,
)

# The noise of batches that are dealt in random order: with more, order hides almost as much.
DEALT_SIGMA = 0.4
RATE, STEPS = 0.5, 2
# Of this many coordinates the last layer, a bias, has the last.
_BIAS = 5


@batched
def flat(data: Any, rng: Generator, size: int) -> Array:
    """Every gradient is clipped as a whole."""
    return noised(clipped(rows_of(data)).sum(axis=0), SIGMA * CLIP, rng, size)


@batched
def mean(data: Any, rng: Generator, size: int) -> Array:
    """Sum and noise are divided by the expected batch size, which is public."""
    total = clipped(rows_of(data)).sum(axis=0)
    return noised(total, SIGMA * CLIP, rng, size) / BATCH


@batched
def layers_share_clip(data: Any, rng: Generator, size: int) -> Array:
    """Each of four layers is clipped to half the norm, so that all have the norm together."""
    gradients = rows_of(data)
    layers = clipped(gradients.reshape(len(gradients), LAYERS, -1), CLIP / np.sqrt(LAYERS))
    return noised(layers.sum(axis=0).ravel(), SIGMA * CLIP, rng, size)


@batched
def accumulated(data: Any, rng: Generator, size: int) -> Array:
    """Micro-batches of clipped gradients are added up, and noise is added once."""
    gradients = clipped(rows_of(data))
    total = np.zeros(gradients.shape[1])
    for first in range(0, len(gradients), GROUP):
        total += gradients[first : first + GROUP].sum(axis=0)
    return noised(total, SIGMA * CLIP, rng, size)


@batched
def workers_share_noise(data: Any, rng: Generator, size: int) -> Array:
    """Eight workers each add an eighth of the noise's variance."""
    total = clipped(rows_of(data)).sum(axis=0)
    noise = rng.normal(0.0, SIGMA * CLIP / np.sqrt(WORKERS), (size, WORKERS, *total.shape))
    return np.asarray(total + noise.sum(axis=1))


@batched
def nan_is_zero(data: Any, rng: Generator, size: int) -> Array:
    """What is not a number counts as zero before clipping."""
    gradients = np.nan_to_num(rows_of(data), nan=0.0, posinf=0.0, neginf=0.0)
    return noised(clipped(gradients).sum(axis=0), SIGMA * CLIP, rng, size)


def _sampled_sums(data: Any, rng: Generator, size: int) -> Array:
    """The sums of Poisson batches, for every training and every step."""
    gradients = clipped(rows_of(data))
    drawn = rng.random((size, STEPS, len(gradients))) < RATE
    return np.asarray(drawn @ gradients)


@batched
def poisson(data: Any, rng: Generator, size: int) -> Array:
    """Two steps, each on every record with probability one half."""
    sums = _sampled_sums(data, rng, size)
    return np.asarray(sums + rng.normal(0.0, SIGMA * CLIP, sums.shape))


@batched
def same_noise_each_step(data: Any, rng: Generator, size: int) -> Array:
    """Two steps on Poisson batches, and the generator is seeded anew before each."""
    sums = _sampled_sums(data, rng, size)
    return np.asarray(sums + rng.normal(0.0, SIGMA * CLIP, (size, 1, sums.shape[2])))


@batched
def dealt_batches(data: Any, rng: Generator, size: int) -> Array:
    """Two steps on the halves of a shuffled data set, accounted as Poisson batches."""
    gradients = clipped(rows_of(data))
    order = np.argsort(rng.random((size, len(gradients))), axis=1)
    first = order < (len(gradients) + 1) // STEPS
    sums = np.stack([first @ gradients, ~first @ gradients], axis=1)
    return np.asarray(sums + rng.normal(0.0, DEALT_SIGMA * CLIP, sums.shape))


@batched
def unclipped_layer(data: Any, rng: Generator, size: int) -> Array:
    """The last layer, a bias, is left out of clipping."""
    gradients = rows_of(data)
    mixed = np.hstack([clipped(gradients[:, :-_BIAS]), gradients[:, -_BIAS:]])
    return noised(mixed.sum(axis=0), SIGMA * CLIP, rng, size)


@batched
def accumulated_clipped_once(data: Any, rng: Generator, size: int) -> Array:
    """Micro-batches are added up unclipped, and their sum is clipped once."""
    total = rows_of(data).sum(axis=0)
    return noised(clipped(total), SIGMA * CLIP, rng, size)


@batched
def one_noise_for_all(data: Any, rng: Generator, size: int) -> Array:
    """One number is drawn, and every coordinate gets it."""
    total = clipped(rows_of(data)).sum(axis=0)
    return np.asarray(total + rng.normal(0.0, SIGMA * CLIP, (size, 1)))


@batched
def never_cleared(data: Any, rng: Generator, size: int) -> Array:
    """Three steps, where gradients add up as they are never cleared."""
    total = clipped(rows_of(data)).sum(axis=0)
    sums = np.arange(1.0, ROUNDS + 1)[:, None] * total
    return np.asarray(sums + rng.normal(0.0, SIGMA * CLIP, (size, *sums.shape)))
