"""Plots for correlated data: leakage over time, privacy frameworks and noise side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.choose.noise_tables import NoiseRow
from tellapart.plot.sheet import LegendEntry, sheet
from tellapart.plot.styling import BLUE, GREEN, GREY, ORANGE, VERMILLION, pen, styled
from tellapart.worlds.frameworks.result import FrameworkResult, Side
from tellapart.worlds.markov.streams import Leakage

_TOTAL, _UP_TO, _FROM = 0, 1, 2


@styled
def leakage(leaked: Leakage, *, supremum: float | None = None, axes: Axes | None = None) -> Figure:
    """What a stream of releases reveals about each single time, of which its own is one part.

    >>> from tellapart.worlds import streams
    >>> still = [[0.8, 0.2], [0.1, 0.9]]
    >>> figure = leakage(streams.leakage(still, still, 0.1, length=10))
    """
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
        entries.append(LegendEntry(line, name))
    (own,) = page.axes.plot(times, leaked.epsilons, color=GREY, lw=1.2, ls=":")
    entries.append(LegendEntry(own, "that time's own release, as if records were independent"))
    if supremum is not None and math.isfinite(_checks.at_least_zero(supremum=supremum)):
        entries.append(
            LegendEntry(
                page.axes.axhline(supremum, color=ORANGE, lw=1.2),
                f"never more than this, however long: {short(supremum, 4)}",
            )
        )
    page.axes.set_ylim(bottom=0)
    page.axes.set_xticks(np.unique(np.linspace(0, times[-1], 7).round()))  # times are whole
    return page.finished(entries, shape=0.7)


@styled
def standings(rows: Sequence[FrameworkResult], *, axes: Axes | None = None) -> Figure:
    """The ε that each privacy framework gives one and the same release, side by side.

    Mutual information is in nats, so it is left out.

    >>> import tellapart as ta
    >>> from tellapart.worlds import JointTable, Sum
    >>> from tellapart.worlds.frameworks import compare_frameworks
    >>> family = JointTable([[0, 1]] * 2, [[0.45, 0.05], [0.05, 0.45]])
    >>> figure = standings(compare_frameworks(family, Sum(), ta.Laplace(1)).rows)
    """
    for row in rows:
        _checks.instance(FrameworkResult, "what worlds.frameworks return", rows=row)
    shown = [row for row in rows if row.unit != "nats"]
    if not shown:
        _checks.refuse("rows", "hold at least one framework that has an ε", rows)
    page = sheet(axes)
    page.axes.set_xlabel("ε under each framework")
    looks = {Side.EXACT: _KEPT, Side.AT_MOST: _UPPER, Side.AT_LEAST: _LOWER}
    dots = [
        _Dot(row.framework, row.epsilon, looks[row.side], _with_side(row.side, row.epsilon))
        for row in shown
    ]
    words = {_KEPT: "exact", _UPPER: "at most this", _LOWER: "at least this"}
    return page.finished(_dots(page.axes, dots, words), shape=_high(dots))


@styled
def noise(rows: Sequence[NoiseRow], *, axes: Axes | None = None) -> Figure:
    """How much noise each method adds for the same promise, and what it then really gives.

    >>> from tellapart import choose
    >>> from tellapart.worlds import MarkovChain, Sum
    >>> chain = MarkovChain.stationary([[0.9, 0.1], [0.4, 0.6]], length=5)
    >>> figure = noise(choose.noise_table(chain, Sum(), epsilon=1))
    """
    listed = list(rows)
    if not listed or not all(isinstance(row, NoiseRow) for row in listed):
        _checks.refuse("rows", "be what choose.noise_table returns", rows)
    page = sheet(axes)
    page.axes.set_xlabel("scale of the noise: less is more accurate")
    dots = [
        _Dot(
            row.method,
            row.scale,
            _KEPT if row.sound else _BROKEN,
            f"{short(row.scale, 4)}, true ε {short(row.true_epsilon, 3)}",
        )
        for row in listed
    ]
    words = {_KEPT: "keeps this ε if its model is true", _BROKEN: "does not, in general"}
    return page.finished(_dots(page.axes, dots, words), shape=_high(dots))


class _StandingLook(NamedTuple):
    """Never by colour alone."""

    colour: str
    marker: str


class _Dot(NamedTuple):
    name: str
    size: float
    look: _StandingLook
    words: str


_KEPT, _BROKEN = _StandingLook(BLUE, "o"), _StandingLook(VERMILLION, "X")
_UPPER, _LOWER = _StandingLook(VERMILLION, "<"), _StandingLook(GREEN, ">")


def _with_side(side: Side, epsilon: float) -> str:
    shown = short(epsilon, 4) if math.isfinite(epsilon) else "∞"
    return shown if side is Side.EXACT else f"{side.value} {shown}"


def _high(dots: Sequence[_Dot]) -> float:
    return 0.09 * len(dots) + 0.1


def _dots(axes: Axes, dots: Sequence[_Dot], words: dict[_StandingLook, str]) -> list[LegendEntry]:
    """One line for each name, the first on top, a dot at its number; endless ones at the edge."""
    finite = [dot.size for dot in dots if 0 < dot.size < math.inf]
    least, most = (min(finite), max(finite)) if finite else (1.0, 1.0)
    log = most > 30 * least
    start, edge = (least / 3, 80 * most) if log else (0.0, 1.8 * most)
    handles: dict[_StandingLook, Line2D] = {}
    for place, dot in enumerate(dots):
        x = min(max(dot.size, start), edge)
        axes.plot([start, x], [place, place], color=GREY, lw=0.8, zorder=1)
        (handles[dot.look],) = axes.plot(
            [x],
            [place],
            ls="none",
            marker=dot.look.marker,
            ms=8,
            color=dot.look.colour,
            clip_on=False,
            zorder=3,
        )
        inside = x == edge
        axes.annotate(
            dot.words,
            (x, place),
            xytext=(-8, 3) if inside else (8, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="bottom" if inside else "center",
            fontsize=8.5,
            parse_math=False,
        )
    axes.set(xscale="log" if log else "linear", xlim=(start, edge), ylim=(len(dots) - 0.5, -0.5))
    axes.set_yticks(range(len(dots)), [dot.name for dot in dots], parse_math=False)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return [LegendEntry(handles[look], words[look]) for look in words if look in handles]
