"""`tellapart risk` and `tellapart region`: what (ε, δ) or a mechanism lets an attacker do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from tellapart import _checks
from tellapart import risk as measures
from tellapart._numeric.text import fixed, related, short
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, Deltas, asked
from tellapart.cli.options import (
    ATTACKER,
    AttackerOptions,
    Knowledge,
    Option,
    OutOf,
    Output,
    PictureKind,
    Values,
    Verbose,
    picture_of,
    refuse_half_asked,
    refuse_undrawn,
)
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import nothing
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.base import Mechanism as AnyMechanism
from tellapart.mechanisms.catalogue import KINDS, SENSITIVITY_ASSUMED, assumes_sensitivity
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.subject import Subject, attacked, curve_of, sampling_assumption, scope
from tellapart.risk.catalogue import MEASURES, PRIOR, SENSELESS, Reading, essential, in_words
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
    attacker: AttackerOptions = AttackerOptions(),
    at_delta: AtDelta = (),
    prior_to: Annotated[
        Option,
        Parameter(
            group=ATTACKER,
            help="For a prior that is only known to lie between --prior and this: also the most "
            "that any attacker has, whichever prior is true.",
        ),
    ] = None,
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
        tellapart risk --epsilon 1 --prior 0.01 --prior-to 0.1
        tellapart risk laplace --epsilon 1 --fpr 0.001
        tellapart risk gaussian --sigma 2 --json
        tellapart risk staircase:epsilon=1 --plot risk.svg
        tellapart risk gaussian --sigma 2 \
            --plot profile.svg --kind profile
        tellapart risk dpsgd --noise-multiplier 1 \
            --sampling-rate 0.01 --steps 1000
    """
    refuse_undrawn(kind, output)
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
    ranged = _over_range(curve, prior, prior_to, asked_of)
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
        known = f"is {short(prior)}"
        if ranged:
            known = (
                f"lies between {short(prior)} and {short(ranged['high'])}; first for {short(prior)}"
            )
        terminal.line(console, f"The attacker's prior probability of membership {known}.")
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
        if ranged:
            span = f"For every prior from {short(prior)} to {short(ranged['high'])}, no attacker"
            terminal.line(console, f"{span} exceeds:")
            head = ("risk", "without the output", "with it")
            rows = (
                (row["name"], fixed(row["baseline"], True), row["shown"]) for row in ranged["most"]
            )
            terminal.table(console, [head, *rows])
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
        **({"prior_range": ranged} if ranged else {}),
    }
    output.give(data, text, picture)


def _over_range(
    curve: TradeoffCurve, low: float, high: float | None, about: Mapping[str, float]
) -> dict[str, Any]:
    """The most that any attacker has of each risk, whichever prior from low to high is true."""
    if high is None:
        return {}
    from tellapart.worlds import PriorRange  # which other questions do not need

    if not low <= _checks.probability(**{"--prior-to": high}) < 1:
        _checks.refuse("--prior-to", f"lie between --prior ({short(low)}) and 1", high)
    span = PriorRange(low, high)
    most = []
    for measure in MEASURES.values():
        takes = [argument.key for argument in measure.arguments]
        if PRIOR.key not in takes or measure.smaller_is_worse:
            continue
        given = {key: about[key] for key in takes if key != PRIOR.key}
        value = span.defender_bound(curve, measure.function, **given)
        blind = span.defender_bound(nothing(), measure.function, **given)
        name = measure.named(**given)
        row = {"key": measure.key, "name": name, "value": value, "baseline": blind}
        most.append({**row, "shown": related("≤", value)})
    return {"low": low, "high": high, "most": most}


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
