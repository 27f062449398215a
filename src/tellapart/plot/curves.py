"""Plots of trade-off curves: type I and II errors, ROC, precision and recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.loss_tails import ThresholdCurve
from tellapart.mechanisms.subject import Subject, curves_of
from tellapart.plot.numbers import plain
from tellapart.plot.sheet import (
    CurveLine,
    LegendEntry,
    along,
    draw,
    guess,
    legend_below,
    sheet,
    square,
)
from tellapart.plot.styling import dress, panels, styled

# The least rate on logarithmic axes; a value that starts below the second has such an axis.
LEAST, RARE = 1e-4, 0.05
# The losses at which curves are read, besides 0: corners nearer to each other look like one.
_LOSSES = np.geomspace(1e-4, 700.0, 500)
# A polygon with more corners than this looks smooth.
_CORNERS = 2000


class OperatingPoints(NamedTuple):
    """Operating points of a curve's best attacks, from "flag nobody" to "flag everybody"."""

    fpr: Array
    tpr: Array
    fnr: Array


def operating_points(curve: TradeoffCurve, least: float = LEAST) -> OperatingPoints:
    """Points close enough to draw lines between, with every visible corner among them."""
    # The best tests at a threshold are the corners of a polygon, which no grid of rates hits; a
    # composition is smooth but at 0, and has no digits at thresholds that no attack would use.
    smooth = isinstance(curve, ThresholdCurve)
    losses = np.zeros(1) if smooth else np.concatenate([-_LOSSES, [0.0], _LOSSES])
    corners = np.asarray(curve.rates(losses).fpr)
    grids = [np.linspace(0, 1, 401), np.geomspace(least, 1, 401), corners]
    if isinstance(curve, AtomicCurve | GuaranteeCurve) and len(curve.vertices()[0]) <= _CORNERS:
        grids.append(curve.vertices()[0])
    fpr = np.unique(np.clip(np.concatenate(grids), 0.0, 1.0))
    nobody, everybody = (0.0, 0.0, 1.0), (1.0, 1.0, 0.0)
    columns = zip(nobody, (fpr, curve.tpr(fpr), curve.beta(fpr)), everybody, strict=True)
    return OperatingPoints(
        *(np.concatenate([[first], inner, [last]]) for first, inner, last in columns)
    )


@styled
def tradeoff(subjects: Mapping[str, Subject], *, axes: Axes | None = None) -> Figure:
    """Trade-off curves: the least false-negative rate of any attack at each false-positive rate.

    The lower a curve, the better the best attack; on the diagonal it only guesses.

    >>> import tellapart as ta
    >>> figure = tradeoff({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(2)})
    """
    curves, page = curves_of(subjects), sheet(axes)
    return page.finished(_tradeoff(page.axes, curves))


def _tradeoff(axes: Axes, curves: Mapping[str, TradeoffCurve]) -> list[LegendEntry]:
    square(axes)
    axes.set(
        xlabel="false-positive rate (type I error, α)",
        ylabel="false-negative rate (type II error, β)",
    )
    guess(axes, [0, 1], [1, 0])
    along(axes, 0.5, 0.5, -45, "guessing")
    lines = []
    for name, curve in curves.items():
        fpr, _, fnr = operating_points(curve)
        lines.append(CurveLine(name, curve.bound, fpr, fnr, guessing=1 - fpr))
    return draw(axes, lines)


@styled
def roc(subjects: Mapping[str, Subject], *, log: bool = False, axes: Axes | None = None) -> Figure:
    """ROC curves: the share of members that the best attack flags at each false-positive rate.

    With ``log`` both axes are logarithmic, which shows the true-positive rate at low FPR.

    >>> import tellapart as ta
    >>> figure = roc({"Laplace": ta.Laplace(1), "Gaussian": ta.Gaussian(2)}, log=True)
    """
    curves, page = curves_of(subjects), sheet(axes)
    return page.finished(_roc(page.axes, curves, log))


def _roc(axes: Axes, curves: Mapping[str, TradeoffCurve], log: bool) -> list[LegendEntry]:
    square(axes, least=LEAST if log else None)
    axes.set(xlabel="false-positive rate (FPR)", ylabel="true-positive rate (TPR)")
    least = LEAST if log else 0.0
    middle = LEAST**0.5 if log else 0.5
    guess(axes, [least, 1], [least, 1])
    along(axes, middle, middle, 45, "guessing")
    lines = []
    for name, curve in curves.items():
        fpr, tpr, _ = operating_points(curve)
        shown = fpr >= least
        fpr, tpr = fpr[shown], tpr[shown]
        lines.append(CurveLine(name, curve.bound, fpr, tpr, guessing=fpr))
    return draw(axes, lines)


@styled
def precision_recall(
    subjects: Mapping[str, Subject], *, prior: float = 0.5, axes: Axes | None = None
) -> Figure:
    """Precision-recall curves: the share of those flagged who are members, by recall (TPR).

    ``prior`` is the prior probability of membership: the precision of a guess. Where
    members are rare (a prior under 0.05), the precision has a logarithmic axis.

    >>> import tellapart as ta
    >>> figure = precision_recall({"Laplace": ta.Laplace(1)}, prior=0.01)
    """
    before = _checks.inside_unit(prior=prior)
    curves, page = curves_of(subjects), sheet(axes)
    page.axes.set(
        xlabel="recall (TPR)",
        ylabel="precision (PPV)",
        xlim=(-0.012, 1.012),
    )
    above(page.axes, before)
    lines = []
    for name, curve in curves.items():
        recall = np.unique(operating_points(curve).tpr)
        right = np.asarray(risk.precision(curve, recall=recall, prior=before))
        lines.append(CurveLine(name, curve.bound, recall, right, guessing=before))
    base = guess(page.axes, [0, 1], [before, before])
    words = f"guessing: the prior, {short(before, 4)}"
    return page.finished([*draw(page.axes, lines), LegendEntry(base, words)], shape=0.85)


def above(axes: Axes, floor: float) -> None:
    """A vertical axis from what needs no output at all up to certainty."""
    if floor < RARE:
        axes.set(yscale="log", ylim=(floor / 1.5, 1.15))
    else:
        axes.set(ylim=(floor - 0.08 * (1 - floor), 1 + 0.012 * (1 - floor)))


@styled
def compare(subjects: Mapping[str, Subject]) -> Figure:
    """Two views of the same curves: trade-off curves, and ROC curves at low FPR.

    >>> import tellapart as ta
    >>> figure = compare({"promise": ta.guarantee(1), "Laplace": ta.Laplace(1)})
    """
    curves = curves_of(subjects)
    figure, (left, right) = panels(2, height=4.3 + 0.19 * len(curves))
    entries = _tradeoff(dress(left), curves)
    _roc(dress(right), curves, log=True)
    for axes in (left, right):
        plain(axes)
    legend_below(figure, entries)
    return figure
