"""Families of mechanisms with one parameter left open, to be chosen: their text and controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tellapart.mechanisms.catalogue import (
    KINDS,
    PARAMETERS,
    REPETITION,
    WORD_PARAMETERS,
    NamedFamily,
    Term,
    families,
    named_family,
    terms,
)
from tellapart.web.controls import (
    DP_SGD,
    Control,
    ControlGroup,
    Dial,
    Line,
    Note,
    Select,
    derived,
    parameter_dial,
    word_selects,
)


def family(text: str, parameter: str) -> NamedFamily:
    """The family that a text leaves open; "" stands for the parameter that is chosen usually."""
    return named_family(text, parameter or None)


def settle_family(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
    """Values in which the mechanism leaves open what is to be chosen of it."""
    settled = dict(values)
    text, parameter = str(settled.get("mechanism", "")), str(settled.get("parameter", ""))
    if not text:
        return settled
    text, parameter = left_open(text, parameter)
    if changed == "mechanism":
        parameter = ""
    elif changed == "parameter":
        text = _leaving_open(text, parameter)
    settled["mechanism"] = text
    # The usual parameter needs no word in a URL.
    usual = parameter and named_family(text).parameter == parameter
    settled["parameter"] = "" if usual else parameter
    return settled


def left_open(text: str, parameter: str) -> tuple[str, str]:
    """A mechanism that says all, without what is to be chosen of it; and what that is."""
    parts = terms(text)
    if len(parts) != 1 or parts[0].name not in KINDS:
        return text, parameter
    (term,) = parts
    own = [key for key in term.values if key not in REPETITION]
    if not any(way.fits(own) for way in KINDS[term.name].ways):
        return text, parameter
    for key in (parameter, *families(KINDS[term.name])):
        if key in term.values:
            kept = {name: x for name, x in term.values.items() if name != key}
            return str(Term(term.name, kept)), key
    if term.name == "dpsgd":  # made by its ε: the noise is chosen anew
        aim = ("epsilon", "delta")
        kept = {name: x for name, x in term.values.items() if name not in aim}
        return str(Term(term.name, kept)), "noise_multiplier"
    return text, parameter


def _leaving_open(text: str, parameter: str) -> str:
    """What a page starts with to choose this parameter, with all numbers that stay."""
    now = terms(text)[0]
    start = families(KINDS[now.name]).get(parameter)
    if start is None:
        return text
    (fixed,) = terms(start)
    stay = {*fixed.values, *REPETITION, *WORD_PARAMETERS}
    kept = {key: x for key, x in now.values.items() if key in stay}
    return str(Term(now.name, {**fixed.values, **kept}))


def family_start(name: str) -> str:
    """The text that leaves open what is usually chosen of a mechanism."""
    if name == "dpsgd":
        return DP_SGD.replace("noise_multiplier=1.12,", "")
    return next(iter(families(KINDS[name]).values()))


def family_controls(text: str, parameter: str) -> tuple[Control, ...]:
    """Which mechanism, what to choose of it, and dials for all that stays fixed."""
    asked = family(text, parameter).parameter
    (term,) = terms(text)
    name = term.name
    numbers = {key: value for key, value in term.values.items() if key not in WORD_PARAMETERS}
    starts = {kind.name: family_start(kind.name) for kind in KINDS.values() if families(kind)}
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
        [(key, PARAMETERS[key].label) for key in dict.fromkeys([*families(KINDS[name]), asked])],
    )
    own = [
        parameter_dial(f"mechanism.0.{key}", key, value)
        for key, value in numbers.items()
        if key not in REPETITION
    ]
    often = [
        parameter_dial(f"mechanism.0.{key}", key, numbers.get(key, 1))
        for key in REPETITION
        if key != asked
    ]
    held: tuple[Dial | Select | Note, ...] = (
        *own,
        *word_selects("mechanism.0", term),
        *derived(term),
    )
    fixed = [ControlGroup("Fixed", held)] if held else []
    many = [ControlGroup("Composition and subsampling", tuple(often), folded=True)]
    if KINDS[name].composition:
        many = []
    typed = Line(
        "mechanism",
        "Mechanism as text",
        text,
        "name:key=value,… without the one that is to be chosen.",
    )
    return (which, what, *fixed, *many, typed)
