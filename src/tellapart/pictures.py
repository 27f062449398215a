"""Charts of trade-off curves: trade-off, ROC, precision and recall, privacy region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.drawing.record import Axis, Drawing, Ink, Spot, Trace
from tellapart.risk import precision

INKS = (Ink.FIRST, Ink.SECOND, Ink.THIRD, Ink.FOURTH, Ink.FIFTH)
# Dense where curves bend: at small FPR and at small FNR.
_EDGE = np.geomspace(1e-4, 0.02, 25)
_RATES = np.unique(np.concatenate([[0.0], _EDGE, np.linspace(0.02, 0.98, 65), 1 - _EDGE, [1.0]]))
_LEAST = 1e-6
_FPR = "false-positive rate (FPR)"
_FEW = 64  # corners that a picture can show
_LOG_RATES = np.geomspace(_LEAST, 1, 97)
_UNSEEN = 1e-9  # recall that no picture shows
# Below this δ, and beyond this ε, a claim says nothing that people act on.
_LEAST_DELTA, _WIDEST = 1e-10, 100.0

KINDS = (
    ("roc", "ROC"),
    ("roc-log", "ROC, log scale"),
    ("tradeoff", "Trade-off"),
    ("profile", "Privacy profile"),
    ("precision", "Precision and recall"),
    ("region", "Region"),
)


def draw(
    kind: str, curves: Mapping[str, TradeoffCurve], prior: float, spots: Sequence[Spot] = ()
) -> Drawing:
    """The curves in one of the KINDS, beside an attack that guesses."""
    if kind not in dict(KINDS):
        _checks.refuse("picture", f"be one of {', '.join(dict(KINDS))}", kind)
    inks = dict(zip(curves, INKS * (len(curves) // len(INKS) + 1), strict=False))
    if kind == "precision":
        return _precision(curves, prior, inks)
    if kind == "profile":
        return _profile(curves, inks)
    rates, low = (_LOG_RATES, _LEAST) if kind == "roc-log" else (_RATES, 0.0)
    grids = {name: _cornered(rates, _corners(curve)[0]) for name, curve in curves.items()}
    if kind in ("roc", "roc-log"):
        lines = [_trace(name, x, curves[name].tpr(x), inks[name]) for name, x in grids.items()]
        words = "The higher a curve, the more members an attack flags; no attack lies above it."
        return roc(words, lines, rates, low, spots)
    lines = [_trace(name, x, curves[name].beta(x), inks[name]) for name, x in grids.items()]
    if kind == "tradeoff":
        return _tradeoff(lines, spots)
    lines = [all_round(line) for line in lines]
    words = "A guarantee allows the error rates inside its region, and none outside."
    return replace(_tradeoff(lines, spots), title="Privacy region", caption=words)


def _tradeoff(lines: Sequence[Trace], spots: Sequence[Spot]) -> Drawing:
    guess = _trace("guessing", np.array([0.0, 1.0]), np.array([1.0, 0.0]), Ink.CHANCE)
    words = "The lower a curve, the better the best attack; no attack lies below it."
    x, y = Axis(_FPR, 0, 1), Axis("false-negative rate (FNR)", 0, 1)
    return Drawing("Trade-off curves", words, x, y, (guess, *lines), tuple(spots))


def every(curves: Mapping[str, TradeoffCurve], prior: float) -> dict[str, Drawing]:
    """The curves in all KINDS but the region, each asked as seldom as a screen can tell.

    The trade-off, and precision and recall, are the points of both ROC curves in other axes.
    """
    drawn = {kind: draw(kind, curves, prior) for kind in ("roc", "roc-log", "profile")}
    rocs = [drawn["roc"].traces[1:], drawn["roc-log"].traces[1:]]
    missed = [replace(line, y=tuple(1 - tpr for tpr in line.y)) for line in rocs[0]]
    precise = [_precise(pair, prior) for pair in zip(*rocs, strict=True)]
    drawn["tradeoff"] = _tradeoff(missed, ())
    drawn["precision"] = _precisions(precise, prior)
    return drawn


def _precise(lines: Sequence[Trace], prior: float) -> Trace:
    """The share of those flagged who are members, at each recall of these points (Bayes' rule)."""
    fpr, tpr = (np.concatenate([getattr(line, side) for line in lines]) for side in ("x", "y"))
    seen = tpr > _UNSEEN
    # At one recall the least FPR counts; flagging nobody wrong, everyone flagged is a member.
    order = np.lexsort((fpr[seen], tpr[seen]))
    recall, first = np.unique(tpr[seen][order], return_index=True)
    wrong = (1 - prior) * fpr[seen][order][first]
    right = prior * recall
    return _trace(lines[0].name, recall, right / (right + wrong), lines[0].ink)


def roc(
    words: str, lines: Sequence[Trace], rates: Array, low: float, spots: Sequence[Spot] = ()
) -> Drawing:
    """Lines beside a guess at these rates; on logarithmic axes, unless they begin at 0."""
    x, y = Axis(_FPR, low, 1, low > 0), Axis("true-positive rate (TPR)", low, 1, low > 0)
    guess = _trace("guessing", rates, rates, Ink.CHANCE)
    return Drawing("ROC curves", words, x, y, (guess, *lines), tuple(spots))


def _corners(curve: TradeoffCurve) -> tuple[Array, Array]:
    """Where a curve of a few lines turns, as FPR and FNR: a grid would cut its corners."""
    if isinstance(curve, GuaranteeCurve | AtomicCurve):
        fpr, fnr = curve.vertices()
        if len(fpr) <= _FEW:
            return fpr, fnr
    return np.zeros(0), np.zeros(0)


def _cornered(grid: Array, corners: Array) -> Array:
    """The grid, with the corners that lie on it."""
    return np.union1d(grid, corners[(corners >= grid[0]) & (corners <= grid[-1])])


def _trace(name: str, x: Array, y: Array, ink: Ink) -> Trace:
    dashed = ink is Ink.CHANCE
    return Trace(name, tuple(map(float, x)), tuple(map(float, y)), ink, dashed=dashed)


def all_round(line: Trace) -> Trace:
    """A curve and what answering the other way makes of it: the outline of all there is."""
    around = tuple(1 - rate for rate in line.x), tuple(1 - rate for rate in line.y)
    x = (*line.x, *around[0], line.x[0])
    y = (*line.y, *around[1], line.y[0])
    return Trace(line.name, x, y, line.ink, filled=True)


def _precision(
    curves: Mapping[str, TradeoffCurve], prior: float, inks: Mapping[str, Ink]
) -> Drawing:
    ways = [_EDGE, np.linspace(0.02, 0.9, 60), np.linspace(0.9, 1, 41)]
    recalls = np.unique(np.concatenate(ways))
    lines = [
        _trace(name, recall, np.asarray(precision(curve, recall=recall, prior=prior)), inks[name])
        for name, curve in curves.items()
        for recall in [_cornered(recalls, 1 - _corners(curve)[1])]
    ]
    return _precisions(lines, prior)


def _precisions(lines: Sequence[Trace], prior: float) -> Drawing:
    ends = np.array([0.0, 1.0])
    guess = _trace("guessing", ends, np.full_like(ends, prior), Ink.CHANCE)
    x, y = Axis("recall (TPR)", 0, 1), Axis("precision (PPV)", 0, 1)
    words = f"The share of those flagged who are members, at a prior of {short(prior, 3)}."
    return Drawing("Precision and recall", words, x, y, (guess, *lines))


def _profile(curves: Mapping[str, TradeoffCurve], inks: Mapping[str, Ink]) -> Drawing:
    """Every (ε, δ) that a curve keeps: on the line and above it."""
    deltas = np.geomspace(1.0, _LEAST_DELTA, 41)
    read = {name: np.asarray(curve.epsilon(deltas)) for name, curve in curves.items()}
    ends = [float(readings[np.isfinite(readings)].max()) for readings in read.values()]
    right = min(1.12 * max(ends), _WIDEST) or 1.0
    lines = []
    for name, curve in curves.items():
        end = min(float(read[name][-1]), right)
        own = read[name][read[name] <= end]
        grid = np.union1d(np.linspace(0.0, end, 41), own)
        lines.append(_trace(name, grid, np.asarray(curve.delta(grid)), inks[name]))
    words = "Each curve keeps every (ε, δ) on its line and above it."
    across, up = Axis("privacy parameter ε", 0, right), Axis("δ at this ε", _LEAST_DELTA, 1, True)
    return Drawing("Privacy profile", words, across, up, tuple(lines))
