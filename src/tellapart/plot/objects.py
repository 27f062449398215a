"""Charts that objects draw of themselves: what stands behind ``.plot()`` of curves and verdicts."""

from __future__ import annotations

from contextlib import suppress
from functools import singledispatch
from typing import Any

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
from tellapart.plot.curves import precision_recall, roc, tradeoff
from tellapart.plot.styling import style

Curves = dict[str, TradeoffCurve]
KINDS = ("roc", "roc-log", "tradeoff", "precision")


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
    elif kind == "tradeoff":
        tradeoff(curves, axes=axes, **options)
    else:
        roc(curves, log=kind == "roc-log", axes=axes, **options)


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
