"""Correlated records: what an attacker knows beforehand, and what that does to ε and noise."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from tellapart import _checks
from tellapart._numeric.text import Scale
from tellapart.mechanisms.catalogue import PrivateSide
from tellapart.report.result_model import ResultDocument
from tellapart.risk.catalogue import FPR
from tellapart.web import controls
from tellapart.web.answer import Answer
from tellapart.web.controls import Control, ControlGroup, Dial, Kept, Select
from tellapart.web.view import View
from tellapart.web.views import chain, coefficients, joint

_ABOUT = (
    ("coefficients", "ρ coefficients"),
    ("chain", "A Markov chain"),
    ("table", "A small table"),
)
_SHOWN = {
    "coefficients": ("rho_p", "rho_c", "rho_t", "measure", "bound", "fpr", "release"),
    "chain": ("epsilon", "stay_0", "stay_1", "length"),
    "table": ("epsilon", "p00", "p01", "p10", "p11"),
}


@dataclass(frozen=True)
class CorrelatedState:
    """What the view shows: one of three kinds of knowledge, and the numbers of all."""

    about: str = "coefficients"
    rho_p: float = 0.2
    rho_c: float = 0.1
    rho_t: float = 0.1
    measure: str = "posterior"
    bound: float = 0.9
    fpr: float = FPR.default
    release: str = "any"
    epsilon: float = 1.0
    stay_0: float = 0.9
    stay_1: float = 0.6
    length: int = 100
    p00: float = 0.4
    p01: float = 0.1
    p10: float = 0.1
    p11: float = 0.4


def _controls_of(state: CorrelatedState) -> list[Control]:
    about = Select("about", "The attacker knows", state.about, _ABOUT, as_buttons=True)
    made = {"chain": _of_chain, "table": _of_table}.get(state.about, _of_coefficients)
    shown = made(state)
    used = _used(shown)
    kept = [field.name for field in fields(state) if field.name not in {*used, "about"}]
    return [about, *shown, *(Kept(name, getattr(state, name)) for name in kept)]


def _used(shown: list[ControlGroup]) -> set[str]:
    return {control.field for group in shown for control in group.controls}


def _of_coefficients(state: CorrelatedState) -> list[ControlGroup]:
    says = ("nothing", "all")
    known = ControlGroup(
        "Prior knowledge",
        (
            Dial("rho_p", "ρ_p: what the prior says", state.rho_p, 0, 1, Scale.LINEAR, ends=says),
            Dial(
                "rho_c",
                "ρ_c: what correlated records say",
                state.rho_c,
                0,
                0.5,
                Scale.LINEAR,
                ends=says,
            ),
            Dial(
                "rho_t",
                "ρ_t: what earlier records say",
                state.rho_t,
                0,
                0.5,
                Scale.LINEAR,
                ends=says,
            ),
        ),
    )
    names = [(key, name) for key, (name, _) in coefficients.RISKS.items()]
    who = list(coefficients.FAMILIES.items())
    smaller = PrivateSide.SMALLER
    accepted: list[Dial | Select] = [
        Select("measure", "limited risk", state.measure, names),
        Dial("bound", "limit", state.bound, 0.5, 1, Scale.LINEAR, smaller),
        Select("release", "ε of", state.release, who),
    ]
    limited = coefficients.RISKS.get(state.measure)
    if limited is not None and FPR in limited[1].arguments:
        accepted.insert(2, controls.attacker_dial(FPR, state.fpr))
    return [known, ControlGroup("Limit", tuple(accepted))]


def _of_chain(state: CorrelatedState) -> list[ControlGroup]:
    stays = ("independent", "strongly correlated")
    zeros = Dial(
        "stay_0", "probability that 0 stays 0", state.stay_0, 0.5, 0.99, Scale.LINEAR, ends=stays
    )
    ones = Dial(
        "stay_1", "probability that 1 stays 1", state.stay_1, 0.5, 0.99, Scale.LINEAR, ends=stays
    )
    ends = ("short", "long")
    length = Dial("length", "records", state.length, 2, chain.LONGEST, Scale.WHOLE, ends=ends)
    promise = replace(controls.parameter_dial("epsilon", "epsilon", state.epsilon), lead=True)
    return [
        ControlGroup("A chain of zeros and ones", (zeros, ones, length)),
        ControlGroup("Guarantee", (promise,)),
    ]


def _of_table(state: CorrelatedState) -> list[ControlGroup]:
    often = ("seldom", "often")
    labels = {
        "p00": "both are 0",
        "p01": "only the second is 1",
        "p10": "only the first is 1",
        "p11": "both are 1",
    }
    cells = [
        Dial(field, label, getattr(state, field), 0.01, 1, Scale.LINEAR, ends=often)
        for field, label in labels.items()
    ]
    promise = replace(controls.parameter_dial("epsilon", "epsilon", state.epsilon), lead=True)
    return [
        ControlGroup("How often, of two records", tuple(cells)),
        ControlGroup("Guarantee", (promise,)),
    ]


Question = chain.ChainQuestion | joint.JointQuestion | coefficients.CoefficientsQuestion


def _question(state: CorrelatedState) -> Question:
    """What is asked, of one of three kinds of knowledge."""
    about = _one_of("about", state.about, dict(_ABOUT))
    given = {name: getattr(state, name) for name in _SHOWN[about]}
    if about == "chain":
        return chain.ChainQuestion(**given)
    if about == "table":
        return joint.JointQuestion(**given)
    _one_of("measure", state.measure, coefficients.RISKS)
    _one_of("release", state.release, coefficients.FAMILIES)
    return coefficients.CoefficientsQuestion(**given)


def _answer(state: CorrelatedState) -> Answer:
    match _question(state):
        case chain.ChainQuestion() as asked:
            return chain.answer(asked)
        case joint.JointQuestion() as asked:
            return joint.answer(asked)
        case asked:
            return coefficients.answer(asked)


def _report(state: CorrelatedState) -> ResultDocument:
    match _question(state):
        case chain.ChainQuestion() as asked:
            return chain.document(asked)
        case joint.JointQuestion() as asked:
            return joint.document(asked)
        case asked:
            return coefficients.document(asked)


def _one_of(name: str, value: str, known: dict[str, Any]) -> str:
    if value not in known:
        _checks.refuse(name, f"be one of {', '.join(known)}", value)
    return value


VIEW = View(
    "/correlated",
    "Correlated records",
    "What if records say something about each other?",
    "ε limits how far an output moves the odds of membership, not where they start. Against an "
    "attacker who knows more, the same risk takes a smaller ε.",
    CorrelatedState,
    _controls_of,
    _answer,
    _report,
)
