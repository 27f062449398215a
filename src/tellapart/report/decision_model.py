"""The document of a decision as plain data: a summary, limits, alternatives, evidence, numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tellapart._numeric.text import as_json, short
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.evidence import EvidenceResult
from tellapart.decision.limits import AttackerAnswer, LimitAnswer
from tellapart.drawing.icons import IconArray
from tellapart.drawing.record import Ink
from tellapart.report.model import Made

# Of more people than this a dot stands for several.
_DOTS = 1_000


@dataclass(frozen=True)
class AlternativeRow:
    """What else was considered, with its numbers, and why it was not taken."""

    what: str
    setting: str
    epsilon: str
    kept: str
    why_not: str
    error: str = ""


@dataclass(frozen=True)
class DeploymentRow:
    """A published deployment, or this release among them."""

    name: str
    promise: str
    per: str
    advantage: str
    tpr: str
    ours: bool = False


@dataclass(frozen=True)
class Comparable:
    """Published deployments about the same kind of unit of privacy, and apart from them others."""

    unit: str
    fpr: float
    same: tuple[DeploymentRow, ...]
    other: tuple[str, ...]
    source: str
    caveats: tuple[str, ...]


@dataclass(frozen=True)
class NearbyRow:
    """What a little more or less noise would give."""

    factor: str
    value: str
    epsilon: str
    risks: tuple[str, ...]
    kept: str


@dataclass(frozen=True)
class PeoplePicture:
    """A risk as dots: of so many people, so many without the release and so many with it."""

    attacker: str
    caption: str
    out_of: int
    without: float
    with_output: int
    side: str

    @property
    def each(self) -> float:
        """How many people a dot is."""
        return max(self.out_of / _DOTS, 1.0)

    def panels(self) -> tuple[tuple[str, IconArray], ...]:
        """The picture without the release, and with it."""
        without = f"{short(self.without, 4)} of {self.out_of:,} without the release"
        reached = f"{self.side} {self.with_output:,} of {self.out_of:,} with it"
        return (
            (without, self._dots(without, self.without, Ink.PROMISE)),
            (reached, self._dots(reached, self.with_output, Ink.SECOND)),
        )

    def _dots(self, title: str, marked: float, ink: Ink) -> IconArray:
        return IconArray(title, self.caption, _DOTS, marked / self.each, ink)


@dataclass(frozen=True, kw_only=True)
class DecisionDocument:
    """A decision as a document to sign: what could go wrong, how likely, who decided, and why.

    ``missing`` are the answers that are still to be given: the document is a draft until then.
    ``alerts`` is what a reader must see first: a refuted claim, a broken limit, an overdue review.
    Risks, ε and error are those of what is in use; of the least noise, where nothing is known to
    be ``in_use``. No page is written in the place of its ``sources``.

    >>> from tellapart import decision, report
    >>> document = report.of_decision(decision.parse(decision.template()))
    >>> document.title, document.decided_by
    ('Patients by district, 2026', 'Dr A. Muster, data protection officer')
    """

    headline: str
    title: str
    missing: tuple[str, ...]
    alerts: tuple[str, ...]
    released: str
    data_from: str
    people: int
    population: int | None
    member: str
    unit: str
    neighbours: str
    records: str
    harms: tuple[str, ...]
    limits: tuple[LimitAnswer, ...]
    picture: PeoplePicture | None
    noise: str
    mechanism: str
    setting: str
    in_use: bool
    why: tuple[str, ...]
    kept: str
    least: str
    error: str
    decided_by: str
    decided_on: str
    review_on: str
    attackers: tuple[AttackerAnswer, ...]
    epsilon: str
    delta: str
    delta_rule: str
    scope: str
    certified: str | None
    parameter: str
    sensitivity: tuple[NearbyRow, ...]
    alternatives: tuple[AlternativeRow, ...]
    comparable: Comparable
    assumptions: tuple[str, ...]
    not_covered: tuple[str, ...]
    evidence: tuple[EvidenceResult, ...]
    questions: tuple[str, ...]
    registry: Mapping[str, str]
    nist: Mapping[str, str]
    toml: str
    made: Made
    answer: DecisionAnswer = field(repr=False, compare=False)
    sources: tuple[Path, ...] = field(default=(), repr=False, compare=False)

    def data(self) -> dict[str, Any]:
        """The document as JSON can hold it, with the whole answer."""
        held = {
            part.name: as_json(getattr(self, part.name))
            for part in fields(self)
            if part.name not in ("answer", "sources", "limits", "attackers")
        }
        return {
            **held,
            "limits": as_json([each.data() for each in self.limits]),
            "attackers": as_json([each.data() for each in self.attackers]),
            "answer": as_json(self.answer.data()),
        }
