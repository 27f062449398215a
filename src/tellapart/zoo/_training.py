"""What is known of training as people write it: how it is called, claimed, and how it leaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tellapart.zoo import steps, training
from tellapart.zoo._numbers import gaussian_epsilon
from tellapart.zoo.specimen import Release

_SAMPLED: dict[str, Any] = {"sampling_rate": training.RATE, "steps": training.STEPS}
_COMMON = "a common mistake"


@dataclass(frozen=True, eq=False)
class Training:
    """A step of training to hunt in, with how `audit.step` is told of it and how much it leaks.

    ``truth`` is the true ε at δ = 1e-5 under the worst neighbours known, with gradients of any
    length and of as many coordinates as the settings say.
    """

    name: str
    step: Release
    words: str
    truth: float
    source: str
    correct: bool
    settings: Mapping[str, Any]


def _training(
    step: Release, truth: float, source: str = _COMMON, correct: bool = False, **settings: Any
) -> Training:
    name = step.__name__.replace("_", "-")
    words = (step.__doc__ or "").partition("\n")[0]
    told = {"clip": steps.CLIP, "noise_multiplier": steps.SIGMA, "layers": (5, 5, 5, 5)}
    return Training(name, step, words, truth, source, correct, told | settings)


def _right(step: Release, truth: float, source: str, **settings: Any) -> Training:
    return _training(step, truth, source, True, **settings)


_ONE = gaussian_epsilon(1.0)
# Poisson batches at rate 1/2, two steps, σ = 1: ε at δ = 1e-5, rounded up.
_POISSON = 4.8541
# A record in one of two steps at random, σ = 0.4: the same. Poisson batches may hold it twice and
# have a larger ε there, 18.15; but they miss it in a fourth of all trainings, and this never does.
_DEALT = 12.5136
_OPACUS_ORDER = "meta-pytorch/opacus issues 80 and 128"

TRAINING: tuple[Training, ...] = (
    _right(training.flat, _ONE, "Abadi et al. 2016"),
    _right(training.mean, _ONE, "Abadi et al. 2016", expected_batch=steps.BATCH),
    _right(training.layers_share_clip, _ONE, "McMahan, Ramage, Talwar and Zhang 2018"),
    _right(training.accumulated, _ONE, "Abadi et al. 2016"),
    _right(training.workers_share_noise, _ONE, "Abadi et al. 2016"),
    _right(training.nan_is_zero, _ONE, "made for the zoo", nan=True),
    _right(training.poisson, _POISSON, "Abadi et al. 2016", **_SAMPLED),
    _training(steps.step_no_clip, math.inf),
    _training(
        steps.step_clip_after_mean, gaussian_epsilon(2 * steps.BATCH), expected_batch=steps.BATCH
    ),
    _training(
        steps.step_noise_over_batch,
        gaussian_epsilon(steps.BATCH),
        "Tramèr, Terzis, Steinke, Song, Jagielski and Carlini 2022",
    ),
    _training(
        steps.step_noise_without_clip_norm,
        gaussian_epsilon(steps.WIDE_CLIP),
        clip=steps.WIDE_CLIP,
    ),
    _training(steps.step_per_layer, gaussian_epsilon(math.sqrt(steps.LAYERS))),
    _training(training.unclipped_layer, math.inf),
    _training(steps.step_microbatch, gaussian_epsilon(2), "tensorflow/privacy issue 81"),
    _training(training.accumulated_clipped_once, gaussian_epsilon(2)),
    _training(steps.step_workers, gaussian_epsilon(math.sqrt(steps.WORKERS))),
    _training(training.one_noise_for_all, math.inf),
    _training(steps.step_shared_noise, math.inf),
    _training(training.same_noise_each_step, math.inf, **_SAMPLED),
    _training(
        training.never_cleared,
        gaussian_epsilon(math.sqrt(14)),
        "dayu11/Differentially-Private-Deep-Learning issue 7, of this kind",
        steps=steps.ROUNDS,
    ),
    _training(
        training.dealt_batches,
        _DEALT,
        f"{_OPACUS_ORDER}; Chua et al. 2024",
        noise_multiplier=training.DEALT_SIGMA,
        layers=(1,),
        **_SAMPLED,
    ),
    _training(
        steps.steps_in_order,
        _ONE,
        _OPACUS_ORDER,
        layers=(1,),
        records=steps.BATCHES,
        sampling_rate=1 / steps.BATCHES,
        steps=steps.BATCHES,
    ),
    _training(steps.step_realised_batch, 73.80468363, "meta-pytorch/opacus issues 571 and 819"),
    _training(steps.step_centred, math.inf, "batch normalisation, a common mistake"),
    _training(steps.step_nan, math.inf, nan=True),
)
