"""`tellapart choose`: parameters from limits on risks (calibration)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Group, Parameter
from rich.console import Console

from tellapart import risk
from tellapart._checks import refuse
from tellapart._numeric.text import fixed, short
from tellapart.choose.limit import Limit
from tellapart.choose.named_limits import (
    AROUND,
    accepted,
    chosen,
    configured,
    cost,
    cost_cells,
    explained,
    for_any_mechanism,
    limit_cells,
    unbound,
)
from tellapart.choose.training_maps import training_map
from tellapart.choose.utility import noise_error
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, asked_family, deltas_at
from tellapart.cli.options import (
    AttackerOptions,
    Knowledge,
    NumberOptions,
    Output,
    TextOption,
    Values,
    Verbose,
    numbers,
    option_of,
    refuse_half_asked,
)
from tellapart.cli.risk import Mechanism, attack_words, reading_record
from tellapart.curve.base import TradeoffCurve
from tellapart.errors import InvalidArgument, NotCertified
from tellapart.mechanisms.base import Sampling
from tellapart.mechanisms.catalogue import (
    KINDS,
    SENSITIVITY_ASSUMED,
    WORD_PARAMETERS,
    NamedFamily,
    labelled,
    open_parameters,
    terms,
)
from tellapart.mechanisms.subject import Subject, attacked, curve_of, sampling_assumption, scope
from tellapart.mechanisms.training import dp_sgd
from tellapart.risk.catalogue import FPR, OLD_KEYS, PRIOR, limited
from tellapart.risk.sentences import rare_outputs

if TYPE_CHECKING:

    class Limits(NumberOptions):
        """Limits on risks."""

else:
    _beyond = [key for key, (_, accepted_range) in limited().items() if accepted_range.most > 1]
    Limits = numbers(
        "Limits",
        "Limits on risks, one option each.",
        {key: (accepted_range.option, None) for key, (_, accepted_range) in limited().items()}
        | {f"max_{old}": (f"Old name of --max-{new}.", None) for old, new in OLD_KEYS.items()},
        Group(
            f"Limits, at least one; all but {', '.join(map(option_of, _beyond))} from 0 to 1",
            sort_key=0,
        ),
        [f"max_{old}" for old in OLD_KEYS],
    )
_NO_LIMITS = Limits()
_MAP = Group("Map of DP-SGD: both of them, in place of --batch-size and --epochs", sort_key=1)


@Parameter(name="*", group=_MAP)
@dataclass(frozen=True)
class Map:
    """Batch sizes and epochs to be tried in every combination."""

    map_batch_size: Annotated[
        str | None, Parameter(help="Expected batch sizes, such as 64,256,1024.")
    ] = None
    map_epochs: Annotated[str | None, Parameter(help="Numbers of epochs, such as 5,15,60.")] = None


_NO_MAP = Map()


def choose(
    mechanism: Mechanism,
    /,
    *,
    limits: Limits = _NO_LIMITS,
    values: Values = Values(),
    knowledge: Knowledge = Knowledge(),
    attacker: AttackerOptions = AttackerOptions(),
    at_delta: AtDelta = (),
    verbose: Verbose = False,
    map_: Map = _NO_MAP,
    parameter: Annotated[
        TextOption,
        Parameter(
            help="Which parameter to choose, such as epsilon, sigma or scale. By default epsilon "
            "where that alone makes the mechanism, else the noise; for dpsgd, the one that is not "
            "given: noise_multiplier, sampling_rate, steps or another."
        ),
    ] = None,
    output: Output = Output(),
) -> None:
    r"""Calibration: the largest ε, or the least noise, that keeps every risk within its limit.

    The first line is the value to configure, rounded conservatively, with its ε at --delta; then
    comes the binding constraint. --verbose adds every risk and a sensitivity analysis.

    For example:

        tellapart choose laplace --max-f-score 0.76
        tellapart choose gaussian --max-advantage 0.1 \
            --max-ppv 0.05 --prior 0.001
        tellapart choose gaussian --sensitivity 3 \
            --max-epsilon 1 --delta 1e-6
        tellapart choose any --max-tpr 0.02 --plot any.svg
        tellapart choose dpsgd --steps 1000 \
            --sampling-rate 0.01 --max-advantage 0.1
        tellapart choose dpsgd --noise-multiplier 1 \
            --sampling-rate 0.01 --max-epsilon 2
        tellapart choose dpsgd --data-size 60000 \
            --map-batch-size 64,256,1024 --map-epochs 5,15,60 \
            --max-advantage 0.1
    """
    given = values.given()
    bounds = _bounds(limits)
    if map_ != _NO_MAP:
        about = {"prior": knowledge.prior_inside(), **attacker.given()}
        refuse_half_asked(attacker.given(), bounds)
        delta = deltas_at(given.pop("delta", None), at_delta, None).first
        asked = accepted(bounds, {**about, "delta": delta}, option_of)
        _map(mechanism, map_, given, _some(asked), output)
        return
    if "max_epsilon" in bounds and "delta" not in given and len(at_delta) > 1:
        rule = "come with --delta where --at-delta is given more than once"
        refuse("--max-epsilon", rule, bounds["max_epsilon"])
    _refuse_all_given(mechanism, given)
    family, mechanism, deltas = asked_family(mechanism, parameter, given, at_delta)
    prior = knowledge.prior_inside()
    about = {"prior": prior, **attacker.given()}
    refuse_half_asked(attacker.given(), bounds)
    asked = accepted(bounds, {**about, "delta": deltas.first}, option_of)
    _some(asked)
    with terminal.working(f"choosing {family.parameter}"):
        choice, doubt = chosen(family, asked)
    if unbound(choice):
        _unbound(family, mechanism, asked, output)
        return
    value = choice.short
    promised = None if deltas.is_default else deltas.first
    subject = family.make(value)
    with terminal.working("reading every other risk off the curve"):
        others = risk.summary(curve_of(subject), delta=deltas.every, **about)
        spent = cost(family, asked, [value * factor for factor in AROUND])
        anyone = for_any_mechanism(family, asked, promised)
        attack = attacked(subject, deltas.first)
        reached = () if attack is None else risk.summary(attack, delta=deltas.every, **about)
    setting, error = configured(family, value), noise_error(subject)
    readings = deltas.marked(others)

    def text(console: Console) -> None:
        epsilons = ", ".join(map(str, deltas.epsilons(readings)))
        terminal.title(console, str(setting), f"for {mechanism}{setting.by}; {epsilons}")
        if family.parameter == "delta" and "epsilon" in family.fixed:
            terminal.line(console, "--epsilon fixes ε; to limit it, use --max-epsilon.")
        for sentence in explained(family, choice, anyone, doubt, promised):
            terminal.line(console, sentence)
        if sampling := sampling_assumption(subject):
            terminal.line(console, sampling)
        if reached:
            terminal.line(console, attack_words(deltas, reached))
        if error is not None:
            terminal.line(console, f"{str(error).capitalize()}.")
        if "sensitivity" in KINDS[family.name].parameters and "sensitivity" not in family.fixed:
            terminal.line(console, f"{SENSITIVITY_ASSUMED.capitalize()}.")
        for sentence in _fewer_flagged(curve_of(subject), asked, about):
            terminal.line(console, sentence)
        console.print()
        terminal.table(console, limit_cells(choice, subject))
        if not verbose:
            terminal.hint(console, "--verbose: every risk, and a sensitivity analysis")
            return
        console.print()
        terminal.title(console, "Every risk", f"prior probability of membership {short(prior)}")
        terminal.readings(console, readings)
        console.print()
        terminal.title(console, "Sensitivity analysis", f"at other values of {family.parameter}")
        at = [row.parameter for row in spent.rows].index(value)
        terminal.table(console, cost_cells(spent), marked=at)

    def picture() -> Any:
        return _picture(mechanism, subject, family, value, asked)

    data = {
        "mechanism": mechanism,
        "parameter": family.parameter,
        "value": value,
        "configured": setting.values,
        **deltas.data(),
        "epsilon": deltas.epsilons(others)[0].value,
        "unrounded": choice.parameter,
        "rounded": "up" if family.grows_private else "down",
        "scope": scope(subject),
        "certified": choice.certified,
        "any_mechanism": anyone,
        "binding": None if choice.binding is None else str(choice.binding),
        "limits": [
            {"limit": str(limit), "achieved": limit.value(curve_of(subject))} for limit in asked
        ],
        "prior": prior,
        "readings": [reading_record(reading) for reading in others],
        **({"attack": [reading_record(reading) for reading in reached]} if reached else {}),
        "error_of": None if error is None else error.of,
        "frontier": [
            {
                "value": row.parameter,
                "deviation": row.deviation,
                "margin": row.margin,
                "risks": dict(zip((limit.name for limit in asked), row.risks, strict=True)),
            }
            for row in spent.rows
        ],
    }
    output.give(data, text, picture)


def _bounds(limits: Limits) -> dict[str, float]:
    """The limits that were given, those under an old name by the new one."""
    given = limits.given()
    for old, new in OLD_KEYS.items():
        if f"max_{old}" in given:
            if f"max_{new}" in given:
                raise InvalidArgument(
                    f"--max-{new} must be given once; --max-{old} is its old name"
                )
            given[f"max_{new}"] = given.pop(f"max_{old}")
    return given


def _refuse_all_given(mechanism: str, given: Mapping[str, Any]) -> None:
    """Refuse an ε that completes the mechanism: nothing is left to be chosen."""
    if (
        "epsilon" in given
        and len(terms(mechanism)) == 1
        and not open_parameters(mechanism, **given)
    ):
        epsilon = short(given["epsilon"])
        raise InvalidArgument(
            f"--epsilon must be left out where it leaves nothing to choose, got {epsilon}; did you "
            f"mean --max-epsilon {epsilon}?"
        )


def _some(limits: list[Limit]) -> list[Limit]:
    if not limits:
        raise InvalidArgument("at least one limit must be given, such as --max-advantage 0.1")
    return limits


def _map(
    mechanism: str, asked: Map, given: dict[str, Any], limits: list[Limit], output: Output
) -> None:
    """The noise multiplier for each batch size and number of epochs."""
    term, *more = terms(mechanism)
    known = {**term.values, **given}
    if term.name != "dpsgd" or more or not set(known) <= {"data_size", "scheme"}:
        rule = "come with dpsgd and --data-size, and with no other parameter of it"
        typed = asked.map_batch_size or asked.map_epochs
        refuse("--map-batch-size and --map-epochs", rule, f"{labelled(mechanism, given)}, {typed}")
    if asked.map_batch_size is None or asked.map_epochs is None or "data_size" not in known:
        raise InvalidArgument(
            "a map must have --map-batch-size, --map-epochs and --data-size, such as "
            "--map-batch-size 64,256 --map-epochs 5,15 --data-size 60000"
        )
    words = WORD_PARAMETERS["scheme"]
    scheme = cast(Sampling, words.words[known.get("scheme", words.usual)][0])
    with terminal.working("choosing the noise multiplier of each cell"):
        noise = training_map(
            data_size=known["data_size"],
            batches=_numbers("--map-batch-size", asked.map_batch_size),
            epochs=_numbers("--map-epochs", asked.map_epochs),
            limits=limits,
            scheme=scheme,
        )
    step = dp_sgd(1.0, sampling_rate=0.5, steps=2, scheme=scheme)

    def text(console: Console) -> None:
        rest = f"for dpsgd:data_size={noise.data_size}, by batch size and epochs"
        terminal.title(console, "noise_multiplier", rest)
        terminal.line(console, f"Keeps {', '.join(map(str, limits))}.")
        terminal.line(console, "Rounded conservatively: up, by at most 0.1 %.")
        terminal.line(console, "In brackets: noise on the mean gradient, in clipping norms.")
        terminal.line(console, sampling_assumption(step))
        console.print()
        head, *rows = noise.cells()
        terminal.table(console, [("batch", *head[1:]), *rows])

    def picture() -> Any:
        from tellapart import plot

        return plot.training_map(noise)

    cells = [
        {
            "batch_size": batch,
            "epochs": epochs,
            "noise_multiplier": multiplier,
            "gradient_noise": off,
            "binding": None if binding is None else str(binding),
        }
        for batch, *columns in zip(
            noise.batches, noise.noise_multipliers, noise.gradient_noise, noise.binding, strict=True
        )
        for epochs, multiplier, off, binding in zip(noise.epochs, *columns, strict=True)
    ]
    data = {
        "mechanism": "dpsgd",
        "data_size": noise.data_size,
        "limits": [str(limit) for limit in limits],
        "cells": cells,
    }
    output.give(data, text, picture)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return refuse(option, "be numbers with commas between them, such as 64,256", text)


def _fewer_flagged(
    curve: TradeoffCurve, limits: list[Limit], about: Mapping[str, float]
) -> list[str]:
    """What limits at one FPR leave open: an attacker who flags fewer people can be surer."""
    said, fpr, prior = [], about[FPR.key], about[PRIOR.key]
    if any(FPR.key in dict(limit.arguments) for limit in limits):
        typed = any(word.partition("=")[0] == "--fpr" for word in terminal.typed.get())
        usual = "" if typed else " (default)"
        said.append(f"The limit is at FPR {short(fpr)}{usual}")
        with suppress(NotCertified):  # a curve may have no digits that far down
            here, *fewer = (
                fixed(float(risk.ppv(curve, fpr=rate, prior=prior)), up=True)
                for rate in (fpr, fpr / 10, fpr / 100)
            )
            if here != fewer[-1]:
                said[0] += (
                    "; an attacker who flags fewer people can be surer: "
                    f"PPV {fewer[0]} at FPR {short(fpr / 10)}, {fewer[1]} at FPR {short(fpr / 100)}"
                )
        said[0] += "."
    if certain := rare_outputs(curve, prior=prior):
        said.append(certain)
    return said


def _unbound(family: NamedFamily, mechanism: str, limits: list[Limit], output: Output) -> None:
    """Every parameter keeps the limits: there is nothing to choose."""
    said = f"no binding constraint: every {family.parameter} of {mechanism} keeps the limits"

    def picture() -> Any:
        refuse("limits", "be binding for a picture", [str(limit) for limit in limits])

    data = {"mechanism": mechanism, "parameter": family.parameter, "value": None, "binding": None}
    output.give(data, lambda console: terminal.title(console, said), picture)


def _picture(name: str, subject: Subject, family: NamedFamily, value: float, limits: Any) -> Any:
    from tellapart import plot

    # Answers that are numbers are cheap to ask for; trainings are asked nearer to what was chosen.
    octaves = 4 if noise_error(subject) else 2
    values = [value * 2 ** (step / 4) for step in range(-4 * octaves, 4 * octaves + 1)]
    if family.whole:
        values = sorted({max(1, round(each)) for each in values} | {value})
    around = cost(family, limits, values)
    by_error = tuple(row for row in around.rows if row.margin)  # no error: no place on a log axis
    rows = by_error if len(by_error) > 1 else around.rows
    if len(rows) < 2:
        return plot.compare({name: subject})
    chosen = value if any(row.parameter == value for row in rows) else None
    return plot.frontier(replace(around, rows=rows), chosen=chosen, limits=limits)
