"""The weights of many models as one matrix, and views of it as stacked tensors."""

from __future__ import annotations

import math
from typing import Any

from tellapart.fleet.architectures import Architecture

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
