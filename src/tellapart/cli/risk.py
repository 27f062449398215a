"""`tellapart risk` and `tellapart region`: what (ε, δ) or a mechanism lets an attacker do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks
from tellapart import risk as measures
from tellapart._numeric.text import short
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, Deltas, asked
from tellapart.cli.options import (
    Attacker,
    Knowledge,
    OutOf,
    Output,
    PictureKind,
    Values,
    Verbose,
    picture_of,
    refuse_half_asked,
)
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.base import Mechanism as AnyMechanism
from tellapart.mechanisms.catalogue import KINDS, SENSITIVITY_ASSUMED, assumes_sensitivity
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, attacked, curve_of, sampling_assumption, scope
from tellapart.risk.catalogue import SENSELESS, Reading, essential, in_words
from tellapart.risk.sentences import rare_outputs

Mechanism = Annotated[
    str,
    Parameter(
        help=f"{', '.join(KINDS)}; or name:key=value,key=value. any is every mechanism with "
        "that ε and δ. Each also takes sampled= (subsampling rate) and repeated= (composition "
        "with itself), and + composes different ones."
    ),
]


def risk(
    mechanism: Mechanism = "any",
    /,
    *,
    values: Values = Values(),
    knowledge: Knowledge = Knowledge(),
    attacker: Attacker = Attacker(),
    at_delta: AtDelta = (),
    out_of: OutOf = None,
    verbose: Verbose = False,
    kind: PictureKind = "both",
    output: Output = Output(),
) -> None:
    r"""Membership inference risk of a mechanism, or of any mechanism with a given ε and δ.

    The attacker sees the output and predicts whether a record was in the data (a member) or not
    (a non-member). FPR is the share of non-members flagged, TPR or recall the share of members
    flagged, PPV or precision the share of those flagged who are members. Each risk stands beside
    its baseline: what an attacker has without the output.

    For example:

        tellapart risk --epsilon 1 --prior 0.01
        tellapart risk laplace --epsilon 1 --fpr 0.001
        tellapart risk gaussian --sigma 2 --json
        tellapart risk staircase:epsilon=1 --plot risk.svg
        tellapart risk gaussian --sigma 2 \
            --plot profile.svg --kind profile
        tellapart risk dpsgd --noise-multiplier 1 \
            --sampling-rate 0.01 --steps 1000
    """
    given = values.given()
    if mechanism == "any" and not given:
        raise InvalidArgument(
            "a guarantee or a mechanism must be given: tellapart risk --epsilon 1, "
            "or tellapart risk laplace --epsilon 1"
        )
    if alone := re.fullmatch(r"(?:epsilon=|ε=)?(\d*\.?\d+)", mechanism):
        raise InvalidArgument(f"ε must be given by its name: tellapart risk --epsilon {alone[1]}")
    subject, name, deltas = asked(mechanism, given, at_delta)
    curve, prior = curve_of(subject), knowledge.prior_inside()
    asked_of = attacker.given()
    refuse_half_asked(asked_of)
    people = None if out_of is None else _checks.whole(1, out_of=out_of)
    with terminal.working("reading every risk off the curve"):
        readings = measures.summary(curve, prior=prior, delta=deltas.every, **asked_of)
        fpr = asked_of["fpr"]
        sentences = measures.words(curve, prior=prior, out_of=people, fpr=fpr).splitlines()
        bounds = in_words(readings)
        attack = attacked(subject, deltas.first)
        about = {"prior": prior, "delta": deltas.every, **asked_of}
        reached = [] if attack is None else measures.summary(attack, **about)

    def text(console: Console) -> None:
        marked = deltas.marked(readings)
        advantage = next((each for each in marked if each.key == "advantage"), marked[0])
        answer = [*deltas.epsilons(marked), advantage]
        terminal.title(console, "; ".join(map(str, answer)), name)
        if any(each.value > SENSELESS for each in deltas.epsilons(marked)):
            terminal.line(console, f"No meaningful privacy: ε is above {short(SENSELESS)}.")
        if verbose and _described(subject):
            terminal.line(console, f"{_described(subject)}.")
        terminal.line(console, f"These numbers are {scope(subject)}.")
        terminal.line(console, f"The attacker's prior probability of membership is {short(prior)}.")
        if assumes_sensitivity(mechanism, **given):
            terminal.line(console, f"{SENSITIVITY_ASSUMED.capitalize()}.")
        if sampling := sampling_assumption(subject):
            terminal.line(console, sampling)
        if reached:
            terminal.line(console, attack_words(deltas, reached))
        console.print()
        shown = marked if verbose else essential(marked, asked_of)
        terminal.readings(console, shown, meanings=verbose)
        console.print()
        certain = rare_outputs(curve, prior=prior)
        first = [*sentences[:3], *filter(None, [certain])]
        for sentence in (*(sentences if verbose else first), *bounds):
            terminal.line(console, sentence)
        if not verbose:
            terminal.hint(console, "--verbose: every risk, and what each means")

    def picture() -> Any:
        about = {"prior": prior, "fpr": asked_of["fpr"], "delta": deltas.first}
        return picture_of(kind, {name: subject}, **about)

    data = {
        "mechanism": name,
        "scope": scope(subject),
        "side": curve.bound.value,
        "prior": prior,
        **deltas.data(),
        "readings": [reading_record(reading) for reading in readings],
        **({"attack": [reading_record(reading) for reading in reached]} if reached else {}),
        "words": [*sentences, *bounds],
    }
    output.give(data, text, picture)


def attack_words(deltas: Deltas, reached: Sequence[Reading]) -> str:
    """The other end: what some attack surely reaches, where no tight bound is known."""
    marked = deltas.marked(reached)
    advantage = next((each for each in marked if each.key == "advantage"), marked[0])
    ends = "; ".join(str(each) for each in (*deltas.epsilons(marked), advantage))
    return f"The other end, which some attack surely reaches: {ends}."


def _described(subject: Subject) -> str:
    if isinstance(subject, Combined):
        steps = sum(count for _, count in subject.steps())
        return f"composition of {steps:,} steps" if steps > 1 else "one step"
    return repr(subject) if isinstance(subject, AnyMechanism) else ""


def reading_record(reading: Reading) -> dict[str, object]:
    """One risk as JSON."""
    return {
        "key": reading.key,
        "name": reading.name,
        "value": reading.value,
        "baseline": reading.baseline,
        "gain": reading.gain,
        "relation": reading.relation,
        "shown": reading.shown,
        "meaning": reading.meaning,
    }
