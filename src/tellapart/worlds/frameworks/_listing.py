"""Every database listed: its probability under a model and its answer to a query."""

from __future__ import annotations

import itertools
import math
from functools import reduce
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.models.table import JointTable

MOST_DATABASES = 2**18
# Models other than these are asked record by record, which takes longer.
MOST_ASKED = 2**12


def joint_of(model: FiniteModel) -> Array:
    """The probability of every database, one axis for each record."""
    if isinstance(model, JointTable):
        check_size(model.probabilities.shape)
        return model.probabilities
    shape = [model.domain(i).size for i in range(model.records)]
    if isinstance(model, Independent):
        check_size(shape)
        return np.asarray(reduce(np.multiply.outer, model.marginals))
    check_size(shape, MOST_ASKED)
    found = np.zeros(shape)
    _ask(model, (), {}, 1.0, found)
    return found


def _ask(
    model: FiniteModel, place: tuple[int, ...], told: dict[int, float], share: float, found: Array
) -> None:
    """Fill in the databases that begin with what is told, one record after the other."""
    record = len(place)
    if record == model.records:
        found[place] = share
        return
    for step, value in enumerate(model.domain(record).tolist()):
        given = model.prior(RecordValue(record, value), told)
        if given > 0:
            _ask(model, (*place, step), {**told, record: value}, share * given, found)


def answers_of(domains: list[Array], query: Any) -> Array:
    """The true answer for every database, likely or not, one axis for each record."""
    check_size([domain.size for domain in domains])
    if isinstance(query, Sum | Linear):
        weights = weights_of(query, len(domains))
        parts = [weight * domain for weight, domain in zip(weights, domains, strict=True)]
        return np.asarray(reduce(np.add.outer, parts))
    if not callable(query):
        _checks.refuse("query", "be Sum(), Linear(weights) or a function of records", query)
    every = itertools.product(*[domain.tolist() for domain in domains])
    found = np.array([_checks.finite(answer=query(one)) for one in every])
    return found.reshape([domain.size for domain in domains])


def domains_of(model: FiniteModel) -> list[Array]:
    """The values of each record."""
    return [model.domain(record) for record in range(model.records)]


def check_size(shape: Any, most: int = MOST_DATABASES) -> None:
    """Refuse to list too many databases."""
    size = math.prod(int(one) for one in shape)
    if size > most:
        raise Unsupported(
            f"{size} databases are too many to list, at most {most} are; ask Sum() or "
            "Linear(weights) with ta.Laplace, of Independent records or a MarkovChain"
        )
