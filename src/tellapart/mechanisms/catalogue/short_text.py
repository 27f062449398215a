"""Mechanisms as short texts, the inverse of `parse`: for files that name mechanisms.

A text has no neighbouring relation: it stands beside the texts, once, wherever they are kept.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, replace

import numpy as np

from tellapart.curve.closed import GuaranteeCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.catalogue.kinds import KINDS
from tellapart.mechanisms.catalogue.parsing import Term, parse
from tellapart.mechanisms.combine import Repeated, Sampled, Sequence
from tellapart.mechanisms.custom import Promise
from tellapart.neighbours import Neighbours


def text_of(mechanism: Mechanism) -> str:
    """The short text that `mechanism_of` reads back as the same mechanism.

    >>> import tellapart as ta
    >>> text_of(ta.Gaussian(sigma=2).sampled(0.1).repeated(9).then(ta.Promise(epsilon=1)))
    'gaussian:sigma=2,sampled=0.1,repeated=9+any:epsilon=1,delta=0'
    """
    parts = mechanism.parts if isinstance(mechanism, Sequence) else (mechanism,)
    return "+".join(str(_term(part, mechanism)) for part in parts)


def mechanism_of(text: str, neighbours: Neighbours | None = None) -> Mechanism:
    """The mechanism that a short text stands for, under these neighbours.

    >>> mechanism_of("any:epsilon=1", Neighbours.REPLACE)
    Promise(epsilon=1.0, neighbours=Neighbours.REPLACE)
    """
    subject = parse(text)
    if isinstance(subject, GuaranteeCurve):
        subject = Promise(subject.claimed_epsilon, subject.claimed_delta)
    if not isinstance(subject, Mechanism):
        raise Unsupported(f"{text!r} is a guarantee of many mechanisms, and no step of one")
    return subject if neighbours is None else _under(neighbours, subject)


def _under(neighbours: Neighbours, mechanism: Mechanism) -> Mechanism:
    if isinstance(mechanism, Sequence):
        return Sequence(tuple(_under(neighbours, part) for part in mechanism.parts))
    if isinstance(mechanism, Sampled | Repeated):
        return replace(mechanism, base=_under(neighbours, mechanism.base))
    return replace(mechanism, neighbours=neighbours)


def _is(value: object, default: object) -> bool:
    """Whether a field has its default; numbers of an array never do."""
    return not isinstance(value, np.ndarray) and value == default


def _term(part: Mechanism, whole: Mechanism) -> Term:
    often: dict[str, float] = {}
    if isinstance(part, Repeated):
        often["repeated"], part = part.times, part.base
    if isinstance(part, Sampled) and part.scheme is Sampling.POISSON:
        often, part = {"sampled": part.rate, **often}, part.base
    if isinstance(part, Promise):
        return Term("any", {"epsilon": part.epsilon, "delta": part.delta, **often})
    numbers = {
        each.name: getattr(part, each.name)
        for each in fields(part)
        if each.init and each.name != "neighbours"
        if each.default is MISSING or not _is(getattr(part, each.name), each.default)
    }
    if any(isinstance(value, np.ndarray) for value in numbers.values()):
        raise Unsupported(f"{whole!r} has no short text: its utilities are numbers of their own")
    numbers = {
        key: ("yes" if value else "no") if isinstance(value, bool) else value
        for key, value in numbers.items()
    }
    for kind in KINDS.values():
        if any(way.make is type(part) and way.fits(numbers) for way in kind.ways):
            return Term(kind.name, {**numbers, **often})
    raise Unsupported(f"{whole!r} has no short text, such as gaussian:sigma=2, to be kept by")
