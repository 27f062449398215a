"""Whether a decision stands: what is configured, its evidence, its review and its questions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tellapart._numeric.text import short
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.limits import LimitAnswer, judged
from tellapart.decision.missing import UNSET, missing
from tellapart.decision.open_questions import OpenQuestion, questions
from tellapart.decision.record import naming
from tellapart.decision.utility_limits import accuracy_of
from tellapart.mechanisms.subject import curve_of


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
    questions: tuple[OpenQuestion, ...] = ()
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


def checked(answer: DecisionAnswer, today: date) -> Check:
    """Judge what is configured, and say everything that speaks against it or is open.

    A value at least as private as one that is known to keep all limits keeps them. A less private
    one is judged by its own curve; where that is too near to a limit for its digits, nothing is
    judged. Nor is it where a question is open whose answer may ask for more noise, or where an
    answer is missing.
    """
    review = answer.decision.decided.review
    late = 0 if review == UNSET else (today - review).days
    overdue = [f"the review of {review} is overdue by {late} day{'s' * (late > 1)}"] * (late > 0)
    refuted = [f"evidence speaks against the code: {x}" for x in answer.evidence or () if x.refuted]
    limits, doubtful = _configured(answer)
    broken = (*(_broken(each, answer) for each in limits), *_inaccurate(answer))
    blocking = tuple(each for each in questions(answer.decision, answer) if each.blocks)
    unsaid = missing(answer.decision)
    count = f"{len(unsaid)} answers are" if len(unsaid) > 1 else "1 answer is"
    draft = [f"a draft: {count} missing ({', '.join(unsaid)})"] if unsaid else []
    unread = []
    if answer.decision.evidence and answer.evidence is None:
        unread = ['the evidence was not read: say its folder, as answer(folder=".")']
    return Check(
        kept=False if broken else None if doubtful or answer.unjudged else True,
        overdue=bool(overdue),
        broken=(*overdue, *broken, *refuted),
        undecided=(
            *draft,
            *doubtful,
            *unread,
            *(f"an open question, {each.key}: {each.seen}" for each in blocking),
        ),
        questions=blocking,
        limits=limits,
        missing=unsaid,
    )


def _configured(answer: DecisionAnswer) -> tuple[tuple[LimitAnswer, ...], tuple[str, ...]]:
    """The limits that the configured value breaks, and what cannot be told."""
    value, parameter = answer.decision.mechanism.configured, answer.parameter
    if value is None:
        return (), (f"the {parameter} in use now is not given (mechanism.configured)",)
    family, safe = answer.family, answer.choice.parameter
    if value >= safe if family.grows_private else value <= safe:
        return (), ()
    with naming("mechanism", {}):
        curve = curve_of(family.make(value))
    broken = tuple(limit for limit in answer.limits if judged([limit.asked], curve) is False)
    if broken or judged([limit.asked for limit in answer.limits], curve):
        return broken, ()
    near = f"with {parameter} = {short(value)} a limit is too near to tell: configure more"
    return (), (f"{near} privacy, {answer.asks}",)


def _broken(limit: LimitAnswer, answer: DecisionAnswer) -> str:
    value = answer.in_use
    curve = curve_of(answer.family.make(value))
    reached = limit.asked.beside(limit.asked.value(curve))[0]
    return f"{limit} is broken: {reached} with {answer.parameter} = {short(value)}"


def _inaccurate(answer: DecisionAnswer) -> tuple[str, ...]:
    """That the release is not accurate enough with the configured value, where it is not."""
    value = answer.decision.mechanism.configured
    accuracy = None if value is None else accuracy_of(answer.decision, value)
    if value is None or accuracy is None or answer.unjudged:
        return ()
    with naming("mechanism", {}):
        off = accuracy.value(answer.decision.family().make(value))
    if off <= accuracy.bound:
        return ()
    return (
        f"utility: {accuracy} is broken: {short(off, 4)} with {answer.parameter} = {short(value)}",
    )
