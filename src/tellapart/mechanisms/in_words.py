"""Mechanisms in words, as a person would title them: DP-SGD, noise multiplier 1.1, 1,000 steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from tellapart._numeric.text import short
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.mechanisms.base import Mechanism, Sampling
from tellapart.mechanisms.catalogue import KINDS, PARAMETERS, WORD_PARAMETERS, WRAPPERS, Term, terms
from tellapart.mechanisms.combine import Combined, Sampled
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.subject import Subject

# Where "label value" is not what people say.
_SAID = {
    "steps": "{} steps",
    "epochs": "{} epochs",
    "batch_size": "batches of {}",
    "data_size": "{} records",
    "cutoff": "cut off at {}",
    "scale": "scale {}",
    "width": "width {}",
    "atom": "no noise with probability {}",
    "fraction": "high step {}",
    "power": "least error of power {}",
    "categories": "{} categories",
    "keep": "keeps a one with probability {}",
    "flip": "flips a zero with probability {}",
    "distance": "distance {}",
    "sampled": "subsampled at rate {}",
    "repeated": "{} times",
    "best_of": "best of {} runs",
    "answers": "{} positive answers",
    "keys": "{} keys",
    "threshold": "threshold {}",
    "zcdp": "ρ = {} (zCDP)",
}
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def text_in_words(text: str) -> str:
    """A mechanism that was typed, as a title.

    >>> text_in_words("dpsgd:noise_multiplier=1.1,sampling_rate=0.01,steps=1000")
    'DP-SGD, noise multiplier 1.1, sampling rate 0.01, 1,000 steps'
    >>> text_in_words("gaussian:sigma=2,repeated=10+any:epsilon=1,delta=1e-5")
    'Gaussian, σ = 2, 10 times, then any mechanism with ε = 1, δ = 1e-5'
    """
    first, *later = map(_term, terms(text))
    return ", then ".join([first, *(_lower(each) for each in later)])


def in_words(subject: Subject) -> str:
    """A mechanism or a guarantee as a title; its repr where it is nothing that has a name.

    >>> import tellapart as ta
    >>> in_words(ta.Gaussian(1.1).sampled(0.01).repeated(1_000))
    'Gaussian, σ = 1.1, subsampled at rate 0.01, 1,000 times'
    >>> in_words(ta.guarantee(epsilon=1, delta=1e-6))
    'Any mechanism with ε = 1, δ = 1e-6'
    """
    if isinstance(subject, GuaranteeCurve):
        return _promise({"epsilon": subject.claimed_epsilon, "delta": subject.claimed_delta})
    if isinstance(subject, GaussianCurve):
        return _promise({"mu": subject.mu})
    if not isinstance(subject, Mechanism):
        return subject.label
    said = _step(subject) if not isinstance(subject, Combined) else _steps(subject)
    return said or repr(subject)


def _steps(subject: Combined) -> str:
    parts = []
    for step, count in subject.steps():
        if not (said := _step(step)):
            return ""
        parts.append(f"{said}, {count:,} times" if count > 1 else said)
    first, *later = parts
    return ", then ".join([first, *map(_lower, later)])


def _step(step: Mechanism) -> str:
    """One step in words; empty where it is made from more than numbers that have names."""
    if isinstance(step, Sampled):
        if isinstance(step.base, Combined) or step.scheme is not Sampling.POISSON:
            return ""
        base = _step(step.base)
        return base and f"{base}, {_said('sampled', step.rate)}"
    numbers = {
        part.name: getattr(step, part.name)
        for part in fields(step)
        if part.init and (part.default is MISSING or getattr(step, part.name) != part.default)
    }
    if not numbers.keys() <= PARAMETERS.keys():
        return ""
    if isinstance(step, Promise):
        return _promise({"epsilon": step.epsilon, "delta": step.delta})
    first, *rest = _WORDS.split(type(step).__name__)
    known = [word if word in ("Laplace", "Gaussian") else word.lower() for word in rest]
    return ", ".join([" ".join([first, *known]), *_numbers(numbers)])


def _term(term: Term) -> str:
    kind = KINDS[term.name]
    if term.name != "any":
        return ", ".join([kind.words, *_numbers(term.values)])
    often = {key: term.values[key] for key in WRAPPERS if key in term.values}
    own = {key: value for key, value in term.values.items() if key not in often}
    return ", ".join([_promise(own), *_numbers(often)])


def _promise(numbers: Mapping[str, Any]) -> str:
    said = _numbers({key: value for key, value in numbers.items() if key != "delta" or value})
    return f"Any mechanism with {', '.join(said)}" if said else "Any mechanism"


def _numbers(values: Mapping[str, Any]) -> list[str]:
    return [_said(key, value) for key, value in values.items()]


def _said(key: str, value: float | str) -> str:
    if isinstance(value, str):
        word = WORD_PARAMETERS[key]
        return f"{word.label} {value}"
    whole = value == int(value) and abs(value) >= 1000
    number = f"{int(value):,}" if whole else short(value)
    parameter = PARAMETERS[key]
    symbol = f"{parameter.symbol} = {{}}" if parameter.symbol else f"{parameter.label} {{}}"
    said = _SAID.get(key, symbol).format(number)
    return said.removesuffix("s") if number == "1" and said.startswith("1 ") else said


def _lower(said: str) -> str:
    return said.replace("Any mechanism", "any mechanism", 1)
