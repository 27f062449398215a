"""DP-SGD on one chunk of models: Poisson subsampling, clipping and noise, step after step.

Samples are rows of indices padded to a length fixed beforehand, which depends on the data and the
sampling rate alone, so that chunks do not change it. No example is dropped: a model whose sample
is longer at any step is noticed and trained again with longer rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tellapart.fleet._gradients import ModelBatch, clipped_sums, given_start, random_start
from tellapart.fleet._random import (
    CANARIES,
    NOISE,
    SAMPLING,
    Models,
    coins,
    counters,
    keys,
    limit_of,
    normals,
)
from tellapart.fleet._torch import torch
from tellapart.fleet.architectures import Architecture, padded, stacked
from tellapart.fleet.canaries import Canaries
from tellapart.fleet.recipes import DPSGD, Recipe

# Rows leave room for so many deviations more than the mean: 3 in a million samples are longer.
_DEVIATIONS = 4.5
_MULTIPLE = 8
# From this share of all examples on, it is cheaper to take them all and to weigh some with 0.
_DENSE = 0.5


def row_length(examples: int, rate: float, tries: int = 0) -> int:
    """How long rows are at first, and after so many that were too short; all examples at most."""
    deviation = math.sqrt(examples * rate * (1 - rate))
    room = examples * rate + _DEVIATIONS * 2**tries * deviation + 1
    length = math.ceil(room / _MULTIPLE) * _MULTIPLE
    return examples if length >= _DENSE * examples else length


@dataclass(frozen=True)
class Sampler:
    """Draws who takes part, for a range of models."""

    places: Any  # counters, or None where everybody takes part at every step
    limit: int
    inclusion: Any | None
    device: Any
    models: int
    examples: int

    @classmethod
    def of(cls, models: Models, examples: int, rate: float, inclusion: Any, device: Any) -> Sampler:
        """A sampler for these models; inclusion says whose training set holds which example."""
        places = counters(models, examples, device) if rate < 1 else None
        limit = limit_of(rate) if rate < 1 else 0
        return cls(places, limit, inclusion, device, len(models), examples)

    def taking_part(self, key: Any, draw: Any = coins) -> Any:
        """Who is in the sample of a step: models × examples."""
        if self.places is None:
            shape = (self.models, self.examples)
            drawn = torch.ones(shape, dtype=torch.bool, device=self.device)
        else:
            drawn = draw(self.places, key[0], key[1], self.limit)
        return drawn if self.inclusion is None else drawn.logical_and_(self.inclusion)


def rows_of(taking_part: Any, length: int, everyone: Any) -> tuple[Any, Any, Any]:
    """Who takes part as padded rows of indices, which of them count, and whose row is too short."""
    models = taking_part.shape[0]
    place = torch.cumsum(taking_part, dim=1, dtype=torch.int32)
    total = place[:, -1:].clone()
    # Whoever does not take part, or finds no room, goes to a last column that is cut off.
    place.masked_fill_(taking_part.logical_not(), length + 1).clamp_(max=length + 1).sub_(1)
    rows = torch.zeros((models, length + 1), dtype=torch.int64, device=taking_part.device)
    rows.scatter_(1, place.to(torch.int64), everyone.expand_as(taking_part))
    counted = torch.arange(length, device=total.device, dtype=torch.int32) < total
    return rows[:, :length], counted, total[:, 0] > length


@dataclass(frozen=True)
class Data:
    """The examples on a device: inputs, |x|² + 1, targets, and the numbers 0 to n - 1."""

    inputs: Any
    squares: Any
    targets: Any
    everyone: Any

    @classmethod
    def of(cls, inputs: Any, targets: Any, device: Any) -> Data:
        """From arrays: numbers, and labels or rows of numbers."""
        x = torch.from_numpy(inputs).to(device)
        squares = x.square().sum(dim=1).add_(1.0)
        everyone = torch.arange(len(x), device=device)
        return cls(x, squares, torch.from_numpy(targets).to(device), everyone)

    def of_rows(self, rows: Any, counted: Any) -> ModelBatch:
        """The examples that rows of indices name."""
        models, length = rows.shape
        flat = rows.reshape(-1)
        inputs = self.inputs.index_select(0, flat).view(models, length, -1)
        squares = self.squares.index_select(0, flat).view(models, length)
        targets = self.targets.index_select(0, flat).unflatten(0, (models, length))
        return ModelBatch(inputs, squares, _turned(targets), counted.to(torch.float32))

    def of_all(self, taking_part: Any) -> ModelBatch:
        """Every example, weighed by whether it takes part."""
        models = taking_part.shape[0]
        inputs = self.inputs.expand(models, -1, -1)
        targets = self.targets.expand(models, *self.targets.shape)
        return ModelBatch(inputs, self.squares, _turned(targets), taking_part.to(torch.float32))


def _turned(targets: Any) -> Any:
    return targets.transpose(1, 2) if targets.ndim == 3 else targets


@dataclass(frozen=True)
class Job:
    """All that is the same for every chunk."""

    architecture: Architecture
    recipe: Recipe
    data: Data
    rate: float
    batch: float
    first: int  # the number of the model that the first rows of inclusion belong to
    inclusion: Any | None
    canaries: Canaries | None
    start: dict[str, Any] | None
    seed: tuple[int, ...]
    device: Any
    compiled: bool


@dataclass(frozen=True)
class Trained:
    """The weights of a chunk, what was seen of canaries, and whose samples found no room."""

    weights: Any
    observed: Any | None
    released: Any | None
    late: Any


def train_chunk(job: Job, models: Models, length: int) -> Trained:
    """Train these models, with rows of at most ``length`` examples."""
    recipe, steps, device = job.recipe, job.recipe.steps, job.device
    draw, noise_of = _compiled() if job.compiled else (coins, normals)
    weights = _start(job, models)
    sums = torch.zeros_like(weights)
    views, summed = (stacked(job.architecture, flat) for flat in (weights, sums))
    squared = recipe.loss == "squared_error"
    sampler = _sampler(job, models)
    sampling = keys(job.seed, SAMPLING, models, steps, device)
    clip, deviation = None, 0.0
    if isinstance(recipe, DPSGD):
        clip, deviation = recipe.clip, recipe.noise_multiplier * recipe.clip
    if deviation:
        places = counters(models, weights.shape[1], device)
        noise = keys(job.seed, NOISE, models, steps, device)
    flock = None if job.canaries is None else _Flock.of(job, job.canaries, models, weights, clip)
    late = torch.zeros(len(models), dtype=torch.bool, device=device)
    for step in range(steps):
        taking_part = sampler.taking_part(sampling[step], draw)
        if length == sampler.examples:
            batch = job.data.of_all(taking_part)
        else:
            rows, counted, longer = rows_of(taking_part, length, job.data.everyone)
            batch = job.data.of_rows(rows, counted)
            late |= longer
        clipped_sums(job.architecture, views, squared, batch, clip, summed)
        if flock is not None:
            flock.join(sums, step)
        if deviation:
            sums.add_(noise_of(places, *noise[step]), alpha=deviation)
        if flock is not None:
            flock.see(sums, step)
        weights.add_(sums, alpha=-recipe.learning_rate / job.batch)
    if flock is None:
        return Trained(weights, None, None, late)
    change = (flock.start - weights) @ flock.directions.T
    released = change * (job.batch / (recipe.learning_rate * (clip or 1.0)))
    return Trained(weights, flock.seen, released, late)


def _start(job: Job, models: Models) -> Any:
    shape = (len(models), padded(job.architecture))
    weights = torch.zeros(shape, dtype=torch.float32, device=job.device)
    if job.start is None:
        random_start(job.architecture, weights, models, job.seed, job.device)
    else:
        given_start(job.architecture, weights, job.start)
    return weights


def _sampler(job: Job, models: Models) -> Sampler:
    inside = None
    if job.inclusion is not None:
        inside = torch.from_numpy(job.inclusion[models - job.first]).to(job.device)
    return Sampler.of(models, len(job.data.everyone), job.rate, inside, job.device)


@cache
def _compiled() -> tuple[Any, Any]:
    """The same draws with their operations fused: for a GPU, where memory is what they wait for."""
    return torch.compile(coins), torch.compile(normals)


@dataclass(frozen=True)
class _Flock:
    """The canaries of a chunk, who take part in steps as examples do."""

    gradients: Any  # clipped, in padded rows
    directions: Any  # of norm 1
    sampler: Sampler
    sampling: Any
    start: Any
    seen: Any | None
    unit: float

    @classmethod
    def of(
        cls, job: Job, canaries: Canaries, models: Models, weights: Any, clip: float | None
    ) -> _Flock:
        count, steps = len(canaries.gradients), job.recipe.steps
        rows = np.zeros((count, weights.shape[1]), dtype=np.float32)
        rows[:, : job.architecture.parameters] = canaries.gradients
        gradients = torch.from_numpy(rows).to(job.device)
        norms = gradients.norm(dim=1, keepdim=True)
        directions = gradients / norms
        if clip is not None:
            gradients = directions * norms.clamp(max=clip)
        inside = torch.from_numpy(canaries.inclusion[models - job.first]).to(job.device)
        sampler = Sampler.of(models, count, job.rate, inside, job.device)
        sampling = keys(job.seed, CANARIES, models, steps, job.device)
        seen = None
        if canaries.observed:
            seen = torch.empty((len(models), steps, count), device=job.device)
        return cls(gradients, directions, sampler, sampling, weights.clone(), seen, clip or 1.0)

    def join(self, sums: Any, step: int) -> None:
        """Add those in a step's sample to the sums."""
        taking_part = self.sampler.taking_part(self.sampling[step])
        sums.addmm_(taking_part.to(torch.float32), self.gradients)

    def see(self, sums: Any, step: int) -> None:
        """Note how much of each canary an attacker sees in a step's release, in units of clip."""
        if self.seen is not None:
            torch.matmul(sums, self.directions.T / self.unit, out=self.seen[:, step])
