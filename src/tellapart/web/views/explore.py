"""Explore: one mechanism or guarantee, as counts of people, as trade-off curves and in words."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tellapart import _checks, pictures, report, risk
from tellapart._numeric.text import short, to_decimals
from tellapart.curve.base import Bound, TradeoffCurve
from tellapart.drawing.icons import IconArray
from tellapart.drawing.record import Drawing, Ink, Spot
from tellapart.mechanisms.catalogue import parse
from tellapart.mechanisms.in_words import text_in_words
from tellapart.mechanisms.subject import Subject, attacked, curve_of, sampling_assumption, scope
from tellapart.risk.catalogue import DELTA, FPR, PRIOR, Reading
from tellapart.web import controls, presets
from tellapart.web.answer import Answer, Next, NumberCard, People, Words, risks_table
from tellapart.web.controls import Control, ControlGroup
from tellapart.web.view import View

# One in ten: half of all would make every flag half right by luck.
MEMBERS = 0.1
_DOTS = 1_000
_MOST_PEOPLE = 10**13
_ROUNDING = 1e-12
# Before a number that a guarantee alone gives; exact ones need none.
SIGNS = {"=": "", "≤": "≤ "}
ADVANTAGE_ENDS = "0: a guess; 100: no privacy"
# Pictures of one curve; its region is that of "Check an attack".
KINDS = tuple(kind for kind in pictures.KINDS if kind[0] != "region")


@dataclass(frozen=True)
class ExploreState:
    """What the view shows."""

    mechanism: str = "laplace:epsilon=1"
    prior: float = MEMBERS
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
        (controls.attacker_dial(PRIOR, state.prior), controls.attacker_dial(FPR, state.fpr)),
    )
    *first, more = controls.mechanism("mechanism", state.mechanism)
    deltas = controls.delta_dials(DELTA.label, state.mechanism, state.at_delta)
    shown: list[Control] = [*first, attacker]
    if deltas:
        shown.append(ControlGroup("Privacy parameter", deltas))
    return [*shown, more]


@dataclass(frozen=True)
class Crowd:
    """People of whom some are members, enough for every count to be at least one."""

    people: int
    members: float
    flagged: float  # of the non-members
    found: float  # of the members, at most
    guessed: float  # of the members, without the output

    @classmethod
    def of(cls, prior: float, fpr: float, tpr: float) -> Crowd:
        """So many that nobody is a fraction: 1,000, 100,000 and so on."""
        people = _DOTS
        while people < _MOST_PEOPLE and people * min(prior * tpr, (1 - prior) * fpr or 1.0) < 1:
            people *= 100
        members = people * prior
        flagged = (people - members) * fpr
        return cls(people, members, flagged, members * tpr, members * fpr)

    @property
    def most(self) -> int:
        """Members found, rounded against whoever publishes."""
        return math.ceil(self.found - 1e-9)

    @property
    def others(self) -> float:
        """Those who are not members."""
        return self.people - self.members


def count(value: float) -> str:
    """How many there are, with a decimal where a few are counted.

    >>> count(9.0), count(4.5), count(1234.5), count(0.25)
    ('9', '4.5', '1,235', '0.25')
    """
    if abs(value - round(value)) < 1e-9 or value >= 100:
        return f"{math.ceil(value - 1e-9):,}"
    return short(value, 2)


def one_decimal(value: float, up: bool) -> str:
    """A share or a count to one decimal, on its safe side; tiny ones by their digits.

    >>> one_decimal(50.000000000000004, True), one_decimal(50.001, True), one_decimal(0.012, True)
    ('50.0', '50.1', '0.012')
    """
    value *= 1 - math.copysign(_ROUNDING, up - 0.5)  # what exceeds by rounding alone is no more
    return (
        f"{to_decimals(value, 1, up):,.1f}" if value >= 0.1 or value == 0 else short(value, 2, up)
    )


def _answer(state: ExploreState) -> Answer:
    subject = parse(state.mechanism)
    curve = curve_of(subject)
    prior = _checks.inside_unit(prior=state.prior)
    readings = risk.summary(curve, prior=prior, fpr=state.fpr, delta=state.delta)
    by_key = {reading.key: reading for reading in readings}
    crowd = Crowd.of(prior, state.fpr, by_key["tpr"].value)
    sentences = risk.words(curve, prior=prior, fpr=state.fpr).splitlines()
    reached = _reached(subject, state.delta)
    return Answer(
        headline=(
            f"An attack finds at most {crowd.most:,} of {count(crowd.members)} members if it flags "
            f"{count(crowd.flagged)} of {count(crowd.others)} non-members."
        ),
        number=f"{crowd.most:,}",
        aside=f"Guessing finds {count(crowd.guessed)}.",
        cards=_cards(state, by_key, crowd, reached),
        people=_people(crowd),
        sentences=(
            f"{text_in_words(state.mechanism)}: {by_key['epsilon']}; {by_key['advantage']}.",
            f"These numbers are {scope(subject)}.",
            *_other_end(reached),
        ),
        drawings=_drawings(state, curve, prior),
        picture=state.picture,
        parts=(
            Words("In words", tuple(sentences)),
            risks_table("In numbers", readings),
        ),
        python=_python(state),
        command=_command(state),
        reports=True,
        certificate="exact" if curve.bound is Bound.EXACT else "guarantee, never less",
        scope=sampling_assumption(subject) or f"These numbers are {scope(subject)}.",
        next=(
            Next("choose", "Too much? Choose the noise", "from the risks you accept"),
            Next("audit", "Does your code keep it? Audit scores", "a file against this claim"),
            Next("compare", "Compare", "with other mechanisms and published releases"),
        ),
    )


def _cards(
    state: ExploreState, by_key: Mapping[str, Reading], crowd: Crowd, reached: Mapping[str, Reading]
) -> tuple[NumberCard, ...]:
    ppv, gain = by_key["ppv"], by_key["advantage"]
    epsilon = by_key["epsilon"]
    beside = presets.REPORTED.get(state.mechanism, "0 without the output")
    if reached:
        beside = f"some attack surely reaches {short(reached['epsilon'].value, 4, False)}"
    return (
        NumberCard(
            "Members found",
            f"{SIGNS[by_key['tpr'].relation]}{one_decimal(crowd.found, True)}",
            f"of {count(crowd.members)}",
            f"guessing finds {count(crowd.guessed)}",
            "TPR",
        ),
        NumberCard(
            "Flagged who are members",
            f"{SIGNS[ppv.relation]}{one_decimal(100 * ppv.value, True)}",
            "of 100",
            f"of 100 picked at random, {count(100 * ppv.baseline)}",
            "PPV",
        ),
        NumberCard(
            "Membership advantage",
            f"{SIGNS[gain.relation]}{one_decimal(100 * gain.value, True)}",
            "points",
            ADVANTAGE_ENDS,
            "membership advantage",
        ),
        NumberCard(
            f"ε at δ = {short(state.delta)}",
            "∞"
            if math.isinf(epsilon.value)
            else f"{SIGNS[epsilon.relation]}{short(epsilon.value, 4, True)}",
            "",
            beside,
            "ε",
        ),
    )


def _people(crowd: Crowd) -> People:
    """Everybody as a dot: flagged ones are filled."""
    each = crowd.people / _DOTS
    few = crowd.members / each < 10  # members have dots of their own where they would be lost
    own = crowd.members / 100 if few else each
    members = IconArray(
        f"{count(crowd.members)} members: at most {one_decimal(crowd.found, True)} found",
        f"Guessing finds {count(crowd.guessed)}.",
        max(1, round(crowd.members / own)),
        crowd.found / own,
        Ink.FIRST,
    )
    others = IconArray(
        f"{count(crowd.others)} non-members: {count(crowd.flagged)} flagged",
        "The false-positive rate is what the attacker accepts.",
        max(1, round(crowd.others / each)),
        crowd.flagged / each,
        Ink.SECOND,
    )
    said = "one person" if each == 1 else f"{count(each)} people"
    caption = f"Each dot is {said}; flagged people stand out."
    if few:
        caption = f"Each dot is {said} ({count(own)} among members); flagged people stand out."
    return People(
        f"These {crowd.people:,} people, after the attack",
        caption,
        (members, others),
        (
            ("found", "member, flagged"),
            ("missed", "member, not flagged"),
            ("wrong", "non-member, flagged"),
        ),
    )


def _drawings(state: ExploreState, curve: TradeoffCurve, prior: float) -> tuple[Drawing, ...]:
    known = [kind for kind, _ in KINDS]
    if state.picture not in known:
        _checks.refuse("picture", f"be one of {', '.join(known)}", state.picture)
    name = text_in_words(state.mechanism)
    drawn = pictures.every({name: curve}, prior)
    return tuple(
        replace(drawn[kind], kind=kind, title=title, spots=tuple(_spots(kind, state, curve, prior)))
        for kind, title in KINDS
    )


def _spots(kind: str, state: ExploreState, curve: TradeoffCurve, prior: float) -> list[Spot]:
    """The attacker that the numbers are about, in each picture."""
    tpr, name = float(curve.tpr(state.fpr)), f"this attack, at FPR {short(state.fpr)}"
    if kind in ("roc", "roc-log"):
        return [Spot(name, state.fpr, tpr, Ink.FIRST, drags=("fpr", ""))]
    if kind == "tradeoff":
        return [Spot(name, state.fpr, 1 - tpr, Ink.FIRST, drags=("fpr", ""))]
    if kind == "precision":
        ppv = float(risk.ppv(curve, prior=prior, fpr=state.fpr))
        return [Spot(name, tpr, ppv, Ink.FIRST)]
    epsilon = float(curve.epsilon(state.delta))
    if state.delta <= 0 or not math.isfinite(epsilon):
        return []
    own = controls.delta_dials("", state.mechanism, state.at_delta)
    drags = ("", "at_delta") if own else None
    return [Spot(f"ε at δ = {short(state.delta)}", epsilon, state.delta, Ink.FIRST, drags=drags)]


def _reached(subject: Subject, delta: float) -> dict[str, Reading]:
    """What some attack surely reaches, where that is not as good as the guarantee."""
    attack = attacked(subject, delta)
    if attack is None:
        return {}
    return {reading.key: reading for reading in risk.summary(attack, delta=delta)}


def _other_end(reached: Mapping[str, Reading]) -> tuple[str, ...]:
    if not reached:
        return ()
    ends = f"{reached['epsilon']}; {reached['advantage']}"
    return (f"The other end, which some attack surely reaches: {ends}.",)


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
    "/explore",
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
