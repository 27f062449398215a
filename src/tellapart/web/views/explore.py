"""Explore: one mechanism or promise, as curves, as numbers and in words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tellapart import _checks, report, risk
from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.catalogue import named
from tellapart.mechanisms.subject import curve_of, scope
from tellapart.risk.catalogue import DELTA, FPR, PRIOR
from tellapart.web import controls, pictures
from tellapart.web.answer import Answer, Ink, Spot, Table, Words
from tellapart.web.controls import Control, ControlGroup, Select
from tellapart.web.view import View


@dataclass(frozen=True)
class ExploreState:
    """What the view shows."""

    mechanism: str = "laplace:epsilon=1"
    prior: float = PRIOR.default
    fpr: float = FPR.default
    at_delta: float = DELTA.default
    picture: str = "roc"

    @property
    def delta(self) -> float:
        """The δ of every ε."""
        return controls.told_at(self.mechanism, self.at_delta)


def _controls_of(state: ExploreState) -> list[Control]:
    attacker = ControlGroup(
        "Attacker",
        (
            controls.attacker_dial(PRIOR, state.prior),
            controls.attacker_dial(FPR, state.fpr),
            *controls.delta_dials(DELTA.label, state.mechanism, state.at_delta),
        ),
    )
    picture = Select("picture", "Picture", state.picture, pictures.KINDS, as_buttons=True)
    return [*controls.mechanism("mechanism", state.mechanism), attacker, picture]


def _answer(state: ExploreState) -> Answer:
    subject = named(state.mechanism)
    curve = curve_of(subject)
    prior = _checks.inside_unit(prior=state.prior)
    readings = risk.summary(curve, prior=prior, fpr=state.fpr, delta=state.delta)
    sentences = risk.words(curve, prior=prior, out_of=_people(prior), fpr=state.fpr).splitlines()
    return Answer(
        headline=state.mechanism,
        sentences=(f"Numbers hold {scope(subject)}.",),
        drawing=pictures.draw(
            state.picture, {state.mechanism: curve}, prior, [_attacker(state, curve)]
        ),
        parts=(
            Words("In words", tuple(sentences)),
            Table(
                "In numbers",
                ("risk", "value", "what it is"),
                tuple((reading.name, reading.shown, reading.meaning) for reading in readings),
            ),
        ),
        python=_python(state),
        command=_command(state),
        reports=True,
    )


def _people(prior: float) -> int:
    """So many people that a member is among them, but no more than there are."""
    return next((10**k for k in range(3, 10) if prior * 10**k >= 1 - 1e-9), 10**10)


def _out_of(state: ExploreState) -> str:
    people = _people(state.prior)
    return "" if people == 1_000 else f" --out-of {people}"


def _at_delta(state: ExploreState) -> str:
    return controls.at_delta_option(state.mechanism, state.at_delta)


def _attacker(state: ExploreState, curve: TradeoffCurve) -> Spot:
    """The attacker that the numbers are about."""
    tpr = float(curve.tpr(state.fpr))
    height = tpr if state.picture.startswith("roc") else 1 - tpr
    return Spot(f"this attacker, at FPR {state.fpr:g}", state.fpr, height, Ink.FIRST)


def _python(state: ExploreState) -> str:
    return f"""\
from tellapart import risk
from tellapart.mechanisms.catalogue import named
from tellapart.mechanisms.subject import curve_of

curve = curve_of(named({state.mechanism!r}))
for one in risk.summary(curve, prior={state.prior!r}, fpr={state.fpr!r}, delta={state.delta!r}):
    print(one)
print(risk.words(curve, prior={state.prior!r}, out_of={_people(state.prior):_}, fpr={state.fpr!r}))
"""


def _command(state: ExploreState) -> str:
    return (
        f"tellapart risk {shlex.quote(state.mechanism)} --prior {state.prior!r} "
        f"--fpr {state.fpr!r}{_at_delta(state)}{_out_of(state)}"
    )


def _report(state: ExploreState) -> report.Report:
    return report.of(
        named(state.mechanism),
        name=state.mechanism,
        prior=state.prior,
        fpr=state.fpr,
        delta=state.delta,
        out_of=_people(state.prior),
        command=_report_command(state),
    )


def _report_command(state: ExploreState) -> str:
    return (
        f"tellapart report {shlex.quote(state.mechanism)} report.html --prior {state.prior!r} "
        f"--fpr {state.fpr!r}{_at_delta(state)}{_out_of(state)}"
    )


VIEW = View(
    "/",
    "Explore",
    "What can an attacker who sees the output do?",
    "Records of some people went in: the members. An attacker sees what came out and accuses "
    "people of being members. At ε = 0 it can only guess, along the dashed line; the larger ε, the "
    "further its curve may bend away from that, and the less private everyone is.",
    ExploreState,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
)
