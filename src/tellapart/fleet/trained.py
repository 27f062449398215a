"""A fleet of trained models, and the scores (loss, logit) of a membership attack on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart.errors import Unsupported
from tellapart.fleet import _data
from tellapart.fleet.architectures import Architecture
from tellapart.fleet.recipes import Recipe

Kind = Literal["loss", "logit", "confidence"]
Numbers = NDArray[np.float32]

# Outputs held at once, 256 MB of them.
_AT_ONCE = 2**26


@dataclass(frozen=True, eq=False, repr=False)
class Fleet:
    """Trained models, one row of ``weights`` each, and what was seen of canaries.

    ``observed`` is models × steps × canaries: each step's noisy sum along a canary's direction.
    ``released`` is models × canaries: the same of all steps together, from the weights before and
    after. Both are in units of the clipping norm, so that a canary that takes part adds at most 1.
    """

    architecture: Architecture
    recipe: Recipe
    weights: Numbers
    observed: Numbers | None = None
    released: Numbers | None = None
    device: str = "cpu"

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"Fleet({len(self):,} models, {self.architecture!r}, {self.recipe!r})"

    @property
    def failed(self) -> NDArray[np.int64]:
        """The places of models whose weights are not numbers: training went wrong."""
        return np.flatnonzero(~np.isfinite(self.weights).all(axis=1))

    def model(self, place: int) -> dict[str, Numbers]:
        """The weights of one model, by name, as PyTorch shapes them."""
        row = self.weights[_checks.whole(0, len(self) - 1, place=place)]
        sizes = [int(np.prod(shape)) for shape in self.architecture.shapes.values()]
        parts = np.split(row, np.cumsum(sizes)[:-1])
        shapes = self.architecture.shapes.items()
        return {
            name: part.reshape(shape).copy()
            for (name, shape), part in zip(shapes, parts, strict=True)
        }

    def scores(self, X: ArrayLike, y: ArrayLike, kind: Kind = "loss") -> Numbers:
        """What each model says of each example: models × examples.

        ``loss`` is low, ``logit`` and ``confidence`` are high for examples a model knows well.
        The logit is log p / (1 - p) of the true label's probability p, without rounding p.
        """
        if kind not in ("loss", "logit", "confidence"):
            _checks.refuse("kind", "be 'loss', 'logit' or 'confidence'", kind)
        if self.recipe.loss == "squared_error" and kind != "loss":
            raise Unsupported("models trained by squared error have no probabilities: ask the loss")
        self._all_trained()
        inputs, targets = _data.examples(self.architecture, self.recipe.loss, X, y)
        return self._over_models(inputs, lambda given: _score(given, targets, kind))

    def accuracy(self, X: ArrayLike, y: ArrayLike) -> Numbers:
        """The share of examples that each model labels rightly."""
        self._all_trained()
        inputs, labels = _data.examples(self.architecture, "cross_entropy", X, y)
        right = self._over_models(inputs, lambda given: _right(given, labels))
        return np.asarray(right.mean(axis=1), dtype=np.float32)

    def _all_trained(self) -> None:
        if self.failed.size:
            which = ", ".join(map(str, self.failed[:5].tolist()))
            raise Unsupported(
                f"{self.failed.size} of {len(self)} models have no finite weights, first {which} "
                "(all of them in failed): train with a smaller learning_rate or smaller X"
            )

    def _over_models(self, inputs: Numbers, measure: Any) -> Numbers:
        from tellapart.fleet._gradients import outputs
        from tellapart.fleet._torch import torch
        from tellapart.fleet.architectures import stacked

        measured = np.empty((len(self), len(inputs)), dtype=np.float32)
        wide = max(self.architecture.width, *(s[0] for s in self.architecture.shapes.values()))
        at_once = max(1, _AT_ONCE // (len(inputs) * wide))
        x = torch.from_numpy(inputs).to(self.device)
        for first in range(0, len(self), at_once):
            part = torch.from_numpy(self.weights[first : first + at_once]).to(self.device)
            views = stacked(self.architecture, part)
            with torch.no_grad():
                given = outputs(self.architecture, views, x.expand(len(part), -1, -1))
                measured[first : first + at_once] = measure(given).cpu().numpy()
        return measured


def _score(given: Any, targets: NDArray[Any], kind: Kind) -> Any:
    """From models × classes × examples to one number for each model and example."""
    from tellapart.fleet._torch import torch

    wanted = torch.from_numpy(targets).to(given.device)
    if wanted.dtype.is_floating_point:
        return (given - wanted.T).square().sum(dim=1) / 2
    labels = wanted.expand(given.shape[0], 1, -1)
    own = given.gather(1, labels)[:, 0]
    if kind == "logit":
        return own - given.scatter(1, labels, -torch.inf).logsumexp(dim=1)
    loss = given.logsumexp(dim=1) - own
    return loss if kind == "loss" else loss.neg_().exp_()


def _right(given: Any, labels: NDArray[np.int64]) -> Any:
    from tellapart.fleet._torch import torch

    return given.argmax(dim=1) == torch.from_numpy(labels).to(given.device)
