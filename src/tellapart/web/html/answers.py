"""Answers as HTML: what a view says, written once for first paint and for scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import log10
from typing import Any
from urllib.parse import urlencode

from tellapart.drawing.icons import icons
from tellapart.drawing.record import Drawing, Mark, Spot, Trace
from tellapart.drawing.svg import svg, table, thumbnail
from tellapart.web.answer import (
    Answer,
    Next,
    NumberCard,
    People,
    PublishedRelease,
    Table,
    TextFile,
    Words,
)
from tellapart.web.glossary import TERMS
from tellapart.web.html.markup import Html, breakable, element, identifier, together
from tellapart.web.view import View

_SIGNS = {Mark.GOOD: "✓ ", Mark.BAD: "✗ ", Mark.PLAIN: ""}
_NUMBER = re.compile(r"[≈≤≥=<]? ?[\d.,e+-]+")
_LONG = 14  # letters of a card's value, above which it is set smaller


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
    before, number_text, after = given.headline, "", ""
    if given.number:
        before, number_text, after = given.headline.partition(given.number)
    number_ = element("b", number_text, class_="number") if number_text else None
    aside = element("span", " " + given.aside, class_="aside") if given.aside else None
    return element(
        "div",
        element("p", _with_term(view.question), class_="question"),
        element("h1", _SIGNS[given.mark], breakable(before), number_, breakable(after), aside),
        class_=f"say {given.mark}",
        role="status",
        aria_atomic="true",
    )


def _with_term(words: str) -> Html:
    """Words of which the longest that the glossary knows opens its sentence."""
    for name in sorted(TERMS, key=len, reverse=True):
        if there := re.search(rf"\b{re.escape(name)}\b", words):
            before, after = words[: there.start()], words[there.end() :]
            return together(before, term(name, name), after)
    return together(words)


def _cards(cards: Sequence[NumberCard]) -> Html | None:
    if not cards:
        return None
    return element("ul", *map(_card, cards), class_=f"cards of-{len(cards)}")


def _card(card: NumberCard) -> Html:
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
        element("p", breakable(card.beside), class_="beside") if card.beside else None,
        class_=f"card {card.mark}{' words' if len(card.value) > _LONG else ''}",
    )


def term(words: str, name: str) -> Html:
    """Words that open what the glossary says of them."""
    own = identifier("term", words)
    button = element("button", words, type="button", class_="term", popovertarget=own)
    link = element("a", "Glossary", href=f"glossary#{identifier('g', name)}")
    text = (element("b", f"{name}: "), TERMS[name], " ", link)
    bubble = element("span", *text, popover=True, id=own, class_="meaning")
    return together(button, bubble)


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


def _found(release: PublishedRelease) -> Html:
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
