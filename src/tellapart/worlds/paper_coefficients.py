"""The founding paper's coefficients of prior, correlation and time, out of a data model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart.worlds.frameworks.databases import tabled
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.table import JointTable

_ERRS = (
    "the formula takes the three largest effects as if they came together: for two values it errs "
    "towards larger odds than the true ones"
)


@dataclass(frozen=True)
class Coefficients:
    """How much prior, correlation and history say of a record, by the paper and in truth.

    ``rho_p`` is 1 − min P(a)/P(a′), ``rho_c`` is 1 − min P(a)/P(a | others) and ``rho_t`` is
    1 − min P(a | others)/P(a | others, past), over possible values. ``formula_odds`` is the paper's
    1/((2 − rho_p)(1 − rho_c)(1 − rho_t) − 1), None where that has no meaning; ``true_odds`` is the
    largest P(a | all)/P(a′ | all). ``warning`` says what the formula gets wrong here.
    """

    rho_p: float
    rho_c: float
    rho_t: float
    formula_odds: float | None
    true_odds: float
    warning: str


def coefficients(
    model: FiniteModel, record: int, past: Sequence[int] | None = None
) -> Coefficients:
    """The paper's coefficients of a record whose others are known, and its true odds.

    ``past`` names the records that are the person's own history; all others are the context. The
    odds are those before any output. Read them as a description: for any risk give a prior and
    the laws themselves.

    >>> from tellapart.worlds import JointTable
    >>> found = coefficients(JointTable([[0, 1], [0, 1]], [[0.3, 0.2], [0.2, 0.3]]), 0)
    >>> round(found.rho_c, 4), round(found.formula_odds, 4), round(found.true_odds, 4)
    (0.1667, 1.5, 1.5)
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    record = _checks.whole(0, model.records - 1, record=record)
    history = {_checks.whole(0, model.records - 1, past=record) for record in past or ()}
    if record in history:
        _checks.refuse("past", "leave out the record itself", past)
    table, own, before = _around(model, record, history)
    joint = _with_own_first(table, own, before)
    prior, context = joint.sum(axis=(1, 2)), joint.sum(axis=2)
    if prior.size < 2:
        raise ImpossibleSecret(f"record must have two possible values, got {record}")
    rho_p = 1 - float(prior.min() / prior.max())
    rho_c = _lift(prior[:, None], _given(context))
    rho_t = _lift(_given(context)[:, :, None], _given(joint)) if history else 0.0
    odds = _largest_odds(joint.reshape(prior.size, -1))
    return _judged(rho_p, rho_c, rho_t, odds, prior.size)


def _around(model: FiniteModel, record: int, history: set[int]) -> tuple[JointTable, int, set[int]]:
    """A table of the records that matter, the record's place in it and the places of its past."""
    if isinstance(model, Independent):
        # Others say nothing, be they past or context.
        return JointTable((model.domain(record),), model.marginals[record]), 0, set()
    if isinstance(model, MarkovChain):
        kept = _nearest(model, record, history)
        places = {place for place, name in enumerate(kept) if name in history}
        return _of_chain(model, kept), kept.index(record), places
    return tabled(model, "describe the data by a MarkovChain or by Independent"), record, history


def _nearest(chain: MarkovChain, record: int, history: set[int]) -> list[int]:
    """The record, its neighbours and the nearest ones that are no history, on both sides.

    Given the nearest known records on both sides the ones beyond say nothing more.
    """
    sides = [range(record - 1, -1, -1), range(record + 1, chain.records)]
    kept = {record}
    for side in sides:
        kept |= set(side[:1])
        kept |= set([record for record in side if record not in history][:1])
    return sorted(kept)


def _of_chain(chain: MarkovChain, records: list[int]) -> JointTable:
    power = np.linalg.matrix_power
    table: Array = chain.initial @ power(chain.transition, records[0])
    for before, after in pairwise(records):
        table = table[..., None] * power(chain.transition, after - before)
    return JointTable((chain.domain(0),) * len(records), table)


def _with_own_first(table: JointTable, own: int, history: set[int]) -> Array:
    """Probabilities of own value, context and past, without values that cannot be."""
    context = [i for i in range(table.records) if i != own and i not in history]
    order = [own, *context, *sorted(history)]
    joint = table.probabilities.transpose(order)
    width = int(np.prod([table.domain(i).size for i in context], dtype=int))
    flat = joint.reshape(joint.shape[0], width, -1)
    return np.asarray(flat[flat.sum(axis=(1, 2)) > 0])


def _given(joint: Array) -> Array:
    """Probabilities of the own value given all else; NaN for what cannot be."""
    with np.errstate(invalid="ignore"):
        return np.asarray(joint / joint.sum(axis=0))


def _lift(before: Array, after: Array) -> float:
    """1 − the least ratio of a probability before to the one after something is learnt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = before / after
    return max(1 - float(np.nanmin(ratios)), 0.0)


def _largest_odds(joint: Array) -> float:
    possible = joint[:, joint.sum(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float((possible.max(axis=0) / possible.min(axis=0)).max())


def _judged(rho_p: float, rho_c: float, rho_t: float, odds: float, values: int) -> Coefficients:
    left = (2 - rho_p) * (1 - rho_c) * (1 - rho_t) - 1
    if values > 2:
        reason = f"the formula is for two values, this record has {values} possible ones"
        return Coefficients(rho_p, rho_c, rho_t, None, odds, reason)
    if left <= 0:
        reason = (
            f"the formula has no meaning here: (2 − rho_p)(1 − rho_c)(1 − rho_t) − 1 = {left:.3g} "
            "is not positive, as if a probability exceeded 1"
        )
        return Coefficients(rho_p, rho_c, rho_t, None, odds, reason)
    return Coefficients(rho_p, rho_c, rho_t, 1 / left, odds, _ERRS)
