"""Observed sequences of states, read from lists, arrays and tables."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tellapart import _checks
from tellapart.data import state_columns
from tellapart.data.columns import from_zero
from tellapart.errors import InvalidArgument, Unsupported

Missing = Literal["refuse", "split"]
_MOST_STATES = 64


def gathered(
    data: Any, column: str | None, by: str | None, order: str | None, missing: Missing
) -> list[list[Any]]:
    """One list of labels for each stretch without gaps."""
    if missing not in ("refuse", "split"):
        _checks.refuse("missing", "be 'refuse' or 'split'", missing)
    if column is not None:
        return _of_table(data, column, by, order, missing)
    for name, given in (("by", by), ("order", order)):
        if given is not None:
            _checks.refuse("column", f"be given together with {name}", None)
    if isinstance(data, str | os.PathLike | Mapping) or hasattr(data, "columns"):
        _checks.refuse("column", "name the column that holds the states of this table", None)
    return [
        part for name, states in _lists(data) for part in _parts(name, states, from_zero, missing)
    ]


def _lists(data: Any) -> list[tuple[str, list[Any]]]:
    """The rows of a matrix, the sequences of a list, or the one sequence that was given."""
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return [(f"data[{i}]", state_columns.plain(row)) for i, row in enumerate(data)]
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        _checks.refuse("data", "be a sequence of states, a list of them or a table", data)
    items = state_columns.plain(data)
    nested = [isinstance(item, list | tuple | np.ndarray) for item in items]
    if not any(nested):
        return [("data", items)]
    if not all(nested):
        _checks.refuse("data", "hold sequences only, or states only", items[nested.index(False)])
    return [(f"data[{i}]", state_columns.plain(item)) for i, item in enumerate(items)]


def _of_table(
    data: Any, column: str, by: str | None, order: str | None, missing: Missing
) -> list[list[Any]]:
    wanted = [name for name in (column, by, order) if name is not None]
    read = dict(zip(wanted, state_columns.read(data, wanted), strict=True))
    states = read[column]
    owners = read[by].whole() if by is not None else [None] * len(states.rows)
    times = read[order].whole() if order is not None else list(range(len(states.rows)))
    groups: dict[Any, list[int]] = {}
    for row, owner in enumerate(owners):
        groups.setdefault(owner, []).append(row)
    sequences: list[list[Any]] = []
    for rows in groups.values():
        ordered = _in_order(order, rows, times, states.place)
        ordered_states = [states.rows[row] for row in ordered]
        places = _moved(states.place, ordered)
        sequences += _parts(column, ordered_states, places, missing)
    return sequences


def _moved(place: Callable[[int], str], rows: list[int]) -> Callable[[int], str]:
    return lambda row: place(rows[row])


def _in_order(
    order: str | None, rows: list[int], times: list[Any], place: Callable[[int], str]
) -> list[int]:
    try:
        ordered = sorted(rows, key=lambda row: times[row])
    except TypeError:
        raise InvalidArgument(f"{order} must hold values that have an order") from None
    for before, two in itertools.pairwise(ordered):
        if times[before] == times[two]:
            where = place(two)
            raise InvalidArgument(f"{order} must differ within one sequence, repeats {where}")
    return ordered


def _parts(
    name: str, states: list[Any], place: Callable[[int], str], missing: Missing
) -> list[list[Any]]:
    """The stretches between gaps; without gaps, all of it."""
    parts: list[list[Any]] = [[]]
    for row, state in enumerate(states):
        if state is not None:
            parts[-1].append(state)
        elif missing == "split":
            parts.append([])
        else:
            raise InvalidArgument(
                f"{name} must not be missing, got None {place(row)}; missing='split' starts a "
                "new sequence there"
            )
    return [part for part in parts if part]


def numbered(
    sequences: list[list[Any]], states: Sequence[Any] | None, what: str = "data"
) -> tuple[tuple[Any, ...], list[Any]]:
    """All states in order, and each sequence as their places in it."""
    for state in itertools.chain.from_iterable(sequences):
        if not isinstance(state, Hashable):
            _checks.refuse(what, "hold labels such as numbers or text", state)
    seen = {state for part in sequences for state in part}
    known = _sorted(seen, what) if states is None else _given(states, seen)
    if len(known) < 2:
        _checks.refuse(what, "show at least 2 states (or name more in states)", list(known))
    places = {state: i for i, state in enumerate(known)}
    return known, [
        np.array([places[state] for state in part], dtype=np.int64) for part in sequences
    ]


def _sorted(seen: set[Any], what: str) -> tuple[Any, ...]:
    if len(seen) > _MOST_STATES:
        raise Unsupported(
            f"{what} has {len(seen)} different states, too many to fit a model to; group numbers "
            f"into at most {_MOST_STATES} classes, or name the states"
        )
    try:
        return tuple(sorted(seen))
    except TypeError:
        kinds = sorted({type(state).__name__ for state in seen})
        _checks.refuse(what, "hold states of one kind (or name them in states)", kinds)


def _given(states: Sequence[Any], seen: set[Any]) -> tuple[Any, ...]:
    known = tuple(state_columns.plain(states))
    if len(set(known)) != len(known):
        _checks.refuse("states", "differ from each other", states)
    for state in sorted(seen - set(known), key=str):
        _checks.refuse("states", "name every state in the data", state)
    return known


def counted_as(states: tuple[Any, ...], values: Any, name: str = "values") -> Any:
    """What each state counts: given, the number that it is, or its place in the order."""
    if isinstance(values, Mapping):
        check_named(states, values, name)
        for state in states:
            if state not in values:
                rule = f"say what every state counts: {list(states)}"
                _checks.refuse(name, rule, dict(values))
        return np.array(
            [_checks.finite(**{f"{name}[{state!r}]": values[state]}) for state in states]
        )
    if values is not None:
        return values
    if all(isinstance(state, bool | int | float) for state in states):
        return np.array([float(state) for state in states])
    return np.arange(float(len(states)))


def check_named(
    known: Iterable[Any], given: Iterable[Any], name: str, what: str = "states"
) -> None:
    """Refuse a name that nothing has, as it may be misspelt."""
    listed = list(known)
    for label in given:
        if label not in listed:
            _checks.refuse(name, f"name only {what} that are there: {listed}", label)
