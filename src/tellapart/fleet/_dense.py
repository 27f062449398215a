"""Clipped sums of gradients for stacks of fully connected models, no gradient ever stored.

For a layer W a + b the gradient of one example is the outer product of the error d that reaches
the layer and its input a, so its squared norm is |d|² (|a|² + 1) (Goodfellow 2015). A clipped
gradient may exceed its norm by the rounding of float32, some parts in 10⁷. Activations
have shape models × features × examples: sums over features then run along whole vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellapart.fleet._torch import torch


@dataclass(frozen=True)
class Batch:
    """What each model sees at a step: inputs (models × examples × features), targets, weights.

    ``targets`` are labels, models × examples, or numbers, models × classes × examples.
    ``weights`` is 1 for an example that takes part and 0 for one that does not.
    """

    inputs: Any
    squares: Any  # |x|² + 1 of each example
    targets: Any
    weights: Any


def outputs(layers: list[tuple[Any, Any]], activation: str, inputs: Any) -> list[Any]:
    """What every layer gives, the last one without activation."""
    activations, current = [], inputs.transpose(1, 2)
    for place, (weight, bias) in enumerate(layers, start=1):
        current = torch.baddbmm(bias.unsqueeze(2), weight, current)
        if place < len(layers):
            current = current.relu_() if activation == "relu" else current.tanh_()
        activations.append(current)
    return activations


def clipped_sums(
    layers: list[tuple[Any, Any]],
    activation: str,
    squared: bool,
    batch: Batch,
    clip: float | None,
    sums: list[tuple[Any, Any]],
) -> None:
    """Put the sum of clipped gradients of each model into ``sums``."""
    given = outputs(layers, activation, batch.inputs)
    error = given.pop()
    if not squared:
        error = torch.softmax(error, dim=1)
    errors = [less(error, batch.targets)]
    for (weight, _), below in zip(layers[:0:-1], reversed(given), strict=True):
        error = torch.bmm(weight.transpose(1, 2), errors[-1])
        errors.append(through(activation, error, below))
    errors.reverse()
    factor = batch.weights
    if clip is not None:
        norms = squares(errors[0]).mul_(batch.squares)
        for error, below in zip(errors[1:], given, strict=True):
            norms.addcmul_(squares(error), squares(below).add_(1.0))
        factor = clip * norms.clamp_(min=clip * clip).rsqrt_() * batch.weights
    inputs = [batch.inputs, *(layer.transpose(1, 2) for layer in given)]
    for error, below, (weight, bias) in zip(errors, inputs, sums, strict=True):
        error.mul_(factor.unsqueeze(1))
        weight.copy_(torch.bmm(error, below))
        torch.sum(error, dim=2, out=bias)


def less(given: Any, targets: Any) -> Any:
    """The errors at the last layer: what is given, less what was wanted."""
    if targets.dtype.is_floating_point:
        return given.sub_(targets)
    labels = targets.unsqueeze(1)
    return given.scatter_add_(1, labels, torch.full_like(labels, -1, dtype=given.dtype))


def through(activation: str, error: Any, given: Any) -> Any:
    """Errors above an activation as errors below it."""
    if activation == "relu":
        return torch.ops.aten.threshold_backward(error, given, 0)
    return torch.ops.aten.tanh_backward(error, given)


def squares(tensor: Any) -> Any:
    """Sums of squares over features: models × examples."""
    # Each is several times as fast as the other where it is used.
    if tensor.is_cuda:
        return torch.linalg.vector_norm(tensor, dim=1).square_()
    return (tensor * tensor).sum(dim=1)
