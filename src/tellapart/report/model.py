"""The privacy report as plain data: the claim, its meaning, what was found, how to check it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tellapart._numeric.text import as_json
from tellapart._shown import Displayed
from tellapart.audit.evidence.base import Finding
from tellapart.audit.level_budget import LevelBudget
from tellapart.audit.summary import AuditSummary, Shown
from tellapart.curve.base import TradeoffCurve
from tellapart.drawing.card import Bar, Card, Cell
from tellapart.drawing.record import Mark
from tellapart.notebook import HEAD, card, roc_of
from tellapart.report.privacy_budget import PrivacyBudget
from tellapart.report.watched_training import WatchedTraining


@dataclass(frozen=True)
class Input:
    """One file that was read, and how many bytes it had."""

    file: str
    bytes: int


@dataclass(frozen=True)
class Made:
    """How to reproduce the report: the command, its inputs, the seed and the versions used."""

    command: str
    inputs: tuple[Input, ...]
    seed: int | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Traced:
    """One curve as points (FPR, TPR), and on which side of the truth it lies."""

    name: str
    side: str  # lower, exact or upper, as Bound has it
    errs: str
    points: tuple[tuple[float, float], ...] = field(repr=False)


@dataclass(frozen=True)
class EpsilonRow(Shown):
    """ε at one δ."""

    delta: float


@dataclass(frozen=True)
class Risk(Shown):
    """A risk with the output (``words``), beside the same without it, and the gain."""

    baseline: float
    without: str
    gain: str


@dataclass(frozen=True)
class Meaning:
    """What a claim lets the best attacker do, for whom that holds, and which side it errs on."""

    mechanism: str | None
    holds: str
    side: str
    errs: str
    certified: str | None
    prior: float
    delta: float  # of most interest
    budgets: tuple[EpsilonRow, ...]  # by δ, the smallest first
    risks: tuple[Risk, ...]
    words: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def epsilon(self) -> EpsilonRow:
        """ε at the δ of most interest."""
        return next(budget for budget in self.budgets if budget.delta == self.delta)


@dataclass(frozen=True)
class Item:
    """One question of the checklist: what is established, what somebody states, or neither.

    ``state`` is "established" for what was computed or tested here, "refuted" where a test spoke
    against it, "stated" where only words stand behind it, and "open".
    """

    key: str
    layer: str
    question: str
    established: str | None
    stated: tuple[str, ...]
    state: str


@dataclass(frozen=True, kw_only=True)
class Report(Displayed):
    """What is claimed and what it means, what an audit says of it, and under which assumptions.

    ``title`` is what people call it, or the mechanism in words; empty where an audit was not named.
    ``unit`` is what is protected and ``neighbours`` which data sets must look alike, where
    anybody said so. ``refuted`` is None where no claim was judged, or where no
    outcome could have refuted it; what belongs to evidence alone
    is empty where there is none. ``curves`` holds (FPR, TPR) points, each curve with its side.

    >>> import tellapart as ta
    >>> from tellapart import report
    >>> filed = report.of(ta.Laplace(1), unit="one patient")
    >>> filed.unit, filed.refuted
    ('one patient', None)
    """

    headline: str
    title: str = ""
    reasons: tuple[str, ...]
    refuted: bool | None = None
    claim: str | None = None
    unit: str | None = None
    neighbours: str | None = None
    meaning: Meaning | None = None
    design: str | None = None
    sample: str | None = None  # what one score, or one output, is of
    members: int | None = None
    non_members: int | None = None
    calls: int | None = None  # on each input, where a mechanism was called
    confidence: float | None = None
    method: str | None = None
    shown: tuple[Shown, ...] = ()
    finding: Finding | None = None
    ledger: LevelBudget | None = None
    power: str | None = None
    detectable: float | None = None
    samples_needed: float | None = None
    assumptions: tuple[str, ...] = ()
    privacy_budget: PrivacyBudget | None = None  # where the claim is that of a ledger
    watched: WatchedTraining | None = None  # both parts, where a training was watched
    checklist: tuple[Item, ...] = ()
    curves: Mapping[str, Traced] = field(repr=False)
    made: Made
    # What it was made from, for a picture; not part of its data.
    summary: AuditSummary | None = field(default=None, repr=False, compare=False)
    traced: Mapping[str, TradeoffCurve] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Report({self.headline})"

    @property
    def bayesian(self) -> bool:
        """Whether all it shows depends on a prior, so that no error rate is bounded."""
        return self.summary is not None and self.summary.bayesian

    @property
    def samples(self) -> str:
        """What an audit looked at: scores, outputs, guesses or steps."""
        if self.watched is not None:
            return "steps"
        return "scores" if self.summary is None else self.summary.samples

    @property
    def counted(self) -> str:
        """How many samples there were, in words; nothing where nobody said."""
        if self.watched is not None:
            return self.watched.counted
        return "" if self.summary is None else self.summary.counted

    def data(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        names = (part.name for part in fields(self))
        return {
            name: as_json(getattr(self, name))
            for name in names
            if name not in ("summary", "traced")
        }


# As many numbers as a card has room for.
_MOST = 6


def _row(shown: Shown) -> tuple[str | Cell | Bar, ...]:
    without = (Cell(shown.without, quiet=True),) if isinstance(shown, Risk) else ()
    return shown.what, Cell(shown.words, strong=True), *without


@card.register
def _(report: Report) -> Card:
    meaning = report.meaning
    numbers = report.shown or (() if meaning is None else (meaning.epsilon, *meaning.risks))
    head = (HEAD,) if any(isinstance(shown, Risk) for shown in numbers) else ()
    rows = (*head, *map(_row, numbers[:_MOST]))
    about = " · ".join(
        f"{name}: {value}"
        for name, value in (("unit", report.unit), ("neighbours", report.neighbours))
        if value is not None
    )
    return Card(
        report.headline,
        rows,
        roc_of(report.traced) if report.traced else None,
        tuple(filter(None, (about, "the whole: report.write(report, path)"))),
        Mark.BAD if report.refuted else Mark.PLAIN,
    )
