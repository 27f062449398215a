"""Choose: the risks someone accepts, and what they leave of ε, of noise and of accuracy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tellapart import _checks, risk
from tellapart.choose import Choice as Chosen
from tellapart.choose import Frontier, Infeasible, Limit
from tellapart.choose import named_limits as answering
from tellapart.choose.named_limits import ACCEPTED
from tellapart.curve.base import TradeoffCurve
from tellapart.curve.guarantees import guarantee
from tellapart.mechanisms.catalogue import NamedFamily
from tellapart.mechanisms.subject import curve_of
from tellapart.web import _controls, _families, _pictures
from tellapart.web._answer import Answer, Axis, Drawing, Ink, Mark, Spot, Table, Trace
from tellapart.web._controls import (
    Choice,
    Control,
    Dial,
    Group,
    Private,
    Scale,
    Tick,
    at_delta_option,
    told_at,
)
from tellapart.web._view import View
from tellapart.web.views.explore import fpr_dial, prior_dial


@dataclass(frozen=True)
class State:
    """A mechanism, of each limit whether it is on and where it lies, and the attacker."""

    mechanism: str = "laplace:sensitivity=1"
    parameter: str = ""  # the one that is chosen usually
    on_max_advantage: bool = True
    max_advantage: float = 0.1
    on_max_tpr: bool = False
    max_tpr: float = 0.02
    on_max_ppv: bool = False
    max_ppv: float = 0.6
    on_max_precision: bool = False
    max_precision: float = 0.6
    on_max_f_score: bool = False
    max_f_score: float = 0.7
    on_max_posterior: bool = False
    max_posterior: float = 0.7
    on_max_success: bool = False
    max_success: float = 0.6
    on_max_auc: bool = False
    max_auc: float = 0.6
    on_max_epsilon: bool = False
    max_epsilon: float = 1.0
    on_min_bayes_error: bool = False
    min_bayes_error: float = 0.4
    prior: float = 0.5
    fpr: float = 0.01
    recall: float = 0.5
    weight: float = 1.0
    at_delta: float = 1e-5
    certified: bool = False
    picture: str = "cost"

    @property
    def bounds(self) -> dict[str, float]:
        """The limits that are on."""
        return {key: getattr(self, key) for key in ACCEPTED if getattr(self, f"on_{key}")}

    @property
    def attacker(self) -> dict[str, float]:
        """What the risks are about, in the words of `risk.summary`."""
        about = {key: getattr(self, key) for key in ("prior", "fpr", "recall", "weight")}
        return {**about, "delta": told_at(self.mechanism, self.at_delta)}


def command_of(state: State, family: NamedFamily) -> str:
    """The command that makes this choice, and certifies it where it can."""
    limits = [f"--{key.replace('_', '-')} {bound!r}" for key, bound in state.bounds.items()]
    attacker = [
        f"--{key.replace('_', '-')} {getattr(state, key)!r}"
        for key in ("prior", "fpr", "recall", "weight")
    ]
    where = at_delta_option(state.mechanism, state.at_delta)
    start = f"tellapart choose {shlex.quote(state.mechanism)} --parameter {family.parameter}"
    return " ".join([start, *limits, *attacker]) + where


def python_of(
    state: State,
    family: NamedFamily,
    limits: Sequence[Limit],
    certified: bool,
    factors: Sequence[float],
) -> str:
    """The same choice by the library; what it costs at so many times the choice."""
    search = "least" if family.grows_private else "largest"
    whole = ", whole=True" if family.whole else ""
    listed = "".join(f"    {_limit(one)},\n" for one in limits)
    made = f"""\
from tellapart import choose, risk
from tellapart.mechanisms.catalogue import named_family
from tellapart.mechanisms.subject import curve_of

family = named_family({state.mechanism!r}, {family.parameter!r})
limits = [
{listed}]
found = choose.{search}(family.make, limits{whole}, certified={certified})
print(found)
"""
    if not factors:
        return made
    attacker = ", ".join(f"{key}={value!r}" for key, value in state.attacker.items())
    return f"""\
{made}
value = found.short
print(f"{{family.parameter}} = {{value:.10g}}")
for one in risk.summary(curve_of(family.make(value)), {attacker}):
    print(one)
values = [value * factor for factor in {tuple(factors)!r}]
measures = {{limit.name: limit.value for limit in limits}}
print(choose.frontier(family.make, values, measures, name=family.parameter))
"""


def _limit(one: Limit) -> str:
    way = "at_least" if one.least else "at_most"
    arguments = "".join(f", {key}={value!r}" for key, value in one.arguments)
    return f"choose.{way}({one.bound!r}, risk.{one.measure.__name__}{arguments})"


KINDS = (("cost", "Cost"), *(one for one in _pictures.KINDS if one[0] != "region"))
# Risks are drawn as shares of their limits, up to so many times the limit.
_HIGHEST = 2.0


def shares(limit: Limit, value: float) -> float:
    """A risk as a share of its limit: 1 where it is reached, more where it is broken."""
    if limit.least:
        return limit.bound / value if value > 0 else float("inf")
    return value / limit.bound if limit.bound > 0 else float("inf")


def costs(around: Frontier, limits: Sequence[Limit], chosen: float) -> Drawing | None:
    """Every limited risk against the error of the answer, or the parameter where there is none."""
    noisy = around.rows[0].margin is not None
    rows = [(row.margin if noisy else row.parameter, row) for row in around.rows]
    # No error has no place on a logarithmic axis.
    placed = sorted((at, row) for at, row in rows if at)
    if len(placed) < 2:
        return None
    label = _controls.label_of(around.parameter)
    if noisy:
        label = "error: 95 % of the noise lies within ± this"
    traces = [_limit_line(placed[0][0], placed[-1][0])]
    spots = []
    for k, limit in enumerate(limits):
        ink = _pictures.INKS[k % len(_pictures.INKS)]
        points = [(at, shares(limit, row.risks[k])) for at, row in placed]
        kept = [one for one in points if one[1] <= _HIGHEST]
        x, y = zip(*kept, strict=True) if kept else ((), ())
        traces.append(Trace(limit.name, tuple(x), tuple(y), ink))
    for at, row in placed:
        if row.parameter == chosen:
            reached = max(shares(one, x) for one, x in zip(limits, row.risks, strict=True))
            name = f"chosen: {around.parameter} = {chosen:.10g}"
            spots.append(Spot(name, at, reached, Ink.PROMISE, Mark.GOOD))
    told = (
        "Each risk as a share of its limit: above the dashed line a limit is broken. "
        + ("More noise lies to the right." if noisy else "")
    ).strip()
    return Drawing(
        "What the limits cost",
        told,
        Axis(label, placed[0][0], placed[-1][0], log=True),
        Axis("risk, as a share of its limit", 0, _HIGHEST),
        tuple(traces),
        tuple(spots),
    )


def _limit_line(low: float, high: float) -> Trace:
    return Trace("the limit", (low, high), (1.0, 1.0), Ink.CHANCE, dashed=True)


def curve_picture(
    kind: str, name: str, found: TradeoffCurve, limits: Sequence[Limit], prior: float
) -> Drawing:
    """The curve that the choice leaves to an attacker, with the limits that have a place on it."""
    drawn = _pictures.draw(kind, {name: found}, prior)
    if kind not in ("roc", "roc-log"):
        return drawn
    lines: list[Trace] = []
    spots: list[Spot] = []
    for limit in limits:
        arguments = dict(limit.arguments)
        place = _place(limit, arguments)
        if place is not None:
            spots.append(Spot(str(limit), *place, Ink.PROMISE))
        bound = _bound(limit, arguments)
        if bound is not None:
            x = drawn.traces[0].x
            y = [float(one) for one in bound.tpr(x)]
            ink = _pictures.INKS[1 + len(lines)]
            lines.append(Trace(str(limit), x, tuple(y), ink, dashed=True))
    return replace(drawn, traces=(*drawn.traces, *lines), spots=tuple(spots))


def _place(limit: Limit, asked: Mapping[str, float]) -> tuple[float, float] | None:
    """The FPR and TPR at which a limit on one of them is reached."""
    kind = limit.measure.__name__
    if kind == "tpr":
        return asked["fpr"], limit.bound
    if kind not in ("ppv", "precision") or not 0 < limit.bound < 1:
        return None
    # Of the accused, this many are others for each member: what Bayes' rule says.
    others = (1 - limit.bound) / limit.bound * asked["prior"] / (1 - asked["prior"])
    if kind == "ppv":
        found = asked["fpr"], asked["fpr"] / others
    else:
        found = asked["recall"] * others, asked["recall"]
    return found if max(found) <= 1 else None


def _bound(limit: Limit, asked: Mapping[str, float]) -> TradeoffCurve | None:
    """The least private curve that keeps a limit on the advantage or on ε."""
    if limit.measure.__name__ == "advantage" and limit.bound < 1:
        return guarantee(0.0, limit.bound)
    if limit.measure.__name__ == "epsilon" and asked["delta"] < 1:
        return guarantee(limit.bound, asked["delta"])
    return None


# What is accepted: in words, the ends of its dial, and how the way between is divided.
_LOG, _EVEN = Scale.LOG, Scale.LINEAR
LIMITS: dict[str, tuple[str, float, float, Scale]] = {
    "max_advantage": ("advantage: accused members less accused others (TPR − FPR)", 1e-3, 1, _LOG),
    "max_tpr": ("members found at the FPR below", 1e-3, 1, _LOG),
    "max_ppv": ("accusations that are right, at the FPR", 1e-3, 1, _LOG),
    "max_precision": ("accusations that are right, at a recall", 1e-3, 1, _LOG),
    "max_f_score": ("F-score: best mix of precision and recall", 0.01, 1, _EVEN),
    "max_posterior": (
        "belief in membership: the strongest that an output leads to",
        0.01,
        1,
        _EVEN,
    ),
    "max_success": ("how often the attacker is right", 0.5, 1, _EVEN),
    "max_auc": ("AUC: how often a member looks more suspicious than another", 0.5, 1, _EVEN),
    "max_epsilon": ("ε at a δ", 0.01, 20, _LOG),
    "min_bayes_error": ("how often the attacker is wrong", 0.01, 0.5, _EVEN),
}


def _limit_controls(state: State) -> Group:
    found: list[Tick | Dial] = []
    for key, (words, low, high, scale) in LIMITS.items():
        on, value = getattr(state, f"on_{key}"), getattr(state, key)
        short = words.partition(":")[0]
        found.append(Tick(f"on_{key}", words, on))
        if on and key.startswith("min"):
            found.append(Dial(key, f"{short}, at least", value, low, high, scale, Private.LARGER))
        elif on:
            found.append(Dial(key, f"{short}, at most", value, low, high, scale, Private.SMALLER))
    return Group("Risks you accept", tuple(found))


def _attacker_controls(state: State) -> Group:
    """Prior and FPR always; the rest where a limit asks for it."""
    found = [prior_dial(state.prior), fpr_dial(state.fpr)]
    if state.on_max_precision:
        label, ends = "recall: share of members found", ("few of them", "all of them")
        found.append(Dial("recall", label, state.recall, 1e-3, 1, ends=ends))
    if state.on_max_f_score:
        label = "how much more recall counts in the F-score"
        ends = ("precision counts", "recall counts")
        found.append(Dial("weight", label, state.weight, 0.1, 10, ends=ends))
    if state.on_max_epsilon:
        label = "δ at which ε is limited"
        found.extend(_controls.delta_dials(label, state.mechanism, state.at_delta))
    return Group("Attacker", tuple(found))


def _controls_of(state: State) -> list[Control]:
    family = _families.family(state.mechanism, state.parameter)
    found: list[Control] = [
        _limit_controls(state),
        *_families.controls(state.mechanism, state.parameter),
        _attacker_controls(state),
    ]
    if family.slow:
        label = "Confirm by certified curves (takes seconds)"
        found.append(Tick("certified", label, state.certified))
    kinds = KINDS
    return [*found, Choice("picture", "Picture", state.picture, kinds, as_buttons=True)]


def _answer(state: State) -> Answer:
    family = _families.family(state.mechanism, state.parameter)
    _checks.inside_unit(prior=state.prior)
    if not state.bounds:
        return Answer("Switch on a limit", ("Say which risk you accept, and how much of it.",))
    limits = answering.accepted(state.bounds, state.attacker)
    certify = state.certified or not family.slow
    command = command_of(state, family)
    try:
        found, doubt, anyone = _found(state.mechanism, state.parameter, tuple(limits), certify)
    except Infeasible as why:
        said = f"No {family.parameter} keeps these limits"
        python = python_of(state, family, limits, certify, ())
        return Answer(said, (f"{why}.",), Mark.BAD, python=python, command=command)
    if answering.unbound(found):
        said = f"no limit binds: every {family.parameter} of {state.mechanism} keeps them"
        python = python_of(state, family, limits, certify, ())
        return Answer(said, python=python, command=command)
    sentences = answering.explained(family, found, anyone, doubt)
    if not certify:
        sentences.append("The command below confirms it, and may move it to the private side.")
    mark = Mark.PLAIN if doubt else Mark.GOOD
    made = _chosen(state, family, limits, found)
    return replace(made, sentences=tuple(sentences), mark=mark, command=command)


@lru_cache(maxsize=64)
def _found(
    mechanism: str, parameter: str, limits: tuple[Limit, ...], certify: bool
) -> tuple[Chosen, str, float | None]:
    """The choice, what is in doubt about it, and ε for any mechanism.

    Kept, since many dials leave the choice as it is.
    """
    family = _families.family(mechanism, parameter)
    anyone = answering.for_any_mechanism(family, limits)
    return *answering.chosen(family, limits, certify), anyone


def _chosen(state: State, family: NamedFamily, limits: Sequence[Limit], found: Chosen) -> Answer:
    value = found.short
    subject = family.make(value)
    setting = answering.configured(family, value)
    around = answering.cost(family, limits, _values(family, value, state.picture))
    factors = [one for one in answering.AROUND if value * one in _parameters(around)]
    rows = [row for row in around.rows if row.parameter in [value * one for one in factors]]
    spent = replace(around, rows=tuple(rows))
    head, *cells = answering.cost_cells(spent)
    _, *limit_rows = answering.limit_cells(found, subject)
    readings = risk.summary(curve_of(subject), **state.attacker)
    noisy = spent.rows[0].margin is not None
    marked = ["chosen" if row.parameter == value else "" for row in spent.rows]
    note = "Deviation and margin are those of the noise that is added to one answer."
    return Answer(
        headline=f"{setting} for {state.mechanism}{setting.by}",
        drawing=_drawing(state, limits, around, value, curve_of(subject)),
        parts=(
            Table("Your limits", ("limit", "achieved", "what binds"), tuple(limit_rows)),
            Table(
                "What it costs, and what more or less would"
                if noisy
                else "What more or less means",
                (*head, "choice"),
                tuple((*row, word) for row, word in zip(cells, marked, strict=True)),
                note if noisy else "",
            ),
            Table(
                "What else an attacker gains",
                ("risk", "value", "what it is"),
                tuple((one.name, one.shown, one.meaning) for one in readings),
            ),
        ),
        python=python_of(state, family, limits, found.certified, factors),
    )


def _parameters(around: Frontier) -> set[float]:
    return {row.parameter for row in around.rows}


def _values(family: NamedFamily, value: float, picture: str) -> list[float]:
    """Where to look around the choice: as the command does, and more finely for the picture."""
    asked = {value * factor for factor in answering.AROUND}
    if picture == "cost":
        count = 4 if family.slow or family.name.startswith("discrete") else 8
        finer = {value * 2 ** (2 * step / count) for step in range(-count, count + 1)}
        asked |= {float(round(one)) for one in finer if one >= 1} if family.whole else finer
    return sorted(asked)


def _drawing(
    state: State, limits: Sequence[Limit], around: Frontier, value: float, curve: TradeoffCurve
) -> Drawing:
    if state.picture == "cost":
        drawn = costs(around, limits, value)
        if drawn is not None:
            return drawn
    kind = "roc" if state.picture == "cost" else state.picture
    return curve_picture(kind, state.mechanism, curve, limits, state.prior)


VIEW = View(
    "/choose",
    "Choose",
    "Which ε, or how much noise, keeps the risks that you accept?",
    "Tick the risks that matter to you and say how much of each you accept. The answer is the "
    "least noise that keeps them all, and what it costs in accuracy.",
    State,
    _controls_of,
    _answer,
    mechanisms=("mechanism",),
    settle=_families.settle,
)
