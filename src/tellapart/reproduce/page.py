"""The page that holds the reproduction together: one file, nothing from a network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from tellapart.reproduce import render
from tellapart.reproduce.picture import Picture
from tellapart.reproduce.table import BOUNDS, PRINTED, Cell, CellVerdict, verdicts

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


def page(pictures: Sequence[Picture], cells: Sequence[Cell]) -> str:
    """The whole page: the table with its verdicts, then every figure with its caption."""
    title = "The founding paper’s table and figures, made anew"
    body = [
        f"<h1>{title}</h1>",
        f"<p>From: {_html(render.CITATION)}; and from the four founding posts. Every number and "
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


def _table(cells: Sequence[Cell]) -> list[str]:
    last = "".join(f"<td>{render.any_mechanism(cells, bound)}</td>" for bound in BOUNDS)
    heads = "".join(f'<th scope="col">{bound:g}</th>' for bound in BOUNDS)
    rows = []
    for weight in PRINTED:
        row = "".join(_cell(cell) for cell in cells if cell.weight == weight)
        rows.append(f'<tr><th scope="row">β = {weight:g}</th>{row}</tr>')
    return [
        f'<h2 id="table-1">{_html(render.TITLE)}</h2>',
        "<p>In each cell: the ε that is printed, the largest ε that keeps the bound (rounded "
        "down), and what became of the printed one. The last row is for any ε-DP mechanism, of "
        f"which Laplace noise is not the worst: {_html(' '.join(render.ANY_MECHANISM))}</p>",
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


def _cell(cell: Cell) -> str:
    if cell.verdict is CellVerdict.DASH_RIGHT:
        return '<td><span class="printed">–</span></td>'
    parts = [
        f'<span class="printed">{render.printed(cell)}</span>',
        f"<span>{render.exact(cell)}</span>",
        f'<span class="word">{cell.verdict.value}</span>',
    ]
    return f'<td class="{cell.verdict.value.replace(" ", "-")}">{"".join(parts)}</td>'


def _html(words: str) -> str:
    """Text as HTML, with the letters under ρ and over e where they belong."""
    lowered = re.sub(r"ρ_(\w)", r"ρ<sub>\1</sub>", escape(words, quote=False))
    return re.sub(r"e\^(−?\w)", r"e<sup>\1</sup>", lowered)
