"""Bayesian differential privacy: the adversary may know any of the other records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tellapart._checks import Array
from tellapart._numeric import logpoly
from tellapart._numeric.text import count_in_words, short
from tellapart.errors import Unsupported
from tellapart.mechanisms.noise import Laplace
from tellapart.worlds.frameworks.databases import answers_of, noise_ratio, tabled
from tellapart.worlds.frameworks.result import FrameworkResult, Side, models_of
from tellapart.worlds.frameworks.secret_pairs import check_length, finite, nothing_to_tell
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.markov.partial_knowledge import ChainLeakage, chain_leakage
from tellapart.worlds.models.base import FiniteModel, logs_of
from tellapart.worlds.models.queries import Linear, Sum, weights_of
from tellapart.worlds.models.secrets import RecordValue, Secret
from tellapart.worlds.models.table import JointTable
from tellapart.worlds.pairs.finite_outputs import log_likelihoods
from tellapart.worlds.releases import Channel, Release, check_release
from tellapart.worlds.secret_test import Model, Witness

_MOST_WORK = 2**26
_ROUTE = "ask pufferfish(..., known=...) for what someone is likely to know, or group_privacy"


def bayesian(models: Model | Sequence[Model], query: Any, release: Release) -> FrameworkResult:
    """How far an output moves the odds of a record's values, whatever else is already known.

    Bayesian differential privacy (Yang, Sato, Nakagawa 2015): the largest Pufferfish ε over all
    sets of other records that an adversary may know, with any values of positive probability. All
    are tried for tables, up to some 13 bits. On a chain with Laplace noise on an even sum only the
    nearest known record on either side matters; on long ones, knowledge from far away is bounded,
    and the number says so where that leaves room.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Sum
    >>> unlike = JointTable([[0, 1], [0, 1]], [[0.1, 0.4], [0.4, 0.1]])
    >>> bayesian(unlike, Sum(), ta.Laplace(1)).epsilon
    1.0
    """
    check_release(release)
    theta = [finite(model) for model in models_of(models)]
    results = [_of_one(model, query, release) for model in theta]
    worst = max(results, key=lambda result: result.epsilon)
    skipped = tuple(dict.fromkeys(secret for model in theta for secret in _impossible(model)))
    some = "this model" if len(theta) == 1 else f"one of these {len(theta)} models"
    terms = f"the adversary believes in {some} of the data and may know any of the other records"
    side = Side.EXACT if worst.exact else Side.AT_MOST
    return FrameworkResult("Bayesian DP", worst.epsilon, side, worst.witness, terms, False, skipped)


def _impossible(model: FiniteModel) -> list[Secret]:
    if isinstance(model, MarkovChain):
        return list(model.impossible)
    return [secret for secret in model.secrets() if model.prior(secret) == 0]


def _of_one(model: FiniteModel, query: Any, release: Release) -> ChainLeakage:
    if isinstance(model, MarkovChain) and isinstance(release, Laplace) and _even(query, model):
        check_length(model)
        leakage = chain_leakage(model, query, release)
    else:
        witness = _of_table(tabled(model, _ROUTE), query, release)
        leakage = None if witness is None else ChainLeakage(witness.log_ratio, True, witness)
    if leakage is None:
        raise nothing_to_tell(list(range(model.records)))
    return leakage


def _even(query: Any, model: FiniteModel) -> bool:
    return isinstance(query, Sum | Linear) and np.ptp(weights_of(query, model.records)) == 0


def _of_table(table: JointTable, query: Any, release: Release) -> Witness | None:
    answers = answers_of(table, query).ravel()
    held = table.probabilities.ravel() > 0
    values, place = np.unique(answers[held], return_inverse=True)
    kinds = np.zeros(answers.size, dtype=int)
    kinds[held] = place
    _check_size(table, values.size)
    best: Witness | None = None
    for subset, logs in _marginals(table, kinds, values.size):
        for witness in _of_subset(table, subset, values, logs, release):
            best = witness if best is None or witness.log_ratio > best.log_ratio else best
            if best.log_ratio == math.inf:
                return best
    if best is not None and not isinstance(release, Laplace | Channel) and values.size > 1:
        raise Unsupported(
            "under this noise ε is finite here, and not worked out for all that may be known; "
            + _ROUTE
        )
    return best


def _check_size(table: JointTable, answers: int) -> None:
    work = math.prod(1 + domain.size for domain in table.values) * answers
    if work > _MOST_WORK:
        raise Unsupported(
            f"all that may be known of {table.records} records is {count_in_words(work)} cases, "
            f"more than {short(_MOST_WORK, 2)}; {_ROUTE}"
        )


def _marginals(
    table: JointTable, kinds: Any, answers: int
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Every set of records with the log-probabilities of their values and the answer.

    Small sets come first, so that of equals the one that needs least knowledge is found.
    """
    shape = table.probabilities.shape
    index = np.unravel_index(np.arange(kinds.size), shape)
    for size in range(1, table.records + 1):
        for subset in combinations(range(table.records), size):
            inner = [shape[record] for record in subset]
            cells = np.ravel_multi_index([index[record] for record in subset], inner)
            sums = np.bincount(
                cells * answers + kinds,
                weights=table.probabilities.ravel(),
                minlength=math.prod(inner) * answers,
            )
            yield subset, logs_of(np.asarray(sums, dtype=float)).reshape(-1, answers)


def _of_subset(
    table: JointTable, subset: tuple[int, ...], values: Array, logs: Array, release: Release
) -> Iterator[Witness]:
    """Each of these records in turn as the secret, the others being known."""
    possible = logpoly.total(logs, axis=1) > -np.inf
    seen, outputs = _seen(values, logs[possible], release)
    both = np.full((2, possible.size, seen.shape[1]), np.inf)
    both[0] = -np.inf
    both[:, possible] = seen
    high, low = both.reshape(2, *(table.domain(record).size for record in subset), -1)
    held = possible.reshape(high.shape[:-1])
    for axis, record in enumerate(subset):
        others = [table.domain(name) for name in subset if name != record]
        places = _widest(high, low, held, axis)
        if places is None:
            continue
        ratio, rest, output, top, bottom = places
        if not isinstance(release, Laplace | Channel):
            ratio = noise_ratio(ratio, release)
        known = [float(domain[i]) for domain, i in zip(others, rest, strict=True)]
        first, other = (RecordValue(record, float(table.domain(record)[i])) for i in (top, bottom))
        names = [name for name in subset if name != record]
        yield Witness(first, other, outputs[output], ratio, tuple(zip(names, known, strict=True)))


def _widest(
    high: Array, low: Array, held: Any, axis: int
) -> tuple[float, tuple[int, ...], int, int, int] | None:
    """The largest log-ratio of two values of one record, with where it is; None without two."""
    several = held.sum(axis=axis) > 1
    if not several.any():
        return None
    most, least = high.max(axis=axis), low.min(axis=axis)
    with np.errstate(invalid="ignore"):
        wide = np.where(most == -np.inf, 0.0, most - least)
    wide = np.where(several[..., None], wide, -1.0)
    *rest, output = (int(place) for place in np.unravel_index(int(np.argmax(wide)), wide.shape))
    line: Any = (*rest[:axis], slice(None), *rest[axis:], output)
    top, bottom = int(high[line].argmax()), int(low[line].argmin())
    return float(wide[(*rest, output)]), tuple(rest), output, top, bottom


def _seen(values: Array, logs: Array, release: Release) -> tuple[Array, Any]:
    """Log-likelihoods of the outputs that matter, one row for each case, and the outputs."""
    if isinstance(release, Laplace | Channel):
        seen = log_likelihoods(values, logs - logpoly.total(logs, axis=1)[:, None], release)
        return seen, values.tolist() if isinstance(release, Laplace) else release.outputs
    # Gaussian tails tell unlike smallest or largest answers apart without limit: how far apart
    # these are stands for a log-ratio.
    first = (logs > -np.inf).argmax(axis=1)
    last = logs.shape[1] - 1 - (logs[:, ::-1] > -np.inf).argmax(axis=1)
    return np.stack([-values[first], values[last]], axis=1), (-math.inf, math.inf)
