"""A report: everything an audit found and everything needed to check it, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from tellapart.audit._metrics import Metrics
from tellapart.audit.evidence import Evidence, Finding
from tellapart.audit.ledger import Ledger
from tellapart.audit.verdict import Verdict

Found = Verdict | Evidence | Metrics


@dataclass(frozen=True)
class Shown:
    """One number the samples show, with the side it errs on in words."""

    what: str
    value: float
    words: str
    basis: str


@dataclass(frozen=True)
class Input:
    """One file of scores, and how many bytes it had when it was read."""

    file: str
    bytes: int


@dataclass(frozen=True)
class Made:
    """How to make the report again: the command, its inputs, the seed and the versions used."""

    command: str
    inputs: tuple[Input, ...]
    seed: int | None
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Report:
    """What an audit says of a claim, what that rests on, and how it was computed.

    ``refuted`` is None where no claim was judged. ``curves`` holds (FPR, TPR) points of the claim,
    which no attacker exceeds if it is true, and of the evidence, which some attacker reaches.
    """

    headline: str
    reasons: tuple[str, ...]
    refuted: bool | None
    claim: str | None
    design: str
    unit: str
    members: int | None
    others: int | None
    calls: int | None  # on each input, where a mechanism was called
    confidence: float | None
    method: str | None
    shown: tuple[Shown, ...]
    finding: Finding | None
    ledger: Ledger | None
    power: str | None
    detectable: float | None
    samples_needed: float | None
    assumptions: tuple[str, ...]
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(repr=False)
    made: Made
    # What it was made from, for a picture; not part of its data.
    found: Found = field(repr=False, compare=False)

    @property
    def bayesian(self) -> bool:
        """Whether all it shows rests on a prior, so that no chance of a false claim was spent."""
        evidence = self.found.evidence if isinstance(self.found, Verdict) else self.found
        return isinstance(evidence, Evidence) and not evidence.can_refute

    @property
    def counted(self) -> str:
        """How many samples there were, in words; nothing where nobody said."""
        if self.calls is not None:
            return f"{self.calls:,} calls on each input"
        if self.members is None or self.others is None:
            return ""
        return f"{self.members:,} members and {self.others:,} others"

    def data(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        kept = (one.name for one in fields(self) if one.name != "found")
        return {name: plain(getattr(self, name)) for name in kept}


def plain(value: Any) -> Any:
    """A value as JSON can hold it; JSON has no infinity, so that is written as a word."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "__dataclass_fields__"):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value
