"""Pictures for choosing: how a risk grows with ε, and what less of it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart.curve.algebra import joint_bound
from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.base import Mechanism
from tellapart.plot.curves import as_curve
from tellapart.plot.sides import ROW, Band, Entry, guessing, legend, sided
from tellapart.plot.style import canvas, pen, styled

Families = Mapping[str, Callable[[float], Mechanism | TradeoffCurve]]

SYMBOLS = {"epsilon": "ε", "delta": "δ", "sigma": "σ", "mu": "μ", "rho": "ρ"}


@styled
def f_score(
    families: Families,
    epsilons: Any,
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
    chosen = {"weight": _checks.finite_above_zero(weight=weight)}
    chosen["prior"] = _checks.inside_unit(prior=prior)
    figure, axes = canvas(axes, height=4.0 + ROW * (len(families) + 1))
    b2, gamma = chosen["weight"] ** 2, (1 - chosen["prior"]) / chosen["prior"]
    floor = (1 + b2) / (1 + b2 + gamma)
    wide = grid[0] > 0 and grid[-1] > 20 * grid[0]
    axes.set(
        xlabel="privacy parameter (ε)",
        ylabel=f"best F-score of any attacker (weight {chosen['weight']:.4g})",
        xscale="log" if wide else "linear",
        xlim=(grid[0], grid[-1]),
        ylim=(floor - 0.08 * (1 - floor), 1.0),
    )
    if wide:
        axes.xaxis.set_major_formatter("{x:g}")
    entries = []
    for index, (name, family) in enumerate(families.items()):
        curves = [as_curve(family(float(epsilon)), "families") for epsilon in grid]
        scores = np.array([risk.f_score(curve, **chosen) for curve in curves])
        band, bound = Band(unreachable=1.0, guessing=floor), joint_bound(curves)
        entries.append(sided(axes, grid, scores, band, name=name, bound=bound, pen=pen(index)))
    line = guessing(axes, grid[[0, -1]], [floor, floor])
    entries.append(Entry(line, f"always accuse: {floor:.4g}"))
    legend(axes, entries)
    return figure


def _check_families(families: object) -> None:
    if not isinstance(families, Mapping):
        _checks.refuse("families", "map names to functions of ε", families)
    if not families:
        _checks.refuse("families", "not be empty", families)
    for one in families.values():
        if not callable(one):
            _checks.refuse("families", "hold only functions of ε", one)


def _rising(epsilons: Any) -> Array:
    grid = _checks.vector(epsilons=epsilons)
    if grid.size < 2:
        _checks.refuse("epsilons", "hold at least two numbers", epsilons)
    if grid[0] < 0:
        _checks.refuse("epsilons", "be at least 0", float(grid[0]))
    if not np.all(np.diff(grid) > 0):
        _checks.refuse("epsilons", "rise strictly", epsilons)
    return grid


@styled
def frontier(found: Any, *, axes: Axes | None = None) -> Figure:
    """What less risk costs: each measure against the error of the answer.

    The error is the half-width of the 95 % interval of the noise. The parameter stands on top.
    """
    rows = tuple(found.rows)
    if not rows:
        _checks.refuse("found", "have rows", rows)
    if any(row.margin is None or not 0 < row.margin < math.inf for row in rows):
        _checks.refuse("found", "have a finite margin above 0 in every row", found.parameter)
    figure, axes = canvas(axes, height=4.4 + ROW * len(found.measures))
    rows = tuple(sorted(rows, key=lambda row: row.margin))
    margins = np.array([row.margin for row in rows])
    marked = _spread(margins, 6)
    axes.set(
        xscale="log",
        xlabel="error of the answer (half-width of its 95 % interval)\n"
        "← more accurate                    more private →",
        ylabel="risk",
    )
    entries = []
    for index, measure in enumerate(found.measures):
        values = np.array([row.risks[index] for row in rows])
        look = pen(index)
        (line,) = axes.plot(
            margins, values, color=look.colour, ls=look.dashes, marker="o", markevery=marked
        )
        entries.append(Entry(line, measure))
    _on_top(axes, margins[marked], [rows[k].parameter for k in marked], found.parameter)
    legend(axes, entries)
    return figure


def _spread(margins: Array, most: int) -> list[int]:
    """A few rows about evenly far apart, so that their names do not collide."""
    wanted = np.linspace(math.log(margins[0]), math.log(margins[-1]), most)
    return sorted({int(np.argmin(np.abs(np.log(margins) - one))) for one in wanted})


def _on_top(axes: Axes, margins: Array, parameters: list[float], name: str) -> None:
    top = axes.secondary_xaxis("top")
    top.set_xlabel(SYMBOLS.get(name, name))
    top.xaxis.set_major_locator(FixedLocator(list(margins)))
    top.xaxis.set_minor_locator(NullLocator())
    top.set_xticklabels([f"{one:.3g}" for one in parameters])
