"""Alternatives and sensitivity analysis: other mechanisms, and a little more or less noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tellapart.choose.limit import Limit
from tellapart.choose.named_limits import chosen, configured
from tellapart.choose.utility import AnswerError
from tellapart.decision.correlation import correlated, unit_family
from tellapart.decision.limits import judged
from tellapart.decision.record import Alternative, Decision
from tellapart.decision.unit import described
from tellapart.decision.utility_limits import asked_error
from tellapart.errors import InvalidArgument, NotCertified, TellapartError
from tellapart.mechanisms.catalogue import NamedFamily, terms
from tellapart.mechanisms.subject import Subject, curve_of

# The factors of the sensitivity analysis.
AROUND = (0.9, 1.0, 1.1)


@dataclass(frozen=True)
class Nearby:
    """What another value of the parameter would give: ε, and every limited risk in order."""

    factor: float
    value: float
    epsilon: float
    risks: tuple[float, ...]
    kept: bool


@dataclass(frozen=True)
class AlternativeAnswer:
    """An alternative under the same limits: what to configure, its ε and whether it keeps them.

    ``problem`` says why there is no answer, where there is none; ``error`` is how far off the
    statistic is with it, where utility asks for one and that is known.
    """

    alternative: Alternative
    setting: str
    epsilon: float | None
    risks: tuple[float, ...]
    kept: bool | None
    problem: str = ""
    error: AnswerError | None = None

    @property
    def verdict(self) -> str:
        """Whether it keeps the limits on risks, in words."""
        if self.kept is None:
            return "is too near to a limit to tell"
        return "keeps every limit" if self.kept else "breaks a limit"


def around(
    decision: Decision, family: NamedFamily, limits: Sequence[Limit], value: float
) -> Iterator[Nearby]:
    """Sensitivity analysis: ε and risks with a tenth less noise, as chosen, and a tenth more."""
    for factor in AROUND:
        moved = value * factor if family.grows_private else value / factor
        moved = max(1.0, float(round(moved))) if family.whole else moved
        with suppress(InvalidArgument, NotCertified):  # as where it has no member there
            curve = curve_of(family.make(moved))
            risks = tuple(limit.value(curve) for limit in limits)
            kept = factor >= 1 or judged(limits, curve) is True
            yield Nearby(factor, moved, float(curve.epsilon(decision.delta)), risks, kept)


def alternative_answer(
    decision: Decision, limits: Sequence[Limit], alternative: Alternative
) -> AlternativeAnswer:
    """What an alternative gives under the same limits; in full, or with a parameter to choose."""
    try:
        setting, subject, error = _considered(decision, limits, alternative.mechanism)
        curve = curve_of(subject)
        risks = tuple(limit.value(curve) for limit in limits)
        kept = judged(limits, curve)
        epsilon = float(curve.epsilon(decision.delta))
    except TellapartError as problem:
        return AlternativeAnswer(alternative, "", None, (), None, str(problem))
    return AlternativeAnswer(alternative, setting, epsilon, risks, kept, error=error)


def _considered(
    decision: Decision, limits: Sequence[Limit], spec: str
) -> tuple[str, Subject, AnswerError | None]:
    privacy, (first, *_) = decision.privacy, terms(spec)
    made = described(spec, privacy.neighbours, privacy.group)
    if not isinstance(made, NamedFamily):
        alone = described(spec, privacy.neighbours, 1)
        if decision.correlation is not None:
            made = correlated(decision.correlation).faced(made)
        return spec, made, asked_error(decision, alone, first.values)
    unit = unit_family(decision, made)
    choice, _ = chosen(unit, limits, certify=False)
    numbers = {**first.values, made.parameter: choice.short}
    error = asked_error(decision, made.make(choice.short), numbers)
    return f"{made.name}: {configured(made, choice.short)}", unit.make(choice.short), error
