"""The command that chooses: from risks someone can accept to a parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from cyclopts import Group, Parameter
from rich.console import Console

from tellapart import _checks, risk
from tellapart import choose as choosing
from tellapart._checks import refuse
from tellapart._numeric.rounding import fixed, to_decimals, to_digits
from tellapart.choose import Choice, Frontier, Infeasible, Limit, at_least, at_most
from tellapart.cli import show
from tellapart.cli.options import Knowledge, Option, Output, Values
from tellapart.cli.theory import Fpr, Mechanism, label, reading
from tellapart.curve.guarantees import guarantee
from tellapart.errors import InvalidArgument, NotCertified
from tellapart.mechanisms.combine import Combined
from tellapart.mechanisms.named import NamedFamily, named_family
from tellapart.mechanisms.subject import Subject, curve_of, scope


@Parameter(name="*", group=Group("Limits", sort_key=1))
@dataclass(frozen=True)
class Limits:
    """The risks someone can accept, one option each."""

    max_advantage: Annotated[Option, Parameter(help="Largest TPR − FPR.")] = None
    max_tpr: Annotated[Option, Parameter(help="Members found at --fpr.")] = None
    max_ppv: Annotated[Option, Parameter(help="Accusations that are right at --fpr.")] = None
    max_precision: Annotated[Option, Parameter(help="Accusations that are right at --recall.")] = (
        None
    )
    max_f_score: Annotated[Option, Parameter(help="Best F-score with --weight.")] = None
    max_posterior: Annotated[Option, Parameter(help="Strongest belief in membership.")] = None
    max_success: Annotated[Option, Parameter(help="How often an attacker is right.")] = None
    min_bayes_error: Annotated[Option, Parameter(help="How often it is wrong.")] = None
    max_auc: Annotated[Option, Parameter(help="Area under the ROC curve.")] = None
    max_epsilon: Annotated[Option, Parameter(help="The usual number, at --at-delta.")] = None

    def listed(
        self, prior: float, fpr: float, recall: float, weight: float, at_delta: float
    ) -> list[Limit]:
        """The limits that were given, for this attacker."""
        known: list[tuple[float | None, Any, dict[str, float]]] = [
            (self.max_advantage, risk.advantage, {}),
            (self.max_tpr, risk.tpr, {"fpr": fpr}),
            (self.max_ppv, risk.ppv, {"fpr": fpr, "prior": prior}),
            (self.max_precision, risk.precision, {"recall": recall, "prior": prior}),
            (self.max_f_score, risk.f_score, {"weight": weight, "prior": prior}),
            (self.max_posterior, risk.max_posterior, {"prior": prior}),
            (self.max_success, risk.success, {"prior": prior}),
            (self.max_auc, risk.auc, {}),
            (self.max_epsilon, risk.epsilon, {"delta": at_delta}),
        ]
        for option, bound in asdict(self).items():
            if bound is not None and option != "max_epsilon":
                _checks.probability(**{f"--{option.replace('_', '-')}": bound})
        found = [at_most(bound, f, **args) for bound, f, args in known if bound is not None]
        if self.min_bayes_error is not None:
            found.append(at_least(self.min_bayes_error, risk.bayes_error, prior=prior))
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
    at_delta: Annotated[float, Parameter(help="The δ at which to report or limit ε.")] = 1e-5,
    parameter: Annotated[
        str | None,
        Parameter(
            help="Which parameter to choose, such as epsilon, sigma or scale. By default ε "
            "where the mechanism has one, else the noise; of dpsgd, whatever is left open: "
            "noise_multiplier, sampling_rate, steps or another.",
            show_default=False,
        ),
    ] = None,
    output: Output = Output(),
) -> None:
    r"""The largest ε, or the least noise, that keeps every risk within its limit.

    The answer is rounded to the private side, and says whether it is for the named mechanism or
    for any mechanism.

    For example:

        tellapart choose laplace --max-f-score 0.76
        tellapart choose gaussian --max-advantage 0.1 \
            --max-ppv 0.05 --prior 0.001
        tellapart choose gaussian:delta=1e-6,sensitivity=3 \
            --min-bayes-error 0.4
        tellapart choose any --max-tpr 0.02 --plot any.svg
        tellapart choose dpsgd --steps 1000 \
            --sampling-rate 0.01 --max-advantage 0.1
        tellapart choose dpsgd --noise-multiplier 1 \
            --sampling-rate 0.01 --max-epsilon 2
    """
    given = values.given()
    family = named_family(mechanism, parameter, **given)
    mechanism = label(mechanism, given)
    prior = knowledge.prior_inside()
    asked = limits.listed(prior, fpr, recall, weight, at_delta)
    search = choosing.least if family.grows_private else choosing.largest
    with show.working(f"choosing {family.parameter}"):
        found, doubt = _found(search, family, asked)
    if found.binding is None and not 1e-11 < found.parameter < 1e11:
        _unbound(family, mechanism, asked, output)
        return
    value = _rounded(found)
    subject = family.make(value)
    with show.working("reading every other risk off the curve"):
        others = risk.summary(
            curve_of(subject), prior=prior, fpr=fpr, recall=recall, weight=weight, delta=at_delta
        )
        cost = _cost(family, asked, [value * factor for factor in (0.25, 0.5, 1.0, 2.0, 4.0)])
        anyone = _for_any_mechanism(family, asked)

    def text(console: Console) -> None:
        show.title(console, f"{family.parameter} = {value:.10g}", f"for {mechanism}")
        for sentence in _explained(family, found, anyone, doubt):
            show.line(console, sentence)
        console.print()
        show.table(console, _limit_cells(found, subject))
        console.print()
        show.title(console, "What else an attacker gains", f"with prior {prior:g}")
        show.readings(console, others)
        console.print()
        if cost.rows[0].margin is None:
            show.title(console, "What more or less", "would mean")
        else:
            show.title(console, "What it costs", "and what more or less would")
        at = [row.parameter for row in cost.rows].index(value)
        show.table(console, _cost_cells(cost), marked=at)

    def picture() -> Any:
        return _picture(mechanism, subject, family, value, asked)

    data = {
        "mechanism": mechanism,
        "parameter": family.parameter,
        "value": value,
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
                "risks": dict(zip(cost.measures, row.risks, strict=True)),
            }
            for row in cost.rows
        ],
    }
    output.give(data, text, picture)


def _unbound(family: NamedFamily, mechanism: str, limits: list[Limit], output: Output) -> None:
    """Every parameter keeps the limits: there is nothing to choose."""
    said = f"no limit binds: every {family.parameter} of {mechanism} keeps them"

    def picture() -> Any:
        refuse("limits", "bind for a picture", [str(one) for one in limits])

    data = {"mechanism": mechanism, "parameter": family.parameter, "value": None, "binding": None}
    output.give(data, lambda console: show.title(console, said), picture)


def _rounded(found: Choice) -> float:
    """Four decimals to the private side; four digits where those would be too coarse."""
    up = not found.rounds_down
    if found.parameter < 0.01:
        return to_digits(found.parameter, 4, up)
    return to_decimals(found.parameter, 4, up)


def _for_any_mechanism(family: NamedFamily, limits: list[Limit]) -> float | None:
    """The ε that is safe whatever the mechanism, where the question makes sense."""
    if family.parameter != "epsilon" or family.name == "any" or family.composed:
        return None
    delta = family.fixed.get("delta", 0.0)
    try:
        return _rounded(choosing.largest(lambda epsilon: guarantee(epsilon, delta), limits))
    except Infeasible:
        return None


def _found(
    search: Callable[..., Choice], family: NamedFamily, limits: list[Limit]
) -> tuple[Choice, str]:
    """The choice, confirmed by certified curves; or why it is not."""
    try:
        return search(family.make, limits, whole=family.whole, certified=True), ""
    except NotCertified as doubt:
        return search(family.make, limits, whole=family.whole), str(doubt)


def _explained(family: NamedFamily, found: Choice, anyone: float | None, doubt: str) -> list[str]:
    least = family.grows_private
    said = [
        f"The {'least' if least else 'largest'} {family.parameter} that keeps every limit, "
        f"rounded {'up' if least else 'down'} from {found.parameter:.10g}."
    ]
    if found.binding is None:
        said.append("No limit binds: the mechanism is not defined beyond.")
    else:
        said.append(f"What binds is {found.binding}.")
    said.append(f"This number is {found.scope}.")
    if doubt:
        said.append(f"It is right to about nine digits, but not certified: {doubt}.")
    elif isinstance(found.subject, Combined):
        said.append("Certified: curves with every error counted keep the limits, too.")
    if anyone is not None:
        delta = family.fixed.get("delta", 0.0)
        promise = f"(ε, δ = {delta:g})-DP" if delta else "ε-DP"
        said.append(f"Whatever the mechanism, {promise} with ε = {anyone:.10g} keeps the limits.")
    return said


def _limit_cells(found: Choice, subject: Subject) -> list[tuple[str, str, str]]:
    curve = curve_of(subject)
    rows = [
        (str(one), fixed(one.value(curve), not one.least), "binds" * (one is found.binding))
        for one, _ in found.achieved
    ]
    return [("limit", "achieved", ""), *rows]


def _cost(family: NamedFamily, limits: list[Limit], values: list[float]) -> Frontier:
    """The frontier at those values that the family has, and has an answer for."""
    return choosing.frontier(
        family.make,
        [value for value in values if _answers(family, limits, value)],
        {limit.name: limit.value for limit in limits},
        name=family.parameter,
    )


def _cost_cells(cost: Frontier) -> list[tuple[str, ...]]:
    """The table, without its errors where there are none."""
    if cost.rows[0].margin is None:
        return [(row[0], *row[3:]) for row in cost.cells()]
    return list(cost.cells())


def _answers(family: NamedFamily, limits: list[Limit], value: float) -> bool:
    try:
        curve = curve_of(family.make(value))
        for limit in limits:
            limit.value(curve)
    except (InvalidArgument, NotCertified):
        return False
    return True


def _picture(name: str, subject: Subject, family: NamedFamily, value: float, limits: Any) -> Any:
    from tellapart import plot

    around = _cost(family, limits, [value * 2 ** (step / 4) for step in range(-16, 17)])
    rows = tuple(row for row in around.rows if row.margin)  # no error has no place on a log axis
    if len(rows) < 2:
        return plot.compare({name: subject})
    chosen = value if any(row.parameter == value for row in rows) else None
    return plot.frontier(replace(around, rows=rows), chosen=chosen)
