"""Plot of the privacy profile δ(ε): every (ε, δ) that a curve satisfies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import related, short
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.subject import Subject, curve_of, curves_of
from tellapart.plot.numbers import written
from tellapart.plot.sheet import CurveLine, LegendEntry, draw, guess, sheet
from tellapart.plot.styling import styled

# So many ε are read from 0 to the right edge, and so many δ from top to bottom: a profile may
# fall slowly at first and then within a hair's breadth.
_ACROSS, _DOWN = 201, 121
# Beyond this ε, or this δ, a claim says nothing that people act on.
_WIDEST, _LEAST = 100.0, 1e-10
_SIGNS = {Bound.LOWER: "≤", Bound.EXACT: "=", Bound.UPPER: "≥"}


@styled
def profile(
    subjects: Subject | Mapping[str, Subject],
    *,
    delta: float | None = None,
    least: float | None = None,
    axes: Axes | None = None,
) -> Figure:
    """Every (ε, δ) that a mechanism keeps: δ against ε, on a logarithmic axis.

    Below a curve lie claims that it breaks, on it and above those that it keeps. ``delta`` marks
    one δ and the ε at which each curve has it; ``least`` is the smallest δ shown, 1e-10 unless
    less is marked.

    >>> import tellapart as ta
    >>> figure = profile({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(2)}, delta=1e-5)
    """
    curves = _curves(subjects)
    asked = None if delta is None else _checks.inside_unit(delta=delta)
    floor = _floor(least, asked)
    page = sheet(axes)
    read = {name: _epsilons(curve, floor) for name, curve in curves.items()}
    ends = [float(epsilons[-1]) for epsilons in read.values() if epsilons.size]
    right = min(1.12 * max(ends, default=0.0), _WIDEST) or 1.0
    lines = []
    for name, curve in curves.items():
        # Past its last δ shown a curve is not asked: deep tails cost time, and are out of sight.
        end = min(float(curve.epsilon(floor)), right)
        grid = np.union1d(np.linspace(0.0, end, _ACROSS), read[name][read[name] <= end])
        values = np.asarray(curve.delta(grid))
        label = name if asked is None else f"{name}: {_reading(curve, asked)}"
        lines.append(CurveLine(label, curve.bound, grid, values, guessing=floor))
    page.axes.set(
        xlabel="privacy parameter (ε)",
        ylabel="δ at this ε",
        yscale="log",
        xlim=(0, right),
        ylim=(floor, 1.3),
    )
    entries = draw(page.axes, lines)
    if asked is not None:
        mark = guess(page.axes, [0, right], [asked, asked])
        entries.append(LegendEntry(mark, f"δ = {written(asked)}"))
    return page.finished(entries, shape=0.85)


def _curves(subjects: Subject | Mapping[str, Subject]) -> dict[str, TradeoffCurve]:
    if isinstance(subjects, Mapping):
        return curves_of(subjects)
    return {"privacy profile": curve_of(subjects, "subjects")}


def _floor(least: float | None, marked: float | None) -> float:
    if least is None:
        return min(_LEAST, (marked or 1.0) / 100)
    floor = _checks.inside_unit(least=least)
    if marked is not None and marked < floor:
        _checks.refuse("delta", f"be at least the smallest δ shown, least = {short(floor)}", marked)
    return floor


def _epsilons(curve: TradeoffCurve, least: float) -> Array:
    """The ε at which the profile has each δ shown, as far as they are finite."""
    epsilons = np.asarray(curve.epsilon(np.geomspace(1.0, least, _DOWN)))
    return np.unique(epsilons[np.isfinite(epsilons)])


def _reading(curve: TradeoffCurve, delta: float) -> str:
    """ε at this δ; a bound is rounded conservatively: up, but down for what an attack has shown."""
    return f"ε {related(_SIGNS[curve.bound], float(curve.epsilon(delta)))}"
