"""Controls as HTML: native inputs, each with its label, that a script finds by their fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from math import log
from typing import Any

from tellapart.decision.missing import TODO, UNSET, unsaid
from tellapart.web.controls import (
    Control,
    ControlGroup,
    Dial,
    File,
    Kept,
    Line,
    Note,
    Select,
    Tick,
)
from tellapart.web.html.markup import Html, element, identifier, together

STEPS = 1000  # of a slider


def controls(made: Sequence[Control]) -> Html:
    """Native inputs, each with its label."""
    return together(*map(_control, made))


def bar(made: Sequence[Control]) -> Html:
    """The one dial that stays at hand on a phone, where there is one."""
    dials = [each for each in _flat(made) if isinstance(each, Dial)]
    lead = next((each for each in dials if each.lead), dials[0] if dials else None)
    if lead is None:
        return Html("")
    return _dial(lead, "b")


def _flat(made: Sequence[Control]) -> list[Control]:
    return [
        inner
        for each in made
        for inner in (each.controls if isinstance(each, ControlGroup) else (each,))
    ]


def _control(one: Control) -> Html:
    match one:
        case ControlGroup():
            return _group(one)
        case Dial():
            return _dial(one, "c")
        case Select():
            return _radios(one) if one.as_buttons else _select(one)
        case Line():
            return _line(one)
        case Tick():
            return _tick(one)
        case File():
            return _file(one)
        case Note():
            return element("p", one.text, class_="quiet note")
        case Kept():
            return element("span", hidden=True, data_field=one.field, data_kept=str(one.value))


def _group(one: ControlGroup) -> Html:
    inside = controls(one.controls)
    if not one.folded:
        return element("fieldset", element("legend", one.title), inside, class_="group")
    # What is set in it is seen.
    opened = any(isinstance(each, Dial) and each.value != 1 for each in one.controls)
    summary = element("summary", one.title)
    return element("details", summary, inside, class_="group", open=opened)


def _field(one: Any, kind: str, *inside: Html | None) -> Html:
    told = element("p", one.help, class_="quiet") if one.help else None
    return element("div", *inside, told, class_=f"control {kind}", data_field=one.field)


def _dial(one: Dial, place: str) -> Html:
    own = identifier(place, one.field)
    ends = one.ends or {
        "larger": ("less private", "more private"),
        "smaller": ("more private", "less private"),
    }.get(one.private)
    words = None
    if ends:
        both = [element("span", f"← {ends[0]}"), element("span", f"{ends[1]} →")]
        words = element("div", *both, class_="ends", id=f"{own}-ends")
    shown = number(one.value)
    return _field(
        one,
        "dial",
        element("label", one.label, for_=own, id=f"{own}-label"),
        element(
            "input", type="text", inputmode="decimal", id=own, value=shown, autocomplete="off",
            spellcheck="false", data_exact=True, disabled=one.locked,
        ),
        element(
            "input", type="range", min=0, max=STEPS, step=1, id=f"{own}-slider",
            aria_labelledby=f"{own}-label", aria_valuetext=shown, data_low=one.low,
            data_high=one.high, data_scale=one.scale, value=_position(one),
            aria_describedby=f"{own}-ends" if ends else None, disabled=one.locked,
        ),
        words,
    )  # fmt: skip


def number(value: float) -> str:
    """A number as a field holds it.

    >>> number(60000.0), number(0.01), number(1e-5)
    ('60000', '0.01', '1e-5')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = repr(float(value))
    return re.sub(r"e([+-])0?", lambda found: "e" + found[1].replace("+", ""), text)


def _position(one: Dial) -> int:
    """Where on its slider a number lies; the script has the same formula."""
    if one.scale == "linear":
        share = (one.value - one.low) / (one.high - one.low)
    else:
        share = log(max(one.value, one.low) / one.low) / log(one.high / one.low)
    return round(STEPS * min(1.0, max(0.0, share)))


def _select(one: Select) -> Html:
    own = identifier("c", one.field)
    options = [_option(one, *each) for each in one.options]
    groups = [
        element("optgroup", *(_option(one, *each) for each in inside), label=title)
        for title, inside in one.groups
    ]
    label = element("label", one.label, for_=own)
    return _field(one, "list", label, element("select", *options, *groups, id=own,
                                              disabled=one.locked))  # fmt: skip


def _option(one: Select, value: str, words: str) -> Html:
    return element("option", words, value=value, selected=value == one.value)


def _radios(one: Select) -> Html:
    name = identifier("c", one.field)
    radios = []
    for k, (value, words) in enumerate(one.options):
        own = f"{name}-{k}"
        radio = element("input", type="radio", name=name, id=own, value=value,
                        checked=value == one.value, disabled=one.locked)  # fmt: skip
        radios.append(element("label", radio, element("span", words), for_=own))
    told = element("p", one.help, class_="quiet") if one.help else None
    legend = element("legend", one.label)
    return element("fieldset", legend, *radios, told, class_="control choice",
                   data_field=one.field)  # fmt: skip


def _line(one: Line) -> Html:
    own = identifier("t", one.field)
    todo = unsaid(one.value)  # what is still to be said is no text to delete first
    hint = f"such as {date.today()}" if one.value == str(UNSET) else one.value.removeprefix(TODO)
    box = element("input", type="text", id=own, value="" if todo else one.value,
                  placeholder=hint if todo else None, data_unsaid=one.value if todo else None,
                  spellcheck="false", autocomplete="off", data_typed=True)  # fmt: skip
    return _field(one, "line", element("label", one.label, for_=own), box)


def _tick(one: Tick) -> Html:
    own = identifier("c", one.field)
    box = element("input", type="checkbox", id=own, checked=one.value)
    return _field(one, "tick", box, element("label", one.label, for_=own))


def _file(one: File) -> Html:
    own = identifier("c", one.field)
    parts = [
        element("label", one.label, for_=own),
        element("input", type="file", id=own, accept=one.accept, data_largest=one.largest,
                data_once=one.once, data_instead=one.instead_of or None),
        element("p", class_="said", role="status"),
    ]  # fmt: skip
    if not one.once:
        parts.append(element("button", "Remove file", type="button", hidden=True,
                             data_removes=True))  # fmt: skip
    if one.paste:
        parts.append(element("label", one.paste, for_=f"{own}-paste"))
        parts.append(element("textarea", id=f"{own}-paste", rows=3, spellcheck="false",
                             autocomplete="off"))  # fmt: skip
    return _field(one, "file", *parts)
