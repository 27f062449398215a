"""An audit in words: verdict, lower bounds on ε, multiple-testing budget and assumptions.

The terminal, the page, the report and the picture all show this one record, each in its own form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from tellapart._numeric.text import short
from tellapart.audit.attack_metrics import ABOUT_PPV, Metrics, attacked, why_no_epsilon
from tellapart.audit.bounds import LowerBound, percent
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import REFUTES_NOTHING, Verdict
from tellapart.errors import Unsupported

AuditResult = Verdict | Evidence | Metrics

# The δ at which ε is always told, besides the claim's own.
DELTAS = (0.0, 1e-6, 1e-5, 1e-3)


@dataclass(frozen=True)
class DesignWords:
    """One experimental design: what it means, what one score is of, and its assumptions."""

    meaning: str
    sample: str
    assumptions: tuple[str, ...]
    brief: str = ""  # the assumptions in one line


_ATTACK = "The attack and its score direction were fixed without looking at these scores."

DESIGNS: Mapping[str, DesignWords] = {
    "many-runs": DesignWords(
        "every score is of its own independent training or call, with the record in or out",
        "one score per run: a member is a run with the record in, a non-member one with it out",
        (
            "Every score comes from its own training or call, independent of all other scores.",
            "Runs of members and of non-members differ in the record alone.",
            _ATTACK,
        ),
        "independent runs that differ in the record alone, and an attack fixed beforehand.",
    ),
    "one-run": DesignWords(
        "one training, every canary in or out by its own fair coin",
        "one score per canary: a member was in the training data, a non-member was left out",
        (
            "Each canary was in or out by its own fair coin, drawn independently of all else.",
            "All scores are of this one training run, and every canary has exactly one.",
            _ATTACK,
        ),
        "each canary was in or out by its own fair coin, and the attack was fixed beforehand.",
    ),
    "one-model": DesignWords(
        "one trained model and no coins: attack metrics only, no bound on ε and no verdict",
        "one score per record: a member was in the training data, a non-member was not",
        (),
    ),
}

_CALLS = DesignWords(
    "a mechanism was called, many times on each of two inputs",
    "one output per call, of the mechanism on one input or the other",
    (
        "The two inputs are neighbours in the sense of the claim; this is not checked.",
        "Calls are independent: tests found no noise that they share, which is no proof.",
        "Floats are treated as real numbers: their last bits were not tested (see probe_bits).",
        "The attacker sees outputs alone: no timing, no errors, no side effects.",
    ),
    "the inputs are neighbours (not checked); calls are independent (tested, not proven); floats "
    "are treated as real numbers; the attacker sees outputs alone.",
)

_TARGETS = DesignWords(
    "a secret of each target was guessed, with the output and blindly",
    "one guess per target: right or wrong",
    (),
)

_SAMPLES = {Design.CALLS: "outputs", Design.TARGETS: "guesses"}
_NAMES = {
    Design.MANY_RUNS: "many-runs",
    Design.ONE_RUN: "one-run",
    Design.CALLS: "calls",
    Design.TARGETS: "targets",
}
_RUNS_CHECKED = "No run has two scores: the run column was checked."
_RUNS_ON_TRUST = "No run column was given, so independence is taken on trust."


@dataclass(frozen=True)
class Shown:
    """One number, with the side it errs on in words."""

    what: str
    value: float
    words: str
    basis: str


@dataclass(frozen=True, kw_only=True)
class AuditSummary:
    """The result of an audit, ready to be shown: sentences, numbers and assumptions."""

    result: AuditResult
    headline: str
    reasons: tuple[str, ...]
    design: str
    sample: str  # what one score, or one output, is of
    assumptions: tuple[str, ...] = ()
    brief: str = ""  # the assumptions in one line, with what is taken on trust
    members: int | None = None
    non_members: int | None = None
    deltas: tuple[float, ...] = ()  # where else ε was asked for

    @property
    def evidence(self) -> Evidence | None:
        """The evidence behind the verdict; None where one attack was described."""
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
        """Whether all it shows depends on a prior, so that no error rate is bounded."""
        return self.evidence is not None and not self.evidence.can_refute

    @property
    def mechanism_alone(self) -> bool:
        """Whether what is refuted is the stated mechanism, not differential privacy."""
        return self.evidence is not None and self.evidence.mechanism_alone

    @property
    def ledger(self) -> LevelBudget | None:
        """The multiple-testing budget; None where nothing was tested."""
        return None if self.evidence is None else self.evidence.ledger

    @property
    def calls(self) -> int | None:
        """How often a mechanism was called on each input, where one was."""
        return None if self.evidence is None else self.evidence.calls

    @property
    def samples(self) -> str:
        """What the audit looked at: scores, outputs or guesses."""
        return "scores" if self.evidence is None else _SAMPLES.get(self.evidence.design, "scores")

    @property
    def counted(self) -> str:
        """How many samples there were, in words; nothing where nobody said."""
        if self.calls is not None:
            return f"{self.calls:,} calls on each input"
        if self.members is None or self.non_members is None:
            return ""
        return f"{self.members:,} members and {self.non_members:,} non-members"

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
        own = () if self.evidence is None else self.evidence.own_bounds()
        rows = [_row(what, bound) for what, bound in (*own, *self.epsilons)]
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
    """The result of an audit in words; ``deltas`` are where ε was asked for, the first one first.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> counts = audit.Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> summarise(audit.judge(ta.guarantee(epsilon=1), audit.from_counts(counts))).headline
    'REFUTED: the claim ε = 1, δ = 0, at 95 % confidence'
    """
    return _with_reading(_summarised(result, scores, deltas), scores)


def _summarised(
    result: AuditResult, scores: Scores | None, deltas: Sequence[float]
) -> AuditSummary:
    if isinstance(result, Metrics):
        return _described(result)
    if isinstance(result, Verdict):
        return _judged(result, scores, deltas)
    sure = f"at {percent(result.confidence)} confidence"
    reasons: tuple[str, ...] = ("Without a claim there is no verdict.",)
    if not result.can_refute:
        sure, reasons = "by a Bayesian bound", (*reasons, REFUTES_NOTHING)
    reasons = (*reasons, result.about) if result.about else reasons
    headline = f"NO CLAIM: what the {_SAMPLES.get(result.design, 'scores')} show, {sure}"
    return _tested(result, headline, (*reasons, *_against(scores)), scores, deltas)


def _with_reading(summary: AuditSummary, scores: Scores | None) -> AuditSummary:
    """The same, with what was inferred from the file and which rows were left out of it."""
    if scores is None or not (scores.notes or scores.left_out.rows):
        return summary
    inferred = (f"Inferred from the file: {'; '.join(scores.notes)}.",) if scores.notes else ()
    missing = (_left_out(scores),) if scores.left_out.rows else ()
    return replace(
        summary.adding(*missing), assumptions=(*summary.assumptions, *inferred, *missing)
    )


def _left_out(scores: Scores) -> str:
    """Which rows were left out, and why that may mislead.

    Leaving out a run by its outcome conditions on an event of the output. Under ε-DP the chance of
    that event differs by up to e^ε between the two sides, so what remains may differ by e^(2ε): a
    true claim may be refuted. One fixed score for all of them is post-processing, and is not.
    """
    gone = scores.left_out
    members = gone.members + scores.members.count
    non_members = gone.non_members + scores.non_members.count
    unlabelled = f" and {gone.unlabelled:,} rows without a label" if gone.unlabelled else ""
    return (
        f"Left out for want of a score: {gone.members:,} of {members:,} members and "
        f"{gone.non_members:,} of {non_members:,} non-members{unlabelled}. If members lack a score "
        "more or less often than non-members, this biases the audit, and a true claim may be "
        "refuted: giving them all one score that was fixed beforehand, such as the lowest, is safe."
    )


def _judged(verdict: Verdict, scores: Scores | None, deltas: Sequence[float]) -> AuditSummary:
    if deltas:
        verdict = replace(verdict, at=deltas[0])
    further = [delta for delta in deltas if delta != verdict.delta]
    rows = (_row(what, bound) for what, bound in _epsilons(verdict.evidence, further))
    reasons = (
        *verdict.reasons(),
        *(f"Also: {row.what} {row.words}." for row in rows),
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
    brief = " ".join([words.brief, *evidence.assumptions]).strip()
    if scores is not None and design == "many-runs":
        runs = _RUNS_ON_TRUST if scores.independent is None else _RUNS_CHECKED
        assumptions, brief = (*assumptions, runs), f"{brief} {runs}"
    return AuditSummary(
        result=result,
        headline=headline,
        reasons=reasons,
        design=design,
        sample=words.sample,
        assumptions=assumptions,
        brief=brief,
        members=None if scores is None else scores.members.count,
        non_members=None if scores is None else scores.non_members.count,
        deltas=tuple(deltas),
    )


def _described(metrics: Metrics) -> AuditSummary:
    why, single = why_no_epsilon(metrics.models), (metrics.models or 1) == 1
    looked = ("The score direction was chosen after testing both.",)
    return AuditSummary(
        result=metrics,
        headline=f"NO VERDICT: metrics of one attack on {attacked(metrics.models)}",
        reasons=(
            f"{why[0].upper()}{why[1:]}.",
            *(looked if metrics.looked_both_ways else ()),
            *((ABOUT_PPV,) if metrics.predictive_values else ()),
        ),
        design="one-model" if single else "several models",
        sample=DESIGNS["one-model"].sample,
        members=metrics.members,
        non_members=metrics.non_members,
    )


def _rates(metrics: Metrics) -> tuple[Shown, ...]:
    """The metrics of one attack on these scores."""
    beyond = metrics.direction.meaning
    rows = [Shown("AUC", metrics.auc, f"{metrics.auc:.4f}", beyond)]
    for most, at in metrics.at_fpr.items():
        words = f"{at.tpr:.4f}"
        rows.append(Shown(f"TPR at FPR ≤ {short(most)}", at.tpr, words, f"FPR {short(at.fpr, 4)}"))
    at = metrics.largest_advantage
    rates = f"TPR {short(at.tpr, 4)} at FPR {short(at.fpr, 4)}"
    rows.append(Shown("largest TPR − FPR", metrics.advantage, f"{metrics.advantage:.4f}", rates))
    for where, ppv in metrics.predictive_values.items():
        observed = "" if ppv.value is None else f"{ppv.value:.4f}, "
        words = f"{observed}{ppv.low:.4f} to {ppv.high:.4f}"
        basis = f"{percent(ppv.confidence)} interval, at prior {short(ppv.prior)}"
        value = ppv.low if ppv.value is None else ppv.value
        rows.append(Shown(f"PPV at {where}", value, words, basis))
    return tuple(rows)


def _epsilons(evidence: Evidence, deltas: Iterable[float]) -> tuple[tuple[str, LowerBound], ...]:
    rows = []
    for delta in sorted(deltas):
        with suppress(Unsupported):  # some evidence speaks of one δ alone
            rows.append((f"ε at δ = {short(delta)}", evidence.epsilon_lower(delta)))
    return tuple(rows)


def _row(what: str, bound: LowerBound) -> Shown:
    basis = bound.basis.value
    if bound.false_claims is not None:
        basis += f", overclaims in {short(100 * bound.false_claims, 2)} % of audits"
    return Shown(what, bound.value, bound.words, basis if bound.value else "nothing shown")


def _against(scores: Scores | None) -> tuple[str, ...]:
    """A warning where the scores seem to point the other way."""
    if scores is None or scores.orientation is Orientation.EITHER:
        return ()
    members, non_members = scores.sides
    beyond = (
        int(members.above(float(non_members.descending((non_members.count + 1) // 2))))
        / members.count
    )
    # Three deviations: chance alone rarely says so.
    if beyond > 0.5 - 1.5 * math.sqrt(1 / members.count + 1 / non_members.count):
        return ()
    stated = scores.orientation.value
    observed = "lower" if scores.orientation is Orientation.HIGHER else "higher"
    return (
        f"Score direction: {stated} means member, but members mostly "
        f"score {observed} than non-members. If that was a slip, set the orientation to {observed} "
        f"(--orientation {observed}); if it is a surprise, draw new scores.",
    )
