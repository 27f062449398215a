"""Answers as parts of the page. Dash escapes every text it is given."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

from dash import html

from tellapart.web._answer import Answer, Mark, Table, Words

ASSETS = str(files("tellapart.web").joinpath("assets"))

_SIGNS = {Mark.GOOD: "✓ ", Mark.BAD: "✗ ", Mark.PLAIN: ""}


def answer(given: Answer, number: int = 0) -> list[Any]:
    """The headline, what explains it, and code that says the same, for this question."""
    parts: list[Any] = [
        html.Div(
            [
                html.H2(_breakable(f"{_SIGNS[given.mark]}{given.headline}")),
                *(html.P(sentence) for sentence in given.sentences),
            ],
            className=f"headline {given.mark}",
            # The answer's core is read out when it changes; tables are there for who looks.
            **{"data-number": str(number), "aria-live": "polite", "aria-atomic": "true"},
        )
    ]
    parts += [_part(part) for part in given.parts]
    codes = [("Copy as Python", given.python), ("Copy as command", given.command)]
    blocks = [_code(label, text) for label, text in codes if text]
    if given.reports:
        blocks.append(html.Button("Download a report", id="report-button", type="button"))
    if blocks:
        parts.append(html.Section([html.H3("Take it with you"), *blocks], className="take"))
    return parts


def _part(part: Table | Words) -> html.Section:
    if isinstance(part, Words):
        return html.Section(
            [html.H3(part.title), *(html.P(_breakable(text)) for text in part.sentences)]
        )
    head = html.Thead(html.Tr([html.Th(_breakable(cell), scope="col") for cell in part.head]))
    body = html.Tbody(
        [
            html.Tr([html.Th(_breakable(row[0]), scope="row"), *map(_cell, row[1:])])
            for row in part.rows
        ]
    )
    table = html.Div(
        html.Table([head, body]),
        className="wide",
        tabIndex="0",
        role="region",
        **{"aria-label": part.title},
    )
    note = [html.P(part.note, className="quiet")] if part.note else []
    return html.Section([html.H3(part.title), table, *note])


def _breakable(text: str) -> list[Any]:
    """A text that may go on in the next line after the signs within a mechanism's name."""
    first, *later = re.split(r"(?<=[,:(+])(?=[a-z])", text)
    return [first, *(part for each in later for part in (html.Wbr(), each))]


def _cell(text: str) -> html.Td:
    """A number stays on one line with its sign."""
    return html.Td(text, className="number" if re.fullmatch(r"[≈≤≥=]? ?[\d.e+-]+", text) else None)


def _code(label: str, text: str) -> html.Details:
    return html.Details(
        [
            html.Summary(label),
            html.Button(label, type="button", **{"data-copies": text}),
            html.Pre(html.Code(text), tabIndex="0"),
        ]
    )
