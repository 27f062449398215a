"""Axes, legends and shading: lines say whether they are exact, upper or lower bounds."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from tellapart import _checks
from tellapart._checks import Array
from tellapart.curve.base import Bound
from tellapart.plot.numbers import plain
from tellapart.plot.styling import GREY, STYLE, Pen, dress, panels, pen

WORDS = {
    Bound.LOWER: " (no attacker does better)",
    Bound.EXACT: "",
    Bound.UPPER: " (some attacker does this well)",
}
# In inches: one letter and one handle of a legend, the words under axes, the edge of a figure.
_LETTER, _HANDLE, _UNDER, _PAD = 0.061, 0.6, 0.5, 0.06


class LegendEntry(NamedTuple):
    """One line of a legend: what is drawn, and what it is called."""

    handle: Any
    label: str


class CurveLine(NamedTuple):
    """One curve of a picture: its shade ends at ``guessing``."""

    name: str
    bound: Bound
    x: Array
    y: Array
    guessing: Array | float


class Sheet(NamedTuple):
    """The axes of a picture and their figure; ``own`` if they were made for it."""

    figure: Figure
    axes: Axes
    own: bool

    def finished(
        self,
        entries: Sequence[LegendEntry],
        *,
        title: str = "",
        shape: float = 1.0,
        under: float = 0.0,
    ) -> Figure:
        """Add the legend, under the axes: there it hides nothing, however many the lines.

        A figure of our own becomes as high as all this needs, its axes ``shape`` times as high as
        wide; ``under`` is more room above the legend, in inches.
        """
        figure, axes = self.figure, self.axes
        plain(axes)
        shift = ScaledTranslation(0, -_UNDER - under, figure.dpi_scale_trans)
        drawn = axes.legend(
            [entry.handle for entry in entries],
            [""] * len(entries),
            loc="upper left",
            bbox_to_anchor=(0, 0),
            bbox_transform=axes.transAxes + shift,
            borderaxespad=0,
            handlelength=3,
            handleheight=1.1,
            title=title or None,
            title_fontsize=STYLE["legend.fontsize"],
            alignment="left",
        )
        call(drawn, entries, width=axes.get_window_extent().width / figure.dpi)
        if self.own:
            _fit(figure, axes, shape)
        return figure


def sheet(axes: Axes | None) -> Sheet:
    """The axes to draw into, in the one look; new ones if none are given."""
    if axes is None:
        figure, (made,) = panels()
        figure.set_layout_engine(None)
        return Sheet(figure, dress(made), own=True)
    if not isinstance(axes, Axes):
        _checks.refuse("axes", "be matplotlib axes", axes)
    parent = axes.figure
    while not isinstance(parent, Figure):  # a part of a figure knows its parent
        parent = parent.figure
    return Sheet(parent, dress(axes), own=False)


def _fit(figure: Figure, axes: Axes, shape: float) -> None:
    """Axes as wide as the figure allows, in their shape, and the figure as high as that needs.

    The layout then finds nothing to move; starting elsewhere it cuts words off square axes.
    """
    inside, around = axes.get_window_extent(), axes.get_tightbbox() or axes.bbox
    inches = figure.get_figwidth()
    left, right = inside.x0 - around.x0, around.x1 - inside.x1
    below, top = inside.y0 - around.y0, around.y1 - inside.y1
    left, right, below, top = (pixels / figure.dpi + _PAD for pixels in (left, right, below, top))
    tall = shape * (inches - left - right)
    high = below + tall + top
    figure.set_size_inches(inches, high)
    figure.subplots_adjust(left / inches, below / high, 1 - right / inches, 1 - top / high)
    figure.set_layout_engine("constrained", w_pad=_PAD, h_pad=_PAD)


def call(drawn: Legend, entries: Sequence[LegendEntry], *, width: float) -> None:
    """Give a legend its words as they are: a name may hold $ or start with _."""
    letters = max(24, int((width - _HANDLE) / _LETTER))
    for text, entry in zip(drawn.get_texts(), entries, strict=True):
        text.set_parse_math(False)
        text.set_text(textwrap.fill(entry.label, letters))


def legend_below(figure: Figure, entries: Sequence[LegendEntry]) -> None:
    """One legend for all panels of a figure, beneath them."""
    drawn = figure.legend(
        [entry.handle for entry in entries],
        [""] * len(entries),
        loc="outside lower center",
        handlelength=3,
        handleheight=1.1,
    )
    call(drawn, entries, width=figure.get_figwidth())


def draw(axes: Axes, lines: Sequence[CurveLine]) -> list[LegendEntry]:
    """Draw each line in its own pen, shaded from guessing on: what attacks can have, as in regions.

    What a guarantee leaves possible is shaded plainly, what an attack has shown is hatched; the
    truth is a line alone.
    """
    promises = sum(line.bound is Bound.LOWER for line in lines)
    tone = max(0.04, 0.3 / (promises + 1))  # where many shades meet they must not drown the lines
    return [_drawn(axes, line, pen(index), tone) for index, line in enumerate(lines)]


def _drawn(axes: Axes, line: CurveLine, look: Pen, tone: float) -> LegendEntry:
    label = line.name + WORDS[line.bound]
    (drawn,) = axes.plot(line.x, line.y, color=look.colour, ls=look.dashes, label=label)
    if line.bound is Bound.EXACT:
        return LegendEntry(drawn, label)
    fill: dict[str, Any] = {"facecolor": look.colour, "alpha": tone}
    if line.bound is Bound.UPPER:
        fill = {"facecolor": "none", "edgecolor": look.colour, "hatch": "////", "alpha": 0.45}
    axes.fill_between(line.x, line.y, line.guessing, lw=0, zorder=0.6, **fill)
    return LegendEntry((Patch(lw=0, **fill), drawn), label)


def guess(axes: Axes, x: Any, y: Any) -> Line2D:
    """The thin dotted line of an attacker without the output."""
    (line,) = axes.plot(x, y, color=GREY, lw=1.2, ls=":", zorder=1.5)
    return line


def along(axes: Axes, x: float, y: float, angle: float, words: str) -> None:
    """Words on the empty side of a rising or falling diagonal."""
    axes.annotate(
        words,
        (x, y),
        xytext=(6, 6 if angle < 0 else -6),
        textcoords="offset points",
        rotation=angle,
        rotation_mode="anchor",
        ha="center",
        va="center",
        color=GREY,
        fontsize=9,
    )


def square(axes: Axes, *, least: float | None = None) -> None:
    """Both axes alike, from 0 or on a logarithmic scale from ``least``; lines at 0 and 1 show."""
    limits = (-0.012, 1.012) if least is None else (least, 1.15)
    scale = "linear" if least is None else "log"
    axes.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits, aspect="equal")
