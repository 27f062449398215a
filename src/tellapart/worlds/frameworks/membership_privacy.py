"""Membership privacy (Li, Qardaji, Su, Wu and Yang 2013): how far a belief may move.

What an output does to the belief in a secret is P(o | secret)/P(o): a ratio of two mixtures, the
second of which is the law of the answer for someone told nothing. Whether a record is there at
all is asked the same way: give it one more value that adds nothing to the answer, 0 in a sum, for
absence, and ask the secrets ``RecordIn(i, other values)`` and ``RecordValue(i, 0)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tellapart import _checks
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.every_record import MOST_WORK, laws_by_kind, laws_work
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import check_length
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.record_epsilons import Believed, ChainBounds, chain_beliefs
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.queries import Linear, Sum
from tellapart.worlds.models.secrets import Predicate, RecordIn, RecordValue, Secret
from tellapart.worlds.pairs.curves import Law, extremes
from tellapart.worlds.releases import Release, check_release
from tellapart.worlds.secret_test import Model, Witness

_ROUTE = "name the secrets that count by secrets=[...]"


def membership(
    models: Model | Sequence[Model],
    query: Any,
    release: Release,
    positive: bool = False,
    secrets: Sequence[Secret] | None = None,
) -> FrameworkResult:
    """By how much an output may change the belief in a secret: ``|log posterior/prior|`` at most.

    With ``positive`` only rises count: posterior ≤ e^ε·prior, the first half of what Li et al. ask
    of a record's presence; the other half, that belief in absence does not fall below e^−ε times
    its prior, is in the two-sided form. Secrets are all values of all records unless they are
    listed. A RecordIn of all values in the witness stands for knowing nothing. For long chains
    under Laplace noise the number may be an upper bound, and says so.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, Sum
    >>> round(membership(Independent([[0.5, 0.5]]), Sum(), ta.Laplace(1)).epsilon, 6)
    0.620115
    """
    check_release(release)
    results = []
    for model in models_of(models):
        if not isinstance(model, FiniteModel):
            raise Unsupported(
                "values of normal records have densities, not probabilities; beliefs in them are "
                "compared by tell_apart"
            )
        results.append(_of_one(model, query, release, positive, secrets))
    worst = max(results, key=lambda result: result.epsilon)
    return FrameworkResult(
        framework="membership privacy (positive)" if positive else "membership privacy",
        epsilon=worst.epsilon,
        side=Side.EXACT if worst.exact else Side.AT_MOST,
        witness=worst.witness if worst.witness.likelier is not None else None,
        assumptions="the adversary's prior is the model, or any one of those listed",
        composes=False,
        skipped=tuple(dict.fromkeys(secret for result in results for secret in result.skipped)),
        unit="log posterior/prior",
    )


def _of_one(
    model: FiniteModel,
    query: Any,
    release: Release,
    positive: bool,
    secrets: Sequence[Secret] | None,
) -> Believed:
    check_length(model)
    if (
        secrets is None
        and isinstance(model, MarkovChain)
        and isinstance(release, Laplace)
        and isinstance(query, Sum | Linear)
        and laws_work(model, query, model.records) > MOST_WORK
    ):
        return chain_beliefs(ChainBounds(model, query, release.scale), positive)
    worst, skipped = Witness(None, None, None, 0.0), []
    untold = model.law(query, _anything(model, RecordValue(0, 0)))
    for secret, law, alike in _secret_laws(model, query, secrets):
        if law is None:
            skipped += alike
            continue
        moves = _moves(secret, law, _anything(model, secret), untold, release, positive)
        worst = max(worst, *moves, key=lambda witness: witness.log_ratio)
    return Believed(worst.log_ratio, True, worst, tuple(skipped))


def membership_epsilon(gamma: float, prior: float | None = None) -> float:
    """The largest ε of likelihood ratios that keeps a belief within a factor γ of its prior.

    Both ways that Li et al. ask for: presence at most γ times as likely as before, absence at
    least 1/γ times. Without a prior it holds for all of them: ln γ.

    >>> round(membership_epsilon(2, prior=0.5), 6)  # ln 3
    1.098612
    """
    gamma = _checks.finite(gamma=gamma)
    if gamma < 1:
        _checks.refuse("gamma", "be at least 1", gamma)
    if prior is None:
        return math.log(gamma)
    prior = _checks.inside_unit(prior=prior)
    absence = math.log1p((gamma - 1) / prior)
    if gamma * prior >= 1:
        return absence
    return min(absence, math.log1p((gamma - 1) / (1 - gamma * prior)))


def _secret_laws(
    model: FiniteModel, query: Any, secrets: Sequence[Secret] | None
) -> Iterator[tuple[Secret, Law | None, list[Secret]]]:
    """Secrets with the law of the answer for someone told them; none where they cannot hold.

    With each come all secrets of which the same is told.
    """
    if secrets is None:
        for kind, laws in laws_by_kind(model, query, range(model.records), _ROUTE):
            for value, law in laws:
                yield value, law, [RecordValue(record, value.value) for record in kind]
        return
    for secret in secrets:
        try:
            yield secret, model.law(query, secret), [secret]
        except ImpossibleSecret:
            yield secret, None, [secret]


def _anything(model: FiniteModel, secret: Secret) -> RecordIn:
    """What says nothing of the record that a secret is about, nor of any other."""
    record = 0 if isinstance(secret, Predicate) else secret.record
    return RecordIn(record, tuple(model.domain(record).tolist()))


def _moves(
    secret: Secret, law: Law, anything: Secret, untold: Law, release: Release, positive: bool
) -> Iterator[Witness]:
    """The furthest rise of the belief in a secret and, unless only rises count, its fall."""
    rise, fall = extremes(law, untold, release)
    yield Witness(secret, anything, rise.output, rise.log_ratio)
    if not positive:
        yield Witness(anything, secret, fall.output, -fall.log_ratio)
