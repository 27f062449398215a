"""Joint laws of a few records, such as a household's, fitted to data with confidence sets."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial
from tellapart._numeric.text import count_in_words
from tellapart.data import state_columns
from tellapart.errors import Unsupported
from tellapart.worlds.markov.sequences import check_named, counted_as, numbered
from tellapart.worlds.models.base import check_values
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.models.table_sets import TableSet

_SMOOTHING = 0.5
_MOST_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A joint law as data show it: counts, an estimate, and all laws that they leave possible.

    ``counts`` has one axis for each of ``columns``, along which its ``states`` run; ``values`` says
    what each state counts in a sum. Noise chosen for the estimate is too little about half the
    time; noise chosen for ``confidence_set`` is not, with the stated confidence.
    """

    columns: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    values: tuple[Array, ...]
    counts: NDArray[np.int64]
    confidence: float

    @property
    def coding(self) -> dict[str, dict[Any, float]]:
        """What each state of each column counts in a sum."""
        rows = zip(self.columns, self.states, self.values, strict=True)
        return {
            name: dict(zip(states, values.tolist(), strict=True)) for name, states, values in rows
        }

    @cached_property
    def model(self) -> JointTable:
        """The estimate: each count and 1/2, so that nothing is 0."""
        more = self.counts + _SMOOTHING
        return JointTable(self.values, more / more.sum())

    @property
    def unseen(self) -> tuple[tuple[Any, ...], ...]:
        """The combinations that the data do not show; only smoothing makes them possible."""
        cells = np.argwhere(self.counts == 0)
        return tuple(
            tuple(states[i] for states, i in zip(self.states, cell, strict=True)) for cell in cells
        )

    @cached_property
    def confidence_set(self) -> TableSet:
        """All joint laws that the data leave possible, with the stated confidence.

        Each cell has the interval of Clopper and Pearson at a level shared among all cells, so
        that all hold at once. They rest on rows being independent draws from one law, and on
        their number not depending on what they say.
        """
        cells = self.counts.size
        level = (1 - self.confidence) / (1 if cells == 2 else cells)
        rows, estimate = self.counts.sum(), self.model.probabilities
        low = np.minimum(binomial.lower_limit(self.counts, rows, level / 2), estimate)
        high = np.maximum(binomial.upper_limit(self.counts, rows, level / 2), estimate)
        return TableSet(self.values, low, high, self.confidence)


def fit_table(
    data: Any,
    columns: Sequence[str],
    *,
    states: Mapping[str, Sequence[Any]] | None = None,
    confidence: float = 0.95,
    values: Mapping[str, Any] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
) -> FittedTable:
    """Learn from data how the records of one family or household are correlated.

    Each row of ``data`` is one such group, a draw of the whole database, and each of ``columns``
    one of its records. ``data`` is a pandas, Polars or Arrow table, a dict of columns, or the path
    of CSV or Parquet files (extra ``files``). States of a column are numbered in rising or
    alphabetical order, or as ``states[column]`` lists them. ``values`` says what each counts, in
    all columns alike, as ``{"well": 0, "sick": 1}``, or by column, as ``{"she": {"well": 0,
    "sick": 2}}``; by default a number counts as itself, and text as its place, 0, 1, .... A row
    with a missing entry is refused, or left out with ``missing="drop"``: right only if what is
    missing is left to chance.

    >>> fitted = fit_table({"she": [0, 1, 1, 0], "he": [0, 1, 1, 1]}, ["she", "he"])
    >>> fitted.counts.tolist()
    [[1, 1], [0, 2]]
    """
    confidence = _checks.inside_unit(confidence=confidence)
    names = _check_names(columns)
    read = _complete(state_columns.read(data, names), missing)
    listed = _by_column(names, states)
    known, places = [], []
    for name, rows in zip(names, read, strict=True):
        own, numbers = numbered([rows], listed.get(name), what=name)
        known.append(own)
        places.append(numbers[0])
    shape = tuple(len(states) for states in known)
    if math.prod(shape) > _MOST_CELLS:
        raise Unsupported(
            f"{count_in_words(math.prod(shape))} combinations are too many to fit a table to, at "
            f"most {_MOST_CELLS} are; take fewer columns or group their states"
        )
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(places), 1)
    counts.flags.writeable = False
    counted = _counted(dict(zip(names, known, strict=True)), values)
    return FittedTable(names, tuple(known), counted, counts, confidence)


def _by_column(names: tuple[str, ...], states: Any) -> Mapping[str, Any]:
    if states is None:
        return {}
    _checks.instance(Mapping, "a mapping of columns to their states", states=states)
    check_named(names, states, "states", "columns")
    return dict(states)


def _counted(known: dict[str, tuple[Any, ...]], values: Any) -> tuple[Array, ...]:
    """What the states of each column count, as said for all alike, by column, or not at all."""
    if values is None:
        values = {}
    _checks.instance(Mapping, "a mapping of states or of columns", values=values)
    flat = [isinstance(state, numbers.Real) for state in values.values()]
    if any(flat):
        if not all(flat):
            _checks.refuse("values", "be of states only, or of columns only", dict(values))
        check_named(dict.fromkeys(itertools.chain(*known.values())), values, "values")
        by_column = {
            name: {state: values[state] for state in own if state in values}
            for name, own in known.items()
        }
    else:
        check_named(known, values, "values", "columns")
        by_column = dict(values)
    return tuple(
        check_values(len(own), **{said: counted_as(own, by_column.get(name), said)})
        for name, own in known.items()
        for said in [f"values[{name!r}]"]
    )


def _check_names(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        _checks.refuse("columns", "be a list of names", columns)
    names = tuple(columns)
    if not names or len(set(names)) != len(names):
        _checks.refuse("columns", "be one or more names that differ", columns)
    return names


def _complete(read: list[state_columns.Labels], missing: str) -> list[list[Any]]:
    """The columns without the rows in which something is missing."""
    if missing not in ("refuse", "drop"):
        _checks.refuse("missing", "be 'refuse' or 'drop'", missing)
    if missing == "refuse":
        return [column.whole() for column in read]
    rows = [row for row in zip(*(column.rows for column in read), strict=True) if None not in row]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in read]
