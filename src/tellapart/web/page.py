"""The page as HTML: its shell around what a view says, whole before any script runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import urlencode

from tellapart.web import static
from tellapart.web.html.markup import Html, element, together
from tellapart.web.views import VIEWS

_TITLE = "tellapart: membership inference risk"
# A ROC curve above the line of a guess.
_BRAND = Html(
    '<svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true"><rect class="tile" '
    'width="22" height="22" rx="5"/><path class="line" d="M4 18C5 10 9 5 18 4"/>'
    '<path class="guess" d="M6 17L17 6"/></svg>'
)
# What the script must know, beside what stands on the page already.
_TOLD = (
    *("path", "problem", "field", "instead", "query"),
    *("links", "held", "drawings", "picture", "shape"),
)


def document(path: str, values: Mapping[str, str], answer: Mapping[str, object] | None) -> str:
    """The whole page of a view; without an answer, the script asks for it.

    It has no inline script and no inline style, and all its addresses are relative.
    """
    view = VIEWS[f"/{path}"]
    files = f"assets/{static.stamp()}"
    known = {} if answer is None else {key: answer[key] for key in _TOLD if key in answer}
    state = {"path": path, "values": dict(values), **known}
    title = _TITLE if not path else f"{view.title} · tellapart"
    links = _texts(answer, "links") if answer is not None else dict(values)
    return "<!DOCTYPE html>\n" + element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", title),
            element("link", rel="icon", href=f"{files}icon.svg", type="image/svg+xml"),
            element("link", rel="stylesheet", href=f"{files}style.css"),
            element("script", type="module", src=f"{files}page.js"),
        ),
        element(
            "body",
            element("a", "Skip to the answer", href="#answer", class_="skip"),
            _header(path, links),
            element("main", *_main(answer), class_="view" if view.state_shown else "plain"),
            _data(state),
            data_path=path,
        ),
        lang="en",
    )


def _header(path: str, links: Mapping[str, str]) -> Html:
    query = urlencode(dict(links))
    views = [
        element(
            "li",
            element(
                "a",
                view.title,
                href=f"{name}?{query}" if query else name,
                data_view=name,
                aria_current="page" if name == path else None,
            ),
        )
        for name, view in ((key.lstrip("/"), view) for key, view in VIEWS.items())
        if name and view.listed
    ]
    here = VIEWS[f"/{path}"].title if path else "Views"
    return element(
        "header",
        element("a", _BRAND, " tellapart", href="./", class_="brand"),
        element(
            "nav",
            element("input", type="checkbox", id="menu", class_="unseen", aria_label="Show views"),
            element("label", f"{here}\N{NO-BREAK SPACE}▾", for_="menu", class_="button menu"),
            element("ul", *views),
            aria_label="Views",
        ),
        element(
            "div",
            element("a", "Glossary", href="glossary", data_view="glossary"),
            element("button", "Copy link", type="button", id="copy-link"),
            class_="aside",
        ),
    )


def _main(answer: Mapping[str, object] | None) -> list[Html]:
    given = {} if answer is None else answer
    problem = str(given.get("problem", ""))
    shown = Html(str(given.get("answer", "")))
    wait = element("p", "Working…", class_="quiet") if answer is None else None
    return [
        element(
            "div",
            element(
                "form",
                element("h2", "Settings", class_="unseen", id="settings-title", tabindex="-1"),
                element("div", Html(str(given.get("controls", ""))), id="controls"),
                element("button", "Done", type="button", id="done", class_="button main"),
                id="settings",
                aria_label="Settings",
            ),
            id="sheet",
        ),
        element(
            "div",
            element("p", problem, id="trouble", role="alert", class_="trouble"),
            element("p", id="working", role="status"),
            element("section", shown, wait, id="answer", tabindex="-1", aria_label="Answer"),
            class_="shown",
        ),
        element(
            "div",
            element("div", Html(str(given.get("bar", ""))), id="bar-dial"),
            element(
                "button", "All settings", type="button", id="all-settings", aria_haspopup="dialog"
            ),
            id="bar",
        ),
    ]


def _texts(given: Mapping[str, object], key: str) -> dict[str, str]:
    inner = given.get(key)
    return {str(k): str(x) for k, x in inner.items()} if isinstance(inner, Mapping) else {}


def _data(state: Mapping[str, object]) -> Html:
    """Data for the script, in a block that no browser runs."""
    text = json.dumps(state, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return together(Html(f'<script type="application/json" id="told">{text}</script>'))
