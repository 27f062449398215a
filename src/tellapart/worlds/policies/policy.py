"""A Blowfish policy: domain, secret graph, constraints; neighbours, histograms and sensitivity."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import count_in_words, too_many
from tellapart.errors import Unsupported
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.policies.constraints import Constraint, Database, check_constraint, meeting
from tellapart.worlds.policies.secret_graphs import (
    AttributeGraph,
    DistanceGraph,
    Graph,
    PartitionGraph,
    Value,
    named_values,
)

Places = NDArray[np.int64]
Bits = NDArray[np.uint64]


def minimal_neighbours(databases: Places, edges: NDArray[np.bool_]) -> Places:
    """Pairs of rows of ``databases``, of which the second is a neighbour of the first."""
    neighbours = []
    for place, here in enumerate(databases):
        along = edges[here, databases]
        beside = (databases != here) & ~along
        others = np.flatnonzero(along.any(axis=1))
        secret = _bits(databases[others], along[others], len(edges))
        rest = _bits(databases[others], beside[others], len(edges))
        chosen = _neighbours(secret, rest)
        neighbours.append(np.stack([np.full(chosen.size, place), others[chosen]], axis=1))
    return np.concatenate(neighbours)


def _neighbours(secret: Bits, rest: Bits) -> Places:
    """Those with the fewest changes along edges and, among equals of these, with fewest others."""
    least = _minimal(secret)
    if not rest[least].any():  # no two of them are equal
        return np.sort(least)
    order = np.lexsort(secret[least].T)
    least = least[order]
    new = (secret[least][1:] != secret[least][:-1]).any(axis=1)
    groups = np.split(least, np.flatnonzero(new) + 1)
    kept = [group if group.size == 1 else group[_minimal(rest[group])] for group in groups]
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


MOST_VALUES = 2**10
MOST_DATABASES = 2**18
MOST_CONSTRAINED = 2**11
MOST_PAIRS = 2**20


@dataclass(frozen=True)
class Sensitivity:
    """How far neighbours' answers are apart at most, in all coordinates together, and where.

    ``pair`` is None where the policy has no neighbours, so that nothing needs noise.
    """

    value: float
    pair: tuple[Database, Database] | None


@dataclass(frozen=True, eq=False)
class Policy:
    """What a data holder promises: which values of a record nobody shall tell apart.

    ``domain`` has the values of a record, numbers or tuples of attributes; ``constraints`` are
    what everyone knows: KnownCount, KnownMarginal or any function that says of a database
    whether it is possible.

    >>> from tellapart.worlds.policies import CumulativeHistogram, DistanceGraph
    >>> Policy(range(5), DistanceGraph(2), records=2).sensitivity(CumulativeHistogram()).value
    2.0

    See Also
    --------
    tellapart.worlds.frameworks.blowfish : what a release tells under a policy
    """

    domain: tuple[Value, ...]
    graph: Graph
    records: int
    constraints: tuple[Constraint, ...] = ()

    def __post_init__(self) -> None:
        domain = _check_domain(self.domain)
        _checks.instance(Graph, "a secret graph such as CompleteGraph()", graph=self.graph)
        _check_graph(self.graph, domain)
        _checks.instance(Sequence, "a list", constraints=self.constraints)
        for constraint in self.constraints:
            check_constraint(constraint, domain)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "records", _checks.whole(1, records=self.records))
        object.__setattr__(self, "constraints", tuple(self.constraints))

    def edges(self) -> list[tuple[Value, Value]]:
        """The pairs of values that nobody shall tell apart."""
        places = np.argwhere(np.triu(self._edges)).tolist()
        return [(self.domain[a], self.domain[b]) for a, b in places]

    def distance(self, one: Value, other: Value) -> float:
        """How many edges lie between two values; ε grows with it. Infinite between components."""
        for value in (one, other):
            if value not in self.domain:
                _checks.refuse("value", "be in the domain", value)
        return float(self._distances[self.domain.index(one), self.domain.index(other)])

    def pairs(self, record: int) -> list[tuple[RecordValue, RecordValue]]:
        """The secrets of one record along edges, to be asked of a data model."""
        record = _checks.whole(0, self.records - 1, record=record)
        if isinstance(self.domain[0], tuple):
            raise Unsupported(
                "data models have numbers for values; number the tuples of the domain and give "
                "the policy's edges between these numbers as an EdgeGraph"
            )
        return [(RecordValue(record, a), RecordValue(record, b)) for a, b in self.edges()]

    def databases(self) -> list[Database]:
        """Every database that agrees with the constraints."""
        return [self._database(row) for row in self._possible.tolist()]

    def neighbours(self) -> list[tuple[Database, Database]]:
        """The pairs of databases that outputs must not tell apart, in both orders where both are.

        Without constraints one record moves along an edge. With constraints, pairs are minimal as
        in Definition 4.1 of He, Machanavajjhala and Ding (2014).
        """
        if self.constraints:
            rows = self._possible
            return [
                (self._database(rows[a]), self._database(rows[b]))
                for a, b in self._neighbours.tolist()
            ]
        moves = int(self._edges.sum())
        count = self.records * moves * len(self.domain) ** (self.records - 1)
        if count > MOST_PAIRS:
            raise Unsupported(
                f"{count_in_words(count)} pairs of neighbours are too many to list, at most "
                f"{MOST_PAIRS} are; ask for the sensitivity of a query, which needs no list"
            )
        return [
            (database, (*database[:record], self.domain[to], *database[record + 1 :]))
            for database in self.databases()
            for record in range(self.records)
            for to in np.flatnonzero(self._edges[self.domain.index(database[record])])
        ]

    def sensitivity(self, query: PolicyQuery) -> Sensitivity:
        """How far apart the answers of neighbours are at most, with neighbours that are.

        ``query`` is Sum(), Linear(weights), Histogram(), CumulativeHistogram() or a function of
        a database with one number or several. Exact. Queries that add up record by record need
        no list of databases, unless there are constraints.
        """
        if self.constraints:
            return self._over(query, self._possible, self._neighbours)
        if not self._edges.any():
            return Sensitivity(0.0, None)
        if additive(query):
            return self._of_moves(query)
        return self._over(query, self._possible, self._moves())

    def _of_moves(self, query: PolicyQuery) -> Sensitivity:
        added = contributions(query, self.domain)
        weights = np.abs(_weights(query, self.records))
        places = np.argwhere(np.triu(self._edges))
        changes = np.array([np.abs(added[a] - added[b]).sum() for a, b in places])
        record, place = int(np.argmax(weights)), int(np.argmax(changes))
        pair = []
        for value in places[place]:
            row = [0] * self.records
            row[record] = int(value)
            pair.append(self._database(row))
        return Sensitivity(float(weights[record] * changes[place]), (pair[0], pair[1]))

    def _over(
        self, query: PolicyQuery, rows: NDArray[np.int64], pairs: NDArray[np.int64]
    ) -> Sensitivity:
        answers = _answers(query, self.domain, rows)
        if not len(pairs):
            return Sensitivity(0.0, None)
        changes = np.zeros(len(pairs))
        for column in answers.T:
            changes += np.abs(column[pairs[:, 0]] - column[pairs[:, 1]])
        best = int(np.argmax(changes))
        first, other = (self._database(rows[i]) for i in pairs[best])
        return Sensitivity(float(changes[best]), (first, other))

    def _moves(self) -> NDArray[np.int64]:
        """Pairs of databases, by their places in the full list, of which one record moves."""
        size = len(self.domain)
        every = np.arange(size**self.records).reshape((size,) * self.records)
        pairs = []
        for a, b in np.argwhere(np.triu(self._edges)):
            for record in range(self.records):
                first, other = every.take(a, axis=record), every.take(b, axis=record)
                pairs.append(np.stack([first.ravel(), other.ravel()], axis=1))
        return np.concatenate(pairs)

    def _database(self, row: Any) -> Database:
        return tuple(self.domain[int(i)] for i in row)

    @cached_property
    def _edges(self) -> NDArray[np.bool_]:
        edges = np.zeros((len(self.domain),) * 2, dtype=bool)
        for (a, first), (b, other) in itertools.combinations(enumerate(self.domain), 2):
            edges[a, b] = edges[b, a] = self.graph.edge(first, other)
        return edges

    @cached_property
    def _distances(self) -> NDArray[np.float64]:
        return np.asarray(shortest_path(self._edges, unweighted=True, directed=False))

    @cached_property
    def _possible(self) -> NDArray[np.int64]:
        many = too_many(len(self.domain), self.records, MOST_DATABASES)
        if many:
            raise Unsupported(
                f"{many} databases are too many to list, at most {MOST_DATABASES} "
                "are; ask fewer "
                "records or coarser values, or a query that adds up record by record, without "
                "constraints"
            )
        shape = (len(self.domain),) * self.records
        every = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), axis=1)
        possible = meeting(self.constraints, self.domain, every)
        if not len(possible):
            _checks.refuse("constraints", "leave some database", self.constraints)
        return possible

    @cached_property
    def _neighbours(self) -> NDArray[np.int64]:
        size = len(self._possible)
        if size > MOST_CONSTRAINED:
            raise Unsupported(
                f"neighbours among {count_in_words(size)} databases take too long to find, at most "
                f"{MOST_CONSTRAINED} are compared, as there is no fast way in general; ask fewer "
                "records or coarser values, or a policy without constraints"
            )
        return minimal_neighbours(self._possible, self._edges)


def _check_domain(domain: Any) -> tuple[Value, ...]:
    if isinstance(domain, str) or not isinstance(domain, (Sequence, np.ndarray)):
        _checks.refuse("domain", "be a list of numbers or of tuples", domain)
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in domain)
    if not values:
        _checks.refuse("domain", "not be empty", domain)
    if len(values) > MOST_VALUES:
        raise Unsupported(
            f"a domain of {len(values)} values is too large for a policy, at most {MOST_VALUES} "
            "are; use coarser values"
        )
    if isinstance(values[0], tuple):
        if any(not isinstance(value, tuple) or len(value) != len(values[0]) for value in values):
            _checks.refuse("domain", "be tuples of one length, or numbers", domain)
        if not all(isinstance(part, Hashable) for value in values for part in value):
            _checks.refuse("domain", "have numbers or words for attributes", domain)
    else:
        for value in values:
            _checks.finite(domain=value)
    if len(set(values)) < len(values):
        _checks.refuse("domain", "have no value twice", domain)
    return values


def _check_graph(graph: Graph, domain: tuple[Value, ...]) -> None:
    for value in named_values(graph):
        if value not in domain:
            _checks.refuse("graph", "have values of the domain only", value)
    if isinstance(graph, PartitionGraph) and len(named_values(graph)) < len(domain):
        left = [value for value in domain if value not in named_values(graph)]
        _checks.refuse("graph", "have a cell for every value of the domain", left)
    if isinstance(graph, AttributeGraph) and not isinstance(domain[0], tuple):
        _checks.refuse("domain", "be tuples of attributes for an AttributeGraph", domain[0])
    if isinstance(graph, DistanceGraph) and isinstance(domain[0], tuple):
        for value in domain:
            if not all(isinstance(part, Real) for part in value):
                _checks.refuse("domain", "have numbers for attributes for a distance", value)


@dataclass(frozen=True)
class Histogram:
    """How many records have each value of the domain.

    >>> from tellapart.worlds import policies
    >>> policy = policies.Policy(range(100), policies.DistanceGraph(1), records=10)
    >>> policy.sensitivity(policies.Histogram()).value
    2.0
    """


@dataclass(frozen=True)
class CumulativeHistogram:
    """How many records are at most each value of the domain, whose values are numbers.

    >>> from tellapart.worlds import policies
    >>> policy = policies.Policy(range(100), policies.DistanceGraph(1), records=10)
    >>> policy.sensitivity(policies.CumulativeHistogram()).value
    1.0
    """


PolicyQuery = Sum | Linear | Histogram | CumulativeHistogram | Callable[[tuple[Value, ...]], Any]


def additive(query: PolicyQuery) -> bool:
    """Whether records add to the answer one by one, so that a move alone says what changes."""
    return isinstance(query, Sum | Linear | Histogram | CumulativeHistogram)


def contributions(query: PolicyQuery, domain: tuple[Value, ...]) -> Array:
    """What a record of each value adds to the answer, one row for each value."""
    if isinstance(query, Histogram):
        return np.eye(len(domain))
    numbers = _numbers(domain)
    if isinstance(query, CumulativeHistogram):
        return np.asarray(numbers[:, None] <= np.sort(numbers), dtype=np.float64)
    return numbers[:, None]


def _weights(query: PolicyQuery, records: int) -> Array:
    """How much each record counts in an additive query."""
    return weights_of(query, records) if isinstance(query, Sum | Linear) else np.ones(records)


def _answers(query: PolicyQuery, domain: tuple[Value, ...], databases: NDArray[np.int64]) -> Array:
    """The answer on each database, given as a row of places in the domain; a row for each."""
    if additive(query):
        added = contributions(query, domain)
        counted = _weights(query, databases.shape[1])
        sums = np.zeros((len(databases), added.shape[1]))
        for record, weight in enumerate(counted):
            sums += weight * added[databases[:, record]]
        return sums
    if not callable(query):
        rule = "be Sum(), Linear(weights), Histogram(), CumulativeHistogram() or a function"
        _checks.refuse("query", rule, query)
    rows = [np.ravel(query(tuple(domain[i] for i in row))) for row in databases.tolist()]
    if len({row.size for row in rows}) > 1:
        _checks.refuse("query", "answer with as many numbers everywhere", [r.size for r in rows])
    sums = _checks.reals("answer with numbers", query=rows)
    if not np.all(np.isfinite(sums)):
        _checks.refuse("query", "have finite answers", float(sums[~np.isfinite(sums)][0]))
    return sums


def _numbers(domain: tuple[Value, ...]) -> Array:
    if isinstance(domain[0], tuple):
        _checks.refuse("domain", "be numbers for a sum of records or of counts", domain[0])
    return np.array(domain, dtype=np.float64)
