"""Charts that objects draw of themselves: what stands behind ``.plot()`` of curves and verdicts."""

from __future__ import annotations

from contextlib import suppress
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

from tellapart import _checks
from tellapart.audit.bounds import percent
from tellapart.audit.verdict import Verdict
from tellapart.choose.calibrate import Choice
from tellapart.choose.comparison import Comparison
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import curve_of
from tellapart.plot.curves import operating_points, precision_recall, roc, tradeoff
from tellapart.plot.privacy_profile import profile
from tellapart.plot.styling import Pen, pen, style

Curves = dict[str, TradeoffCurve]
KINDS = ("roc", "roc-log", "tradeoff", "profile", "precision", "region")


def drawn(thing: object, kind: str, axes: Axes | None, **options: Any) -> Axes:
    """What an object looks like in one of the KINDS, on axes that pyplot shows unless given."""
    if kind not in KINDS:
        _checks.refuse("kind", f"be one of {', '.join(KINDS)}", kind)
    curves = curves_in(thing)
    made = axes is None
    if axes is None:
        with style():
            figure = pyplot.figure(figsize=(5.0, 5.2 + 0.25 * len(curves)), layout="constrained")
            axes = figure.subplots()
    try:
        _draw(kind, curves, axes, options)
    except BaseException:
        if made:
            pyplot.close(axes.figure)  # type: ignore[arg-type]
        raise
    return axes


def _draw(kind: str, curves: Curves, axes: Axes, options: dict[str, Any]) -> None:
    if kind == "precision":
        precision_recall(curves, axes=axes, **options)
    elif kind == "profile":
        profile(curves, axes=axes, **options)
    elif kind == "tradeoff":
        tradeoff(curves, axes=axes, **options)
    elif kind == "region":
        tradeoff(curves, axes=axes, **options)
        for index, curve in enumerate(curves.values()):
            _fill(axes, curve, pen(index))
    else:
        roc(curves, log=kind == "roc-log", axes=axes, **options)


def _fill(axes: Axes, curve: TradeoffCurve, look: Pen) -> None:
    """All pairs of errors that are possible: above the curve, and as far from the other corner."""
    fpr, _, fnr = operating_points(curve)
    axes.plot(1 - fpr, 1 - fnr, color=look.colour, ls=look.dashes)
    around = np.concatenate([fpr, 1 - fpr]), np.concatenate([fnr, 1 - fnr])
    axes.fill(*around, color=look.colour, alpha=0.12, lw=0, zorder=0.5)


@singledispatch
def curves_in(thing: object) -> Curves:
    """The curves of an object by the names that a picture shows."""
    raise Unsupported(f"{type(thing).__name__} has no curve to draw")


@curves_in.register
def _(thing: TradeoffCurve) -> Curves:
    return {thing.label: thing}


@curves_in.register
def _(thing: Mechanism) -> Curves:
    return {repr(thing): thing.curve()}


@curves_in.register
def _(thing: Choice) -> Curves:
    return {
        repr(thing.subject)
        if isinstance(thing.subject, Mechanism)
        else thing.curve.label: thing.curve
    }


@curves_in.register
def _(thing: Comparison) -> Curves:
    return dict(zip(thing.names, thing.curves, strict=True))


@curves_in.register
def _(thing: Verdict) -> Curves:
    curves = {f"the claim: {thing.name}": curve_of(thing.claim, "claim")}
    with suppress(Unsupported):  # guesses and bets show no curve
        curves[f"shown with {percent(thing.confidence)} confidence"] = thing.evidence.curve()
    return curves
