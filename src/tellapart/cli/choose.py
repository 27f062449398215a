"""The command that chooses: from risks someone can accept to a parameter."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console

from tellapart import risk
from tellapart._checks import refuse
from tellapart.choose import Limit
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
from tellapart.cli import terminal
from tellapart.cli.deltas import AtDelta, Deltas, asked_family
from tellapart.cli.options import Knowledge, Option, Output, Values
from tellapart.cli.risk import Fpr, Mechanism, reading
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.mechanisms.subject import Subject, curve_of, scope


@Parameter(
    name="*", group=Group("Limits, at least one; all but --max-epsilon from 0 to 1", sort_key=0)
)
@dataclass(frozen=True)
class Limits:
    """The risks someone can accept, one option each."""

    max_advantage: Annotated[
        Option, Parameter(help="How much more often members are accused than others, TPR − FPR.")
    ] = None
    max_tpr: Annotated[Option, Parameter(help="Share of members found at --fpr.")] = None
    max_ppv: Annotated[Option, Parameter(help="Share of accusations that are right at --fpr.")] = (
        None
    )
    max_precision: Annotated[
        Option, Parameter(help="Share of accusations that are right at --recall.")
    ] = None
    max_f_score: Annotated[
        Option, Parameter(help="Best mix of precision and recall, with --weight.")
    ] = None
    max_posterior: Annotated[
        Option, Parameter(help="Strongest belief in membership that an output leads to.")
    ] = None
    max_success: Annotated[Option, Parameter(help="How often an attacker is right, at best.")] = (
        None
    )
    min_bayes_error: Annotated[
        Option, Parameter(help="How often an attacker is wrong, at best.")
    ] = None
    max_auc: Annotated[
        Option, Parameter(help="How often a member is ranked above another person.")
    ] = None
    max_epsilon: Annotated[Option, Parameter(help="The usual number, ε at --delta.")] = None

    def listed(
        self, prior: float, fpr: float, recall: float, weight: float, deltas: Deltas
    ) -> list[Limit]:
        """The limits that were given, for this attacker."""
        attacker = {
            "prior": prior,
            "fpr": fpr,
            "recall": recall,
            "weight": weight,
            "delta": deltas.first,
        }
        given = {key: bound for key, bound in asdict(self).items() if bound is not None}
        found = accepted(given, attacker, lambda key: f"--{key.replace('_', '-')}")
        if not found:
            raise InvalidArgument("limits must hold at least one, such as --max-advantage 0.1")
        return found


def choose(
    mechanism: Mechanism,
    /,
    *,
    limits: Limits = Limits(),
    values: Values = Values(),
    knowledge: Knowledge = Knowledge(),
    fpr: Fpr = 0.01,
    recall: Annotated[float, Parameter(help="Share of members found.")] = 0.5,
    weight: Annotated[float, Parameter(help="How much more recall counts in the F-score.")] = 1.0,
    at_delta: AtDelta = (),
    parameter: Annotated[
        str | None,
        Parameter(
            help="Which parameter to choose, such as epsilon, sigma or scale. By default ε "
            "where that alone makes the mechanism, else the noise; of dpsgd, whatever is left "
            "open: noise_multiplier, sampling_rate, steps or another.",
            show_default=False,
        ),
    ] = None,
    output: Output = Output(),
) -> None:
    r"""The largest ε, or the least noise, that keeps every risk within its limit.

    The answer is rounded to the private side, and says whether it is for the named mechanism or
    for any mechanism. Its first line is the number to configure; then comes ε at --delta.

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
    """
    given = values.given()
    if limits.max_epsilon is not None and "delta" not in given and len(at_delta) > 1:
        rule = "come with --delta where --at-delta is given more than once"
        refuse("--max-epsilon", rule, limits.max_epsilon)
    family, mechanism, deltas = asked_family(mechanism, parameter, given, at_delta)
    prior = knowledge.prior_inside()
    asked = limits.listed(prior, fpr, recall, weight, deltas)
    with terminal.working(f"choosing {family.parameter}"):
        found, doubt = chosen(family, asked)
    if unbound(found):
        _unbound(family, mechanism, asked, output)
        return
    value = found.short
    promised = None if deltas.is_default else deltas.first
    subject = family.make(value)
    with terminal.working("reading every other risk off the curve"):
        others = risk.summary(
            curve_of(subject),
            prior=prior,
            fpr=fpr,
            recall=recall,
            weight=weight,
            delta=deltas.every,
        )
        spent = cost(family, asked, [value * factor for factor in AROUND])
        anyone = for_any_mechanism(family, asked, promised)
    setting = configured(family, value)
    told = deltas.marked(others)

    def text(console: Console) -> None:
        terminal.title(console, str(setting), f"for {mechanism}{setting.by}")
        terminal.line(console, f"{', '.join(map(str, told[-len(deltas.every) :]))}.")
        for sentence in explained(family, found, anyone, doubt, promised):
            terminal.line(console, sentence)
        console.print()
        terminal.table(console, limit_cells(found, subject))
        console.print()
        terminal.title(console, "What else an attacker gains", f"with prior {prior:g}")
        terminal.readings(console, told)
        console.print()
        if spent.rows[0].margin is None:
            terminal.title(console, "What more or less", "would mean")
        else:
            terminal.title(console, "What it costs", "and what more or less would")
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
        "epsilon": others[-len(deltas.every)].value,
        "unrounded": found.parameter,
        "rounded": "up" if family.grows_private else "down",
        "scope": scope(subject),
        "certified": found.certified,
        "any_mechanism": anyone,
        "binding": None if found.binding is None else str(found.binding),
        "limits": [{"limit": str(one), "achieved": one.value(curve_of(subject))} for one in asked],
        "prior": prior,
        "readings": [reading(one) for one in others],
        "frontier": [
            {
                "value": row.parameter,
                "deviation": row.deviation,
                "margin": row.margin,
                "risks": dict(zip(spent.measures, row.risks, strict=True)),
            }
            for row in spent.rows
        ],
    }
    output.give(data, text, picture)


def _unbound(family: NamedFamily, mechanism: str, limits: list[Limit], output: Output) -> None:
    """Every parameter keeps the limits: there is nothing to choose."""
    said = f"no limit binds: every {family.parameter} of {mechanism} keeps them"

    def picture() -> Any:
        refuse("limits", "bind for a picture", [str(one) for one in limits])

    data = {"mechanism": mechanism, "parameter": family.parameter, "value": None, "binding": None}
    output.give(data, lambda console: terminal.title(console, said), picture)


def _picture(name: str, subject: Subject, family: NamedFamily, value: float, limits: Any) -> Any:
    from tellapart import plot

    around = cost(family, limits, [value * 2 ** (step / 4) for step in range(-16, 17)])
    rows = tuple(row for row in around.rows if row.margin)  # no error has no place on a log axis
    if len(rows) < 2:
        return plot.compare({name: subject})
    chosen = value if any(row.parameter == value for row in rows) else None
    return plot.frontier(replace(around, rows=rows), chosen=chosen)
