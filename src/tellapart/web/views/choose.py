"""Choose: calibration to limits on risks, and what that costs in ε, noise and accuracy."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from tellapart import _checks, risk
from tellapart import report as reporting
from tellapart.choose import Infeasible
from tellapart.choose import named_limits as answering
from tellapart.choose.calibrate import Choice
from tellapart.choose.frontiers import Frontier
from tellapart.choose.limit import Limit
from tellapart.decision import Decision
from tellapart.decision.answer import DecisionAnswer as Solved
from tellapart.drawing.record import Drawing, Mark
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import NamedFamily, Term, terms
from tellapart.mechanisms.subject import curve_of, sampling_assumption
from tellapart.report.decision_model import DecisionDocument
from tellapart.risk.catalogue import DELTA, FPR, PRIOR, Reading, arguments, in_words, limited
from tellapart.web import controls, record
from tellapart.web.answer import Answer, Next, Table, Words, risks_table
from tellapart.web.controls import (
    Control,
    ControlGroup,
    Dial,
    Select,
    Tick,
    at_delta_option,
    told_at,
)
from tellapart.web.view import Dropped, Packed, View, read_state
from tellapart.web.views import choice_cards, decided, families, limits_drawn, schedules

_NO_RECORD = Packed("")


@dataclass(frozen=True)
class _ChooseFields:
    """A mechanism, of each limit whether it is on and where it lies, and the attacker.

    With a ``record``, a whole decision, all of these are in it, and ``who`` of its attackers is
    shown in the controls.
    """

    mechanism: str = "laplace:sensitivity=1"
    parameter: str = ""  # the one that is chosen usually
    at_delta: float = DELTA.default
    certified: bool = True
    picture: str = "cost"
    record: Packed = _NO_RECORD
    who: int = 1

    @property
    def bounds(self) -> dict[str, float]:
        """The limits that are on."""
        return {key: getattr(self, key) for key in limited() if getattr(self, f"on_{key}")}

    @property
    def about(self) -> dict[str, float]:
        """The attacker, but for the δ of every ε."""
        asked = {each.key for key in self.bounds for each in limited()[key][0].arguments}
        return {
            key: getattr(self, key)
            for key, argument in arguments().items()
            if key != DELTA.key and (key in asked or not argument.required)
        }

    @property
    def attacker(self) -> dict[str, float]:
        """What the risks are about, in the words of `risk.summary`."""
        return {**self.about, DELTA.key: told_at(self.mechanism, self.at_delta)}


if TYPE_CHECKING:
    ChooseState = _ChooseFields
else:  # with fields for each limit, of which the first is on, and for each argument of a measure
    _LIMITS = [(key, accepted) for key, (_, accepted) in limited().items()]
    ChooseState = make_dataclass(
        "ChooseState",
        [
            *((f"on_{key}", bool, key == _LIMITS[0][0]) for key, _ in _LIMITS),
            *((key, float, accepted.start) for key, accepted in _LIMITS),
            *(
                (key, float, argument.default)
                for key, argument in arguments().items()
                if argument is not DELTA
            ),
        ],
        bases=(_ChooseFields,),
        frozen=True,
        namespace={"__doc__": _ChooseFields.__doc__, "__module__": __name__},
    )


# Beside a record, a state has these; all else is in the record.
_BESIDE = ("record", "who", "certified", "picture")


def begun(state: ChooseState) -> Decision:
    """The record of what is set, with TODO for all that these controls do not ask."""
    family = families.family(state.mechanism, state.parameter)
    return record.begun(
        state.mechanism, family.parameter, state.bounds, state.attacker, state.attacker[DELTA.key]
    )


def decision_of(state: ChooseState) -> Decision:
    """The decision that a state describes: what `tellapart decide` reads from a file."""
    return record.unpacked(state.record) if state.record else begun(state)


def _settled(values: Mapping[str, Any], changed: str | None) -> dict[str, Any]:
    """Values in which a record, where there is one, has all that was set on the page."""
    settled = families.settle_family(values, changed)
    if settled.get("record"):
        return _in_record(settled, changed)
    first = record.unsaid_texts()
    said = {path: settled[path] for path in first if settled.get(path, first[path]) != first[path]}
    if not said and settled.get("who") != decided.NEW:
        return settled
    made = record.edited(begun(read_state(ChooseState, {**settled, "who": 1})), said)
    return _in_record({**settled, "record": record.packed(made)}, "record")


def _in_record(settled: dict[str, Any], changed: str | None) -> dict[str, Any]:
    before = record.unpacked(str(settled["record"]))
    if changed is None:
        named = [each.name for each in fields(ChooseState)]
        passed = (*_BESIDE, "mechanism", "prior", "fpr", "at_delta")  # for other views
        twice = [key for key in settled if key in named and key not in passed]
        if twice:
            rule = "name a record alone, which says all of this, or none"
            _checks.refuse("the address", rule, ", ".join(twice))
    after = before if changed in (None, "record") else record.edited(before, settled)
    who = settled.get("who", 1)
    if who == decided.NEW:
        after = record.with_attacker(after)
        who = len(after.attackers)
    beside = {key: settled[key] for key in _BESIDE if key in settled}
    packed = settled["record"] if after == before else record.packed(after)
    return {**beside, "record": packed, "who": who}


def _shown(state: ChooseState, given: Decision) -> int:
    """The attacker whose controls are shown."""
    if not 1 <= state.who <= len(given.attackers):
        _checks.refuse("who", f"be an attacker, from 1 to {len(given.attackers)}", state.who)
    return state.who


def _load(dropped: Dropped) -> dict[str, Any]:
    """What a decision file sets."""
    return {"record": record.packed(record.loaded(dropped.name, dropped.content))}


def command_of(state: ChooseState, family: NamedFamily) -> str:
    """The command that makes this choice, and certifies it where it can."""
    limits = [f"--{key.replace('_', '-')} {bound!r}" for key, bound in state.bounds.items()]
    attacker = [f"--{key.replace('_', '-')} {value!r}" for key, value in state.about.items()]
    where = at_delta_option(state.mechanism, state.at_delta)
    start = f"tellapart choose {shlex.quote(state.mechanism)} --parameter {family.parameter}"
    return " ".join([start, *limits, *attacker]) + where + " --verbose"


def python_of(
    state: ChooseState,
    family: NamedFamily,
    limits: Sequence[Limit],
    certified: bool,
    factors: Sequence[float],
) -> str:
    """The same choice by the library; what it costs at so many times the choice."""
    search = "least" if family.grows_private else "largest"
    whole = ", whole=True" if family.whole else ""
    listed = "".join(f"    {_limit(limit)},\n" for limit in limits)
    made = f"""\
import tellapart as ta
from tellapart import choose, risk

def make({family.parameter}):
    return {controls.typed(state.mechanism, family.parameter)}

limits = [
{listed}]
found = choose.{search}(make, limits{whole}, certified={certified})
print(found)
"""
    if not factors:
        return made
    promised = family.name == "any" and not family.composed  # a curve already
    curve = "" if promised else ".curve()"
    attacker = ", ".join(f"{key}={value!r}" for key, value in state.attacker.items())
    return f"""\
{made}
value = found.short
print(f"{family.parameter} = {{value:.10g}}")
for one in risk.summary(make(value){curve}, {attacker}):
    print(one.name, *one.columns)
values = [value * factor for factor in {tuple(factors)!r}]
measures = {{limit.name: limit.value for limit in limits}}
print(choose.frontier(make, values, measures, name={family.parameter!r}))
"""


def _limit(limit: Limit) -> str:
    way = "at_least" if limit.least else "at_most"
    arguments = "".join(f", {key}={value!r}" for key, value in limit.arguments)
    return f"choose.{way}({limit.bound!r}, risk.{limit.measure.__name__}{arguments})"


def _limit_controls(state: ChooseState) -> list[ControlGroup]:
    on: list[Tick | Dial] = []
    off: list[Tick | Dial] = []
    for key, (_, accepted) in limited().items():
        tick = Tick(f"on_{key}", accepted.label, getattr(state, f"on_{key}"))
        if tick.value:
            dial = decided.limit_dial(key, key, getattr(state, key))
            on += [tick, replace(dial, lead=not on)]
        else:
            off.append(tick)
    limits = [ControlGroup("Risks you accept", tuple(on))] if on else []
    return [*limits, ControlGroup("Add a limit", tuple(off), folded=bool(on))]


def _attacker_controls(state: ChooseState) -> ControlGroup:
    """Prior and FPR always; the rest where a limit asks for it."""
    asked = {argument.key for key in state.bounds for argument in limited()[key][0].arguments}
    dials = [
        controls.attacker_dial(argument, state.about[key])
        for key, argument in arguments().items()
        if argument in (PRIOR, FPR) or (key in asked and argument is not DELTA)
    ]
    if DELTA.key in asked:
        label = "δ of the limit on ε"
        dials.extend(controls.delta_dials(label, state.mechanism, state.at_delta))
    several = [("1", "one attacker"), (decided.NEW, "another attacker: add one")]
    return ControlGroup("Attacker", (*dials, Select("who", "Attackers", "1", several)))


def _controls_of(state: ChooseState) -> list[Control]:
    if state.record:
        given = decision_of(state)
        return decided.controls_of(given, _shown(state, given), state.certified)
    family = families.family(state.mechanism, state.parameter)
    shown: list[Control] = [
        *_limit_controls(state),
        *families.family_controls(state.mechanism, state.parameter),
        _attacker_controls(state),
    ]
    if family.slow:
        label = "Certify (takes seconds)"
        shown.append(Tick("certified", label, state.certified))
    texts = decided.text_controls(record.unsaid_texts())
    return [*shown, decided.file_control(), texts]


def _answer(state: ChooseState) -> Answer:
    _refuse_picture(state)
    if state.record:
        return _recorded(state)
    family = families.family(state.mechanism, state.parameter)
    _checks.inside_unit(prior=state.about[PRIOR.key])
    if not state.bounds:
        return Answer("Set a limit", ("Tick a risk and say how much of it is acceptable.",))
    limits = answering.accepted(state.bounds, state.attacker)
    certify = state.certified or not family.slow
    command, files = command_of(state, family), (decided.text_file(begun(state)),)
    try:
        choice, doubt, anyone = schedules.solved(
            state.mechanism, state.parameter, tuple(limits), certify
        )
    except Infeasible as why:
        said = f"No {family.parameter} keeps these limits"
        python = python_of(state, family, limits, certify, ())
        return Answer(said, (f"{why}.",), Mark.BAD, python=python, command=command, files=files)
    if answering.unbound(choice):
        said = (
            f"no binding constraint: every {family.parameter} of {state.mechanism} keeps the limits"
        )
        python = python_of(state, family, limits, certify, ())
        return Answer(said, python=python, command=command, files=files)
    sentences = answering.explained(family, choice, anyone, doubt)
    if not certify:
        sentences.append("The command below certifies it, and may round it more conservatively.")
    mark = Mark.PLAIN if doubt else Mark.GOOD
    made = _chosen(state, family, limits, choice)
    return replace(
        made,
        sentences=(*made.sentences, *sentences),
        mark=mark,
        command=command,
        files=files,
        reports=True,
        certificate="" if doubt else "certified, rounded conservatively",
    )


def _recorded(state: ChooseState) -> Answer:
    """The answer to a whole decision, with all its attackers."""
    given = decision_of(state)
    place = _shown(state, given)
    made = decided.answer_of(given, state.certified, lambda solved: _record_drawings(solved, place))
    return replace(made, picture=state.picture)


def _record_drawings(solved: Solved, place: int) -> tuple[Drawing, ...]:
    limits = [limit.asked for limit in solved.limits]
    names = [f"{limit.attacker}: {limit.asked.label}" for limit in solved.limits]
    unique = [name if names.count(name) == 1 else f"{k}. {name}" for k, name in enumerate(names, 1)]
    around = answering.cost(solved.family, limits, _values(solved.family, solved.value), unique)
    cost = limits_drawn.costs(around, limits, solved.value, unique)
    prior = solved.decision.attackers[place - 1].about.get(PRIOR.key, PRIOR.default)
    return limits_drawn.drawings(str(solved.setting), limits, solved.curve, prior, cost)


def _refuse_picture(state: ChooseState) -> None:
    known = [kind for kind, _ in limits_drawn.KINDS]
    if state.picture not in known:
        _checks.refuse("picture", f"be one of {', '.join(known)}", state.picture)


def _report(state: ChooseState) -> DecisionDocument:
    """The document of a whole decision; files beside it are not ours to read."""
    given = decision_of(state)
    if given.evidence:
        raise InvalidArgument(
            "the decision names files of evidence, which the page does not read: use "
            f"{decided.COMMAND} --report decision.html"
        )
    answer = decided.solved(record.packed(given), True)
    command = f"{decided.COMMAND} --report decision.html"
    today = date.today()  # a review may be overdue
    return reporting.of_decision(given, today=today, command=command, answer=answer)


def _chosen(
    state: ChooseState, family: NamedFamily, limits: Sequence[Limit], choice: Choice
) -> Answer:
    value = choice.short
    subject = family.make(value)
    setting = answering.configured(family, value)
    around = answering.cost(family, limits, _values(family, value))
    factors = [factor for factor in answering.AROUND if value * factor in _parameters(around)]
    rows = [row for row in around.rows if row.parameter in [value * factor for factor in factors]]
    spent = replace(around, rows=tuple(rows))
    head, *cells = answering.cost_cells(spent)
    limit_head, *limit_rows = answering.limit_cells(choice, subject)
    curve = curve_of(subject)
    readings = risk.summary(curve, **state.attacker)
    by_key = {reading.key: reading for reading in readings}
    noisy = spent.rows[0].margin is not None
    marked = ["chosen" if row.parameter == value else "" for row in spent.rows]
    note = "Deviation and margin are those of the noise added to one answer."
    cost = limits_drawn.costs(around, limits, value, [limit.label for limit in limits])
    margin = next((row.margin for row in spent.rows if row.parameter == value), None)
    headline, number = decided.chosen_words(setting, family)
    return Answer(
        headline=headline,
        number=number,
        aside=choice_cards.binding_words(choice, limits),
        cards=choice_cards.four(
            [
                *choice_cards.limit_cards(
                    limits, [limit.value(curve) for limit in limits], choice.binding
                ),
                *choice_cards.cost_cards(
                    family, value, by_key["epsilon"], margin, state.attacker[DELTA.key]
                ),
            ],
            readings,
            state.attacker,
        ),
        sentences=(f"{setting} for {state.mechanism}{setting.by}.",),
        drawings=limits_drawn.drawings(
            state.mechanism, limits, curve, state.about[PRIOR.key], cost
        ),
        picture=state.picture,
        parts=(
            Table("Your limits", (*limit_head[:3], "binding constraint"), tuple(limit_rows)),
            Table(
                "Sensitivity analysis",
                (*head, "choice"),
                tuple((*row, word) for row, word in zip(cells, marked, strict=True)),
                note if noisy else "",
            ),
            risks_table("Every risk", readings),
            *_said(readings),
        ),
        python=python_of(state, family, limits, choice.certified, factors),
        codes=schedules.frameworks(family, value),
        later=("ways", schedules.WAYS) if schedules.has_schedule(family) else None,
        mechanism=_filled(state.mechanism, family.parameter, value),
        scope=sampling_assumption(subject) or f"{choice.scope[0].upper()}{choice.scope[1:]}.",
        next=(Next("explore", "Explore this choice", "what any attack finds"),),
    )


def ways(state: ChooseState) -> Table:
    """Other batch sizes and epochs under the same limits."""
    limits = answering.accepted(state.bounds, state.attacker)
    return schedules.ways(state.mechanism, state.parameter, limits)


def _filled(text: str, parameter: str, value: float) -> str:
    """The mechanism with what was chosen, for views that ask for all of it."""
    (term,) = terms(text)
    return str(Term(term.name, {parameter: value, **term.values}))


def _said(readings: Sequence[Reading]) -> tuple[Words, ...]:
    said = in_words(readings)
    return (Words("In words", said),) if said else ()


def _parameters(around: Frontier) -> set[float]:
    return {row.parameter for row in around.rows}


def _values(family: NamedFamily, value: float) -> list[float]:
    """Where to look around the choice: as the command does, and more finely for the picture."""
    asked = {value * factor for factor in answering.AROUND}
    count = 4 if family.slow else 8
    finer = {value * 2 ** (2 * step / count) for step in range(-count, count + 1)}
    asked |= {float(round(number)) for number in finer if number >= 1} if family.whole else finer
    return sorted(asked)


VIEW = View(
    "/choose",
    "Choose noise",
    "Which ε, or how much noise, keeps risks within limits?",
    "Tick the risks that matter and set a limit for each. The answer is the least noise (or the "
    "largest ε) within all limits, rounded conservatively, and what it costs in accuracy. A "
    "decision file, with several attackers, can be opened and saved below.",
    ChooseState,
    _controls_of,
    _answer,
    _report,
    mechanisms=("mechanism",),
    load=_load,
    settle=_settled,
    parts={"ways": ways},
)
