"""An audit's evidence as parts of a page: the ROC it shows, its bounds, what its tests spent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tellapart import pictures
from tellapart._checks import Array
from tellapart._numeric.text import short
from tellapart.audit import Verdict
from tellapart.audit.attack_metrics import Metrics, attacked
from tellapart.audit.bounds import percent
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.summary import AuditResult, AuditSummary
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.closed import GuaranteeCurve
from tellapart.curve.guarantees import guarantee
from tellapart.drawing.record import Drawing, Ink, Mark, Trace
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import curve_of
from tellapart.web.answer import NumberCard, Table, Words

KINDS = (("roc", "Evidence against the claim"), ("roc-log", "At low FPR"))
_LEAST = 1e-4
_LOG = np.geomspace(_LEAST, 1, 97)
_RATES = np.unique(np.concatenate([[0.0], _LOG, np.linspace(0, 1, 201)]))
_CLAIM = "If the claim is true, no attack gets above its line."
# A line bounds two rates, each by itself; the test of a claim looks at both together.
_EVIDENCE = (
    "Where the evidence does, the claim is refuted; the test behind the verdict is sharper than "
    "the line, and may refute a claim that lies just above it."
)
# More lines of a ledger than these are summed up.
_LINES = 12


def drawings(result: AuditResult) -> tuple[Drawing, ...]:
    """The evidence against the claim, in every kind."""
    if isinstance(result, Metrics):
        drawn = picture("roc", result)
        return () if drawn is None else (drawn,)
    every = (picture(kind, result) for kind, _ in KINDS)
    return tuple(drawn for drawn in every if drawn is not None)


def cards(summary: AuditSummary) -> tuple[NumberCard, ...]:
    """The verdict, the least ε, the p-value and the power: what people act on."""
    result = summary.result
    if isinstance(result, Metrics):
        rows = [row for row in summary.shown if row.words][:4]
        return tuple(NumberCard(row.what, row.words, "", row.basis) for row in rows)
    if not isinstance(result, Verdict):
        return ()
    said, beside = {
        True: ("refuted", "the scores contradict it"),
        False: ("not refuted", "which does not prove it"),
        None: ("no verdict", "no outcome could have refuted it"),
    }[summary.refuted]
    mark = Mark.BAD if result.refuted else Mark.PLAIN
    made = [NumberCard("Claim", said, "", beside, mark=mark)]
    made += [
        NumberCard(
            what,
            str(bound).partition(" (")[0],
            "",
            "any true guarantee has at least this",
            "ε",
        )
        for what, bound in summary.epsilons
        if what == f"ε at δ = {short(result.delta)}"
    ]
    spent = summary.ledger
    if spent is not None:
        alpha = percent(spent.level)
        made.append(
            NumberCard("Multiple-testing budget", f"α = {alpha}", "", "of a false refutation",
                 "multiple-testing budget")
        )  # fmt: skip
    return (*made, _power(summary))


def _power(summary: AuditSummary) -> NumberCard:
    """Which leak would have been shown, where that is said; else how many scores there are."""
    said = next((reason for reason in summary.reasons if reason.startswith("Power:")), "")
    leak = re.search(r"\S+ ≥ [\d.]+", said)
    if "not even" in said:
        beside = "by an optimal attack, even on the largest leak that was tried"
        return NumberCard("Power", "below 90 %", "", beside, "power")
    if leak:
        beside = "such a leak, an optimal attack shows with 90 % probability"
        return NumberCard("Power", leak.group(), "", beside, "power")
    members, others = summary.members or 0, summary.non_members or 0
    beside = f"{members:,} of members, {others:,} of non-members"
    return NumberCard("Scores", f"{members + others:,}", "", beside)


def picture(kind: str, result: AuditResult) -> Drawing | None:
    """What some attacker reaches, against what none does if the claim is true."""
    if isinstance(result, Metrics):
        fpr, tpr = (tuple(side) for side in zip(*result.roc, strict=True))
        words = f"One attack on {attacked(result.models)}: a description, which bounds no ε."
        return _drawn("roc", words, [Trace("this attack", fpr, tpr, Ink.FIRST)])
    if not isinstance(result, Verdict):
        return None
    rates = _RATES
    shown, words = _shown(result)
    if isinstance(shown, AtomicCurve):
        rates = np.unique(np.concatenate([rates, shown.vertices()[0]]))
    lines = [_line(f"claimed: {result.name}", curve_of(result.claim), kind, rates, Ink.PROMISE)]
    if shown is None:
        return _drawn(kind, _CLAIM, lines)
    lines.append(_line(words, shown, kind, rates, Ink.EVIDENCE))
    return _drawn(kind, f"{_CLAIM} {_EVIDENCE}", lines)


def claimed(kind: str, curve: TradeoffCurve, name: str) -> Drawing:
    """The claim alone, before there is any evidence."""
    return _drawn(kind, _CLAIM, [_line(f"claimed: {name}", curve, kind, _RATES, Ink.PROMISE)])


def _shown(verdict: Verdict) -> tuple[TradeoffCurve | None, str]:
    """The curve that the evidence shows; for evidence without one, the least promise left."""
    sure = percent(verdict.confidence)
    try:
        return verdict.evidence.curve(), f"shown at {sure}: some attack gets at least here"
    except Unsupported:
        pass
    claim = curve_of(verdict.claim)
    if not isinstance(claim, GuaranteeCurve):
        return None, ""
    least = verdict.epsilon_lower().value
    words = f"shown at {sure}: a guarantee with this δ must allow at least this"
    return guarantee(least, claim.claimed_delta), words


def _line(name: str, curve: TradeoffCurve, kind: str, every: Array, ink: Ink) -> Trace:
    rates = every[every >= _LEAST] if kind == "roc-log" else every
    return Trace(name, tuple(rates.tolist()), tuple(np.asarray(curve.tpr(rates)).tolist()), ink)


def _drawn(kind: str, words: str, lines: Sequence[Trace]) -> Drawing:
    rates, low = (_LOG, _LEAST) if kind == "roc-log" else (np.array([0.0, 1.0]), 0.0)
    drawn = pictures.roc(words, lines, rates, low)
    return replace(drawn, kind=kind, title=dict(KINDS)[kind])


def numbers(summary: AuditSummary) -> tuple[Table, ...]:
    """What the scores show in numbers, each on its safe side."""
    if isinstance(summary.result, Metrics):
        rates = tuple((row.what, row.words, row.basis) for row in summary.shown)
        return (Table("In numbers", ("of this attack", "value", "where"), rates),)
    if not isinstance(summary.result, Verdict):
        return ()
    rows = tuple((what, str(bound)) for what, bound in summary.epsilons)
    return (Table("What any true guarantee must at least have", ("guarantee", "at least"), rows),)


def spent(ledger: LevelBudget | None) -> tuple[Table | Words, ...]:
    """The multiple-testing budget."""
    if ledger is None:
        return ()
    entries, rest = ledger.abridged(_LINES)
    rows = [
        (entry.what, f"{entry.looks:,}", short(entry.level, 3), short(entry.spent, 3))
        for entry in entries
    ]
    if rest is not None:
        rows.append((f"{rest.kinds:,} more", f"{rest.looks:,}", "", short(rest.spent, 3)))
    rows.append(("together, at most", "", "", short(ledger.level, 3)))
    head = ("test", "tests", "level of each", "together")
    title = f"Multiple-testing budget (α = {percent(ledger.level)})"
    note = " ".join(f"{what[0].upper()}{what[1:]}." for what in ledger.free)
    return (Table(title, head, tuple(rows), note),)
