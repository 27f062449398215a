"""Pufferfish ε of every record by itself, each law worked out once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric.text import count_in_words, short
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.databases import domains_of
from tellapart.worlds.frameworks.result import Side
from tellapart.worlds.frameworks.secret_pairs import (
    asked,
    check_length,
    finite,
    known_values,
    laws_of,
    nothing_to_tell,
    witness_of,
)
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.record_epsilons import ChainBounds, agree
from tellapart.worlds.models.base import FiniteModel, Known
from tellapart.worlds.models.exchangeable import Exchangeable
from tellapart.worlds.models.grid import grid_of, on_grid
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.pairs.finite_outputs import furthest_of
from tellapart.worlds.releases import Channel, Releases
from tellapart.worlds.secret_test import Model, Witness

# Laws of sums that take some ten seconds; measured on chains and trees of 300 records.
MOST_WORK = 2**28
_ONE_LAW, _FEW = 2**30, 2**22
_NAME_SOME = "name some by records=[...] (for Laplace noise on a chain all are bounded at once)"


class _WorstOfRecord(NamedTuple):
    """Of one record: what is told, None where it has one possible value, and what it lacks."""

    witness: Witness | None
    skipped: tuple[Secret, ...]


@dataclass(frozen=True, eq=False)
class ByRecord:
    """How much an output tells of each of ``records``, in the units of ε.

    ``exact`` marks true values; the others are upper bounds. NaN stands for records that have
    one possible value only, of which there is nothing to tell.
    """

    records: tuple[int, ...]
    epsilons: Array
    exact: NDArray[np.bool_]
    witness: Witness
    skipped: tuple[Secret, ...]

    @property
    def worst(self) -> float:
        """The most that is told of any of these records."""
        return float(np.nanmax(self.epsilons))

    @property
    def side(self) -> Side:
        """Whether the worst is the truth or an upper bound."""
        return Side.EXACT if self.exact[int(np.nanargmax(self.epsilons))] else Side.AT_MOST

    @classmethod
    def largest(cls, results: Sequence[ByRecord]) -> ByRecord:
        """For each record the model that tells most of it."""
        if any(result.records != results[0].records for result in results):
            _checks.refuse("models", "all have the same records", [len(x.records) for x in results])
        table = np.array([result.epsilons for result in results])
        model = np.where(np.isnan(table), -np.inf, table).argmax(axis=0)
        places = (model, np.arange(table.shape[1]))
        return cls(
            results[0].records,
            table[places],
            np.array([result.exact for result in results])[places],
            max((result.witness for result in results), key=lambda witness: witness.log_ratio),
            tuple(dict.fromkeys(secret for result in results for secret in result.skipped)),
        )


def of_records(
    given: Model,
    query: Any,
    release: Releases,
    known: Known | None,
    records: Sequence[int] | None,
    every: bool = False,
) -> ByRecord:
    """What is told of these records; with ``every`` of each one, else of the worst at least."""
    model = finite(given)
    check_length(model)
    records = asked(model, records, known)
    if (
        isinstance(model, MarkovChain)
        and isinstance(release, Laplace)
        and isinstance(query, Sum | Linear)
        and not known
    ):
        return _of_chain(ChainBounds(model, query, release.scale), records, every)
    return _of_laws(model, query, release, known, records)


def _of_chain(bounds: ChainBounds, records: Sequence[int], every: bool) -> ByRecord:
    """By bounds from both sides, and by laws of sums where they leave room."""
    chosen = np.array(records)
    lower, upper = bounds.lower[chosen], bounds.upper[chosen]
    if np.isnan(lower).all():
        raise nothing_to_tell(records)
    work = _chain_work(bounds)
    apart = int(np.sum(~agree(upper, lower) & ~np.isnan(lower)))
    if apart and apart * work > _FEW:
        upper = bounds.windows[chosen]
    exact = np.isnan(lower) | agree(upper, lower)
    best = bounds.witness(int(chosen[np.nanargmax(lower)]))
    scans = most = int(MOST_WORK / work) or int(work <= _ONE_LAW)
    while scans:
        deadline.check()
        left = np.flatnonzero(~exact & (every | ~agree(upper, best.log_ratio)))
        if left.size == 0 or (left.size > scans and (every or scans < most)):
            break  # nothing is left open, or too much; the first law may settle all
        place = int(left[upper[left].argmax()])
        worst_of = _of_one(bounds.chain, bounds.query, Laplace(bounds.scale), None, records[place])
        if worst_of.witness is not None:
            upper[place] = worst_of.witness.log_ratio
            best = max(best, worst_of.witness, key=lambda witness: witness.log_ratio)
        exact[place], scans = True, scans - 1
    worst = int(np.nanargmax(upper))
    if not every or best.likelier.record == records[worst]:
        exact[worst] |= agree(upper[worst], best.log_ratio)
    wanted = set(records)
    skipped = tuple(secret for secret in bounds.chain.impossible if secret.record in wanted)
    return ByRecord(tuple(records), upper, exact, best, skipped)


def _chain_work(bounds: ChainBounds) -> float:
    """Steps for the laws of one record; endless where sums are on no grid."""
    chain = bounds.chain
    weights = weights_of(bounds.query, chain.records)
    domain = chain.domain(0)
    if not on_grid(np.multiply.outer(weights, domain)):
        return np.inf
    return float(_work(chain, grid_of(weights, [domain] * chain.records).reach + 1))


def _work(model: FiniteModel, atoms: int) -> int:
    return model.records * atoms * model.domain(0).size ** 2


def _of_laws(
    model: FiniteModel, query: Any, release: Releases, known: Known | None, records: Sequence[int]
) -> ByRecord:
    kinds = alike(model, query, known, records)
    check_affordable(model, query, len(kinds), _NAME_SOME)
    by_record: dict[int, _WorstOfRecord] = {}
    for kind in kinds:
        first = _of_one(model, query, release, known, kind[0])
        by_record |= {record: _moved(first, record) for record in kind}
    witnesses = [by_record[record].witness for record in records]
    attained = [witness for witness in witnesses if witness is not None]
    if not attained:
        raise nothing_to_tell(records)
    return ByRecord(
        tuple(records),
        np.array([np.nan if witness is None else witness.log_ratio for witness in witnesses]),
        np.ones(len(records), dtype=bool),
        max(attained, key=lambda witness: witness.log_ratio),
        tuple(secret for record in records for secret in by_record[record].skipped),
    )


def alike(
    model: FiniteModel, query: Any, known: Known | None, records: Sequence[int]
) -> list[list[int]]:
    """Records of which the same is told, together."""
    kinds: dict[Hashable, list[int]] = {}
    for record in records:
        kinds.setdefault(_kind(model, query, known, record), []).append(record)
    return list(kinds.values())


def laws_by_kind(
    model: FiniteModel, query: Any, records: Sequence[int], route: str
) -> Iterator[tuple[list[int], list[tuple[RecordValue, Any]]]]:
    """Records that are alike, with the values of the first and the law of the answer given each."""
    check_length(model)
    kinds = alike(model, query, None, records)
    check_affordable(model, query, len(kinds), route)
    if len(kinds) == model.records:  # all laws at once take less than one by one
        for record, secrets in groupby(model.laws(query), key=lambda pair: pair[0].record):
            yield [record], list(secrets)
        return
    for kind in kinds:
        values = [RecordValue(kind[0], value) for value in model.domain(kind[0]).tolist()]
        yield kind, list(zip(values, model.record_laws(query, kind[0]), strict=True))


def _kind(model: FiniteModel, query: Any, known: Known | None, record: int) -> Hashable:
    """What two records share of which the same is told."""
    if known or not isinstance(query, Sum | Linear):
        return record
    weight = float(weights_of(query, model.records)[record])
    if isinstance(model, Exchangeable):
        return weight
    if isinstance(model, Independent):
        return weight, model.marginals[record].tobytes(), model.domain(record).tobytes()
    return record


def _moved(worst: _WorstOfRecord, record: int) -> _WorstOfRecord:
    """The same of another record that is alike."""
    seen = worst.witness
    if seen is not None and seen.likelier.record != record:
        first, other = (RecordValue(record, part.value) for part in (seen.likelier, seen.other))
        seen = Witness(first, other, seen.output, seen.log_ratio, seen.known)
    skipped = tuple(RecordValue(record, secret.value) for secret in worst.skipped)  # type: ignore[union-attr]
    return _WorstOfRecord(seen, skipped)


def _of_one(
    model: FiniteModel, query: Any, release: Releases, known: Known | None, record: int
) -> _WorstOfRecord:
    laws = dict(
        zip(model.domain(record).tolist(), laws_of(model, query, record, known), strict=True)
    )
    skipped = tuple(RecordValue(record, value) for value, law in laws.items() if law is None)
    possible = [(RecordValue(record, value), law) for value, law in laws.items() if law is not None]
    if known and not possible:
        model.prior(RecordValue(record, model.domain(record)[0]), known)  # says why
    if len(possible) < 2:
        return _WorstOfRecord(None, skipped)
    laws_listed = [law for _, law in possible if isinstance(law, FiniteLaw)]
    if isinstance(release, Laplace | Channel) and len(laws_listed) == len(possible):
        apart = furthest_of(laws_listed, release)
        first, other = possible[apart.likelier][0], possible[apart.other][0]
        return _WorstOfRecord(
            Witness(first, other, apart.output, apart.log_ratio, known_values(known)), skipped
        )
    seen = [
        witness_of(first, other, h1, h0, release, known)
        for (first, h1), (other, h0) in combinations(possible, 2)
    ]
    return _WorstOfRecord(max(seen, key=lambda witness: witness.log_ratio), skipped)


def laws_work(model: FiniteModel, query: Any, asked: int) -> int:
    """How many steps the laws of a sum take for so many records; 0 where there is no telling."""
    if isinstance(model, JointTable) or asked == 1 or not isinstance(query, Sum | Linear):
        return 0
    weights, domains = weights_of(query, model.records), domains_of(model)
    kinds = {(weight, id(domain)): domain for weight, domain in zip(weights, domains, strict=True)}
    if not all(on_grid(weight * domain) for (weight, _), domain in kinds.items()):
        return 0
    return asked * _work(model, grid_of(weights, domains).reach + 1)


def check_affordable(model: FiniteModel, query: Any, asked: int, route: str) -> None:
    """Refuse what would take minutes, with what can be asked instead."""
    work = laws_work(model, query, asked)
    if work > MOST_WORK:
        raise Unsupported(
            f"laws of this sum for {asked} records take {count_in_words(work)} steps, more than "
            f"{short(MOST_WORK, 2)}; {route}"
        )
