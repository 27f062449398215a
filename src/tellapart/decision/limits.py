"""Limits and attackers of a decision: each risk beside its baseline, as the noise leaves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tellapart._numeric.text import short
from tellapart.choose.limit import FORMULAS, Limit
from tellapart.curve.base import TradeoffCurve
from tellapart.decision.record import Attacker, Decision, RiskLimit
from tellapart.risk.catalogue import MEASURES, Measure, Reading, stated
from tellapart.risk.sentences import CountedRisk, counted


@dataclass(frozen=True)
class LimitAnswer:
    """One limit beside its baseline and what the chosen noise achieves.

    ``alone`` is the value that this limit would ask if it were the only one; ``binding`` says that
    a value less private than the chosen one breaks it. ``known_members``: an attacker may know who
    is in the data, and looks for a value of a record.
    """

    place: int
    limit: RiskLimit
    asked: Limit
    reading: Reading
    alone: float | None
    binding: bool
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)
    advantage: Reading | None = field(default=None, repr=False)
    known_members: bool = False

    @property
    def attacker(self) -> str:
        """Whose risk it is."""
        return self.limit.attacker

    @property
    def reason(self) -> str:
        """Why so much is accepted."""
        return self.limit.reason

    @property
    def risk(self) -> str:
        """What is limited: *PPV at FPR 0.001*."""
        return self.asked.label

    @property
    def bound(self) -> str:
        """How far it is limited: *≤ 0.05*."""
        return f"{'≥' if self.asked.least else '≤'} {short(self.asked.bound)}"

    @property
    def without(self) -> str:
        """The risk without the release."""
        return self.reading.columns[0]

    @property
    def reached(self) -> str:
        """The risk with it."""
        return self.reading.columns[1]

    @property
    def count(self) -> CountedRisk | None:
        """The risk as a count of people; None where it is no share of any."""
        return self._counted(self.reading, self.asked.bound)

    def _counted(self, reading: Reading, bound: float | None = None) -> CountedRisk | None:
        return counted(
            reading, self.about, "release", bound=bound, known_members=self.known_members
        )

    @property
    def accepted(self) -> str:
        """How many people are accepted, where they can be counted."""
        count = self.count
        if count is None:
            return f"{self.risk} {self.bound}"
        most = count.accepted(self.asked.bound, self.asked.least)
        return f"{'at least' if self.asked.least else 'at most'} {most:,} of {count.out_of:,}"

    @property
    def sentence(self) -> str:
        """The risk without and with the release in people; of an ε, the advantage it allows."""
        if (count := self.count) is not None:
            return count.sentence
        beside = None if self.advantage is None else self._counted(self.advantage)
        said = f"{self.reading.name}: {self.reached}; without the release, {self.without}."
        return said if beside is None else f"{said} {beside.sentence}"

    @property
    def words(self) -> str:
        """What is limited, and how far: *PPV at FPR 0.001 ≤ 0.05*."""
        return in_words(self.asked)

    def data(self) -> dict[str, Any]:
        """One limit as JSON can hold it."""
        return {
            "attacker": self.attacker,
            "limit": self.words,
            "reason": self.reason,
            "alone": self.alone,
            "binding": self.binding,
            "accepted": self.accepted,
            "sentence": self.sentence,
            **risk_record(self.reading),
        }

    def __str__(self) -> str:
        return f"{self.attacker}, {self.words}"


@dataclass(frozen=True)
class AttackerAnswer:
    """One attacker, and every risk that can be read with what is said of them."""

    attacker: Attacker
    readings: tuple[Reading, ...]

    @property
    def about(self) -> str:
        """The numbers that are given of the attacker."""
        return ", ".join(f"{key} {short(value)}" for key, value in self.attacker.about.items())

    @property
    def risks(self) -> tuple[Reading, ...]:
        """All risks but ε, which is the same for everybody."""
        return tuple(reading for reading in self.readings if reading.key != "epsilon")

    def data(self) -> dict[str, Any]:
        """One attacker as JSON can hold it."""
        return {"name": self.attacker.name, "risks": [*map(risk_record, self.readings)]}


def in_words(limit: Limit) -> str:
    """A limit in the words of the catalogue."""
    return stated(limit.label, f"{'≥' if limit.least else '≤'} {short(limit.bound)}")


def judged(limits: Sequence[Limit], curve: TradeoffCurve) -> bool | None:
    """Whether a curve keeps the limits; None where its digits do not tell."""
    doubt = curve._accuracy if curve._accuracy > FORMULAS else 0.0
    worst = max(limit.excess(curve) for limit in limits)
    return False if worst > doubt else True if worst <= -doubt else None


def read_off(limit: RiskLimit, curve: TradeoffCurve, about: Mapping[str, Any]) -> dict[str, Any]:
    """A limited risk; beside one that is no count of people, the advantage."""
    readings = {"reading": _reading(limit.measure, curve, about)}
    if limit.measure.counted is None:
        readings["advantage"] = _reading(MEASURES["advantage"], curve, about)
    return readings


def _reading(measure: Measure, curve: TradeoffCurve, about: Mapping[str, Any]) -> Reading:
    own = {argument.key: about[argument.key] for argument in measure.arguments}
    return measure.reading(curve, **own)


def attacker_answer(decision: Decision, attacker: Attacker, curve: TradeoffCurve) -> AttackerAnswer:
    """Every risk for which enough is said of the attacker; details where they are limited."""
    about = decision.about(attacker)
    limited = {limit.risk for limit in decision.limits if limit.attacker == attacker.name}
    readings = [
        _reading(measure, curve, about)
        for measure in MEASURES.values()
        if all(argument.key in about for argument in measure.arguments)
        and (measure.key in limited or not measure.detail)
    ]
    return AttackerAnswer(attacker, tuple(readings))


def risk_record(reading: Reading) -> dict[str, Any]:
    """One risk beside its baseline."""
    kept = ("key", "name", "value", "baseline", "gain", "relation", "meaning")
    return {name: getattr(reading, name) for name in kept}
