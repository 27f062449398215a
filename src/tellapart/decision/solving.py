"""The noise that keeps the limits of every attacker at once, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

from tellapart._numeric.text import fixed, short
from tellapart.choose.calibrate import Choice, beside
from tellapart.choose.limit import Limit
from tellapart.choose.named_limits import chosen, configured, for_any_mechanism, unbound
from tellapart.choose.search import at_baseline
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.decision.alternatives import alternative_answer, around
from tellapart.decision.answer import DecisionAnswer
from tellapart.decision.correlation import unit_family
from tellapart.decision.evidence import results
from tellapart.decision.limits import LimitAnswer, attacker_answer, in_words, read_off
from tellapart.decision.record import Decision, naming
from tellapart.decision.utility_limits import accuracy_of, clashes, release_error
from tellapart.errors import Infeasible, InvalidArgument, NotCertified
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.mechanisms.subject import curve_of


def answer(
    decision: Decision, certify: bool = True, folder: str | PathLike[str] | None = None
) -> DecisionAnswer:
    """The least private value that keeps every limit, each for its own attacker."""
    unread = decision.evidence and folder is None
    evidence = None if unread else results(decision, folder or ".")
    limits = decision.asked()
    family = unit_family(decision, decision.family())
    choice, doubt = _chosen(decision, family, limits, certify)
    value = choice.short
    subject = family.make(value)
    curve = curve_of(subject)
    kept = _limits(decision, family, limits, choice, curve)
    error, unjudged = release_error(decision, value)
    return DecisionAnswer(
        decision,
        family.parameter,
        value,
        configured(decision.family(), value),
        decision.delta,
        float(curve.epsilon(decision.delta)),
        kept,
        tuple(attacker_answer(decision, attacker, curve) for attacker in decision.attackers),
        tuple(around(decision, family, limits, value)),
        tuple(alternative_answer(decision, limits, each) for each in decision.alternatives),
        # Of another mechanism with the same ε nobody knows what correlated records give away.
        None if decision.correlation else for_any_mechanism(family, limits, decision.delta),
        choice,
        doubt,
        subject,
        family,
        error,
        accuracy_of(decision, value),
        () if error is None else clashes(decision, kept, value),
        unjudged,
        evidence,
    )


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
        readings = read_off(limit, curve, about)
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
