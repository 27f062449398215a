"""Cards for notebooks: a small chart beside a table of numbers, as HTML without any script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tellapart.drawing.record import Drawing, Ink, Mark
from tellapart.drawing.svg import COLOURS, DASHES, svg

_SIGNS = {Mark.GOOD: "✓ ", Mark.BAD: "✗ ", Mark.PLAIN: ""}
_TITLES = {Mark.GOOD: COLOURS[Ink.THIRD], Mark.BAD: COLOURS[Ink.SECOND], Mark.PLAIN: "inherit"}
_CARD = (
    "display:inline-flex;flex-wrap:wrap;gap:6px 22px;align-items:flex-start;max-width:100%;"
    "box-sizing:border-box;padding:12px 18px;border:1px solid #8884;border-radius:8px;"
    "font:13px/1.45 system-ui,sans-serif"
)
# Notebooks stripe tables and set them to the right: said for each cell, as no sheet comes along.
_TABLE = "border:0;border-collapse:collapse;margin:0;font:inherit"
_ROW = ' style="background:none"'
_CELL = "padding:2px 14px 2px 0;text-align:"


@dataclass(frozen=True)
class Bar:
    """How much of its room something takes, from 0 to 1."""

    share: float
    ink: Ink = Ink.FIRST


@dataclass(frozen=True)
class Cell:
    """One number or word of a table: ``strong`` where people should look first."""

    text: str
    strong: bool = False
    quiet: bool = False
    left: bool = False
    ink: Ink | None = None  # of the line that it names


@dataclass(frozen=True)
class Card:
    """What an object shows of itself: a headline, numbers, a chart, and what they hold for."""

    title: str
    rows: tuple[tuple[str | Cell | Bar, ...], ...] = ()
    drawing: Drawing | None = None
    notes: tuple[str, ...] = ()
    mark: Mark = Mark.PLAIN
    legend: bool = False  # of the chart, beneath it

    def html(self) -> str:
        """The card, with every text in it escaped."""
        title = (
            f'<div style="font-weight:600;font-size:14px;overflow-wrap:anywhere;margin-bottom:4px;'
            f'color:{_TITLES[self.mark]}">{_SIGNS[self.mark]}{_breakable(self.title)}</div>'
        )
        table = "".join(f"<tr{_ROW}>{_row(row)}</tr>" for row in self.rows)
        if table:
            table = f'<table style="{_TABLE}">{table}</table>'
        notes = "".join(
            f'<div style="opacity:.75;margin-top:6px;max-width:46em">{escape(note)}</div>'
            for note in self.notes
        )
        picture = ""
        if self.drawing is not None:
            names = _legend(self.drawing) if self.legend else ""
            picture = f'<div style="max-width:250px">{svg(self.drawing)}{names}</div>'
        words = f'<div style="flex:1 1 300px;min-width:0">{title}{table}{notes}</div>'
        return f'<div style="{_CARD}">{picture}{words}</div>'


def _breakable(title: str) -> str:
    """A title that may go on in the next line where one word of a chain follows another."""
    return escape(title).replace(").", ")<wbr>.")


def _row(cells: Sequence[str | Cell | Bar]) -> str:
    first, *rest = cells
    name = first if isinstance(first, Cell) else Cell(str(first))
    return _cell(name, "th", "left;font-weight:400", ' scope="row"') + "".join(map(_value, rest))


def _value(cell: str | Cell | Bar) -> str:
    if isinstance(cell, Bar):
        return f'<td style="{_CELL}left">{_bar(cell)}</td>'
    held = cell if isinstance(cell, Cell) else Cell(cell)
    return _cell(held, "td", "left" if held.left else "right", "")


def _cell(cell: Cell, tag: str, side: str, more: str) -> str:
    weight = ";font-weight:600" if cell.strong else ""
    quiet = ";opacity:.75" if cell.quiet else ""
    line = "" if cell.ink is None else _sample(cell.ink)
    return f'<{tag}{more} style="{_CELL}{side}{weight}{quiet}">{line}{escape(cell.text)}</{tag}>'


def _legend(drawing: Drawing) -> str:
    """What lines and points stand for; the diagonal needs no name."""
    lines = [
        _sample(trace.ink) + escape(trace.name)
        for trace in drawing.traces
        if trace.ink is not Ink.CHANCE
    ]
    points = [
        f'<span style="color:{COLOURS[spot.ink]}" aria-hidden="true">● </span>{escape(spot.name)}'
        for spot in drawing.spots
    ]
    return "".join(f'<div style="font-size:12px">{name}</div>' for name in [*lines, *points])


def _sample(ink: Ink) -> str:
    """A piece of the line, with its dashes."""
    style = "dashed" if ink in DASHES else "solid"
    return (
        '<span aria-hidden="true" style="display:inline-block;width:1.6em;margin-right:.4em;'
        f'vertical-align:middle;border-top:2px {style} {COLOURS[ink]}"></span>'
    )


def _bar(bar: Bar) -> str:
    share = min(max(bar.share, 0.0), 1.0) if bar.share == bar.share else 0.0
    return (
        '<svg width="120" height="8" role="img" fill="currentColor">'
        f"<title>{100 * share:.0f} %</title>"
        '<rect width="120" height="8" rx="4" fill-opacity=".12"/>'
        f'<rect width="{120 * share:.1f}" height="8" rx="4" fill="{COLOURS[bar.ink]}"/></svg>'
    )
