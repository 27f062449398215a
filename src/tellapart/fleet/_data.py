"""Training examples, labels and who is a member of which training set, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.fleet.architectures import Architecture
from tellapart.fleet.canaries import Canaries

# Squares of norms must be numbers of 32 bits, or what is clipped is not as long as told.
_FURTHEST = 1e9


def examples(
    architecture: Architecture, loss: str, X: ArrayLike, y: ArrayLike
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Rows of numbers, and their labels or numbers to be reached."""
    given = _checks.reals("be rows of numbers", X=X)
    if given.ndim < 2 or not len(given) or given[0].size != architecture.width:
        _checks.refuse("X", f"have rows of {architecture.width} numbers", given.shape)
    if not np.isfinite(given).all():
        _checks.refuse("X", "be finite", "an infinite number")
    if np.abs(given).max() > _FURTHEST:
        _checks.refuse("X", f"lie within ±{short(_FURTHEST)}: scale it", float(np.abs(given).max()))
    inputs = np.ascontiguousarray(given.reshape(len(given), -1), dtype=np.float32)
    targets = np.asarray(y)
    if loss == "squared_error" and targets.ndim == 2:
        wanted = _checks.reals("be numbers", y=y)
        if wanted.shape != (len(inputs), architecture.classes):
            rule = f"have {len(inputs)} rows of {architecture.classes} numbers"
            _checks.refuse("y", rule, wanted.shape)
        if not np.abs(wanted).max() <= _FURTHEST:
            _checks.refuse(
                "y", f"lie within ±{short(_FURTHEST)}: scale it", float(np.abs(wanted).max())
            )
        return inputs, np.ascontiguousarray(wanted, dtype=np.float32)
    labels = _labels(architecture, len(inputs), targets)
    if loss == "squared_error":
        return inputs, np.eye(architecture.classes, dtype=np.float32)[labels]
    return inputs, labels


def _labels(architecture: Architecture, count: int, y: NDArray[Any]) -> NDArray[np.int64]:
    if y.shape != (count,) or y.dtype.kind not in "iub":
        _checks.refuse("y", f"be {count} whole numbers, one for each row of X", y)
    if y.size and not (y.min() >= 0 and y.max() < architecture.classes):
        _checks.refuse("y", f"lie in 0 to {architecture.classes - 1}", y)
    return y.astype(np.int64)


def models_of(
    models: int | range | None,
    inclusion: ArrayLike | None,
    canaries: Canaries | None,
    count: int,
) -> tuple[range, NDArray[np.bool_] | None]:
    """The numbers of the models, and who is in the training set of each."""
    inside = None
    if canaries is not None:
        _checks.instance(Canaries, "fleet.Canaries", canaries=canaries)
    if inclusion is not None:
        inside = np.asarray(inclusion)
        if inside.dtype != np.bool_ or inside.ndim != 2 or inside.shape[1] != count:
            rule = f"be True or False for each model and each of {count} rows of X"
            _checks.refuse("inclusion", rule, inclusion)
    rows = [] if inside is None else [len(inside)]
    rows += [] if canaries is None else [len(canaries.inclusion)]
    if isinstance(models, range):
        if models.step != 1 or models.start < 0 or not len(models):
            _checks.refuse("models", "be a number, or a range of numbers one after another", models)
        numbers = models
    elif models is not None:
        numbers = range(_checks.whole(1, 2**31, models=models))
    elif rows:
        numbers = range(rows[0])
    else:
        _checks.refuse("models", "be given where inclusion is not", None)
    if any(count != len(numbers) or count == 0 for count in rows):
        _checks.refuse("inclusion", f"have a row for each of {len(numbers)} models", rows)
    return numbers, inside


def check_start(architecture: Architecture, start: dict[str, Any]) -> None:
    """Weights for every tensor of the architecture, of its shape."""
    _checks.instance(dict, "weights by name, as Fleet.model gives them", start=start)
    shapes = {name: np.shape(array) for name, array in start.items()}
    if shapes != architecture.shapes:
        _checks.refuse("start", f"have tensors of shapes {architecture.shapes}", shapes)
