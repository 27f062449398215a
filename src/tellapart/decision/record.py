"""The decision record: what is released, to protect whom from which attackers, who decided."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart import _checks
from tellapart._numeric.text import short
from tellapart.choose.limit import Limit
from tellapart.choose.named_limits import accepted
from tellapart.decision.correlation import refuse_correlation
from tellapart.decision.fields import (
    NEIGHBOURS,
    TABLES,
    TITLE,
    FieldTable,
    delta_by_rule,
    meant,
    unknown,
)
from tellapart.decision.unit import refuse_relation, related_family
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import NamedFamily, Term, named_family, open_parameters
from tellapart.neighbours import Neighbours
from tellapart.risk.catalogue import DELTA, MEASURES, PEOPLE, Measure

if TYPE_CHECKING:
    from tellapart.decision.answer import DecisionAnswer


@dataclass(frozen=True)
class PlannedRelease:
    """What is published, from which data, and about how many people."""

    what: str
    data: str
    people: int
    population: int | None = None
    member: str | None = None


@dataclass(frozen=True)
class Privacy:
    """The unit of privacy, the neighbouring relation, and δ or the rule that gives it."""

    unit: str
    neighbours: str
    records_per_unit: int | None = None
    delta: float | None = None
    delta_rule: str | None = None

    @property
    def relation(self) -> Neighbours:
        """The neighbouring relation itself."""
        return NEIGHBOURS[self.neighbours]

    @property
    def group(self) -> int:
        """How many records are present or absent together: those of one unit."""
        return self.records_per_unit or 1


@dataclass(frozen=True)
class Correlation:
    """A model of how the records of one person are correlated, and where it comes from."""

    kind: str
    source: str
    keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """A mechanism: what is fixed, the parameter to choose, and the value in use now."""

    name: str
    choose: str
    configured: float | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(Term(self.name, self.fixed))


@dataclass(frozen=True)
class Attacker:
    """Somebody who may attack: what they know, and their prior, FPR or baseline."""

    name: str
    knows: str
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RiskLimit:
    """How much of a risk by one attacker is accepted, and the reason."""

    attacker: str
    risk: str
    at_most: float | None = None
    at_least: float | None = None
    reason: str = ""

    @property
    def measure(self) -> Measure:
        """The risk, as the catalogue has it."""
        return MEASURES[self.risk]

    @property
    def bound(self) -> float:
        """The most, or the least, that is accepted."""
        given = self.at_least if self.at_most is None else self.at_most
        assert given is not None  # noqa: S101 (a Decision has checked it)
        return given


@dataclass(frozen=True)
class Utility:
    """What the answer is good for, and how far off it may be."""

    what: str
    statistic: str | None = None
    at_most: float | None = None
    cells: int | None = None
    candidates: int | None = None
    batch_size: float | None = None
    clipping_norm: float | None = None


@dataclass(frozen=True)
class Alternative:
    """A mechanism that was considered, and why it was not taken."""

    mechanism: str
    why_not: str


@dataclass(frozen=True)
class EvidenceFile:
    """The JSON of an audit or a probe, by its path beside the decision file."""

    file: str
    what: str | None = None


@dataclass(frozen=True)
class Decided:
    """Who answers for the decision, when it was taken, and when it is reviewed."""

    owner: str
    date: datetime.date
    review: datetime.date


# Which record, and which part of a decision, each table becomes.
RECORDS: dict[str, tuple[str, type[Any]]] = {
    "release": ("release", PlannedRelease),
    "privacy": ("privacy", Privacy),
    "correlation": ("correlation", Correlation),
    "mechanism": ("mechanism", Configuration),
    "attacker": ("attackers", Attacker),
    "limit": ("limits", RiskLimit),
    "utility": ("utility", Utility),
    "alternative": ("alternatives", Alternative),
    "evidence": ("evidence", EvidenceFile),
    "decided": ("decided", Decided),
}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A decision on noise that can be defended: release, unit, attackers, limits and reasons.

    It is read from a file or made from its parts; either way every value is checked, and what is
    wrong is said by its place in a file, as ``limit[2].attacker``, counted from 1.

    >>> from tellapart import decision
    >>> record = decision.parse(decision.template())
    >>> record.privacy.unit, record.delta
    ('one patient', 6.944444444444444e-09)
    >>> print(record.answer())
    sigma = 2.6186 (binding constraint: an insurer, PPV ≤ 0.02 at FPR 0.001)
    """

    title: str
    release: PlannedRelease
    privacy: Privacy
    mechanism: Configuration
    attackers: tuple[Attacker, ...]
    limits: tuple[RiskLimit, ...]
    decided: Decided
    correlation: Correlation | None = None
    utility: Utility | None = None
    alternatives: tuple[Alternative, ...] = ()
    evidence: tuple[EvidenceFile, ...] = ()
    # The text that it was read from, for the sake of its comments.
    text: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", TITLE.check(title=self.title))
        for name, (part, kind) in RECORDS.items():
            table, value = TABLES[name], getattr(self, part)
            if table.repeated:
                if not isinstance(value, tuple) or not all(isinstance(x, kind) for x in value):
                    _checks.refuse(part, f"be a tuple of {kind.__name__} records", value)
                checked: Any = tuple(
                    _made(table, kind, f"{name}[{k}]", entries_of(x))
                    for k, x in enumerate(value, 1)
                )
            else:
                if value is None and not table.required:
                    continue
                _checks.instance(kind, f"a {kind.__name__} record", **{part: value})
                checked = _made(table, kind, name, entries_of(value))
            object.__setattr__(self, part, checked)
        self._refuse_contradictions()
        refuse_relation(self.privacy.neighbours, Term(self.mechanism.name, self.mechanism.fixed))
        if self.correlation is not None:
            refuse_correlation(self)
        configured = self.mechanism.configured
        if self.family().whole and configured is not None:
            _checks.whole(1, **{"mechanism.configured": configured})
        self.asked()

    @property
    def delta(self) -> float:
        """The δ of every ε, by itself or by its rule."""
        if self.privacy.delta is not None:
            return self.privacy.delta
        return delta_by_rule(self.privacy.delta_rule or "", self.release.people)

    def attacker(self, name: str) -> Attacker:
        """The attacker of this name."""
        return self.attackers[[each.name for each in self.attackers].index(name)]

    def family(self) -> NamedFamily:
        """What the mechanism leaves open: a family in the parameter to choose, for one record."""
        chosen, fixed = self.mechanism, dict(self.mechanism.fixed)
        # A mechanism made by ε and δ together has the δ of the decision.
        promise = chosen.name == "any" and chosen.choose == "epsilon"
        with naming("mechanism", fixed):
            lacking = chosen.choose not in open_parameters(chosen.name, **fixed)
            if (lacking or promise) and "delta" not in fixed and chosen.choose != DELTA.key:
                with_delta = {**fixed, DELTA.key: self.delta}
                if chosen.choose in open_parameters(chosen.name, **with_delta):
                    fixed = with_delta
            family = named_family(chosen.name, chosen.choose, **fixed)
        return related_family(family, self.privacy.relation)

    def asked(self) -> tuple[Limit, ...]:
        """The limits, in their order, each for its own attacker and at the one δ."""
        return tuple(self._asked(k, limit) for k, limit in enumerate(self.limits, 1))

    def about(self, attacker: Attacker) -> dict[str, Any]:
        """What risks take of an attacker, with the δ and the number of people of the release."""
        return {PEOPLE.key: self.release.people, **attacker.about, DELTA.key: self.delta}

    def answer(
        self, certify: bool = True, folder: str | PathLike[str] | None = None
    ) -> DecisionAnswer:
        """The noise that keeps every limit, the binding one, and what each would ask alone.

        A composition that is not to be certified is answered sooner, and says so. Files of evidence
        are read from ``folder``, that of the decision file; unread, no check of the answer stands.
        """
        from tellapart.decision.solving import answer

        return answer(self, certify, folder)

    def evidence_paths(self, folder: str | PathLike[str]) -> tuple[Path, ...]:
        """Where the files of evidence are, beside the decision file in this folder."""
        return tuple(Path(folder, entry.file) for entry in self.evidence)

    def data(self) -> dict[str, Any]:
        """The record as a file has it: tables of keys, without what is left out."""
        tables: dict[str, Any] = {"title": self.title}
        for name, (part, _) in RECORDS.items():
            value = getattr(self, part)
            if value is None or value == ():
                continue
            repeated = TABLES[name].repeated
            tables[name] = [*map(entries_of, value)] if repeated else entries_of(value)
        return tables

    def _asked(self, k: int, limit: RiskLimit) -> Limit:
        names = [attacker.name for attacker in self.attackers]
        place = 1 + names.index(limit.attacker)
        about = self.about(self.attackers[place - 1])
        for argument in limit.measure.arguments:
            if argument.key not in about:
                raise InvalidArgument(
                    f"attacker[{place}].{argument.key} must be given for limit[{k}] on "
                    f"{limit.risk}, such as {argument.key} = {short(argument.default)}"
                )
        side = "at_least" if limit.measure.smaller_is_worse else "at_most"

        def called(key: str) -> str:
            return f"limit[{k}].{side}" if key == limit.measure.limit_key else key

        (asked,) = accepted({limit.measure.limit_key: limit.bound}, about, called)
        return asked

    def _refuse_contradictions(self) -> None:
        """What each key alone does not show."""
        if (self.privacy.delta is None) == (self.privacy.delta_rule is None):
            rule = 'be given, or privacy.delta_rule (such as "1/n^2"), and not both'
            _checks.refuse("privacy.delta", rule, self.privacy.delta)
        if self.delta > 1:
            _checks.refuse("privacy.delta_rule", "give a δ of at most 1", self.privacy.delta_rule)
        population = self.release.population
        if population is not None and population < self.release.people:
            rule = f"be at least release.people ({self.release.people})"
            _checks.refuse("release.population", rule, population)
        names = [attacker.name for attacker in self.attackers]
        for k, name in enumerate(names, 1):
            if name in names[: k - 1]:
                rule = f"differ from attacker[{1 + names.index(name)}].name"
                _checks.refuse(f"attacker[{k}].name", rule, name)
        for key, listed in (("attacker", self.attackers), ("limit", self.limits)):
            if not listed:
                raise InvalidArgument(f"[[{key}]] must be given, at least one; see --init")
        for k, limit in enumerate(self.limits, 1):
            if limit.attacker not in names:
                rule = f"be the name of an attacker ({', '.join(names)})"
                near = meant(limit.attacker, names)
                _checks.refuse(f"limit[{k}].attacker", f"{rule}{near}", limit.attacker)
            _refuse_side(k, limit)
        if self.utility is not None and self.utility.at_most and not self.utility.statistic:
            raise InvalidArgument(
                'utility.statistic must be given with utility.at_most, such as statistic = "count"'
            )


def _refuse_side(k: int, limit: RiskLimit) -> None:
    sides = ("at_least", "at_most") if limit.measure.smaller_is_worse else ("at_most", "at_least")
    right, wrong = (getattr(limit, side) for side in sides)
    if right is None or wrong is not None:
        got = wrong if wrong is not None else right
        rule = f"be given for {limit.risk}, and {sides[1]} left out"
        _checks.refuse(f"limit[{k}].{sides[0]}", rule, got)


def entries_of(record: Any) -> dict[str, Any]:
    """What a table says of a record: its keys, and those of its mapping among them."""
    entries: dict[str, Any] = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(value, Mapping):
            entries |= value
        elif value is not None:
            entries[part.name] = value
    return entries


def from_data(given: Mapping[str, Any]) -> Decision:
    """The record of the tables of a file; what no table has is refused."""
    for key, value in given.items():
        if key not in (TITLE.key, *TABLES):
            known = [TITLE.key, *TABLES]
            near = meant(key, known) or f" ({', '.join(known)})"
            _checks.refuse(key, f"be title or a table of a decision file{near}", value)
    if TITLE.key not in given:
        raise InvalidArgument(f'title must be given, such as title = "{TITLE.example}"')
    parts: dict[str, Any] = {"title": given[TITLE.key]}
    for name, (part, kind) in RECORDS.items():
        table = TABLES[name]
        if name not in given:
            if table.required:
                raise InvalidArgument(f"{table.head} must be given: {table.help}")
            continue
        if table.repeated:
            parts[part] = _listed(table, kind, given[name])
        else:
            parts[part] = _record(table, kind, name, given[name])
    return Decision(**parts)


def _listed(table: FieldTable, kind: type[Any], given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list):
        _checks.refuse(table.name, f"be written as {table.head}, once for each", given)
    return tuple(_record(table, kind, f"{table.name}[{k}]", x) for k, x in enumerate(given, 1))


def _record(table: FieldTable, kind: type[Any], path: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        _checks.refuse(path, f"be a table, {table.head} with keys below it", given)
    return _made(table, kind, path, given)


def _made(table: FieldTable, kind: type[Any], path: str, given: Mapping[str, Any]) -> Any:
    """A record of checked values; those of keys it has no place for go into its mapping."""
    own = {part.name for part in fields(kind)}
    # The name of a mechanism says which further keys it has, so that it is looked at first.
    for each in table.fields:
        if each.key not in given:
            if each.required:
                raise InvalidArgument(
                    f"{path}.{each.key} must be given, such as {each.key} = {shown(each.example)}"
                )
            continue
        each.check(**{f"{path}.{each.key}": given[each.key]})
    known = table.keys(given)
    for key, value in given.items():
        if key not in known:
            unknown(f"{path}.{key}", table.head, known, value)
    checked = {key: known[key].check(**{f"{path}.{key}": value}) for key, value in given.items()}
    values = {key: value for key, value in checked.items() if key in own}
    others = {key: value for key, value in checked.items() if key not in own}
    mapping = next(
        (part.name for part in fields(kind) if part.name in ("fixed", "about", "keys")), None
    )
    return kind(**values, **({} if mapping is None else {mapping: others}))


def shown(value: Any) -> str:
    """A value as a file has it."""
    from tellapart.decision.toml_text import written

    return written(value)


@contextmanager
def naming(table: str, keys: Mapping[str, Any]) -> Iterator[None]:
    """Errors inside name the table and, where it is one of these, the key."""
    try:
        yield
    except InvalidArgument as error:
        said = str(error)
        if re.match(r"\w+(\[\d+\])?\.\w|\[", said):  # named already
            raise
        start = re.match(r"\w*", said)
        word = start.group() if start else ""
        if word in keys:
            raise InvalidArgument(f"{table}.{said}") from error
        if word == "parameter":
            raise InvalidArgument(f"{table}.choose{said[len(word) :]}") from error
        named = f"[{table}]{said[len(table) :]}" if word == table else f"[{table}] {said}"
        raise InvalidArgument(named) from error
