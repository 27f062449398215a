"""Clipped sums of gradients for stacks of convolutional models, as products of patches.

A convolution is a product of its kernel and the patches of its input. The gradient of one example
is a product too, of errors and patches; it is small, and formed for every example. All products
are stacked matrix products, whose results do not depend on how many models are stacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellapart.fleet._dense import Batch, less, squares, through
from tellapart.fleet._torch import torch
from tellapart.fleet.architectures import CNN

_STRIDE = 2


def halved(size: tuple[int, int]) -> tuple[int, int]:
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
        height, width = halved(self.size)
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
        size = halved(size)
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
        maps = maps.unflatten(2, halved(layer.size))
    features = maps.reshape(models, examples, -1).transpose(1, 2)
    bias = weights["layer1.bias"].unsqueeze(2)
    return read, given, torch.baddbmm(bias, weights["layer1.weight"], features)


def outputs(architecture: CNN, weights: dict[str, Any], inputs: Any) -> Any:
    """What each model gives: models × classes × examples."""
    return _forward(architecture, weights, inputs)[-1]


def clipped_sums(
    architecture: CNN,
    weights: dict[str, Any],
    squared: bool,
    batch: Batch,
    clip: float | None,
    sums: dict[str, Any],
) -> None:
    """Put the sum of clipped gradients of each model into ``sums``."""
    models, examples = batch.inputs.shape[:2]
    read, given, last = _forward(architecture, weights, batch.inputs)
    top = less(last if squared else torch.softmax(last, dim=1), batch.targets)
    features = given[-1].reshape(models, examples, -1)
    norms = squares(top) * features.square().sum(dim=2).add_(1.0)
    error = torch.bmm(weights["layer1.weight"].transpose(1, 2), top).transpose(1, 2)
    error = error.reshape(given[-1].shape)
    gradients: list[Any] = []
    for place in range(len(given), 0, -1):
        error = through(architecture.activation, error, given[place - 1])
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
