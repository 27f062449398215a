"""How a line shows its side of the truth: by shade, by hatch and in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from tellapart._checks import Array
from tellapart.curve.base import Bound
from tellapart.plot.style import GREY, Pen

WORDS = {
    Bound.LOWER: " (no attacker does better)",
    Bound.EXACT: "",
    Bound.UPPER: " (some attacker does this well)",
}
ROW = 0.19  # inches that one line of a legend takes


class Entry(NamedTuple):
    """One line of a legend: what is drawn, and what it is called."""

    handle: Any
    label: str


class Band(NamedTuple):
    """Where a curve's shade ends: what no attacker reaches, and what a guess reaches."""

    unreachable: Array | float
    guessing: Array | float


def sided(
    axes: Axes, x: Array, y: Array, band: Band, *, name: str, bound: Bound, pen: Pen
) -> Entry:
    """A line with its side shaded: what no attacker reaches, or what some attacker does.

    A promise is shaded plainly on the far side, an attack is hatched on the near side.
    """
    (line,) = axes.plot(x, y, color=pen.colour, ls=pen.dashes)
    label = name + WORDS[bound]
    if bound is Bound.EXACT:
        return Entry(line, label)
    looks = _looks(bound, pen)
    end = band.unreachable if bound is Bound.LOWER else band.guessing
    axes.fill_between(x, y, end, lw=0, zorder=0.6, **looks)
    return Entry((Patch(lw=0, **looks), line), label)


def _looks(bound: Bound, pen: Pen) -> dict[str, Any]:
    if bound is Bound.LOWER:
        return {"facecolor": pen.colour, "alpha": 0.13}
    return {"facecolor": "none", "edgecolor": pen.colour, "hatch": "////", "alpha": 0.45}


def guessing(axes: Axes, x: Any, y: Any) -> Line2D:
    """The thin dotted line of an attacker who has seen nothing."""
    (line,) = axes.plot(x, y, color=GREY, lw=1.2, ls=":", zorder=1.5)
    return line


def legend(axes: Axes, entries: Sequence[Entry]) -> Legend:
    """The legend, under the axes: there it hides nothing, however many the lines."""
    figure = axes.figure
    under = axes.transAxes + ScaledTranslation(0, -0.5, figure.dpi_scale_trans)
    width = figure.bbox.width / figure.dpi * axes.get_position().width
    drawn = axes.legend(
        [entry.handle for entry in entries],
        [""] * len(entries),
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=under,
        borderaxespad=0,
        handlelength=3,
    )
    return named(drawn, entries, width)


def named(drawn: Legend, entries: Sequence[Entry], width: float) -> Legend:
    """Give a legend its words as they are: a name may hold $ or start with _."""
    letters = max(24, int((width - 0.4) / 0.063))
    for text, entry in zip(drawn.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(textwrap.fill(entry.label, letters))
    return drawn
