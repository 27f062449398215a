"""An adversary's knowledge before looking, in whichever way it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from tellapart import _checks
from tellapart.curve.base import TradeoffCurve

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

    For a measure that grows with the prior (PPV, precision, F-score, posterior): whatever the
    true prior is, no attacker exceeds the defender's bound, and an attacker who plans for the
    least prior is sure of the attacker's guarantee.

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
        steps = [self.low + (self.high - self.low) * k / 8 for k in range(9)]
        values = [float(measure(curve, prior=prior, **arguments)) for prior in steps]
        if any(after < before - 1e-12 for before, after in pairwise(values)):
            name = getattr(measure, "__name__", repr(measure))
            _checks.refuse("measure", "grow with the prior, as PPV and F-score do", name)
        return values[0], values[-1]
