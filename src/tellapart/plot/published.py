"""Plot of published deployments of DP: what an attacker gains, by the unit that is hidden."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tellapart import _checks
from tellapart.deployments import Gain
from tellapart.plot.sheet import LegendEntry, guess, sheet
from tellapart.plot.styling import BLACK, BLUE, GREEN, GREY, VERMILLION, styled

# In inches: the width of a picture, and one row of it. In letters: a name on one line. In rows: a
# name's next line.
_WIDE, _ROW, _LETTERS, _NEXT = 8.5, 0.2, 50, 0.7
_ALONE, _BESIDE = "units of one deployment each", "set beside them"


class _MarkerLook(NamedTuple):
    """Never by colour alone."""

    colour: str
    marker: str
    words: str


_LOOKS = {
    "central": _MarkerLook(BLUE, "o", "central model: at most this"),
    "local": _MarkerLook(VERMILLION, "s", "local model: at most this"),
}
_OTHER = _MarkerLook(GREEN, "^", "model varies: at most this")
_OURS = _MarkerLook(BLACK, "D", "not a deployment, for one record")


@styled
def deployments(gains: Sequence[Gain], *, axes: Axes | None = None) -> Figure:
    """How much an attacker gains over one unit of each deployment, grouped by unit.

    ``gains`` is what `deployments.gains` returns. Only deployments of one group hide the same
    unit; each mark is the most that its promise allows, so the truth may lie anywhere left of it.

    >>> from tellapart import deployments as published
    >>> figure = deployments(published.gains(published.find("apple")))
    """
    rows = list(gains)
    if not rows or not all(isinstance(row, Gain) for row in rows):
        _checks.refuse("gains", "be what deployments.gains returns", gains)
    page = sheet(axes)
    if page.own:
        page.figure.set_size_inches(_WIDE, page.figure.get_figheight())
    places, names, place = [], [], 0.0
    entries: dict[str, LegendEntry] = {}
    for unit, group in _groups(rows).items():
        _heading(page.axes, place, unit)
        place += 1
        for gain in group:
            lines = _lines(gain, alone=unit == _ALONE)
            more = _NEXT * (len(lines) - 1) / 2
            entries |= _mark(page.axes, place + more, gain)
            places.append(place + more)
            names.append("\n".join(lines))
            place += 1 + 2 * more
        place += 0.3
    _dress(page.axes, places, names, place)
    words = "baseline: guessing"
    base = LegendEntry(guess(page.axes, [0, 0], [-1, place]), words)
    shape = _ROW * (place + 0.4) / _room(page.axes)
    return page.finished([*entries.values(), base], shape=shape)


def _room(axes: Axes) -> float:
    """The inches that names on the left leave in a figure as wide as ours."""
    inside, around = axes.get_window_extent(), axes.get_tightbbox() or axes.bbox
    return float(_WIDE - (inside.x0 - around.x0) / axes.figure.dpi)


def _groups(rows: Sequence[Gain]) -> dict[str, list[Gain]]:
    """Those of one unit together, the unit with most of them first, those by themselves last."""
    groups: dict[str, list[Gain]] = {}
    for row in rows:
        unit = _BESIDE if row.deployment is None else row.deployment.per
        groups.setdefault(unit, []).append(row)
    alone = [unit for unit in groups if len(groups[unit]) == 1 and unit != _BESIDE]
    if alone:
        groups[_ALONE] = [row for unit in alone for row in groups.pop(unit)]
    order = sorted(
        groups, key=lambda unit: (unit == _BESIDE, unit == _ALONE, -len(groups[unit]), unit)
    )
    return {unit: sorted(groups[unit], key=lambda row: row.advantage) for unit in order}


def _lines(gain: Gain, alone: bool) -> list[str]:
    """Its name, broken where it must be but not within its curator or its unit."""
    made = gain.deployment
    said = gain.name
    if made is not None:
        status = ", Draft" if made.status == "Draft" else ""
        unit = f": {made.per}" if alone else ""
        said += " " + f"({made.curator}{status}){unit}".replace(" ", "\xa0")
    broken = textwrap.wrap(said, _LETTERS, break_on_hyphens=False, break_long_words=False)
    return [part.replace("\xa0", " ") for line in broken for part in _shorter(line)]


def _shorter(line: str) -> list[str]:
    if len(line) <= _LETTERS:
        return [line]
    return textwrap.wrap(line.replace("\xa0", " "), _LETTERS, break_on_hyphens=False)


def _look(gain: Gain) -> _MarkerLook:
    if gain.deployment is None:
        return _OURS
    return _LOOKS.get(gain.deployment.model.lower(), _OTHER)


def _heading(axes: Axes, place: float, unit: str) -> None:
    axes.annotate(
        unit,
        (0, place),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8.5,
        fontweight="bold",
        parse_math=False,
    )


def _mark(axes: Axes, place: float, gain: Gain) -> dict[str, LegendEntry]:
    """The mark, the promise beside it; gives what the legend says of its look."""
    look = _look(gain)
    axes.plot([0, gain.advantage], [place, place], color=GREY, lw=0.5, zorder=1)
    axes.plot(
        gain.advantage, place, ls="none", marker=look.marker, ms=6, color=look.colour, zorder=3
    )
    axes.annotate(
        gain.readings[0].shown if gain.deployment is None else gain.deployment.promise,
        (gain.advantage, place),
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        parse_math=False,
    )
    handle = Line2D([], [], ls="none", marker=look.marker, ms=6, color=look.colour)
    return {look.words: LegendEntry(handle, look.words)}


def _dress(axes: Axes, places: Sequence[float], names: Sequence[str], end: float) -> None:
    axes.set(xlim=(-0.01, 1.3), ylim=(end - 0.4, -0.8))
    axes.set_xlabel("membership advantage, max (TPR − FPR), for one unit of privacy", loc="left")
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.set_yticks(places, names, parse_math=False, fontsize=8)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
