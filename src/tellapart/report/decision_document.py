"""The document of a decision: a summary for anybody, then limits, alternatives, evidence, numbers.

Everything in it is read off the answer to the decision, or off the files that it names; whatever
people wrote stays in their words.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tellapart import _checks, deployments
from tellapart import decision as decisions
from tellapart._numeric.text import fixed, short
from tellapart.choose.utility import AnswerError
from tellapart.decision.alternatives import AlternativeAnswer
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.checking import Check
from tellapart.decision.evidence import results
from tellapart.decision.limits import LimitAnswer
from tellapart.decision.missing import UNSET
from tellapart.decision.open_questions import questions
from tellapart.mechanisms.catalogue import Term
from tellapart.mechanisms.in_words import text_in_words
from tellapart.report.building import versions
from tellapart.report.decision_model import (
    AlternativeRow,
    Comparable,
    DecisionDocument,
    DeploymentRow,
    NearbyRow,
    PeoplePicture,
)
from tellapart.report.meaning import assumptions, certified
from tellapart.report.model import Made
from tellapart.risk.catalogue import FPR, MEMBERSHIP, PRIOR, Reading
from tellapart.risk.sentences import CountedRisk, counted, rare_outputs

# As many published deployments as a reader compares.
_MOST = 6
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def of_decision(
    decision: decisions.Decision,
    *,
    folder: str | Path = ".",
    today: datetime.date | None = None,
    command: str = "",
    answer: DecisionAnswer | None = None,
) -> DecisionDocument:
    """The document of a decision, for people who sign it and people who check it.

    Files of evidence are read from ``folder``. ``today`` is the day on which a review is overdue or
    not; without it none is. An ``answer`` that is known already is not computed again.

    >>> from tellapart import decision, report
    >>> document = report.of_decision(decision.parse(decision.template()))
    >>> document.limits[0].sentence.partition(" (")[0]
    'Of 1,000 people whom the attacker flags, at most 14 are in the data'
    """
    _checks.instance(decisions.Decision, "a decision, as decision.read gives", decision=decision)
    known = decision.answer(folder=folder) if answer is None else answer
    if known.evidence is None:
        known = replace(known, evidence=results(decision, folder))
    release, privacy, decided = decision.release, decision.privacy, decision.decided
    check, least = known.check(today or decided.date), known
    configured = decision.mechanism.configured
    if configured is not None:
        known = least.at(configured)
    mechanism = _mechanism(known)
    return DecisionDocument(
        headline=f"{decision.title}: {known.asks}",
        title=decision.title,
        missing=check.missing,
        alerts=_alerts(known, check),
        released=release.what,
        data_from=release.data,
        people=release.people,
        population=release.population,
        member=release.member or "",
        unit=privacy.unit,
        neighbours=privacy.relation.value,
        records=_records(privacy.group, known.correlation),
        harms=tuple(_harms(decision)),
        limits=known.limits,
        picture=_picture(known),
        noise=_mechanism(known, but=("sensitivity",)),
        mechanism=mechanism,
        setting=known.asks,
        in_use=configured is not None,
        why=(*_why(known, least, check), *_utility(known)),
        kept=_KEPT[check.kept if configured is not None else True],
        least=_value(least, "≥" if least.family.grows_private else "≤"),
        error=_margin(known.error),
        decided_by=decided.owner,
        decided_on="" if decided.date == UNSET else _day(decided.date),
        review_on="" if decided.review == UNSET else _day(decided.review),
        attackers=known.attackers,
        epsilon=f"≤ {fixed(known.epsilon, up=True)}",
        delta=short(known.delta),
        delta_rule=privacy.delta_rule or "",
        scope=known.scope,
        certified=certified(known.subject, known.delta),
        parameter=known.parameter,
        sensitivity=tuple(_nearby(least)),
        alternatives=tuple(_alternative(each) for each in known.alternatives),
        comparable=_comparable(known),
        assumptions=(*_assumptions(known), *filter(None, [known.doubt])),
        not_covered=_not_covered(known),
        evidence=known.evidence or (),
        questions=tuple(map(str, questions(decision, least))),
        registry=_registry(known, mechanism),
        nist=_nist(known, mechanism),
        toml=decisions.dumps(decision),
        made=Made(command, (), None, versions()),
        answer=least,
        sources=decision.evidence_paths(folder),
    )


# -- page one --------------------------------------------------------------------------------


def _alerts(answer: DecisionAnswer, check: Check) -> tuple[str, ...]:
    """What nobody may sign without having read it: what is wrong, then what is open."""
    clash = []
    if answer.clashes:
        limits = "; ".join(map(str, answer.clashes))
        clash = [
            f"The answer is less accurate than wanted: {answer.accuracy} clashes with {limits}."
        ]
    # What to do about a question stands with the others; that nothing is configured is no alert.
    drafted = int(bool(check.missing))  # which stands first on the page
    doubts = check.undecided[drafted : len(check.undecided) - len(check.questions)]
    if answer.decision.mechanism.configured is None:
        doubts = ()
    late, others = int(check.overdue), int(check.overdue) + len(check.limits)
    places = [limit.place for limit in check.limits]
    broken = (_broken(answer, limit) for limit in answer.limits if limit.place in places)
    wrong = (*check.broken[:late], *broken, *check.broken[others:])
    reasons = (f"{reason[0].upper()}{reason[1:]}." for reason in (*wrong, *doubts))
    return (*reasons, *clash, *(f"Open question: {each.asked}" for each in check.questions))


def _broken(answer: DecisionAnswer, limit: LimitAnswer) -> str:
    """A limit that what is in use breaks, as a count of people where it is one."""
    if (count := limit.count) is None:
        reached = limit.reached.removeprefix("≈ ")
        return f"{limit.attacker}: {limit.words} is broken, {reached} with {answer.asks}"
    return (
        f"the limit on {limit.attacker} is broken: {'only' if limit.asked.least else 'up to'} "
        f"{count.with_output:,} of {count.out_of:,} with the release; accepted: {limit.accepted}"
    )


_SUSPECTED = "somebody with the record that is suspected"


def _harms(decision: decisions.Decision) -> Iterator[str]:
    """What somebody could find out; of whom is in the data, what that says of the person.

    Under a model of correlation that is no secret: what is, is a value of the person's record.
    """
    for harm in dict.fromkeys(limit.measure.harm for limit in decision.limits):
        member = decision.release.member if harm == MEMBERSHIP else None
        if harm == MEMBERSHIP and decision.correlation is not None:
            yield f"that the person is {(member or _SUSPECTED).rstrip('.')}"
        else:
            yield harm if member is None else f"{harm}: {member.rstrip('.')}"


def _day(day: datetime.date) -> str:
    """A date as people write it, whatever the locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _records(group: int, correlation: str = "") -> str:
    if correlation:
        return f"one record; others of the same person tell about it: {correlation}"
    return "one record" if group == 1 else f"up to {group:,} records, counted together"


def _mechanism(answer: DecisionAnswer, but: Sequence[str] = ()) -> str:
    """The mechanism as it is configured, in words, but for some numbers."""
    chosen = answer.decision.mechanism
    numbers = {answer.parameter: answer.value, **chosen.fixed}
    kept = {key: number for key, number in numbers.items() if key not in but}
    return text_in_words(str(Term(chosen.name, kept)))


def _counted(
    answer: DecisionAnswer, attacker: str, reading: Reading, bound: float | None = None
) -> CountedRisk | None:
    about = answer.decision.about(answer.decision.attacker(attacker))
    known = answer.decision.correlation is not None
    return counted(reading, about, "release", bound=bound, known_members=known)


def _picture(answer: DecisionAnswer) -> PeoplePicture | None:
    """The binding limit as a count of people; where it is none, another, or the advantage."""
    limits = sorted(answer.limits, key=lambda limit: not limit.binding)
    tried = [(limit.attacker, limit.reading, limit.asked.bound) for limit in limits]
    for part in answer.attackers:
        tried += [(part.attacker.name, x, 1.0) for x in part.readings if x.key == "advantage"]
    counts = [(each[0], _counted(answer, *each)) for each in tried]
    drawn = [(attacker, count) for attacker, count in counts if count is not None]
    # Attempts are no people: anybody grasps a count of people more readily.
    for attacker, count in sorted(drawn, key=lambda each: not each[1].of_people):
        return PeoplePicture(
            attacker, count.caption, count.out_of, count.without, count.with_output, count.side
        )
    return None


_KEPT = {True: "keeps every limit", False: "breaks a limit", None: "not known to keep every limit"}


def _value(answer: DecisionAnswer, relation: str = "=") -> str:
    return f"{answer.parameter} {relation} {short(answer.value, 10)}"


def _why(answer: DecisionAnswer, least: DecisionAnswer, check: Check) -> Iterator[str]:
    """Whether what is in use keeps the limits, and the least that does."""
    best = f"the {'least' if least.family.grows_private else 'largest'} that keeps every limit"
    if answer.decision.mechanism.configured is None:
        yield f"It is {best}. What is in use now is not on record."
    elif answer.value == least.value:
        yield f"It is in use now, and {best}."
    else:
        kept = _KEPT[check.kept] if check.kept is not None else f"is {_KEPT[None]}"
        fixed_values = tuple(answer.decision.mechanism.fixed)
        yield f"It is in use now, and {kept}; {best} is {_mechanism(least, but=fixed_values)}."
    if check.questions:
        yield "All this holds only if the open questions above are answered as assumed."
    if (binding := answer.binding) is not None:
        yield f"The limit that decides is that on {binding.attacker}: {binding.accepted}."


def _utility(answer: DecisionAnswer) -> tuple[str, ...]:
    """What the answer is good for, and how far off the noise makes it."""
    wanted, error = answer.decision.utility, answer.error
    said = [] if wanted is None else [f"What counts: {wanted.what.rstrip('.')}."]
    if error is not None:
        most = None if answer.accuracy is None else answer.accuracy.bound
        wished = "" if most is None else f"; accepted: at most {short(most)}"
        off = f"the error of {error.of}"
        if wanted is not None and wanted.cells and error.of.startswith("the histogram"):
            off = f"the largest error of {wanted.cells:,} counts"
        elif wanted is not None and wanted.statistic == "gradient":
            off = "the error of each number in a step of the training (mean gradient)"
        said.append(
            f"In {short(100 * error.coverage)} of 100 cases {off} is at most "
            f"{_few(error.margin, most)}{wished}."
        )
    return tuple(said)


def _few(value: float, most: float | None) -> str:
    """As few digits, rounded up, as show that a value is no more than the most."""
    shown = [short(value, digits, up=True) for digits in range(3, 18)]
    if most is None or value > most:
        return shown[0]
    return next((each for each in shown if float(each) <= most), shown[-1])


# -- limits, alternatives, deployments -------------------------------------------------------


def _nearby(answer: DecisionAnswer) -> list[NearbyRow]:
    said = {0.9: "10 % less noise", 1.0: "the least", 1.1: "10 % more noise"}
    return [
        NearbyRow(
            said.get(near.factor, f"{short(near.factor)} times the noise"),
            short(near.value, 6),
            fixed(near.epsilon, up=True),
            tuple(
                fixed(value, not limit.asked.least)
                for value, limit in zip(near.risks, answer.limits, strict=True)
            ),
            "kept" if near.kept else "broken",
        )
        for near in answer.sensitivity
    ]


def _alternative(other: AlternativeAnswer) -> AlternativeRow:
    known = other.alternative
    named = text_in_words(known.mechanism)
    if other.problem or other.epsilon is None:
        return AlternativeRow(named, "no answer", "", other.problem, known.why_not)
    kept = _KEPT[other.kept]
    epsilon = f"≤ {fixed(other.epsilon, up=True)}"
    setting = "as it is" if other.setting == known.mechanism else other.setting
    return AlternativeRow(named, setting, epsilon, kept, known.why_not, _margin(other.error))


def _margin(error: AnswerError | None) -> str:
    return "" if error is None else f"± {short(error.margin, 4, up=True)}"


_PERSON, _RECORD = "one person", "one record"
_ALL = re.compile(r"\b(all|any|every|each|whole|history|their|his|her)\b", re.IGNORECASE)
# What a unit of privacy is about, by words in it; the first that fits.
_UNITS = {
    "one person for some time": r"day|week|month|quarter|year",
    "one account or device": r"account|device",
    _RECORD: r"event|tuple|trip|birth|record|row|visit|message|photo|image|example|answer"
    r"|response|transaction|purchase|query|measurement|test",
    _PERSON: r"user|person|people|patient|customer|client|individual|participant|resident"
    r"|citizen|inhabitant|employee|student|child|respondent|donor|subscriber|voter",
    "one household": r"house|famil",
    "one business": r"business|compan|establishment",
}


def unit_kind(unit: str) -> str:
    """What kind of unit words speak of; empty where they name none.

    >>> unit_kind("one patient, all visits"), unit_kind("User-day-level"), unit_kind("Event-level")
    ('one person', 'one person for some time', 'one record')
    """
    fits = [kind for kind, words in _UNITS.items() if re.search(words, unit, re.IGNORECASE)]
    if _PERSON in fits and fits[0] == _RECORD and _ALL.search(unit):
        return _PERSON
    return fits[0] if fits else ""


def _comparable(answer: DecisionAnswer) -> Comparable:
    """Published deployments about the same kind of unit; of others, how many and one of each."""
    decision, bound = answer.decision, answer.binding
    attacker = decision.attackers[0] if bound is None else decision.attacker(bound.attacker)
    about = {each.key: attacker.about.get(each.key, each.default) for each in (FPR, PRIOR)}
    kind = unit_kind(decision.privacy.unit)
    kinds = {each: unit_kind(each.unit) for each in deployments.DEPLOYMENTS}
    same = [each for each, known in kinds.items() if kind and known == kind]
    gains = deployments.gains(same, beside={"this release": answer.subject}, **about)
    (own,) = (gain for gain in gains if gain.deployment is None)
    nearest = sorted(gains, key=lambda gain: abs(gain.advantage - own.advantage))[: _MOST + 1]
    rows = tuple(_row(answer, gain) for gain in gains if gain in nearest)
    return Comparable(
        kind,
        about[FPR.key],
        rows if same else (),
        tuple(_apart(kinds, other) for other in sorted(set(kinds.values()) - {kind})),
        deployments.SOURCE,
        deployments.CAVEATS,
    )


def _apart(kinds: Mapping[deployments.Deployment, str], kind: str) -> str:
    """How many deployments are about another kind of unit, and the latest of them."""
    listed = [each for each, known in kinds.items() if known == kind]
    latest = max(listed, key=lambda each: each.published)
    return f"{kind or 'other or unspecified'}: {len(listed)}, such as {latest}"


def _row(answer: DecisionAnswer, gain: deployments.Gain) -> DeploymentRow:
    advantage, tpr = (reading.shown for reading in gain.readings[:2])
    published = gain.deployment
    if published is None:
        promise = f"ε ≤ {fixed(answer.epsilon, up=True)}, δ = {short(answer.delta)}"
        unit = answer.decision.privacy.unit
        return DeploymentRow(gain.name, promise, unit, advantage, tpr, ours=True)
    name = f"{published.name} ({published.curator}, {published.published[:4]})"
    return DeploymentRow(name, published.promise, published.per, advantage, tpr)


def _assumptions(answer: DecisionAnswer) -> tuple[str, ...]:
    """What must be true of the code, and of a model where records are correlated by one."""
    decision = answer.decision
    if decision.correlation is None:
        return assumptions(answer.subject)
    return (
        f"The records of one person are {answer.correlation} (from {decision.correlation.source}), "
        "and independent of those of other people. An attacker may know this model, and all "
        "records of other people (Pufferfish privacy).",
        *assumptions(decision.family().make(answer.value)),
    )


def _not_covered(answer: DecisionAnswer) -> tuple[str, ...]:
    """What the numbers say nothing about, whoever asks."""
    decision = answer.decision
    group, unit = decision.privacy.group, decision.privacy.unit
    several = (
        f"Several records of one person: {unit} is taken to have one record. Whoever has more is "
        "protected less, and no limit here is known to hold for them."
        if group == 1
        else f"More than {group:,} records of one person: up to {group:,} are counted together, "
        "and whoever has more is protected less."
    )
    if decision.correlation is not None:
        several = (
            f"Whatever the model of correlation does not have ({answer.correlation}, from "
            f"{decision.correlation.source}): where records follow each "
            "other in another way, no limit here is known to hold. Nor is all that one "
            "person has protected together: the limits are on values of one record."
        )
    said = [
        several,
        "Correlated records: relatives, colleagues or earlier visits may tell about a person who "
        "is not in the data at all. What can be learnt from the records of other people is not "
        "limited here.",
        "Other releases from the same data: their risks add to these.",
        "Other attackers: limits are for those named here, with what they are said to know.",
        "Ways around the release: a leak of the data itself, timings, errors and logs.",
    ]
    priors = [x.about[PRIOR.key] for x in decision.attackers if PRIOR.key in x.about]
    if rare := rare_outputs(answer.curve, prior=max(priors, default=PRIOR.default)):
        said.append(f"{rare} The limits are on what happens most of the time.")
    return tuple(said)


# Fields of entries in OpenDP's registry of deployments, as opendp/deployments-registry-data has
# them in deployments/uber.yaml.
REGISTRY = "opendp/deployments-registry-data, deployments/uber.yaml"


def _registry(answer: DecisionAnswer, mechanism: str) -> dict[str, str]:
    """What an entry in the public registry of deployments would say, by the registry's fields."""
    decision = answer.decision
    return {
        "basic.name": decision.title,
        "basic.description": decision.release.what,
        "basic.publication_date": decision.decided.date.isoformat(),
        "dp_variant.data_domain": decision.release.data,
        "privacy_loss.privacy_unit": decision.privacy.unit,
        "privacy_loss.privacy_unit_details": f"{decision.privacy.relation.value}; "
        f"{_records(decision.privacy.group, answer.correlation)}",
        "privacy_loss.privacy_parameters.epsilon": fixed(answer.epsilon, up=True),
        "privacy_loss.privacy_parameters.delta": short(answer.delta),
        "implementation.mechanisms": mechanism,
        "implementation.justification": "; ".join(
            f"{limit}: {limit.limit.reason}" for limit in answer.limits
        ),
    }


# The levels of the pyramid of NIST SP 800-226 in the words of NIST's own page on its draft; the
# publication has more blocks in each, which are not quoted here as that page does not name them.
NIST = (
    "NIST Offers Draft Guidance on Evaluating a Privacy Protection Technique for the AI Era, "
    "nist.gov/news-events/news/2023/12"
)
_TOP = "top level: “the most direct measures of privacy guarantees, including epsilon”"
_MIDDLE = (
    "middle level: “factors that can undermine a differential privacy guarantee, such as lack of "
    "sufficient security”"
)
_BOTTOM = "bottom level: “underlying factors, such as the data collection process”"


def _nist(answer: DecisionAnswer, mechanism: str) -> dict[str, str]:
    """What this decision has for each level, and what it has not."""
    privacy, evidence = answer.decision.privacy, answer.evidence or ()
    tested = "; ".join(map(str, evidence)) or "no audit or probe is on record"
    return {
        _TOP: f"{mechanism}: ε ≤ {fixed(answer.epsilon, up=True)} at δ = {short(answer.delta)}; "
        f"unit of privacy: {privacy.unit} ({_records(privacy.group, answer.correlation)})",
        _MIDDLE: f"tests of the code: {tested}; security of the data and ways around the release "
        "are not judged here",
        _BOTTOM: f"{answer.decision.release.data.rstrip('.')}; its collection is not judged here",
    }
