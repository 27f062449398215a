"""Small neural networks (logistic regression, MLP, CNN) as records: where each weight lies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from tellapart import _checks

Activation = Literal["relu", "tanh"]
Shape = tuple[int, ...]


class Architecture(ABC):
    """What all models of a fleet look like: the shapes of their weights, in order.

    The weights of one model are one vector: each tensor of `shapes`, row by row, in that order.
    """

    classes: int

    @property
    @abstractmethod
    def shapes(self) -> dict[str, Shape]:
        """The name and the shape of every tensor of weights."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers describe one example."""

    @property
    def parameters(self) -> int:
        """How many weights one model has."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def _layers(sizes: Sequence[int]) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for place, (into, out) in enumerate(pairwise(sizes), start=1):
        shapes[f"layer{place}.weight"] = (out, into)
        shapes[f"layer{place}.bias"] = (out,)
    return shapes


def _known(activation: str) -> None:
    if activation not in ("relu", "tanh"):
        _checks.refuse("activation", "be 'relu' or 'tanh'", activation)


@dataclass(frozen=True)
class LogisticRegression(Architecture):
    """Logistic regression: one layer, with a bias for each class.

    >>> LogisticRegression(inputs=64, classes=10).parameters
    650
    """

    inputs: int
    classes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _checks.whole(1, inputs=self.inputs))
        object.__setattr__(self, "classes", _checks.whole(2, classes=self.classes))

    @property
    def width(self) -> int:
        return self.inputs

    @property
    def shapes(self) -> dict[str, Shape]:
        return _layers((self.inputs, self.classes))


@dataclass(frozen=True)
class MLP(Architecture):
    """Fully connected layers with an activation between them.

    >>> MLP(inputs=64, hidden=(32,), classes=10).parameters
    2410
    """

    inputs: int
    hidden: tuple[int, ...] = (32,)
    classes: int = 2
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _checks.whole(1, inputs=self.inputs))
        object.__setattr__(self, "classes", _checks.whole(2, classes=self.classes))
        if not isinstance(self.hidden, Sequence) or not self.hidden:
            _checks.refuse("hidden", "list the size of at least one layer", self.hidden)
        object.__setattr__(
            self, "hidden", tuple(_checks.whole(1, hidden=width) for width in self.hidden)
        )
        _known(self.activation)

    @property
    def width(self) -> int:
        return self.inputs

    @property
    def shapes(self) -> dict[str, Shape]:
        return _layers((self.inputs, *self.hidden, self.classes))


@dataclass(frozen=True)
class CNN(Architecture):
    """Convolutions that halve the image, and a linear layer on what is left.

    ``inputs`` is (channels, height, width). Each convolution has an odd ``kernel``, keeps the size
    by zeros at the edge, and moves in steps of two.

    >>> CNN(inputs=(1, 8, 8), channels=(8,), classes=10).shapes["layer1.weight"]
    (10, 128)
    """

    inputs: tuple[int, int, int]
    channels: tuple[int, ...] = (8,)
    classes: int = 2
    kernel: int = 3
    activation: Activation = "relu"

    def __post_init__(self) -> None:
        if not isinstance(self.inputs, Sequence) or len(self.inputs) != 3:
            _checks.refuse("inputs", "be (channels, height, width)", self.inputs)
        if not isinstance(self.channels, Sequence) or not self.channels:
            _checks.refuse("channels", "list those of at least one convolution", self.channels)
        for field in ("inputs", "channels"):
            sizes = tuple(_checks.whole(1, **{field: size}) for size in getattr(self, field))
            object.__setattr__(self, field, sizes)
        object.__setattr__(self, "classes", _checks.whole(2, classes=self.classes))
        if _checks.whole(1, kernel=self.kernel) % 2 == 0:
            _checks.refuse("kernel", "be odd", self.kernel)
        _known(self.activation)

    @property
    def width(self) -> int:
        return math.prod(self.inputs)

    @property
    def shapes(self) -> dict[str, Shape]:
        into, height, width = self.inputs
        shapes: dict[str, Shape] = {}
        for place, out in enumerate(self.channels, start=1):
            shapes[f"conv{place}.weight"] = (out, into, self.kernel, self.kernel)
            shapes[f"conv{place}.bias"] = (out,)
            into, height, width = out, (height + 1) // 2, (width + 1) // 2
        return shapes | _layers((into * height * width, self.classes))


# Rows are padded, so that they start where fast kernels want them to.
_ALIGNED = 32


def padded(architecture: Architecture) -> int:
    """The length of a row: every weight of a model, and a few that nobody reads."""
    return -(-architecture.parameters // _ALIGNED) * _ALIGNED


def stacked(architecture: Architecture, flat: Any) -> dict[str, Any]:
    """The tensors of all models, as views of their rows."""
    views, start = {}, 0
    for name, shape in architecture.shapes.items():
        stop = start + math.prod(shape)
        views[name] = flat[:, start:stop].unflatten(1, shape)
        start = stop
    return views
