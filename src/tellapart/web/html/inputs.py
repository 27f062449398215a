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
    """The one dial that stays at hand on a phone, where there is one; or what comes first."""
    each_control = _flat(made)
    awaited = [each.awaited for each in each_control if isinstance(each, File) and each.awaited]
    if awaited:
        return element("p", awaited[0])
    dials = [each for each in each_control if isinstance(each, Dial)]
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


def _control(control: Control) -> Html:
    match control:
        case ControlGroup():
            return _group(control)
        case Dial():
            return _dial(control, "c")
        case Select():
            return _radios(control) if control.as_buttons else _select(control)
        case Line():
            return _line(control)
        case Tick():
            return _tick(control)
        case File():
            return _file(control)
        case Note():
            return element("p", control.text, class_="quiet note")
        case Kept():
            return element(
                "span", hidden=True, data_field=control.field, data_kept=str(control.value)
            )


def _group(group: ControlGroup) -> Html:
    inside = controls(group.controls)
    if not group.folded:
        return element("fieldset", element("legend", group.title), inside, class_="group")
    # What is set in it is seen.
    opened = any(isinstance(each, Dial) and each.value != 1 for each in group.controls)
    summary = element("summary", group.title)
    return element("details", summary, inside, class_="group", open=opened)


def _field(control: Any, kind: str, *inside: Html | None) -> Html:
    help_text = element("p", control.help, class_="quiet") if control.help else None
    return element("div", *inside, help_text, class_=f"control {kind}", data_field=control.field)


def _dial(dial: Dial, place: str) -> Html:
    own = identifier(place, dial.field)
    ends = dial.ends or {
        "larger": ("less private", "more private"),
        "smaller": ("more private", "less private"),
    }.get(dial.private)
    words = None
    if ends:
        both = [element("span", f"← {ends[0]}"), element("span", f"{ends[1]} →")]
        words = element("div", *both, class_="ends", id=f"{own}-ends")
    shown = number(dial.value)
    return _field(
        dial,
        "dial",
        element("label", dial.label, for_=own, id=f"{own}-label"),
        element(
            "input", type="text", inputmode="decimal", id=own, value=shown, autocomplete="off",
            spellcheck="false", data_exact=True, disabled=dial.locked,
        ),
        element(
            "input", type="range", min=0, max=STEPS, step=1, id=f"{own}-slider",
            aria_labelledby=f"{own}-label", aria_valuetext=shown, data_low=dial.low,
            data_high=dial.high, data_scale=dial.scale, value=_position(dial),
            aria_describedby=f"{own}-ends" if ends else None, disabled=dial.locked,
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
    return re.sub(r"e([+-])0?", lambda exponent: "e" + exponent[1].replace("+", ""), text)


def _position(dial: Dial) -> int:
    """Where on its slider a number lies; the script has the same formula."""
    if dial.scale == "linear":
        share = (dial.value - dial.low) / (dial.high - dial.low)
    else:
        share = log(max(dial.value, dial.low) / dial.low) / log(dial.high / dial.low)
    return round(STEPS * min(1.0, max(0.0, share)))


def _select(select: Select) -> Html:
    own = identifier("c", select.field)
    options = [_option(select, *each) for each in select.options]
    groups = [
        element("optgroup", *(_option(select, *each) for each in inside), label=title)
        for title, inside in select.groups
    ]
    label = element("label", select.label, for_=own)
    return _field(select, "list", label, element("select", *options, *groups, id=own,
                                              disabled=select.locked))  # fmt: skip


def _option(select: Select, value: str, words: str) -> Html:
    return element("option", words, value=value, selected=value == select.value)


def _radios(select: Select) -> Html:
    name = identifier("c", select.field)
    radios = []
    for k, (value, words) in enumerate(select.options):
        own = f"{name}-{k}"
        radio = element("input", type="radio", name=name, id=own, value=value,
                        checked=value == select.value, disabled=select.locked)  # fmt: skip
        radios.append(element("label", radio, element("span", words), for_=own))
    help_text = element("p", select.help, class_="quiet") if select.help else None
    legend = element("legend", select.label)
    return element("fieldset", legend, *radios, help_text, class_="control choice",
                   data_field=select.field)  # fmt: skip


def _line(line: Line) -> Html:
    own = identifier("t", line.field)
    todo = unsaid(line.value)  # what is still to be said is no text to delete first
    hint = f"such as {date.today()}" if line.value == str(UNSET) else line.value.removeprefix(TODO)
    box = element("input", type="text", id=own, value="" if todo else line.value,
                  placeholder=hint if todo else None, data_unsaid=line.value if todo else None,
                  spellcheck="false", autocomplete="off", data_typed=True)  # fmt: skip
    return _field(line, "line", element("label", line.label, for_=own), box)


def _tick(tick: Tick) -> Html:
    own = identifier("c", tick.field)
    box = element("input", type="checkbox", id=own, checked=tick.value)
    return _field(tick, "tick", box, element("label", tick.label, for_=own))


def _file(file: File) -> Html:
    own = identifier("c", file.field)
    parts = [
        element("label", file.label, for_=own),
        element("input", type="file", id=own, accept=file.accept, data_largest=file.largest,
                data_once=file.once, data_instead=file.instead_of or None),
        element("p", class_="said", role="status"),
    ]  # fmt: skip
    if not file.once:
        parts.append(element("button", "Remove file", type="button", hidden=True,
                             data_removes=True))  # fmt: skip
    if file.paste:
        parts.append(element("label", file.paste, for_=f"{own}-paste"))
        parts.append(element("textarea", id=f"{own}-paste", rows=3, spellcheck="false",
                             autocomplete="off"))  # fmt: skip
    return _field(file, "file", *parts)
