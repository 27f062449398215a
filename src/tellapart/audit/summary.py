"""An audit in words: verdict, lower bounds on ε, the level spent and the assumptions made.

The terminal, the page, the report and the picture all show this one record, each in its own form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from tellapart._numeric.text import fixed
from tellapart.audit.attack_metrics import ABOUT_PPV, Metrics, attacked, why_no_epsilon
from tellapart.audit.bounds import LowerBound, percent
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.ledger import Ledger
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import REFUTES_NOTHING, Verdict
from tellapart.errors import Unsupported

AuditResult = Verdict | Evidence | Metrics

# The δ at which ε is always told, besides the claim's own.
DELTAS = (0.0, 1e-6, 1e-5, 1e-3)


@dataclass(frozen=True)
class DesignWords:
    """One design: what it means, what one score is of, and what is taken on trust."""

    meaning: str
    sample: str
    assumptions: tuple[str, ...]


_ATTACK = (
    "The attack, and which of its scores speak for membership, were settled without these scores."
)

DESIGNS: Mapping[str, DesignWords] = {
    "many-runs": DesignWords(
        "every score is of its own independent training or call, with the record in or out",
        "one score per run: a member is a run with the record in, an other one with it out",
        (
            "Every score comes from its own training or call, independent of all others.",
            "Runs of members and of others differ in the record alone.",
            _ATTACK,
        ),
    ),
    "one-run": DesignWords(
        "one training, every canary in or out by its own fair coin",
        "one score per canary: a member is a canary that was in, an other one that was left out",
        (
            "Each canary was in or out by its own fair coin, drawn independently of all else.",
            "All scores are of this one training run, and every canary has exactly one.",
            _ATTACK,
        ),
    ),
    "one-model": DesignWords(
        "one trained model and no coins: attack metrics only, no bound on ε and no verdict",
        "one score per record: a member was in the training data, an other was not",
        (),
    ),
}

_CALLS = DesignWords(
    "a mechanism was called, many times on each of two inputs",
    "one output per call, of the mechanism on one input or the other",
    (
        "The two inputs are neighbours in the sense of the claim: whoever gave them says so.",
        "Calls are independent: noise that they share was looked for and not found, which is no "
        "proof.",
        "Floats are read as real numbers: what their last bits reveal was not looked at.",
        "Outputs are all that an attacker sees: not how long a call takes, nor what else it does.",
    ),
)

_TARGETS = DesignWords(
    "a secret of each target was guessed, with the output and blindly",
    "one guess per target: right or wrong",
    (),
)

_NAMES = {
    Design.MANY_RUNS: "many-runs",
    Design.ONE_RUN: "one-run",
    Design.CALLS: "calls",
    Design.TARGETS: "targets",
}
_RUNS_CHECKED = "No run has two scores: the column of runs was checked."
_RUNS_ON_TRUST = "No column of runs was given, so independence is taken on trust."


@dataclass(frozen=True)
class Shown:
    """One number, with the side it errs on in words."""

    what: str
    value: float
    words: str
    basis: str


@dataclass(frozen=True, kw_only=True)
class AuditSummary:
    """What an audit came to, ready to be shown: sentences, numbers and what they rest on."""

    result: AuditResult
    headline: str
    reasons: tuple[str, ...]
    design: str
    sample: str  # what one score, or one output, is of
    assumptions: tuple[str, ...] = ()
    members: int | None = None
    others: int | None = None
    deltas: tuple[float, ...] = ()  # where else ε was asked for

    @property
    def evidence(self) -> Evidence | None:
        """What the verdict rests on; None where one attack was described."""
        if isinstance(self.result, Metrics):
            return None
        return self.result.evidence if isinstance(self.result, Verdict) else self.result

    @property
    def refuted(self) -> bool | None:
        """Whether the claim is refuted; None where none was judged, or no outcome could refute."""
        if not isinstance(self.result, Verdict) or not self.result.could_refute:
            return None
        return self.result.refuted

    @property
    def bayesian(self) -> bool:
        """Whether all it shows rests on a prior, so that no chance of a false claim was spent."""
        return self.evidence is not None and not self.evidence.can_refute

    @property
    def ledger(self) -> Ledger | None:
        """How the chance of a false claim was spent; None where nothing was claimed."""
        return None if self.evidence is None else self.evidence.ledger

    @property
    def calls(self) -> int | None:
        """How often a mechanism was called on each input, where one was."""
        return None if self.evidence is None else self.evidence.calls

    @property
    def counted(self) -> str:
        """How many samples there were, in words; nothing where nobody said."""
        if self.calls is not None:
            return f"{self.calls:,} calls on each input"
        if self.members is None or self.others is None:
            return ""
        return f"{self.members:,} members and {self.others:,} others"

    @cached_property
    def epsilons(self) -> tuple[tuple[str, LowerBound], ...]:
        """The least ε at each δ, where the evidence speaks of it; exact counts take seconds."""
        if self.evidence is None:
            return ()
        own = {self.result.delta} if isinstance(self.result, Verdict) else set()
        return _epsilons(self.evidence, {*own, *self.deltas, *DELTAS})

    @cached_property
    def shown(self) -> tuple[Shown, ...]:
        """Lower bounds on ε and μ, or the rates of one attack."""
        if isinstance(self.result, Metrics):
            return _rates(self.result)
        rows = [_row(what, bound) for what, bound in self.epsilons]
        with suppress(Unsupported):  # some evidence speaks of (ε, δ) alone
            if self.evidence is not None:
                rows.append(_row("μ of Gaussian DP", self.evidence.mu_lower()))
        return tuple(rows)

    def adding(self, *sentences: str) -> AuditSummary:
        """The same with more to say."""
        return replace(self, reasons=(*self.reasons, *sentences)) if sentences else self


def summarise(
    result: AuditResult, scores: Scores | None = None, deltas: Sequence[float] = ()
) -> AuditSummary:
    """What an audit came to, in words; ``deltas`` are where ε was asked for, the first one first.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> counts = audit.Counts(accused_members=90, members=100, accused_others=0, others=100)
    >>> summarise(audit.judge(ta.guarantee(epsilon=1), audit.from_counts(counts))).headline
    'REFUTED: the claim ε = 1, δ = 0, at 95 % confidence'
    """
    if isinstance(result, Metrics):
        return _described(result)
    if isinstance(result, Verdict):
        return _judged(result, scores, deltas)
    sure = f"at {percent(result.confidence)} confidence"
    reasons: tuple[str, ...] = ("Without a claim there is no verdict.",)
    if not result.can_refute:
        sure, reasons = "by a Bayesian bound", (*reasons, REFUTES_NOTHING)
    samples = {Design.CALLS: "outputs", Design.TARGETS: "guesses"}.get(result.design, "scores")
    headline = f"NO CLAIM: what the {samples} show, {sure}"
    return _tested(result, headline, (*reasons, *_against(scores)), scores, deltas)


def _judged(verdict: Verdict, scores: Scores | None, deltas: Sequence[float]) -> AuditSummary:
    if deltas:
        verdict = replace(verdict, at=deltas[0])
    further = [delta for delta in deltas if delta != verdict.delta]
    rows = (_row(what, bound) for what, bound in _epsilons(verdict.evidence, further))
    reasons = (
        *verdict.reasons(),
        *(f"Also shown: {row.what} {row.words}." for row in rows),
        *(() if verdict.refuted else _against(scores)),
    )
    return _tested(verdict, verdict.headline, reasons, scores, further)


def _tested(
    result: Verdict | Evidence,
    headline: str,
    reasons: tuple[str, ...],
    scores: Scores | None,
    deltas: Sequence[float],
) -> AuditSummary:
    evidence = result.evidence if isinstance(result, Verdict) else result
    design = _NAMES[evidence.design]
    words = {Design.CALLS: _CALLS, Design.TARGETS: _TARGETS}.get(evidence.design)
    words = DESIGNS[design] if words is None else words
    assumptions = (*words.assumptions, *evidence.assumptions)
    if scores is not None and design == "many-runs":
        runs = _RUNS_ON_TRUST if scores.independent is None else _RUNS_CHECKED
        assumptions = (*assumptions, runs)
    return AuditSummary(
        result=result,
        headline=headline,
        reasons=reasons,
        design=design,
        sample=words.sample,
        assumptions=assumptions,
        members=None if scores is None else scores.members.count,
        others=None if scores is None else scores.others.count,
        deltas=tuple(deltas),
    )


def _described(metrics: Metrics) -> AuditSummary:
    why, single = why_no_epsilon(metrics.models), (metrics.models or 1) == 1
    looked = ("The direction of the scores was chosen after looking both ways.",)
    return AuditSummary(
        result=metrics,
        headline=f"NO VERDICT: one attack on {attacked(metrics.models)}, described",
        reasons=(
            f"{why[0].upper()}{why[1:]}.",
            *(looked if metrics.looked_both_ways else ()),
            *((ABOUT_PPV,) if metrics.predictive_values else ()),
        ),
        design="one-model" if single else "several models",
        sample=DESIGNS["one-model"].sample,
        members=metrics.members,
        others=metrics.others,
    )


def _rates(metrics: Metrics) -> tuple[Shown, ...]:
    """How well one attack does on these scores."""
    beyond = f"{metrics.direction.value} scores accuse"
    rows = [Shown("AUC", metrics.auc, f"{metrics.auc:.4f}", beyond)]
    for most, at in metrics.at_fpr.items():
        words = f"{at.tpr:.4f}"
        rows.append(Shown(f"TPR at FPR ≤ {most:g}", at.tpr, words, f"FPR {at.fpr:.4g}"))
    at = metrics.largest_advantage
    rates = f"TPR {at.tpr:.4g} at FPR {at.fpr:.4g}"
    rows.append(Shown("largest TPR − FPR", metrics.advantage, f"{metrics.advantage:.4f}", rates))
    for where, ppv in metrics.predictive_values.items():
        observed = "" if ppv.value is None else f"{ppv.value:.4f}, "
        words = f"{observed}{ppv.low:.4f} to {ppv.high:.4f}"
        basis = f"{percent(ppv.confidence)} interval, at prior {ppv.prior:g}"
        value = ppv.low if ppv.value is None else ppv.value
        rows.append(Shown(f"PPV at {where}", value, words, basis))
    return tuple(rows)


def _epsilons(evidence: Evidence, deltas: Iterable[float]) -> tuple[tuple[str, LowerBound], ...]:
    rows = []
    for delta in sorted(deltas):
        with suppress(Unsupported):  # some evidence speaks of one δ alone
            rows.append((f"ε at δ = {delta:g}", evidence.epsilon_lower(delta)))
    return tuple(rows)


def _row(what: str, bound: LowerBound) -> Shown:
    basis = bound.basis.value
    if bound.false_claims is not None:
        basis += f", overclaims in {100 * bound.false_claims:.2g} % of audits"
    return Shown(what, bound.value, f"≥ {fixed(bound.value, up=False)}", basis)


def _against(scores: Scores | None) -> tuple[str, ...]:
    """A word to those whose scores may point the other way."""
    if scores is None or scores.orientation is Orientation.EITHER:
        return ()
    members, others = scores.sides
    beyond = int(members.above(float(others.descending((others.count + 1) // 2)))) / members.count
    # Three deviations: chance alone rarely says so.
    if beyond > 0.5 - 1.5 * math.sqrt(1 / members.count + 1 / others.count):
        return ()
    stated = scores.orientation.value
    observed = "lower" if scores.orientation is Orientation.HIGHER else "higher"
    return (
        f"Orientation: {stated} scores were to speak for membership, but members mostly score "
        f"{observed} than others. If that was a slip, correct it; if it is a surprise, draw new "
        "scores.",
    )
