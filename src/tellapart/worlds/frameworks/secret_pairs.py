"""Secret pairs (Pufferfish), each with the law of the answer given it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from tellapart import _checks
from tellapart._numeric.text import count_in_words
from tellapart.errors import Unsupported
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret, Known
from tellapart.worlds.models.queries import Vector
from tellapart.worlds.models.secrets import Secret
from tellapart.worlds.pairs.curves import Law, extremes
from tellapart.worlds.policies import CompleteGraph, Policy
from tellapart.worlds.releases import Release, Releases, each_release, one_release
from tellapart.worlds.secret_test import Model, Witness

Pair = tuple[Secret, Secret]
# Some ten seconds.
LONGEST = 10**6


class WorstPair(NamedTuple):
    """The pair of secrets told apart most, and those of probability 0."""

    witness: Witness
    skipped: tuple[Secret, ...]


def finite(model: Model) -> FiniteModel:
    """A model whose records have finitely many values, all of which can be secrets."""
    if not isinstance(model, FiniteModel):
        raise Unsupported("normal records have endlessly many values; name two of them in pairs")
    return model


def check_length(
    model: FiniteModel, route: str = "ask group_privacy, which needs no model"
) -> None:
    """Refuse a chain that takes minutes to walk along, with what can be asked instead."""
    if isinstance(model, MarkovChain) and model.length > LONGEST:
        raise Unsupported(
            f"a chain of {count_in_words(model.length)} records is too long to walk along, at most "
            f"{LONGEST} are; {route}, or ask for a shorter chain: in the middle of a long one what "
            "is told settles"
        )


def releases_of(query: Any, release: Releases | list[Release]) -> Releases:
    """What is published of the query's answer, or of each of its answers; checked."""
    if isinstance(query, Vector):
        return each_release(release, len(query.queries))
    return one_release(release)


def laws_of(model: FiniteModel, query: Any, record: int, known: Known | None) -> list[Law | None]:
    """The law of what is asked for each value of a record; None for impossible values."""
    return list(model.record_laws(query, record, known))


def asked(model: FiniteModel, records: Sequence[int] | None, known: Known | None) -> list[int]:
    """The records whose values are secrets: those named, or all that are not known."""
    if records is None:
        return [record for record in range(model.records) if record not in (known or {})]
    chosen = [_checks.whole(0, model.records - 1, records=record) for record in records]
    if not chosen:
        _checks.refuse("records", "not be empty", records)
    return list(dict.fromkeys(chosen))


def listed(pairs: Any, records: Sequence[int] | None) -> list[Pair]:
    """Pairs of secrets, checked."""
    if records is not None:
        _checks.refuse("records", "be left out where pairs are given", records)
    _checks.instance(Sequence, "a list of pairs of secrets", pairs=pairs)
    if not pairs:
        _checks.refuse("pairs", "not be empty", pairs)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            _checks.refuse("pairs", "hold pairs of secrets", pair)
        for secret in pair:
            _checks.instance(Secret, "RecordValue, RecordIn or Predicate", secret=secret)
    return [(first, other) for first, other in pairs]


def of_pairs(
    model: Model, query: Any, release: Releases, pairs: Sequence[Pair], known: Known | None
) -> WorstPair:
    """The worst of these pairs; the law of each secret is worked out once."""
    if isinstance(model, FiniteModel):
        check_length(model)
    laws: dict[Secret, Law | None] = {}
    for secret in dict.fromkeys(secret for pair in pairs for secret in pair):
        try:
            laws[secret] = model.law(query, secret, known)
        except ImpossibleSecret:
            laws[secret] = None
    skipped = tuple(secret for secret, law in laws.items() if law is None)
    best: Witness | None = None
    for first, other in pairs:
        h1, h0 = laws[first], laws[other]
        if h1 is not None and h0 is not None:
            witness = witness_of(first, other, h1, h0, release, known)
            best = witness if best is None or witness.log_ratio > best.log_ratio else best
    if best is None:
        raise ImpossibleSecret(
            f"pairs must hold two secrets of positive probability, got none: {skipped!r} have none"
        )
    return WorstPair(best, skipped)


def witness_of(
    first: Secret, other: Secret, h1: Law, h0: Law, release: Releases, known: Known | None
) -> Witness:
    """The output that tells most, and for which of the two secrets it speaks."""
    largest, smallest = extremes(h1, h0, release)
    if largest.log_ratio >= -smallest.log_ratio:
        return Witness(first, other, largest.output, largest.log_ratio, known_values(known))
    return Witness(other, first, smallest.output, -smallest.log_ratio, known_values(known))


def known_values(known: Known | None) -> tuple[tuple[int, float], ...]:
    """What is known, as a witness keeps it."""
    return tuple(sorted((known or {}).items()))


def pairs_of(
    model: Model,
    query: Any,
    pairs: Sequence[Pair] | None,
    records: Sequence[int] | None,
    known: Known | None,
) -> Iterator[tuple[Law, Law]]:
    """Both laws of every pair: the pairs given, or any two possible values of these records."""
    if pairs is not None:
        for first, other in pairs:
            yield model.law(query, first, known), model.law(query, other, known)
        return
    listable = finite(model)
    records, any_pair = asked(listable, records, known), False
    for record in records:
        laws = laws_of(listable, query, record, known)
        for h1, h0 in combinations([law for law in laws if law is not None], 2):
            any_pair = True
            yield h1, h0
    if not any_pair:
        raise nothing_to_tell(records)


def nothing_to_tell(records: Sequence[int]) -> ImpossibleSecret:
    """What to raise where no record may have one of two values."""
    shown = list(records[:5]) + (["..."] if len(records) > 5 else [])
    return ImpossibleSecret(
        "some record must have two values of positive probability, got none "
        f"among records {', '.join(map(str, shown))}"
    )


def check_policy(policy: Policy, model: Model) -> None:
    """A policy must speak of the records that the model describes."""
    _checks.instance(Policy, "a worlds.policies.Policy", policy=policy)
    if policy.records != model.records:
        _checks.refuse("policy", f"be about the model's {model.records} records", policy.records)
    if not isinstance(model, FiniteModel) or isinstance(policy.domain[0], tuple):
        return
    for record in range(model.records if model.records <= 1000 else 1):
        missing = set(model.domain(record).tolist()) - set(policy.domain)
        if missing:
            rule = f"have every value of record {record} in its domain"
            _checks.refuse("policy", rule, f"none of {sorted(missing)}")


def secret_pairs(policy: Policy, model: Model) -> list[tuple[Secret, Secret]] | None:
    """Two values along each edge, for every record; None where any two values are a secret."""
    check_policy(policy, model)
    if isinstance(policy.graph, CompleteGraph) and isinstance(model, FiniteModel):
        return None
    pairs = [pair for record in range(model.records) for pair in policy.pairs(record)]
    if not isinstance(model, FiniteModel):
        return [*pairs]
    return [
        (first, other)
        for first, other in pairs
        if {first.value, other.value} <= set(model.domain(first.record).tolist())
    ]
