"""Choose: the risks someone accepts, and what they leave of ε, of noise and of accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tellapart import _checks, risk
from tellapart.choose import Choice as Chosen
from tellapart.choose import Frontier, Infeasible, Limit
from tellapart.choose import _answering as answering
from tellapart.curve.base import TradeoffCurve
from tellapart.mechanisms.named import NamedFamily
from tellapart.mechanisms.subject import curve_of
from tellapart.web import _controls, _families
from tellapart.web._answer import Answer, Drawing, Mark, Table
from tellapart.web._controls import Choice, Control, Dial, Group, Private, Scale, Tick
from tellapart.web._view import View
from tellapart.web.views import _choose_code, _choose_pictures
from tellapart.web.views._choose_state import State
from tellapart.web.views.explore import fpr_dial, prior_dial

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
    kinds = _choose_pictures.KINDS
    return [*found, Choice("picture", "Picture", state.picture, kinds, as_buttons=True)]


def _answer(state: State) -> Answer:
    family = _families.family(state.mechanism, state.parameter)
    _checks.inside_unit(prior=state.prior)
    if not state.bounds:
        return Answer("Switch on a limit", ("Say which risk you accept, and how much of it.",))
    limits = answering.accepted(state.bounds, state.attacker)
    certify = state.certified or not family.slow
    command = _choose_code.command(state, family)
    try:
        found, doubt, anyone = _found(state.mechanism, state.parameter, tuple(limits), certify)
    except Infeasible as why:
        said = f"No {family.parameter} keeps these limits"
        python = _choose_code.python(state, family, limits, certify, ())
        return Answer(said, (f"{why}.",), Mark.BAD, python=python, command=command)
    if answering.unbound(found):
        said = f"no limit binds: every {family.parameter} of {state.mechanism} keeps them"
        python = _choose_code.python(state, family, limits, certify, ())
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
        python=_choose_code.python(state, family, limits, found.certified, factors),
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
        drawn = _choose_pictures.costs(around, limits, value)
        if drawn is not None:
            return drawn
    kind = "roc" if state.picture == "cost" else state.picture
    return _choose_pictures.curve(kind, state.mechanism, curve, limits, state.prior)


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
