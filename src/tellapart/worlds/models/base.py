"""What every data model answers: the law of a query given a secret, and the secret's prior."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart.errors import ImpossibleSecret as ImpossibleSecret
from tellapart.errors import Unsupported
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.models.queries import Query, weights_of
from tellapart.worlds.models.secrets import Predicate, RecordValue, Secret

Known = Mapping[int, float]
Mask = NDArray[np.bool_]


class FiniteModel(ABC):
    """A law of the records, each of which has finitely many values."""

    @property
    @abstractmethod
    def records(self) -> int:
        """How many records there are."""

    @abstractmethod
    def domain(self, record: int) -> Array:
        """The values that a record may have, likely or not."""

    @abstractmethod
    def law(self, query: Query, secret: Secret, known: Known | None = None) -> FiniteLaw:
        """The law of the true answer for someone told the secret and the known records."""

    @abstractmethod
    def prior(self, secret: Secret, known: Known | None = None) -> float:
        """How likely the secret is before any output, given the known records."""

    def log_prior(self, secret: Secret, known: Known | None = None) -> float:
        """The logarithm of the secret's prior, also where that is below the smallest double."""
        prior = self.prior(secret, known)
        return math.log(prior) if prior > 0 else -math.inf

    def secrets(self) -> list[RecordValue]:
        """Every value of every record, those of probability 0 among them."""
        return [
            RecordValue(record, float(value))
            for record in range(self.records)
            for value in self.domain(record)
        ]

    def laws(
        self, query: Query, known: Known | None = None
    ) -> Iterator[tuple[RecordValue, FiniteLaw | None]]:
        """The law of the true answer given each value of each record that is not known.

        Values of probability 0 come with no law.
        """
        for record in range(self.records):
            if record not in check_mapping(known):
                found = self.record_laws(query, record, known)
                for value, law in zip(self.domain(record).tolist(), found, strict=True):
                    yield RecordValue(record, value), law

    def record_laws(
        self, query: Query, record: int, known: Known | None = None
    ) -> list[FiniteLaw | None]:
        """The law of the true answer for each value of a record; None for impossible values."""
        return [
            self._law_or_none(query, RecordValue(record, value), known)
            for value in self.domain(self._index(record)).tolist()
        ]

    def _law_or_none(self, query: Query, secret: Secret, known: Known | None) -> FiniteLaw | None:
        try:
            return self.law(query, secret, known)
        except ImpossibleSecret:
            return None

    def _wanted(self, secret: Secret) -> tuple[int, Mask]:
        """The record a secret is about, and which of its values make it true."""
        _checks.instance(Secret, "RecordValue, RecordIn or Predicate", secret=secret)
        if isinstance(secret, Predicate):
            raise Unsupported(
                f"a Predicate needs every database listed, which {type(self).__name__} does not "
                "do; ask RecordValue or RecordIn, or describe the data by a JointTable"
            )
        record = self._index(secret.record)
        return record, self._places(record, secret.values)

    def _index(self, record: Any) -> int:
        return _checks.whole(0, self.records - 1, record=record)

    def _places(self, record: int, values: tuple[float, ...]) -> Mask:
        domain = self.domain(record)
        for value in values:
            if value not in domain:
                _checks.refuse("value", f"be one of {domain.tolist()}", value)
        return np.isin(domain, values)

    def _allowed(self, known: Known | None, secret: int | None = None) -> list[Mask]:
        sizes = [self.domain(one).size for one in range(self.records)]
        every = {size: np.ones(size, dtype=bool) for size in set(sizes)}
        allowed = [every[size] for size in sizes]
        for one, value in check_mapping(known).items():
            record = self._index(one)
            if record == secret:
                _checks.refuse("known", "leave out the record that the secret is about", known)
            allowed[record] = self._places(record, (_checks.finite(known=value),))
        return allowed


class SummedModel(FiniteModel):
    """A model that follows sums of its records without listing every database."""

    @abstractmethod
    def _joint(self, weights: Array, record: int, allowed: list[Mask]) -> tuple[Array, Array]:
        """Sums and, for each value of the record, the log-probabilities of value and sum.

        ``allowed`` says which values each record may still have; it is not conditioned on.
        """

    @abstractmethod
    def _log_shares(self, record: int, allowed: list[Mask]) -> Array:
        """The log-probability of each value of a record, together with what is allowed."""

    def law(self, query: Query, secret: Secret, known: Known | None = None) -> FiniteLaw:
        weights = weights_of(query, self.records)
        record, wanted = self._wanted(secret)
        sums, joint = self._joint(weights, record, self._allowed(known, record))
        chosen = logpoly.total(joint[wanted], axis=0)
        whole = float(logpoly.total(chosen))
        if whole == -np.inf:
            raise impossible(secret, known)
        return FiniteLaw(sums, chosen - whole)

    def laws(
        self, query: Query, known: Known | None = None
    ) -> Iterator[tuple[RecordValue, FiniteLaw | None]]:
        weights = weights_of(query, self.records)
        for record, (sums, joint) in enumerate(self._joints(weights, self._allowed(known))):
            check_known(float(joint.max()), known)
            if record in check_mapping(known):
                continue
            for value, law in zip(self.domain(record), _laws(sums, joint), strict=True):
                yield RecordValue(record, float(value)), law

    def _joints(self, weights: Array, allowed: list[Mask]) -> Iterator[tuple[Array, Array]]:
        """What ``_joint`` says of every record in turn."""
        for record in range(self.records):
            yield self._joint(weights, record, allowed)

    def record_laws(
        self, query: Query, record: int, known: Known | None = None
    ) -> list[FiniteLaw | None]:
        weights = weights_of(query, self.records)
        allowed = self._allowed(known, record)
        return _laws(*self._joint(weights, self._index(record), allowed))

    def prior(self, secret: Secret, known: Known | None = None) -> float:
        return math.exp(self.log_prior(secret, known))

    def log_prior(self, secret: Secret, known: Known | None = None) -> float:
        record, wanted = self._wanted(secret)
        shares = self._log_shares(record, self._allowed(known, record))
        every = check_known(float(logpoly.total(shares)), known)
        return min(float(logpoly.total(shares[wanted])) - every, 0.0)


def _laws(sums: Array, joint: Array) -> list[FiniteLaw | None]:
    """The law of a sum given each value of a record; None for a value of probability 0."""
    wholes = [float(logpoly.total(row)) for row in joint]
    return [
        FiniteLaw(sums, row - whole) if whole > -np.inf else None
        for row, whole in zip(joint, wholes, strict=True)
    ]


def check_mapping(known: Known | None) -> Known:
    """What is known, as a mapping that may be empty."""
    if known is None:
        return {}
    _checks.instance(Mapping, "a mapping of records to values", known=known)
    return known


def check_known(log_probability: float, known: Known | None) -> float:
    """The log-probability of what is known, which must be possible."""
    if log_probability == -np.inf:
        raise ImpossibleSecret(f"known must have positive probability, got {known!r}")
    return log_probability


def impossible(secret: Secret, known: Known | None) -> ImpossibleSecret:
    """What to raise where a secret cannot hold."""
    given = f" given {dict(known)!r}" if known else ""
    return ImpossibleSecret(f"secret must have positive probability{given}, got {secret!r}")


def check_table(name: str, rows: Any, shape: tuple[int, int] | None = None) -> Array:
    """Rows of probabilities, each with sum 1; the message names the first row that breaks it."""
    table = _checks.reals("be rows of probabilities", **{name: rows})
    if table.ndim != 2 or table.size == 0 or (shape is not None and table.shape != shape):
        wanted = "be rows of probabilities" if shape is None else f"have the shape {shape}"
        _checks.refuse(name, wanted, table.shape)
    checked = np.array([_checks.pmf(**{f"{name}[{i}]": row}) for i, row in enumerate(table)])
    checked.flags.writeable = False
    return checked


def check_values(size: int, **named: Any) -> Array:
    """Distinct values of a record, 0, 1, ... where none are given."""
    ((name, given),) = named.items()
    values = np.arange(float(size)) if given is None else np.array(_checks.vector(**named))
    if values.size != size:
        _checks.refuse(name, f"be {size} numbers, one for each probability", values.size)
    if np.unique(values).size != size:
        _checks.refuse(name, "differ from each other", given)
    values.flags.writeable = False
    return values


def check_law(**named: Any) -> Array:
    """Probabilities with sum 1, which stay as they are from now on."""
    law = np.array(_checks.pmf(**named))
    law.flags.writeable = False
    return law


def logs_of(probabilities: Array) -> Array:
    """Logarithms of probabilities, -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
