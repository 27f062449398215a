"""Controls of the page as data: what can be set, between what, and which way is more private.

The page makes native inputs of them, each with a label: a slider and the exact number beside it,
a list, a line of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from dataclasses import field as made
from typing import Any

from tellapart._numeric.text import Scale
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue import (
    KINDS,
    PARAMETERS,
    REPETITION,
    WORD_PARAMETERS,
    NamedFamily,
    PrivateSide,
    Term,
    named_family,
    own_delta,
    parse,
    terms,
)
from tellapart.risk.catalogue import DELTA, Argument


def typed_curve(text: str) -> str:
    """The curve of a mechanism or a promise, as a person would type it in Python."""
    return f"ta.parse({text!r})" + (".curve()" if isinstance(parse(text), Mechanism) else "")


@dataclass(frozen=True)
class Dial:
    """A number: a slider for the hand and a field for the exact value."""

    field: str
    label: str
    value: float
    low: float
    high: float
    scale: Scale = Scale.LOG
    private: PrivateSide = PrivateSide.NEITHER
    ends: tuple[str, str] | None = None  # what the ends mean, where privacy is not what changes
    help: str = ""
    kind: str = made(default="dial", init=False)


@dataclass(frozen=True)
class Select:
    """One of several, each with its words."""

    field: str
    label: str
    value: str
    options: Sequence[tuple[str, str]]
    help: str = ""
    as_buttons: bool = False
    kind: str = made(default="choice", init=False)


@dataclass(frozen=True)
class Line:
    """A line of text, read when it is left or Enter is pressed."""

    field: str
    label: str
    value: str
    help: str = ""
    kind: str = made(default="line", init=False)


@dataclass(frozen=True)
class Tick:
    """Yes or no."""

    field: str
    label: str
    value: bool
    help: str = ""
    kind: str = made(default="tick", init=False)


@dataclass(frozen=True)
class File:
    """A file the person picks or drops; it stays in memory."""

    field: str
    label: str
    accept: str
    largest: int  # bytes
    help: str = ""
    instead_of: str = ""  # the tick that a file takes off
    once: bool = False  # whether it sets the page, and is not asked for again
    paste: str = ""  # what to say above a box for the text of a file, where there is one
    kind: str = made(default="file", init=False)


@dataclass(frozen=True)
class Kept:
    """A value that nothing on the page shows now, and that must not be lost meanwhile."""

    field: str
    value: str | float
    kind: str = made(default="kept", init=False)


@dataclass(frozen=True)
class ControlGroup:
    """Controls that belong together; ``folded`` ones are for those who ask."""

    title: str
    controls: tuple[Dial | Select | Line | Tick | File, ...]
    folded: bool = False
    kind: str = made(default="group", init=False)


Control = Dial | Select | Line | Tick | File | Kept | ControlGroup


def as_data(controls: Sequence[Control]) -> list[dict[str, Any]]:
    """Controls as the page reads them."""
    return [asdict(control) for control in controls]


def shape(controls: Sequence[Control]) -> str:
    """What the page must build anew for; values alone are set where they are."""
    parts = []
    for control in controls:
        if isinstance(control, ControlGroup):
            parts.append(f"{control.title}[{shape(control.controls)}]")
        elif isinstance(control, Select):
            parts.append(f"{control.field}:{'|'.join(value for value, _ in control.options)}")
        else:
            parts.append(f"{control.field}:{control.kind}")
    return ";".join(parts)


def picture_select(value: str, kinds: Sequence[tuple[str, str]]) -> Select:
    """Buttons for what is drawn."""
    return Select("picture", "Picture", value, kinds, as_buttons=True)


def mechanism_choices() -> list[tuple[str, str]]:
    """Every mechanism: the text that a page starts it with, and its name for people."""
    return [(kind.first_text, kind.words) for kind in KINDS.values()]


def parameter_dial(field_name: str, key: str, value: float) -> Dial:
    """The dial for one parameter of a mechanism."""
    said = PARAMETERS[key]
    return Dial(
        field_name,
        said.label,
        value,
        said.low,
        said.high,
        said.scale,
        said.private_side,
        said.ends,
    )


def word_selects(field_name: str, term: Term) -> list[Select]:
    """Lists for the parameters of a mechanism that are one of several words."""
    asked = [WORD_PARAMETERS[key] for key in KINDS[term.name].parameters if key in WORD_PARAMETERS]
    return [
        Select(
            f"{field_name}.{each.key}",
            each.label.capitalize(),
            str(term.values.get(each.key, each.usual)),
            [(word, people) for word, (_, people) in each.words.items()],
        )
        for each in asked
    ]


def attacker_dial(argument: Argument, value: float) -> Dial:
    """The dial for what measures ask about the attacker."""
    return Dial(
        argument.key, argument.label, value, argument.low, argument.high, ends=argument.ends
    )


def unsaid(name: str, key: str) -> float | str | None:
    """What goes without saying: once, on all records, and that a guarantee's δ is 0."""
    if key in WORD_PARAMETERS:
        return WORD_PARAMETERS[key].usual
    if (name, key) == ("any", "delta"):
        return 0.0
    return 1.0 if key in REPETITION else None


def own_numbers(term: Term) -> dict[str, float]:
    """What a mechanism's dials show: a guarantee of ε alone has a δ, too."""
    numbers = {key: value for key, value in term.values.items() if key not in WORD_PARAMETERS}
    if term.name == "any" and "epsilon" in numbers:
        return {"epsilon": numbers["epsilon"], "delta": 0.0, **numbers}
    return numbers


def delta_dial(label: str, value: float) -> Dial:
    """The δ at which ε is reported: which point of the curve is named, nothing that is changed."""
    return replace(attacker_dial(DELTA, value), field="at_delta", label=label)


def told_at(text: str, at_delta: float) -> float:
    """The δ of every ε: that of the mechanism where it has one, else the one that was dialled."""
    own = own_delta(text)
    return at_delta if own is None else own


def delta_dials(label: str, text: str, at_delta: float) -> tuple[Dial, ...]:
    """A dial for that δ, unless the mechanism has one for it."""
    return (delta_dial(label, at_delta),) if own_delta(text) is None else ()


def at_delta_option(text: str, at_delta: float) -> str:
    """The same δ on a command line, which takes a mechanism's own from its text."""
    return f" --at-delta {at_delta!r}" if own_delta(text) is None else ""


def known_terms(text: str) -> tuple[Term, ...]:
    """What a text is made of; refused as the library does where it has a dial for none of it."""
    parts = terms(text)
    known = {*PARAMETERS, *WORD_PARAMETERS}
    if any(key not in known for term in parts for key in term.values):
        parse(text)
    return parts


def mechanism(field_name: str, text: str, label: str = "Mechanism") -> tuple[Control, ...]:
    """Controls for a mechanism: which, its numbers, how often, on what share; and as text."""
    parts = known_terms(text)
    several = len(parts) > 1
    names = mechanism_choices()
    groups: list[Control] = []
    for place, term in enumerate(parts):
        own = [
            parameter_dial(f"{field_name}.{place}.{key}", key, value)
            for key, value in own_numbers(term).items()
            if key not in REPETITION
        ]
        often = [
            parameter_dial(f"{field_name}.{place}.{key}", key, term.values.get(key, 1))
            for key in REPETITION
        ]
        words = KINDS[term.name].words
        title = f"{place + 1}. {words}" if several else words
        words_of = word_selects(f"{field_name}.{place}", term)
        groups.append(ControlGroup(title, (*own, *words_of)))
        groups.append(ControlGroup("Composition and subsampling", tuple(often), folded=True))
    chosen = next((start for start, _ in names if start.split(":")[0] == parts[0].name), "")
    which = Select(field_name, label, chosen, names)
    again = [("", "nothing more"), *names]
    add = Select(f"{field_name}.add", "Followed by", "", again)
    typed = Line(
        field_name,
        f"{label} as text",
        text,
        "name:key=value,… ; every mechanism takes sampled=… and repeated=…; + composes them.",
    )
    if not several:
        return (which, *groups, add, typed)
    every = [(str(k), f"{k + 1}. {KINDS[term.name].words}") for k, term in enumerate(parts)]
    drop = Select(f"{field_name}.drop", "Leave out", "", [("", "none"), *every])
    return (*groups, add, drop, typed)


# -- mechanisms with one parameter left open, to be chosen ----------------------------------------


def family(text: str, parameter: str) -> NamedFamily:
    """The family that a text leaves open; "" stands for the parameter that is chosen usually."""
    return named_family(text, parameter or None)


def settle_family(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
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
    stay = {*fixed.values, *REPETITION, *WORD_PARAMETERS}
    kept = {key: x for key, x in now.values.items() if key in stay}
    return str(Term(now.name, {**fixed.values, **kept}))


def family_controls(text: str, parameter: str) -> tuple[Control, ...]:
    """Which mechanism, what to choose of it, and dials for all that stays fixed."""
    asked = family(text, parameter).parameter
    (term,) = terms(text)
    name = term.name
    numbers = {key: value for key, value in term.values.items() if key not in WORD_PARAMETERS}
    starts = {
        kind.name: next(iter(families.values()))
        for kind in KINDS.values()
        if (families := kind.families())
    }
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
        parameter_dial(f"mechanism.0.{key}", key, value)
        for key, value in numbers.items()
        if key not in REPETITION
    ]
    often = [
        parameter_dial(f"mechanism.0.{key}", key, numbers.get(key, 1))
        for key in REPETITION
        if key != asked
    ]
    held: tuple[Dial | Select, ...] = (*own, *word_selects("mechanism.0", term))
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
