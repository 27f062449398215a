"""Bonferroni: several pieces of evidence read as one, whose levels add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from tellapart import _checks
from tellapart.audit.bounds import Basis, LowerBound
from tellapart.audit.evidence.base import Design, Evidence, Finding, Power, strongest
from tellapart.audit.level_budget import Entry, LevelBudget
from tellapart.curve.atomic import AtomicCurve, from_corners
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.errors import Unsupported
from tellapart.mechanisms.subject import Subject
from tellapart.neighbours import Neighbours


@dataclass(frozen=True, repr=False)
class JointEvidence(Evidence):
    """What several audits show together, at the sum of their levels."""

    parts: Mapping[str, Evidence]
    ledger: LevelBudget
    design: Design
    method: str
    can_refute: bool = True
    neighbours: Neighbours | None = None  # of those parts that know theirs

    @property
    def assumptions(self) -> tuple[str, ...]:  # type: ignore[override]
        """What any of them takes on trust."""
        return tuple(dict.fromkeys(s for part in self.parts.values() for s in part.assumptions))

    @property
    def about(self) -> str:  # type: ignore[override]
        """What they speak of, where that is less than the whole mechanism."""
        return " ".join(dict.fromkeys(p.about for p in self.parts.values() if p.about))

    @property
    def mechanism_alone(self) -> bool:  # type: ignore[override]
        """Whether any of them speaks of the stated mechanism alone."""
        return any(part.mechanism_alone for part in self.parts.values())

    def advice(self, claim: TradeoffCurve) -> str:
        """What would test the claim more sharply, in the words of all of them."""
        said = (part.advice(claim) for part in self.parts.values())
        return " ".join(dict.fromkeys(words for words in said if words))

    def telling(self, delta: float = 0.0) -> str:
        """The event of the part that shows most."""
        name, part = max(self.parts.items(), key=lambda item: item[1]._epsilon(delta)[0])
        return f"{name}: {words}" if (words := part.telling(delta)) else ""

    def _epsilon(self, delta: float) -> tuple[float, Basis]:
        return max((part._epsilon(delta) for part in self.parts.values()), key=itemgetter(0))

    def _delta(self, epsilon: float) -> tuple[float, Basis]:
        return max((part._delta(epsilon) for part in self.parts.values()), key=itemgetter(0))

    def _mu(self) -> tuple[float, Basis]:
        return max((part._mu() for part in self.parts.values()), key=itemgetter(0))

    def _finding(self, claim: TradeoffCurve) -> Finding | None:
        return strongest(
            replace(finding, where=f"{name}: {finding.where}")
            for name, part in self.parts.items()
            if (finding := part._finding(claim)) is not None
        )

    def held_against(self, claim: TradeoffCurve) -> TradeoffCurve:
        if self.neighbours is not None:
            return super().held_against(claim)
        return next(iter(self.parts.values())).held_against(claim)  # all have one design

    def own_bounds(self) -> tuple[tuple[str, LowerBound], ...]:
        return tuple(
            (f"{name}: {what}", bound)
            for name, part in self.parts.items()
            for what, bound in part.own_bounds()
        )

    def _curve(self) -> AtomicCurve:
        corners = [part._curve() for part in self.parts.values()]
        if not all(isinstance(corner, AtomicCurve) for corner in corners):
            raise Unsupported("these audits show no common curve; ask each of them")
        each = [corner.vertices() for corner in corners if isinstance(corner, AtomicCurve)]
        fpr, fnr = (np.concatenate(side) for side in zip(*each, strict=True))
        return from_corners(fpr, 1 - fnr, fnr, 1 - fpr, bound=Bound.UPPER)

    def _power(self, claim: TradeoffCurve) -> Power:
        each = [part._power(claim) for part in self.parts.values()]
        return lambda truth: max(power(truth) for power in each)

    def at_best(self) -> JointEvidence:
        return replace(self, parts={name: part.at_best() for name, part in self.parts.items()})

    def could_refute(self, claim: Subject) -> bool:
        return self.can_refute and any(part.could_refute(claim) for part in self.parts.values())

    def scaled(self, factor: float) -> JointEvidence:
        return replace(self, parts={name: part.scaled(factor) for name, part in self.parts.items()})

    def at_level(self, level: float) -> JointEvidence:
        factor = level / self.ledger.level
        parts = {
            name: part.at_level(part.ledger.level * factor) for name, part in self.parts.items()
        }
        return replace(self, parts=parts, ledger=self.ledger.at_level(level))


def together(parts: Mapping[str, Evidence]) -> JointEvidence:
    """Read several audits of one mechanism as one: their levels add up.

    The way to use more than one method, attack or data set: the family-wise confidence is stated
    for all of them at once.

    >>> from tellapart import audit
    >>> counts = audit.Counts(true_positives=90, members=100, false_positives=0, non_members=100)
    >>> each = audit.from_counts(counts, confidence=0.975)
    >>> print(together({"by loss": each, "by gradient": each}).epsilon_lower())
    ≥ 3.0419 (95 % confidence, exact, 2 audits together: one fixed threshold)
    """
    if not isinstance(parts, Mapping) or not parts:
        _checks.refuse("parts", 'map names to evidence, as {"loss attack": evidence} does', parts)
    for name, part in parts.items():
        if not isinstance(part, Evidence):
            _checks.refuse(f"parts[{name!r}]", "be evidence", part)
    level = sum(part.ledger.level for part in parts.values())
    if level >= 1:
        _checks.refuse("parts", "spend less than 1 of confidence together", level)
    entries = tuple(
        Entry(f"{name}: {entry.what}", entry.looks, entry.level)
        for name, part in parts.items()
        for entry in part.ledger.entries
    )
    free = dict.fromkeys(words for part in parts.values() for words in part.ledger.free)
    designs = {part.design for part in parts.values()}
    if len(designs) > 1:
        _checks.refuse("parts", "have one design", [str(design) for design in designs])
    proofs = {part.can_refute for part in parts.values()}
    if len(proofs) > 1:
        beliefs = [name for name, part in parts.items() if not part.can_refute]
        _checks.refuse(
            "parts", "all be tests or all be Bayesian bounds, which have no error rate", beliefs
        )
    relations = {part.neighbours for part in parts.values()} - {None}
    if len(relations) > 1:
        compared = [f"{name}: {part.neighbours}" for name, part in parts.items()]
        _checks.refuse("parts", "compare the same neighbours", compared)
    names = ", ".join(dict.fromkeys(part.method for part in parts.values()))
    return JointEvidence(
        dict(parts),
        LevelBudget(level, entries, tuple(free)),
        designs.pop(),
        f"{len(parts)} audits together: {names}",
        proofs.pop(),
        next(iter(relations), None),
    )
