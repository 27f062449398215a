"""Pictures for choosing: how a risk grows with ε, and what less of it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import ArrayLike

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart.choose import Frontier, FrontierRow
from tellapart.curve.algebra import joint_bound
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.plot.curves import above
from tellapart.plot.sheet import WORDS, Entry, Line, draw, guess, sheet
from tellapart.plot.style import GREY, pen, styled

Families = Mapping[str, Callable[[float], Subject]]

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "sigma": "σ", "mu": "μ", "rho": "ρ"}
# So many points of a frontier have room for their parameter.
_NAMED = 7


@styled
def f_score(
    families: Families,
    epsilons: ArrayLike,
    *,
    weight: float = 1.0,
    prior: float = 0.5,
    axes: Axes | None = None,
) -> Figure:
    """How the best F-score of any attacker grows with ε, for each family of mechanisms.

    A family turns ε into a mechanism or a curve: ``{"Laplace": ta.Laplace.with_epsilon}``. The
    floor is what accusing everybody scores, which no privacy can take away.
    """
    _check_families(families)
    grid = _rising(epsilons)
    count = _checks.finite_above_zero(weight=weight)
    before = _checks.inside_unit(prior=prior)
    page = sheet(axes)
    floor = (1 + count**2) / (1 + count**2 + (1 - before) / before)
    page.axes.set(
        xlabel="privacy parameter (ε)",
        ylabel=f"best F-score of any attacker (weight {count:.4g})",
        xlim=(grid[0], grid[-1]),
    )
    above(page.axes, floor)
    if grid[0] > 0 and grid[-1] > 20 * grid[0]:
        page.axes.set_xscale("log")
        page.axes.xaxis.set_major_formatter("{x:g}")
    lines = []
    for name, family in families.items():
        curves = [curve_of(family(float(one)), f"what families[{name!r}] returns") for one in grid]
        scores = np.array([risk.f_score(one, weight=count, prior=before) for one in curves])
        lines.append(Line(str(name), joint_bound(curves), grid, scores, 1.0, guessing=floor))
    base = guess(page.axes, grid[[0, -1]], [floor, floor])
    entries = [*draw(page.axes, lines), Entry(base, f"always accuse: {floor:.4g}")]
    return page.finished(entries, shape=0.85)


def _check_families(families: object) -> None:
    if not isinstance(families, Mapping) or not families:
        rule = 'map names to functions of ε, as {"Laplace": ta.Laplace.with_epsilon} does'
        _checks.refuse("families", rule, families)
    for name, one in families.items():
        if not callable(one):
            _checks.refuse(f"families[{name!r}]", "be a function of ε", one)


def _rising(epsilons: ArrayLike) -> Array:
    grid = _checks.vector(epsilons=epsilons)
    if grid.size < 2:
        _checks.refuse("epsilons", "hold at least two numbers", epsilons)
    if grid[0] < 0:
        _checks.refuse("epsilons", "be at least 0", float(grid[0]))
    if not np.all(np.diff(grid) > 0):
        _checks.refuse("epsilons", "rise strictly", epsilons)
    return grid


@styled
def frontier(found: Frontier, *, axes: Axes | None = None) -> Figure:
    """What less risk costs: each measure against the error of the answer.

    The error is the half-width of the interval that covers 95 % of the noise; some points carry
    their parameter, on top.
    """
    rows = _by_error(found)
    page = sheet(axes)
    margins = np.array([row.margin for row in rows])
    marked = _spread(np.log(margins))
    page.axes.set(xscale="log", xlabel="error of the answer (95 % within ±)", ylabel="risk")
    page.axes.xaxis.set_major_formatter("{x:g}")
    entries = []
    for index, measure in enumerate(found.measures):
        values = [row.risks[index] for row in rows]
        look, label = pen(index), measure + WORDS[found.bound]
        (line,) = page.axes.plot(margins, values, color=look.colour, ls=look.dashes, label=label)
        line.set(marker="o", markevery=marked)
        entries.append(Entry(line, label))
    if min(min(row.risks) for row in rows) >= 0:
        page.axes.set_ylim(bottom=0)
    _directions(page.axes)
    named = [f"{_SYMBOLS.get(found.parameter, found.parameter)} = {rows[k][0]:.3g}" for k in marked]
    _on_top(page.axes, margins[marked], named)
    entries.append(Entry(Line2D([], [], ls="none"), found.scope))
    return page.finished(entries, shape=0.85, under=0.2)


def _by_error(found: object) -> tuple[FrontierRow, ...]:
    if not isinstance(found, Frontier):
        _checks.refuse("found", "be what choose.frontier(...) returns", found)
    for row in found.rows:
        if row.margin is None:
            rule = "have margins, as the frontier of noise on a number has"
            _checks.refuse("found", rule, row)
        if not 0 < row.margin < math.inf:
            _checks.refuse("found", "have margins that are finite and greater than 0", row)
    return tuple(sorted(found.rows, key=lambda row: row.margin or 0.0))


def _spread(places: Array) -> list[int]:
    """A few points far enough apart for their words, the first among them."""
    gap = 0.99 * (places[-1] - places[0]) / (_NAMED - 1)
    chosen = [0]
    for index, place in enumerate(places):
        if place - places[chosen[-1]] > gap:
            chosen.append(index)
    return chosen


def _directions(axes: Axes) -> None:
    for x, side, words in ((0, "left", "← more accurate"), (1, "right", "more private →")):
        axes.annotate(
            words,
            (x, 0),
            xycoords="axes fraction",
            xytext=(0, -36),
            textcoords="offset points",
            ha=side,
            va="top",
            color=GREY,
            fontsize=9,
        )


def _on_top(axes: Axes, places: Array, words: list[str]) -> None:
    top = axes.secondary_xaxis("top")
    top.xaxis.set_major_locator(FixedLocator(list(places)))
    top.xaxis.set_minor_locator(NullLocator())
    top.set_xticklabels(words, fontsize=8.5)
    top.spines["top"].set_visible(False)
