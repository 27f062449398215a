"""Neighbours under constraints: Definition 4.1 of He, Machanavajjhala and Ding (2014).

From one database, another makes changes along edges, which are secrets, and others. It is a
neighbour if no third database makes some but not all of its changes along edges, nor the same
ones with fewer others. A set of changes is a row of bits, one for each record and new value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Bits = NDArray[np.uint64]


def minimal_neighbours(databases: Places, edges: NDArray[np.bool_]) -> Places:
    """Pairs of rows of ``databases``, of which the second is a neighbour of the first."""
    found = []
    for place, here in enumerate(databases):
        along = edges[here, databases]
        beside = (databases != here) & ~along
        others = np.flatnonzero(along.any(axis=1))
        secret = _bits(databases[others], along[others], len(edges))
        rest = _bits(databases[others], beside[others], len(edges))
        chosen = _neighbours(secret, rest)
        found.append(np.stack([np.full(chosen.size, place), others[chosen]], axis=1))
    return np.concatenate(found)


def _neighbours(secret: Bits, rest: Bits) -> Places:
    """Those with the fewest changes along edges and, among equals of these, with fewest others."""
    least = _minimal(secret)
    if not rest[least].any():  # no two of them are equal
        return np.sort(least)
    order = np.lexsort(secret[least].T)
    least = least[order]
    new = (secret[least][1:] != secret[least][:-1]).any(axis=1)
    groups = np.split(least, np.flatnonzero(new) + 1)
    kept = [one if one.size == 1 else one[_minimal(rest[one])] for one in groups]
    return np.sort(np.concatenate(kept))


def _minimal(sets: Bits) -> Places:
    """The sets that have no smaller one inside them."""
    sizes = np.bitwise_count(sets).sum(axis=1)
    least = np.empty(0, dtype=np.int64)
    for size in np.unique(sizes):
        here = np.flatnonzero(sizes == size)
        inside = np.ones((least.size, here.size), dtype=bool)
        for smaller, larger in zip(sets[least].T, sets[here].T, strict=True):
            inside &= (smaller[:, None] & ~larger) == 0
        least = np.concatenate([least, here[~inside.any(axis=0)]])
    return least


def _bits(values: Places, chosen: NDArray[np.bool_], size: int) -> Bits:
    """One bit for each record and value, set where the change is chosen."""
    rows, records = values.shape
    flags = np.zeros((rows, records, size), dtype=bool)
    row, record = np.nonzero(chosen)
    flags[row, record, values[row, record]] = True
    packed = np.packbits(flags.reshape(rows, records * size), axis=1)
    padded = np.zeros((rows, -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
