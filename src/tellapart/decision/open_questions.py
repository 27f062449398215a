"""Consistency of a decision: questions where it contradicts itself, with what to write instead."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tellapart._numeric.text import fixed, short
from tellapart.curve.guarantees import guarantee
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.evidence import EvidenceResult
from tellapart.decision.limits import in_words
from tellapart.decision.missing import unsaid
from tellapart.decision.record import Decision
from tellapart.mechanisms.catalogue import KINDS, terms
from tellapart.mechanisms.subject import Subject, curve_of
from tellapart.risk.catalogue import PEOPLE, PRIOR

# A unit of this kind is one record by itself; one of the other kind has several, by its words.
_RECORD = re.compile(
    r"\b(record|row|visit|message|event|trip|purchase|query|photo|image|example|answer|response|"
    r"measurement|transaction|day|week|test)\b",
    re.I,
)
_SEVERAL = re.compile(
    r"\b(all|every|each|whole|any number|several|history|household|family|families|class|"
    r"their \w+s)\b",
    re.I,
)
# More people than ever lived at one time.
_WORLD = 1e10
# How far a record that is replaced moves a histogram of counts, in the norm of each noise.
_HISTOGRAM = {"gaussian": 1.414, "gaussian-classic": 1.414, "discrete-gaussian": 1.414}
_HISTOGRAM |= dict.fromkeys(("laplace", "discrete-laplace", "truncated-laplace", "staircase"), 2.0)
# By this share a prior may lie below the base rate: both are rounded by people.
_ROUNDED = 0.05


@dataclass(frozen=True)
class OpenQuestion:
    """Something in a decision that does not fit: its place, what was seen, and what to do.

    One that ``blocks`` may ask for more noise, or for another day: nothing stands before it.
    """

    key: str
    seen: str
    question: str
    advice: str
    blocks: bool = False

    @property
    def asked(self) -> str:
        """What was seen, and the question; not what to do about it."""
        return f"{self.seen}. {self.question}"

    def __str__(self) -> str:
        return f"{self.key}: {self.asked} {self.advice}"


def questions(decision: Decision, answer: DecisionAnswer | None = None) -> tuple[OpenQuestion, ...]:
    """What a careful reviewer would ask, first what blocks; of the answer, where it is given.

    >>> from tellapart import decision
    >>> record = decision.parse(decision.template())
    >>> [question.key for question in questions(record, record.answer())]
    ['mechanism.name']
    """
    blocking = [*_unit(decision), *_delta(decision), *_priors(decision), *_sensitivity(decision)]
    others = [*_one_record(decision), *_attackers(decision), *_alternatives(decision)]
    if answer is not None:
        blocking += _utility(answer)
        others += [*_promise(answer), *_evidence(answer)]
    blocking += _dates(decision)
    return (*(replace(each, blocks=True) for each in blocking), *others)


def _unit(decision: Decision) -> Iterator[OpenQuestion]:
    """The unit of privacy against the neighbouring relation, which changes one record."""
    unit, records = decision.privacy.unit, decision.privacy.records_per_unit
    advice = (
        "Write records_per_unit as the cap that the code enforces: group privacy is then counted. "
        "Or sample whole units, and take one unit for a record."
    )
    if decision.correlation is not None and _SEVERAL.search(unit):
        yield OpenQuestion(
            "privacy.unit",
            f"the unit is {unit!r}, and [correlation] is about values of one record",
            "Is one record protected, or everything that a person has?",
            "Write one record, such as one visit; or leave [correlation] out, and write "
            "records_per_unit.",
        )
    elif unsaid(unit):
        return
    elif records is None and (_SEVERAL.search(unit) or not _RECORD.search(unit)):
        yield OpenQuestion(
            "privacy.records_per_unit",
            f"the unit is {unit!r}, and neighbouring data sets differ in one record",
            "How many records can one unit have?",
            f"It was taken to be 1. {advice}",
        )
    elif records == 1 and _SEVERAL.search(unit):
        yield OpenQuestion(
            "privacy.unit",
            f"the unit is {unit!r}, and records_per_unit is 1",
            "Does one unit really have one record only?",
            advice,
        )
    held = decision.mechanism.fixed.get("data_size")
    people, size = decision.release.people, decision.privacy.group
    if held is not None and held > people * size:
        yield OpenQuestion(
            "mechanism.data_size",
            f"{held:,} records are of {people:,} people with at most {size} each",
            "Who has more records than that?",
            f"Raise records_per_unit to {math.ceil(held / people)} at least, or correct "
            "release.people.",
        )


def _one_record(decision: Decision) -> Iterator[OpenQuestion]:
    """A unit that is one record by its words, and is counted as several: more noise than asked."""
    unit, records = decision.privacy.unit, decision.privacy.group
    kinds = {kind.lower() for kind in _RECORD.findall(unit)} - {"day", "week"}  # of many records
    if records > 1 and kinds and not _SEVERAL.search(unit):
        yield OpenQuestion(
            "privacy.unit",
            f"the unit is {unit!r}, and records_per_unit is {records}",
            "Is one of these made of several records, or is everything protected that a person "
            "has?",
            "Write whom it protects, such as one patient, all visits; or records_per_unit = 1.",
        )


def _delta(decision: Decision) -> Iterator[OpenQuestion]:
    delta, people = decision.delta, decision.release.people
    if delta * people > 1:
        yield OpenQuestion(
            "privacy.delta",
            f"δ = {short(delta)} is above 1/n = {short(1 / people)} for {people:,} people",
            "May the release publish somebody's whole record, which such a δ allows?",
            f'Take a δ well below {short(1 / people)}, such as delta_rule = "1/n^2".',
        )
    own = decision.mechanism.fixed.get("delta")
    if own is not None and own != delta:
        yield OpenQuestion(
            "mechanism.delta",
            f"the mechanism is made with δ = {short(own)}, and ε is told at δ = {short(delta)}",
            "Which δ is promised?",
            "Leave mechanism.delta out: the mechanism then has the δ of the decision.",
        )


def _priors(decision: Decision) -> Iterator[OpenQuestion]:
    people, population = decision.release.people, decision.release.population
    for place, attacker in enumerate(decision.attackers, 1):
        prior = attacker.about.get(PRIOR.key)
        key = f"attacker[{place}].{PRIOR.key}"
        if prior is not None and population is not None:
            base = people / population
            if prior < base * (1 - _ROUNDED):
                yield OpenQuestion(
                    key,
                    f"{attacker.name} has a prior of {short(prior)}, below the base rate "
                    f"{short(base, 3)}: {people:,} of {population:,} people are in the data",
                    "Does this attacker know less than these two numbers say?",
                    f"Take {short(base, 3)} at least: a smaller prior makes every PPV look better.",
                )
        elif prior is not None and people / prior > _WORLD:
            yield OpenQuestion(
                key,
                f"a prior of {short(prior)} and {people:,} people in the data make a population of "
                f"{short(people / prior, 2)}, more than there are people",
                "Among whom does this attacker search?",
                "Write release.population, and take people / population at least.",
            )
        own = attacker.about.get(PEOPLE.key)
        if own is not None and own != people:
            yield OpenQuestion(
                f"attacker[{place}].{PEOPLE.key}",
                f"singling out is counted among {own:,} people, and {people:,} are in the data",
                "Which number is right?",
                "Leave it out: release.people is then taken.",
            )


def _attackers(decision: Decision) -> Iterator[OpenQuestion]:
    limited = {limit.attacker for limit in decision.limits}
    for place, attacker in enumerate(decision.attackers, 1):
        if attacker.name not in limited:
            yield OpenQuestion(
                f"attacker[{place}].name",
                f"no limit is on {attacker.name}",
                "Is everything accepted that this attacker could do?",
                "Add a [[limit]] for this attacker, or leave the attacker out.",
            )


def _sensitivity(decision: Decision) -> Iterator[OpenQuestion]:
    chosen = decision.mechanism
    if seen := _unmeasured(decision, chosen.name, chosen.fixed):
        yield _moved("mechanism.sensitivity", seen, "Write it down")


def _alternatives(decision: Decision) -> Iterator[OpenQuestion]:
    for place, other in enumerate(decision.alternatives, 1):
        for seen in (_unmeasured(decision, t.name, t.values) for t in terms(other.mechanism)):
            if seen:
                advice = f'Write it down, as in "{other.mechanism.partition(":")[0]}:sensitivity=2"'
                yield _moved(f"alternative[{place}].mechanism", seen, advice)
                break


def _unmeasured(decision: Decision, name: str, given: Mapping[str, Any]) -> str:
    """Where records are replaced: what was said of how far that moves the answer, if too little."""
    takes = "sensitivity" in KINDS[name].parameters and decision.correlation is None
    if decision.privacy.neighbours != "replace" or not takes:
        return ""
    if "sensitivity" not in given:
        return "the sensitivity was taken to be 1"
    counted = decision.utility is not None and decision.utility.statistic == "histogram"
    said, least = given["sensitivity"], _HISTOGRAM.get(name, 0.0)
    return f"the sensitivity of a histogram is {short(said)}" if counted and said < least else ""


def _moved(key: str, seen: str, advice: str) -> OpenQuestion:
    return OpenQuestion(
        key,
        f"neighbouring data sets replace a record, and {seen}",
        "How far does the answer move when a record is replaced by another?",
        f"{advice}: one cell of a histogram falls and another rises, which moves it by 2 "
        "(√2 for Gaussian noise).",
    )


def _promise(answer: DecisionAnswer) -> Iterator[OpenQuestion]:
    """The curve of one mechanism against the promise that all with its ε keep."""
    decision, anyone, binding = answer.decision, answer.any_mechanism, answer.binding
    if math.isinf(answer.epsilon):
        yield OpenQuestion(
            "privacy.records_per_unit",
            f"{decision.privacy.group} records together have no ε at δ = {short(answer.delta)}: "
            "the δ of a group grows with its size",
            "Which δ may a unit of privacy have?",
            "Take a larger δ, or a mechanism with a curve of its own instead of a promise.",
        )
        return
    if anyone is None or binding is None or answer.epsilon <= anyone * (1 + 1e-3):
        return
    promise = guarantee(answer.epsilon, answer.delta)
    other = fixed(binding.asked.value(promise), not binding.asked.least)
    seen = (
        f"{answer.setting} of {decision.mechanism.name} has ε = {fixed(answer.epsilon, True)} at "
        f"δ = {short(answer.delta)}; another mechanism with the same ε may have "
        f"{binding.asked.label} = {other}, where {in_words(binding.asked)} is accepted"
    )
    advice = (
        f"Promise the mechanism with its noise, not its ε. The ε that is enough for any mechanism "
        f'is {short(anyone)} at this δ (name = "any").'
    )
    if answer.parameter == "epsilon":
        yield OpenQuestion(
            "mechanism.choose",
            seen,
            f"Is this ε, chosen for {decision.mechanism.name}, used for anything else?",
            advice,
        )
    else:
        yield OpenQuestion("mechanism.name", seen, "Does anybody promise this ε by itself?", advice)


def _utility(answer: DecisionAnswer) -> Iterator[OpenQuestion]:
    if answer.unjudged:
        yield OpenQuestion(
            "utility.statistic",
            f"{answer.accuracy} was not judged: {answer.unjudged}",
            "What is computed from the data?",
            "Write another statistic, or leave utility.at_most out.",
        )


# A curve in a report is rounded.
_SAME = 1e-6


def _evidence(answer: DecisionAnswer) -> Iterator[OpenQuestion]:
    """The claim that was judged against what is in use, for one record or for a whole unit."""
    decision, value = answer.decision, answer.in_use
    made = (decision.family().make(value), answer.family.make(value))
    for place, result in enumerate(answer.evidence or (), 1):
        if any(_is_claim(result, subject) for subject in made):
            continue
        claim = f"the claim {result.claim}" if result.claim else "no claim"
        yield OpenQuestion(
            f"evidence[{place}].file",
            f"{result.file} judged {claim}, and {answer.parameter} = {short(value)} of "
            f"{decision.mechanism} is in use",
            "Was the code of this release tested, as it is configured?",
            "Audit the claim in use; what is not refuted of another says nothing on these limits.",
        )


def _is_claim(result: EvidenceResult, subject: Subject) -> bool:
    """By its curve; a brief report has none, and names the claim only."""
    if not result.curve:
        return result.claim == repr(subject)
    curve = curve_of(subject)
    return all(abs(curve.tpr(fpr) - tpr) <= _SAME for fpr, tpr in result.curve)


def _dates(decision: Decision) -> Iterator[OpenQuestion]:
    decided = decision.decided
    if decided.review <= decided.date and not unsaid(decided.review):
        yield OpenQuestion(
            "decided.review",
            f"the review ({decided.review}) is not after the decision ({decided.date})",
            "When is it looked at again?",
            "Write a later date.",
        )
