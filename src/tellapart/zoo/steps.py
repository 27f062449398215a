"""One noisy gradient step of DP-SGD, right and wrong.

The data holds one gradient per record; a neighbour has one more. Gradients are clipped to norm
CLIP, summed, and Gaussian noise of standard deviation SIGMA·CLIP is added: μ = 1 of Gaussian DP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.guarantees import guarantee
from tellapart.zoo.specimen import (
    FOLKLORE,
    USUAL_DELTA,
    Draw,
    Flaw,
    Release,
    declared_in,
    gaussian_epsilon,
    specimen,
)

CLIP, SIGMA = 1.0, 1.0
# What the mean is divided by, whatever the batch really holds.
BATCH = 64
WIDE_CLIP = 5.0
LAYERS, WORKERS, GROUP, ROUNDS = 4, 8, 2, 3
# Batches in the order of the data, one record in a hundred per batch.
BATCHES = 100

_MU = guarantee(mu=1)
_OTHERS = ((0.0, 0.0),) * 3
_CANARY = ((0.0, 0.0),) * 3 + ((10.0, 0.0),)
_WIDE = ((0.0,) * 8,) * 3
# Subsampled Gaussian noise, σ = 1, sampled at 1/100, 100 steps: ε at δ = 1e-5, rounded up.
_AS_IF_SAMPLED = 0.7181
TRAMER = "Tramèr, Terzis, Steinke, Song, Jagielski and Carlini 2022"


def gaussian_step(
    absent: object, present: object, mu: float, source: str, flaw: Flaw | None = Flaw.LAW
) -> Callable[[Draw], Release]:
    """A specimen whose noise is Gaussian, so that μ tells all."""
    return specimen(
        (absent, present),
        claim=_MU,
        truth=gaussian_epsilon(mu),
        known=f"Gaussian means {short(mu, 4)} deviations apart",
        source=source,
        flaw=flaw,
    )


def rows_of(data: Any) -> Array:
    """One gradient a row, also where there is only one."""
    return np.atleast_2d(np.asarray(data, dtype=np.float64))


def clipped(gradients: Array, clip: float = CLIP) -> Array:
    """Rows scaled down to norm ``clip`` where they are longer."""
    norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
    return np.asarray(gradients * (clip / np.maximum(norms, clip)))


def noised(total: Array, deviation: float, rng: Generator, size: int) -> Array:
    """So many releases of a sum with Gaussian noise."""
    return np.asarray(total + rng.normal(0.0, deviation, (size, *total.shape)))


@gaussian_step(_OTHERS, _CANARY, 1.0, "Abadi et al. 2016", None)
def step(data: Any, rng: Generator, size: int) -> Array:
    """The sum of clipped gradients with Gaussian noise."""
    return noised(clipped(rows_of(data)).sum(axis=0), SIGMA * CLIP, rng, size)


@gaussian_step(_OTHERS, _CANARY, 10.0, FOLKLORE)
def step_no_clip(data: Any, rng: Generator, size: int) -> Array:
    """Gradients are not clipped."""
    return noised(rows_of(data).sum(axis=0), SIGMA * CLIP, rng, size)


@gaussian_step(_OTHERS, _CANARY, 10.0, FOLKLORE)
def step_clip_after_mean(data: Any, rng: Generator, size: int) -> Array:
    """The mean is clipped instead of every gradient."""
    mean = clipped(rows_of(data).sum(axis=0) / BATCH)
    return noised(mean, SIGMA * CLIP / BATCH, rng, size)


@gaussian_step(_OTHERS, _CANARY, 64.0, TRAMER)
def step_noise_over_batch(data: Any, rng: Generator, size: int) -> Array:
    """A sum gets the noise that is right for a mean."""
    return noised(clipped(rows_of(data)).sum(axis=0), SIGMA * CLIP / BATCH, rng, size)


@gaussian_step(_OTHERS, _CANARY, 5.0, FOLKLORE)
def step_noise_without_clip_norm(data: Any, rng: Generator, size: int) -> Array:
    """Clipped to norm 5, with noise for norm 1."""
    return noised(clipped(rows_of(data), WIDE_CLIP).sum(axis=0), SIGMA, rng, size)


@gaussian_step(_WIDE, (*_WIDE, (3.0,) * 8), 2.0, FOLKLORE)
def step_per_layer(data: Any, rng: Generator, size: int) -> Array:
    """Each of four layers is clipped to the whole norm, with noise for one."""
    gradients = rows_of(data)
    layers = clipped(gradients.reshape(len(gradients), LAYERS, -1))
    return noised(layers.sum(axis=0).ravel(), SIGMA * CLIP, rng, size)


@gaussian_step(((10.0,),), ((10.0,), (-100.0,)), 2.0, "tensorflow/privacy issue 81")
def step_microbatch(data: Any, rng: Generator, size: int) -> Array:
    """Means of two gradients are clipped; a record more changes the mean it enters."""
    gradients = rows_of(data)
    groups = [gradients[i : i + GROUP].mean(axis=0) for i in range(0, len(gradients), GROUP)]
    return noised(clipped(np.array(groups)).sum(axis=0), SIGMA * CLIP, rng, size)


@gaussian_step(_OTHERS, _CANARY, math.sqrt(8), FOLKLORE)
def step_workers(data: Any, rng: Generator, size: int) -> Array:
    """Eight workers each add an eighth of the noise, as if noises added like numbers."""
    total = clipped(rows_of(data)).sum(axis=0)
    noise = rng.normal(0.0, SIGMA * CLIP / WORKERS, (size, WORKERS, *total.shape))
    return np.asarray(total + noise.sum(axis=1))


@specimen(
    (((0.0,),) * 2, ((0.0,), (0.0,), (1.0,))),
    claim=_MU,
    truth=math.inf,
    known="the difference of the two steps has no noise",
    source=FOLKLORE,
)
def step_shared_noise(data: Any, rng: Generator, size: int) -> Array:
    """Two steps on alternate records use the same noise, so that it cancels between them."""
    gradients = clipped(rows_of(data))
    steps = np.stack([gradients[0::2].sum(axis=0), gradients[1::2].sum(axis=0)])
    noise = rng.normal(0.0, SIGMA * CLIP, (size, 1, steps.shape[1]))
    return np.asarray(steps + noise)


@gaussian_step(
    _OTHERS, _CANARY, 3.0, "dayu11/Differentially-Private-Deep-Learning issue 7, of this kind"
)
def step_not_zeroed(data: Any, rng: Generator, size: int) -> Array:
    """The third step, where the gradients of the first two were never cleared."""
    gradients = clipped(rows_of(data))
    total = np.zeros(gradients.shape[1])
    for _ in range(ROUNDS):
        total += gradients.sum(axis=0)
    return noised(total, SIGMA * CLIP, rng, size)


@specimen(
    (((0.0,) * 20,), ((0.0,) * 20,) * 2),
    claim=_MU,
    truth=73.80468363,
    known="chi-square tails of the squared norm",
    source="meta-pytorch/opacus issues 571 and 819",
)
def step_realised_batch(data: Any, rng: Generator, size: int) -> Array:
    """Sum and noise are divided by the true size of the batch."""
    gradients = clipped(rows_of(data))
    return noised(gradients.sum(axis=0), SIGMA * CLIP, rng, size) / len(gradients)


@gaussian_step(
    ((0.0,),) * 8, (*((0.0,),) * 8, (100.0,)), 7.0, "batch normalisation, a common mistake"
)
def step_centred(data: Any, rng: Generator, size: int) -> Array:
    """The batch's mean is taken off before clipping: one record moves all others."""
    gradients = rows_of(data)
    total = clipped(gradients - gradients.mean(axis=0)).sum(axis=0)
    return noised(total, SIGMA * CLIP, rng, size)


@specimen(
    (_OTHERS, (*_OTHERS, (math.nan, 0.0))),
    claim=_MU,
    truth=math.inf,
    known="NaN under one input only",
    source=FOLKLORE,
)
def step_nan(data: Any, rng: Generator, size: int) -> Array:
    """A gradient with NaN has norm NaN, and no clip factor helps."""
    return noised(clipped(rows_of(data)).sum(axis=0), SIGMA * CLIP, rng, size)


@specimen(
    (((0.0,),) * 99, (*((0.0,),) * 99, (1.0,))),
    claim=guarantee(_AS_IF_SAMPLED, USUAL_DELTA),
    truth=gaussian_epsilon(1),
    known="Gaussian means 1 deviation apart; the claim is of Poisson sampling",
    source="meta-pytorch/opacus issues 80 and 128",
)
def steps_in_order(data: Any, rng: Generator, size: int) -> Array:
    """A hundred steps, each on its own hundredth of the records in a fixed order."""
    gradients = clipped(rows_of(data))[:, 0]
    place = np.arange(len(gradients)) % BATCHES
    sums = np.bincount(place, gradients, BATCHES).astype(np.float64)
    return noised(sums, SIGMA * CLIP, rng, size)


SPECIMENS = declared_in(__name__)
