"""Pictures of a choice: what risks cost, and how the limits lie to the curve that is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tellapart.choose import Frontier, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.web import _controls, _pictures
from tellapart.web._answer import Axis, Drawing, Ink, Mark, Spot, Trace

KINDS = (("cost", "Cost"), *(one for one in _pictures.KINDS if one[0] != "region"))
# Risks are drawn as shares of their limits, up to so many times the limit.
_HIGHEST = 2.0


def shares(limit: Limit, value: float) -> float:
    """A risk as a share of its limit: 1 where it is reached, more where it is broken."""
    if limit.least:
        return limit.bound / value if value > 0 else float("inf")
    return value / limit.bound if limit.bound > 0 else float("inf")


def costs(around: Frontier, limits: Sequence[Limit], chosen: float) -> Drawing | None:
    """Every limited risk against the error of the answer, or the parameter where there is none."""
    noisy = around.rows[0].margin is not None
    rows = [(row.margin if noisy else row.parameter, row) for row in around.rows]
    # No error has no place on a logarithmic axis.
    placed = sorted((at, row) for at, row in rows if at)
    if len(placed) < 2:
        return None
    label = _controls.label_of(around.parameter)
    if noisy:
        label = "error: 95 % of the noise lies within ± this"
    traces = [_limit_line(placed[0][0], placed[-1][0])]
    spots = []
    for k, limit in enumerate(limits):
        ink = _pictures.INKS[k % len(_pictures.INKS)]
        points = [(at, shares(limit, row.risks[k])) for at, row in placed]
        kept = [one for one in points if one[1] <= _HIGHEST]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        traces.append(Trace(limit.name, tuple(x), tuple(y), ink))
    for at, row in placed:
        if row.parameter == chosen:
            reached = max(shares(one, x) for one, x in zip(limits, row.risks, strict=True))
            name = f"chosen: {around.parameter} = {chosen:.10g}"
            spots.append(Spot(name, at, reached, Ink.PROMISE, Mark.GOOD))
    told = (
        "Each risk as a share of its limit: above the dashed line a limit is broken. "
        + ("More noise lies to the right." if noisy else "")
    ).strip()
    return Drawing(
        "What the limits cost",
        told,
        Axis(label, placed[0][0], placed[-1][0], log=True),
        Axis("risk, as a share of its limit", 0, _HIGHEST),
        tuple(traces),
        tuple(spots),
    )


def _limit_line(low: float, high: float) -> Trace:
    return Trace("the limit", (low, high), (1.0, 1.0), Ink.CHANCE, dashed=True)


def curve(
    kind: str, name: str, found: TradeoffCurve, limits: Sequence[Limit], prior: float
) -> Drawing:
    """The curve that the choice leaves to an attacker, with the limits that have a place on it."""
    drawn = _pictures.draw(kind, {name: found}, prior)
    if kind not in ("roc", "roc-log"):
        return drawn
    lines: list[Trace] = []
    spots: list[Spot] = []
    for limit in limits:
        arguments = dict(limit.arguments)
        place = _place(limit, arguments)
        if place is not None:
            spots.append(Spot(str(limit), *place, Ink.PROMISE))
        bound = _bound(limit, arguments)
        if bound is not None:
            x = drawn.traces[0].x
            y = [float(one) for one in bound.tpr(x)]
            ink = _pictures.INKS[1 + len(lines)]
            lines.append(Trace(str(limit), x, tuple(y), ink, dashed=True))
    return replace(drawn, traces=(*drawn.traces, *lines), spots=tuple(spots))


def _place(limit: Limit, asked: Mapping[str, float]) -> tuple[float, float] | None:
    """The FPR and TPR at which a limit on one of them is reached."""
    kind = limit.measure.__name__
    if kind == "tpr":
        return asked["fpr"], limit.bound
    if kind not in ("ppv", "precision") or not 0 < limit.bound < 1:
        return None
    # Of the accused, this many are others for each member: what Bayes' rule says.
    others = (1 - limit.bound) / limit.bound * asked["prior"] / (1 - asked["prior"])
    if kind == "ppv":
        found = asked["fpr"], asked["fpr"] / others
    else:
        found = asked["recall"] * others, asked["recall"]
    return found if max(found) <= 1 else None


def _bound(limit: Limit, asked: Mapping[str, float]) -> TradeoffCurve | None:
    """The least private curve that keeps a limit on the advantage or on ε."""
    if limit.measure.__name__ == "advantage" and limit.bound < 1:
        return guarantee(0.0, limit.bound)
    if limit.measure.__name__ == "epsilon" and asked["delta"] < 1:
        return guarantee(limit.bound, asked["delta"])
    return None
