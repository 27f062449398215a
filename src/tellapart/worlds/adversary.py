"""The adversary's prior probability of a secret, or a range of priors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.special import expit

from tellapart import _checks, risk
from tellapart._checks import Array
from tellapart._numeric import solve
from tellapart.curve.algebra import check_curve
from tellapart.curve.base import TradeoffCurve
from tellapart.risk.catalogue import measure_of

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
        """From gamma = (1 − prior)/prior, the number of outsiders per member."""
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
        """Outsiders per member: (1 − prior)/prior."""
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
    grow with the prior, and success is least for a prior that makes both errors as likely: for
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
        if measure is risk.success:  # convex in the prior
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
        _checks.refuse("measure", "be larger for a stronger attacker, as risk.success is", name)
    if "prior" in arguments:
        _checks.refuse("prior", "be left to the range", arguments["prior"])
    try:
        inspect.signature(measure).bind(None, prior=0.5, **arguments)
    except TypeError as misfit:
        _checks.refuse("measure", f"take a curve, a prior and what is given ({misfit})", name)
    except ValueError:  # some built-in functions have no signature to look at
        pass
    return name
