"""Evidence: what audits and probes of the code came to, read from the files that they wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from tellapart import _checks
from tellapart.data import sources
from tellapart.decision.record import Decision, EvidenceFile
from tellapart.errors import InvalidArgument


@dataclass(frozen=True)
class EvidenceResult:
    """What an audit or a probe of the code came to, as its own report has it.

    ``curve`` has points (FPR, TPR) of the claim that was judged; none where none is there.
    """

    file: str
    what: str
    headline: str
    reasons: tuple[str, ...]
    claim: str
    design: str
    refuted: bool | None
    command: str
    curve: tuple[tuple[float, float], ...] = ()

    def __str__(self) -> str:
        return f"{self.headline} ({self.file})"


def results(decision: Decision, folder: str | PathLike[str]) -> tuple[EvidenceResult, ...]:
    """What every file of evidence says, each by its path from this folder."""
    named = zip(decision.evidence, decision.evidence_paths(folder), strict=True)
    return tuple(_result(place, *each) for place, each in enumerate(named, 1))


def _result(place: int, entry: EvidenceFile, file: Path) -> EvidenceResult:
    """What an audit's own report says; anything else is refused by its place in the file."""
    path = f"evidence[{place}].file"
    try:
        held = json.loads(sources.text(file))
    except FileNotFoundError as error:
        raise InvalidArgument(
            f"{path} must be a file that exists, beside the decision file, got {entry.file!r}"
        ) from error
    except (ValueError, RecursionError):
        held = None
    if not _is_audit(held):
        _checks.refuse(
            path, "be the JSON that tellapart audit or probe wrote by --report", entry.file
        )
    return EvidenceResult(
        entry.file,
        entry.what or "",
        held["headline"],
        tuple(map(str, held["reasons"])),
        str(held.get("claim") or ""),
        held["design"],
        held["refuted"],
        str(held["made"].get("command") or ""),
        _points(held),
    )


def _is_audit(held: Any) -> bool:
    """Whether it is a report of something that was tested, rather than of a claim alone."""
    return (
        isinstance(held, dict)
        and {"headline", "reasons", "refuted", "design", "made"} <= held.keys()
        and isinstance(held["headline"], str)
        and isinstance(held["reasons"], list)
        and (held["refuted"] is None or isinstance(held["refuted"], bool))
        and isinstance(held["design"], str)
        and isinstance(held["made"], dict)
    )


def _points(held: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    try:
        points = held["curves"]["claim"]["points"]
        return tuple((float(fpr), float(tpr)) for fpr, tpr in points)
    except (KeyError, TypeError, ValueError):
        return ()
