"""A Bayesian network that is a tree: each record depends on one other, as in families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.worlds.models.base import (
    Mask,
    SummedModel,
    check_law,
    check_table,
    check_values,
    logs_of,
)
from tellapart.worlds.models.grid import Grid, check_work, emitted, grid_of, product


@dataclass(frozen=True, eq=False)
class TreeNetwork(SummedModel):
    """People each of whom depends on one other: a tree-shaped Bayesian network.

    ``parent[i]`` is the record that record i depends on, -1 for the root. ``tables`` has, for
    each record, one row of probabilities for each value of its parent (anything for the root), or
    is one table that holds for all. Values are 0, 1, ... unless ``values`` gives each record's.

    >>> TreeNetwork([-1, 0, 0], [0.75, 0.25], [[0.9, 0.1], [0.3, 0.7]]).records
    3
    """

    parent: tuple[int, ...]
    root: Array
    tables: Any
    values: Sequence[Sequence[float]] | None = None
    _logs: tuple[Array, ...] = field(init=False, repr=False)
    _domains: tuple[Array, ...] = field(init=False, repr=False)
    _order: tuple[int, ...] = field(init=False, repr=False)
    _children: tuple[tuple[int, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        numbers = _checks.vector(parent=self.parent)
        parent = tuple(_checks.whole(-1, numbers.size - 1, parent=node) for node in numbers)
        children, order = _arranged(parent)
        root = check_law(root=self.root)
        logs = _log_tables(parent, order, root, self.tables)
        given = self.values if self.values is not None else [None] * len(parent)
        if len(given) != len(parent):
            _checks.refuse("values", f"be {len(parent)} lists, one for each record", len(given))
        domains = tuple(
            check_values(node.shape[1], **{f"values[{i}]": given[i]}) for i, node in enumerate(logs)
        )
        fields = {"parent": parent, "root": root, "_logs": logs, "_domains": domains}
        for name, value in {**fields, "_order": order, "_children": children}.items():
            object.__setattr__(self, name, value)

    @property
    def records(self) -> int:
        return len(self.parent)

    def domain(self, record: int) -> Array:
        return self._domains[record]

    def _joint(self, weights: Array, record: int, allowed: list[Mask]) -> tuple[Array, Array]:
        grid = grid_of(weights, list(self._domains))
        most = max(domain.size for domain in self._domains)
        check_work(most, self.records, grid.reach, "TreeNetwork")
        logs = self._around(record, grid, allowed)
        return grid.sums(logs.shape[1]), logs

    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        still = [np.zeros(domain.size, dtype=np.int64) for domain in self._domains]
        return self._around(record, Grid(0.0, 1.0, still), allowed)[:, 0]

    def _around(self, record: int, grid: Grid, allowed: list[Mask]) -> Array:
        """Logarithms of P(value of the record, sum of all), with the tree hung from the record."""
        messages: dict[int, Array] = {}
        for node in reversed(self._order):
            below = self._below(node, grid, allowed, messages)
            if node == record:
                own = below
            if self.parent[node] >= 0:
                messages[node] = logpoly.mix(below, self._logs[node].T)
        above = self._above(record, grid, allowed, messages)
        return np.array([logpoly.multiply(a, b) for a, b in zip(own, above, strict=True)])

    def _below(
        self, node: int, grid: Grid, allowed: list[Mask], messages: dict[int, Array], but: int = -1
    ) -> Array:
        """The sum of a node and of all that hangs from it, for each of the node's values."""
        from_children = [messages[child] for child in self._children[node] if child != but]
        size = self._domains[node].size
        rows = np.array(
            [product([child[value] for child in from_children]) for value in range(size)]
        )
        return emitted(rows, grid.steps[node], allowed[node])

    def _above(
        self, record: int, grid: Grid, allowed: list[Mask], messages: dict[int, Array]
    ) -> Array:
        """The sum of all that does not hang from the record, with the record's value."""
        path = [record]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        above = self._logs[path[-1]].T  # the root's law, before it adds anything
        for node, child in zip(path[:0:-1], path[-2::-1], strict=True):
            beside = self._below(node, grid, allowed, messages, but=child)
            rest = np.array([logpoly.multiply(a, b) for a, b in zip(above, beside, strict=True)])
            above = logpoly.mix(rest, self._logs[child])
        return above


def _arranged(parent: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Each node's children, and an order in which parents come first."""
    roots = [node for node, above in enumerate(parent) if above < 0]
    if len(roots) != 1:
        _checks.refuse("parent", "have exactly one root, marked -1", roots)
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent):
        if above >= 0:
            children[above].append(node)
    order = roots
    for node in order:  # grows as it is walked
        order.extend(children[node])
    if len(order) != len(parent):
        left = sorted(set(range(len(parent))) - set(order))
        _checks.refuse("parent", "lead every record to the root, with no circle", left)
    return tuple(tuple(nodes) for nodes in children), tuple(order)


def _log_tables(
    parent: tuple[int, ...], order: tuple[int, ...], root: Array, tables: Any
) -> tuple[Array, ...]:
    """Log-probabilities of each node given its parent; the root has one row."""
    shared = _shared(tables)
    if shared is None and len(tables) != len(parent):
        _checks.refuse("tables", f"be one table or {len(parent)}, one per record", len(tables))
    logs: list[Array] = [logs_of(root)[None]] * len(parent)
    for node in order[1:]:
        rows = logs[parent[node]].shape[1]
        name, given = (
            ("tables", shared) if shared is not None else (f"tables[{node}]", tables[node])
        )
        table = check_table(name, given)
        if table.shape[0] != rows:
            _checks.refuse(name, f"have {rows} rows, one for each value of its parent", table.shape)
        logs[node] = logs_of(table)
    return tuple(logs)


def _shared(tables: Any) -> Array | None:
    """The one table for all records, where one was given."""
    _checks.instance((Sequence, np.ndarray), "one table or a list of tables", tables=tables)
    try:
        array = np.asarray(tables)
    except ValueError:  # tables of different shapes
        return None
    return array if array.ndim == 2 and array.dtype.kind in "iuf" else None
