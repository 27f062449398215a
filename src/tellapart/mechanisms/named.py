"""Mechanisms by name, for people who type: ``laplace:epsilon=1,sensitivity=2``.

A name may be made in several ways, each from its own parameters; the parameters that are given
decide which is meant. ``any`` stands for every mechanism that keeps a promise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tellapart import _checks
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.choice import (
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    UnaryEncoding,
)
from tellapart.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    TruncatedLaplace,
)
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
_WHOLE = {"steps", "categories", "batch_size", "data_size"}


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
    def whole(self) -> bool:
        """Whether the parameter comes in whole numbers only."""
        return self.parameter in _WHOLE


def named(text: str, **given: float) -> Subject:
    """The mechanism, or the promise, that a short text stands for.

    >>> named("laplace:epsilon=1")
    Laplace(scale=1.0, sensitivity=1.0)
    >>> named("any:epsilon=1,delta=1e-5").bound
    <Bound.LOWER: 'lower'>
    """
    name, values = _parsed(text, given)
    for way in NAMED[name]:
        if set(way.needs) <= set(values) <= {*way.needs, *way.takes}:
            return way.make(**values)
    return _refuse(name, values)


def named_family(text: str, parameter: str | None = None, **given: float) -> NamedFamily:
    """The family that a short text leaves open in one parameter: in ε wherever it can be.

    >>> named_family("laplace").parameter, named_family("gaussian").parameter
    ('epsilon', 'sigma')
    >>> named_family("gaussian:delta=1e-5").parameter
    'epsilon'
    """
    name, values = _parsed(text, given)
    found: dict[str, Way] = {}
    for way in NAMED[name]:
        open_ones = set(way.needs) - set(values)
        if set(values) <= {*way.needs, *way.takes} and len(open_ones) == 1:
            found.setdefault(open_ones.pop(), way)
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
        return found[free].make(**{free: value}, **values)

    return NamedFamily(name, free, values, make)


def _parsed(text: str, given: Mapping[str, float]) -> tuple[str, dict[str, Any]]:
    if not isinstance(text, str):
        _checks.refuse("mechanism", "be a text such as laplace:epsilon=1", text)
    name, _, rest = text.strip().partition(":")
    if name not in NAMED:
        _checks.refuse("mechanism", f"be one of {', '.join(NAMED)}", text)
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
            return kind(value)
        except ValueError:
            continue
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
