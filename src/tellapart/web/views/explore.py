"""Explore: one mechanism or promise, as curves, as numbers and in words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tellapart import _checks, report, risk
from tellapart.mechanisms.named import named
from tellapart.mechanisms.subject import curve_of, scope
from tellapart.web import _controls, _pictures
from tellapart.web._answer import Answer, Table, Words
from tellapart.web._controls import Choice, Control, Dial, Group
from tellapart.web._view import View


@dataclass(frozen=True)
class State:
    """What the view shows."""

    mechanism: str = "laplace:epsilon=1"
    prior: float = 0.5
    fpr: float = 0.01
    at_delta: float = 1e-5
    picture: str = "roc"


def prior_dial(value: float) -> Dial:
    """How likely membership is before the attacker looks."""
    return Dial(
        "prior",
        "prior: how likely membership is before the attacker looks",
        value,
        1e-6,
        0.5,
        ends=("rare", "every other person"),
    )


def fpr_dial(value: float) -> Dial:
    """How many of the others an attacker accuses."""
    return Dial(
        "fpr",
        "FPR: share of the others it accuses",
        value,
        1e-6,
        0.5,
        ends=("careful attacker", "reckless attacker"),
    )


def _controls_of(state: State) -> list[Control]:
    attacker = Group(
        "Attacker",
        (
            prior_dial(state.prior),
            fpr_dial(state.fpr),
            Dial("at_delta", "δ at which ε is told", state.at_delta, 1e-12, 0.1),
        ),
    )
    picture = Choice("picture", "Picture", state.picture, _pictures.KINDS, as_buttons=True)
    return [*_controls.mechanism("mechanism", state.mechanism), attacker, picture]


def _answer(state: State) -> Answer:
    subject = named(state.mechanism)
    curve = curve_of(subject)
    prior = _checks.inside_unit(prior=state.prior)
    found = risk.summary(curve, prior=prior, fpr=state.fpr, delta=state.at_delta)
    sentences = risk.words(curve, prior=prior, out_of=1_000, fpr=state.fpr).splitlines()
    return Answer(
        headline=state.mechanism,
        sentences=(f"Numbers hold {scope(subject)}.",),
        drawing=_pictures.draw(state.picture, {state.mechanism: curve}, prior),
        parts=(
            Words("In words", tuple(sentences)),
            Table(
                "In numbers",
                ("risk", "value", "what it is"),
                tuple((one.name, one.shown, one.meaning) for one in found),
            ),
        ),
        python=_python(state),
        command=_command(state),
        reports=True,
    )


def _python(state: State) -> str:
    return f"""\
from tellapart import risk
from tellapart.mechanisms.named import named
from tellapart.mechanisms.subject import curve_of

curve = curve_of(named({state.mechanism!r}))
for one in risk.summary(curve, prior={state.prior!r}, fpr={state.fpr!r}, delta={state.at_delta!r}):
    print(one)
print(risk.words(curve, prior={state.prior!r}, out_of=1_000, fpr={state.fpr!r}))
"""


def _command(state: State) -> str:
    return (
        f"tellapart risk {shlex.quote(state.mechanism)} --prior {state.prior!r} "
        f"--fpr {state.fpr!r} --at-delta {state.at_delta!r}"
    )


def _report(state: State) -> report.Report:
    return report.of(
        named(state.mechanism),
        name=state.mechanism,
        prior=state.prior,
        fpr=state.fpr,
        delta=state.at_delta,
        command=_report_command(state),
    )


def _report_command(state: State) -> str:
    return (
        f"tellapart report {shlex.quote(state.mechanism)} report.html --prior {state.prior!r} "
        f"--fpr {state.fpr!r} --at-delta {state.at_delta!r}"
    )


VIEW = View(
    "/",
    "Explore",
    "What can an attacker do, who sees the output?",
    State,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
)
