"""Evidence from reconstruction or attribute-inference attacks: k targets of n against a baseline.

Under a claim f the success of any guess is at most 1 − f(κ), κ being the best blind success of
someone who knows all other records (Balle et al. 2022; the same for attribute inference). So the
pair (κ, success) is a point that the claimed ROC curve must not lie below: κ takes the place of
the FPR and is known, or bounded from above by a control that guesses without the output. Of a
claim whose neighbours add, remove or zero out a record f is the curve of h0 = absent, as the bound
needs no more; of any other claim, or where the relation is unknown, it holds for both orders.

Where each target has a model of its own, successes are binomial (Clopper-Pearson). Where all are in
one model only their mean is bounded, and Markov's inequality is left: P(k or more) ≤ n·success/k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tellapart import _checks
from tellapart._checks import Array
from tellapart._numeric import binomial, solve
from tellapart._numeric.text import fixed, short
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.counts.clopper_pearson import least_levels
from tellapart.audit.evidence.base import CurveEvidence, Design, Finding, Power, shown_corners
from tellapart.audit.level_budget import CLAIMS_ARE_FREE, Entry, LevelBudget
from tellapart.curve.atomic import AtomicCurve
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.neighbours import Order
from tellapart.risk.attackers import reference_curve

_BEST_BLIND = (
    "The baseline is the best blind success of someone who knows all other records, for every "
    "target or for targets drawn at random: a control that guesses worse would refute true claims."
)
_SETTLED = "The attack, and what counts as a success, were settled without these targets."
_EACH = "Every target has a model (or release) of its own, independent of all others."
_ONE_MODEL = (
    "All targets are in one model, their secrets drawn independently: only the mean number of "
    "successes is bounded (Markov's inequality)."
)
_BLIND = "The control is independent of the attack, and its guesses of each other."


@dataclass(frozen=True, repr=False)
class ReconstructionEvidence(CurveEvidence):
    """What targets guessed right, beyond what a blind guess gets, show of a claim."""

    successes: int
    trials: int
    ledger: LevelBudget
    baseline: float | None = None
    control: tuple[int, int] | None = None
    independent: bool = True
    design: Design = Design.TARGETS

    @property
    def method(self) -> str:  # type: ignore[override]
        """The name of the bound on the success, for people."""
        return "Clopper-Pearson" if self.independent else "Markov's inequality"

    @property
    def assumptions(self) -> tuple[str, ...]:  # type: ignore[override]
        """What is taken on trust."""
        blind = (_BLIND,) if self.control is not None else ()
        return (_EACH if self.independent else _ONE_MODEL, _BEST_BLIND, *blind, _SETTLED)

    # -- what it shows -------------------------------------------------------------------------

    @property
    def success_lower(self) -> LowerBound:
        """How often the attack succeeds, at least."""
        return self._bound(self._success(self.ledger.level), Basis.EXACT)

    @property
    def baseline_upper(self) -> float:
        """The success of a blind guess: as given, or at most this by the control."""
        return self._blind(self.ledger.level)

    @property
    def rates(self) -> tuple[float, float]:
        """The baseline, from above where a control bounds it, and the success as observed."""
        return self.baseline_upper, self.successes / self.trials

    @property
    def gain_lower(self) -> LowerBound:
        """By how much the attack beats a blind guess, at least."""
        gain = self._success(self.ledger.level) - self.baseline_upper
        return self._bound(max(gain, 0.0), Basis.EXACT)

    def own_bounds(self) -> tuple[tuple[str, LowerBound], ...]:
        over = f"baseline ({short(self.baseline_upper, 4)})"
        if self.control is not None:
            over = f"blind control (≤ {fixed(self.baseline_upper, up=True)})"
        return ("success", self.success_lower), (f"gain over the {over}", self.gain_lower)

    def __str__(self) -> str:
        without = short(self.baseline_upper, 4) + ("" if self.control is None else " at most")
        return (
            f"{self.telling()}: success {self.success_lower}; without the output {without}; "
            f"gain ≥ {fixed(self.gain_lower.value, up=False)}"
        )

    def telling(self, delta: float = 0.0) -> str:
        if self.control is None:
            blind = f"a baseline of {short(100 * self.baseline_upper, 3)} %"
        else:
            blind = f"{self.control[0]:,} of {self.control[1]:,} by the blind control"
        return f"{self.successes:,} of {self.trials:,} targets guessed right, against {blind}"

    def _curve(self) -> AtomicCurve:
        """One corner: the baseline from above in place of the FPR, the success from below."""
        level = self.ledger.level
        return shown_corners(np.array(self._success(level)), np.array(self._blind(level)))

    # -- the test ------------------------------------------------------------------------------

    def held_against(self, claim: TradeoffCurve) -> TradeoffCurve:
        return reference_curve(claim)

    def _share(self, level: float) -> float:
        """Of the level, what success has; the control has as much."""
        return level if self.control is None else level / 2

    def _success(self, level: float) -> float:
        share = self._share(level)
        if not self.independent:
            return share * self.successes / self.trials
        return float(binomial.lower_limit(self.successes, self.trials, share))

    def _blind(self, level: float) -> float:
        if self.control is None:
            return float(self.baseline or 0.0)
        return float(binomial.upper_limit(*self.control, self._share(level)))

    def _refutes_at(self, roc: TradeoffCurve, level: float) -> bool:
        return self._success(level) > float(roc.tpr(self._blind(level)))

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        roc = self.held_against(claim)
        if not self._refutes_at(roc, self.ledger.level):
            return None

        def refutes(levels: Array) -> NDArray[np.bool_]:
            return np.asarray(self._refutes_at(roc, float(levels)))

        p = float(least_levels(refutes, np.array(self.ledger.level)))
        blind, shown = self.rates
        allowed = float(roc.tpr(blind))
        limit = f"the claim allows a success of {short(100 * allowed, 3)} % at that baseline"
        if roc.order is Order.PRESENT:
            limit += " (h0: absent)"
        names = ("baseline (given)", "success observed")
        if self.control is not None:
            names = ("baseline from above, by the control", names[1])
        at, level = (blind, shown), self.ledger.level
        return Finding(self.telling(), shown, allowed, p, level, limit, at, names)

    def _power(self, claim: TradeoffCurve) -> Power:
        """For the best attack that a truth allows at this baseline, the control as observed."""
        if not self.independent:
            raise Unsupported("how successes in one model vary together is not known")
        roc, blind = self.held_against(claim), self.baseline_upper
        needed = solve.first_whole(
            lambda k: replace(self, successes=k)._refutes_at(roc, self.ledger.level),
            0,
            self.trials + 1,
        )
        return lambda truth: float(
            binomial.upper_tail(needed, self.trials, float(self.held_against(truth).tpr(blind)))
        )

    def at_best(self) -> ReconstructionEvidence:
        return replace(self, successes=self.trials)

    def scaled(self, factor: float) -> ReconstructionEvidence:
        trials = max(round(self.trials * factor), 1)
        control = self.control
        if control is not None:
            most = max(round(control[1] * factor), 1)
            control = min(round(control[0] * factor), most), most
        successes = min(round(self.successes * factor), trials)
        return replace(self, successes=successes, trials=trials, control=control)

    def at_level(self, level: float) -> ReconstructionEvidence:
        return replace(self, ledger=self.ledger.at_level(level))


def reconstruction(
    *,
    successes: int,
    trials: int,
    baseline: float | None = None,
    control: tuple[int, int] | None = None,
    independent: bool = True,
    confidence: float = 0.95,
) -> ReconstructionEvidence:
    """What an attack shows that reconstructed, or guessed an attribute of, so many targets.

    ``baseline`` is the best blind success of someone who knows all other records, such as 1/10 for
    a secret drawn from ten; or ``control`` has the successes and trials of that blind guess. Each
    target must have a model of its own; with ``independent=False`` all are in one model, and only
    a success about 1/(1 − confidence) times what is claimed refutes.

    >>> import tellapart as ta
    >>> shown = reconstruction(successes=40, trials=100, baseline=0.1)
    >>> print(shown.gain_lower)
    ≥ 0.2175 (95 % confidence, exact, Clopper-Pearson)
    >>> shown.refutes(ta.guarantee(epsilon=1)), shown.refutes(ta.guarantee(epsilon=2))
    (True, False)

    See Also
    --------
    tellapart.audit.judge : the verdict on a claim
    tellapart.worlds.best_guess : the success of the best guess, for a known prior
    """
    level = 1 - _checks.inside_unit(confidence=confidence)
    right, n = _counted("successes", successes, "trials", trials)
    if (baseline is None) == (control is None):
        rule = "be given, or control=(successes, trials) of a blind guess; one of the two"
        _checks.refuse("baseline", rule, baseline)
    entries: tuple[Entry, ...] = (Entry("the success of the attack", 1, level),)
    if control is not None:
        if not isinstance(control, tuple | list) or len(control) != 2:
            _checks.refuse("control", "be the pair (successes, trials) of a blind guess", control)
        control = _counted("control successes", control[0], "control trials", control[1])
        half = level / 2
        entries = (
            Entry("the success of the attack", 1, half),
            Entry("the success of the blind control", 1, half),
        )
    blind = None if baseline is None else _checks.inside_unit(baseline=baseline)
    ledger = LevelBudget(level, entries, (CLAIMS_ARE_FREE,))
    return ReconstructionEvidence(right, n, ledger, blind, control, bool(independent))


def _counted(some: str, successes: object, every: str, trials: object) -> tuple[int, int]:
    n = _checks.whole(1, 10**15, **{every: trials})
    k = _checks.whole(0, **{some: successes})
    if k > n:
        _checks.refuse(some, f"be at most {every} = {n}", k)
    return k, n
