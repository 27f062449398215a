"""Dependent differential privacy, in both readings, and its published coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tellapart import _checks
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.databases import answers_of, furthest_databases, tabled
from tellapart.worlds.frameworks.pufferfish_privacy import pufferfish
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import finite, nothing_to_tell
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.queries import Linear, Query, weights_of
from tellapart.worlds.pairs.finite_outputs import furthest_of
from tellapart.worlds.releases import Release, check_release
from tellapart.worlds.secret_test import Model, Witness

Reading = Literal["probabilistic", "support"]
_ROUTE = "ask reading='probabilistic' or group_privacy, which need no list"


def dependent(
    models: Model | Sequence[Model],
    query: Any,
    release: Release,
    reading: Reading = "probabilistic",
    size: int | None = None,
) -> FrameworkResult:
    """What an output tells of a record whose change makes others change with it.

    Dependent differential privacy (Liu, Chakraborty, Mittal 2016) is read in two ways. By
    "probabilistic" others change as the model says: this is Pufferfish for values of records. By
    "support" any two possible databases that differ in at most ``size`` records (all by default)
    are told apart: the strength of the dependence does not matter, only what is possible.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Sum
    >>> twins = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
    >>> dependent(twins, Sum(), ta.Laplace(1), reading="support").epsilon
    2.0
    """
    if reading not in ("probabilistic", "support"):
        _checks.refuse("reading", "be 'probabilistic' or 'support'", reading)
    if reading == "probabilistic":
        if size is not None:
            _checks.refuse("size", "be left out unless reading='support'", size)
        result = pufferfish(models, query, release)
        return replace(result, framework="dependent DP (probabilistic)")
    check_release(release)
    seen = [_of_support(finite(model), query, release, size) for model in models_of(models)]
    worst = max(seen, key=lambda witness: witness.log_ratio)
    among = "any number of records" if size is None else f"at most {size} records"
    terms = f"two possible databases that differ in {among}, however likely they are"
    return FrameworkResult(
        "dependent DP (support)", worst.log_ratio, Side.EXACT, worst, terms, True
    )


def _of_support(model: FiniteModel, query: Any, release: Release, size: int | None) -> Witness:
    size = model.records if size is None else _checks.whole(1, model.records, size=size)
    table = tabled(model, _ROUTE)
    held = table.probabilities > 0
    witness = furthest_databases(table, answers_of(table, query), release, size, held)
    if witness is None:
        raise ImpossibleSecret(
            f"some two possible databases must differ in at most {size} records, got none"
        )
    return witness


def pairwise_coefficient(model: FiniteModel, i: int, j: int, scale: float) -> float:
    """How much record i shows through record j alone under noise: a heuristic, not sound.

    The coefficient ρ_ij of dependent differential privacy, in its log-ratio form: what
    x_j + Lap(scale) tells of x_i, as a share of what it tells of x_j; the scale is in the unit of
    x_j. Pairs miss what only several records together give away: with x_0 = x_1 xor x_2 all are 0.

    >>> from tellapart.worlds import JointTable
    >>> xor = {(0, 0, 0): 0.25, (0, 1, 1): 0.25, (1, 0, 1): 0.25, (1, 1, 0): 0.25}
    >>> pairwise_coefficient(JointTable.of(xor), 0, 1, scale=1)
    0.0
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    i = _checks.whole(0, model.records - 1, i=i)
    j = _checks.whole(0, model.records - 1, j=j)
    scale = _checks.finite_above_zero(scale=scale)
    if i == j:
        return 1.0
    width = float(np.ptp(model.domain(j)))
    if width == 0:
        return 0.0
    alone = Linear(np.eye(model.records)[j])
    laws = [law for law in model.record_laws(alone, i) if law is not None]
    if len(laws) < 2:
        raise nothing_to_tell([i])
    return scale / width * furthest_of(laws, Laplace(scale)).log_ratio


def dependence_sensitivity(model: FiniteModel, query: Query, scale: float) -> float:
    """The published dependent sensitivity of a sum: a heuristic that is not sound.

    Each record's own range, and those of all others times their coefficients, added up; the
    largest over records. Noise of this scale over ε may tell more than ε: check it by
    ``pufferfish``, or calibrate to that.

    >>> from tellapart.worlds import JointTable, Sum
    >>> xor = {(0, 0, 0): 0.25, (0, 1, 1): 0.25, (1, 0, 1): 0.25, (1, 1, 0): 0.25}
    >>> dependence_sensitivity(JointTable.of(xor), Sum(), scale=1)
    1.0
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    weights = weights_of(query, model.records)
    steps = [float(np.ptp(w * model.domain(j))) for j, w in enumerate(weights)]
    # Noise beside w·x is a w-th of it beside x: the unit of a record must not count.
    scales = [scale / abs(w) if step else scale for w, step in zip(weights, steps, strict=True)]
    shares = [
        [pairwise_coefficient(model, i, j, beside) for j, beside in enumerate(scales)]
        for i in range(model.records)
    ]
    return float((np.array(shares) @ np.array(steps)).max())
