"""The answer to a decision: the noise that keeps the limits of every attacker at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from tellapart._numeric.text import fixed, short
from tellapart.choose.calibrate import Choice, beside
from tellapart.choose.limit import FORMULAS, Limit
from tellapart.choose.named_limits import (
    Setting,
    chosen,
    configured,
    for_any_mechanism,
    unbound,
)
from tellapart.choose.search import at_baseline
from tellapart.choose.utility import (
    AnswerError,
    UtilityLimit,
    answer_error,
    error_at_most,
    noise_error,
)
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.decision.correlation import correlated
from tellapart.decision.evidence import EvidenceResult, results
from tellapart.decision.record import (
    Alternative,
    Attacker,
    Decision,
    RiskLimit,
    naming,
)
from tellapart.decision.unit import described, faced
from tellapart.errors import Infeasible, InvalidArgument, NotCertified, TellapartError, Unsupported
from tellapart.mechanisms.catalogue import NamedFamily, terms
from tellapart.mechanisms.subject import Subject, curve_of, sampling_assumption, scope
from tellapart.risk.catalogue import MEASURES, Measure, Reading, stated
from tellapart.risk.sentences import CountedRisk, counted

if TYPE_CHECKING:
    from tellapart.decision.consistency import Question

# Sensitivity analysis: with a tenth less noise, as chosen, and with a tenth more.
AROUND = (0.9, 1.0, 1.1)


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
            **_read(self.reading),
        }

    def __str__(self) -> str:
        return f"{self.attacker}, {self.words}"


@dataclass(frozen=True)
class Nearby:
    """What another value of the parameter would give: ε, and every limited risk in order."""

    factor: float
    value: float
    epsilon: float
    risks: tuple[float, ...]
    kept: bool


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
        return {"name": self.attacker.name, "risks": [*map(_read, self.readings)]}


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


@dataclass(frozen=True)
class Answer:
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

    def at(self, value: float) -> Answer:
        """What another value leaves to every attacker, such as the one in use: risks, ε, error.

        Which limit is binding, and what each would ask alone, stay those of the least value.
        """
        decision = self.decision
        with naming("mechanism", {}):
            subject = self.family.make(value)
            setting = configured(decision.family(), value)
        curve = curve_of(subject)
        error, unjudged = _error(decision, value)
        return replace(
            self,
            value=value,
            setting=setting,
            epsilon=float(curve.epsilon(self.delta)),
            limits=tuple(
                replace(each, **_read_off(each.limit, curve, each.about)) for each in self.limits
            ),
            attackers=tuple(_attacker(decision, each, curve) for each in decision.attackers),
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


@dataclass(frozen=True)
class Check:
    """Whether a decision still stands: ``kept`` is None where nobody can say.

    ``broken`` says what speaks against it, a broken limit, an overdue review or a refuted claim;
    ``undecided`` what keeps it from being judged, ``questions`` that are open among it; ``limits``
    are those that are broken, and ``missing`` the keys that nobody has answered.
    """

    kept: bool | None
    overdue: bool
    broken: tuple[str, ...]
    undecided: tuple[str, ...]
    questions: tuple[Question, ...] = ()
    limits: tuple[LimitAnswer, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """All of it, what is wrong first."""
        return (*self.broken, *self.undecided)

    @property
    def stands(self) -> bool | None:
        """False where something speaks against it; None where nobody can say."""
        return False if self.broken else None if self.undecided else True


def _read(reading: Reading) -> dict[str, Any]:
    """One risk beside its baseline."""
    kept = ("key", "name", "value", "baseline", "gain", "relation", "meaning")
    return {name: getattr(reading, name) for name in kept}


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


def in_words(limit: Limit) -> str:
    """A limit in the words of the catalogue."""
    return stated(limit.label, f"{'≥' if limit.least else '≤'} {short(limit.bound)}")


def answer(
    decision: Decision, certify: bool = True, folder: str | PathLike[str] | None = None
) -> Answer:
    """The least private value that keeps every limit, each for its own attacker."""
    unread = decision.evidence and folder is None
    evidence = None if unread else results(decision, folder or ".")
    limits = decision.asked()
    family = _faced(decision, decision.family())
    choice, doubt = _chosen(decision, family, limits, certify)
    value = choice.short
    subject = family.make(value)
    curve = curve_of(subject)
    kept = _limits(decision, family, limits, choice, curve)
    error, unjudged = _error(decision, value)
    return Answer(
        decision,
        family.parameter,
        value,
        configured(decision.family(), value),
        decision.delta,
        float(curve.epsilon(decision.delta)),
        kept,
        tuple(_attacker(decision, attacker, curve) for attacker in decision.attackers),
        tuple(_around(decision, family, limits, value)),
        tuple(_alternative(decision, limits, each) for each in decision.alternatives),
        # Of another mechanism with the same ε nobody knows what correlated records give away.
        None if decision.correlation else for_any_mechanism(family, limits, decision.delta),
        choice,
        doubt,
        subject,
        family,
        error,
        accuracy_of(decision, value),
        () if error is None else _clashes(decision, kept, value),
        unjudged,
        evidence,
    )


def _faced(decision: Decision, family: NamedFamily) -> NamedFamily:
    """The family as the unit of privacy faces it: its records together, or as they correlate."""
    if decision.correlation is not None:
        return correlated(decision.correlation).family(family)
    return faced(family, decision.privacy.relation, decision.privacy.group)


# -- how far off the release is -------------------------------------------------------------


def _numbers(decision: Decision, value: float) -> dict[str, Any]:
    """What is fixed of the mechanism, with this value of the parameter to choose."""
    return {**decision.mechanism.fixed, decision.mechanism.choose: value}


def _about(decision: Decision, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """What the error of an answer takes beside the mechanism."""
    utility = decision.utility
    asked = () if utility is None else (utility.cells, utility.candidates, utility.clipping_norm)
    names = ("cells", "candidates", "clipping_norm")
    about = {name: value for name, value in zip(names, asked, strict=False) if value is not None}
    batch = (None if utility is None else utility.batch_size) or numbers.get("batch_size")
    return {**about, "people": decision.release.people, "batch_size": batch}


def _error(decision: Decision, value: float) -> tuple[AnswerError | None, str]:
    """How far off the release is, all of the statistic; or why a limit on that is not judged."""
    mechanism, utility = decision.family().make(value), decision.utility
    if utility is None or utility.statistic is None:
        return noise_error(mechanism), ""
    about = _about(decision, _numbers(decision, value))
    try:
        with naming("utility", dict.fromkeys((*about, "cells"))):
            return answer_error(mechanism, utility.statistic, **about), ""
    except Unsupported as unknown:
        return None, "" if utility.at_most is None else str(unknown)


def accuracy_of(decision: Decision, value: float) -> UtilityLimit | None:
    """The limit on the error of the release, where there is one and with this value."""
    utility = decision.utility
    if utility is None or utility.statistic is None or utility.at_most is None:
        return None
    about = _about(decision, _numbers(decision, value))
    return error_at_most(utility.at_most, utility.statistic, **about)


def _clashes(
    decision: Decision, limits: Sequence[LimitAnswer], value: float
) -> tuple[LimitAnswer, ...]:
    """The limits that ask, each alone, for more noise than the utility allows."""

    def inaccurate(value: float) -> bool:
        accuracy = accuracy_of(decision, value)
        return accuracy is not None and not accuracy.kept(decision.family().make(value))

    if not inaccurate(value):
        return ()
    return tuple(
        limit
        for limit in limits
        if limit.binding or (limit.alone is not None and inaccurate(limit.alone))
    )


def judged(limits: Sequence[Limit], curve: TradeoffCurve) -> bool | None:
    """Whether a curve keeps the limits; None where its digits do not tell."""
    doubt = curve._accuracy if curve._accuracy > FORMULAS else 0.0
    worst = max(limit.excess(curve) for limit in limits)
    return False if worst > doubt else True if worst <= -doubt else None


# -- the choice, and why there is none ------------------------------------------------------


def _chosen(
    decision: Decision, family: NamedFamily, limits: Sequence[Limit], certify: bool
) -> tuple[Choice, str]:
    with naming("mechanism", decision.mechanism.fixed):
        try:
            choice, doubt = chosen(family, limits, certify)
        except Infeasible as refusal:
            raise _clash(decision, family, limits, refusal) from refusal
        except NotCertified as doubtful:
            raise _unsolved(decision, family, doubtful) from doubtful
    if unbound(choice):
        raise InvalidArgument(
            f"[[limit]] must leave something to choose: every {family.parameter} of "
            f"{decision.mechanism} keeps all of them; accept less"
        )
    return choice, doubt


def _unsolved(decision: Decision, family: NamedFamily, doubt: NotCertified) -> NotCertified:
    """Why nobody knows which values keep the limits: not that none does."""
    why = str(doubt).partition(";")[0].removeprefix("cannot solve for the parameter: ")
    return NotCertified(
        f'mechanism.choose = "{family.parameter}" cannot be solved for with {_held(decision)}: '
        f"{why}; fix it, and choose another parameter"
    )


def _clash(
    decision: Decision, family: NamedFamily, limits: Sequence[Limit], refusal: Infeasible
) -> Infeasible:
    """Why no value keeps the limits: one lies below its baseline, or clashes with what is fixed."""
    said = []
    for place, limit in enumerate(limits, 1):
        name = f"limit[{place}] ({decision.limits[place - 1].attacker}: {in_words(limit)})"
        if at_baseline(limit.excess(nothing())):
            had = fixed(limit.value(nothing()), not limit.least)
            side = "above" if limit.least else "below"
            said.append(
                f"{name} lies at or {side} its own baseline: without the output it is {had} "
                f"already; accept {'less' if limit.least else 'more'} than that"
            )
            continue
        try:
            with suppress(NotCertified):
                chosen(family, [limit], certify=False)
        except Infeasible as alone:
            reason = str(alone).removeprefix("infeasible: ")
            said.append(f"{name} clashes with {_held(decision)}: {reason}")
    return Infeasible(f"infeasible: {'; '.join(said)}") if said else refusal


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else short(value, 10)


def _held(decision: Decision) -> str:
    """What is fixed, in words."""
    chosen = decision.mechanism
    fixed_values = [f"{key} = {_shown(value)}" for key, value in chosen.fixed.items()]
    if decision.privacy.group > 1:
        fixed_values.append(f"records_per_unit = {decision.privacy.group}")
    if not fixed_values:
        return f"the mechanism {chosen.name}"
    return f"the fixed {', '.join(fixed_values)} of {chosen.name}"


def _limits(
    decision: Decision,
    family: NamedFamily,
    limits: Sequence[Limit],
    choice: Choice,
    curve: TradeoffCurve,
) -> tuple[LimitAnswer, ...]:
    answers = []
    for place, (limit, asked) in enumerate(zip(decision.limits, limits, strict=True), 1):
        about = decision.about(decision.attacker(limit.attacker))
        binding = asked is choice.binding
        alone: float | None = choice.short
        if len(limits) > 1 and not binding:
            try:
                only = beside(family.make, [asked], choice, family.whole)
            except NotCertified as doubtful:
                raise _unsolved(decision, family, doubtful) from doubtful
            alone = None if unbound(only) else only.short
        readings = _read_off(limit, curve, about)
        own = LimitAnswer(
            place,
            limit,
            asked,
            alone=alone,
            binding=binding,
            about=about,
            known_members=decision.correlation is not None,
            **readings,
        )
        answers.append(own)
    return tuple(answers)


def _read_off(limit: RiskLimit, curve: TradeoffCurve, about: Mapping[str, Any]) -> dict[str, Any]:
    """A limited risk; beside one that is no count of people, the advantage."""
    readings = {"reading": _reading(limit.measure, curve, about)}
    if limit.measure.counted is None:
        readings["advantage"] = _reading(MEASURES["advantage"], curve, about)
    return readings


def _reading(measure: Measure, curve: TradeoffCurve, about: Mapping[str, Any]) -> Reading:
    own = {argument.key: about[argument.key] for argument in measure.arguments}
    return measure.reading(curve, **own)


def _attacker(decision: Decision, attacker: Attacker, curve: TradeoffCurve) -> AttackerAnswer:
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


def _around(
    decision: Decision, family: NamedFamily, limits: Sequence[Limit], value: float
) -> Iterator[Nearby]:
    for factor in AROUND:
        moved = value * factor if family.grows_private else value / factor
        moved = max(1.0, float(round(moved))) if family.whole else moved
        with suppress(InvalidArgument, NotCertified):  # as where it has no member there
            curve = curve_of(family.make(moved))
            risks = tuple(limit.value(curve) for limit in limits)
            kept = factor >= 1 or judged(limits, curve) is True
            yield Nearby(factor, moved, float(curve.epsilon(decision.delta)), risks, kept)


def _alternative(
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
        return spec, made, _asked_error(decision, alone, first.values)
    unit = _faced(decision, made)
    choice, _ = chosen(unit, limits, certify=False)
    numbers = {**first.values, made.parameter: choice.short}
    error = _asked_error(decision, made.make(choice.short), numbers)
    return f"{made.name}: {configured(made, choice.short)}", unit.make(choice.short), error


def _asked_error(
    decision: Decision, subject: Any, numbers: Mapping[str, Any]
) -> AnswerError | None:
    """How far off an alternative is, where utility names a statistic and that is known."""
    utility = decision.utility
    if utility is None or utility.statistic is None:
        return None
    with suppress(Unsupported, InvalidArgument):
        return answer_error(subject, utility.statistic, **_about(decision, numbers))
    return None
