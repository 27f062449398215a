"""Laws between a low and a high vector: how their corners and their middle look."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart._checks import Array


def filled(low: Array, high: Array, order: Any) -> Array:
    """A corner: places get all they may have, in this order, until the mass is spent."""
    row, left = low.copy(), 1 - low.sum()
    for place in order:
        more = min(high[place] - low[place], max(left, 0.0))
        row[place], left = row[place] + more, left - more
    return np.asarray(row / row.sum())


def middle(low: Array, high: Array) -> Array:
    """In each row, the law that lies as far along from low to high in every place."""
    room = (high - low).sum(axis=-1, keepdims=True)
    share = np.divide(1 - low.sum(axis=-1, keepdims=True), room, out=room * 0, where=room > 0)
    rows = low + np.clip(share, 0.0, 1.0) * (high - low)
    return np.asarray(rows / rows.sum(axis=-1, keepdims=True))
