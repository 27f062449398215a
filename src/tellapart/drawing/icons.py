"""Icon arrays as SVG: dots in rows, of which some are marked, for shares that are counted."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, sqrt

from tellapart.drawing.record import Ink
from tellapart.drawing.svg import COLOURS, px

# Dots in a row; pixels from dot to dot, across a marked dot, and across another.
_ACROSS, _PITCH, _MARKED, _PLAIN = 50, 6.0, 5.2, 2.6
# The smallest share of a dot's width that is still seen.
_SEEN = 0.35


@dataclass(frozen=True)
class IconArray:
    """So many dots, of which ``marked`` come first, filled and larger; the last may be a part."""

    title: str
    caption: str
    dots: int
    marked: float
    ink: Ink = Ink.SECOND


def icons(array: IconArray) -> str:
    """The dots with their title and caption for people who do not see them.

    >>> icons(IconArray("3 of 100", "…", 100, 3)).count("<path")
    2
    """
    marked = min(max(array.marked, 0.0), float(array.dots))
    whole, part = int(marked + 1e-9), marked % 1
    part = 0.0 if part < 1e-9 or part > 1 - 1e-9 else part
    rest = range(whole + bool(part), array.dots)
    width, height = _ACROSS * _PITCH, ceil(array.dots / _ACROSS) * _PITCH
    strong = f'class="marked" stroke="{COLOURS[array.ink]}"'
    drawn = [
        _path(rest, _PLAIN, 'class="rest" stroke="currentColor" stroke-opacity=".38"'),
        _path(range(whole), _MARKED, strong),
    ]
    if part:
        size = _MARKED * max(sqrt(part), _SEEN)
        drawn.append(_path(range(whole, whole + 1), size, strong))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="icons {array.ink}" width="{px(width)}" '
        f'height="{px(height)}" viewBox="0 0 {px(width)} {px(height)}" role="img" '
        f'fill="none" stroke-linecap="round"><title>{escape(array.title)}</title>'
        f"<desc>{escape(array.caption)}</desc>{''.join(drawn)}</svg>"
    )


def _path(places: range, size: float, style: str) -> str:
    """Rows as lines of dashes that have no length and round ends: dots, in few letters."""
    if not places:
        return ""
    rows = [
        (row, max(places.start, row * _ACROSS), min(places.stop, (row + 1) * _ACROSS))
        for row in range(places.start // _ACROSS, (places.stop - 1) // _ACROSS + 1)
    ]
    lines = "".join(
        f"M{px((first % _ACROSS + 0.5) * _PITCH)} {px((row + 0.5) * _PITCH)}"
        f"h{px((last - first - 1) * _PITCH + 0.1)}"
        for row, first, last in rows
    )
    dashes = f'stroke-dasharray="0 {px(_PITCH)}"'
    return f'<path d="{lines}" stroke-width="{px(size)}" {dashes} {style}/>'
