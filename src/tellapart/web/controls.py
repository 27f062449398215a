"""Controls of the page as data: what can be set, between what, and which way is more private.

The page makes native inputs of them, each with a label: a slider and the exact number beside it,
a list, a line of text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import Any

from tellapart._decimals import plain_exponent
from tellapart._numeric.text import Scale, short
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.catalogue import (
    KINDS,
    PARAMETERS,
    REPETITION,
    WORD_PARAMETERS,
    PrivateSide,
    Term,
    own_delta,
    parse,
    terms,
)
from tellapart.mechanisms.training import MOST_STEPS
from tellapart.risk.catalogue import DELTA, Argument
from tellapart.web import presets

# DP-SGD as people know it: by its records, batch size and epochs.
DP_SGD = "dpsgd:noise_multiplier=1.12,epochs=60,batch_size=256,data_size=60000"


def first_text(name: str) -> str:
    """The mechanism of this name that the page starts with."""
    return DP_SGD if name == "dpsgd" else KINDS[name].first_text


def typed(text: str, variable: str = "") -> str:
    """A mechanism or a promise as a person would write it in Python, by public names.

    ``variable`` is the parameter that the text leaves open, and that stands there by its name.

    >>> typed("dpsgd:noise_multiplier=1,sampling_rate=0.01,steps=1000")
    'ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=1000)'
    >>> typed("gaussian:sigma=2,sampled=0.1,repeated=9+any:epsilon=0.5")
    'ta.Gaussian(sigma=2).sampled(0.1).repeated(9).then(ta.Promise(epsilon=0.5))'
    """
    parts = terms(text)
    first, *later = (_written(term, len(parts) > 1, variable) for term in parts)
    return first + "".join(f".then({step})" for step in later)


def _written(term: Term, step: bool, variable: str) -> str:
    given = {**({variable: variable} if variable else {}), **term.values}
    own = {key: value for key, value in given.items() if key not in REPETITION}
    often = [key for key in ("sampled", "repeated") if key in given]
    way = next(way for way in KINDS[term.name].ways if way.fits(own))
    made = way.make.__qualname__
    if made == "guarantee" and (step or often):  # as a step: the worst mechanism that has it
        made = "Promise"
    said = ", ".join(f"{key}={_literal(key, value)}" for key, value in own.items())
    return f"ta.{made}({said})" + "".join(f".{key}({_literal(key, given[key])})" for key in often)


def _literal(key: str, value: float | str) -> str:
    if key in WORD_PARAMETERS:
        meant = WORD_PARAMETERS[key].words[str(value)][0]
        return "None" if meant is None else f"ta.{meant}"
    if isinstance(value, str):
        return value
    return f"{int(value)}" if float(value).is_integer() else plain_exponent(repr(value))


def typed_curve(text: str) -> str:
    """The curve of a mechanism or a promise, as a person would type it in Python."""
    return typed(text) + (".curve()" if isinstance(parse(text), Mechanism) else "")


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
    lead: bool = False  # whether it is the one that stays at hand on a phone
    locked: bool = False
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
    groups: Sequence[tuple[str, Sequence[tuple[str, str]]]] = ()  # further ones, under titles
    locked: bool = False
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
    """A file the person picks or drops; the server holds it in memory until the visit is over."""

    field: str
    label: str
    accept: str
    largest: int  # bytes
    help: str = ""
    instead_of: str = ""  # the tick that a file takes off
    once: bool = False  # whether it sets the page, and is not asked for again
    paste: str = ""  # what to say above a box for the text of a file, where there is one
    awaited: str = ""  # what a phone says at hand while nothing can be answered without a file
    kind: str = made(default="file", init=False)


@dataclass(frozen=True)
class Note:
    """Words beside controls: what follows from them."""

    text: str
    field: str = ""
    kind: str = made(default="note", init=False)


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
    controls: tuple[Dial | Select | Line | Tick | File | Note, ...]
    folded: bool = False
    kind: str = made(default="group", init=False)


Control = Dial | Select | Line | Tick | File | Note | Kept | ControlGroup


def held(controls: Sequence[Control]) -> dict[str, Any]:
    """What every control holds, by its field; of two for the same field, what the last holds."""
    values: dict[str, Any] = {}
    for control in controls:
        if isinstance(control, ControlGroup):
            values |= held(control.controls)
        elif not isinstance(control, Note | File):
            values[control.field] = control.value
    return values


def labelled(controls: Sequence[Control]) -> list[tuple[str, str]]:
    """The field of every dial, and what it is called on the page."""
    labels: list[tuple[str, str]] = []
    for control in controls:
        if isinstance(control, ControlGroup):
            labels += labelled(control.controls)
        elif isinstance(control, Dial):
            labels.append((control.field, control.label))
    return labels


def shape(controls: Sequence[Control]) -> str:
    """What the page must build anew for; values alone are set where they are."""
    parts = []
    for control in controls:
        if isinstance(control, ControlGroup):
            parts.append(f"{control.title}[{shape(control.controls)}]")
        elif isinstance(control, Select):
            offered = [value for value, _ in control.options]
            offered += [value for _, group in control.groups for value, _ in group]
            parts.append(f"{control.field}:{'|'.join(offered)}{control.locked or ''}")
        elif isinstance(control, Note):
            parts.append(control.text)
        else:
            locked = isinstance(control, Dial) and control.locked
            parts.append(f"{control.field}:{control.kind}{locked or ''}")
    return ";".join(parts)


def mechanism_choices() -> list[tuple[str, str]]:
    """Every mechanism: the text that a page starts it with, and its name for people."""
    return [(first_text(name), kind.words) for name, kind in KINDS.items()]


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
    """Controls for a mechanism: a preset, which, its numbers; and, folded, all else."""
    parts = known_terms(text)
    several = len(parts) > 1
    names = mechanism_choices()
    groups: list[Control] = []
    often: list[Dial | Select | Line | Note] = []
    for place, term in enumerate(parts):
        own = [
            parameter_dial(f"{field_name}.{place}.{key}", key, value)
            for key, value in own_numbers(term).items()
            if key not in REPETITION
        ]
        if place == 0 and own:
            own[0] = replace(own[0], lead=True)
        title = KINDS[term.name].words
        title = f"{place + 1}. {title}" if several else title
        words_of = word_selects(f"{field_name}.{place}", term)
        groups.append(ControlGroup(title, (*own, *words_of, *derived(term))))
        if several:
            often.append(Note(title))
        often += [
            parameter_dial(f"{field_name}.{place}.{key}", key, term.values.get(key, 1))
            for key in REPETITION
        ]
    chosen = next((start for start, _ in names if start.split(":")[0] == parts[0].name), "")
    which = Select(field_name, label, "" if several else chosen, names)
    if several:
        which = replace(which, options=[("", "a composition"), *names])
    often.append(Select(f"{field_name}.add", "Followed by", "", [("", "nothing more"), *names]))
    if several:
        every = [(str(k), f"{k + 1}. {KINDS[term.name].words}") for k, term in enumerate(parts)]
        often.append(Select(f"{field_name}.drop", "Leave out", "", [("", "none"), *every]))
    often.append(
        Line(
            field_name,
            f"{label} as text",
            text,
            "name:key=value,… ; every mechanism takes sampled=… and repeated=…; + composes them.",
        )
    )
    more = ControlGroup("Composition, subsampling, as text", tuple(often), folded=True)
    return (preset_select(field_name, text), which, *groups, more)


def preset_select(field_name: str, text: str) -> Select:
    """Common recipes and published releases, each a mechanism as text."""
    own = [("", "your own settings")]  # two releases may claim the same: none of them is chosen
    chosen = text if text in dict(presets.RECIPES) else ""
    return Select(f"{field_name}.preset", "Start from", chosen, own, groups=presets.GROUPS)


def derived(term: Term) -> tuple[Note, ...]:
    """Steps and sampling rate, where they follow from epochs, batch size and records."""
    known = term.values
    if not {"epochs", "batch_size", "data_size"} <= set(known):
        return ()
    epochs, batch, records = (known[key] for key in ("epochs", "batch_size", "data_size"))
    if not 0 < batch <= records < math.inf:  # refused, as is a schedule of too many steps
        return ()
    rounds, rate = epochs * records / batch, batch / records
    if not 0 < rounds <= MOST_STEPS:
        return ()
    steps = math.ceil(rounds - 1e-9)
    return (Note(f"{steps:,} steps, each on {short(100 * rate, 2)} % of the records"),)
