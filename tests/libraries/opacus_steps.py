"""Opacus as an audit of steps sees it: gradients in, the noisy gradients of its optimizer out.

The model is linear and its loss is its output, so that the gradient of a record is the record.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
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

    def private(self, gradients: Any, rng: np.random.Generator) -> tuple[Any, ...]:
        """Model, optimizer, loader and engine, made private by Opacus."""
        records = torch.as_tensor(np.asarray(gradients), dtype=torch.float32)
        draws, noise = (torch.Generator().manual_seed(int(rng.integers(2**62))) for _ in range(2))
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
        return model, optimizer, loader, engine

    def __call__(
        self, gradients: Any, rng: np.random.Generator, size: int | None = None
    ) -> np.ndarray:
        """One training, or ``size`` of them by one engine: nothing is learnt, and nothing kept."""
        private = self.private(gradients, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [self._updates(*private) for _ in range(1 if size is None else size)]
        return found[0] if size is None else np.stack(found)

    def _updates(self, model: Any, optimizer: Any, loader: Any, _: Any) -> np.ndarray:
        updates = []
        for (records,) in islice(_epochs(loader), self.steps):
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
