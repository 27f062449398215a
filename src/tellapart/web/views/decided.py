"""A decision record on the page: controls for it, and the limits of all attackers at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tellapart import decision
from tellapart._numeric.text import fixed, short
from tellapart.choose.named_limits import Setting, explained
from tellapart.decision import Decision
from tellapart.decision.answer import DecisionAnswer as Solved
from tellapart.decision.fields import NEIGHBOURS, TABLES
from tellapart.decision.limits import LimitAnswer
from tellapart.decision.missing import asked, missing, unsaid
from tellapart.decision.open_questions import OpenQuestion
from tellapart.decision.record import RECORDS, entries_of
from tellapart.drawing.record import Mark
from tellapart.errors import Infeasible, InvalidArgument, NotCertified, Unsupported
from tellapart.mechanisms.catalogue import PARAMETERS, NamedFamily, PrivateSide, Term
from tellapart.risk.catalogue import arguments, limited
from tellapart.web import limits, record
from tellapart.web.answer import Answer, Next, NumberCard, Table, TextFile, Words, risks_table
from tellapart.web.controls import Control, ControlGroup, Dial, File, Kept, Line, Select, Tick
from tellapart.web.views import choice_cards, families

FILE = "decision.toml"
COMMAND = f"tellapart decide {FILE}"
# The choice of a list of attackers that makes one more.
NEW = "new"
_MINUTES = round(limits.LONGEST_VISIT / 60)
_LARGEST = f"{record.LARGEST_FILE // 1024} KB"
# Shown, kept and written again, but nothing here sets them.
_KEPT = ("correlation", "utility", "alternative", "evidence")


# -- controls ---------------------------------------------------------------------------------


def controls_of(given: Decision, who: int, certified: bool) -> list[Control]:
    """Limits of one attacker at a time, the mechanism, and all that the file says beside them."""
    values, packed = record.values_of(given), record.packed(given)
    shown: list[Control] = [
        Kept("record", packed),
        _attacker_list(given, who),
        _attacker_controls(given, values, who),
        _limit_controls(values, who),
        *families.family_controls(values["mechanism"], values["parameter"]),
    ]
    if given.family().slow:
        shown.append(Tick("certified", "Certify (takes seconds)", certified))
    return [*shown, file_control(), text_controls(values)]


def file_control() -> ControlGroup:
    """Where a decision file is picked or dropped."""
    return ControlGroup(
        "Decision file",
        (
            File(
                "file",
                "Open: pick a decision file, or drop it here",
                ".toml",
                record.LARGEST_FILE,
                f"As tellapart decide reads it, up to {_LARGEST}. It is sent to the machine "
                "that serves this page (your own with tellapart explore) and held in its memory, "
                f"on no disk, until {_MINUTES} minutes after the last question; all that it says "
                "goes into the address of this page.",
                once=True,
                paste="Or paste its text here",
            ),
        ),
    )


def text_controls(values: dict[str, Any]) -> ControlGroup:
    """What people say in a decision file, each key with its help."""
    lines: list[Line | Select] = []
    for path, field in record.text_fields().items():
        if path not in values:
            continue
        label = field.help.rstrip(".")
        if path == "privacy.neighbours":
            label = "Neighbouring relation"
            lines.append(Select(path, label, values[path], [(x, x) for x in NEIGHBOURS]))
        else:
            lines.append(Line(path, label, values[path]))
    return ControlGroup("Release, unit, owner and dates", tuple(lines), folded=True)


def _attacker_list(given: Decision, who: int) -> Select:
    names = [(str(k), name) for k, name in enumerate(_called(given).values(), 1)]
    label = "Attacker"
    return Select("who", label, str(who), [*names, (NEW, "another attacker: add one")])


def _limit_controls(values: dict[str, Any], who: int) -> ControlGroup:
    shown: list[Tick | Dial | Line] = []
    for key, (measure, accepted) in limited().items():
        on = values[f"a{who}.on_{key}"]
        shown.append(Tick(f"a{who}.on_{key}", accepted.label, on))
        if on:
            shown.append(limit_dial(f"a{who}.{key}", key, values[f"a{who}.{key}"]))
            reason = f"a{who}.reason_{key}"
            name = measure.limit.label.partition(":")[0] if measure.limit else key
            shown.append(Line(reason, f"{name}: why this much", values[reason]))
    return ControlGroup("Limits on this attacker", tuple(shown))


def limit_dial(field: str, key: str, value: float) -> Dial:
    """The dial for how much of a risk is accepted."""
    measure, accepted = limited()[key]
    least = measure.smaller_is_worse
    label = f"{accepted.label.partition(':')[0]}, at {'least' if least else 'most'}"
    private = PrivateSide.LARGER if least else PrivateSide.SMALLER
    return Dial(field, label, value, accepted.low, accepted.high, accepted.scale, private)


def _attacker_controls(given: Decision, values: dict[str, Any], who: int) -> ControlGroup:
    """Who the attacker is, and the numbers that the file gives of them."""
    attacker, own = given.attackers[who - 1], f"a{who}."
    dials = [
        Dial(f"{own}{key}", each.label, attacker.about[key], each.low, each.high, ends=each.ends)
        for key, each in arguments().items()
        if key in attacker.about
    ]
    help_of = {each.key: each.help.rstrip(".") for each in TABLES["attacker"].fields}
    lines = [Line(own + key, help_of[key], values[own + key]) for key in ("name", "knows")]
    return ControlGroup(f"Attacker {who} of {len(given.attackers)}", (*lines, *dials))


# -- the answer -------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def solved(packed: str, certify: bool) -> Solved:
    """The answer to a record, kept: many controls leave it as it is."""
    return record.unpacked(packed).answer(certify)


def text_file(given: Decision) -> TextFile:
    """The file to keep, and what to do with it."""
    return TextFile(FILE, decision.dumps(given), f"Save it, then run: {COMMAND}")


def answer_of(given: Decision, certified: bool, drawn: Any = None) -> Answer:
    """What to configure so that no attacker exceeds a limit; or why nothing does."""
    slow = given.family().slow
    exported: dict[str, Any] = {
        "command": COMMAND,
        "python": _PYTHON,
        "files": (text_file(given),),
    }
    try:
        answer = solved(record.packed(given), certified or not slow)
        broken = _broken(answer)
    except (Infeasible, NotCertified, InvalidArgument, Unsupported) as why:
        said = f"No {given.mechanism.choose} is found for these limits"
        parts = (*_asked(decision.questions(given)), *_said_beside(given))
        return Answer(said, (f"{why}.",), Mark.BAD, parts=parts, **exported)
    headline, number = chosen_words(answer.setting, answer.family)
    fixed_values = answer.family.fixed
    said = f"{answer.setting} for {given.mechanism}{answer.setting.by}."
    return Answer(
        headline=headline,
        number=number,
        aside=f"Not what is in use: {broken[0]}." if broken else _title(given),
        sentences=(*_sentences(answer, broken, certified or not slow), said),
        mark=Mark.BAD if broken else _mark(answer),
        cards=_cards(answer),
        drawings=() if drawn is None else drawn(answer),
        parts=(
            *(_limits(answer, place) for place in range(len(given.attackers))),
            _sensitivity(answer),
            *_alternatives(answer),
            *(
                risks_table(f"Every risk: {_called(given)[each.attacker.name]}", each.readings)
                for each in answer.attackers
            ),
            *_asked(decision.questions(given, answer)),
            *_said_beside(given),
        ),
        reports=True,
        mechanism=str(Term(answer.family.name, {answer.parameter: answer.value, **fixed_values})),
        scope=answer.sampling,
        next=(Next("explore", "Explore this choice", "what any attack finds"),),
        **exported,
    )


def _title(given: Decision) -> str:
    return "" if unsaid(given.title) else f"{given.title}."


# How people say what to configure; "{}" is the number.
_SAID = {
    "noise_multiplier": "Train with a noise multiplier of {} or more.",
    "scale": "Add noise with a scale of {} or more.",
    "sigma": "Add noise with a standard deviation σ of {} or more.",
    "epsilon": "Spend ε = {} or less.",
    "mu": "Spend μ = {} or less (Gaussian DP).",
    "steps": "Train for {} steps or fewer.",
    "sampling_rate": "Sample each record with probability {} or less.",
}


def chosen_words(setting: Setting, family: NamedFamily) -> tuple[str, str]:
    """The headline, and the number in it that people act on."""
    if len(setting.values) > 1:  # they hold together alone, as they are
        return f"Set {setting} ({_by(setting)}).", str(setting)
    ((key, value),) = setting.values.items()
    number = short(value, 6)
    if float(number) != value:
        number = short(value, 5, up=PARAMETERS[key].grows_private)
    more = "or more" if PARAMETERS[key].grows_private else "or less"
    label = PARAMETERS[key].label.partition(",")[0]
    said = _SAID.get(key, f"Set the {label} to {{}} {more}.").format(number)
    if key != family.parameter:
        said = f"{said[:-1]} ({_by(setting)})."
    return said, number


def _by(setting: Setting) -> str:
    """The parameter that was chosen, by its symbol where it has one."""
    key, equals, value = setting.by.removeprefix(", by ").partition(" = ")
    return f"{PARAMETERS[key].symbol or key}{equals}{value}"


def _called(given: Decision) -> dict[str, str]:
    """What each attacker is called, by a number where nobody has said it."""
    return {
        each.name: f"attacker {k}" if unsaid(each.name) else each.name
        for k, each in enumerate(given.attackers, 1)
    }


def _cards(answer: Solved) -> tuple[NumberCard, ...]:
    """The limits that are used most, the binding one first, ε, and what the first attacker does."""
    used = sorted(answer.limits, key=lambda limit: not limit.binding)
    called = _called(answer.decision)
    cards = [
        NumberCard(
            limit.asked.label
            if len(called) == 1
            else f"{called[limit.attacker]}: {limit.asked.label}",
            limit.reading.columns[1],
            f"limit {short(limit.asked.bound)}",
            f"{'binding constraint; ' if limit.binding else ''}without the output "
            f"{limit.reading.columns[0]}",
        )
        for limit in used[:3]
    ]
    cards.append(choice_cards.epsilon_card("≤", answer.epsilon, answer.delta))
    if len(called) > 1:
        return tuple(cards)
    (alone,) = answer.attackers
    return choice_cards.four(cards, alone.readings, alone.attacker.about)


_PYTHON = f"""\
from tellapart import decision

record = decision.read("{FILE}")
answer = record.answer()
print(answer)
for limit in answer.limits:
    print(limit, *limit.reading.columns, limit.alone)
for nearby in answer.sensitivity:
    print(nearby.value, nearby.epsilon, *nearby.risks)
for each in answer.attackers:
    for reading in each.readings:
        print(each.attacker.name, reading.name, *reading.columns)
for question in decision.questions(record, answer):
    print(question)
"""


def _broken(answer: Solved) -> tuple[str, ...]:
    """What the configured value breaks; whether a review is late, --check says."""
    check = answer.check(answer.decision.decided.date)
    return check.broken[int(check.overdue) :]


def _mark(answer: Solved) -> Mark:
    if not answer.feasible:
        return Mark.BAD
    return Mark.PLAIN if answer.doubt else Mark.GOOD


def _sentences(answer: Solved, broken: Sequence[str], certified: bool) -> list[str]:
    given, privacy = answer.decision, answer.decision.privacy
    said = []
    if not answer.feasible:
        names = "; ".join(map(str, answer.clashes))
        said.append(
            f"Infeasible: {answer.accuracy} clashes with {names}. Raise utility.at_most in the "
            "file, or accept more of these risks."
        )
    said += [f"What is in use does not stand: {reason}." for reason in broken]
    bound, called = answer.binding, _called(given)
    constraint = (
        "none" if bound is None else str(bound).replace(bound.attacker, called[bound.attacker])
    )
    said.append(f"Binding constraint: {constraint}.")
    epsilon = fixed(answer.epsilon, up=True)
    number = privacy.group
    records = "1 record" if number == 1 else f"{number} records together (group privacy)"
    if answer.correlation:
        records = f"whose records are {answer.correlation} (Pufferfish privacy)"
    said.append(
        f"{given.title}. Unit of privacy: {privacy.unit}, {records}; ε ≤ {epsilon} at "
        f"δ = {short(answer.delta)}."
    )
    more = explained(answer.family, answer.choice, answer.any_mechanism, answer.doubt, answer.delta)
    error = "" if answer.error is None else f"{str(answer.error).capitalize()}."
    said += [sentence for sentence in (*more[1:], answer.sampling, error) if sentence]
    if not certified:
        said.append("The command below certifies it, and may round it more conservatively.")
    return said


def _limits(answer: Solved, place: int) -> Table:
    """The limits of one attacker, each beside its baseline."""
    attacker = answer.decision.attackers[place]
    head = (
        "limit",
        "without the output",
        "with it",
        f"{answer.parameter} if alone",
        "binding constraint",
        "reason",
    )
    rows = tuple(_limit_row(limit) for limit in answer.limits if limit.attacker == attacker.name)
    title, note = f"Limits: {_called(answer.decision)[attacker.name]}", f"{attacker.knows}."
    return Table(title, head, rows, note if rows else f"{note} No limit is on this attacker.")


def _limit_row(limit: LimitAnswer) -> tuple[str, ...]:
    blind, achieved, _ = limit.reading.columns
    return (
        limit.words,
        blind,
        achieved,
        "any" if limit.alone is None else short(limit.alone, 10),
        "binding" * limit.binding,
        limit.limit.reason,
    )


def _sensitivity(answer: Solved) -> Table:
    called = _called(answer.decision)
    names = [f"limit[{limit.place}] {called[limit.attacker]}" for limit in answer.limits]
    rows = tuple(
        (
            short(near.value, 6),
            fixed(near.epsilon, up=True),
            *(
                fixed(value, not limit.asked.least)
                for value, limit in zip(near.risks, answer.limits, strict=True)
            ),
            "kept" if near.kept else "broken",
        )
        for near in answer.sensitivity
    )
    return Table("Sensitivity analysis", (answer.parameter, "ε", *names, "limits"), rows)


def _alternatives(answer: Solved) -> tuple[Table, ...]:
    if not answer.alternatives:
        return ()
    rows = tuple(
        (
            other.setting or other.alternative.mechanism,
            "" if other.epsilon is None else f"≤ {fixed(other.epsilon, up=True)}",
            other.problem or other.verdict,
            other.alternative.why_not,
        )
        for other in answer.alternatives
    )
    return (Table("Alternatives considered", ("mechanism", "ε", "limits", "why not"), rows),)


def _asked(questions: Sequence[OpenQuestion]) -> tuple[Words, ...]:
    if not questions:
        return ()
    return (Words(f"Questions: {len(questions)}", tuple(map(str, questions))),)


def _said_beside(given: Decision) -> tuple[Words, ...]:
    """What is still to be said, and what the file says that nothing here sets."""
    parts = []
    if places := missing(given):
        said = "; ".join(f"{asked(place)} ({place})" for place in places)
        parts.append(Words("Still to fill in", (f"{said}.",)))
    kept = []
    for name in _KEPT:
        held = getattr(given, RECORDS[name][0])
        for entry in () if held is None else held if isinstance(held, tuple) else (held,):
            said = ", ".join(f"{key} = {value}" for key, value in entries_of(entry).items())
            kept.append(f"{TABLES[name].head} {said}")
    if kept:
        parts.append(Words("Kept as the file has it", tuple(kept)))
    return tuple(parts)
