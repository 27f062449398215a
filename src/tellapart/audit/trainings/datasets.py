"""Data sets of any make: how many examples, some of them, and whether it is the same data."""

from __future__ import annotations

import hashlib
import numbers
import sys
from collections.abc import Mapping, Sequence
from datetime import date
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


def fingerprint(data: Any) -> str:
    """A short name for the data: others have another, up to what cannot be read without calling.

    Objects that are neither arrays, frames, nor made of lists and plain values count by their
    type and length alone.
    """
    told = hashlib.sha256()
    _feed(told, data)
    return told.hexdigest()[:32]


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


def _feed(told: Any, data: Any) -> None:
    if hasattr(data, "tensors"):  # PyTorch's TensorDataset
        data = data.tensors
    if hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    if isinstance(data, np.ndarray) and data.dtype.kind != "O":
        told.update(f"array {data.dtype.str} {data.shape}".encode())
        told.update(np.ascontiguousarray(data).tobytes())
    elif isinstance(data, str | bytes | numbers.Number | range | date | None):
        told.update(f"{type(data).__name__} {data!r};".encode())
    elif isinstance(data, np.ndarray):
        _feed(told, data.tolist())
    elif isinstance(data, set | frozenset):  # in no order of their own
        _feed(told, sorted(fingerprint(one) for one in data))
    elif isinstance(data, Sequence):
        told.update(f"{type(data).__name__} {len(data)}".encode())
        for one in data:
            _feed(told, one)
    elif isinstance(data, dict):
        _feed(told, list(data.items()))
    elif hasattr(data, "columns") and hasattr(data, "to_numpy"):
        for name in data.columns:
            _feed(told, name)
            _feed(told, data[name].to_numpy())
    elif hasattr(data, "tocoo"):  # SciPy's sparse matrices
        entries = data.tocoo()
        _feed(told, [data.shape, entries.row, entries.col, entries.data])
    elif hasattr(data, "to_numpy"):
        _feed(told, data.to_numpy())
    else:
        kind = type(data)
        length = len(data) if hasattr(data, "__len__") else 0
        told.update(f"{kind.__module__}.{kind.__qualname__} {length}".encode())
