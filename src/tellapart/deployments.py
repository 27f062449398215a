"""Published deployments of differential privacy, as what an attacker gains over one unit.

The facts are those of OpenDP's deployments registry, each with the entry it comes from. An entry
whose parameters do not fit its variant of privacy is in `LEFT_OUT`, with the reason.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import NamedTuple, NoReturn

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.subject import Subject, curves_of
from tellapart.risk.catalogue import FPR, MEASURES, PRIOR, Reading

__all__ = [
    "DEPLOYMENTS",
    "LEFT_OUT",
    "Deployment",
    "Variant",
    "find",
    "gains",
]


class Variant(StrEnum):
    """The variant of differential privacy, in the registry's words."""

    PURE = "Pure DP"
    APPROXIMATE = "Approximate DP"
    ZERO_CONCENTRATED = "Zero-concentrated DP"


@dataclass(frozen=True)
class Deployment:
    """A promise that someone published, with the unit it is about and its source.

    ``unit`` is what may be present or absent, as the source words it: "User-level" is about all
    of a person's data, "User-day-level" about one day of them. ``epsilon`` and ``delta`` beside a
    ``rho`` are what the source says follows from it; the curve uses ``rho`` alone.

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
        """What is claimed, as numbers in words: ε, ε and δ, or ρ."""
        letters = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
        needs, _ = _PARAMETERS[self.variant]
        return ", ".join(f"{letters[name]} = {short(getattr(self, name))}" for name in needs)

    @property
    def per(self) -> str:
        """The unit an attacker tells present from absent, in words: "one user-day".

        What the source joins stays joined: "one person; one housing-unit".
        """
        parts = [part.strip().lower().removesuffix("-level") for part in self.unit.split(";")]
        return "; ".join(f"one {part}" for part in parts if part) or "an unspecified unit"

    @property
    def described(self) -> str:
        """Who claims what about which unit of privacy, in one sentence."""
        who = f"{self.name} ({self.curator}, {self.published[:4]})"
        model = "model varies" if self.model == "Varies" else f"{self.model.lower()} model"
        return f"{who}: {self.promise} for {self.per}, {model}; {self.status} in the registry"

    def curve(self) -> TradeoffCurve:
        """The most that any mechanism with this guarantee lets an attacker do.

        It is `Bound.LOWER`: what was deployed may leak less, and never more if the claim holds.
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


SOURCE = "OpenDP deployments registry"
_NUMBERS = ("epsilon", "delta", "rho")


@dataclass(frozen=True)
class LeftOut:
    """An entry of the registry that makes no promise one could draw, and why not."""

    name: str
    source: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


class Registry(NamedTuple):
    """What was read, in the order of the table."""

    deployments: tuple[Deployment, ...]
    left_out: tuple[LeftOut, ...]


def read(rows: Iterable[str]) -> Registry:
    """Lines of comma-separated values, a head first, as promises and what was left out."""
    kept: list[Deployment] = []
    left: list[LeftOut] = []
    for row in csv.DictReader(rows):
        try:
            kept.append(_deployment(row))
        except InvalidArgument as error:
            left.append(LeftOut(row["name"], row["source"], str(error)))
    return Registry(tuple(kept), tuple(left))


def _deployment(row: dict[str, str]) -> Deployment:
    numbers = {field: _number(row[field], field) for field in _NUMBERS}
    texts = {field: value for field, value in row.items() if field not in numbers}
    variant = _variant(texts.pop("variant"))
    return Deployment(variant=variant, **numbers, **texts)  # type: ignore[arg-type]


def _number(text: str, field: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        _checks.refuse(field, "be a number", text)


def _variant(text: str) -> Variant:
    try:
        return Variant(text)
    except ValueError:
        _checks.refuse("variant", f"be {' or '.join(Variant)}", text)


def _packaged() -> Registry:
    table = resources.files("tellapart").joinpath("deployments.csv")
    return read(table.read_text(encoding="utf-8").splitlines())


DEPLOYMENTS, LEFT_OUT = _packaged()


# Shorter words are near too many others.
_WORD = 4


def find(text: str) -> tuple[Deployment, ...]:
    """The deployments that a name, a curator, a registry entry or words of them stand for.

    >>> [deployment.name for deployment in find("wikimedia pageviews")]
    ['Current Pageviews', 'Historical Pageviews']
    """
    _checks.instance(str, "a text", deployment=text)
    asked = text.casefold().split()
    if not asked:
        _checks.refuse("deployment", "not be empty", text)
    whole = " ".join(asked)
    exact = [
        deployment
        for deployment in DEPLOYMENTS
        if whole in (deployment.name.casefold(), deployment.key)
    ]
    matches = exact or [
        deployment for deployment in DEPLOYMENTS if _holds(_words(deployment), asked)
    ]
    if not matches:
        _refuse(text, asked)
    return tuple(matches)


def _words(deployment: Deployment) -> str:
    return f"{deployment.name} {deployment.curator} {deployment.key}".casefold()


def _holds(words: str, asked: list[str]) -> bool:
    return all(word in words for word in asked)


def _refuse(text: str, asked: list[str]) -> NoReturn:
    for entry in LEFT_OUT:
        if _holds(f"{entry.name} {entry.source}".casefold(), asked):
            rule = f"fit its variant of privacy ({entry.name} was left out: {entry.why})"
            _checks.refuse("deployment", rule, text)
    near = _near(asked)
    hint = f"near: {', '.join(near)}" if near else "such as Popular Emojis, Census or Wikimedia"
    _checks.refuse("deployment", f"be part of a name or a curator in the registry ({hint})", text)


def _near(asked: list[str]) -> list[str]:
    """Names and curators that one of the words, misspelt, may have meant."""
    meant: dict[str, dict[str, None]] = {}
    for deployment in DEPLOYMENTS:
        meant.setdefault(deployment.key, {})[deployment.name] = None
        for phrase in (deployment.name, deployment.curator):
            for word in (phrase, *phrase.split()):
                if len(word) >= _WORD:
                    meant.setdefault(word.casefold(), {})[phrase] = None
    close: dict[str, None] = {}
    for word in (" ".join(asked), *asked):
        for known in difflib.get_close_matches(word, meant, n=3, cutoff=0.7):
            close |= meant[known]
    return list(close)[:5]


CAVEATS = (
    "Each number is the most that any mechanism with the claimed guarantee allows: the deployed "
    "one may leak less. Where it is 1.0000, the guarantee alone rules out almost nothing.",
    "Units of privacy differ: a user-day is not a user. A guarantee for one day or one event "
    "composes over all that a person contributes, so compare deployments with the same unit only.",
    "In the local model the curator is an attacker, too; in the central model the curator is "
    "trusted and sees the data.",
    f"Parameters, units and status (Draft or Pending) are those of the {SOURCE}; what the "
    "deployed systems do was not checked.",
)
_SHOWN = ("advantage", "tpr", "ppv")


@dataclass(frozen=True)
class Gain:
    """Risk for one unit of privacy of a deployment, or of a mechanism set beside it.

    Each reading says on which side the truth lies: "≤" for every deployment.
    """

    name: str
    deployment: Deployment | None
    readings: tuple[Reading, ...]

    @property
    def advantage(self) -> float:
        """Membership advantage: max (TPR − FPR)."""
        return self.readings[0].value

    @property
    def tpr(self) -> float:
        """The share of members flagged at the FPR asked for."""
        return self.readings[1].value

    @property
    def ppv(self) -> float:
        """The share of those flagged who are members, at that FPR and under the prior."""
        return self.readings[2].value


def gains(
    asked: Iterable[Deployment] = DEPLOYMENTS,
    *,
    beside: Mapping[str, Subject] | None = None,
    fpr: float = 0.01,
    prior: float = 0.5,
) -> tuple[Gain, ...]:
    """Risk for one unit of privacy of each deployment, from least to most.

    ``beside`` maps names to mechanisms or curves to set among them. Each `Gain` has the advantage,
    the TPR at ``fpr`` and the PPV there under ``prior``. Read `CAVEATS` before comparing.

    >>> from tellapart import deployments
    >>> for gain in gains(deployments.find("apple"))[:2]:
    ...     print(f"{gain.name}, {gain.deployment.per}: {gain.readings[0]}")
    HealthKit Usage Statistics, one event: membership advantage ≤ 0.7616
    Popular Emojis, one event: membership advantage ≤ 0.9641

    See Also
    --------
    tellapart.plot.deployments : its picture
    """
    _checks.instance(Iterable, "a list of deployments", asked=asked)
    fpr, prior = FPR.check(fpr=fpr), PRIOR.check(prior=prior)
    chosen = list(asked)
    for deployment in chosen:
        _checks.instance(Deployment, "deployments, as deployments.find returns", asked=deployment)
    others = {} if beside is None or beside == {} else curves_of(beside)
    if not chosen and not others:
        _checks.refuse("asked", "hold at least one deployment", asked)
    rows = [
        _gain(deployment.name, deployment, deployment.curve(), fpr, prior)
        for deployment in dict.fromkeys(chosen)
    ]
    rows += [_gain(name, None, curve, fpr, prior) for name, curve in others.items()]
    return tuple(sorted(rows, key=lambda row: (row.advantage, row.tpr, row.name)))


def _gain(
    name: str, deployment: Deployment | None, curve: TradeoffCurve, fpr: float, prior: float
) -> Gain:
    about = {PRIOR.key: prior, FPR.key: fpr}
    readings = (
        measure.reading(curve, **{each.key: about[each.key] for each in measure.arguments})
        for measure in (MEASURES[key] for key in _SHOWN)
    )
    return Gain(name, deployment, tuple(readings))
