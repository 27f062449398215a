"""Limits on risks as pictures: each against its cost, and on the curve that a choice leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tellapart import pictures
from tellapart._numeric.text import short
from tellapart.choose.frontiers import Frontier
from tellapart.choose.limit import Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.drawing.record import Axis, Drawing, Ink, Mark, Spot, Trace
from tellapart.mechanisms.catalogue import PARAMETERS

KINDS = (
    ("cost", "What more or less noise would mean"),
    *(kind for kind in pictures.KINDS if kind[0] in ("roc", "roc-log", "tradeoff", "precision")),
)
# Risks are drawn as shares of their limits, up to so many times the limit.
_HIGHEST = 2.0


def shares(limit: Limit, value: float) -> float:
    """A risk as a share of its limit: 1 where it is reached, more where it is broken."""
    if limit.least:
        return limit.bound / value if value > 0 else float("inf")
    return value / limit.bound if limit.bound > 0 else float("inf")


def costs(
    around: Frontier, limits: Sequence[Limit], chosen: float, names: Sequence[str]
) -> Drawing | None:
    """Every limited risk against the error of the answer, or the parameter where there is none."""
    noisy = around.rows[0].margin is not None
    rows = [(row.margin if noisy else row.parameter, row) for row in around.rows]
    # No error has no place on a logarithmic axis.
    placed = sorted((at, row) for at, row in rows if at)
    if len(placed) < 2:
        return None
    label = PARAMETERS[around.parameter].label
    if noisy:
        label = "error of the answer: 95 % within ±"
    traces = [_limit_line(placed[0][0], placed[-1][0])]
    spots = []
    for k, limit in enumerate(limits):
        ink = pictures.INKS[k % len(pictures.INKS)]
        points = [(at, shares(limit, row.risks[k])) for at, row in placed]
        kept = [point for point in points if point[1] <= _HIGHEST]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        traces.append(Trace(names[k], tuple(x), tuple(y), ink))
    for at, row in placed:
        if row.parameter == chosen:
            reached = max(shares(limit, x) for limit, x in zip(limits, row.risks, strict=True))
            name = f"chosen: {around.parameter} = {short(chosen, 10)}"
            spots.append(Spot(name, at, reached, Ink.PROMISE, Mark.GOOD))
    words = (
        "Each risk as a share of its limit: above the dashed line the limit is exceeded. "
        + ("More noise lies to the right." if noisy else "")
    ).strip()
    return Drawing(
        KINDS[0][1],
        words,
        Axis(label, placed[0][0], placed[-1][0], log=True),
        Axis("risk, as a share of its limit", 0, _HIGHEST),
        tuple(traces),
        tuple(spots),
        kind="cost",
    )


def _limit_line(low: float, high: float) -> Trace:
    return Trace("the limit", (low, high), (1.0, 1.0), Ink.CHANCE, dashed=True)


def curve_picture(
    kind: str, name: str, curve: TradeoffCurve, limits: Sequence[Limit], prior: float
) -> Drawing:
    """The curve that the choice leaves to an attacker, with the limits that have a place on it."""
    drawn = pictures.draw(kind, {name: curve}, prior)
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
            y = [float(rate) for rate in bound.tpr(x)]
            ink = pictures.INKS[1 + len(lines)]
            lines.append(Trace(str(limit), x, tuple(y), ink, dashed=True))
    return replace(drawn, traces=(*drawn.traces, *lines), spots=tuple(spots))


def _place(limit: Limit, asked: Mapping[str, float]) -> tuple[float, float] | None:
    """The FPR and TPR at which a limit on one of them is reached."""
    kind = limit.measure.__name__
    if kind == "tpr":
        return asked["fpr"], limit.bound
    if kind not in ("ppv", "precision") or not 0 < limit.bound < 1:
        return None
    # Among those flagged, non-members per member, by Bayes' rule.
    others = (1 - limit.bound) / limit.bound * asked["prior"] / (1 - asked["prior"])
    if kind == "ppv":
        place = asked["fpr"], asked["fpr"] / others
    else:
        place = asked["recall"] * others, asked["recall"]
    return place if max(place) <= 1 else None


def _bound(limit: Limit, asked: Mapping[str, float]) -> TradeoffCurve | None:
    """The least private curve that keeps a limit on the advantage or on ε."""
    if limit.measure.__name__ == "advantage" and limit.bound < 1:
        return guarantee(0.0, limit.bound)
    if limit.measure.__name__ == "epsilon" and asked["delta"] < 1:
        return guarantee(limit.bound, asked["delta"])
    return None


def drawings(
    name: str,
    limits: Sequence[Limit],
    curve: TradeoffCurve,
    prior: float,
    cost: Drawing | None,
) -> tuple[Drawing, ...]:
    """The cost first, where there is any, then the curve that the choice leaves to an attacker."""
    curves = (
        replace(curve_picture(kind, name, curve, limits, prior), kind=kind, title=title)
        for kind, title in KINDS[1:]
    )
    return (*((cost,) if cost else ()), *curves)
