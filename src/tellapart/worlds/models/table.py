"""A joint probability table: every database listed with its probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import (
    FiniteModel,
    Known,
    Mask,
    check_known,
    check_values,
    impossible,
    logs_of,
)
from tellapart.worlds.models.laws import FiniteLaw, VectorLaw
from tellapart.worlds.models.queries import Linear, Query, Sum, Vector, weights_of
from tellapart.worlds.models.secrets import Predicate, Secret

MOST_CELLS = 2**24
Function = Callable[[tuple[float, ...]], float]


@dataclass(frozen=True, eq=False)
class JointTable(FiniteModel):
    """Any dependence whatever, written out for every list of records.

    ``probabilities`` has one axis for each record, along which its ``values`` run.

    >>> JointTable([[0, 1], [0, 1]], [[0.4, 0.1], [0.1, 0.4]]).records
    2
    """

    values: tuple[Array, ...]
    probabilities: Array

    def __post_init__(self) -> None:
        table = _checks.reals("be an array of probabilities", probabilities=self.probabilities)
        _check_cells(table.shape)
        if len(self.values) != table.ndim or table.ndim == 0:
            _checks.refuse("values", f"be {table.ndim} lists, one for each axis", self.values)
        domains = [
            check_values(size, **{f"values[{i}]": given})
            for i, (size, given) in enumerate(zip(table.shape, self.values, strict=True))
        ]
        flat = _checks.pmf(probabilities=table.ravel()).reshape(table.shape)
        flat.flags.writeable = False
        object.__setattr__(self, "values", tuple(domains))
        object.__setattr__(self, "probabilities", flat)

    @classmethod
    def of(cls, databases: Mapping[Sequence[float], float]) -> Self:
        """From lists of records and their probabilities; a list left out has probability 0."""
        _checks.instance(Mapping, "a mapping of records to probability", databases=databases)
        lengths = {len(database) for database in databases}
        if len(lengths) != 1 or 0 in lengths:
            _checks.refuse("databases", "all have the same number of records", sorted(lengths))
        domains = [
            np.unique(_checks.vector(records=database)) for database in zip(*databases, strict=True)
        ]
        _check_cells(tuple(domain.size for domain in domains))
        table = np.zeros([domain.size for domain in domains])
        for records, probability in databases.items():
            place = [np.searchsorted(d, x) for d, x in zip(domains, records, strict=True)]
            table[tuple(place)] = _checks.probability(probability=probability)
        return cls(tuple(domains), table)

    @property
    def records(self) -> int:
        return len(self.values)

    def domain(self, record: int) -> Array:
        return self.values[record]

    @overload
    def law(
        self, query: Query | Function, secret: Secret, known: Known | None = None
    ) -> FiniteLaw: ...
    @overload
    def law(self, query: Vector, secret: Secret, known: Known | None = None) -> VectorLaw: ...
    def law(
        self, query: Query | Function | Vector, secret: Secret, known: Known | None = None
    ) -> FiniteLaw | VectorLaw:
        """The law of the true answer for someone told the secret and the known records.

        ``query`` may be any function of the tuple of records, or a `Vector` of several.
        """
        possible, logs = self._possible(secret, known)
        if isinstance(query, Vector):
            columns = [self._answers(part, possible) for part in query.queries]
            return VectorLaw(np.stack(columns, axis=1), logs)
        return FiniteLaw.gathered(self._answers(query, possible), logs)

    def _possible(self, secret: Secret, known: Known | None) -> tuple[Any, Array]:
        """Places of the databases that are possible given all this, and their log-weights."""
        held = self._where(secret, known)
        chosen = np.where(held, self.probabilities, 0.0)
        if not chosen.any():
            raise impossible(secret, known)
        possible = np.flatnonzero(chosen)
        logs = np.log(chosen.ravel()[possible])
        return possible, logs - float(logpoly.total(logs))

    def prior(self, secret: Secret, known: Known | None = None) -> float:
        whole = math.fsum(self.probabilities[self._held(known)].ravel())
        check_known(float(logs_of(np.asarray(whole))), known)
        return min(math.fsum(self.probabilities[self._where(secret, known)].ravel()) / whole, 1.0)

    def _held(self, known: Known | None, secret: int | None = None) -> Mask:
        """The databases that agree with what is known."""
        held = np.ones(self.probabilities.shape, dtype=bool)
        for record, mask in enumerate(self._allowed(known, secret)):
            held &= self._along(record, mask)
        return held

    def _where(self, secret: Secret, known: Known | None) -> Mask:
        """The databases in which the secret holds and the known records are as known."""
        if not isinstance(secret, Predicate):
            record, wanted = self._wanted(secret)
            return np.asarray(self._held(known, record) & self._along(record, wanted))
        held = self._held(known)
        # A predicate is asked of possible databases only: of others it may have nothing to say.
        places = np.flatnonzero(held & (self.probabilities > 0))
        holds = np.zeros(held.size, dtype=bool)
        holds[places] = [bool(secret.function(database)) for database in self._databases(places)]
        return holds.reshape(held.shape)

    def _along(self, record: int, mask: Any) -> Any:
        shape = [1] * self.records
        shape[record] = -1
        return mask.reshape(shape)

    def _answers(self, query: Query | Function, places: Any) -> Array:
        if isinstance(query, Sum | Linear):
            weights = weights_of(query, self.records)
            sums = np.zeros(self.probabilities.shape)
            for record, weight in enumerate(weights):
                sums = sums + self._along(record, weight * self.values[record])
            return np.asarray(sums.ravel()[places])
        if not callable(query):
            _checks.refuse("query", "be Sum(), Linear(weights) or a function of records", query)
        answers = [query(database) for database in self._databases(places)]
        return np.array([_checks.finite(answer=answer) for answer in answers])

    def _databases(self, places: Any) -> list[tuple[float, ...]]:
        indices = np.unravel_index(places, self.probabilities.shape)
        columns = [self.values[i][index].tolist() for i, index in enumerate(indices)]
        return list(zip(*columns, strict=True))


def _check_cells(shape: tuple[int, ...]) -> None:
    size = math.prod(shape)
    if size > MOST_CELLS:
        raise Unsupported(
            f"a table of {count_in_words(size)} databases is too large to list, at most "
            f"{MOST_CELLS} are; "
            "describe the data by Independent, Exchangeable, MarkovChain or TreeNetwork"
        )
