"""Per-example gradients checked: each record alone against the same record in its batch.

Clipping bounds what one record adds only if its gradient is its own. Layers that mix examples
(batch norm), layers whose per-example gradients are computed wrongly, and ghost clipping, which
never holds them, are tried here on a few batches of the training itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Steps 1, 2, 4, 8, ... are looked at, so many of them, and so many records of each.
_STEPS, _RECORDS = 6, 4
# How often a record is asked again: drop-out of few weights may draw the same twice.
_AGAIN = 4
# Kernels for one record and for many may round differently.
_TOLERANCE = 1e-3


class GradientCheck:
    """Looks at what goes into a model and comes out, and computes some gradients again."""

    def __init__(self, model: Any, optimizer: Any, parameters: list[Any]) -> None:
        self.remarks: list[str] = []
        self._model, self._optimizer, self._layers = model, optimizer, parameters
        self._calls = 0
        self._busy = False
        self._inputs: tuple[Any, ...] = ()
        self._output: Any = None
        self._slope: Any = None
        self._hook = model.register_forward_hook(self._forward)

    def remove(self) -> None:
        """Look no longer."""
        self._hook.remove()

    @property
    def _due(self) -> bool:
        at = self._calls + 1
        return at & (at - 1) == 0 and at < 2**_STEPS

    def _forward(self, module: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if self._busy or not self._due:
            return
        if not hasattr(output, "requires_grad"):
            self._remark("the model returns more than a tensor")
            return
        if not output.requires_grad:
            return
        self._inputs, self._output, self._slope = inputs, output.detach(), None
        output.register_hook(self._backward)

    def _backward(self, slope: Any) -> None:
        if self._slope is None and not self._busy:  # ghost clipping goes back twice
            self._slope = slope.detach().clone()

    def wrong(self, clip: float) -> str:
        """What is wrong with the gradients of this batch, in words; nothing where nothing is."""
        due, slope = self._due, self._slope
        self._calls += 1
        if not due or slope is None or not (slope.ndim and len(slope)):
            return ""
        if any(_random(module) for module in self._model.modules()):
            self._remark("dropout draws anew for each call")
            return ""
        if not self._inputs or not all(_has_rows(part, len(slope)) for part in self._inputs):
            self._remark("the model takes more than tensors with a row for each record")
            return ""
        with self._quiet():
            return self._compare(slope, clip)

    def _remark(self, why: str) -> None:
        said = f"Per-example gradients were not checked: {why}."
        if said not in self.remarks:
            self.remarks.append(said)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Leave random numbers, buffers and hooks as they are."""
        import torch

        kept = [(buffer, buffer.clone()) for buffer in self._model.buffers()]
        hooked = hasattr(self._model, "disable_hooks")
        self._busy = True
        if hooked:
            self._model.disable_hooks()
        try:
            with torch.random.fork_rng(), torch.enable_grad():
                yield
        finally:
            self._busy = False
            if hooked:
                self._model.enable_hooks()
            with torch.no_grad():
                for buffer, value in kept:
                    buffer.copy_(value)
            self._inputs, self._output, self._slope = (), None, None

    def _compare(self, slope: Any, clip: float) -> str:
        import torch

        held = [getattr(layer, "grad_sample", None) for layer in self._layers]
        ghost = any(rows is None for rows in held)
        many = len(slope)
        scale = many if self._optimizer.loss_reduction == "mean" else 1
        totals = [torch.zeros_like(layer) for layer in self._layers]
        for record in range(many if ghost else min(many, _RECORDS)):
            output, alone = self._alone(record, slope[record] * scale)
            if not math.isfinite(_norm([output, slope[record], *alone])):
                self._remark("outputs or gradients of a record are not numbers")
                return ""
            if _far(output, self._output[record], 1e-6):
                if self._draws_anew(record, slope[record], output):
                    self._remark("the model draws anew for each call")
                    return ""
                return "the output for a record depends on the others in its batch"
            norm = _norm(alone)
            if not ghost:
                own = [_last(rows)[record] for rows in held]
                away = _norm([a - b for a, b in zip(alone, own, strict=True)])
                if not away <= _TOLERANCE * max(norm, _TOLERANCE * clip):
                    return "the gradient of a record alone is not what it is in its batch"
            for total, part in zip(totals, alone, strict=True):
                total += part * min(1.0, clip / max(norm, 1e-300))
        if ghost:
            away = _norm([a - layer.grad for a, layer in zip(totals, self._layers, strict=True)])
            if not away <= _TOLERANCE * max(_norm(totals), clip):
                return "the sum of a batch is not that of its records' clipped gradients"
        return ""

    def _draws_anew(self, record: int, slope: Any, output: Any) -> bool:
        """Whether the same record has other outputs when it is asked again, by itself."""
        return any(_far(self._alone(record, slope)[0], output, 1e-6) for _ in range(_AGAIN))

    def _alone(self, record: int, slope: Any) -> tuple[Any, list[Any]]:
        """Output and gradient of one record: of two copies, as batch norm takes no single one."""
        import torch

        twice = [
            part[record : record + 1].detach().repeat_interleave(2, 0) for part in self._inputs
        ]
        output = self._model(*twice)
        slopes = torch.stack([slope, slope]) / 2
        gradients = torch.autograd.grad(output, self._layers, slopes, allow_unused=True)
        pairs = zip(self._layers, gradients, strict=True)
        return output[0].detach(), [torch.zeros_like(p) if g is None else g for p, g in pairs]


def _has_rows(part: Any, many: int) -> bool:
    """Whether an input is a tensor with so many rows."""
    return hasattr(part, "repeat_interleave") and part.ndim > 0 and len(part) == many


def _last(rows: Any) -> Any:
    return rows[-1] if isinstance(rows, list) else rows


def _random(module: Any) -> bool:
    from torch.nn.modules.dropout import _DropoutNd

    return isinstance(module, _DropoutNd) and module.training and module.p > 0


def _norm(parts: list[Any]) -> float:
    return math.sqrt(sum(float(part.double().square().sum()) for part in parts))


def _far(first: Any, other: Any, least: float) -> bool:
    """Whether two outputs differ by more than rounding; NaN differs from everything."""
    return not _norm([first - other]) <= _TOLERANCE * max(_norm([other]), least)
