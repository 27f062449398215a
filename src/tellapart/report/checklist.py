"""Questions after the layers of NIST SP 800-226 (2025), and what is known of each.

Nothing is marked as established but what was computed or tested here: a mechanism's description
and a person's answer are statements, and what nobody said stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tellapart import _checks
from tellapart._numeric.text import fixed
from tellapart.choose.utility import noise_error
from tellapart.mechanisms.base import LocalMechanism, Mechanism
from tellapart.mechanisms.combine import Combined, parts_of
from tellapart.mechanisms.shuffled import Shuffled
from tellapart.mechanisms.subject import Subject
from tellapart.report.model import Item

_GUARANTEE = "The guarantee"
_ALGORITHM = "Algorithms, correctness and use"
_DEPLOYMENT = "Deployment"
_EXPOSURE = "Data collection"


@dataclass(frozen=True)
class Question:
    """One thing to settle before a release, and the layer that it belongs to."""

    layer: str
    text: str


QUESTIONS: Mapping[str, Question] = {
    "epsilon": Question(_GUARANTEE, "How much may outputs reveal: which ε, at which δ?"),
    "unit": Question(_GUARANTEE, "Whom or what is protected: a person, a household, one visit?"),
    "neighbours": Question(_GUARANTEE, "Which two data sets must be hard to tell apart?"),
    "contribution": Question(
        _GUARANTEE, "How much may one protected unit contribute, and what enforces that?"
    ),
    "composition": Question(
        _GUARANTEE, "Which other releases use the same data, and what limits them together?"
    ),
    "mechanism": Question(_ALGORITHM, "Which mechanism is used, with which parameters?"),
    "sensitivity": Question(
        _ALGORITHM, "What bounds the sensitivity (ranges, clipping), and is it free of the data?"
    ),
    "tested": Question(_ALGORITHM, "Was the code put to a test, and what came of it?"),
    "review": Question(_ALGORITHM, "Who has reviewed the code, or proved it right?"),
    "randomness": Question(
        _ALGORITHM, "Is the source of randomness sound, and can the last bits of floats leak?"
    ),
    "utility": Question(_ALGORITHM, "How far off are answers because of the noise?"),
    "purpose": Question(_ALGORITHM, "Are such answers good enough for their use, and who says so?"),
    "bias": Question(
        _ALGORITHM, "Whom do noise, clipping and rounding hurt most: small groups, rare values?"
    ),
    "trust": Question(
        _DEPLOYMENT, "Who adds the noise, and who has to be trusted until it is added?"
    ),
    "access": Question(_DEPLOYMENT, "Who holds the raw data, and who may query it?"),
    "security": Question(
        _DEPLOYMENT, "How are raw data, seeds and intermediate results kept from others?"
    ),
    "side_channels": Question(
        _DEPLOYMENT, "Can timings, errors, logs or caches tell what the outputs do not?"
    ),
    "collection": Question(
        _EXPOSURE, "Which data are collected, is all of it needed, and when is it deleted?"
    ),
    "consent": Question(_EXPOSURE, "What were people told of this, and what did they agree to?"),
}


@dataclass(frozen=True)
class Known:
    """What there is to say: established here, refuted here, or stated by a description."""

    established: Mapping[str, str] = field(default_factory=dict)
    refuted: Mapping[str, str] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)


def checked(answers: Mapping[str, str]) -> dict[str, str]:
    """Answers to questions that there are; the unit has a place of its own."""
    keys = [key for key in QUESTIONS if key != "unit"]
    if not isinstance(answers, Mapping):
        _checks.refuse("answers", 'map questions to texts, as {"access": "..."} does', answers)
    for key, text in answers.items():
        if key == "unit":
            _checks.refuse("answers", "leave the unit to unit=", key)
        if key not in keys:
            _checks.refuse("answers", f"be to any of {', '.join(keys)}", key)
        if not isinstance(text, str) or not text.strip():
            _checks.refuse("answers", "be texts that say something", text)
    return dict(answers)


def items(known: Known, answers: Mapping[str, str]) -> tuple[Item, ...]:
    """Every question with what is known of it."""
    return tuple(_item(key, question, known, answers) for key, question in QUESTIONS.items())


def _item(key: str, question: Question, known: Known, answers: Mapping[str, str]) -> Item:
    stated = tuple(text for text in (answers.get(key), known.stated.get(key)) if text)
    refuted, established = known.refuted.get(key), known.established.get(key)
    state = "open"
    if refuted:
        state = "refuted"
    elif established:
        state = "established"
    elif stated:
        state = "stated"
    return Item(key, question.layer, question.text, refuted or established, stated, state)


def described(subject: Subject | None) -> dict[str, str]:
    """What a mechanism's description states of the questions."""
    if not isinstance(subject, Mechanism):
        return {}
    said = {
        "neighbours": f"By the mechanism's description: {subject.neighbours.value}.",
        "mechanism": f"By its description: {subject!r}{_steps(subject)}.",
    }
    if isinstance(subject, Shuffled):
        said["trust"] = (
            "By the mechanism's description each person adds noise to their own value, and "
            "somebody who is trusted shuffles all of them."
        )
    elif all(isinstance(step, LocalMechanism) for step, _ in parts_of(subject)):
        said["trust"] = (
            "By the mechanism's description each person adds noise to their own value, before "
            "anybody else sees it."
        )
    return said


def error_of(subject: Subject | None) -> dict[str, str]:
    """How far off an answer is, where noise is all that is added to it."""
    error = None if subject is None else noise_error(subject)
    if error is None:
        return {}
    return {
        "utility": f"The noise on {error.of} has standard deviation "
        f"{fixed(error.deviation or 0.0, up=True)}; 95 % of answers lie within "
        f"±{fixed(error.margin, up=True)} of the truth."
    }


def _steps(subject: Mechanism) -> str:
    if not isinstance(subject, Combined):
        return ""
    count = sum(times for _, times in subject.steps())
    return f", {count:,} {'step' if count == 1 else 'steps'} in all, every output seen"
