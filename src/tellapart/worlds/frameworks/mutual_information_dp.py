"""Mutual-information DP (Cuff and Yu 2016): what an output tells of a record on average.

Three numbers go by this name, and they are not ordered: the most over all priors, which is the
largest capacity of one record's channel; and under one prior what is told to someone who knows
no other record, or all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from tellapart import _checks, deadline
from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.frameworks.databases import answers_of, domains_of, tabled
from tellapart.worlds.frameworks.every_record import laws_by_kind
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import check_length
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.given_neighbours import chain_given_others, check_kinds
from tellapart.worlds.models.base import FiniteModel, logs_of
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.laws import FiniteLaw
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.pairs.integrals import log_masses
from tellapart.worlds.pairs.integrals import mutual_information as information
from tellapart.worlds.releases import Channel, Release, check_release
from tellapart.worlds.secret_test import Model

_MOST_STEPS = 500


class Capacity(NamedTuple):
    """Between what bounds the capacity lies, in nats, and the prior that attains the lower one.

    Any prior gives both: what it tells on average, and the largest divergence of an input's law
    from the mixture (Blahut 1972; Arimoto 1972).
    """

    lower: float
    upper: float
    prior: Array


def capacity(log_masses: Array, gap: float = 1e-11) -> Capacity:
    """What the worst prior lets an outcome tell of the law that holds, on average.

    ``log_masses`` has a row for each law. Steps of Blahut and Arimoto are taken, or Newton's
    wherever they gain more, until the bounds are this close.
    """
    logs = log_masses[:, (log_masses > -np.inf).any(axis=0)]
    prior = np.full(logs.shape[0], 1 / logs.shape[0])
    apart = _divergences(logs, _mixed(logs, prior))
    best = Capacity(float(prior @ apart), float(apart.max()), prior)
    for _ in range(_MOST_STEPS):
        deadline.check()
        if best.upper - best.lower <= gap:
            break
        tried = [_blahut(prior, apart), *_newton(logs, prior, apart)]
        mixtures = [(weights, _mixed(logs, weights)) for weights in tried]
        # Where an outcome has become impossible, the input that shows it was given up too early.
        solutions = [
            (weights, _divergences(logs, mix))
            for weights, mix in mixtures
            if np.isfinite(mix).all()
        ]
        prior, apart = max(solutions, key=lambda pair: float(pair[0] @ pair[1]))
        best = Capacity(
            max(best.lower, float(prior @ apart)), min(best.upper, float(apart.max())), prior
        )
    return best


def _mixed(logs: Array, prior: Array) -> Array:
    """Log-masses for someone who believes in each law with these probabilities."""
    return np.asarray(logpoly.total(logs + logs_of(prior)[:, None], axis=0))


def _divergences(logs: Array, mixture: Array) -> Array:
    """How far each law is from a mixture of them, in nats: a sum of terms that are at least 0."""
    away = np.where(logs > -np.inf, logs - mixture, 0.0)
    gained = np.where(logs > -np.inf, np.expm1(away), -1.0)
    return np.asarray((np.exp(logs) * away - np.exp(mixture) * gained).sum(axis=1))


def _blahut(prior: Array, apart: Array) -> Array:
    """A step that never loses."""
    tilted = prior * np.exp(apart - apart.max())
    return np.asarray(tilted / tilted.sum())


def _newton(logs: Array, prior: Array, apart: Array) -> list[Array]:
    """Towards the best prior of the quadratic model, whole and part of the way.

    Among weights that are at least 0 that is a least-squares problem; a heavy row makes them sum
    to 1, and a little on the diagonal keeps inputs apart that outputs do not.
    """
    import scipy.optimize  # slow to import

    optimize: Any = scipy.optimize
    rows = np.exp(logs - _mixed(logs, prior) / 2)
    curved = rows @ rows.T
    curved += 1e-10 * np.trace(curved) * np.eye(prior.size)
    root = np.linalg.cholesky(curved)
    aim = np.linalg.solve(root, curved @ prior + apart)
    heavy = 1e5 * np.sqrt(curved.max())
    try:
        weights = optimize.nnls(
            np.vstack([root.T, np.full(prior.size, heavy)]), np.append(aim, heavy)
        )[0]
    except RuntimeError:  # it did not settle; the other step still gains
        return []
    weights /= weights.sum()
    return [prior + share * (weights - prior) for share in (1.0, 0.3, 0.03)]


_CLOSE = 1e-10
_ROUTE = "ask Sum() or Linear(weights) with noise, of Independent records or a MarkovChain"
_NO_MODEL = "ask form='prior-free', which needs no model"
MOST_SUMS = 2**18
Form = Literal["prior-free", "record", "given others"]


class Most(NamedTuple):
    """The largest number of nats, the record it is about, and the secrets that cannot hold."""

    nats: float
    record: int
    skipped: tuple[Secret, ...] = ()
    side: Side = Side.EXACT


def mutual_information(
    models: Model | Sequence[Model],
    query: Any,
    release: Release,
    form: Form = "prior-free",
    record: int | None = None,
) -> FrameworkResult:
    """How much an output tells of one record on average, in nats.

    ``"prior-free"`` is Cuff and Yu's own: the most over all priors on the records' values, so
    nothing but the domains of a model counts. ``"record"`` is I(X_i; O) under the model,
    ``"given others"`` is I(X_i; O | all others) under the model; each for the worst record, unless
    one is named.

    >>> import tellapart as ta
    >>> from tellapart.worlds import Independent, Sum
    >>> people = Independent([[0.7, 0.3]] * 5)
    >>> round(mutual_information(people, Sum(), ta.Laplace(1)).epsilon, 6)
    0.08852
    """
    check_release(release)
    if form not in _FORMS:
        _checks.refuse("form", f"be one of {list(_FORMS)}", form)
    how, terms, composes = _FORMS[form]
    results = []
    for model in models_of(models):
        if not isinstance(model, FiniteModel):
            raise Unsupported("mutual information is worked out for records with finite domains")
        last = model.records - 1
        asked = range(last + 1) if record is None else [_checks.whole(0, last, record=record)]
        results.append(how(model, query, release, asked))
    most = max(results, key=lambda result: result.nats)
    return FrameworkResult(
        framework=f"mutual-information DP ({form})",
        epsilon=most.nats,
        side=most.side,
        witness=None,
        assumptions=f"{terms}; most of record {most.record}",
        composes=composes,
        skipped=tuple(dict.fromkeys(secret for each in results for secret in each.skipped)),
        unit="nats",
    )


# -- the most over all priors --------------------------------------------------------------------


def _prior_free(model: FiniteModel, query: Any, release: Release, asked: Sequence[int]) -> Most:
    """A prior that knows all other records is worst, so one record's channel counts."""

    @cache
    def most(answers: tuple[float, ...]) -> Capacity:
        points = [FiniteLaw(np.array([answer]), np.zeros(1)) for answer in answers]
        return capacity(log_masses(points, release))

    if isinstance(query, Sum | Linear) and not isinstance(release, Channel):
        # Whatever the others are, they only shift the answer.
        channels = _own(model, weights_of(query, model.records), asked)
    else:
        check_length(model, "ask Sum() or Linear(weights) with noise")
        every = _channels(model, query, release)
        channels = [(record, answers) for record in asked for answers in every[record]]
    capacities = [(record, most(answers)) for record, answers in channels]
    record, best = max(capacities, key=lambda pair: pair[1].upper)
    close = best.upper - best.lower <= _CLOSE
    return Most(best.upper, record, side=Side.EXACT if close else Side.AT_MOST)


def _own(
    model: FiniteModel, weights: Array, asked: Sequence[int]
) -> list[tuple[int, tuple[float, ...]]]:
    """What each record may add to a sum; of records that add the same only the first."""
    firsts: dict[Hashable, int] = {}
    if isinstance(model, MarkovChain):
        chosen = np.arange(model.length)[asked[0] : asked[-1] + 1]
        places = np.sort(np.unique(weights[chosen], return_index=True)[1])
        firsts = {record: record for record in chosen[places].tolist()}
    else:
        for record in asked:
            firsts.setdefault((float(weights[record]), model.domain(record).tobytes()), record)
    check_kinds(len(firsts))
    return [
        (record, tuple(np.unique(weights[record] * model.domain(record)).tolist()))
        for record in firsts.values()
    ]


def _channels(
    model: FiniteModel, query: Any, release: Release
) -> list[frozenset[tuple[float, ...]]]:
    """For each record the sets of answers among which its value decides, all others being known."""
    shifts = not isinstance(release, Channel)
    if isinstance(query, Sum | Linear):
        weights = weights_of(query, model.records)
        own = [
            tuple(np.unique(weights[i] * model.domain(i)).tolist()) for i in range(model.records)
        ]
        around = {steps: _others(own, own.index(steps)) for steps in set(own)}
        return [
            frozenset(tuple(sorted({a + b for a in steps})) for b in around[steps]) for steps in own
        ]
    answers = answers_of(model, query)
    channels = []
    for record in range(model.records):
        rows = np.unique(
            np.sort(np.moveaxis(answers, record, -1).reshape(-1, answers.shape[record]), axis=1),
            axis=0,
        )
        if shifts:
            rows = np.unique(rows - rows[:, :1], axis=0)
        channels.append(frozenset(tuple(np.unique(row).tolist()) for row in rows))
    return channels


def _others(own: list[tuple[float, ...]], record: int) -> list[float]:
    """All sums that the other records may have."""
    sums = np.zeros(1)
    for i, steps in enumerate(own):
        if i != record:
            if sums.size * len(steps) > MOST_SUMS:
                raise Unsupported(
                    f"{count_in_words(sums.size * len(steps))} sums of other records are too many "
                    "to list, at most "
                    f"{MOST_SUMS} are; give values in whole units, whose sums coincide"
                )
            sums = np.unique(np.add.outer(sums, np.array(steps)))
    return list(sums.tolist())


# -- under one prior -----------------------------------------------------------------------------


def _alone(model: FiniteModel, query: Any, release: Release, asked: Sequence[int]) -> Most:
    """What someone learns of a record who knows no other."""
    best = Most(0.0, asked[0])
    skipped: list[RecordValue] = []
    for kind, secrets in laws_by_kind(model, query, asked, "name one by record=..."):
        laws, priors = [], []
        for secret, law in secrets:
            if law is None:
                skipped += [RecordValue(record, secret.value) for record in kind]
            else:
                laws.append(law)
                priors.append(model.prior(secret))
        nats = information(laws, priors, release)
        best = max(best, Most(nats, kind[0]), key=lambda most: most.nats)
    in_order = sorted(skipped, key=lambda secret: secret.record)
    return best._replace(skipped=tuple(in_order))


def _given_others(model: FiniteModel, query: Any, release: Release, asked: Sequence[int]) -> Most:
    """What someone learns of a record who knows all others."""
    if isinstance(query, Sum | Linear) and not isinstance(release, Channel):
        # All that the others do to such an answer is to shift it, which hides nothing.
        weights = weights_of(query, model.records)
        if isinstance(model, Independent):
            each = [
                _one_channel(weight * domain, law, release)
                for weight, domain, law in zip(
                    weights, domains_of(model), model.marginals, strict=True
                )
            ]
            return _largest(each, model, model.marginals, asked)
        if isinstance(model, MarkovChain):
            check_length(model, _NO_MODEL)
            each = chain_given_others(model, weights, release, _one_channel).tolist()
            record = max(asked, key=each.__getitem__)
            skipped = tuple(secret for secret in model.impossible if secret.record in asked)
            return Most(each[record], record, skipped)
    answers, joint = answers_of(model, query), tabled(model, _ROUTE).probabilities
    each = [_given(joint, answers, record, release) for record in range(model.records)]
    axes = range(model.records)
    laws = [joint.sum(axis=tuple(i for i in axes if i != record)) for record in axes]
    return _largest(each, model, laws, asked)


def _largest(
    each: Sequence[float], model: FiniteModel, laws: Sequence[Array], asked: Sequence[int]
) -> Most:
    record = max(asked, key=lambda place: each[place])
    skipped = [
        RecordValue(place, value)
        for place in asked
        for value in model.domain(place)[laws[place] == 0].tolist()
    ]
    return Most(each[record], record, tuple(skipped))


def _given(joint: Array, answers: Array, record: int, release: Release) -> float:
    size = joint.shape[record]
    shares = np.moveaxis(joint, record, -1).reshape(-1, size)
    rows = np.moveaxis(answers, record, -1).reshape(-1, size)
    nats = 0.0
    for share, row in zip(shares, rows, strict=True):
        whole = share.sum()
        if whole > 0:
            nats += whole * _one_channel(row, share / whole, release)
    return float(nats)


def _one_channel(answers: Array, priors: Array, release: Release) -> float:
    """What is told of an input that alone decides the answer."""
    shown = priors > 0
    distinct, groups = np.unique(answers[shown], return_inverse=True)
    if distinct.size == 1:
        return 0.0
    shares = np.bincount(groups, weights=priors[shown])
    points = [FiniteLaw(np.array([value]), np.zeros(1)) for value in distinct]
    return information(points, (shares / shares.sum()).tolist(), release)


_FORMS: dict[str, tuple[Callable[[FiniteModel, Any, Release, Sequence[int]], Most], str, bool]] = {
    "prior-free": (_prior_free, "any prior on the records' values", True),
    "record": (_alone, "the model is the prior, no other record is known", False),
    "given others": (_given_others, "the model is the prior, all other records are known", True),
}
