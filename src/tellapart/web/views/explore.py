"""Explore: one mechanism or guarantee, as trade-off curves, as risk measures and in words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tellapart import _checks, pictures, report, risk
from tellapart._numeric.text import short
from tellapart.curve.base import TradeoffCurve
from tellapart.drawing.record import Ink, Spot
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.in_words import text_in_words
from tellapart.mechanisms.subject import Subject, attacked, curve_of, sampling_assumption, scope
from tellapart.risk.catalogue import DELTA, FPR, PRIOR
from tellapart.web import controls
from tellapart.web.answer import Answer, Words, risks_table
from tellapart.web.controls import Control, ControlGroup
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
    picture = controls.picture_select(state.picture, pictures.KINDS)
    return [*controls.mechanism("mechanism", state.mechanism), attacker, picture]


def _answer(state: ExploreState) -> Answer:
    subject = parse(state.mechanism)
    curve = curve_of(subject)
    prior = _checks.inside_unit(prior=state.prior)
    readings = risk.summary(curve, prior=prior, fpr=state.fpr, delta=state.delta)
    by_key = {reading.key: reading for reading in readings}
    sentences = risk.words(curve, prior=prior, fpr=state.fpr).splitlines()
    assumed = (sampling_assumption(subject), _other_end(subject, state.delta))
    return Answer(
        headline=state.mechanism,
        sentences=(
            f"{by_key['epsilon']}; {by_key['advantage']}.",
            f"These numbers are {scope(subject)}.",
            *filter(None, assumed),
        ),
        drawing=pictures.draw(
            state.picture, {state.mechanism: curve}, prior, [_attacker(state, curve)]
        ),
        parts=(
            Words("In words", tuple(sentences)),
            risks_table("In numbers", readings),
        ),
        python=_python(state),
        command=_command(state),
        reports=True,
    )


def _other_end(subject: Subject, delta: float) -> str:
    """What some attack surely reaches, where that is not as good as the guarantee."""
    attack = attacked(subject, delta)
    if attack is None:
        return ""
    by_key = {reading.key: reading for reading in risk.summary(attack, delta=delta)}
    ends = f"{by_key['epsilon']}; {by_key['advantage']}"
    return f"The other end, which some attack surely reaches: {ends}."


def _attacker(state: ExploreState, curve: TradeoffCurve) -> Spot:
    """The attacker that the numbers are about."""
    tpr = float(curve.tpr(state.fpr))
    height = tpr if state.picture.startswith("roc") else 1 - tpr
    return Spot(f"this attack, at FPR {short(state.fpr)}", state.fpr, height, Ink.FIRST)


def _python(state: ExploreState) -> str:
    return f"""\
import tellapart as ta
from tellapart import risk

curve = {controls.typed_curve(state.mechanism)}
for one in risk.summary(curve, prior={state.prior!r}, fpr={state.fpr!r}, delta={state.delta!r}):
    print(one.name, *one.columns)
print(risk.words(curve, prior={state.prior!r}, fpr={state.fpr!r}))
"""


def _command(state: ExploreState, does: str = "risk", target: str = "") -> str:
    where = controls.at_delta_option(state.mechanism, state.at_delta)
    return (
        f"tellapart {does} {shlex.quote(state.mechanism)}{target} --prior {state.prior!r} "
        f"--fpr {state.fpr!r}{where}{' --verbose' if does == 'risk' else ''}"
    )


def _report(state: ExploreState) -> report.Report:
    return report.of(
        parse(state.mechanism),
        name=text_in_words(state.mechanism),
        prior=state.prior,
        fpr=state.fpr,
        delta=state.delta,
        command=_command(state, "report", " report.html"),
    )


VIEW = View(
    "/",
    "Explore",
    "How well does a membership inference attack do?",
    "Members are those whose records are in the data. A membership inference attack sees the "
    "output and flags people as members. At ε = 0 it can only guess, along the dashed line; the "
    "larger ε, the further the trade-off curve moves away from it.",
    ExploreState,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
)
