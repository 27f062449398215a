"""Mechanisms with one parameter left open, to be chosen: what a page starts with, and its dials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tellapart import _checks
from tellapart.mechanisms.catalogue import NAMED, NamedFamily, Term, named_family, terms
from tellapart.web import _controls
from tellapart.web._controls import Choice, Control, Group, Line

# What can be chosen of each mechanism, the usual first, and what is then fixed.
FAMILIES: Mapping[str, Mapping[str, str]] = {
    "any": {"epsilon": "any:delta=1e-05", "mu": "any"},
    "laplace": {"epsilon": "laplace:sensitivity=1", "scale": "laplace:sensitivity=1"},
    "gaussian": {
        "sigma": "gaussian:sensitivity=1",
        "epsilon": "gaussian:delta=1e-05,sensitivity=1",
    },
    "gaussian-classic": {"epsilon": "gaussian-classic:delta=1e-05,sensitivity=1"},
    "discrete-laplace": {
        "epsilon": "discrete-laplace:sensitivity=1",
        "scale": "discrete-laplace:sensitivity=1",
    },
    "discrete-gaussian": {"sigma": "discrete-gaussian:sensitivity=1"},
    "truncated-laplace": {"epsilon": "truncated-laplace:delta=1e-05,sensitivity=1"},
    "staircase": {"epsilon": "staircase:sensitivity=1"},
    "uniform": {"width": "uniform:sensitivity=1", "delta": "uniform:sensitivity=1"},
    "randomized-response": {"epsilon": "randomized-response:categories=2"},
    "unary-encoding": {"epsilon": "unary-encoding"},
    "symmetric-unary-encoding": {"epsilon": "symmetric-unary-encoding"},
    "exponential": {"epsilon": "exponential"},
    "permute-and-flip": {"epsilon": "permute-and-flip"},
    "noisy-max": {"epsilon": "noisy-max"},
    "planar-laplace": {"epsilon": "planar-laplace:distance=1"},
    "dpsgd": {
        "noise_multiplier": "dpsgd:sampling_rate=0.01,steps=1000",
        "steps": "dpsgd:noise_multiplier=1,sampling_rate=0.01",
        "sampling_rate": "dpsgd:noise_multiplier=1,steps=1000",
    },
}
_OFTEN = ("repeated", "sampled")


def family(text: str, parameter: str) -> NamedFamily:
    """The family that a text leaves open; "" stands for the parameter that is chosen usually."""
    return named_family(text, parameter or None)


def settle(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
    """Values in which the mechanism leaves open what is to be chosen of it."""
    found = dict(values)
    text, parameter = str(found.get("mechanism", "")), str(found.get("parameter", ""))
    if not text:
        return found
    if changed == "mechanism":
        parameter = ""
    elif changed == "parameter":
        text = _leaving_open(text, parameter)
    found["mechanism"] = text
    # The usual one needs no word in a URL.
    usual = parameter and _usual(text) == parameter
    found["parameter"] = "" if usual else parameter
    return found


def _usual(text: str) -> str | None:
    return named_family(text).parameter


def _leaving_open(text: str, parameter: str) -> str:
    """What a page starts with to choose this parameter, with all numbers that stay."""
    now = terms(text)[0]
    start = FAMILIES[now.name].get(parameter)
    if start is None:
        return text
    (fixed,) = terms(start)
    kept = {key: x for key, x in now.values.items() if key in fixed.values or key in _OFTEN}
    return str(Term(now.name, {**fixed.values, **kept}))


def controls(text: str, parameter: str) -> tuple[Control, ...]:
    """Which mechanism, what to choose of it, and dials for all that stays fixed."""
    found = terms(text)
    if len(found) != 1:
        rule = "be one mechanism where a parameter is left open, not several joined by +"
        _checks.refuse("mechanism", rule, text)
    name, numbers = found[0].name, found[0].values
    asked = family(text, parameter).parameter
    starts = {one: next(iter(FAMILIES[one].values())) for one in NAMED if one in FAMILIES}
    which = Choice(
        "mechanism",
        "Mechanism",
        starts[name],
        [(start, _controls.title_of(one)) for one, start in starts.items()],
    )
    what = Choice(
        "parameter",
        "To be chosen",
        asked,
        [(key, _controls.label_of(key)) for key in dict.fromkeys([*FAMILIES[name], asked])],
    )
    own = [
        _controls.parameter(f"mechanism.0.{key}", key, value)
        for key, value in numbers.items()
        if key not in _OFTEN
    ]
    often = [
        _controls.parameter(f"mechanism.0.{key}", key, numbers.get(key, 1))
        for key in _OFTEN
        if key != asked
    ]
    fixed = [Group("Fixed", tuple(own))] if own else []
    many = [] if name == "dpsgd" else [Group("Many times, on a sample", tuple(often), folded=True)]
    typed = Line(
        "mechanism",
        "Mechanism as text",
        text,
        "name:key=value,… without the one that is to be chosen.",
    )
    return (which, what, *fixed, *many, typed)
