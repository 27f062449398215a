"""Controls and answers as HTML: what a view says, written once for first paint and for scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import log, log10
from typing import Any
from urllib.parse import urlencode

from tellapart.drawing.icons import icons
from tellapart.drawing.record import Drawing, Mark, Spot, Trace
from tellapart.drawing.svg import svg, table, thumbnail
from tellapart.web.answer import Answer, Card, Next, People, Release, Table, TextFile, Words
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
from tellapart.web.glossary import TERMS
from tellapart.web.markup import Html, breakable, element, together
from tellapart.web.view import View

_SIGNS = {Mark.GOOD: "✓ ", Mark.BAD: "✗ ", Mark.PLAIN: ""}
_NUMBER = re.compile(r"[≈≤≥=<]? ?[\d.,e+-]+")
STEPS = 1000  # of a slider
_LONG = 14  # letters of a card's value, above which it is set smaller


def identifier(*words: object) -> str:
    """A word for an id: letters, digits and dashes.

    >>> identifier("c", "mechanism.0.epsilon")
    'c-mechanism-0-epsilon'
    """
    return re.sub(r"\W+", "-", "-".join(map(str, words))).strip("-")


# -- controls --------------------------------------------------------------------------------------


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
            spellcheck="false", data_exact=True,
        ),
        element(
            "input", type="range", min=0, max=STEPS, step=1, id=f"{own}-slider",
            aria_labelledby=f"{own}-label", aria_valuetext=shown, data_low=one.low,
            data_high=one.high, data_scale=one.scale, value=_position(one),
            aria_describedby=f"{own}-ends" if ends else None,
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
    box = element("input", type="text", id=own, value=one.value, spellcheck="false",
                  autocomplete="off", data_typed=True)  # fmt: skip
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
    if one.paste:
        parts.append(element("label", one.paste, for_=f"{own}-paste"))
        parts.append(element("textarea", id=f"{own}-paste", rows=3, spellcheck="false",
                             autocomplete="off"))  # fmt: skip
    return _field(one, "file", *parts)


# -- the answer ------------------------------------------------------------------------------------


def answer(view: View[Any], given: Answer, links: Mapping[str, str]) -> Html:
    """The sentence, the cards, the pictures, what to take along, and all that explains them."""
    if given.releases:
        return _start(given, links)
    panels = [
        _people(given.people) if given.people else None,
        _chart(given.drawings, given.picked) if given.drawings else None,
        _later(*given.later) if given.later else None,
    ]
    shown = [panel for panel in panels if panel is not None]
    stage = element("div", *shown, class_=f"stage of-{len(shown)}") if shown else None
    return together(
        _say(view, given),
        _cards(given.cards),
        stage,
        _thumbnails(given.drawings, given.picked),
        _take(view, given),
        _next(given.next, links),
        _told(view, given),
        _codes(given),
    )


def _say(view: View[Any], given: Answer) -> Html:
    before, found, after = given.headline, "", ""
    if given.number:
        places = [x.start() for x in re.finditer(re.escape(given.number), given.headline)]
        if places:
            before, found = given.headline[: places[-1]], given.number
            after = given.headline[places[-1] + len(found) :]
    number_ = element("b", found, class_="number") if found else None
    aside = element("span", " " + given.aside, class_="aside") if given.aside else None
    return element(
        "div",
        element("p", view.question, class_="question"),
        element("h1", _SIGNS[given.mark], breakable(before), number_, breakable(after), aside),
        class_=f"say {given.mark}",
        role="status",
        aria_atomic="true",
    )


def _cards(cards: Sequence[Card]) -> Html | None:
    if not cards:
        return None
    return element("ul", *map(_card, cards), class_=f"cards of-{len(cards)}")


def _card(card: Card) -> Html:
    name = term(card.name, card.term) if card.term else element("span", card.name)
    unit = element("span", f" {card.unit}", class_="unit") if card.unit else None
    meter = None
    if card.share is not None:
        share = round(100 * min(max(card.share, 0.0), 1.0))
        meter = element("progress", f"{share} %", max=100, value=share,
                        aria_label=f"{card.name}: share of its limit")  # fmt: skip
    return element(
        "li",
        element("p", name, class_="name"),
        element("p", breakable(f"{_SIGNS[card.mark]}{card.value}"), unit, class_="value"),
        meter,
        element("p", card.beside, class_="beside") if card.beside else None,
        class_=f"card {card.mark}{' words' if len(card.value) > _LONG else ''}",
    )


def term(words: str, name: str) -> Html:
    """Words that open what the glossary says of them."""
    own = identifier("term", words)
    button = element("button", words, type="button", class_="term", popovertarget=own)
    link = element("a", "Glossary", href=f"glossary#{identifier('g', name)}")
    told = element("span", element("b", f"{name}: "), TERMS[name], " ", link, popover=True, id=own,
                   class_="meaning")  # fmt: skip
    return together(button, told)


def _people(people: People) -> Html:
    arrays = [together(element("h3", array.title), Html(icons(array))) for array in people.arrays]
    legend = [
        element("li", element("span", class_=f"dot {kind}", aria_hidden="true"), words)
        for kind, words in people.legend
    ]
    return element(
        "figure",
        element("figcaption", element("h2", people.title), element("p", people.caption)),
        *arrays,
        element("ul", *legend, class_="legend"),
        class_="panel people",
    )


def _chart(drawings: Sequence[Drawing], picked: int) -> Html:
    drawing = drawings[picked]
    tools = [
        element("button", words, type="button", data_chart=kind, aria_label=label, title=label)
        for kind, words, label in (
            ("in", "+", "Zoom in"),
            ("out", "−", "Zoom out"),
            ("wide", "⤢", "Larger picture"),
        )
    ]
    return element(
        "figure",
        element("div", *tools, class_="tools"),
        element("figcaption", element("h2", drawing.title), element("p", drawing.caption)),
        element("div", Html(svg(drawing, 520, 300, page=True)), class_="plot"),
        legend(drawing),
        element(
            "details",
            element("summary", "As a table"),
            element("div", _rows(table(drawing)), class_="wide", tabindex=0, role="region",
                    aria_label="The picture as a table"),
            class_="astable",
        ),
        class_="panel chart",
        id="chart",
    )  # fmt: skip


def legend(drawing: Drawing) -> Html:
    """What lines and points stand for, with room for what is read off them."""
    lines = [element("li", _sample(trace), trace.name, element("span", class_="read"))
             for trace in drawing.traces]  # fmt: skip
    spots = {spot.name: spot for spot in drawing.spots}.values()
    points = [element("li", _point(spot), spot.name) for spot in spots]
    return element("ul", *lines, *points, class_="legend")


def _sample(trace: Trace) -> Html:
    kind = f"trace {trace.ink}{' dashed' if trace.dashed else ''}"
    return Html(f'<svg width="30" height="10" aria-hidden="true"><path class="{kind}" '
                'd="M1 5H29"/></svg>')  # fmt: skip


def _point(spot: Spot) -> Html:
    return Html(f'<svg width="14" height="14" aria-hidden="true"><g class="spot {spot.mark}">'
                '<circle cx="7" cy="7" r="5"/></g></svg>')  # fmt: skip


def _rows(rows: Sequence[Sequence[str]]) -> Html:
    head = element("tr", *(element("th", cell, scope="col") for cell in rows[0]))
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", x) for x in row[1:]))
        for row in rows[1:]
    ]
    return element("table", element("thead", head), element("tbody", *body))


def _thumbnails(drawings: Sequence[Drawing], picked: int) -> Html | None:
    if len(drawings) < 2:
        return None
    buttons = [
        element("button", element("span", drawing.title), Html(thumbnail(drawing)), type="button",
                data_picture=k, aria_pressed="true" if k == picked else "false")
        for k, drawing in enumerate(drawings)
    ]  # fmt: skip
    return element("div", *buttons, class_=f"thumbs of-{len(drawings)}", role="group",
                   aria_label="Pictures")  # fmt: skip


def _take(view: View[Any], given: Answer) -> Html | None:
    """What can be taken along, and how sure the numbers are."""
    path = view.path.lstrip("/")

    def link(kind: str, words: str, main: bool = False) -> Html:
        return element("a", words, href=f"api/{path}/{kind}", data_kind=kind, download=True,
                       class_="button main" if main else "button")  # fmt: skip

    made: list[Html] = []
    if given.reports:
        made.append(link("report", "Report", main=True))
    if given.python:
        made.append(element("a", "Python", href="#python", class_="button", data_opens="python"))
    if given.command:
        made.append(element("a", "Command", href="#command", class_="button", data_opens="command"))
    if given.drawings:
        made += [link("json", "JSON"), link("csv", "CSV"), link("svg", "SVG")]
        made.append(element("button", "PNG", type="button", data_png=True))
    elif given.cards:
        made.append(link("json", "JSON"))
    sure = element("span", f"✓ {given.certificate}", class_="pill") if given.certificate else None
    scope = element("span", sure, " ", given.scope, class_="scope") if given.scope else sure
    if not made and scope is None:
        return None
    return element("div", element("div", *made, class_="buttons"), scope, class_="take")


def _next(links: Sequence[Next], carried: Mapping[str, str]) -> Html | None:
    if not links:
        return None
    made = [
        element("li", element("a", f"{each.title} →", href=_href(each, carried)),
                element("span", each.words))
        for each in links
    ]  # fmt: skip
    return element("nav", element("ul", *made), class_="next", aria_label="Go on")


def _href(link: Next, carried: Mapping[str, str]) -> str:
    query = urlencode({**carried, **dict(link.values)})
    return f"{link.path}?{query}" if query else link.path


def _start(given: Answer, links: Mapping[str, str]) -> Html:
    """The first screen: questions and presets on one side, published releases on the other."""
    questions = [
        element(
            "li",
            element("h2", each.title),
            element("p", each.words),
            element("a", f"{each.link} →", href=_href(each, links)),
            class_="question-card",
        )
        for each in given.next
    ]
    chips = [
        element("li", element("a", each.title, href=_href(each, links), class_="button"))
        for each in given.presets
    ]
    left = element(
        "div",
        element("h1", given.headline),
        element("p", given.aside, class_="lead"),
        element("ul", *questions, class_="questions"),
        element("div", element("h2", "Or start from:"), element("ul", *chips), class_="chips"),
    )
    rows = [
        element(
            "li",
            element("a", element("b", each.name), element("span", each.claim),
                    href=f"explore?{urlencode({'mechanism': each.mechanism})}"),
            _found(each),
        )
        for each in given.releases
    ]  # fmt: skip
    right = element(
        "section",
        element("h2", "Published releases: members found by a careful attack"),
        element("p", "At most, of 100 members, where 1 of 100 non-members is flagged. Each claim "
                "protects its own unit of privacy, so compare like with like. Choose one to "
                "explore it.", class_="quiet"),
        element("p", element("span", "a guess: 1"), element("span", "all: 100"), class_="ends",
                aria_hidden="true"),
        element("ul", *rows),
        class_="panel releases",
    )  # fmt: skip
    return element("div", left, right, class_="start")


def _found(release: Release) -> Html:
    """A dot on a logarithmic line from a guess to everybody."""
    place = 4 + 192 * min(1.0, max(0.0, log10(max(release.found, 1.0)) / 2))
    return Html(
        f'<svg viewBox="0 0 200 20" role="img"><title>{release.said}</title>'
        f'<path class="grid" d="M4 0V20M49.8 0V20M100 0V20M150 0V20M196 0V20"/>'
        f'<path class="stem" d="M4 10H{place:.1f}"/><circle cx="{place:.1f}" cy="10" r="5"/></svg>'
    )


def _later(name: str, title: str) -> Html:
    """Room for a part that takes longer than the rest."""
    wait = element("p", "Working…", class_="quiet")
    return element("div", element("h2", title), wait, class_="panel", data_part=name)


def _told(view: View[Any], given: Answer) -> Html | None:
    said = [element("p", breakable(sentence)) for sentence in given.sentences]
    words = element("section", *said, class_="sentences") if said else None
    parts = [part(each) for each in given.parts]
    if view.lead:
        about = part_html(Words("About this view", (view.lead,)))
        parts.append(element("section", about, class_="about"))
    return element("div", words, *parts, class_="told") if said or parts else None


def part(given: Table | Words) -> Html:
    """A part of an answer under its title."""
    return element("section", part_html(given))


def part_html(given: Table | Words) -> Html:
    """The title, and sentences or rows."""
    if isinstance(given, Words):
        sentences = [element("p", breakable(text)) for text in given.sentences]
        return together(element("h2", given.title, id=identifier("g", given.title)), *sentences)
    head = element("tr", *(element("th", breakable(cell), scope="col") for cell in given.head))
    body = [
        element("tr", element("th", breakable(row[0]), scope="row"), *_cells(given, k))
        for k, row in enumerate(given.rows)
    ]
    whole = element("table", element("thead", head), element("tbody", *body))
    return together(
        element("h2", given.title),
        element("div", whole, class_="wide", tabindex=0, role="region", aria_label=given.title),
        element("p", given.note, class_="quiet") if given.note else None,
    )


def _cells(given: Table, row: int) -> list[Html]:
    """What follows a row's name; a cell that sets something is a button."""
    texts = given.rows[row][1:]
    if not given.sets:
        return [_cell(text) for text in texts]
    return [
        element("td", element("button", text, type="button", data_sets=json.dumps(dict(sets))))
        for text, sets in zip(texts, given.sets[row], strict=True)
    ]


def _cell(text: str) -> Html:
    """A number stays on one line with its sign."""
    return element("td", text, class_="number" if _NUMBER.fullmatch(text) else None)


def _codes(given: Answer) -> Html | None:
    codes = [(each.label, identifier(each.label), each.text) for each in given.codes]
    if given.python:
        codes.append(("Python", "python", given.python))
    if given.command:
        codes.append(("Command", "command", given.command))
    blocks = [_code(*each) for each in codes]
    blocks += [_saved(each) for each in given.files]
    if not blocks:
        return None
    return element("section", element("h2", "Code and files"), *blocks, class_="codes")


def _code(label: str, own: str, text: str) -> Html:
    copy = element("button", f"Copy {label}", type="button", data_copies=own)
    pre = element("pre", element("code", text, id=f"{own}-text"), tabindex=0)
    return element("details", element("summary", label), copy, pre, id=own)


def _saved(file: TextFile) -> Html:
    own = identifier("file", file.name)
    save = element("button", f"Save {file.name}", type="button", data_saves=own,
                   data_name=file.name)  # fmt: skip
    pre = element("pre", element("code", file.text, id=f"{own}-text"), tabindex=0)
    use = element("p", file.use)
    return element("details", element("summary", f"Save as {file.name}"), save, use, pre, id=own)
