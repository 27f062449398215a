"""Verdicts of hypothesis tests: a claim refuted or not, with the power the test had."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tellapart import _checks
from tellapart._numeric.solve import first_whole
from tellapart._numeric.text import short
from tellapart._shown import Plotted
from tellapart.audit.alternatives import LARGE, against_alternatives, alternative, weakest_found
from tellapart.audit.bounds import LowerBound, percent
from tellapart.audit.evidence.base import (
    Design,
    Evidence,
    Finding,
    stated_neighbours,
)
from tellapart.audit.models_needed import curve_needs_less
from tellapart.curve.closed import GaussianCurve, GuaranteeCurve
from tellapart.errors import NotCertified, Unsupported
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.mechanisms.training import dp_sgd_in_words
from tellapart.neighbours import Neighbours

# Where so many times the samples are needed, other claims and designs are pointed to.
_FAR = 10.0
_UNITS = {Design.MANY_RUNS: "runs", Design.CALLS: "calls in all that test it"}
_PLANNED = " audit.plan and tellapart plan say what other designs could show."

REFUTES_NOTHING = "A Bayesian bound holds under its prior and cannot refute a claim."
# Where the ε of a claim that names no δ is told, unless it has one at 0.
_DEFAULT = 1e-5
NOT_TESTED = (
    "The claim was not tested, as no outcome could have refuted it; the lower bound stands by "
    "itself."
)
NOT_REFUTED = "Not refuted does not mean that the claim is true."
# How surely samples must speak against a claim before more of them are promised anything: the
# luckiest look of many lies beyond nearly every true claim that is tight.
_HINT = 0.1
# Beyond so many times the samples, the answer is "never".
_MOST = 1e6
# How finely that number is found.
_FINE = 1.25


@dataclass(frozen=True, repr=False)
class Verdict(Plotted):
    """What evidence says of a claim: refuted, not refuted, or nothing; never that it is private.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> scores = audit.Scores(members=range(50, 150), non_members=range(100))
    >>> verdict = audit.judge(ta.guarantee(epsilon=0.5), audit.many_runs(scores))
    >>> verdict.refuted, verdict.confidence
    (True, 0.95)
    """

    claim: Subject
    evidence: Evidence
    finding: Finding | None
    name: str  # the claim, for people
    remarks: tuple[str, ...] = ()  # what else should be said with it
    at: float | None = None  # the δ at which ε is told, where the claim names none

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted at this confidence."""
        return self.finding is not None

    @property
    def confidence(self) -> float:
        """The family-wise confidence: the chance of refuting a true claim is at most the rest."""
        return self.evidence.confidence

    def epsilon_lower(self, delta: float | None = None) -> LowerBound:
        """The least ε the evidence leaves possible, at the claim's own δ unless told."""
        return self._shown if delta is None else self.evidence.epsilon_lower(delta)

    @cached_property
    def _shown(self) -> LowerBound:
        """Kept, as counts take seconds to say it."""
        return self.evidence.epsilon_lower(self.delta)

    @property
    def delta(self) -> float:
        """The δ of the claim, or ``at``; without either 0, or 1e-5 where only that has an ε."""
        curve = curve_of(self.claim, "claim")
        if isinstance(curve, GuaranteeCurve):
            return curve.claimed_delta
        if self.at is not None:
            return self.at
        return _DEFAULT if curve.epsilon(0.0) > LARGE else 0.0

    @property
    def _at(self) -> str:
        """That δ, and whether anyone asked for it."""
        curve = curve_of(self.claim, "claim")
        nobody = self.at is None and not isinstance(curve, GuaranteeCurve)
        return (
            "δ = 1e-5 (default)"
            if nobody and self.delta == _DEFAULT
            else f"δ = {short(self.delta)}"
        )

    @property
    def detectable(self) -> float | None:
        """How many times stronger than claimed a leak must be for a power of 90 %.

        In the family that `power` names, rounded up; None if nothing in its reach would be found.
        """
        detected, strength = self._strength
        return strength if detected else None

    @cached_property
    def _strength(self) -> tuple[bool, float]:
        """Whether any strength would have been found, and which; or the strongest tried."""
        power = self.evidence.power_against(self.claim)
        return weakest_found(against_alternatives(alternative(self.claim), power))

    @cached_property
    def could_refute(self) -> bool:
        """Whether any outcome of so many samples could have refuted the claim.

        Where none could, that the claim is not refuted says nothing of it.
        """
        return self.refuted or self.evidence.could_refute(self.claim)

    @cached_property
    def allows_all(self) -> bool:
        """Whether the claim allows every attack (δ = 1): then no mechanism can break it."""
        return float(curve_of(self.claim, "claim").beta(0.0)) <= 0

    @cached_property
    def samples_to_judge(self) -> float:
        """From how many times the samples on some outcome could refute the claim; inf is never.

        Each number is tried: in one run a δ may count more with every canary.
        """
        if self.could_refute:
            return 1.0
        if self.allows_all or not self.evidence.can_refute:
            return math.inf
        factors = (_FINE**steps for steps in range(1, round(math.log(_MOST, _FINE)) + 1))
        could = (k for k in factors if self.evidence.scaled(k).could_refute(self.claim))
        return next(could, math.inf)

    @property
    def power(self) -> str:
        """The power of the test: which leak an optimal attack would have shown."""
        detected, strength = self._strength
        truth = alternative(self.claim).words(strength)
        best = f"an optimal attack on {truth}"
        if self.evidence.design is Design.TARGETS:  # what the curve bounds, few guesses reach
            best = f"the largest success that is possible against {truth}"
        if not detected:
            why = "there are too few samples for this claim"
            if self.could_refute:
                why += ", or the chosen event separates the two sides badly"
            return (
                f"Power: with these sample sizes not even {best} refutes the claim with 90 % "
                f"probability: {why}."
            )
        return (
            f"Power: with these sample sizes {best} refutes the claim with 90 % probability. "
            "A leak that the attack used here misses is not covered."
        )

    @cached_property
    def samples_needed(self) -> float | None:
        """How many times the samples would refute, if rates stay as observed; inf is never.

        None where that would be no evidence: where the same tests do not refute the claim at 90 %
        confidence either, as for nine of ten true claims at least.
        """
        if self.refuted:
            return 1.0
        most = round(math.log(_MOST, _FINE))

        def refuted(steps: int) -> bool:
            return self.evidence.scaled(_FINE**steps).refutes(self.claim)

        if not refuted(most):
            return math.inf
        if not self.evidence.at_level(max(_HINT, self.evidence.ledger.level)).refutes(self.claim):
            return None
        return _FINE ** first_whole(refuted, 0, most)

    def __repr__(self) -> str:
        return f"Verdict({self.headline})"

    def __str__(self) -> str:
        return "\n".join([self.headline, *self.reasons(), *self._budget()])

    def _budget(self) -> list[str]:
        """How the level was divided; `evidence.ledger` has it in full."""
        return [self.evidence.ledger.in_short] if self.evidence.can_refute else []

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        outcome, how = self.outcome
        if self.evidence.mechanism_alone:
            instead = ", not differential privacy itself" if self.refuted else ""
            return f"{outcome}: the mechanism {self.name}, its canaries independent{instead}, {how}"
        replaced = self.evidence.neighbours is Neighbours.REPLACE
        tested = " under replace-one neighbours" if replaced else ""
        if replaced and stated_neighbours(self.claim) is None:
            tested = f", read for two records{tested}"
        return f"{outcome}: the claim {self.name}{tested}, {how}"

    @property
    def outcome(self) -> tuple[str, str]:
        """Whether the claim is refuted, and how surely or why not: words without the claim."""
        if not self.evidence.can_refute:
            return "NO VERDICT", "as a Bayesian bound cannot refute"
        if self.allows_all:
            return "NO VERDICT", "as it allows everything (δ = 1): no mechanism can break it"
        sure = f"at {percent(self.confidence)} confidence"
        if not self.could_refute:
            return "NO VERDICT", f"as no outcome of so few samples could refute it {sure}"
        return "REFUTED" if self.refuted else "NOT REFUTED", sure

    @property
    def means(self) -> str:
        """What it means that a claim is not refuted."""
        return NOT_REFUTED if self.could_refute and not self.allows_all else NOT_TESTED

    def reasons(self) -> list[str]:
        """The sentences that go with the headline."""
        return [*self._grounds(), *self.remarks]

    def _grounds(self) -> list[str]:
        bound = self._told(self.epsilon_lower())
        lines = [f"Lower bound: {what} {own}." for what, own in self.evidence.own_bounds()]
        lines.append(f"Lower bound: ε {bound}.")
        lines += self._of_gaussian_noise()
        if self.finding is not None:
            lines.append(f"p-value: {self.finding.significance}.")
            lines.append(f"Where: {self.finding.place}.")
        telling = self.evidence.telling(self.delta) if self.evidence.calls else ""
        if self.finding is None and telling:
            lines.append(f"Strongest event: {telling}.")
        if self.finding is None and self.evidence.design is Design.TARGETS:
            lines.append(f"Observed: {self.evidence.telling()}.")
        if self.evidence.about:
            lines.append(self.evidence.about)
        if self.finding is None:
            lines.append(self.means)
        if not self.evidence.can_refute:
            lines.append(REFUTES_NOTHING)
        if not self.evidence.can_refute or self.allows_all:
            return lines
        try:
            detected, _ = self._strength
        except Unsupported as error:
            lines.append(f"Power: not stated, as {error}.")
            return lines
        if detected or self.finding is None:  # a claim that was refuted had samples enough
            lines.append(self.power)
        if self.finding is None:
            lines.append(self.evidence.advice(curve_of(self.claim, "claim")))
            lines.append(self._more())
        return [line for line in lines if line]

    def _of_gaussian_noise(self) -> list[str]:
        """One run shows a larger ε of Gaussian noise than of all mechanisms: if that is claimed."""
        gaussian = isinstance(curve_of(self.claim, "claim"), GaussianCurve)
        if self.evidence.design is not Design.ONE_RUN or not gaussian:
            return []
        shown = self._told(self.evidence.gaussian_epsilon_lower(self.delta))
        return [f"Lower bound if its noise is Gaussian: ε {shown}."]

    def _told(self, bound: LowerBound) -> str:
        """A bound on ε, with the δ it is at."""
        return str(bound).replace(" (", f" at {self._at} (", 1)

    def _more(self) -> str:
        if not self.could_refute:
            return self._enough()
        try:
            needed = self.samples_needed
        except (Unsupported, NotCertified) as error:
            return f"More samples: {error}."
        if needed is None:
            said = (
                "More samples: these give no reason to expect a refutation from more; they do not "
                f"refute the claim at {percent(1 - _HINT)} confidence either."
            )
            return f"{said} {self.evidence.more_calls}".rstrip()
        if math.isinf(needed) and self.evidence.more_calls:
            return (
                "More samples: at the rates of the event chosen, more calls would not refute the "
                f"claim. {self.evidence.more_calls}"
            )
        if math.isinf(needed):
            return (
                "More samples: at the rates observed no number of them would refute the claim; "
                "only a better attack could."
            )
        return (
            f"More samples: these refute the claim at {percent(1 - _HINT)} confidence, which "
            f"happens to at most one true claim in ten. About {_times(needed)} times "
            f"{self.evidence.as_many} would refute it if rates stay as observed; to audit again "
            "for this reason is a further test, with a level of its own."
        )

    def _enough(self) -> str:
        """From how many samples on some outcome could refute the claim."""
        try:
            factor = self.samples_to_judge
        except (Unsupported, NotCertified) as error:
            return f"More samples: {error}."
        if math.isinf(factor):
            enough = "More samples: no number of them could refute the claim by these tests."
        else:
            enough = (
                f"More samples: with about {_times(factor)} times {self.evidence.as_many}, the "
                "best outcome could refute the claim."
            )
        unit = _UNITS.get(self.evidence.design)
        if unit is None or factor < _FAR:
            return enough
        stated = curve_needs_less(self.claim, self.confidence, unit=unit)
        return f"{enough} {stated}.{_PLANNED}" if stated else f"{enough}{_PLANNED}"


class WithVerdict:
    """A result that holds a verdict, and is asked what verdicts are asked."""

    verdict: Verdict

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted at the verdict's confidence."""
        return self.verdict.refuted

    @property
    def confidence(self) -> float:
        """The family-wise confidence."""
        return self.verdict.confidence

    @property
    def could_refute(self) -> bool:
        """Whether any outcome of so many samples could have refuted the claim."""
        return self.verdict.could_refute

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return self.verdict.headline

    @property
    def evidence(self) -> Evidence:
        """What the verdict rests on; its ``ledger`` is the multiple-testing budget."""
        return self.verdict.evidence

    def epsilon_lower(self, delta: float | None = None) -> LowerBound:
        """The least ε that is left possible, at the claim's own δ unless told."""
        return self.verdict.epsilon_lower(delta)


def judge(claim: Subject, evidence: Evidence, *, name: str | None = None) -> Verdict:
    """What the evidence says of the claim: a guarantee, a curve or a mechanism.

    ``name`` is what people call the claim. One verdict or many, for one claim or many: all hold
    together at the evidence's confidence.

    >>> import tellapart as ta
    >>> from tellapart import audit
    >>> counts = audit.Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> judge(ta.guarantee(epsilon=1), audit.from_counts(counts)).refuted
    True

    See Also
    --------
    tellapart.plot.audit : its picture
    tellapart.report.of : the verdict as a privacy report
    """
    _checks.instance(
        Evidence, "evidence of an audit, as audit.many_runs returns", evidence=evidence
    )
    finding = evidence.finding(claim)
    return Verdict(
        claim, evidence, finding, name or describe(claim), remarks=_as_compared(claim, evidence)
    )


def _as_compared(claim: Subject, evidence: Evidence) -> tuple[str, ...]:
    """What was judged of a claim that names no neighbours, where the data replace records."""
    if evidence.neighbours is not Neighbours.REPLACE or stated_neighbours(claim) is not None:
        return ()
    read = evidence.held_against(curve_of(claim, "claim"))
    pair = describe(read) if isinstance(read, GuaranteeCurve | GaussianCurve) else ""
    return (
        "The claim names no neighbours, and these data replace one record by another, which may be "
        "one removed and one added: judged is what it allows for two records"
        + (f", {pair.removeprefix('of ')}" if pair else "")
        + ". Claims about replacing say so: neighbours=Neighbours.REPLACE.",
    )


def describe(claim: Subject) -> str:
    """A claim in a few words: by its name, or by what it is the curve of.

    >>> import tellapart as ta
    >>> describe(ta.Laplace(2).curve())
    'of the curve of Laplace(scale=2.0)'
    >>> describe(ta.dp_sgd(noise_multiplier=1, sampling_rate=0.01, steps=1_000))
    'DP-SGD with noise multiplier 1, sampling rate 0.01, 1,000 steps'
    """
    if isinstance(claim, Mechanism):
        return dp_sgd_in_words(claim) or f"{claim!r}"
    if isinstance(claim, GuaranteeCurve):
        return f"ε = {short(claim.claimed_epsilon)}, δ = {short(claim.claimed_delta)}"
    if isinstance(claim, GaussianCurve):
        return f"of Gaussian DP with μ = {short(claim.mu)}"
    return f"of the curve of {claim.label}"


def _times(factor: float) -> str:
    return short(factor, 2) if factor < 10 else f"{float(f'{factor:.2g}'):,.0f}"
