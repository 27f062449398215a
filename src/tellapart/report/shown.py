"""What evidence shows, as rows and sentences of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from tellapart._numeric.text import fixed
from tellapart.audit.bounds import LowerBound
from tellapart.audit.evidence.base import Design, Evidence
from tellapart.audit.scores import Orientation, Scores
from tellapart.audit.verdict import Verdict
from tellapart.errors import NotCertified, Unsupported
from tellapart.report.designs import CALLS, DESIGNS, NAMES, RUNS_CHECKED, RUNS_ON_TRUST
from tellapart.report.model import Shown

# The δ at which ε is always told, besides the claim's own.
DELTAS = (0.0, 1e-6, 1e-5, 1e-3)


def common(evidence: Evidence, scores: Scores | None) -> dict[str, Any]:
    """What every report of evidence says, whatever is claimed."""
    design = NAMES[evidence.design]
    words = CALLS if evidence.design is Design.CALLS else DESIGNS[design]
    trust = words.assumptions
    if scores is not None and design == "many-runs":
        known = scores.independent is not None
        trust = (*trust, RUNS_CHECKED if known else RUNS_ON_TRUST)
    return {
        "design": design,
        "sample": words.sample,
        "members": None if scores is None else scores.members.count,
        "others": None if scores is None else scores.others.count,
        "calls": evidence.calls,
        "confidence": evidence.confidence,
        "method": evidence.method,
        "ledger": evidence.ledger,
        "assumptions": trust,
    }


def power(verdict: Verdict) -> tuple[str | None, float | None]:
    """What would have been found; nothing where the evidence cannot say."""
    if not verdict.evidence.can_refute:
        return None, None
    with suppress(Unsupported):
        return verdict.power, verdict.detectable
    return None, None


def needed(verdict: Verdict) -> float | None:
    """How many times the samples would decide; None where the evidence cannot say."""
    try:
        return verdict.samples_needed
    except (Unsupported, NotCertified):
        return None


def against(scores: Scores | None) -> tuple[str, ...]:
    """A word to those whose scores may point the other way."""
    if scores is None or scores.orientation is Orientation.EITHER:
        return ()
    members, others = scores.sides
    beyond = int(members.above(float(others.descending((others.count + 1) // 2)))) / members.count
    # Three deviations: chance alone rarely says so.
    if beyond > 0.5 - 1.5 * math.sqrt(1 / members.count + 1 / others.count):
        return ()
    told = scores.orientation.value
    found = "lower" if scores.orientation is Orientation.HIGHER else "higher"
    return (
        f"Orientation: {told} scores were to speak for membership, but members mostly score "
        f"{found} than others. If that was a slip, correct it; if it is a surprise, draw new "
        "scores.",
    )


def bounds(evidence: Evidence, deltas: Iterable[float]) -> tuple[Shown, ...]:
    """The least ε at each δ, and the least μ, where the evidence speaks of them."""
    rows = []
    for delta in sorted(deltas):
        with suppress(Unsupported):  # some evidence speaks of one δ alone
            rows.append(_row(f"ε at δ = {delta:g}", evidence.epsilon_lower(delta)))
    with suppress(Unsupported):  # and some of (ε, δ) alone
        rows.append(_row("μ of Gaussian DP", evidence.mu_lower()))
    return tuple(rows)


def besides(evidence: Evidence, deltas: Sequence[float]) -> tuple[str, ...]:
    """The least ε at further δ that someone asked for, in sentences."""
    rows = bounds(evidence, deltas) if deltas else ()
    return tuple(f"Also shown: {one.what} {one.words}." for one in rows if "δ" in one.what)


def _row(what: str, bound: LowerBound) -> Shown:
    basis = bound.basis.value
    if bound.false_claims is not None:
        basis += f", overclaims in {100 * bound.false_claims:.2g} % of audits"
    return Shown(what, bound.value, f"≥ {fixed(bound.value, up=False)}", basis)
