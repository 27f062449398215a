"""Linkability, inference and copies: what released records nearest to a target say of it.

A difference d, as a share of the column's range, counts d / (d + 0.03): small ones in proportion,
large ones hardly more than a category that differs. A record that agrees in most columns is then
nearer than one that is off in all, as memorised records are of which some columns were changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tellapart import deadline
from tellapart._checks import Array
from tellapart.audit.released_tables.aligned_tables import AlignedTables, Mask

# Distances held at once.
_AT_ONCE = 2_000_000
_EXACT = 1e-12
# The share of a column's range at which a difference counts half.
_HALF = 0.03


def copies(tables: AlignedTables, targets: Array) -> Mask:
    """Which targets stand in the release as they are."""
    return standing(targets, tables.released)


def standing(records: Array, table: Array) -> Mask:
    """Which records stand in a table as they are."""
    known = {row.tobytes() for row in _plain(table)}
    return np.array([row.tobytes() in known for row in _plain(records)], dtype=np.bool_)


# Told of each difference that was computed: targets times released records times columns.
Tell = Callable[[int], None]


def linked(
    tables: AlignedTables, targets: Array, parts: tuple[list[int], list[int]], tell: Tell
) -> Mask:
    """Which targets' two parts lead to one released record: the nearest to both of them."""
    hits = []
    for some in _chunks(tables, targets):
        first, second = (_nearest(tables, some, part, tell) for part in parts)
        hits.append((first & second).sum(axis=1) == 1)
    return np.concatenate(hits)


def inferred(
    tables: AlignedTables,
    targets: Array,
    secret: int,
    known: list[int],
    tolerance: float,
    tell: Tell,
) -> Mask:
    """Of which targets the nearest released record has the secret, up to a relative tolerance."""
    values = tables.released[:, secret]
    guesses = np.concatenate(
        [
            np.array([_commonest(values[row]) for row in _nearest(tables, some, known, tell)])
            for some in _chunks(tables, targets)
        ]
    )
    truth = targets[:, secret]
    if not tables.numeric[secret]:
        return np.asarray(guesses == truth)
    with np.errstate(all="ignore"):
        size = np.abs(truth + tables.offsets[secret])
        near = np.abs(guesses - truth) <= tolerance * size
    return np.asarray(near | (np.isnan(guesses) & np.isnan(truth)))


def _plain(rows: Array) -> Array:
    """Rows whose bytes are the same where their values are."""
    return np.ascontiguousarray(np.where(np.isnan(rows), np.nan, rows + 0.0))


def _chunks(tables: AlignedTables, targets: Array) -> Iterator[Array]:
    size = max(_AT_ONCE // len(tables.released), 1)
    for start in range(0, len(targets), size):
        deadline.check()
        yield targets[start : start + size]


def _nearest(tables: AlignedTables, targets: Array, columns: list[int], tell: Tell) -> Mask:
    """For each target, which released records are nearest to it in these columns."""
    away = np.zeros((len(targets), len(tables.released)))
    spans = tables.spans
    for column in columns:
        theirs, ours = targets[:, column, None], tables.released[None, :, column]
        if tables.numeric[column]:
            differences = np.minimum(np.abs(theirs - ours) / spans[column], 1.0)
            differences[np.isnan(differences)] = 1.0
            differences[np.isnan(theirs) & np.isnan(ours)] = 0.0
            away += differences / (differences + _HALF)
        else:
            away += theirs != ours
    tell(away.size * len(columns))
    return np.asarray(away <= away.min(axis=1, keepdims=True) + _EXACT)


def _commonest(values: Array) -> float:
    known, counts = np.unique(values, return_counts=True)
    return float(known[counts.argmax()])
