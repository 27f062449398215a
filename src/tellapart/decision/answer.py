"""The answer to a decision as a record: what to configure, and what is left to each attacker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tellapart._numeric.text import short
from tellapart.choose.calibrate import Choice
from tellapart.choose.named_limits import Setting, configured
from tellapart.choose.utility import AnswerError, UtilityLimit
from tellapart.curve.base import TradeoffCurve
from tellapart.decision.alternatives import AlternativeAnswer, Nearby
from tellapart.decision.correlation import correlated
from tellapart.decision.evidence import EvidenceResult
from tellapart.decision.limits import AttackerAnswer, LimitAnswer, attacker_answer, read_off
from tellapart.decision.record import Decision, naming
from tellapart.decision.utility_limits import accuracy_of, release_error
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.mechanisms.subject import Subject, curve_of, sampling_assumption, scope

if TYPE_CHECKING:
    from tellapart.decision.checking import Check


@dataclass(frozen=True)
class DecisionAnswer:
    """What to configure so that no attacker exceeds a limit, and what is left to each of them.

    ``value`` is that of ``parameter``, rounded conservatively; ``epsilon`` is for the unit of
    privacy, all its records together, at ``delta``. ``doubt`` says why a composition's numbers are
    not certified, where they are not. ``error`` is how far off the release is, where that is known,
    ``accuracy`` the limit on it, and ``clashes`` the limits that ask for more noise than it allows;
    ``unjudged`` says why that is not known. ``evidence`` is None where nobody said its folder.
    """

    decision: Decision
    parameter: str
    value: float
    setting: Setting
    delta: float
    epsilon: float
    limits: tuple[LimitAnswer, ...]
    attackers: tuple[AttackerAnswer, ...]
    sensitivity: tuple[Nearby, ...]
    alternatives: tuple[AlternativeAnswer, ...]
    any_mechanism: float | None
    choice: Choice
    doubt: str
    subject: Subject
    family: NamedFamily
    error: AnswerError | None = None
    accuracy: UtilityLimit | None = None
    clashes: tuple[LimitAnswer, ...] = ()
    unjudged: str = ""
    evidence: tuple[EvidenceResult, ...] | None = ()

    @property
    def feasible(self) -> bool:
        """Whether the answer is accurate enough, too: no limit clashes with the utility."""
        return not self.clashes

    @property
    def asks(self) -> str:
        """What the limits ask for: the parameter that ``configured`` is of, then its noise."""
        if not self.setting.by:
            return str(self.setting)
        step = " a step" if self.family.composed else ""
        return f"{self.parameter} = {short(self.value, 10)}{step} ({self.setting})"

    @property
    def in_use(self) -> float:
        """The configured value; where none is given, the one that the limits ask for."""
        configured = self.decision.mechanism.configured
        return self.value if configured is None else configured

    @property
    def binding(self) -> LimitAnswer | None:
        """The limit that the next less private value breaks; None where none does."""
        return next((limit for limit in self.limits if limit.binding), None)

    @cached_property
    def curve(self) -> TradeoffCurve:
        """What is left to an attacker on one unit of privacy."""
        return curve_of(self.subject)

    @property
    def scope(self) -> str:
        """Whether the numbers are for this mechanism or for all with a guarantee."""
        if self.correlation:
            return f"for values of one record, where the model is right: {self.correlation}"
        return scope(self.subject)

    @cached_property
    def correlation(self) -> str:
        """How the records of one person are correlated, in words; empty where nobody says."""
        stated = self.decision.correlation
        return "" if stated is None else str(correlated(stated))

    @property
    def sampling(self) -> str:
        """How batches must be drawn for the numbers to hold; empty where none are."""
        return sampling_assumption(self.subject)

    def data(self) -> dict[str, Any]:
        """The answer as JSON can hold it, with the decision that it answers."""
        return {
            "decision": _plain(self.decision.data()),
            "mechanism": str(self.decision.mechanism),
            "parameter": self.parameter,
            "value": self.value,
            "configure": dict(self.setting.values),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "unrounded": self.choice.parameter,
            "rounded": "up" if self.family.grows_private else "down",
            "scope": self.scope,
            "certified": self.choice.certified,
            "feasible": self.feasible,
            "error": None if self.error is None else vars(self.error),
            "clashes": [each.place for each in self.clashes],
            "unjudged": self.unjudged,
            "evidence": None if self.evidence is None else [*map(_told, self.evidence)],
            "doubt": self.doubt,
            "any_mechanism": self.any_mechanism,
            "binding": None if self.binding is None else self.binding.place,
            "limits": [each.data() for each in self.limits],
            "attackers": [each.data() for each in self.attackers],
            "sensitivity": [vars(near) for near in self.sensitivity],
            "alternatives": [
                {
                    **vars(other),
                    "alternative": vars(other.alternative),
                    "error": None if other.error is None else vars(other.error),
                }
                for other in self.alternatives
            ],
        }

    def at(self, value: float) -> DecisionAnswer:
        """What another value leaves to every attacker, such as the one in use: risks, ε, error.

        Which limit is binding, and what each would ask alone, stay those of the least value.
        """
        decision = self.decision
        with naming("mechanism", {}):
            subject = self.family.make(value)
            setting = configured(decision.family(), value)
        curve = curve_of(subject)
        error, unjudged = release_error(decision, value)
        return replace(
            self,
            value=value,
            setting=setting,
            epsilon=float(curve.epsilon(self.delta)),
            limits=tuple(
                replace(each, **read_off(each.limit, curve, each.about)) for each in self.limits
            ),
            attackers=tuple(attacker_answer(decision, each, curve) for each in decision.attackers),
            subject=subject,
            error=error,
            accuracy=accuracy_of(decision, value),
            unjudged=unjudged,
        )

    def check(self, today: date) -> Check:
        """Whether what is configured keeps the limits, and nothing else speaks against it."""
        from tellapart.decision.checking import checked

        return checked(self, today)

    def __str__(self) -> str:
        bound = "none" if self.binding is None else self.binding
        return f"{self.asks} (binding constraint: {bound})"


def _told(result: EvidenceResult) -> dict[str, Any]:
    """One piece of evidence, without the points of its curve."""
    return {key: value for key, value in vars(result).items() if key != "curve"}


def _plain(value: Any) -> Any:
    """The tables of a file with their dates as text."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value
