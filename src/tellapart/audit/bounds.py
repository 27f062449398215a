"""Lower confidence bounds from samples, each with its basis."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from enum import Enum
from numbers import Real

from tellapart import _checks
from tellapart._numeric.text import fixed, short


class Basis(Enum):
    """The basis of a bound from samples, and so whether it may refute a claim.

    EXACT: overclaims with at most the stated probability, for every law and sample size.
    ASYMPTOTIC: would do so for infinitely many samples; here it may overclaim more often.
    BAYESIAN: a posterior statement under a prior; how often it overclaims is not controlled.
    GAUSSIAN: exact for mechanisms that promise Gaussian DP, and says nothing of others.
    """

    EXACT = "exact"
    ASYMPTOTIC = "asymptotic"
    BAYESIAN = "Bayesian"
    GAUSSIAN = "exact for claims of Gaussian DP only"


def percent(share: float) -> str:
    """A confidence, or a level, as people write it; no confidence is written as 100 %.

    >>> percent(0.95), percent(1 - 1e-12)
    ('95 %', '99.99999999 %')
    """
    return f"{short(min(100 * share, 99.99999999), 10)} %"


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What the samples show at least, with the confidence it was bought with.

    It compares with numbers, and with other bounds in size, by its ``value``.

    >>> bound = LowerBound(1.9692, confidence=0.95, basis=Basis.EXACT, method="Clopper-Pearson")
    >>> print(bound)
    ≥ 1.9692 (95 % confidence, exact, Clopper-Pearson)
    >>> bound > 1
    True
    """

    value: float
    confidence: float
    basis: Basis
    method: str
    # How often this method claims more than the truth, measured at the truth `value`.
    false_claims: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _checks.at_least_zero(value=self.value))
        confidence = _checks.inside_unit(confidence=self.confidence)
        object.__setattr__(self, "confidence", confidence)
        _checks.member(Basis, basis=self.basis)

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: object) -> bool:
        value = _value(other)
        return NotImplemented if value is None else self.value < value

    def __le__(self, other: object) -> bool:
        value = _value(other)
        return NotImplemented if value is None else self.value <= value

    def __gt__(self, other: object) -> bool:
        value = _value(other)
        return NotImplemented if value is None else self.value > value

    def __ge__(self, other: object) -> bool:
        value = _value(other)
        return NotImplemented if value is None else self.value >= value

    def __eq__(self, other: object) -> bool:
        """Equal to its value; to another bound only if all that was said of it is the same."""
        if isinstance(other, LowerBound):
            return astuple(self) == astuple(other)
        value = _value(other)
        return NotImplemented if value is None else self.value == value

    def __hash__(self) -> int:
        return hash(self.value)

    @property
    def words(self) -> str:
        """The bound by itself, rounded down; 0 is no bound, and has no digits."""
        return f"≥ {fixed(self.value, up=False)}" if self.value else "≥ 0"

    def __str__(self) -> str:
        kind = "credible" if self.basis is Basis.BAYESIAN else "confidence"
        said = f"{self.words} ({'' if self.value else 'nothing shown, '}"
        said += f"{percent(self.confidence)} {kind}, {self.basis.value}, {self.method}"
        if self.false_claims is not None:
            said += f", overclaims in {short(100 * self.false_claims, 2)} % of audits"
        return said + ")"


def _value(other: object) -> float | None:
    """What a bound is compared with: a number, or another bound's."""
    if isinstance(other, LowerBound):
        return other.value
    return float(other) if isinstance(other, Real) else None
