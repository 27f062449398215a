"""Mechanisms with one parameter left open, to be chosen: what a page starts with, and its dials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tellapart import _checks
from tellapart.mechanisms.catalogue import (
    KINDS,
    PARAMETERS,
    REPETITION,
    NamedFamily,
    Term,
    named_family,
    terms,
)
from tellapart.web import _controls
from tellapart.web._controls import Control, ControlGroup, Line, Select


def family(text: str, parameter: str) -> NamedFamily:
    """The family that a text leaves open; "" stands for the parameter that is chosen usually."""
    return named_family(text, parameter or None)


def settle(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
    """Values in which the mechanism leaves open what is to be chosen of it."""
    settled = dict(values)
    text, parameter = str(settled.get("mechanism", "")), str(settled.get("parameter", ""))
    if not text:
        return settled
    if changed == "mechanism":
        parameter = ""
    elif changed == "parameter":
        text = _leaving_open(text, parameter)
    settled["mechanism"] = text
    # The usual parameter needs no word in a URL.
    usual = parameter and named_family(text).parameter == parameter
    settled["parameter"] = "" if usual else parameter
    return settled


def _leaving_open(text: str, parameter: str) -> str:
    """What a page starts with to choose this parameter, with all numbers that stay."""
    now = terms(text)[0]
    start = KINDS[now.name].families().get(parameter)
    if start is None:
        return text
    (fixed,) = terms(start)
    kept = {key: x for key, x in now.values.items() if key in fixed.values or key in REPETITION}
    return str(Term(now.name, {**fixed.values, **kept}))


def controls(text: str, parameter: str) -> tuple[Control, ...]:
    """Which mechanism, what to choose of it, and dials for all that stays fixed."""
    parts = terms(text)
    if len(parts) != 1:
        rule = "be one mechanism where a parameter is left open, not several joined by +"
        _checks.refuse("mechanism", rule, text)
    name, numbers = parts[0].name, parts[0].values
    asked = family(text, parameter).parameter
    starts = {kind.name: next(iter(kind.families().values())) for kind in KINDS.values()}
    which = Select(
        "mechanism",
        "Mechanism",
        starts[name],
        [(start, KINDS[each].words) for each, start in starts.items()],
    )
    what = Select(
        "parameter",
        "To be chosen",
        asked,
        [(key, PARAMETERS[key].label) for key in dict.fromkeys([*KINDS[name].families(), asked])],
    )
    own = [
        _controls.parameter(f"mechanism.0.{key}", key, value)
        for key, value in numbers.items()
        if key not in REPETITION
    ]
    often = [
        _controls.parameter(f"mechanism.0.{key}", key, numbers.get(key, 1))
        for key in REPETITION
        if key != asked
    ]
    fixed = [ControlGroup("Fixed", tuple(own))] if own else []
    many = [ControlGroup("Many times, on a sample", tuple(often), folded=True)]
    if KINDS[name].composition:
        many = []
    typed = Line(
        "mechanism",
        "Mechanism as text",
        text,
        "name:key=value,… without the one that is to be chosen.",
    )
    return (which, what, *fixed, *many, typed)
