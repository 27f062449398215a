"""What objects show of themselves in a notebook: cards with a chart (ROC) and their main numbers.

Every number stands with its side (=, ≈, ≤, ≥) and beside its baseline: what an attacker without
the output has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import singledispatch
from html import escape

import numpy as np

from tellapart import deadline
from tellapart._numeric.text import fixed, short
from tellapart.audit.bounds import LowerBound
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.trainings.watch_verdict import WatchVerdict
from tellapart.audit.verdict import Verdict
from tellapart.choose.calibrate import Choice
from tellapart.choose.comparison import Comparison
from tellapart.choose.limit import FORMULAS, Limit
from tellapart.choose.training_maps import TrainingMap
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.drawing.card import Bar, Card, Cell
from tellapart.drawing.record import Axis, Drawing, Ink, Mark, Spot, Trace
from tellapart.errors import LimitReached, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import curve_of, scope
from tellapart.pictures import INKS
from tellapart.risk.catalogue import MEASURES, Reading
from tellapart.worlds.frameworks.comparison import FrameworkComparison
from tellapart.worlds.frameworks.result import FrameworkResult
from tellapart.worlds.frameworks.results_text import shown

# Whoever ends a cell with an object did not ask for a long calculation.
_PATIENCE = 2.0
_LEAST = 1e-5
_GRID = np.geomspace(_LEAST, 1, 81)
_DELTA = 1e-5
# The numbers of a curve: the low-FPR regime first.
_READ: tuple[tuple[str, dict[str, float]], ...] = (
    ("tpr", {"fpr": 0.01}),
    ("tpr", {"fpr": 0.001}),
    ("advantage", {}),
    ("epsilon", {"delta": _DELTA}),
    ("auc", {}),
)
_MEANS = {
    Bound.LOWER: "a bound: no attacker does better",
    Bound.EXACT: "exact: what the best attacker does",
    Bound.UPPER: "an attack: some attacker does this well",
}
_ATTACK = {
    Bound.LOWER: "most that any attack reaches",
    Bound.EXACT: "the best attack",
    Bound.UPPER: "reached by an attack",
}
_LONG = re.compile(r"\d+\.\d{5,}(?:e[+-]?\d+)?")
# More of these would be no small picture any more.
_MOST_COLUMNS, _MOST_ROWS = 5, 8
# A longer sentence is no headline.
_TITLE = 70
_COMPARED = ("tpr", "advantage", "auc", "epsilon")


def html(thing: object) -> str:
    """The card of an object; its repr where that would take long, or fails."""
    try:
        with deadline.within(seconds=_PATIENCE):
            return card(thing).html()
    except LimitReached:
        why = f"\n(its numbers take longer than {short(_PATIENCE)} s: ask for them one by one)"
    except Exception:  # noqa: BLE001 (an object can always be looked at, whatever its numbers do)
        why = ""
    return f"<pre>{escape(repr(thing) + why)}</pre>"


@singledispatch
def card(thing: object) -> Card:
    """What an object shows of itself."""
    raise Unsupported(f"{type(thing).__name__} has no card")


@card.register
def _(curve: TradeoffCurve) -> Card:
    relation = "" if curve.neighbours is None else f"neighbours: {curve.neighbours.value}"
    return _of_curve(curve, _readable(curve.label), relation)


@card.register
def _(mechanism: Mechanism) -> Card:
    relation = f"neighbours: {mechanism.neighbours.value}"
    return _of_curve(mechanism.curve(), _readable(repr(mechanism)), relation, scope(mechanism))


def _readable(text: str) -> str:
    """Numbers of many digits in four: a card is read, and ``repr`` can be typed."""
    return _LONG.sub(lambda number: short(float(number[0]), 4), text)


def _of_curve(curve: TradeoffCurve, title: str, *notes: str) -> Card:
    ink = Ink.EVIDENCE if curve.bound is Bound.UPPER else INKS[0]
    point = Spot("TPR at FPR 0.01", 0.01, float(curve.tpr(0.01)), ink)
    side = _MEANS[curve.bound]
    chart = roc((_line(curve, _ATTACK[curve.bound], ink),), (point,))
    return Card(
        title,
        (HEAD, *map(_row, readings(curve))),
        chart,
        (" · ".join(filter(None, (side, *notes))),),
        legend=True,
    )


HEAD = (
    Cell(""),
    Cell("with the output", quiet=True),
    Cell("without it", quiet=True),
)


def readings(curve: TradeoffCurve) -> list[Reading]:
    """The numbers that every curve shows; an area, which may take long, if there is time."""
    *first, (last, _) = _READ
    numbers = [MEASURES[key].reading(curve, **given) for key, given in first]
    with suppress(LimitReached):
        numbers.append(MEASURES[last].reading(curve))
    return numbers


def _row(reading: Reading) -> tuple[str | Cell | Bar, ...]:
    without, with_output, _ = reading.columns
    return reading.name, Cell(with_output, strong=True), Cell(without, quiet=True)


def _line(curve: TradeoffCurve, name: str, ink: Ink) -> Trace:
    return Trace(name, tuple(_GRID.tolist()), tuple(np.asarray(curve.tpr(_GRID)).tolist()), ink)


def roc(lines: tuple[Trace, ...], spots: tuple[Spot, ...] = ()) -> Drawing:
    """A ROC curve in the low-FPR regime, beside a guess."""
    guess = Trace("guessing", (_LEAST, 1.0), (_LEAST, 1.0), Ink.CHANCE, dashed=True)
    names = ", ".join(line.name for line in lines)
    return Drawing(
        "ROC curve, logarithmic axes",
        f"TPR against FPR for {names}; the diagonal is guessing.",
        Axis("FPR", _LEAST, 1, log=True),
        Axis("TPR", _LEAST, 1, log=True),
        (guess, *lines),
        spots,
    )


def roc_of(curves: Mapping[str, TradeoffCurve]) -> Drawing:
    """The ROC curves of several subjects by their names."""
    return roc(
        tuple(_line(curves[name], name, ink) for name, ink in zip(curves, INKS, strict=False))
    )


@card.register
def _(choice: Choice) -> Card:
    rows = [_kept(choice, limit, value) for limit, value in choice.achieved]
    epsilon = MEASURES["epsilon"].reading(choice.curve, delta=_DELTA)
    if all(limit.measure is not MEASURES["epsilon"].function for limit, _ in choice.achieved):
        rows.append((epsilon.name, Cell(epsilon.shown, strong=True)))
    exact = "by a formula" if choice.curve._accuracy <= FORMULAS else "to about nine digits"
    subject = choice.subject
    made = subject.label if isinstance(subject, TradeoffCurve) else repr(subject)
    made = made.replace(repr(choice.parameter), short(choice.short))
    if choice.certified:
        exact = "certified: every error counted"
    return Card(
        f"{choice.name} {'≤' if choice.rounds_down else '≥'} {short(choice.short)}",
        tuple(rows),
        notes=(f"{exact}, rounded conservatively · {choice.scope}", f"for {_readable(made)}"),
    )


def _kept(choice: Choice, limit: Limit, value: float) -> tuple[str | Cell | Bar, ...]:
    """A limit, what is achieved, how much of the limit that is, and whether it is binding."""
    binding = limit == choice.binding
    share = limit.bound / value if limit.least else value / limit.bound if limit.bound else 1.0
    return (
        str(limit),
        Cell(fixed(value, not limit.least), strong=True),
        Bar(share, Ink.FIRST if binding else Ink.THIRD),
        Cell("binding" if binding else "kept", quiet=not binding, left=True),
    )


@card.register
def _(trained: TrainingMap) -> Card:
    first, *others = trained.cells()
    columns, rows = first[: _MOST_COLUMNS + 1], others[:_MOST_ROWS]
    hidden = len(columns) < len(first) or len(rows) < len(others)
    return Card(
        "Noise multiplier of DP-SGD at equal risk",
        (
            tuple(Cell(text, quiet=True) for text in columns),
            *(tuple(map(Cell, row[: len(columns)])) for row in rows),
        ),
        notes=(
            f"rows: batch size; columns: epochs; {trained.data_size:,} records",
            "in brackets: noise on the mean gradient",
            f"keeps {', '.join(map(str, trained.limits))}",
            *(("more cells: print() shows all",) if hidden else ()),
        ),
    )


@card.register
def _(comparison: Comparison) -> Card:
    names = comparison.names[:_MOST_COLUMNS]
    head = (Cell(""), *(Cell(name, ink=ink) for name, ink in zip(names, INKS, strict=False)))
    rows = tuple(
        (row[0].name, *_side_by_side(row[: len(names)]), Cell(row[0].columns[0], quiet=True))
        for row in zip(*comparison.readings, strict=True)
        if row[0].key in _COMPARED
    )
    curves = dict(zip(names, comparison.curves, strict=False))
    answer = comparison.answer()
    clear = len(answer) <= _TITLE
    where = " depends on the FPR" if any(pair.crossings for pair in comparison.pairs) else ""
    left_out = len(comparison.names) - len(names)
    notes = ("bold: leaks most", *(() if clear else (answer,)))
    return Card(
        answer if clear else f"Who leaks more{where}",
        ((*head, Cell("without output", quiet=True)), *rows),
        roc_of(curves) if curves else None,
        (*notes, *([f"and {left_out} more: print() shows all"] if left_out > 0 else [])),
    )


def _side_by_side(row: Sequence[Reading]) -> list[Cell]:
    worst = max(reading.value for reading in row)
    return [Cell(reading.shown, strong=reading.value == worst) for reading in row]


@card.register
def _(verdict: Verdict) -> Card:
    outcome, how = verdict.outcome
    claimed = verdict.evidence.held_against(curve_of(verdict.claim, "claim"))
    lines = [_line(claimed, "the claim allows", Ink.PROMISE)]
    rows: list[tuple[str | Cell | Bar, ...]] = []
    spots: tuple[Spot, ...] = ()
    finding = verdict.finding
    if finding is not None:
        if finding.at is not None:
            fpr, tpr = finding.at
            rates = tuple(zip(finding.rates, (short(rate, 4) for rate in finding.at), strict=True))
            spots = (Spot("the attack, observed", fpr, tpr, Ink.EVIDENCE),)
            rows += [(name, Cell(rate, strong=True)) for name, rate in rates]
            targets = verdict.evidence.design is Design.TARGETS
            what = "success allowed there" if targets else "TPR allowed there"
            rows.append((what, Cell(f"≤ {fixed(float(claimed.tpr(fpr)), up=True)}", strong=True)))
        said = f"≤ {short(finding.chance)}" if finding.computed else "below the level"
        whose = finding.threshold if finding.computed else short(finding.level, 2)
        rows.append(("p-value", Cell(said, strong=True), Cell(whose, quiet=True, left=True)))
    rows += [(what, *_bound(own)) for what, own in verdict.evidence.own_bounds()]
    rows.append((f"ε shown at δ = {short(verdict.delta)}", *_bound(verdict.epsilon_lower())))
    lines += _evidence_lines(verdict.evidence)
    not_covered = "a leak that this attack does not see is not covered"
    return Card(
        f"{outcome}: {verdict.name}, {how}",
        tuple(rows),
        roc(tuple(lines), spots),
        (" · ".join([verdict.evidence.method, verdict.evidence.design.value, not_covered]),),
        Mark.BAD if verdict.refuted else Mark.PLAIN,
        legend=True,
    )


@card.register
def _(verdict: WatchVerdict) -> Card:
    claimed = Cell(f"{short(verdict.mu_claimed, 4)} is stated", quiet=True, left=True)
    rows: list[tuple[str | Cell | Bar, ...]] = [
        ("some step leaks μ", Cell(verdict.mu_lower.words, strong=True), claimed)
    ]
    rows += [(name, Cell("refutes", strong=True)) for name in verdict.refuting[:_MOST_ROWS]]
    rows.append(("steps watched", Cell(f"{verdict.steps:,}")))
    notes = verdict.reasons()
    return Card(
        verdict.headline,
        tuple(rows),
        None,
        (*notes[:2], notes[-1]),
        Mark.BAD if verdict.refuted else Mark.PLAIN,
    )


def _evidence_lines(evidence: Evidence) -> list[Trace]:
    try:
        return [_line(evidence.curve(), "shown by the attack", Ink.EVIDENCE)]
    except Unsupported:  # guesses and bets show no curve
        return []


def _bound(bound: LowerBound) -> tuple[Cell, Cell]:
    words = f"{short(100 * bound.confidence)} % confidence, {bound.basis.value}"
    words = words if bound.value else "nothing shown"
    return Cell(bound.words, strong=True), Cell(words, quiet=True, left=True)


@card.register
def _(evidence: Evidence) -> Card:
    rows = [
        (f"ε at δ = {short(delta)}", *_bound(evidence.epsilon_lower(delta)))
        for delta in (0.0, _DELTA)
    ]
    rows.append(("μ of Gaussian DP", *_bound(evidence.mu_lower())))
    lines = _evidence_lines(evidence)
    about = (evidence.about,) if evidence.about else ()
    return Card(
        f"Evidence of an attack: {evidence.design.value}",
        tuple(rows),
        roc(tuple(lines)) if lines else None,
        (f"{evidence.method} · lower bounds: the mechanism may leak more", *about),
        legend=True,
    )


@card.register
def _(comparison: FrameworkComparison) -> Card:
    finite = [row.epsilon for row in comparison.rows if np.isfinite(row.epsilon)]
    largest = max(finite, default=0.0) or 1.0
    head = (
        Cell("framework", quiet=True),
        Cell("ε", quiet=True),
        Cell(""),
        Cell("composes", quiet=True, left=True),
    )
    rows = tuple(_framework(row, largest) for row in comparison.rows[:_MOST_ROWS])
    hidden = len(comparison.rows) - len(rows) + len(comparison.left_out)
    more = (f"{hidden} more, or without a number: print() shows them",) if hidden else ()
    note = "composes: the ε of several releases of the same data may be added"
    return Card("One release under each privacy framework", (head, *rows), notes=(note, *more))


def _framework(row: FrameworkResult, largest: float) -> tuple[str | Cell | Bar, ...]:
    share = min(row.epsilon / largest, 1.0)
    adds = Cell("yes" if row.composes else "no", quiet=True, left=True)
    return row.framework, Cell(shown(row), strong=True), Bar(share), adds
