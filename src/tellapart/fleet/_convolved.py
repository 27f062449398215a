"""Clipped sums of gradients for stacks of convolutional models, by `torch.func`.

Gradients of single examples are formed here, a few models at a time as memory allows.
"""

from __future__ import annotations

from typing import Any

from tellapart.fleet._dense import Batch
from tellapart.fleet._torch import torch
from tellapart.fleet.architectures import CNN


def _of_one(architecture: CNN, weights: dict[str, Any], example: Any) -> Any:
    """What one model gives for one example, or for several."""
    function = torch.nn.functional
    current = example.unflatten(-1, architecture.inputs)
    for place in range(1, len(architecture.channels) + 1):
        weight, bias = weights[f"conv{place}.weight"], weights[f"conv{place}.bias"]
        current = function.conv2d(current, weight, bias, stride=2, padding=architecture.kernel // 2)
        current = current.relu() if architecture.activation == "relu" else current.tanh()
    return function.linear(current.flatten(-3), weights["layer1.weight"], weights["layer1.bias"])


def outputs(architecture: CNN, weights: dict[str, Any], inputs: Any) -> Any:
    """What each model gives: models × classes × examples."""
    given = torch.func.vmap(lambda one, x: _of_one(architecture, one, x))(weights, inputs)
    return given.transpose(1, 2)


def clipped_sums(
    architecture: CNN,
    weights: dict[str, Any],
    squared: bool,
    batch: Batch,
    clip: float | None,
    sums: dict[str, Any],
) -> None:
    """Put the sum of clipped gradients of each model into ``sums``."""

    def loss(one: dict[str, Any], example: Any, target: Any) -> Any:
        given = _of_one(architecture, one, example)
        if squared:
            return (given - target).square().sum() / 2
        return -(target * torch.log_softmax(given, dim=-1)).sum()

    of_examples = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    of_models = torch.func.vmap(of_examples)
    targets = batch.targets
    if targets.dtype.is_floating_point:
        targets = targets.transpose(1, 2)
    else:
        targets = torch.nn.functional.one_hot(targets, architecture.classes).to(torch.float32)
    gradients = of_models(weights, batch.inputs, targets)
    factor = batch.weights
    if clip is not None:
        norms = sum(one.flatten(2).square().sum(dim=2) for one in gradients.values())
        factor = clip * norms.clamp_(min=clip * clip).rsqrt_() * factor
    for name, tensor in sums.items():
        flat = gradients[name].flatten(2)
        tensor.copy_(torch.bmm(factor.unsqueeze(1), flat).view(tensor.shape))
