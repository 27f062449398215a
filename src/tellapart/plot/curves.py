"""Pictures of curves: what an attacker gets wrong, finds, and is right about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.base import Mechanism
from tellapart.plot.sides import ROW, Band, Entry, guessing, legend, named, sided
from tellapart.plot.style import GREY, canvas, panels, pen, styled

Subjects = Mapping[str, Mechanism | TradeoffCurve]

# The least rate on logarithmic axes; under this prior, precision needs one too.
_LEAST, _RARE = 1e-4, 0.05


class Points(NamedTuple):
    """Operating points of a curve's best attacks, from "accuse nobody" to "accuse everybody"."""

    fpr: Array
    tpr: Array
    fnr: Array


def operating_points(curve: TradeoffCurve) -> Points:
    """Points close enough to draw lines between, with every visible corner among them."""
    steps = np.geomspace(1e-4, 700.0, 500)
    # The best tests at a threshold are the corners of a polygon; no other points are exact there.
    corners = curve.rates(np.concatenate([-steps, [0.0], steps])).fpr
    grids = [np.linspace(0, 1, 401), np.geomspace(_LEAST, 1, 401), np.atleast_1d(corners)]
    fpr = np.unique(np.clip(np.concatenate(grids), 0.0, 1.0))
    nobody, everybody = (0.0, 0.0, 1.0), (1.0, 1.0, 0.0)
    rates = (fpr, curve.tpr(fpr), curve.beta(fpr))
    columns = zip(nobody, rates, everybody, strict=True)
    return Points(*(np.concatenate([[first], inner, [last]]) for first, inner, last in columns))


def curves_of(subjects: Subjects) -> dict[str, TradeoffCurve]:
    """The curve of each subject; a mechanism brings its own."""
    if not isinstance(subjects, Mapping):
        _checks.refuse("subjects", "map names to mechanisms or curves", subjects)
    if not subjects:
        _checks.refuse("subjects", "not be empty", subjects)
    return {_name(name): as_curve(one, "subjects") for name, one in subjects.items()}


def _name(name: object) -> str:
    if not isinstance(name, str):
        _checks.refuse("subjects", "have names that are text", name)
    return name


def as_curve(one: object, argument: str) -> TradeoffCurve:
    """What is drawn of a mechanism or a curve; ``argument`` is named if it is neither."""
    made = one.curve() if isinstance(one, Mechanism) else one
    if not isinstance(made, TradeoffCurve):
        _checks.refuse(argument, "hold only mechanisms or curves", one)
    return made


@styled
def tradeoff(subjects: Subjects, *, axes: Axes | None = None) -> Figure:
    """How many members an attacker must miss to make few false accusations.

    The lower a curve, the better an attacker does; on the diagonal it only guesses.
    """
    curves = curves_of(subjects)
    figure, axes = canvas(axes, height=4.4 + ROW * len(curves))
    legend(axes, _tradeoff(axes, curves))
    return figure


def _tradeoff(axes: Axes, curves: Mapping[str, TradeoffCurve]) -> list[Entry]:
    _square(axes, log=False)
    axes.set(
        xlabel="false accusations (type I error, α)", ylabel="members missed (type II error, β)"
    )
    guessing(axes, [0, 1], [1, 0])
    _along(axes, 0.5, 0.5, -45, "guessing")
    entries = []
    for index, (name, curve) in enumerate(curves.items()):
        fpr, _, fnr = operating_points(curve)
        band = Band(unreachable=0.0, guessing=1 - fpr)
        look = pen(index)
        entries.append(sided(axes, fpr, fnr, band, name=name, bound=curve.bound, pen=look))
    return entries


@styled
def roc(subjects: Subjects, *, log: bool = False, axes: Axes | None = None) -> Figure:
    """How many members an attacker finds at each rate of false accusations.

    With ``log`` both axes are logarithmic, which shows the careful attacker: the one who accuses
    hardly anyone wrongly.
    """
    curves = curves_of(subjects)
    figure, axes = canvas(axes, height=4.4 + ROW * len(curves))
    legend(axes, _roc(axes, curves, log))
    return figure


def _roc(axes: Axes, curves: Mapping[str, TradeoffCurve], log: bool) -> list[Entry]:
    _square(axes, log)
    axes.set(xlabel="false accusations (FPR)", ylabel="members found (TPR)")
    guessing(axes, [_LEAST if log else 0, 1], [_LEAST if log else 0, 1])
    middle = _LEAST**0.5 if log else 0.5
    _along(axes, middle, middle, 45, "guessing")
    entries = []
    for index, (name, curve) in enumerate(curves.items()):
        fpr, tpr, _ = operating_points(curve)
        shown = fpr >= (_LEAST if log else 0)
        fpr, tpr = fpr[shown], tpr[shown]
        band = Band(unreachable=1.0, guessing=fpr)
        look = pen(index)
        entries.append(sided(axes, fpr, tpr, band, name=name, bound=curve.bound, pen=look))
    return entries


@styled
def precision_recall(subjects: Subjects, *, prior: float = 0.5, axes: Axes | None = None) -> Figure:
    """How often an attacker's accusations are right, by the share of members it finds.

    ``prior`` is the share of members among those it looks at: what a guess gets right. Where
    members are rare (a prior under 0.05), the precision has a logarithmic axis.
    """
    curves = curves_of(subjects)
    before = _checks.inside_unit(prior=prior)
    figure, axes = canvas(axes, height=4.4 + ROW * (len(curves) + 1))
    bottom = before / 2 if before < _RARE else 0.0
    axes.set(
        xlabel="members found (recall, TPR)",
        ylabel="accusations that are right (precision)",
        yscale="log" if before < _RARE else "linear",
        xlim=(0, 1),
        ylim=(bottom, 1.0),
    )
    entries = []
    for index, (name, curve) in enumerate(curves.items()):
        recall = np.unique(operating_points(curve).tpr)
        right = np.asarray(risk.precision(curve, recall=recall, prior=before))
        band, look = Band(unreachable=1.0, guessing=before), pen(index)
        entries.append(sided(axes, recall, right, band, name=name, bound=curve.bound, pen=look))
    line = guessing(axes, [0, 1], [before, before])
    entries.append(Entry(line, f"guessing is right as often as people are members: {before:.4g}"))
    legend(axes, entries)
    return figure


@styled
def compare(subjects: Subjects) -> Figure:
    """Two views of the same attackers: all errors, and few false accusations."""
    curves = curves_of(subjects)
    figure, (left, right) = panels(2, height=4.4 + ROW * len(curves))
    entries = _tradeoff(canvas(left)[1], curves)
    _roc(canvas(right)[1], curves, log=True)
    drawn = figure.legend(
        [entry.handle for entry in entries],
        [""] * len(entries),
        loc="outside lower center",
        handlelength=3,
    )
    named(drawn, entries, width=9.0)
    return figure


def _square(axes: Axes, log: bool) -> None:
    """Both axes alike, so that swapping the two kinds of error is seen as a mirror."""
    limits = (_LEAST, 1.0) if log else (0.0, 1.0)
    scale = "log" if log else "linear"
    axes.set(xscale=scale, yscale=scale, xlim=limits, ylim=limits, aspect="equal")


def _along(axes: Axes, x: float, y: float, angle: float, words: str) -> None:
    """Words on the empty side of the diagonal: nobody does worse than guessing."""
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
