"""Singling out (Cohen and Nissim 2020): descriptions made from the release that fit one person.

Descriptions are made from the release alone: a value that one released record has, or a box around
one with a quarter of the room that its neighbours leave. A person is singled out if one of them
fits this person and nobody else, original records and control together. Who that is does not depend
on who is in which of the two, so that for a release that is independent of both the number of
original records among those singled out is hypergeometric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tellapart._checks import Array
from tellapart.audit.released_tables.aligned_tables import AlignedTables, Mask

# Of the way to the nearest other released record, how far a description reaches.
_REACH = 0.25
# How far at most, as a share of the release's records, where no other is in the way.
_FURTHEST = 0.05
# What a description says of one column: at least, at most; NaN means a missing value.
Clause = tuple[int, float, float]


def singled_out(pool: Array, descriptions: Iterable[list[Clause]]) -> Mask:
    """Who of the pool is the only one that some description fits."""
    matching = np.zeros(len(pool), dtype=np.bool_)
    for description in descriptions:
        fits = np.ones(len(pool), dtype=np.bool_)
        for column, low, high in description:
            values = pool[:, column]
            fits &= np.isnan(values) if np.isnan(low) else (values >= low) & (values <= high)
        (who,) = np.nonzero(fits)
        if who.size == 1:
            matching[who] = True
    return matching


def univariate(tables: AlignedTables, attacks: int, rng: np.random.Generator) -> Mask:
    """Who is singled out by one column: a value that one released record has, or an extreme."""
    every = [
        clause for column in range(len(tables.columns)) for clause in _of_column(tables, column)
    ]
    chosen = rng.permutation(len(every))[:attacks]
    return singled_out(tables.pool, ([every[k]] for k in chosen))


def multivariate(
    tables: AlignedTables, attacks: int, columns: int, rng: np.random.Generator
) -> Mask:
    """Who is singled out by so many columns of a released record, drawn anew for each."""
    released, pool = (_ranked(tables, rows) for rows in (tables.released, tables.pool))
    released = np.unique(np.where(np.isnan(released), -1.0, released), axis=0)
    pool = np.where(np.isnan(pool), -1.0, pool)
    return singled_out(pool, _boxes(released, tables.numeric, attacks, columns, rng))


def _of_column(tables: AlignedTables, column: int) -> Iterator[Clause]:
    values = tables.released[:, column]
    missing = np.isnan(values)
    if missing.sum() == 1:
        yield column, np.nan, np.nan
    known, counts = np.unique(values[~missing], return_counts=True)
    if not known.size:
        return
    if tables.numeric[column]:
        yield column, -np.inf, float(known[0])
        yield column, float(known[-1]), np.inf
    yield from ((column, value, value) for value in known[counts == 1].tolist())


def _ranked(tables: AlignedTables, rows: Array) -> Array:
    """Numbers by their rank in the release, from 0 to 1; categories as they are."""
    made = rows.copy()
    for column in np.flatnonzero(tables.numeric):
        known = np.sort(tables.released[:, column][~np.isnan(tables.released[:, column])])
        values = rows[:, column]
        below, up_to = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
        made[:, column] = (below + up_to) / (2 * max(known.size, 1))
        made[np.isnan(values), column] = np.nan
    return made


def _boxes(
    released: Array, numeric: Mask, attacks: int, columns: int, rng: np.random.Generator
) -> Iterator[list[Clause]]:
    """Boxes around released records that no other is in, of random columns."""
    for k in range(attacks):
        if k % len(released) == 0:
            order = rng.permutation(len(released))
        own = released[order[k % len(released)]]
        chosen = rng.choice(numeric.size, min(columns, numeric.size), replace=False)
        measured = chosen[numeric[chosen] & (own[chosen] >= 0)]
        named = np.setdiff1d(chosen, measured)
        alike = released[(released[:, named] == own[named]).all(axis=1)]
        away = np.abs(alike[:, measured] - own[measured]).max(axis=1, initial=0.0)
        if np.count_nonzero(away == 0) > 1:
            continue  # another released record says the same
        near = away[away > 0].min(initial=_FURTHEST / _REACH)
        reach = _REACH * near
        yield [
            *((int(column), float(own[column]), float(own[column])) for column in named),
            *((int(c), float(own[c] - reach), float(own[c] + reach)) for c in measured),
        ]
