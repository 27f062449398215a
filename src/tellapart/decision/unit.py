"""The unit of privacy: mechanisms under a neighbouring relation, for all records of one unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tellapart import _checks
from tellapart.curve.closed import GuaranteeCurve
from tellapart.decision.fields import NEIGHBOURS
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import LocalMechanism, Mechanism, Sampling
from tellapart.mechanisms.catalogue import (
    KINDS,
    WORD_PARAMETERS,
    WRAPPERS,
    NamedFamily,
    Term,
    named_family,
    open_parameters,
    parse,
    terms,
)
from tellapart.mechanisms.combine import Repeated, Sampled
from tellapart.mechanisms.combine import Sequence as Composition
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.last_iterate import LastIterate
from tellapart.mechanisms.query_engines.partition_selection import PartitionSelection
from tellapart.mechanisms.query_engines.thresholded_histogram import ThresholdedHistogram
from tellapart.mechanisms.repeat_and_select import BestOf
from tellapart.mechanisms.subject import Subject
from tellapart.mechanisms.training import SCHEME_NEIGHBOURS, dp_sgd, dp_sgd_with_epsilon
from tellapart.neighbours import Neighbours

_TRAINING = "dpsgd"


def refuse_relation(neighbours: str, term: Term) -> None:
    """A relation that a mechanism is not accounted for would give the numbers of another."""
    allowed, of = tuple(NEIGHBOURS), term.name
    if term.name == _TRAINING:
        scheme = _scheme(term.values)
        allowed = tuple(key for key, value in NEIGHBOURS.items() if value in _known(scheme, term))
        of = f'dpsgd with scheme = "{_word(term.values)}"'
    elif isinstance(parse(KINDS[term.name].first_text), LocalMechanism):
        allowed, of = ("replace",), f"{term.name}, which each person runs on their own value"
    elif KINDS[term.name].ways[0].make is LastIterate:
        allowed, of = ("replace",), f"{term.name}, whose theorem replaces one record"
    elif isinstance(parse(KINDS[term.name].first_text), PartitionSelection | ThresholdedHistogram):
        allowed, of = ("add-remove",), f"{term.name}, where a person may be alone with a key"
    if neighbours not in allowed:
        rule = f"be {' or '.join(f'{each!r}' for each in allowed)} for {of}".replace("'", '"')
        _checks.refuse("privacy.neighbours", rule, neighbours)


def _known(scheme: Sampling, term: Term) -> tuple[Neighbours, ...]:
    """What a training is accounted for; one that is itself repeated, under its own alone."""
    known = SCHEME_NEIGHBOURS[scheme]
    return known[:1] if any(key in term.values for key in WRAPPERS) else known


def _word(values: Mapping[str, Any]) -> str:
    return str(values.get("scheme", WORD_PARAMETERS["scheme"].usual))


def _scheme(values: Mapping[str, Any]) -> Sampling:
    scheme = WORD_PARAMETERS["scheme"].words[_word(values)][0]
    assert isinstance(scheme, Sampling)  # noqa: S101 (the catalogue says so)
    return scheme


def related_family(family: NamedFamily, relation: Neighbours) -> NamedFamily:
    """The family whose trainings are accounted for under this relation."""
    if family.name != _TRAINING or relation is SCHEME_NEIGHBOURS[_scheme(family.fixed)][0]:
        return family

    def make(value: float) -> Subject:
        return _trained({**family.fixed, family.parameter: value}, relation)

    return replace(family, make=make)


def _trained(values: Mapping[str, Any], relation: Neighbours) -> Mechanism:
    """DP-SGD under a relation: replacing a record moves a sum by twice the clipping norm."""
    about = {key: value for key, value in values.items() if key != "scheme"}
    maker: Any = dp_sgd_with_epsilon if "epsilon" in values else dp_sgd
    made: Mechanism = maker(**about, scheme=_scheme(values), neighbours=relation)
    return made


def for_unit(subject: Subject, relation: Neighbours, size: int) -> Subject:
    """What all records of one unit face together: present or absent, or replaced."""
    if not isinstance(subject, Mechanism):
        if size == 1:
            return subject
        if isinstance(subject, GuaranteeCurve):
            promise = Promise(subject.claimed_epsilon, subject.claimed_delta)
            return promise.for_group(size).curve()
        raise Unsupported(f"{subject.label} is not known for {size} records of one unit together")
    related = _related(subject, relation)
    if size > 1 and isinstance(related, LocalMechanism):
        return related.repeated(size)  # each record is answered for by itself
    return related.for_group(size)


def faced(family: NamedFamily, relation: Neighbours, size: int) -> NamedFamily:
    """The family as one unit of privacy faces it."""

    def make(value: float) -> Subject:
        if family.name == "any" and not family.composed:
            if family.parameter == "mu":  # Dong, Roth and Su 2022, Theorem 2.14
                return family.make(size * value)
            if family.parameter == "zcdp":  # Bun and Steinke 2016, Proposition 1.9
                return family.make(size * size * value)
        return for_unit(family.make(value), relation, size)

    return replace(family, make=make)


def described(spec: str, neighbours: str, size: int) -> Subject | NamedFamily:
    """A mechanism of a text as one unit faces it; a family where it leaves a parameter open."""
    relation, several = NEIGHBOURS[neighbours], terms(spec)
    for term in several:
        refuse_relation(neighbours, term)
    (first, *later) = several
    own_values = {key for key in first.values if key not in WRAPPERS}
    whole = any(way.fits(own_values) for way in KINDS[first.name].ways)
    if not later and not whole and open_parameters(spec):
        return related_family(named_family(spec), relation)
    if any(term.name == _TRAINING for term in several):
        own = {SCHEME_NEIGHBOURS[_scheme(x.values)][0] for x in several if x.name == _TRAINING}
        if own != {relation}:
            if later:
                raise Unsupported(f"{spec} is not accounted for under neighbours = {neighbours!r}")
            return for_unit(_trained(first.values, relation), relation, size)
    return for_unit(parse(spec), relation, size)


def _related(mechanism: Mechanism, relation: Neighbours) -> Mechanism:
    """The same mechanism, its sensitivity being that under this relation."""
    if mechanism.neighbours is relation:
        return mechanism
    if isinstance(mechanism, Composition):
        return Composition(tuple(_related(part, relation) for part in mechanism.parts))
    if isinstance(mechanism, Repeated | Sampled | BestOf):
        return replace(mechanism, base=_related(mechanism.base, relation))
    return replace(mechanism, neighbours=relation)
