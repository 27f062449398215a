"""Plot of a privacy audit: what the claim allows, what was shown, and where the two collide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tellapart import _checks
from tellapart.audit.bounds import percent
from tellapart.audit.evidence.base import Design, Evidence, Finding
from tellapart.audit.evidence.count import CountEvidence
from tellapart.audit.evidence.cuts import CutEvidence
from tellapart.audit.evidence.joint import JointEvidence
from tellapart.audit.evidence.rank import RankEvidence
from tellapart.audit.evidence.reconstruction_counts import ReconstructionEvidence
from tellapart.audit.verdict import Verdict, judge
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.plot.curves import LEAST, operating_points
from tellapart.plot.numbers import plain
from tellapart.plot.sheet import CurveLine, LegendEntry, along, draw, guess, legend_below, square
from tellapart.plot.styling import ATTACK_SEEN, BLACK, dress, panels, styled

# The least rate a logarithmic axis may begin at, and the largest.
_LOWEST, _HIGHEST = 1e-7, 1e-3
_AXES = {
    Design.CALLS: ("FPR: outputs on d0 taken for d1", "TPR: outputs on d1 recognised"),
    Design.TARGETS: ("baseline: success of the best blind guess", "success with the output"),
}
_TESTED = "observed rates, at the tested thresholds"
_ROC = ("false-positive rate (FPR)", "true-positive rate (TPR)")


@styled
def audit(
    found: Verdict | Evidence, claim: Subject | None = None, exact: Subject | None = None
) -> Figure:
    """What a claim allows beside what an attack was shown to do, with all errors and with few.

    Where more was shown than the claim allows, the claim is refuted: that part is cross-hatched.
    ``found`` is a verdict, or evidence and perhaps a ``claim``; ``exact`` is the mechanism itself,
    where it is known.

    >>> import tellapart as ta
    >>> from tellapart import audit as audits
    >>> scores = audits.Scores(members=range(50, 150), non_members=range(100))
    >>> figure = audit(audits.judge(ta.guarantee(epsilon=0.5), audits.many_runs(scores)))
    """
    evidence, verdict = _asked(found, claim)
    shown = evidence.curve()
    curves: dict[str, TradeoffCurve] = {}
    if verdict is not None:
        claimed = evidence.held_against(curve_of(verdict.claim, "claim"))
        curves[f"the claim: {verdict.name}"] = claimed
    curves[f"shown with {percent(evidence.confidence)} confidence"] = shown
    if exact is not None:
        curves["the mechanism itself"] = curve_of(exact, "exact")
    figure, (left, right) = panels(2, height=4.75 + 0.19 * len(curves))
    least = _least(evidence)
    entries = _panel(dress(left), curves, verdict, evidence, None)
    _panel(dress(right), curves, verdict, evidence, least)
    what = "Guesses" if evidence.design is Design.TARGETS else "ROC"
    left.set_title(f"{what}, linear axes", fontsize=10)
    right.set_title(f"{what}, logarithmic axes", fontsize=10)
    if verdict is not None:
        figure.suptitle(" ".join(verdict.outcome), fontsize=11, fontweight="bold")
    legend_below(figure, entries)
    return figure


def _asked(result: object, claim: Subject | None) -> tuple[Evidence, Verdict | None]:
    if isinstance(result, Verdict):
        if claim is not None:
            _checks.refuse("claim", "be left out where a verdict is given", claim)
        return result.evidence, result
    if not isinstance(result, Evidence):
        _checks.refuse("found", "be a verdict or evidence of audit", result)
    return result, None if claim is None else judge(claim, result)


def _least(evidence: Evidence) -> float:
    """Where a logarithmic axis begins: a decade that still holds the smallest rate looked at."""
    rates = [fpr for fpr, _ in _looked(evidence) if fpr > 0]
    smallest = min(rates, default=LEAST)
    return float(np.clip(10.0 ** math.floor(math.log10(smallest)), _LOWEST, _HIGHEST))


def _panel(
    axes: Axes,
    curves: dict[str, TradeoffCurve],
    verdict: Verdict | None,
    evidence: Evidence,
    log_from: float | None,
) -> list[LegendEntry]:
    least = log_from or 0.0
    square(axes, least=log_from)
    across, up = _AXES.get(evidence.design, _ROC)
    axes.set(xlabel=across, ylabel=up)
    middle = least**0.5 if log_from else 0.5
    guess(axes, [least, 1], [least, 1])
    along(axes, middle, middle, 45, "guessing")
    lines: list[CurveLine] = []
    for name, curve in curves.items():
        fpr, tpr, _ = operating_points(curve, log_from or LEAST)
        kept = fpr >= least
        # A mechanism that is claimed is a promise, too.
        bound = Bound.LOWER if verdict is not None and not lines else curve.bound
        lines.append(CurveLine(name, bound, fpr[kept], tpr[kept], fpr[kept]))
    entries = draw(axes, lines)
    if verdict is not None and verdict.finding is not None:
        entries += _collision(axes, lines[0], lines[1])
        entries += _mark(axes, verdict.finding, least)
    entries += _dots(axes, evidence, log_from)
    plain(axes)
    return entries


def _collision(axes: Axes, claim: CurveLine, shown: CurveLine) -> list[LegendEntry]:
    """The part of the square that the claim forbids and an attacker reaches."""
    fpr = np.unique(np.concatenate([claim.x, shown.x]))
    allowed, reached = (np.interp(fpr, line.x, line.y) for line in (claim, shown))
    if not (reached > allowed).any():
        words = "the curve shown does not cross the claim: its limits are wider than the test"
        return [LegendEntry(Line2D([], [], ls="none"), words)]
    fill: dict[str, Any] = {"facecolor": "none", "edgecolor": BLACK, "hatch": "xxxx"}
    axes.fill_between(
        fpr, allowed, reached, where=reached > allowed, interpolate=True, lw=0, zorder=2.5, **fill
    )
    return [LegendEntry(Patch(lw=0, **fill), "shown by the evidence, excluded by the claim")]


def _mark(axes: Axes, finding: Finding, least: float) -> list[LegendEntry]:
    """The test behind the verdict, at the rates it observed: the same in both panels."""
    if finding.at is None:  # guesses and bets have no rates
        return []
    x, y = (max(rate, least) for rate in finding.at)
    cross: dict[str, Any] = {"color": BLACK, "mec": "white", "ms": 11, "zorder": 5}
    (mark,) = axes.plot(x, y, "X", clip_on=False, **cross)
    return [LegendEntry(mark, f"REFUTED here: {finding.significance}")]


def _dots(axes: Axes, evidence: Evidence, log_from: float | None) -> list[LegendEntry]:
    points = np.array(list(_looked(evidence))).reshape(-1, 2)
    if log_from:
        points = points[(points > 0).all(axis=1)]
    if not points.size:
        return []
    (dots,) = axes.plot(*points.T, ls="none", zorder=4, **ATTACK_SEEN)
    targets = evidence.design is Design.TARGETS
    what = "observed success, at the baseline" if targets else _TESTED
    return [LegendEntry(dots, what)]


def _looked(evidence: Evidence) -> Iterator[tuple[float, float]]:
    """The observed (FPR, TPR) of every look, where evidence consists of looks."""
    if isinstance(evidence, JointEvidence):
        for part in evidence.parts.values():
            yield from _looked(part)
    elif isinstance(evidence, RankEvidence):
        yield from (look.rates for look in evidence.looks)
    elif isinstance(evidence, CutEvidence):
        yield from (cut.rates for cut in evidence.cuts)
    elif isinstance(evidence, CountEvidence):
        yield evidence.counts.fpr, evidence.counts.tpr
    elif isinstance(evidence, ReconstructionEvidence):
        yield evidence.rates
