"""Secret graphs of Blowfish policies: which two values of a record must not be told apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tellapart import _checks

Value = Any  # a number or a tuple of attributes


@dataclass(frozen=True)
class CompleteGraph:
    """Any two values of a record are a secret, as in differential privacy.

    >>> from tellapart.worlds import Sum, policies
    >>> policies.Policy(range(100), policies.CompleteGraph(), records=10).sensitivity(Sum()).value
    99.0
    """

    def edge(self, one: Value, other: Value) -> bool:
        """Whether these two different values are a secret."""
        return True


@dataclass(frozen=True)
class AttributeGraph:
    """Two values are a secret if they differ in one attribute only; values are tuples.

    >>> from tellapart.worlds import policies
    >>> people = [(age, sex) for age in (0, 1, 2) for sex in (0, 1)]
    >>> policy = policies.Policy(people, policies.AttributeGraph(), records=10)
    >>> policy.sensitivity(policies.Histogram()).value
    2.0
    """

    def edge(self, one: Value, other: Value) -> bool:
        """Whether these two different values are a secret."""
        differing = [a != b for a, b in zip(one, other, strict=True)]
        return differing.count(True) == 1


@dataclass(frozen=True)
class PartitionGraph:
    """Two values are a secret if they lie in one cell; which cell may be told.

    >>> PartitionGraph([[0, 1], [2, 3]]).edge(1, 2)
    False
    """

    cells: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        _checks.instance(Iterable, "lists of values", cells=self.cells)
        given = list(self.cells)
        for cell in given:
            _checks.instance(Iterable, "lists of values", cells=cell)
        cells = tuple(tuple(cell) for cell in given)
        every = [value for cell in cells for value in cell]
        if len(set(every)) < len(every):
            _checks.refuse("cells", "not share values", given)
        object.__setattr__(self, "cells", cells)

    def edge(self, one: Value, other: Value) -> bool:
        """Whether these two different values are a secret."""
        return any(one in cell and other in cell for cell in self.cells)


@dataclass(frozen=True)
class DistanceGraph:
    """Two values are a secret if they are at most this far apart, in all attributes together.

    >>> DistanceGraph(2).edge((0, 0), (1, 1))
    True
    """

    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.at_least_zero(threshold=self.threshold))

    def edge(self, one: Value, other: Value) -> bool:
        """Whether these two different values are a secret."""
        if not isinstance(one, tuple):
            return bool(abs(one - other) <= self.threshold)
        return bool(sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= self.threshold)


@dataclass(frozen=True)
class EdgeGraph:
    """Exactly these pairs of values are secrets.

    >>> EdgeGraph([(0, 1)]).edge(1, 0)
    True
    """

    edges: frozenset[frozenset[Value]]

    def __post_init__(self) -> None:
        _checks.instance(Iterable, "pairs of values", edges=self.edges)
        given = list(self.edges)  # once: an iterator has nothing to say the second time
        for edge in given:
            _checks.instance(Iterable, "pairs of values", edges=edge)
        edges = [frozenset(edge) for edge in given]
        if any(len(edge) != 2 for edge in edges):
            _checks.refuse("edges", "be pairs of different values", given)
        object.__setattr__(self, "edges", frozenset(edges))

    def edge(self, one: Value, other: Value) -> bool:
        """Whether these two different values are a secret."""
        return frozenset((one, other)) in self.edges


Graph = CompleteGraph | AttributeGraph | PartitionGraph | DistanceGraph | EdgeGraph


def named_values(graph: Graph) -> set[Value]:
    """The values that a graph speaks of by name; a policy's domain must have them all."""
    if isinstance(graph, PartitionGraph):
        return {value for cell in graph.cells for value in cell}
    return (
        {value for edge in graph.edges for value in edge} if isinstance(graph, EdgeGraph) else set()
    )
