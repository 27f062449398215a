"""Differential privacy and group privacy: no model, only what records could be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Gaussian
from tellapart.worlds.frameworks.databases import answers_of, furthest_databases, noise_ratio
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import FiniteModel
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue
from tellapart.worlds.releases import Channel, Release, check_release
from tellapart.worlds.secret_test import Model, Witness

_GAUSSIAN = "; under Gaussian noise no ε holds without a δ"
_MOST_NAMED = 10**5  # of more records no witness names each value
_UNBOUNDED = "; values of normal records have no bound"


def differential_privacy(
    models: Model | Sequence[Model], query: Any, release: Release
) -> FrameworkResult:
    """What an output can tell someone who knows every record but one.

    That is ε of bounded differential privacy: databases that differ in the value of one record,
    over the whole domain of the models, whether or not they call a database possible. A function
    is asked of each of these databases. Gaussian noise has infinite ε; ask for a curve instead.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, Sum
    >>> differential_privacy(Independent([[0.7, 0.3]] * 3), Sum(), ta.Laplace(2)).epsilon
    0.5
    """
    witness = _worst(models, query, release, 1)
    terms = "all other records known, and any values of the domain, whatever the model"
    return _result("differential privacy", witness, terms, release)


def group_privacy(
    models: Model | Sequence[Model], query: Any, release: Release, size: int | None = None
) -> FrameworkResult:
    """What an output can tell of so many records together, all by default.

    The one promise for correlated data which needs no model of the correlation, and which
    adds up over releases. Where at most ``size`` records depend on each other, it covers all
    that one of them gives away.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, Sum
    >>> group_privacy(Independent([[0.7, 0.3]] * 3), Sum(), ta.Laplace(2)).epsilon
    1.5
    """
    witness = _worst(models, query, release, size)
    among = "all records" if size is None else f"any {size} records"
    terms = f"{among} may change at once, to any values of the domain, whatever the model"
    return _result("group privacy", witness, terms, release)


def _result(name: str, witness: Witness, terms: str, release: Release) -> FrameworkResult:
    if witness.log_ratio == math.inf and not isinstance(release, Channel):
        terms += _GAUSSIAN if isinstance(release, Gaussian) else _UNBOUNDED
    return FrameworkResult(name, witness.log_ratio, Side.EXACT, witness, terms, composes=True)


def _worst(
    models: Model | Sequence[Model], query: Any, release: Release, size: int | None
) -> Witness:
    check_release(release)
    witnesses = [_of_one(model, query, release, size) for model in models_of(models)]
    return max(witnesses, key=lambda witness: witness.log_ratio)


def _of_one(model: Model, query: Any, release: Release, size: int | None) -> Witness:
    records = model.records
    size = records if size is None else _checks.whole(1, records, size=size)
    if isinstance(query, Sum | Linear) and not isinstance(release, Channel):
        return _of_sum(model, weights_of(query, records), release, size)
    if not isinstance(model, FiniteModel):
        raise Unsupported("normal records have endlessly many databases; ask for a sum with noise")
    answers = answers_of(model, query)
    witness = furthest_databases(model, answers, release, size, np.ones(answers.shape, dtype=bool))
    if witness is None:
        _checks.refuse("models", "have a record with two values", model)
    return witness


def _of_sum(model: Model, weights: Array, release: Release, size: int) -> Witness:
    """A sum moves by what its records do: by the largest moves of so many of them."""
    if isinstance(model, FiniteModel):
        steps = _steps(model, weights)
    else:
        steps = np.where(weights != 0, math.inf, 0.0)
    chosen = _largest(steps, size)
    ratio = noise_ratio(math.fsum(steps[chosen]), release)
    if not isinstance(model, FiniteModel) or size > _MOST_NAMED:
        return Witness(None, None, math.inf, ratio)
    high, low = (_secrets(model, weights, chosen, sign) for sign in (1, -1))
    return Witness(high, low, math.inf, ratio)


def _steps(model: FiniteModel, weights: Array) -> Array:
    """How far each record moves the sum."""
    if isinstance(model, MarkovChain):
        values = model.domain(0)
        return np.asarray((weights * values.max() - weights * values.min()) * np.sign(weights))
    return np.array([np.ptp(weights[i] * model.domain(i)) for i in range(model.records)])


def _largest(steps: Array, size: int) -> Any:
    """The places of the largest steps, of equal ones those that come first; in order."""
    if size == 1:
        return np.array([np.argmax(steps)])
    if size == steps.size:
        return np.arange(size)
    return np.sort(np.argsort(-steps, kind="stable")[:size])


def _secrets(model: FiniteModel, weights: Array, chosen: Any, sign: int) -> Any:
    """Values of these records that make the sum as large, or as small, as can be."""
    secrets = tuple(
        RecordValue(int(i), float(model.domain(i)[np.argmax(sign * weights[i] * model.domain(i))]))
        for i in chosen
    )
    return secrets[0] if len(secrets) == 1 else secrets
