"""What training asks of an architecture: sums of clipped gradients, and outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.fleet import _convolved, _dense
from tellapart.fleet._dense import Batch
from tellapart.fleet._layout import stacked
from tellapart.fleet._random import START, Models, counters, keys, normals
from tellapart.fleet._torch import torch
from tellapart.fleet.architectures import CNN, MLP, Architecture


@dataclass(frozen=True)
class Network:
    """An architecture with views of its weights and of a place for its gradients."""

    architecture: Architecture
    weights: dict[str, Any]
    sums: dict[str, Any]

    @classmethod
    def of(cls, architecture: Architecture, weights: Any, sums: Any) -> Network:
        """Views of two matrices of padded rows."""
        return cls(architecture, stacked(architecture, weights), stacked(architecture, sums))

    def clipped_sums(self, batch: Batch, clip: float | None, squared: bool) -> None:
        """Put each model's sum of clipped gradients into its place."""
        if isinstance(self.architecture, CNN):
            kind = self.architecture
            _convolved.clipped_sums(kind, self.weights, squared, batch, clip, self.sums)
            return
        layers, sums = pairs(self.weights), pairs(self.sums)
        _dense.clipped_sums(layers, activation(self.architecture), squared, batch, clip, sums)


def outputs(architecture: Architecture, weights: dict[str, Any], inputs: Any) -> Any:
    """What each model gives before any softmax: models × classes × examples."""
    if isinstance(architecture, CNN):
        return _convolved.outputs(architecture, weights, inputs)
    return _dense.outputs(pairs(weights), activation(architecture), inputs)[-1]


def pairs(tensors: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The weight and the bias of each layer."""
    every = list(tensors.values())
    return list(zip(every[::2], every[1::2], strict=True))


def activation(architecture: Architecture) -> str:
    """Of the layers below the last; a single layer has none."""
    return architecture.activation if isinstance(architecture, MLP) else "relu"


def random_start(
    architecture: Architecture, flat: Any, models: Models, seed: Sequence[int], device: Any
) -> None:
    """Weights of variance 2 / inputs, 1 / inputs under tanh or in the last layer; no biases."""
    key = keys(seed, START, models, 1, device)[0]
    flat.copy_(normals(counters(models, flat.shape[1], device), key[0], key[1]))
    *_, last, _ = architecture.shapes
    relu = getattr(architecture, "activation", "relu") == "relu"
    for name, tensor in stacked(architecture, flat).items():
        if name.endswith("bias"):
            tensor.zero_()
            continue
        shape = architecture.shapes[name]
        gain = 2.0 if relu and name != last else 1.0
        tensor.mul_(math.sqrt(gain / math.prod(shape[1:])))


def told_start(architecture: Architecture, flat: Any, start: dict[str, Any]) -> None:
    """The same weights for every model, as `Fleet.model` gives them."""
    for name, tensor in stacked(architecture, flat).items():
        tensor.copy_(torch.from_numpy(np.asarray(start[name], dtype=np.float32)))
