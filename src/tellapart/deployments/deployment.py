"""One published deployment: who promised what, about which unit, and where that is written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache

from tellapart import _checks
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee


class Variant(StrEnum):
    """In which currency a promise is made, in the registry's words."""

    PURE = "Pure DP"
    APPROXIMATE = "Approximate DP"
    ZERO_CONCENTRATED = "Zero-concentrated DP"


@dataclass(frozen=True)
class Deployment:
    """A promise that someone published, with the unit it is about and its source.

    ``unit`` is what may be present or absent, as the source words it: "User-level" is about all
    of a person's data, "User-day-level" about one day of them. ``epsilon`` and ``delta`` beside a
    ``rho`` are what the source says follows from it; the curve rests on ``rho`` alone.

    >>> from tellapart import deployments
    >>> emojis, = deployments.find("emojis")
    >>> print(emojis)
    Popular Emojis (Apple, 2017): ε = 4 for one event, local model; Pending in the registry
    """

    name: str
    curator: str
    published: str
    variant: Variant
    model: str
    unit: str
    epsilon: float | None
    delta: float | None
    rho: float | None
    status: str
    source: str

    def __post_init__(self) -> None:
        for field in ("name", "curator", "model", "unit", "status", "source"):
            _checks.instance(str, "a text", **{field: getattr(self, field)})
        for field in ("name", "source"):
            if not getattr(self, field).strip():
                _checks.refuse(field, "not be empty", getattr(self, field))
        _check_date(self.published)
        _checks.member(Variant, variant=self.variant)
        self._check_parameters()

    def _check_parameters(self) -> None:
        needs, takes = _PARAMETERS[self.variant]
        for field, check in _CHECKS.items():
            value = getattr(self, field)
            if value is None and field in needs:
                _checks.refuse(field, f"be given for {self.variant}", value)
            if value is not None and field not in needs + takes:
                _checks.refuse(field, f"be left out for {self.variant}", value)
            if value is not None:
                check(**{field: value})

    @property
    def key(self) -> str:
        """The entry's short name in its source, such as ``apple_popular_emojis``."""
        return self.source.split()[-1]

    @property
    def promise(self) -> str:
        """What was promised, as numbers in words: ε, ε and δ, or ρ."""
        letters = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        needs, _ = _PARAMETERS[self.variant]
        return ", ".join(f"{letters[one]} = {getattr(self, one):g}" for one in needs)

    @property
    def per(self) -> str:
        """The unit an attacker tells present from absent, in words: "one user-day".

        What the source joins stays joined: "one person; one housing-unit".
        """
        parts = [one.strip().lower().removesuffix("-level") for one in self.unit.split(";")]
        return "; ".join(f"one {part}" for part in parts if part) or "a unit that is not told"

    @property
    def described(self) -> str:
        """Who promised what about which unit, in one sentence."""
        who = f"{self.name} ({self.curator}, {self.published[:4]})"
        model = "model varies" if self.model == "Varies" else f"{self.model.lower()} model"
        return f"{who}: {self.promise} for {self.per}, {model}; {self.status} in the registry"

    def curve(self) -> TradeoffCurve:
        """The most that any mechanism with this promise lets an attacker do.

        It is `Bound.LOWER`: what was deployed may leak less, and never more if the promise holds.
        """
        if self.variant is Variant.ZERO_CONCENTRATED:
            return _promised(None, None, self.rho)
        return _promised(self.epsilon, self.delta, None)

    def __str__(self) -> str:
        return self.described


# What each variant needs, and what may stand beside it.
_PARAMETERS: dict[Variant, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Variant.PURE: (("epsilon",), ()),
    Variant.APPROXIMATE: (("epsilon", "delta"), ()),
    Variant.ZERO_CONCENTRATED: (("rho",), ("epsilon", "delta")),
}
_CHECKS = {
    "epsilon": _checks.finite_above_zero,
    "delta": _checks.inside_unit,
    "rho": _checks.finite_above_zero,
}


def _check_date(published: object) -> None:
    _checks.instance(str, "a date such as 2017-12-01", published=published)
    try:
        date.fromisoformat(str(published))
    except ValueError:
        _checks.refuse("published", "be a date such as 2017-12-01", published)


@lru_cache(maxsize=64)
def _promised(epsilon: float | None, delta: float | None, rho: float | None) -> TradeoffCurve:
    """Kept, since the curve of a ρ takes a third of a second."""
    return guarantee(epsilon, delta, zcdp=rho)
