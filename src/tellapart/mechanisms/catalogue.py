"""Mechanisms by name, for people who type: ``laplace:epsilon=1,sensitivity=2``.

A name may be made in several ways, each from its own parameters; the parameters that are given
decide which is meant. ``any`` stands for every mechanism that keeps a promise. Every mechanism
also takes ``sampled`` and ``repeated``, and ``+`` puts one after another:
``gaussian:sigma=2,sampled=0.01,repeated=100+laplace:epsilon=0.5``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tellapart import _checks
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.combine import compose
from tellapart.mechanisms.custom import Promise
from tellapart.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from tellapart.mechanisms.noise import Gaussian, Laplace, TruncatedLaplace
from tellapart.mechanisms.shapes import PlanarLaplace, Staircase, UniformNoise
from tellapart.mechanisms.subject import Subject
from tellapart.mechanisms.training import dp_sgd, dp_sgd_with_epsilon


@dataclass(frozen=True)
class Way:
    """One way to make a subject: from these parameters, the latter of which may be left out."""

    make: Callable[..., Subject]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ",".join([f"{one}=…" for one in self.needs] + [f"[{one}=…]" for one in self.takes])


_SCALED = ("sensitivity",)

NAMED: Mapping[str, tuple[Way, ...]] = {
    "any": (
        Way(guarantee, ("epsilon",), ("delta",)),
        Way(guarantee, ("mu",)),
        Way(guarantee, ("zcdp",)),
    ),
    "laplace": (
        Way(Laplace.with_epsilon, ("epsilon",), _SCALED),
        Way(Laplace, ("scale",), _SCALED),
    ),
    "gaussian": (
        Way(Gaussian, ("sigma",), _SCALED),
        Way(Gaussian.analytic, ("epsilon", "delta"), _SCALED),
    ),
    "gaussian-classic": (Way(Gaussian.classic, ("epsilon", "delta"), _SCALED),),
    "discrete-laplace": (
        Way(DiscreteLaplace.with_epsilon, ("epsilon",), _SCALED),
        Way(DiscreteLaplace, ("scale",), _SCALED),
    ),
    "discrete-gaussian": (Way(DiscreteGaussian, ("sigma",), _SCALED),),
    "truncated-laplace": (
        Way(TruncatedLaplace.with_epsilon, ("epsilon", "delta"), _SCALED),
        Way(TruncatedLaplace, ("scale", "cutoff"), _SCALED),
    ),
    "staircase": (Way(Staircase, ("epsilon",), ("sensitivity", "fraction")),),
    "uniform": (
        Way(UniformNoise, ("width",), ("atom", "sensitivity")),
        Way(UniformNoise.optimal, ("delta",), ("sensitivity", "power")),
    ),
    "randomized-response": (Way(RandomizedResponse, ("epsilon",), ("categories",)),),
    "unary-encoding": (
        Way(UnaryEncoding.optimised, ("epsilon",)),
        Way(UnaryEncoding, ("keep", "flip")),
    ),
    "symmetric-unary-encoding": (Way(UnaryEncoding.symmetric, ("epsilon",)),),
    "exponential": (Way(ExponentialMechanism, ("epsilon",)),),
    "permute-and-flip": (Way(PermuteAndFlip, ("epsilon",)),),
    "noisy-max": (Way(ReportNoisyMax, ("epsilon",)),),
    "planar-laplace": (Way(PlanarLaplace, ("epsilon",), ("distance",)),),
    "dpsgd": (
        Way(dp_sgd, ("noise_multiplier", "sampling_rate", "steps")),
        Way(dp_sgd, ("noise_multiplier", "epochs", "batch_size", "data_size")),
        Way(dp_sgd_with_epsilon, ("epsilon", "delta", "sampling_rate", "steps")),
        Way(dp_sgd_with_epsilon, ("epsilon", "delta", "epochs", "batch_size", "data_size")),
    ),
}

# A larger value of these means more privacy: more noise, or more people to hide among.
_PRIVATE = {"sigma", "scale", "width", "cutoff", "flip", "noise_multiplier", "data_size"}
# These come in whole numbers only.
_WHOLE = {"steps", "categories", "batch_size", "data_size", "repeated"}
# What every mechanism takes beside its own parameters: on a sample, and how often.
_OFTEN = ("sampled", "repeated")
_THEN = re.compile(r"\+(?=\s*[a-zA-Z])")  # the plus of 1e+5 has a digit after it


@dataclass(frozen=True)
class NamedFamily:
    """What a name leaves open: a family in one parameter, and which way it grows."""

    name: str
    parameter: str
    fixed: Mapping[str, float]
    make: Callable[[float], Subject]

    @property
    def grows_private(self) -> bool:
        """Whether a larger parameter means more privacy."""
        return self.parameter in _PRIVATE

    @property
    def composed(self) -> bool:
        """Whether the parameter is that of one step among several, or on a sample."""
        return any(key in self.fixed for key in _OFTEN)

    @property
    def slow(self) -> bool:
        """Whether what it makes are compositions, which take more than a formula."""
        return self.composed or self.name == "dpsgd"

    @property
    def whole(self) -> bool:
        """Whether the parameter comes in whole numbers only."""
        return self.parameter in _WHOLE


@dataclass(frozen=True)
class Term:
    """One mechanism of a text, as it was typed: its name and its numbers."""

    name: str
    values: Mapping[str, float]

    def __str__(self) -> str:
        numbers = ",".join(f"{key}={_short(value)}" for key, value in self.values.items())
        return f"{self.name}:{numbers}" if numbers else self.name


def terms(text: str) -> tuple[Term, ...]:
    """What a text is made of, whether or not it is complete.

    >>> [str(one) for one in terms("gaussian:sigma=2 , repeated=1e1 + laplace")]
    ['gaussian:sigma=2,repeated=10', 'laplace']
    """
    return tuple(Term(*_parsed(one, {})) for one in _terms(text))


def _short(value: float) -> str:
    """The shortest text that reads back as the same number."""
    whole = abs(value) < 1e6 and value == int(value)
    return str(int(value)) if whole else repr(float(value))


def named(text: str, **given: float) -> Subject:
    """The mechanism, or the promise, that a short text stands for.

    >>> named("laplace:epsilon=1")
    Laplace(scale=1.0, sensitivity=1.0)
    >>> named("any:epsilon=1,delta=1e-5").bound
    <Bound.LOWER: 'lower'>
    >>> named("gaussian:sigma=2,sampled=0.1,repeated=9")
    Repeated(base=Sampled(base=Gaussian(sigma=2.0, sensitivity=1.0), rate=0.1), times=9)
    """
    first, *later = _terms(text)
    if not later:
        return _made(first, given)
    return compose([_step(_made(first, given), first), *(_step(_made(x, {}), x) for x in later)])


def _terms(text: str) -> list[str]:
    if not isinstance(text, str):
        _checks.refuse("mechanism", "be a text such as laplace:epsilon=1", text)
    return [one.strip() for one in _THEN.split(text)]


def _made(text: str, given: Mapping[str, float]) -> Subject:
    name, values, often = _apart(text, given)
    for way in NAMED[name]:
        if set(way.needs) <= set(values) <= {*way.needs, *way.takes}:
            return _taken(way.make(**values), often, text)
    return _refuse(name, values)


def _taken(subject: Subject, often: Mapping[str, float], text: str) -> Subject:
    """The subject on a sample, and so many times over."""
    if not often:
        return subject
    step = _step(subject, text)
    if "sampled" in often:
        step = step.sampled(often["sampled"])
    if "repeated" in often:
        step = step.repeated(_checks.whole(1, repeated=often["repeated"]))
    return step


def _step(subject: Subject, text: str) -> Mechanism:
    """A subject as a step of a composition: of a promise, the worst mechanism that keeps it."""
    if isinstance(subject, Mechanism):
        return subject
    if isinstance(subject, GuaranteeCurve):
        return Promise(subject.claimed_epsilon, subject.claimed_delta)
    rule = "compose a mechanism or a promise of epsilon and delta, not one of mu or zcdp"
    return _checks.refuse("mechanism", rule, text)


def named_family(text: str, parameter: str | None = None, **given: float) -> NamedFamily:
    """The family that a short text leaves open in one parameter: in ε wherever it can be.

    >>> named_family("laplace").parameter, named_family("gaussian").parameter
    ('epsilon', 'sigma')
    >>> named_family("gaussian:delta=1e-5").parameter
    'epsilon'
    """
    if len(_terms(text)) > 1:
        rule = "be one mechanism where a parameter is left open, not several joined by +"
        _checks.refuse("mechanism", rule, text)
    name, values, often = _apart(text, given)
    found = _left_open(name, values)
    if parameter is not None:
        if parameter not in found:
            rule = f"be one that {text!r} leaves open ({', '.join(found) or 'none'})"
            _checks.refuse("parameter", rule, parameter)
        found = {parameter: found[parameter]}
    if not found:
        options = " or ".join(dict.fromkeys(one for way in NAMED[name] for one in way.needs))
        rule = f"leave one parameter of {name} open ({options}; ways to make it: {_ways(name)})"
        _checks.refuse("mechanism", rule, text)
    free = "epsilon" if "epsilon" in found else next(iter(found))

    def make(value: float) -> Subject:
        return _taken(found[free].make(**{free: value}, **values), often, text)

    return NamedFamily(name, free, {**values, **often}, make)


def open_parameters(text: str, **given: float) -> tuple[str, ...]:
    """What one mechanism leaves to be chosen: each of these alone would complete it.

    >>> open_parameters("gaussian"), open_parameters("gaussian", delta=1e-6)
    (('sigma',), ('epsilon',))
    """
    name, values, _ = _apart(text, given)
    return tuple(_left_open(name, values))


def takes_delta(text: str, **given: float) -> bool:
    """Whether a δ among these, and not in the text, completes the first mechanism.

    >>> takes_delta("gaussian", epsilon=1, delta=1e-6), takes_delta("gaussian", sigma=2, delta=1e-6)
    (True, False)
    """
    first = _terms(text)[0]
    if "delta" in terms(first)[0].values:
        return False
    name, values, _ = _apart(first, given)
    return any(set(way.needs) <= set(values) <= {*way.needs, *way.takes} for way in NAMED[name])


def own_delta(text: str) -> float | None:
    """The δ in which a mechanism is told; None where it has none, or it is that of a step.

    >>> own_delta("gaussian:epsilon=1,delta=1e-6"), own_delta("any:epsilon=1,delta=1e-6,repeated=9")
    (1e-06, None)
    """
    return None if is_composed(text) else terms(text)[0].values.get("delta")


def is_composed(text: str) -> bool:
    """Whether a text is of several steps or of a sample, so that a δ in it is not that of all."""
    first, *later = terms(text)
    return bool(later) or any(key in first.values for key in _OFTEN)


def labelled(text: str, given: Mapping[str, float]) -> str:
    """A text with numbers that were given beside it, which are those of its first mechanism.

    >>> labelled("gaussian+laplace:epsilon=1", {"sigma": 2})
    'gaussian:sigma=2+laplace:epsilon=1'
    """
    first, *later = _terms(text)
    numbers = ",".join(f"{key}={value:g}" for key, value in given.items())
    if numbers:
        first = f"{first}{',' if ':' in first else ':'}{numbers}"
    return "+".join([first, *later]) if numbers else text


def _apart(text: str, given: Mapping[str, float]) -> tuple[str, dict[str, Any], dict[str, float]]:
    """A name, its own numbers, and on what sample and how often."""
    name, values = _parsed(text, given)
    often = {key: values.pop(key) for key in _OFTEN if key in values}
    return name, values, often


def _left_open(name: str, values: Mapping[str, float]) -> dict[str, Way]:
    """The parameters of which one alone is missing, and the way that it completes."""
    found: dict[str, Way] = {}
    for way in NAMED[name]:
        missing = set(way.needs) - set(values)
        if set(values) <= {*way.needs, *way.takes} and len(missing) == 1:
            found.setdefault(missing.pop(), way)
    return found


def _parsed(text: str, given: Mapping[str, float]) -> tuple[str, dict[str, Any]]:
    name, _, rest = text.strip().partition(":")
    if name not in NAMED:
        near = get_close_matches(name.lower(), NAMED, n=1)
        perhaps = f" (did you mean {near[0]}?)" if near else ""
        _checks.refuse("mechanism", f"be one of {', '.join(NAMED)}{perhaps}", text)
    values = {key: _checks.number(**{key: value}) for key, value in given.items()}
    for item in rest.split(",") if rest else []:
        key, _, value = (part.strip() for part in item.partition("="))
        if key in values:
            _checks.refuse("mechanism", f"give {key} only once", text)
        values[key] = _number(key, value, text)
    return name, values


def _number(key: str, value: str, text: str) -> float:
    for kind in (int, float):
        try:
            found = kind(value)
        except ValueError:
            continue
        if abs(found) > sys.float_info.max:
            _checks.refuse("mechanism", f"have a {key} that a double can hold", text[:80])
        return found
    rule = "be written as name:key=number,key=number"
    return _checks.refuse("mechanism", f"{rule} ({key or value!r} has no number)", text)


def _ways(name: str) -> str:
    return " or ".join(f"{name}:{way}" for way in NAMED[name])


def _refuse(name: str, values: Mapping[str, float]) -> Subject:
    got = ",".join(f"{key}={value:g}" for key, value in values.items())
    shown = f"{name}:{got}" if got else name
    lacking = [
        [one for one in way.needs if one not in values]
        for way in NAMED[name]
        if values and set(values) <= {*way.needs, *way.takes}
    ]
    if lacking:
        said = dict.fromkeys(" and ".join(one) for one in sorted(lacking, key=len))
        return _checks.refuse("mechanism", f"have {' or '.join(said)}, too", shown)
    return _checks.refuse("mechanism", f"be given as {_ways(name)}", shown)
