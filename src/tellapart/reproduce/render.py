"""Table 1 as text, CSV and JSON, and the HTML page that shows it with every figure."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from tellapart._numeric.text import short, to_decimals
from tellapart.reproduce.table import BOUNDS, PRINTED, CellVerdict, TableCell, verdicts

if TYPE_CHECKING:  # the table alone does not need the extra that draws
    from tellapart.reproduce.drawing import Picture

CITATION = (
    "C. Liu, X. He, T. Chanyaswad, S. Wang and P. Mittal, “Investigating Statistical Privacy "
    "Frameworks from the Perspective of Hypothesis Testing”, Proceedings on Privacy Enhancing "
    "Technologies 2019, doi 10.2478/popets-2019-0045"
)
TITLE = "Table 1. The largest ε of Laplace noise that keeps the F-score of every attack in bounds"
MARKS = {
    CellVerdict.EXACT: " ",
    CellVerdict.ROUNDED_UP: "+",
    CellVerdict.TRUNCATED: "-",
    CellVerdict.IMPOSSIBLE: "x",
    CellVerdict.DASH_RIGHT: " ",
    CellVerdict.TOO_LARGE: "!",
    CellVerdict.TOO_SMALL: "<",
    CellVerdict.DASH_WRONG: "?",
}
# What the last row promises, and to whom it promises nothing.
ANY_MECHANISM = (
    "the largest ε that is enough whatever ε-DP mechanism is used, for each β",
    "where some ε keeps the bound; below F = (1 + β²)/(2 + β²) none does.",
)
_BROKEN = {CellVerdict.IMPOSSIBLE, CellVerdict.ROUNDED_UP, CellVerdict.TOO_LARGE}
_WIDTH, _MARGIN = 8, 15
_NONE = "–"


def text(cells: Sequence[TableCell]) -> str:
    """The table for a terminal: what is printed, what is right, and every cell that differs."""
    lines = [TITLE, "", _line("bound on F", [f"{short(bound)} " for bound in BOUNDS]), ""]
    for weight in PRINTED:
        row = [cell for cell in cells if cell.weight == weight]
        lines += [
            _line(
                f"β = {short(weight)} printed",
                [printed(cell) + MARKS[cell.verdict] for cell in row],
            ),
            _line(f"{'exact':>{_MARGIN}}", [exact(cell) + " " for cell in row]),
        ]
    lines += [_line("any mechanism", [any_mechanism(cells, bound) + " " for bound in BOUNDS]), ""]
    lines += ["exact: rounded down to four decimals; – where no ε keeps the bound."]
    lines += [f"any mechanism: {ANY_MECHANISM[0]}", f"{'':15}{ANY_MECHANISM[1]}", ""]
    for verdict, count in verdicts(cells).items():
        lines.append(f"{count:3d} {verdict.value:<13} {MARKS[verdict]} {verdict.meaning}")
    broken = [cell for cell in cells if cell.verdict in _BROKEN]
    return "\n".join([*lines, "", *(remark(cell) for cell in broken)]) + "\n"


def comma_separated(cells: Sequence[TableCell]) -> str:
    """The table with one row for each cell, every number with all its digits."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(record(cells[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(record(cell) for cell in cells)
    return out.getvalue()


def as_json(cells: Sequence[TableCell]) -> str:
    """The table with its source and its counts, for a program."""
    data = {
        "source": CITATION,
        "note": f"largest_epsilon_any_mechanism: {' '.join(ANY_MECHANISM)}",
        "verdicts": {verdict.value: count for verdict, count in verdicts(cells).items()},
        "cells": [record(cell) for cell in cells],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def record(cell: TableCell) -> dict[str, float | str | None]:
    """One cell under the names that the CSV and JSON files use."""
    return {
        "weight": cell.weight,
        "f_score_bound": cell.bound,
        "printed_epsilon": cell.printed,
        "largest_epsilon_laplace": cell.largest,
        "largest_epsilon_any_mechanism": cell.any_mechanism,
        "f_score_of_always_accusing": cell.always,
        "f_score_at_printed_epsilon": cell.reached,
        "verdict": cell.verdict.value,
        "note": None if cell.any_mechanism else "no ε keeps this bound, whatever the mechanism",
    }


def remark(cell: TableCell) -> str:
    """What is wrong with one cell, with its numbers."""
    where = f"β = {short(cell.weight)}, F ≤ {short(cell.bound)}: printed {printed(cell)}"
    if cell.verdict is CellVerdict.IMPOSSIBLE:
        return f"{where}, but F = {cell.always:.4f} even at ε = 0"
    return f"{where} gives F = {cell.reached:.6f}; the largest ε is {exact(cell)}"


def printed(cell: TableCell) -> str:
    """The ε as the paper prints it."""
    return _NONE if cell.printed is None else short(cell.printed)


def exact(cell: TableCell, digits: int = 4) -> str:
    """The largest ε, rounded down so that it still keeps the bound."""
    return _rounded(cell.largest, digits)


def any_mechanism(cells: Sequence[TableCell], bound: float) -> str:
    """The largest ε that keeps this bound whatever the mechanism, for every β that has one."""
    column = [cell.any_mechanism for cell in cells if cell.bound == bound]
    return _rounded(min((value for value in column if value is not None), default=None), 4)


def _rounded(epsilon: float | None, digits: int) -> str:
    return _NONE if epsilon is None else f"{to_decimals(epsilon, digits, up=False):.{digits}f}"


def _line(name: str, values: Sequence[str]) -> str:
    return (f"{name:<{_MARGIN}}" + "".join(f"{value:>{_WIDTH}}" for value in values)).rstrip()


# -- the page -------------------------------------------------------------------------------------

# Figures with several panels, wider than so many inches, scroll on a narrow screen.
_NARROW = 7.0
_STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { max-width: 44rem; } figure { margin: 0; } img { max-width: 100%; height: auto; }
figcaption p { margin: .4rem 0; }
.wide { overflow-x: auto; } figure .wide img { min-width: 42rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { border: 1px solid #bbb; padding: .35rem .5rem; text-align: right; vertical-align: top;
         white-space: nowrap; }
th[scope=row] { text-align: left; position: sticky; left: 0; background: #fff; }
 td span { display: block; }
.printed { font-weight: 600; } .word { font-size: .8rem; }
.rounded-up, .too-large { background: #fbe3d3; } .impossible { background: #f6d0d0; }
.truncated, .too-small { background: #e3eef7; }
"""


def page(pictures: Sequence[Picture], cells: Sequence[TableCell]) -> str:
    """The whole page: the table with its verdicts, then every figure with its caption."""
    title = "The founding paper’s table and figures, made anew"
    body = [
        f"<h1>{title}</h1>",
        f"<p>From: {_html(CITATION)}; and from the four founding posts. Every number and "
        "every line on this page is computed by tellapart; where it differs from the published "
        "text, the caption says why.</p>",
        *_table(cells),
        *(line for picture in pictures for line in _figure(picture)),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _figure(picture: Picture) -> list[str]:
    plain = picture.title.replace("ρ_", "ρ")
    wide = picture.figure.get_figwidth() > _NARROW
    scrolls = f' class="wide" tabindex="0" role="region" aria-labelledby="{picture.name}"'
    differs = f"<p><strong>What differs:</strong> {_html(picture.differs)}</p>"
    return [
        f'<h2 id="{picture.name}">{_html(picture.title)}</h2>',
        "<figure>",
        f'<div{scrolls if wide else ""}><a href="{picture.name}.svg">'
        f'<img src="{picture.name}.svg" alt="{escape(plain)}"></a></div>',
        f"<figcaption><p>{_html(picture.shows)}</p>{differs if picture.differs else ''}",
        "</figcaption>",
        "</figure>",
    ]


def _table(cells: Sequence[TableCell]) -> list[str]:
    last = "".join(f"<td>{any_mechanism(cells, bound)}</td>" for bound in BOUNDS)
    heads = "".join(f'<th scope="col">{short(bound)}</th>' for bound in BOUNDS)
    rows = []
    for weight in PRINTED:
        row = "".join(_cell(cell) for cell in cells if cell.weight == weight)
        rows.append(f'<tr><th scope="row">β = {short(weight)}</th>{row}</tr>')
    return [
        f'<h2 id="table-1">{_html(TITLE)}</h2>',
        "<p>In each cell: the ε that is printed, the largest ε that keeps the bound (rounded "
        "down), and what became of the printed one. The last row is for any ε-DP mechanism, of "
        f"which Laplace noise is not the worst: {_html(' '.join(ANY_MECHANISM))}</p>",
        '<div class="wide" tabindex="0" role="region" aria-labelledby="table-1">',
        f'<table><thead><tr><th scope="col">bound on F</th>{heads}</tr></thead>',
        "<tbody>",
        *rows,
        f'<tr><th scope="row">any mechanism</th>{last}</tr>',
        "</tbody></table></div>",
        "<ul>",
        *(
            f"<li><strong>{count} {verdict.value}</strong>: {_html(verdict.meaning)}.</li>"
            for verdict, count in verdicts(cells).items()
        ),
        "</ul>",
        '<p>The same as <a href="table-1.txt">text</a>, <a href="table-1.csv">CSV</a> and '
        '<a href="table-1.json">JSON</a>.</p>',
    ]


def _cell(cell: TableCell) -> str:
    if cell.verdict is CellVerdict.DASH_RIGHT:
        return '<td><span class="printed">–</span></td>'
    parts = [
        f'<span class="printed">{printed(cell)}</span>',
        f"<span>{exact(cell)}</span>",
        f'<span class="word">{cell.verdict.value}</span>',
    ]
    return f'<td class="{cell.verdict.value.replace(" ", "-")}">{"".join(parts)}</td>'


def _html(words: str) -> str:
    """Text as HTML, with the letters under ρ and over e where they belong."""
    lowered = re.sub(r"ρ_(\w)", r"ρ<sub>\1</sub>", escape(words, quote=False))
    return re.sub(r"e\^(−?\w)", r"e<sup>\1</sup>", lowered)
