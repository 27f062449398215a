"""Neighbouring databases of a small domain, listed with their answers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import count_in_words, too_many
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.releases import Channel, Release
from tellapart.worlds.secret_test import Witness

MOST_DATABASES = 2**20
MOST_TABLED = 2**12
_MOST_COMPARED = 2**27
Mask = NDArray[np.bool_]


def domains_of(model: FiniteModel) -> list[Array]:
    """The values of every record, likely or not."""
    if isinstance(model, MarkovChain):
        return [model.domain(0)] * model.length
    return [model.domain(record) for record in range(model.records)]


def _too_many(model: FiniteModel, most: int) -> str | None:
    """How many databases there are, likely or not, in words; None where at most so many."""
    if isinstance(model, MarkovChain):
        return too_many(model.domain(0).size, model.length, most)
    # Records by their number of values: a product of a million factors would take minutes.
    sizes = Counter(domain.size for domain in domains_of(model))
    size = math.prod(size**times for size, times in sizes.items())
    return count_in_words(size) if size > most else None


def answers_of(model: FiniteModel, query: Any) -> Array:
    """The true answer for every list of values, along one axis for each record."""
    many = _too_many(model, MOST_DATABASES)
    if many:
        raise Unsupported(
            f"{many} databases are too many to list, at most "
            f"{MOST_DATABASES} are; ask Sum() or Linear(weights) with Laplace noise, which need "
            "no list"
        )
    domains = domains_of(model)
    if isinstance(query, Sum | Linear):
        sums = np.zeros(())
        for weight, domain in zip(weights_of(query, model.records), domains, strict=True):
            sums = np.add.outer(sums, weight * domain)
        return sums
    if not callable(query):
        _checks.refuse("query", "be Sum(), Linear(weights) or a function of records", query)
    listed = itertools.product(*(domain.tolist() for domain in domains))
    answers = [_checks.finite(answer=query(database)) for database in listed]
    return np.array(answers).reshape([domain.size for domain in domains])


def tabled(model: FiniteModel, route: str) -> JointTable:
    """The same law of records with every database listed, where there are few."""
    if isinstance(model, JointTable):
        return model
    many = _too_many(model, MOST_TABLED)
    if many:
        raise Unsupported(
            f"{many} databases are too many to list for this, at most {MOST_TABLED} are; {route}"
        )
    domains = domains_of(model)
    table = np.zeros([domain.size for domain in domains])
    _fill(model, table, (), {}, 1.0)
    return JointTable(tuple(domains), table)


def _fill(
    model: FiniteModel, table: Array, place: tuple[int, ...], known: dict[int, float], share: float
) -> None:
    """Probabilities of all databases that begin as told, record by record."""
    record = len(place)
    if record == model.records:
        table[place] = share
        return
    for index, value in enumerate(model.domain(record).tolist()):
        chance = model.prior(RecordValue(record, value), known)
        if chance > 0:
            _fill(model, table, (*place, index), {**known, record: value}, share * chance)


def furthest_databases(
    model: FiniteModel, answers: Array, release: Release, size: int, held: Mask
) -> Witness | None:
    """The two held databases, unlike in at most so many records, that outputs tell apart most.

    None where there are no two.
    """
    best: Witness | None = None
    for axes in _groups(answers, size, release):
        witness = _between(model, answers, release, axes, held)
        if witness is not None and (best is None or witness.log_ratio > best.log_ratio):
            best = witness
    return best


def _groups(answers: Array, size: int, release: Release) -> Iterator[tuple[int, ...]]:
    records = answers.ndim
    outputs = 1 if not isinstance(release, Channel) else len(list(release.outputs or ()))
    work = math.comb(records, size) * answers.size * outputs
    if work > _MOST_COMPARED:
        raise Unsupported(
            f"{count_in_words(math.comb(records, size))} groups of {size} records in "
            f"{count_in_words(answers.size)} databases "
            f"are too many to compare; ask for groups of 1 or of all {records} records"
        )
    return itertools.combinations(range(records), size)


def _between(
    model: FiniteModel, answers: Array, release: Release, axes: tuple[int, ...], held: Mask
) -> Witness | None:
    """The same for databases that agree outside of these records."""
    rest = [axis for axis in range(answers.ndim) if axis not in axes]
    order = [*rest, *axes]
    rows = math.prod(answers.shape[axis] for axis in rest)
    places = np.arange(answers.size).reshape(answers.shape).transpose(order).reshape(rows, -1)
    kept = held.ravel()[places]
    if not np.any(kept.sum(axis=1) > 1):
        return None
    seen = answers.ravel()[places]
    if isinstance(release, Channel):
        logs, names = release.log_chances(seen.ravel()).reshape(*seen.shape, -1), release.outputs
        high, low = _extremes(logs, kept[:, :, None])
        most, least = high.max(axis=1), low.min(axis=1)
        with np.errstate(invalid="ignore"):
            wide = np.where(most == -np.inf, 0.0, most - least)
        row, output = divmod(int(np.argmax(wide)), wide.shape[1])
        top, bottom = high[row, :, output].argmax(), low[row, :, output].argmin()
        said: Any = list(names or ())[output]
        ratio = float(wide[row, output])
    else:
        high, low = _extremes(seen, kept)
        wide = high.max(axis=1) - low.min(axis=1)
        wide = np.where(kept.any(axis=1), wide, 0.0)
        row = int(np.argmax(wide))
        top, bottom, said = high[row].argmax(), low[row].argmin(), math.inf
        ratio = noise_ratio(float(wide[row]), release)
    first, other = (_database(model, answers, int(places[row, i])) for i in (top, bottom))
    return Witness(first, other, said, ratio)


def _extremes(logs: Array, kept: Mask) -> tuple[Array, Array]:
    return np.where(kept, logs, -np.inf), np.where(kept, logs, np.inf)


def noise_ratio(shift: float, release: Release) -> float:
    """The largest log-ratio of two answers so far apart under noise that is added."""
    if isinstance(release, Laplace):
        return shift / release.scale
    return math.inf if shift else 0.0


def _database(model: FiniteModel, answers: Array, place: int) -> tuple[float, ...]:
    index = np.unravel_index(place, answers.shape)
    return tuple(float(model.domain(record)[place]) for record, place in enumerate(index))
