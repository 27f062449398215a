"""Data sets of any make: how many examples there are, and subsets of them."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks

Index = NDArray[np.intp]


def size(data: Any) -> int:
    """How many examples there are; a whole number stands for that many, known by their places."""
    if isinstance(data, numbers.Real):
        return _checks.whole(1, 2**40, data=data)
    if isinstance(data, tuple):
        sizes = [_length(part) for part in data]
        if not sizes or len(set(sizes)) > 1:
            _checks.refuse("data", "be a tuple of columns of one length", sizes)
        return _positive(sizes[0])
    return _positive(_length(data))


def take(data: Any, index: Index) -> Any:
    """The examples at these places, in the make of the data.

    A tuple, as (X, y), is taken column by column; a PyTorch data set becomes a Subset; a whole
    number gives the places themselves.
    """
    if isinstance(data, numbers.Real):
        return index
    if isinstance(data, tuple):
        return tuple(take(part, index) for part in data)
    if hasattr(data, "iloc"):
        return data.iloc[index]
    if hasattr(data, "shape"):
        return data[index]
    if _is_torch_data(data):
        from torch.utils.data import Subset

        return Subset(data, index.tolist())
    return [data[place] for place in index.tolist()]


def _length(data: Any) -> int:
    shape = getattr(data, "shape", None)
    if shape is not None and len(shape):
        return int(shape[0])
    indexed = hasattr(data, "__len__") and hasattr(data, "__getitem__") and shape is None
    if not indexed or isinstance(data, Mapping | str | bytes):
        rule = "be indexed examples: arrays, a tuple of them, a list, a frame, or their number"
        _checks.refuse("data", rule, data)
    return len(data)


def _positive(count: int) -> int:
    if count == 0:
        _checks.refuse("data", "not be empty", count)
    return count


def _is_torch_data(data: Any) -> bool:
    torch = sys.modules.get("torch.utils.data")
    return torch is not None and isinstance(data, torch.Dataset)
