"""The verdict of a white-box audit of one training: private or not, and as stated or not."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart._shown import Displayed
from tellapart.audit.bounds import Basis, LowerBound, percent
from tellapart.audit.level_budget import Entry, LevelBudget
from tellapart.audit.trainings.conformance import ConformanceCheck, StatedTraining, corrected
from tellapart.audit.trainings.step_bets import StepBets
from tellapart.audit.verdict import NOT_REFUTED, describe
from tellapart.errors import NotCertified
from tellapart.mechanisms.base import Mechanism
from tellapart.mechanisms.training import dp_sgd
from tellapart.neighbours import Neighbours

# A smaller μ shows nothing.
_NO_LEAK = 1e-6
BETS = "bets on each step"
# Corrected p-values below this are beyond doubt. What says why the noise is not as stated comes
# before the noise itself.
_DOUBT = 1e-12
_CAUSES = (
    "sampling rate",
    "noise of two steps alike",
    "canaries in one coordinate",
    "canaries in every layer",
)
ASSUMPTIONS = (
    "the canaries' coins are secret to the training",
    "what is read is all that a step releases",
    "per-example gradients are right (given the model, they are checked)",
)
PRODUCTION = (
    "The model of this run was trained on canaries: audit with it, and train the one to release "
    "without."
)


@dataclass(frozen=True, eq=False, repr=False)
class WatchVerdict(Displayed):
    """What one watched training shows, in two parts that are told apart.

    The bets refute "every step is μ-GDP", whatever mechanism was run, and hold at any stop. The
    tests of conformance refute the mechanism stated; another one may be as private.
    """

    stated: StatedTraining
    bets: StepBets
    checks: tuple[ConformanceCheck, ...]
    confidence: float
    conformance: float
    remarks: tuple[str, ...] = ()

    @property
    def ledger(self) -> LevelBudget:
        """The multiple-testing budget: what bets and tests of conformance may each err by."""
        many = sum(not check.fact for check in self.checks)
        level = 1 - self.confidence
        bets = Entry(BETS, 1, level - self.conformance)
        return LevelBudget(
            level, (bets, Entry("tests of conformance", many, self.conformance / many))
        )

    @property
    def claim(self) -> Mechanism:
        """The mechanism that was stated."""
        return self.stated.claim

    @property
    def steps(self) -> int:
        """How many steps were watched."""
        return len(self.bets.readings)

    @property
    def _sure(self) -> float:
        """The confidence of the bets by themselves."""
        return self.confidence + self.conformance

    @property
    def mu_claimed(self) -> float:
        """What each step may leak if the noise is as stated: μ = 1/noise multiplier."""
        return 1 / self.stated.noise

    @cached_property
    def mu_lower(self) -> LowerBound:
        """Some step leaks at least this, as μ of Gaussian DP: steps alike or not, at any stop."""
        value = self.bets.mu_lower(1 - self._sure)
        how = f"e-process over {self.steps} steps, anytime-valid: some step leaks more"
        return LowerBound(value, self._sure, Basis.EXACT, how)

    @cached_property
    def not_private(self) -> bool:
        """Whether the bets refute that every step leaks no more than its noise allows."""
        return self.bets.log_wealth(self.mu_claimed) >= -math.log(1 - self._sure)

    @cached_property
    def could_refute(self) -> bool:
        """Whether bets that all win would refute it in so few steps."""
        return self.bets.at_best(self.mu_claimed) >= -math.log(1 - self._sure)

    @cached_property
    def failed(self) -> tuple[ConformanceCheck, ...]:
        """The tests of conformance that refute the stated mechanism, the surest first.

        Of several that are beyond doubt, those that say why come before those that see it.
        """
        both = zip(corrected(self.checks), self.checks, strict=True)
        bad = [(max(p, _DOUBT), check) for p, check in both if p <= self.conformance]
        return tuple(check for _, check in sorted(bad, key=lambda each: (each[0], _rank(each[1]))))

    @property
    def refuted(self) -> bool:
        """Whether either part refutes the claim."""
        return self.not_private or bool(self.failed)

    @property
    def refuting(self) -> tuple[str, ...]:
        """The names of what refutes the claim: the bets, and tests of conformance."""
        return ((BETS,) if self.not_private else ()) + tuple(check.name for check in self.failed)

    def epsilon_if_steps_alike(self, delta: float) -> LowerBound:
        """The ε of the steps watched, assuming that each leaks as much as the worst one shown.

        Without that assumption one step may have leaked and all others nothing.
        """
        d = _checks.inside_unit(delta=delta)
        how = f"if all {self.steps} steps leak alike, an assumption"
        if self.claim.neighbours is not Neighbours.ADD_REMOVE:  # as canaries are
            how += ", for a record added or removed"
        value = _epsilon_lower(self.mu_lower.value, self.stated.rate, self.steps, d)
        return LowerBound(value, self._sure, Basis.GAUSSIAN, how)

    # -- words ---------------------------------------------------------------------------------

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        claim = describe(self.claim)
        if not self.refuted:
            return f"NOT REFUTED: {claim}{self._part}, at {percent(self.confidence)} confidence"
        reasons = [self._leak] if self.not_private else []
        reasons += [self.failed[0].words] if self.failed else []
        return f"REFUTED: {claim}: {'; '.join(reasons)}"

    @property
    def _part(self) -> str:
        """How much of the training was watched, where that was not all of it."""
        stated = self.stated.steps
        return "" if self.steps >= stated else f", {self.steps:,} of {stated:,} steps watched"

    @property
    def _leak(self) -> str:
        return (
            f"a step leaks μ ≥ {short(self.mu_lower.value, 3, up=False)} > "
            f"{short(self.mu_claimed, 3)}"
        )

    def reasons(self) -> list[str]:
        """The sentences that go with the headline: each part, then assumptions."""
        return [*self.grounds(), f"Assumptions: {'; '.join(ASSUMPTIONS)}.", PRODUCTION]

    def grounds(self) -> list[str]:
        """What each part says, told apart, and what else should be said with it."""
        lines = [
            f"Private or not: {self._by_bets()}".rstrip(),
            f"As stated or not: {self._by_checks()}",
        ]
        lines += [f"- {check.name}: {check.words} ({self.p_of(check)})" for check in self.failed]
        if not self.refuted:
            lines.append(NOT_REFUTED)
        return [*lines, *self.remarks]

    def _by_bets(self) -> str:
        sure, mu = percent(self._sure), short(self.mu_claimed, 3)
        shown = f"Some step leaks μ {self.mu_lower.words}." if self.mu_lower.value else ""
        if self.not_private:
            return f"refuted at {sure} confidence. {shown} Stated is μ = {mu} a step."
        if not self.could_refute:
            few = "1 step is" if self.steps == 1 else f"{self.steps:,} steps are"
            return f"no verdict. {few} too few to refute μ = {mu} by bets. {shown}"
        return f"not refuted at {sure} confidence (bets against μ = {mu} a step). {shown}"

    def _by_checks(self) -> str:
        many, sure = len(self.checks), percent(1 - self.conformance)
        if self.failed:
            facts = sum(check.fact for check in self.failed)
            tests = len(self.failed) - facts
            by = [f"{facts} fact{'s' * (facts > 1)} that no chance explains"] if facts else []
            by += [f"{tests} of {many - facts} tests"] if tests else []
            return (
                f"refuted at {sure} confidence by {' and '.join(by)}. This refutes "
                "the mechanism stated, not (ε, δ)-DP: another one was run."
            )
        return f"not refuted at {sure} confidence ({many} tests)."

    def p_of(self, check: ConformanceCheck) -> str:
        """The p-value of a test of conformance, corrected for all of them, in words."""
        if check.fact:
            return "a fact, not a test"
        at = self.checks.index(check)
        p_value = corrected(self.checks)[at]
        said = f"p ≤ {short(p_value, 2, up=True)}" if p_value > 1e-300 else "p < 1e-300"
        return f"{said} for all tests together"

    def __repr__(self) -> str:
        return f"WatchVerdict({self.headline})"

    def __str__(self) -> str:
        return "\n".join([self.headline, *self.reasons(), self.ledger.in_short])


def _rank(check: ConformanceCheck) -> int:
    """Facts first, then what says why."""
    if check.fact:
        return -1
    return _CAUSES.index(check.name) if check.name in _CAUSES else len(_CAUSES)


def _epsilon_lower(mu: float, rate: float, steps: int, delta: float) -> float:
    """What an attack on such steps surely reaches: of less μ, where so much is beyond any grid."""
    while mu > _NO_LEAK:
        with suppress(NotCertified):
            return max(dp_sgd(1 / mu, rate, steps).bracket(delta).upper.epsilon(delta), 0.0)
        mu /= 2
    return 0.0
