"""Pufferfish privacy: pairs of secrets about records that a model says are correlated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellapart.curve.algebra import worst_case
from tellapart.curve.base import TradeoffCurve
from tellapart.worlds.frameworks.every_record import ByRecord, of_records
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import listed, of_pairs, pairs_of, releases_of
from tellapart.worlds.models.base import Known
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.pairs.curves import pair_curve
from tellapart.worlds.releases import Release, Releases
from tellapart.worlds.secret_test import Model

Pairs = Sequence[tuple[Secret, Secret]]
TERMS = "the adversary believes in {theta}, and knows {known} besides"


def pufferfish(
    models: Model | Sequence[Model],
    query: Any,
    release: Releases | list[Release],
    pairs: Pairs | None = None,
    known: Known | None = None,
    records: Sequence[int] | None = None,
) -> FrameworkResult:
    """How far an output can move the odds of two secrets, for someone who knows a model.

    The largest over all pairs of values of each of ``records`` (all by default), or over the
    secrets in ``pairs``, and over all models. Secrets of probability 0 are listed as skipped. For
    long chains whose laws take too long the number is an upper bound and says so; ``witness`` is
    then attained and bounds the truth from below. A `Vector` of queries has a list of releases.

    >>> import tellapart as ta
    >>> from tellapart.worlds import MarkovChain, Sum
    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=10_000)
    >>> round(pufferfish(chain, Sum(), ta.Laplace(1)).epsilon, 4)
    3.2982
    """
    seen = releases_of(query, release)
    theta = models_of(models)
    if pairs is None:
        by_record = [of_records(model, query, seen, known, records) for model in theta]
        parts = [(part.worst, part.side, part.witness, part.skipped) for part in by_record]
    else:
        by_pair = [of_pairs(model, query, seen, listed(pairs, records), known) for model in theta]
        parts = [
            (part.witness.log_ratio, Side.EXACT, part.witness, part.skipped) for part in by_pair
        ]
    epsilon, side, witness, _ = max(parts, key=lambda part: part[0])
    skipped = tuple(dict.fromkeys(secret for part in parts for secret in part[3]))
    return FrameworkResult(
        "Pufferfish", epsilon, side, witness, terms(theta, known), False, skipped
    )


def pufferfish_by_record(
    models: Model | Sequence[Model],
    query: Any,
    release: Releases | list[Release],
    known: Known | None = None,
    records: Sequence[int] | None = None,
) -> ByRecord:
    """How far an output can move the odds of any two values, for each record by itself.

    >>> import tellapart as ta
    >>> from tellapart.worlds import MarkovChain, Sum
    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=5)
    >>> pufferfish_by_record(chain, Sum(), ta.Laplace(1)).epsilons.round(3)
    array([2.087, 2.563, 2.712, 2.563, 2.087])
    """
    seen = releases_of(query, release)
    theta = models_of(models)
    return ByRecord.largest(
        [of_records(model, query, seen, known, records, every=True) for model in theta]
    )


def worst_curve(
    models: Model | Sequence[Model],
    query: Any,
    release: Releases | list[Release],
    pairs: Pairs | None = None,
    records: Sequence[int] | None = None,
    known: Known | None = None,
) -> TradeoffCurve:
    """The curve of an attacker who faces the worst pair of secrets, in the worse direction.

    Any risk may be read off it, δ for an ε among them, also under noise whose ε is infinite.
    Values that records cannot have are left out; impossible secrets in ``pairs`` are refused.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Sum
    >>> twins = JointTable([[0, 1], [0, 1]], [[0.5, 0], [0, 0.5]])
    >>> worst_curve(twins, Sum(), ta.Laplace(1)).epsilon(delta=0)
    2.0
    """
    seen = releases_of(query, release)
    curves = []
    for model in models_of(models):
        secrets = None if pairs is None else listed(pairs, records)
        for first, other in pairs_of(model, query, secrets, records, known):
            curve = pair_curve(first, other, seen)
            curves += [curve, curve.mirrored()]
    return worst_case(curves)


def terms(theta: Sequence[Model], known: Known | None) -> str:
    """What is taken for granted: in which models the adversary believes, and what it knows."""
    single = "this model of the data"
    return TERMS.format(
        theta=single if len(theta) == 1 else f"one of these {len(theta)} models of the data",
        known=f"records {sorted(known)}" if known else "no record",
    )
