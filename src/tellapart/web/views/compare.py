"""Compare: mechanisms and published deployments side by side, and where their curves cross."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from operator import attrgetter

from tellapart import _checks, pictures, report, risk
from tellapart._numeric.text import short
from tellapart.choose.comparison import GAPS, Comparison, Pair, pair
from tellapart.deployments import CAVEATS, DEPLOYMENTS, Deployment
from tellapart.drawing.record import Ink, Mark, Spot
from tellapart.mechanisms.catalogue import KINDS as MECHANISMS
from tellapart.mechanisms.catalogue import WRAPPERS, parse, terms
from tellapart.mechanisms.in_words import text_in_words
from tellapart.mechanisms.subject import Subject, curve_of, scope
from tellapart.report.result_model import ResultDocument
from tellapart.risk.catalogue import DELTA, FPR, PRIOR, Reading
from tellapart.web import controls
from tellapart.web.answer import Answer, Next, NumberCard, Table, Words
from tellapart.web.controls import Control, ControlGroup, Line, Select, Tick
from tellapart.web.view import View
from tellapart.web.views.explore import KINDS, MEMBERS, SIGNS, one_decimal

MOST = 5  # more curves than there are inks would look alike
PLACES = tuple(range(1, MOST + 1))
# The first mechanism is the one that other views look at.
FIELDS = ("mechanism", *(f"m{k}" for k in PLACES[1:]))
_KEYS = {deployment.key: deployment for deployment in DEPLOYMENTS}


@dataclass(frozen=True)
class CompareState:
    """What the view shows: mechanisms as text, deployments by their keys, "" for none."""

    mechanism: str = "laplace:epsilon=1"
    m2: str = "gaussian:sigma=1"
    m3: str = ""
    m4: str = ""
    m5: str = ""
    d1: str = ""
    d2: str = ""
    d3: str = ""
    d4: str = ""
    d5: str = ""
    prior: float = MEMBERS
    fpr: float = FPR.default
    at_delta: float = DELTA.default
    pairs: bool = True
    picture: str = "roc"

    @property
    def mechanisms(self) -> dict[str, str]:
        """The mechanisms that are compared, by their fields."""
        every = {field: getattr(self, field) for field in FIELDS}
        return {field: text for field, text in every.items() if text}

    @property
    def deployments(self) -> dict[str, Deployment]:
        """The deployments that are compared, by their fields."""
        every = {f"d{k}": getattr(self, f"d{k}") for k in PLACES}
        return {field: _deployment(key) for field, key in every.items() if key}

    @property
    def names(self) -> list[str]:
        """What all that is compared is called."""
        deployed = [deployment.name for deployment in self.deployments.values()]
        return list(dict.fromkeys([*self.mechanisms.values(), *deployed]))


def _deployment(key: str) -> Deployment:
    if key not in _KEYS:
        _checks.refuse("deployment", "be the key of one in the registry", key)
    return _KEYS[key]


def python_of(state: CompareState) -> str:
    """The comparison by the library, with all that the page shows."""
    names = _names(state.names)
    named_ones = "".join(
        f"    {names[text]!r}: {controls.typed(text)},\n" for text in _texts(state)
    )
    deployed = "".join(
        f"    {deployment.name!r}: deployments.find({deployment.key!r})[0].curve(),\n"
        for deployment in dict.fromkeys(state.deployments.values())
    )
    imports = "choose, deployments" if deployed else "choose"
    first = "import tellapart as ta\n" if named_ones else ""
    return f"""\
{first}from tellapart import {imports}

found = choose.compare(
    {{
{_indented(named_ones + deployed)}    }},
    prior={state.prior!r},
    fpr={state.fpr!r},
    delta={state.at_delta!r},
)
print(found)
for row in found.gaps():
    print(*row, sep="  ")
"""


def _texts(state: CompareState) -> list[str]:
    return list(dict.fromkeys(state.mechanisms.values()))


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def command_of(state: CompareState) -> str:
    """The command that compares the same."""
    texts = [shlex.quote(text) for text in _texts(state)]
    about = f"--prior {state.prior!r} --fpr {state.fpr!r}"
    start = " ".join(["tellapart compare", *texts, about])
    keys = list(dict.fromkeys(deployment.key for deployment in state.deployments.values()))
    if not keys:
        return f"{start} --delta {state.at_delta!r} --verbose"
    return f"{start} --deployments {' '.join(keys)}"


_FIRST_THREE = "Beside deployments, the command below shows the first three; Python shows all."
_NAMES = {deployment.name: deployment for deployment in DEPLOYMENTS}


# ---- controls


def _controls_of(state: CompareState) -> list[Control]:
    slots = [_slot(k + 1, *slot) for k, slot in enumerate(state.mechanisms.items())]
    picked = enumerate(state.deployments.items(), 1)
    deployed = [_picked(k, *slot) for k, slot in picked]
    if len(slots) + len(deployed) < MOST:
        more = next(field for field in FIELDS if field not in state.mechanisms)
        slots.append(
            Select(more, "Add a mechanism", "", [("", "none"), *controls.mechanism_choices()])
        )
        more = next(f"d{k}" for k in PLACES if f"d{k}" not in state.deployments)
        deployed.append(Select(more, "Add a published deployment", "", _registry("none")))
    attacker = ControlGroup(
        "Attacker",
        (
            controls.attacker_dial(PRIOR, state.prior),
            controls.attacker_dial(FPR, state.fpr),
            controls.delta_dial(DELTA.label, state.at_delta),
        ),
    )
    published = [ControlGroup("Published deployments", tuple(deployed))] if deployed else []
    shown: list[Control] = [*slots, *published, attacker]
    if any(map(_composed, state.mechanisms.values())):
        label = "Compute who leaks more (takes seconds for compositions)"
        shown.append(Tick("pairs", label, state.pairs))
    return shown


def _registry(none: str) -> list[tuple[str, str]]:
    every = sorted(DEPLOYMENTS, key=attrgetter("curator", "name"))
    return [
        ("", none),
        *((deployment.key, f"{deployment.curator}: {deployment.name}") for deployment in every),
    ]


def _picked(number: int, field: str, deployment: Deployment) -> Select:
    return Select(field, f"Deployment {number}", deployment.key, _registry("none: leave it out"))


def _slot(number: int, field: str, text: str) -> Control:
    """One mechanism: which, its numbers, and as text."""
    parts = controls.known_terms(text)
    starts = controls.mechanism_choices()
    names = {start.split(":")[0]: start for start, _ in starts}
    if len(parts) > 1:
        starts.append((text, "a composition"))
    chosen = text if len(parts) > 1 else names[parts[0].name]
    title = " + ".join(MECHANISMS[term.name].words for term in parts)
    which = Select(field, "Mechanism", chosen, [("", "none: leave it out"), *starts])
    dials = [
        controls.parameter_dial(f"{field}.{place}.{key}", key, value)
        for place, term in enumerate(parts)
        for key, value in controls.own_numbers(term).items()
    ]
    return ControlGroup(f"{number}. {title}", (which, *dials, Line(field, "As text", text)))


def _composed(text: str) -> bool:
    parts = terms(text)
    return len(parts) > 1 or any(
        MECHANISMS[term.name].composition or set(WRAPPERS) & set(term.values) for term in parts
    )


# ---- what is compared; pairs and readings are kept, since most dials leave them as they are


@lru_cache(maxsize=64)
def _subject(name: str) -> Subject:
    return _NAMES[name].curve() if name in _NAMES else parse(name)


@lru_cache(maxsize=256)
def _pair(first: str, second: str) -> Pair:
    return pair(first, second, curve_of(_subject(first)), curve_of(_subject(second)))


@lru_cache(maxsize=256)
def _readings(name: str, prior: float, fpr: float, delta: float) -> tuple[Reading, ...]:
    return risk.summary(curve_of(_subject(name)), prior=prior, fpr=fpr, delta=delta)


def _compared(state: CompareState) -> Comparison:
    names = state.names
    if not 2 <= len(names) <= MOST:
        _checks.refuse("what is compared", f"be two to {MOST} different ones", names)
    asked = state.pairs or not any(map(_composed, state.mechanisms.values()))
    return Comparison(
        names=tuple(names),
        scopes=tuple(scope(_subject(name)) for name in names),
        readings=tuple(_readings(name, state.prior, state.fpr, state.at_delta) for name in names),
        pairs=tuple(_pair(*two) for two in combinations(names, 2)) if asked else (),
        curves=tuple(curve_of(_subject(name)) for name in names),
    )


# ---- the answer


def _answer(state: CompareState) -> Answer:
    comparison = _compared(state)
    names = _names(comparison.names)
    listed = comparison.renamed(names)
    deployed = list(state.deployments.values())
    _checked(state)
    drawn = pictures.every(dict(zip(listed.names, listed.curves, strict=True)), state.prior)
    head, *cells = listed.cells()
    parts: list[Table | Words] = []
    if comparison.pairs:
        parts.append(Words("Who leaks more", tuple(f"{pair}." for pair in listed.pairs)))
    note = _FIRST_THREE if deployed else ""
    parts.append(Table("Every risk", ("risk", *head[1:]), tuple(cells), note))
    if deployed:
        parts += [_promises(deployed), Words("Before comparing", CAVEATS)]
    if comparison.pairs:
        head, *cells = listed.gaps()
        title = "By how much"
        parts.append(Table(title, ("against", *head[1:]), tuple(cells), GAPS))
    said = comparison.renamed(_shortly(comparison.names)).brief()
    return Answer(
        headline=f"{said[0].upper()}{said[1:]}.",
        sentences=_sentences(comparison, deployed),
        cards=_cards(comparison, state),
        drawings=tuple(
            replace(drawn[kind], kind=kind, title=title, spots=tuple(_spots(comparison, kind)))
            for kind, title in KINDS
        ),
        picture=state.picture,
        parts=tuple(parts),
        python=python_of(state),
        command=command_of(state),
        reports=True,
        scope="Each number is for its own mechanism and its own unit of privacy.",
        next=(
            Next("explore", "Explore the first", "what an attack on it finds"),
            Next("choose", "Choose the noise", "from the risks you accept"),
        ),
    )


def called(name: str) -> str:
    """What people call a mechanism; a deployment has its name.

    >>> called("laplace:epsilon=1"), called("gaussian:sigma=2+laplace:epsilon=1")
    ('Laplace (ε = 1)', 'Gaussian (σ = 2), then Laplace (ε = 1)')
    """
    if name in _NAMES:
        return name
    parts = (text_in_words(str(term)).partition(", ") for term in terms(name))
    return ", then ".join(f"{head} ({tail})" if tail else head for head, _, tail in parts)


def _names(names: Sequence[str]) -> dict[str, str]:
    """What people call each, or its text where two would be called alike.

    >>> _names(["gaussian:sigma=1", "gaussian:sigma=1.0000001", "laplace:epsilon=1"])
    {'gaussian:sigma=1': 'gaussian:sigma=1', 'gaussian:sigma=1.0000001': \
'gaussian:sigma=1.0000001', 'laplace:epsilon=1': 'Laplace (ε = 1)'}
    """
    taken = Counter(map(called, names))
    return {name: called(name) if taken[called(name)] == 1 else name for name in names}


def _checked(state: CompareState) -> None:
    known = [kind for kind, _ in KINDS]
    if state.picture not in known:
        _checks.refuse("picture", f"be one of {', '.join(known)}", state.picture)


# Letters of a name, above which a headline takes its kind or its number instead.
_LONGEST = 24


def _shortly(names: Sequence[str]) -> dict[str, str]:
    """What a headline calls each, in a few letters: in full, by its kind, or by its number."""
    kinds = [called(name).partition(" (")[0] for name in names]
    short_ones = {
        name: called(name)
        if len(called(name)) <= _LONGEST
        else kind
        if len(kind) <= _LONGEST and kinds.count(kind) == 1
        else f"no. {k} ({kind})"
        if len(kind) <= _LONGEST
        else f"no. {k}"
        for k, (name, kind) in enumerate(zip(names, kinds, strict=True), 1)
    }
    return short_ones if len({*short_ones.values()}) == len(names) else _names(names)


def _of(comparison: Comparison, place: int, key: str) -> Reading:
    return next(x for x in comparison.readings[place] if x.key == key)


def _cards(comparison: Comparison, state: CompareState) -> tuple[NumberCard, ...]:
    """One for each: how many members are found, and its ε; who surely leaks least is marked."""
    names = _names(comparison.names)
    readings = [_of(comparison, k, "tpr") for k in range(len(comparison.names))]
    epsilons = [_of(comparison, k, "epsilon") for k in range(len(comparison.names))]
    numbered = any(text.startswith("no. ") for text in _shortly(comparison.names).values())
    return tuple(
        NumberCard(
            f"{k + 1}. {names[name]}" if numbered else names[name],
            f"{SIGNS[readings[k].relation]}{one_decimal(100 * readings[k].value, True)}",
            "of 100",
            f"members found at FPR {short(state.fpr)} (guessing: {short(100 * state.fpr)}); ε "
            f"{epsilons[k].relation} {short(epsilons[k].value, 3, True)} at δ = "
            f"{short(state.at_delta)}",
            mark=Mark.GOOD if _surely_least(readings, k) else Mark.PLAIN,
        )
        for k, name in enumerate(comparison.names)
    )


def _surely_least(readings: Sequence[Reading], place: int) -> bool:
    """Whether no other finds fewer, whatever lies below the bounds."""
    least = readings[place]
    return all(
        other.value >= least.value and (other.relation == "=" or least.relation == "≤")
        for other in readings
    )


def _sentences(comparison: Comparison, deployed: Sequence[Deployment]) -> tuple[str, ...]:
    said = [*filter(None, (comparison.renamed(_names(comparison.names)).neighbours(),))]
    if not comparison.pairs:
        said.append("Who leaks more was not computed: tick it, or run the code below.")
    if len({deployment.per for deployment in deployed}) > 1:
        units = "; ".join(f"{deployment.name}: {deployment.per}" for deployment in deployed)
        said.append(f"Units of privacy differ, so these numbers are not comparable ({units}).")
    elif deployed and len(deployed) < len(comparison.names):
        said.append(
            f"Units of privacy: {deployed[0].per} for deployments, one record for mechanisms."
        )
    return tuple(said)


def _promises(deployed: Sequence[Deployment]) -> Table:
    return Table(
        "Claims",
        ("deployment", "curator", "claim", "unit of privacy", "model", "status", "source"),
        tuple(
            (
                deployment.name,
                f"{deployment.curator}, {deployment.published[:4]}",
                deployment.promise,
                deployment.per,
                deployment.model.lower(),
                deployment.status,
                deployment.source,
            )
            for deployment in deployed
        ),
    )


def _spots(comparison: Comparison, picture: str) -> list[Spot]:
    """Where two curves cross."""
    if picture not in ("roc", "roc-log", "tradeoff"):
        return []
    least = 1e-6 if picture == "roc-log" else 0.0
    return [
        Spot("the curves cross", crossing.fpr, _height(crossing.fnr, picture), Ink.PROMISE)
        for each in comparison.pairs
        for crossing in each.crossings
        if crossing.fpr >= least
    ]


def _height(fnr: float, picture: str) -> float:
    return 1 - fnr if picture.startswith("roc") else fnr


def _report(state: CompareState) -> ResultDocument:
    comparison = _compared(state)
    names = _names(comparison.names)
    deployed = {each.name: each for each in state.deployments.values()}
    about = {
        names[name]: f"{deployed[name].promise}, for {deployed[name].per}"
        if name in deployed
        else name
        for name in names
    }
    return report.of_comparison(
        {names[name]: _subject(name) for name in names},
        about=about,
        caveats=(*_sentences(comparison, list(deployed.values())), *(CAVEATS if deployed else ())),
        command=f"{command_of(state)} --report report.html",
        comparison=comparison.renamed(names),
        prior=state.prior,
        fpr=state.fpr,
    )


VIEW = View(
    "/compare",
    "Compare",
    "Which mechanism leaks more, and at which FPR?",
    "The mechanism with the higher ROC curve leaks more. Where two curves cross, which one leaks "
    "more depends on the false-positive rate.",
    CompareState,
    _controls_of,
    _answer,
    _report,
    mechanisms=FIELDS,
)
