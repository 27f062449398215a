"""Per-example gradient clipping for stacks of models, no gradient of a dense layer ever stored.

For a layer W a + b the gradient of one example is the outer product of the error d that reaches
the layer and its input a, so its squared norm is |d|² (|a|² + 1) (Goodfellow 2015). A clipped
gradient may exceed its norm by the rounding of float32, some parts in 10⁷. Activations
have shape models × features × examples: sums over features then run along whole vectors.

A convolution is a product of its kernel and the patches of its input. The gradient of one example
is a product too, of errors and patches; it is small, and formed for every example. All products
are stacked matrix products, whose results do not depend on how many models are stacked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.fleet._random import START, Models, counters, keys, normals
from tellapart.fleet._torch import torch
from tellapart.fleet.architectures import CNN, MLP, Architecture, stacked

_STRIDE = 2  # of every convolution


@dataclass(frozen=True)
class ModelBatch:
    """What each model sees at a step: inputs (models × examples × features), targets, weights.

    ``targets`` are labels, models × examples, or numbers, models × classes × examples.
    ``weights`` is 1 for an example that takes part and 0 for one that does not.
    """

    inputs: Any
    squares: Any  # |x|² + 1 of each example
    targets: Any
    weights: Any


def _dense_outputs(layers: list[tuple[Any, Any]], activation: str, inputs: Any) -> list[Any]:
    """What every layer gives, the last one without activation."""
    activations, current = [], inputs.transpose(1, 2)
    for place, (weight, bias) in enumerate(layers, start=1):
        current = torch.baddbmm(bias.unsqueeze(2), weight, current)
        if place < len(layers):
            current = current.relu_() if activation == "relu" else current.tanh_()
        activations.append(current)
    return activations


def _dense_sums(
    layers: list[tuple[Any, Any]],
    activation: str,
    squared: bool,
    batch: ModelBatch,
    clip: float | None,
    sums: list[tuple[Any, Any]],
) -> None:
    given = _dense_outputs(layers, activation, batch.inputs)
    error = given.pop()
    if not squared:
        error = torch.softmax(error, dim=1)
    errors = [_less(error, batch.targets)]
    for (weight, _), below in zip(layers[:0:-1], reversed(given), strict=True):
        error = torch.bmm(weight.transpose(1, 2), errors[-1])
        errors.append(_through(activation, error, below))
    errors.reverse()
    factor = batch.weights
    if clip is not None:
        norms = _squares(errors[0]).mul_(batch.squares)
        for error, below in zip(errors[1:], given, strict=True):
            norms.addcmul_(_squares(error), _squares(below).add_(1.0))
        factor = clip * norms.clamp_(min=clip * clip).rsqrt_() * batch.weights
    inputs = [batch.inputs, *(layer.transpose(1, 2) for layer in given)]
    for error, below, (weight, bias) in zip(errors, inputs, sums, strict=True):
        error.mul_(factor.unsqueeze(1))
        weight.copy_(torch.bmm(error, below))
        torch.sum(error, dim=2, out=bias)


def _less(given: Any, targets: Any) -> Any:
    """The errors at the last layer: what is given, less what was wanted."""
    if targets.dtype.is_floating_point:
        return given.sub_(targets)
    labels = targets.unsqueeze(1)
    return given.scatter_add_(1, labels, torch.full_like(labels, -1, dtype=given.dtype))


def _through(activation: str, error: Any, given: Any) -> Any:
    """Errors above an activation as errors below it."""
    if activation == "relu":
        return torch.ops.aten.threshold_backward(error, given, 0)
    return torch.ops.aten.tanh_backward(error, given)


def _squares(tensor: Any) -> Any:
    """Sums of squares over features: models × examples."""
    # Each is several times as fast as the other where it is used.
    if tensor.is_cuda:
        return torch.linalg.vector_norm(tensor, dim=1).square_()
    return (tensor * tensor).sum(dim=1)


def _halved(size: tuple[int, int]) -> tuple[int, int]:
    """The height and width of what a convolution gives."""
    return (size[0] + 1) // 2, (size[1] + 1) // 2


@dataclass(frozen=True)
class _Convolution:
    """One convolution of all models: its kernel and bias, and the size of what it reads."""

    weight: Any  # models × out × (in · kernel²)
    bias: Any  # models × out
    size: tuple[int, int]
    kernel: int

    def patches(self, maps: Any) -> Any:
        """From (models · examples) × in × height × width to … × (in · kernel²) × places.

        By views and one copy: PyTorch's own unfold goes from example to example on a GPU.
        """
        around, kernel = self.kernel // 2, self.kernel
        padded = torch.nn.functional.pad(maps, (around,) * 4)
        seen = padded.unfold(2, kernel, _STRIDE).unfold(3, kernel, _STRIDE)
        places = seen.shape[2] * seen.shape[3]
        return seen.permute(0, 1, 4, 5, 2, 3).reshape(len(maps), -1, places)

    def forward(self, patches: Any, examples: int) -> Any:
        """The outputs, (models · examples) × out × places."""
        models, places = self.weight.shape[0], patches.shape[-1]
        read = patches.view(models, examples, -1, places).transpose(1, 2).flatten(2)
        given = torch.baddbmm(self.bias.unsqueeze(2), self.weight, read)
        return _by_example(given, examples)

    def backward(self, errors: Any, examples: int) -> Any:
        """Errors at the outputs as errors at the input, (models · examples) × in × size."""
        models, places = self.weight.shape[0], errors.shape[-1]
        read = errors.view(models, examples, -1, places).transpose(1, 2).flatten(2)
        below = _by_example(torch.bmm(self.weight.transpose(1, 2), read), examples)
        kernel, around = self.kernel, self.kernel // 2
        height, width = _halved(self.size)
        parts = below.view(len(below), -1, kernel, kernel, height, width)
        edge = (self.size[0] + 2 * around, self.size[1] + 2 * around)
        maps = parts.new_zeros(parts.shape[:2] + edge)
        for row in range(kernel):
            for column in range(kernel):
                rows = slice(row, row + _STRIDE * (height - 1) + 1, _STRIDE)
                columns = slice(column, column + _STRIDE * (width - 1) + 1, _STRIDE)
                maps[:, :, rows, columns] += parts[:, :, row, column]
        inside = slice(around, around + self.size[0]), slice(around, around + self.size[1])
        return maps[:, :, *inside].contiguous()


def _by_example(stacked: Any, examples: int) -> Any:
    """From models × rows × (examples · places) to (models · examples) × rows × places."""
    return stacked.unflatten(2, (examples, -1)).transpose(1, 2).flatten(0, 1)


def _convolutions(architecture: CNN, weights: dict[str, Any]) -> list[_Convolution]:
    size, layers = architecture.inputs[1:], []
    for place in range(1, len(architecture.channels) + 1):
        weight, bias = weights[f"conv{place}.weight"], weights[f"conv{place}.bias"]
        layers.append(_Convolution(weight.flatten(2), bias, size, architecture.kernel))
        size = _halved(size)
    return layers


def _forward(
    architecture: CNN, weights: dict[str, Any], inputs: Any
) -> tuple[list[Any], list[Any], Any]:
    """The patches each convolution reads, what it gives, and what the last layer gives."""
    models, examples = inputs.shape[:2]
    maps = inputs.reshape(models * examples, *architecture.inputs)
    read, given = [], []
    for layer in _convolutions(architecture, weights):
        read.append(layer.patches(maps))
        maps = layer.forward(read[-1], examples)
        maps = maps.relu_() if architecture.activation == "relu" else maps.tanh_()
        given.append(maps)
        maps = maps.unflatten(2, _halved(layer.size))
    features = maps.reshape(models, examples, -1).transpose(1, 2)
    bias = weights["layer1.bias"].unsqueeze(2)
    return read, given, torch.baddbmm(bias, weights["layer1.weight"], features)


def _convolved_sums(
    architecture: CNN,
    weights: dict[str, Any],
    squared: bool,
    batch: ModelBatch,
    clip: float | None,
    sums: dict[str, Any],
) -> None:
    models, examples = batch.inputs.shape[:2]
    read, given, last = _forward(architecture, weights, batch.inputs)
    top = _less(last if squared else torch.softmax(last, dim=1), batch.targets)
    features = given[-1].reshape(models, examples, -1)
    norms = _squares(top) * features.square().sum(dim=2).add_(1.0)
    error = torch.bmm(weights["layer1.weight"].transpose(1, 2), top).transpose(1, 2)
    error = error.reshape(given[-1].shape)
    gradients: list[Any] = []
    for place in range(len(given), 0, -1):
        error = _through(architecture.activation, error, given[place - 1])
        kernel = torch.bmm(error, read[place - 1].transpose(1, 2)).view(models, examples, -1)
        bias = error.sum(dim=2).view(models, examples, -1)
        norms += kernel.square().sum(dim=2) + bias.square().sum(dim=2)
        gradients[:0] = [kernel, bias]
        if place > 1:
            convolution = _convolutions(architecture, weights)[place - 1]
            error = convolution.backward(error, examples).view(given[place - 2].shape)
    factor = batch.weights
    if clip is not None:
        factor = clip * norms.clamp_(min=clip * clip).rsqrt_() * factor
    top.mul_(factor.unsqueeze(1))
    *inner, weight, bias = sums.values()
    weight.copy_(torch.bmm(top, features))
    torch.sum(top, dim=2, out=bias)
    for tensor, each in zip(inner, gradients, strict=True):
        tensor.copy_(torch.bmm(factor.unsqueeze(1), each).view(tensor.shape))


def clipped_sums(
    architecture: Architecture,
    weights: dict[str, Any],
    squared: bool,
    batch: ModelBatch,
    clip: float | None,
    sums: dict[str, Any],
) -> None:
    """Put each model's sum of clipped gradients into ``sums``."""
    if isinstance(architecture, CNN):
        _convolved_sums(architecture, weights, squared, batch, clip, sums)
        return
    activation = _activation(architecture)
    _dense_sums(_pairs(weights), activation, squared, batch, clip, _pairs(sums))


def outputs(architecture: Architecture, weights: dict[str, Any], inputs: Any) -> Any:
    """What each model gives before any softmax: models × classes × examples."""
    if isinstance(architecture, CNN):
        return _forward(architecture, weights, inputs)[-1]
    return _dense_outputs(_pairs(weights), _activation(architecture), inputs)[-1]


def _pairs(tensors: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The weight and the bias of each layer."""
    every = list(tensors.values())
    return list(zip(every[::2], every[1::2], strict=True))


def _activation(architecture: Architecture) -> str:
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


def given_start(architecture: Architecture, flat: Any, start: dict[str, Any]) -> None:
    """The same weights for every model, as `Fleet.model` gives them."""
    for name, tensor in stacked(architecture, flat).items():
        tensor.copy_(torch.from_numpy(np.asarray(start[name], dtype=np.float32)))
