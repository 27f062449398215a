"""A picture for choosing: how a risk grows with ε."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart.curve.algebra import joint_bound
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.plot.curves import above
from tellapart.plot.sheet import CurveLine, LegendEntry, draw, guess, sheet
from tellapart.plot.styling import styled

Families = Mapping[str, Callable[[float], Subject]]

# Between the ends given, so many ε; ends further apart than this have a logarithmic axis.
_POINTS, _FAR = 121, 20.0


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

    A family turns ε into a mechanism or a curve: ``{"Laplace": ta.Laplace.with_epsilon}``. It is
    asked for many ε from the first of ``epsilons`` to the last, each given one among them; if the
    last is more than twenty times the first, the axis is logarithmic. The floor is what accusing
    everybody scores, which no privacy can take away.

    >>> import tellapart as ta
    >>> figure = f_score({"Laplace": ta.Laplace.with_epsilon}, [0.5, 1, 2])
    """
    _check_families(families)
    given = _rising(epsilons)
    log = bool(given[0] > 0 and given[-1] > _FAR * given[0])
    grid = np.union1d(given, (np.geomspace if log else np.linspace)(given[0], given[-1], _POINTS))
    count = _checks.finite_above_zero(weight=weight)
    before = _checks.inside_unit(prior=prior)
    page = sheet(axes)
    floor = (1 + count**2) / (1 + count**2 + (1 - before) / before)
    page.axes.set(
        xlabel="privacy parameter (ε)",
        ylabel=f"best F-score of any attacker (weight {count:.4g})",
        xscale="log" if log else "linear",
        xlim=(grid[0], grid[-1]),
    )
    above(page.axes, floor)
    lines = []
    for name, family in families.items():
        curves = [
            curve_of(family(float(epsilon)), f"what families[{name!r}] returns") for epsilon in grid
        ]
        scores = np.array([risk.f_score(curve, weight=count, prior=before) for curve in curves])
        lines.append(CurveLine(str(name), joint_bound(curves), grid, scores, 1.0, guessing=floor))
    base = guess(page.axes, grid[[0, -1]], [floor, floor])
    entries = [*draw(page.axes, lines), LegendEntry(base, f"always accuse: {floor:.4g}")]
    return page.finished(entries, shape=0.85)


def _check_families(families: object) -> None:
    if not isinstance(families, Mapping) or not families:
        rule = 'map names to functions of ε, as {"Laplace": ta.Laplace.with_epsilon} does'
        _checks.refuse("families", rule, families)
    for name, family in families.items():
        if not callable(family):
            _checks.refuse(f"families[{name!r}]", "be a function of ε", family)


def _rising(epsilons: ArrayLike) -> Array:
    grid = _checks.vector(epsilons=epsilons)
    if grid.size < 2:
        _checks.refuse("epsilons", "hold at least two numbers", epsilons)
    if grid[0] < 0:
        _checks.refuse("epsilons", "be at least 0", float(grid[0]))
    if not np.all(np.diff(grid) > 0):
        _checks.refuse("epsilons", "rise strictly", epsilons)
    return grid
