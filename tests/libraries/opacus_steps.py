"""Opacus as an audit of steps sees it: gradients in, the noisy gradients of its optimizer out.

The model is linear and its loss is its output, so that the gradient of a record is the record.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LAYERS = (8, 4)
# Every empty batch is worth a line to it.
logging.getLogger("opacus.data_loader").setLevel(logging.ERROR)


class Linear(nn.Module):
    """A layer for each part of a record, all of them added up."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(size, 1, bias=False) for size in LAYERS)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        parts = torch.split(records, LAYERS, dim=1)
        return sum(layer(part) for layer, part in zip(self.layers, parts, strict=True))


class Private(NamedTuple):
    """What Opacus made, and the generators it draws from."""

    model: Any
    optimizer: Any
    loader: Any
    engine: PrivacyEngine
    draws: torch.Generator
    noise: torch.Generator


# To make a model private takes longer than a step, and nothing is learnt.
_PREPARED: dict[Any, Private] = {}
_MOST = 8


@dataclass(frozen=True)
class Trained:
    """So many steps of Opacus; ``spoil`` may change its optimizer before each of them."""

    noise: float
    clip: float = 1.0
    batch: int = 4
    steps: int = 1
    poisson: bool = True
    shuffle: bool = True
    clipping: str = "flat"
    reduction: str = "mean"
    told: str = "mean"
    mode: str = "hooks"
    spoil: Callable[[Any], None] | None = None

    def private(self, gradients: Any) -> Private:
        """Model, optimizer and loader, made private by Opacus; the same again for the same data."""
        records = np.ascontiguousarray(gradients, dtype=np.float32)
        key = (self, records.shape, records.tobytes())
        if key not in _PREPARED:
            if len(_PREPARED) >= _MOST:
                _PREPARED.clear()
            _PREPARED[key] = self._prepared(torch.from_numpy(records.copy()))
        return _PREPARED[key]

    def _prepared(self, records: torch.Tensor) -> Private:
        draws, noise = torch.Generator(), torch.Generator()
        model = Linear()
        loader = DataLoader(
            TensorDataset(records), batch_size=self.batch, shuffle=self.shuffle, generator=draws
        )
        norm = [self.clip / len(LAYERS) ** 0.5] * len(LAYERS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            engine = PrivacyEngine()
            model, optimizer, loader = engine.make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=0.0),
                data_loader=loader,
                noise_multiplier=self.noise,
                max_grad_norm=norm if self.clipping == "per_layer" else self.clip,
                poisson_sampling=self.poisson,
                clipping=self.clipping,
                loss_reduction=self.told,
                noise_generator=noise,
                grad_sample_mode=self.mode,
            )
        return Private(model, optimizer, loader, engine, draws, noise)

    def __call__(self, gradients: Any, rng: np.random.Generator) -> np.ndarray:
        """The noisy gradients of one training, step by step."""
        private = self.private(gradients)
        private.draws.manual_seed(int(rng.integers(2**62)))
        private.noise.manual_seed(int(rng.integers(2**62)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._updates(private)

    def _updates(self, private: Private) -> np.ndarray:
        model, optimizer, updates = private.model, private.optimizer, []
        for (records,) in islice(_epochs(private.loader), self.steps):
            optimizer.zero_grad()
            losses = model(records)
            (losses.mean() if self.reduction == "mean" else losses.sum()).backward()
            if self.spoil is not None:
                self.spoil(optimizer)
            optimizer.step()
            updates.append(torch.cat([p.grad.ravel() for p in optimizer.params]).numpy())
        return np.concatenate(updates).astype(np.float64)


def _epochs(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


def noise_for(epsilon: float, rate: float, steps: int, delta: float = 1e-5) -> float:
    """The noise that Opacus finds for a budget, by its accountant of privacy-loss variables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=delta,
            sample_rate=rate,
            steps=steps,
            accountant="prv",
        )


# -- planted bugs: what is done to the optimizer before a step -------------------------------------


def same_noise(optimizer: Any) -> None:
    """The noise of the second of two steps is that of the first."""
    kept = optimizer.__dict__.pop("kept", None)
    if kept is None:
        optimizer.kept = optimizer.generator.get_state()
    else:
        optimizer.generator.set_state(kept)


def unclipped_layer(optimizer: Any) -> None:
    """The last layer is summed up as it is."""
    layer = optimizer.params[-1]

    def clip() -> None:
        raw = layer.grad_sample.sum(dim=0)
        type(optimizer).clip_and_accumulate(optimizer)
        layer.summed_grad = raw

    optimizer.clip_and_accumulate = clip


def clipped_together(optimizer: Any) -> None:
    """The sum of the batch is clipped in place of every gradient."""

    def clip() -> None:
        sums = [layer.grad_sample.sum(dim=0) for layer in optimizer.params]
        norm = torch.cat([one.ravel() for one in sums]).norm()
        for layer, one in zip(optimizer.params, sums, strict=True):
            layer.summed_grad = one * (optimizer.max_grad_norm / norm).clamp(max=1.0)

    optimizer.clip_and_accumulate = clip


def noise_by_workers(optimizer: Any) -> None:
    """The noise is divided by eight workers, of which there is one."""
    optimizer.noise_multiplier = _PLANNED / 8


_PLANNED = 1.0
