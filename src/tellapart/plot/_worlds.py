"""Pictures of data that hang together: leakage over time, frameworks and methods side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tellapart import _checks
from tellapart.choose.noise_table import NoiseRow
from tellapart.plot.sheet import Entry, sheet
from tellapart.plot.style import BLUE, GREY, ORANGE, VERMILLION, pen, styled
from tellapart.worlds.frameworks.standing import Side, Standing
from tellapart.worlds.streams import Leakage

_TOTAL, _UP_TO, _FROM = 0, 1, 2


@styled
def leakage(leaked: Leakage, *, supremum: float | None = None, axes: Axes | None = None) -> Figure:
    """What a stream of releases reveals about each single time, of which its own is one part."""
    _checks.instance(Leakage, "what worlds.streams.leakage returns", leaked=leaked)
    page = sheet(axes)
    times = np.arange(leaked.total.size)
    page.axes.set(
        xlabel="time the attacker asks about",
        ylabel="leakage (ε), at most",
        xlim=(0, times[-1] or 1),
    )
    drawn = {
        _TOTAL: (leaked.total, "all releases together"),
        _UP_TO: (leaked.backward, "releases up to that time"),
        _FROM: (leaked.forward, "releases from that time on"),
    }
    entries = []
    for index, (values, name) in drawn.items():
        look = pen(index)
        (line,) = page.axes.plot(times, values, color=look.colour, ls=look.dashes)
        entries.append(Entry(line, name))
    (own,) = page.axes.plot(times, leaked.epsilons, color=GREY, lw=1.2, ls=":")
    entries.append(Entry(own, "that time's own release, as if nothing hung together"))
    if supremum is not None and math.isfinite(_checks.at_least_zero(supremum=supremum)):
        entries.append(
            Entry(
                page.axes.axhline(supremum, color=ORANGE, lw=1.2),
                f"never more than this, however long: {supremum:.4g}",
            )
        )
    page.axes.set_ylim(bottom=0)
    return page.finished(entries, shape=0.7)


@styled
def standings(rows: Sequence[Standing], *, axes: Axes | None = None) -> Figure:
    """The ε that each privacy framework gives one and the same release, side by side."""
    for one in rows:
        _checks.instance(Standing, "what worlds.frameworks return", rows=one)
    shown = [one for one in rows if one.unit == "log-odds"]
    if not shown:
        _checks.refuse("rows", "hold at least one framework that has an ε", rows)
    page = sheet(axes)
    colours = [VERMILLION if one.side is Side.AT_MOST else BLUE for one in shown]
    _bars(
        page.axes,
        [one.framework for one in shown],
        [one.epsilon for one in shown],
        colours,
        [f"{one.side.value} {one.epsilon:.4g}".removeprefix("= ") for one in shown],
    )
    page.axes.set_xlabel("ε of the same release under each framework")
    entries = [Entry(Patch(color=BLUE), "exact")]
    if VERMILLION in colours:
        entries.append(Entry(Patch(color=VERMILLION), "at most this"))
    return page.finished(entries, shape=0.13 * len(shown) + 0.1)


@styled
def noise(rows: Sequence[NoiseRow], *, axes: Axes | None = None) -> Figure:
    """How much noise each method adds for the same promise, and what it then really gives."""
    listed = list(rows)
    if not listed or not all(isinstance(one, NoiseRow) for one in listed):
        _checks.refuse("rows", "be what choose.noise_table returns", rows)
    page = sheet(axes)
    colours = [BLUE if one.sound else VERMILLION for one in listed]
    words = [f"{one.scale:.4g}, true ε {one.true_epsilon:.3g}" for one in listed]
    _bars(page.axes, [one.method for one in listed], [one.scale for one in listed], colours, words)
    page.axes.set_xlabel("scale of the noise (less is more accurate)")
    entries = [Entry(Patch(color=BLUE), "keeps the promise")]
    if VERMILLION in colours:
        broken = Patch(facecolor=VERMILLION, hatch="////", edgecolor="white")
        entries.append(Entry(broken, "does not keep it in general"))
    return page.finished(entries, shape=0.13 * len(listed) + 0.1)


def _bars(
    axes: Axes, names: Sequence[str], sizes: Sequence[float], colours: list[str], words: list[str]
) -> None:
    """Horizontal bars, the first on top, each with its number; endless ones end at the edge."""
    finite = [size for size in sizes if math.isfinite(size) and size > 0]
    least, most = (min(finite), max(finite)) if finite else (1.0, 1.0)
    log = most > 30 * least
    edge = 30 * most if log else 1.6 * most
    drawn = [min(size, edge) for size in sizes]
    places = np.arange(len(names))
    bars = axes.barh(places, drawn, color=colours, height=0.6)
    for bar, colour in zip(bars, colours, strict=True):
        if colour == VERMILLION:
            bar.set(hatch="////", edgecolor="white")
    for place, size, word in zip(places, drawn, words, strict=True):
        inside = size >= edge
        axes.annotate(
            word,
            (size, place),
            xytext=(-4 if inside else 4, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            color="white" if inside else "black",
            fontsize=8.5,
            parse_math=False,
        )
    axes.set_yticks(places, names, parse_math=False)
    axes.set(
        xscale="log" if log else "linear",
        xlim=(least / 3 if log else 0, edge),
        ylim=(len(names) - 0.4, -0.6),
    )
    axes.grid(False, axis="y")
