"""Gradient clipping and noise as Opacus's optimizers apply them: the noise multiplier in truth.

Opacus scales its noise by ``optimizer.max_grad_norm`` when it adds it. Gradients may have been
clipped at another norm: before a schedule moved it, in the first pieces of a batch that is split to
fit memory; or at norms that schedules do not move, per layer and with ghost clipping. The noise
multiplier that counts is in units of the largest norm at which gradients of the step were clipped.
"""

from __future__ import annotations

from typing import Any

import torch
from opacus.optimizers import (
    AdaClipDPOptimizer,
    DistributedDPOptimizer,
    DistributedDPOptimizerFastGradientClipping,
    DPOptimizer,
    DPOptimizerFastGradientClipping,
    DPPerLayerOptimizer,
    SimpleDistributedPerLayerOptimizer,
)

from tellapart.errors import Unsupported

ADAPTIVE = (
    "adaptive clipping is not accounted for: it divides a noisy count by the size of the batch, "
    "which has no noise (Opacus's own comment in adaptive_clipping_utils.py says so), and moves "
    "the count by 1 where its noise is for 1/2: use clipping='flat' or 'per_layer'"
)
_PER_LAYER = (DPPerLayerOptimizer, SimpleDistributedPerLayerOptimizer)
_GHOST = (DPOptimizerFastGradientClipping, DistributedDPOptimizerFastGradientClipping)
# By their exact types, as a subclass may do anything.
_KNOWN = (DPOptimizer, DistributedDPOptimizer, *_PER_LAYER, *_GHOST)


class Clipping:
    """An optimizer as it clips and adds noise: at which norm, and how much for that norm."""

    def __init__(self, optimizer: Any, module: Any = None) -> None:
        kind = type(optimizer)
        if kind is AdaClipDPOptimizer or hasattr(optimizer, "_adjusted_noise_multiplier"):
            raise Unsupported(ADAPTIVE)
        if kind not in _KNOWN:
            raise Unsupported(
                f"{kind.__name__} is not known to clip each record's gradient and to add noise for "
                f"that: use one of {', '.join(known.__name__ for known in _KNOWN)}"
            )
        self.optimizer = optimizer
        self._module = module if kind in _GHOST else None
        self._first_norm = float(optimizer.max_grad_norm)
        self._largest = 0.0

    def watch(self) -> None:
        """Note from now on at which norm each piece of a batch is clipped."""
        # The one method that is called for each of them, before noise is added.
        name = "accumulate" if type(self.optimizer) in _GHOST else "clip_and_accumulate"
        accumulate = getattr(self.optimizer, name)

        def noting() -> Any:
            self._largest = max(self._largest, self.norm())
            return accumulate()

        setattr(self.optimizer, name, noting)

    def norm(self) -> float:
        """The norm at which a gradient is clipped now."""
        kind = type(self.optimizer)
        if kind in _PER_LAYER:
            norms = torch.Tensor(self.optimizer.max_grad_norms)
            return float(torch.norm(norms, p=2).item())
        if kind in _GHOST:  # clipped by the module, before the optimizer's turn
            return float(getattr(self._module, "max_grad_norm", self._first_norm))
        return float(self.optimizer.max_grad_norm)

    def noise_multiplier(self) -> float:
        """The noise of the step being taken, in units of the largest norm that was clipped at."""
        if hasattr(self.optimizer, "_adjusted_noise_multiplier"):
            raise Unsupported(ADAPTIVE)
        clipped, self._largest = self._largest or self.norm(), 0.0
        scale = float(self.optimizer.max_grad_norm) / clipped if clipped else 1.0
        return float(self.optimizer.noise_multiplier) * scale

    @property
    def unfinished(self) -> bool:
        """Whether a batch that was split to fit memory still waits for its last piece."""
        return bool(self.optimizer._step_skip_queue) or self.optimizer._is_last_step_skipped

    def holds_over(self, ahead: int) -> bool:
        """Whether, as a batch is drawn, the next step has pieces of other batches in it.

        Pieces of a batch that is split to fit memory are announced as they are drawn, the last of
        each as such, at most so many ``ahead`` of the one that is trained on.
        """
        announced = self.optimizer._step_skip_queue
        skips = announced[-1] if announced else self.optimizer._is_last_step_skipped
        return len(announced) > ahead or bool(skips)

    @property
    def untold(self) -> bool:
        """Whether a step was taken whose noise nobody asked for."""
        return self._largest > 0 and not self.optimizer._is_last_step_skipped
