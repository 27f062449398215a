"""The adversary's prior: one value, a range of priors, or the founding paper's coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import expit

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart._numeric.text import short
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import TradeoffCurve
from tellapart.risk.catalogue import measure_of
from tellapart.worlds.frameworks.databases import tabled
from tellapart.worlds.markov.chain import MarkovChain
from tellapart.worlds.models.base import FiniteModel, ImpossibleSecret
from tellapart.worlds.models.independent import Independent
from tellapart.worlds.models.table import JointTable

Measure = Callable[..., Any]


@dataclass(frozen=True)
class Adversary:
    """Someone who holds "present" for this likely before seeing any output.

    >>> Adversary(prior=0.01).gamma
    99.0
    """

    prior: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _checks.probability(prior=self.prior))

    @classmethod
    def with_odds(cls, gamma: float) -> Self:
        """From gamma = (1 − prior)/prior, non-members per member."""
        return cls(1 / (1 + _checks.at_least_zero(gamma=gamma)))

    @classmethod
    def with_coefficients(cls, rho_p: float, rho_c: float = 0.0, rho_t: float = 0.0) -> Self:
        """From the founding paper's coefficients: prior, correlation, time (binary records).

        gamma = (2 − ρ_p)(1 − ρ_c)(1 − ρ_t) − 1, which must not be negative: no probability
        exceeds 1. It can only speak of h1 that is at least as likely as h0.

        >>> round(Adversary.with_coefficients(rho_p=0.2, rho_c=0.1, rho_t=0.1).gamma, 3)
        0.458
        """
        p, c, t = (
            _checks.probability(rho_p=rho_p),
            _checks.probability(rho_c=rho_c),
            _checks.probability(rho_t=rho_t),
        )
        gamma = 1 - p - (2 - p) * (c + t * (1 - c))
        if gamma < -1e-15:
            rule = "keep (2 − rho_p)(1 − rho_c)(1 − rho_t) at least 1, as no probability exceeds 1"
            _checks.refuse("rho_p, rho_c and rho_t", rule, (rho_p, rho_c, rho_t))
        return cls.with_odds(max(gamma, 0.0))

    @property
    def gamma(self) -> float:
        """Non-members per member: (1 − prior)/prior."""
        return (1 - self.prior) / self.prior if self.prior else float("inf")

    @property
    def rho_p(self) -> float:
        """The paper's prior coefficient, 1 − gamma; negative for a prior under 1/2."""
        return 1 - self.gamma


@dataclass(frozen=True)
class PriorRange:
    """An adversary whose prior is known only to lie between two values.

    Whatever the true prior is, no attacker exceeds the defender's bound, and one who plans for
    the worst prior is sure of the attacker's guarantee. PPV, precision, F-score and posteriors
    grow with the prior, and accuracy is least for a prior that makes both errors as likely: for
    these both numbers are proved. A measure of your own must grow with the prior, too; that is
    checked at some 400 priors, no proof for what lies between.

    >>> import tellapart as ta
    >>> from tellapart import risk
    >>> about = PriorRange(0.05, 0.2)
    >>> round(about.defender_bound(ta.guarantee(epsilon=1), risk.f_score), 4)
    0.5209
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _checks.probability(low=self.low), _checks.probability(high=self.high)
        if low > high:
            _checks.refuse("low", f"be at most high ({high})", self.low)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def defender_bound(self, curve: TradeoffCurve, measure: Measure, **arguments: Any) -> float:
        """The most that any attacker reaches, whichever prior in the range is true."""
        return self._ends(curve, measure, arguments)[1]

    def attacker_guarantee(self, curve: TradeoffCurve, measure: Measure, **arguments: Any) -> float:
        """What an attacker reaches for sure, whichever prior in the range is true."""
        return self._ends(curve, measure, arguments)[0]

    def _ends(
        self, curve: TradeoffCurve, measure: Measure, arguments: dict[str, Any]
    ) -> tuple[float, float]:
        check_curve(curve=curve)
        name = _check_measure(measure, arguments)

        def at(prior: float) -> float:
            return _checks.number(
                **{f"{name} of a curve": measure(curve, prior=prior, **arguments)}
            )

        low, high = at(self.low), at(self.high)
        if measure is risk.accuracy:  # convex in the prior
            return min(low, high, 1 - self._most_error(curve)), max(low, high)
        known = measure_of(measure)
        if measure is risk.posterior or (known is not None and known.grows_with_prior):
            return low, high
        values = [low, *(at(prior) for prior in self._between()), high]
        if any(after < before - 1e-12 for before, after in pairwise(values)):
            _checks.refuse("measure", "grow with the prior, as PPV and F-score do", name)
        return low, high

    def _most_error(self, curve: TradeoffCurve) -> float:
        """The largest Bayes error over the range, from above.

        Any one attack bounds it by (1 − prior)·FPR + prior·FNR, for all priors at once: the best
        one for an end, where it errs most at that end, or else the one with FPR = FNR.
        """
        ends = np.array([self.low, self.high])
        with np.errstate(all="ignore"):
            fpr, _, fnr, _ = curve._rates(np.log1p(-ends) - np.log(ends))
            errors = (1 - ends) * fpr + ends * fnr
            if fnr[0] <= fpr[0]:
                return float(errors[0])
            if fnr[1] >= fpr[1]:
                return float(errors[1])
            if curve._beta(np.zeros(1))[0] == 0:
                return 0.0

            def excess(alpha: Array) -> Array:
                return curve._beta(alpha) - alpha

            return float(solve.falling_root(excess, np.zeros(1), np.ones(1))[1][0])

    def _between(self) -> list[float]:
        """Priors inside the range, even in themselves and in their log-odds."""
        share = np.linspace(0, 1, 202)[1:-1]
        even = self.low + (self.high - self.low) * share
        ends = np.clip([self.low, self.high], 1e-12, 1 - 1e-12)
        first, last = np.log(ends) - np.log1p(-ends)
        odds = np.clip(expit(first + (last - first) * share), self.low, self.high)
        return [float(prior) for prior in np.sort(np.concatenate([even, odds]))]


def _check_measure(measure: Measure, arguments: dict[str, Any]) -> str:
    """Its name, if it is a risk of a curve and a prior."""
    if not callable(measure):
        _checks.refuse("measure", "be a function of a curve and a prior", measure)
    name = str(getattr(measure, "__name__", repr(measure)))
    known = measure_of(measure)
    if known is not None and known.smaller_is_worse:
        _checks.refuse("measure", "be larger for a stronger attacker, as risk.accuracy is", name)
    if "prior" in arguments:
        _checks.refuse("prior", "be left to the range", arguments["prior"])
    _checks.keywords(measure, arguments, filled=("prior",))
    return name


_ERRS = (
    "the formula takes the three largest effects as if they came together: for two values it errs "
    "towards larger odds than the true ones"
)


@dataclass(frozen=True)
class Coefficients:
    """How much prior, correlation and history say of a record, by the paper and in truth.

    ``rho_p`` is 1 − min P(a)/P(a′), ``rho_c`` is 1 − min P(a)/P(a | others) and ``rho_t`` is
    1 − min P(a | others)/P(a | others, past), over possible values. ``formula_odds`` is the paper's
    1/((2 − rho_p)(1 − rho_c)(1 − rho_t) − 1), None where that has no meaning; ``true_odds`` is the
    largest P(a | all)/P(a′ | all). ``warning`` says what the formula gets wrong here.
    """

    rho_p: float
    rho_c: float
    rho_t: float
    formula_odds: float | None
    true_odds: float
    warning: str


def coefficients(
    model: FiniteModel, record: int, past: Sequence[int] | None = None
) -> Coefficients:
    """The paper's coefficients of a record whose others are known, and its true odds.

    ``past`` names the records that are the person's own history; all others are the context. The
    odds are those before any output. Read them as a description: for any risk give a prior and
    the laws themselves.

    >>> from tellapart.worlds import JointTable
    >>> found = coefficients(JointTable([[0, 1], [0, 1]], [[0.3, 0.2], [0.2, 0.3]]), 0)
    >>> round(found.rho_c, 4), round(found.formula_odds, 4), round(found.true_odds, 4)
    (0.1667, 1.5, 1.5)
    """
    _checks.instance(FiniteModel, "a data model with finitely many values", model=model)
    record = _checks.whole(0, model.records - 1, record=record)
    history = {_checks.whole(0, model.records - 1, past=record) for record in past or ()}
    if record in history:
        _checks.refuse("past", "leave out the record itself", past)
    table, own, before = _around(model, record, history)
    joint = _with_own_first(table, own, before)
    prior, context = joint.sum(axis=(1, 2)), joint.sum(axis=2)
    if prior.size < 2:
        raise ImpossibleSecret(f"record must have two possible values, got {record}")
    rho_p = 1 - float(prior.min() / prior.max())
    rho_c = _lift(prior[:, None], _given(context))
    rho_t = _lift(_given(context)[:, :, None], _given(joint)) if history else 0.0
    odds = _largest_odds(joint.reshape(prior.size, -1))
    return _judged(rho_p, rho_c, rho_t, odds, prior.size)


def _around(model: FiniteModel, record: int, history: set[int]) -> tuple[JointTable, int, set[int]]:
    """A table of the records that matter, the record's place in it and the places of its past."""
    if isinstance(model, Independent):
        # Others say nothing, be they past or context.
        return JointTable((model.domain(record),), model.marginals[record]), 0, set()
    if isinstance(model, MarkovChain):
        kept = _nearest(model, record, history)
        places = {place for place, name in enumerate(kept) if name in history}
        return _of_chain(model, kept), kept.index(record), places
    return tabled(model, "describe the data by a MarkovChain or by Independent"), record, history


def _nearest(chain: MarkovChain, record: int, history: set[int]) -> list[int]:
    """The record, its neighbours and the nearest ones that are no history, on both sides.

    Given the nearest known records on both sides the ones beyond say nothing more.
    """
    sides = [range(record - 1, -1, -1), range(record + 1, chain.records)]
    kept = {record}
    for side in sides:
        kept |= set(side[:1])
        kept |= set([record for record in side if record not in history][:1])
    return sorted(kept)


def _of_chain(chain: MarkovChain, records: list[int]) -> JointTable:
    power = np.linalg.matrix_power
    table: Array = chain.initial @ power(chain.transition, records[0])
    for before, after in pairwise(records):
        table = table[..., None] * power(chain.transition, after - before)
    return JointTable((chain.domain(0),) * len(records), table)


def _with_own_first(table: JointTable, own: int, history: set[int]) -> Array:
    """Probabilities of own value, context and past, without values that cannot be."""
    context = [i for i in range(table.records) if i != own and i not in history]
    order = [own, *context, *sorted(history)]
    joint = table.probabilities.transpose(order)
    width = int(np.prod([table.domain(i).size for i in context], dtype=int))
    flat = joint.reshape(joint.shape[0], width, -1)
    return np.asarray(flat[flat.sum(axis=(1, 2)) > 0])


def _given(joint: Array) -> Array:
    """Probabilities of the own value given all else; NaN for what cannot be."""
    with np.errstate(invalid="ignore"):
        return np.asarray(joint / joint.sum(axis=0))


def _lift(before: Array, after: Array) -> float:
    """1 − the least ratio of a probability before to the one after something is learnt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = before / after
    return max(1 - float(np.nanmin(ratios)), 0.0)


def _largest_odds(joint: Array) -> float:
    possible = joint[:, joint.sum(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float((possible.max(axis=0) / possible.min(axis=0)).max())


def _judged(rho_p: float, rho_c: float, rho_t: float, odds: float, values: int) -> Coefficients:
    left = (2 - rho_p) * (1 - rho_c) * (1 - rho_t) - 1
    if values > 2:
        reason = f"the formula is for two values, this record has {values} possible ones"
        return Coefficients(rho_p, rho_c, rho_t, None, odds, reason)
    if left <= 0:
        reason = (
            f"the formula has no meaning here: (2 − rho_p)(1 − rho_c)(1 − rho_t) − 1 = "
            f"{short(left, 3)} is not positive, as if a probability exceeded 1"
        )
        return Coefficients(rho_p, rho_c, rho_t, None, odds, reason)
    return Coefficients(rho_p, rho_c, rho_t, 1 / left, odds, _ERRS)
