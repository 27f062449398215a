"""One small training with Opacus, right or with one of thirteen bugs, under `audit.watch`."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from itertools import chain, repeat
from typing import Any

import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.utils.uniform_sampler import UniformWithReplacementSampler
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tellapart as ta
from tellapart import audit

RECORDS, BATCH, NOISE, CLIP, STEPS = 400, 50, 1.0, 1.0, 60
RATE = BATCH / RECORDS

Bug = Callable[[Any, Any], None]
_DIGITS = load_digits()
DATA = TensorDataset(
    torch.tensor(_DIGITS.data[:RECORDS] / 16, dtype=torch.float32),
    torch.tensor(_DIGITS.target[:RECORDS]),
)


def network(middle: nn.Module | None = None) -> nn.Module:
    layers = [nn.Linear(64, 32), middle or nn.Identity(), nn.Tanh(), nn.Linear(32, 10)]
    return nn.Sequential(*layers)


# -- thirteen bugs ---------------------------------------------------------------------------------


def less_noise(factor: float) -> Bug:
    def plant(optimizer: Any, loader: Any) -> None:
        optimizer.noise_multiplier *= factor

    return plant


def noise_every_fourth(optimizer: Any, loader: Any) -> None:
    stated, count = optimizer.noise_multiplier, iter(range(10**9))

    def add() -> None:
        optimizer.noise_multiplier = stated if next(count) % 4 == 0 else 0.0
        DPOptimizer.add_noise(optimizer)

    optimizer.add_noise = add


def clip_the_mean(optimizer: Any, loader: Any) -> None:
    def clip() -> None:
        DPOptimizer.clip_and_accumulate(optimizer)  # marks gradients as used
        means = [rows.mean(dim=0) for rows in optimizer.grad_samples]
        norm = torch.cat([mean.ravel() for mean in means]).norm()
        for layer, mean in zip(optimizer.params, means, strict=True):
            factor = (optimizer.max_grad_norm / (norm + 1e-6)).clamp(max=1.0)
            layer.summed_grad = mean * factor * optimizer.expected_batch_size

    optimizer.clip_and_accumulate = clip


def clip_each_layer(optimizer: Any, loader: Any) -> None:
    def clip() -> None:
        DPOptimizer.clip_and_accumulate(optimizer)
        for layer, rows in zip(optimizer.params, optimizer.grad_samples, strict=True):
            norms = rows.flatten(1).norm(dim=1)
            factor = (optimizer.max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
            layer.summed_grad = torch.einsum("i,i...", factor, rows)

    optimizer.clip_and_accumulate = clip


def layer_without_noise(optimizer: Any, loader: Any) -> None:
    def add() -> None:
        DPOptimizer.add_noise(optimizer)
        last = optimizer.params[-1]
        last.grad = last.summed_grad.clone()

    optimizer.add_noise = add


def reseeded(optimizer: Any, loader: Any) -> None:
    def add() -> None:
        optimizer.generator.manual_seed(7)
        DPOptimizer.add_noise(optimizer)

    optimizer.add_noise = add


def drawn_more_often(factor: float) -> Bug:
    def plant(optimizer: Any, loader: Any) -> None:
        loader.batch_sampler.sample_rate *= factor

    return plant


def divided_by_actual_batch(optimizer: Any, loader: Any) -> None:
    def scale() -> None:
        for layer in optimizer.params:
            layer.grad /= max(len(optimizer.grad_samples[0]), 1)

    optimizer.scale_grad = scale


def shuffled(optimizer: Any, loader: Any) -> None:
    """Epochs of batches of one size, the last dropped, accounted as Poisson samples."""
    draws = loader.batch_sampler.generator

    class Shuffled(UniformWithReplacementSampler):
        def __iter__(self) -> Any:
            order = torch.randperm(self.num_samples, generator=draws)
            full = len(order) // BATCH * BATCH
            yield from (part.tolist() for part in order[:full].split(BATCH))

    loader.batch_sampler.__class__ = Shuffled


BUGS: dict[str, Bug] = {
    "noise / 40": less_noise(1 / 40),
    "noise x .5": less_noise(0.5),
    "noise x .8": less_noise(0.8),
    "noise x .9": less_noise(0.9),
    "noise every 4th step": noise_every_fourth,
    "clip the mean of the batch": clip_the_mean,
    "clip each layer": clip_each_layer,
    "layer without noise": layer_without_noise,
    "generator re-seeded": reseeded,
    "rate x 2": drawn_more_often(2),
    "rate x 1.2": drawn_more_often(1.2),
    "divided by actual batch": divided_by_actual_batch,
    "shuffled, last dropped": shuffled,
}
# What the bets alone find of them within sixty steps.
LEAKING = (
    *("noise / 40", "noise x .5", "noise every 4th step"),
    *("clip the mean of the batch", "layer without noise", "generator re-seeded"),
)


# -- the training ----------------------------------------------------------------------------------


def private(
    seed: int,
    *,
    net: nn.Module | None = None,
    data: Any = DATA,
    adam: bool = False,
    mode: str = "hooks",
    criterion: Any = None,
) -> tuple[Any, Any, Any, Any]:
    """Model, optimizer, loader and loss, made private by Opacus."""
    torch.manual_seed(seed)
    model = net or network()
    draws, noise = torch.Generator(), torch.Generator()
    draws.manual_seed(2 * seed + 1)
    noise.manual_seed(2 * seed + 2)
    kind = torch.optim.Adam if adam else torch.optim.SGD
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=kind(model.parameters(), lr=0.05),
        data_loader=DataLoader(data, batch_size=BATCH, generator=draws),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        noise_generator=noise,
        grad_sample_mode=mode,
        **({"criterion": nn.CrossEntropyLoss()} if mode == "ghost" else {}),
    )
    if mode == "ghost":
        model, optimizer, loss, loader = made
    else:
        (model, optimizer, loader), loss = made, nn.CrossEntropyLoss()
    return model, optimizer, loader, loss


def train(
    model: Any, optimizer: Any, loader: Any, loss: Any, steps: int, physical: int = 0
) -> None:
    """Anybody's loop."""
    done = 0
    split = (
        BatchMemoryManager(
            data_loader=loader, max_physical_batch_size=physical, optimizer=optimizer
        )
        if physical
        else nullcontext(loader)
    )
    with split as batches:
        for x, y in chain.from_iterable(repeat(batches)):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            done += not optimizer._is_last_step_skipped
            if done == steps:
                return


def watched(
    seed: int,
    bug: Bug | None = None,
    *,
    steps: int = STEPS,
    physical: int = 0,
    check: bool = False,
    **made: Any,
) -> Any:
    """The verdict on one training."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loader, loss = private(seed, **made)
        if bug is not None:
            bug(optimizer, loader)
        watch = audit.watch(
            optimizer,
            loader,
            claim=ta.dp_sgd(NOISE, sampling_rate=RATE, steps=steps),
            clip=CLIP,
            model=model if check else None,
            seed=seed,
        )
        train(model, optimizer, loader, loss, steps, physical)
        return watch.verdict()
