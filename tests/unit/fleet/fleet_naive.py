"""DP-SGD as a textbook writes it: one model, one example at a time, gradients by autograd."""

from __future__ import annotations

import numpy as np
import torch

from tellapart.fleet import CNN
from tellapart.fleet.architectures import Architecture


def forward(architecture: Architecture, weights: dict[str, torch.Tensor], x: torch.Tensor):
    """One example through one model."""
    act = torch.tanh if getattr(architecture, "activation", "relu") == "tanh" else torch.relu
    current = x
    if isinstance(architecture, CNN):
        current = x.reshape(1, *architecture.inputs)
        for place in range(1, len(architecture.channels) + 1):
            current = torch.nn.functional.conv2d(
                current,
                weights[f"conv{place}.weight"],
                weights[f"conv{place}.bias"],
                stride=2,
                padding=architecture.kernel // 2,
            )
            current = act(current)
        current = current.reshape(-1)
    names = sorted(name for name in weights if name.startswith("layer") and "weight" in name)
    for place, name in enumerate(names, start=1):
        current = weights[name] @ current + weights[name.replace("weight", "bias")]
        if place < len(names):
            current = act(current)
    return current


def gradient(architecture: Architecture, model, x, target, squared: bool = False) -> np.ndarray:
    """The gradient of one example as one vector, in doubles."""
    weights = {k: torch.tensor(np.float64(v), requires_grad=True) for k, v in model.items()}
    given = forward(architecture, weights, torch.tensor(np.float64(x)))
    if squared:
        loss = ((given - torch.tensor(np.float64(target))) ** 2).sum() / 2
    else:
        loss = -torch.log_softmax(given, dim=0)[int(target)]
    loss.backward()
    return np.concatenate([one.grad.numpy().ravel() for one in weights.values()])


def clipped(vector: np.ndarray, clip: float | None) -> np.ndarray:
    """The vector, shortened to a norm of at most ``clip``."""
    return vector if clip is None else vector * min(1.0, clip / np.linalg.norm(vector))
