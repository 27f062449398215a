"""The keys of a decision file, each declared once: reader, writer, template and docs follow."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, NoReturn

from tellapart import _checks
from tellapart.choose.utility import Statistic
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import (
    KINDS,
    PARAMETERS,
    WORD_PARAMETERS,
    WRAPPERS,
    Kind,
    named_family,
    terms,
)
from tellapart.mechanisms.catalogue import parse as parse_mechanism
from tellapart.neighbours import Neighbours
from tellapart.risk.catalogue import DELTA, OLD_KEYS, Argument, arguments, limited

# What a neighbouring relation is called in a file.
NEIGHBOURS: dict[str, Neighbours] = {
    "add-remove": Neighbours.ADD_REMOVE,
    "replace": Neighbours.REPLACE,
    "zero-out": Neighbours.ZERO_OUT,
}
_RULE = re.compile(
    r"\s*(?P<top>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*/\s*n\s*(?:\^\s*(?P<power>\d(?:\.\d*)?))?\s*"
)
# As many people as there may be in any data; more records of one person have no group privacy.
_PEOPLE, _RECORDS = 10**15, 1000

Check = Callable[..., Any]


@dataclass(frozen=True)
class Field:
    """One key of a decision file: what it means, an example, and the check of its value."""

    key: str
    help: str
    example: Any
    check: Check
    required: bool = True


@dataclass(frozen=True)
class FieldTable:
    """One table of a decision file, ``[name]`` or, ``repeated``, any number of ``[[name]]``.

    ``others`` are further keys that depend on what the table holds, such as a mechanism's.
    """

    name: str
    help: str
    fields: tuple[Field, ...]
    repeated: bool = False
    required: bool = True
    others: Callable[[Mapping[str, Any]], Mapping[str, Field]] = lambda _: {}

    def keys(self, given: Mapping[str, Any]) -> dict[str, Field]:
        """Every key that it may have, beside what it is given."""
        return {each.key: each for each in self.fields} | dict(self.others(given))

    @property
    def head(self) -> str:
        """How the table is opened in a file."""
        return f"[[{self.name}]]" if self.repeated else f"[{self.name}]"


def text(**named: Any) -> str:
    """A text that says something, and that a file in UTF-8 can hold."""
    ((name, value),) = named.items()
    if not isinstance(value, str) or not value.strip():
        _checks.refuse(name, 'be a text in quotes, such as "one patient"', value)
    if any("\ud800" <= sign <= "\udfff" for sign in value):
        _checks.refuse(name, "be a text that UTF-8 can hold", value)
    return value


def day(**named: Any) -> date:
    """A day of the calendar."""
    ((name, value),) = named.items()
    if type(value) is not date:  # not a time of day, which is of a subclass
        _checks.refuse(name, "be a date without quotes, such as 2026-11-17", value)
    return value


def one_of(words: Collection[str], **named: Any) -> str:
    """One of some words."""
    ((name, value),) = named.items()
    if not isinstance(value, str) or value not in words:
        _checks.refuse(name, f"be one of {', '.join(words)}{meant(value, words)}", value)
    return value


def meant(value: object, words: Collection[str]) -> str:
    """The word that somebody who wrote another probably meant, in brackets."""
    close = difflib.get_close_matches(value.lower(), words, n=1) if isinstance(value, str) else []
    return f" (did you mean {close[0]}?)" if close else ""


def unknown(path: str, table: str, known: Collection[str], value: object) -> NoReturn:
    """Refuse a key that nobody knows."""
    key = path.rpartition(".")[2]
    hint = meant(key, known) or f" ({', '.join(known)})"
    _checks.refuse(path, f"be a key of {table}{hint}", value)


def delta_by_rule(rule: str, people: int) -> float:
    """The δ that a rule such as 1/n^2 gives for so many people."""
    parts = _RULE.fullmatch(rule)
    if parts is None:
        _checks.refuse("delta_rule", 'be written as "1/n", "1/n^2" or "0.1/n"', rule)
    return float(parts["top"]) / math.pow(people, float(parts["power"] or 1))


def _delta_rule(**named: Any) -> str:
    ((name, value),) = named.items()
    if not isinstance(value, str) or _RULE.fullmatch(value) is None:
        _checks.refuse(name, 'be written as "1/n", "1/n^2" or "0.1/n"', value)
    return value


def _risk(**named: Any) -> str:
    ((name, value),) = named.items()
    risks = {measure.key for measure, _ in limited().values()}
    if isinstance(value, str) and value in limited() and value not in risks:
        key = limited()[value][0].key
        _checks.refuse(
            name, f'be a risk, without its side: "{key}" with at_most or at_least', value
        )
    known = OLD_KEYS.get(value, value) if isinstance(value, str) else value
    return one_of([measure.key for measure, _ in limited().values()], **{name: known})


def _alternative(**named: Any) -> str:
    """A mechanism in full, or one that leaves a parameter to be chosen; not yet computed."""
    (name,), spec = named, text(**named)
    try:
        for term in (several := terms(spec)):
            own = {key for key in term.values if key not in WRAPPERS}
            if not any(way.fits(own) for way in KINDS[term.name].ways):
                named_family(spec) if len(several) == 1 else parse_mechanism(spec)
    except InvalidArgument as error:
        said = str(error).removeprefix("mechanism ")
        raise InvalidArgument(f"{name} {said}") from error
    return spec


def _argument(argument: Argument) -> Field:
    return Field(argument.key, argument.label, argument.default, argument.check, required=False)


def _arguments(_: Mapping[str, Any]) -> dict[str, Field]:
    """What a risk takes of an attacker; there is one δ for all."""
    return {key: _argument(each) for key, each in arguments().items() if key != DELTA.key}


def _parameter(key: str) -> Field:
    if key in WORD_PARAMETERS:
        word = WORD_PARAMETERS[key]
        return Field(key, word.option, word.usual, partial(one_of, list(word.words)), False)
    known = PARAMETERS[key]
    check: Check = partial(_checks.whole, 1) if known.whole else _checks.finite
    return Field(key, known.option or known.label, known.start or known.low, check, False)


def _parameters(given: Mapping[str, Any]) -> dict[str, Field]:
    kind: Kind | None = KINDS.get(given.get("name", ""))
    keys = () if kind is None else (*kind.parameters, *WRAPPERS)
    return {key: _parameter(key) for key in keys}


def _as_it_is(**named: Any) -> Any:
    """A value that is checked with the others of its model."""
    (value,) = named.values()
    return value


# Models of correlated records that a decision holds in full, and the keys of all of them.
KINDS_OF_MODELS = ("chain", "table", "independent", "exchangeable", "tree")
_MODEL_KEYS = (
    *("initial", "values", "probabilities", "rows", "marginal", "marginals", "records"),
    *("count_law", "parent", "root", "tables", "weights"),
)

TITLE = Field("title", "What people call the release.", "Patients by district, 2026", text)
TABLES: dict[str, FieldTable] = {
    table.name: table
    for table in (
        FieldTable(
            "release",
            "What is released, and from which data.",
            (
                Field("what", "What is published.", "Patients in each of 40 districts, once", text),
                Field("data", "Which data it is made from.", "Patient registry, 2025", text),
                Field(
                    "member",
                    "What is true of a person in the data, in words that the person would use.",
                    "somebody who was treated for cancer in 2025",
                    text,
                    required=False,
                ),
                Field(
                    "people",
                    "How many people (units of privacy) are in the data, roughly.",
                    12_000,
                    partial(_checks.whole, 1, _PEOPLE),
                ),
                Field(
                    "population",
                    "How many people could have been in the data, roughly.",
                    2_000_000,
                    partial(_checks.whole, 1, _PEOPLE),
                    required=False,
                ),
            ),
        ),
        FieldTable(
            "privacy",
            "Whom the guarantee protects, and from what change of the data.",
            (
                Field(
                    "unit", "The unit of privacy: whom or what is protected.", "one patient", text
                ),
                Field(
                    "neighbours",
                    f"The neighbouring relation: {', '.join(NEIGHBOURS)}.",
                    "add-remove",
                    partial(one_of, NEIGHBOURS),
                ),
                Field(
                    "records_per_unit",
                    "How many records one unit has at most; above 1, group privacy is counted.",
                    1,
                    partial(_checks.whole, 1, _RECORDS),
                    required=False,
                ),
                Field(
                    "delta",
                    "The δ of every ε; or give delta_rule.",
                    1e-6,
                    _checks.probability,
                    required=False,
                ),
                Field(
                    "delta_rule",
                    "The rule that gives δ, where n is release.people.",
                    "1/n^2",
                    _delta_rule,
                    required=False,
                ),
            ),
        ),
        FieldTable(
            "correlation",
            "How the records of one person are correlated, where a model is known; it takes "
            'neighbours = "replace" and the noise laplace.',
            (
                Field(
                    "kind",
                    f"The model: {', '.join(KINDS_OF_MODELS)}; the keys below are those of a "
                    "chain.",
                    "chain",
                    partial(one_of, KINDS_OF_MODELS),
                ),
                Field("source", "Where it comes from.", "visits of 2020 to 2024", text),
                Field(
                    "transition",
                    "Of each value of a record, the chances of the values of the next.",
                    [[0.95, 0.05], [0.5, 0.5]],
                    _as_it_is,
                    required=False,
                ),
                Field("stationary", "Whether it has run for ever.", True, _as_it_is, False),
                Field("length", "How many records one person has.", 12, _as_it_is, False),
            ),
            required=False,
            others=lambda _: {key: Field(key, "", None, _as_it_is, False) for key in _MODEL_KEYS},
        ),
        FieldTable(
            "mechanism",
            "What adds the noise: what is fixed, and which parameter is chosen.",
            (
                Field("name", f"One of {', '.join(KINDS)}.", "gaussian", partial(one_of, KINDS)),
                Field(
                    "choose",
                    "The parameter to choose, such as sigma, scale, epsilon or noise_multiplier.",
                    "sigma",
                    partial(one_of, PARAMETERS),
                ),
                Field(
                    "configured",
                    "Its value in use now, for --check.",
                    4.0,
                    _checks.finite_above_zero,
                    required=False,
                ),
            ),
            others=_parameters,
        ),
        FieldTable(
            "attacker",
            "Who may attack, and what they know before the release; one table for each.",
            (
                Field("name", "Who it is.", "an insurer", text),
                Field(
                    "knows",
                    "What this attacker knows and does without the release.",
                    "goes through a list of all residents, and suspects nobody in particular",
                    text,
                ),
            ),
            repeated=True,
            others=_arguments,
        ),
        FieldTable(
            "limit",
            "How much of a risk is accepted, and why; one table for each.",
            (
                Field("attacker", "The name of an attacker above.", "an insurer", text),
                Field(
                    "risk",
                    f"One of {', '.join(measure.key for measure, _ in limited().values())}.",
                    "ppv",
                    _risk,
                ),
                Field("at_most", "The most that is accepted.", 0.02, _checks.finite, False),
                Field(
                    "at_least",
                    "Instead of at_most, for errors of an attacker: the least that is accepted.",
                    0.4,
                    _checks.finite,
                    required=False,
                ),
                Field(
                    "reason",
                    "Why this much.",
                    "nobody acts on a list of which 1 in 50 is right",
                    text,
                ),
            ),
            repeated=True,
        ),
        FieldTable(
            "utility",
            "What the answer is good for, and how far off it may be.",
            (
                Field("what", "What counts.", "planning of clinics needs counts within 20", text),
                Field(
                    "statistic",
                    f"What is computed: {', '.join(Statistic)}. A mean is a sum with this noise, "
                    "divided by release.people; for noise on the mean itself write sum.",
                    "histogram",
                    partial(one_of, list(Statistic)),
                    required=False,
                ),
                Field(
                    "at_most",
                    "How far off it may be: 95 % of answers lie within ± this much.",
                    20,
                    _checks.finite_above_zero,
                    required=False,
                ),
                Field(
                    "cells",
                    "How many cells a histogram has; all of them are to lie within.",
                    40,
                    partial(_checks.whole, 1),
                    required=False,
                ),
                Field(
                    "candidates",
                    "How many values a quantile is picked from.",
                    100,
                    partial(_checks.whole, 2),
                    required=False,
                ),
                Field(
                    "batch_size",
                    "Records in a batch, for a gradient, where the mechanism does not say.",
                    256,
                    _checks.finite_above_zero,
                    required=False,
                ),
                Field(
                    "clipping_norm",
                    "What gradients are clipped to; 1 unless given.",
                    1,
                    _checks.finite_above_zero,
                    required=False,
                ),
            ),
            required=False,
        ),
        FieldTable(
            "alternative",
            "What else was considered; one table for each.",
            (
                Field("mechanism", "As name:key=value,key=value.", "laplace", _alternative),
                Field("why_not", "Why it was not taken.", "longer tails in small districts", text),
            ),
            repeated=True,
            required=False,
        ),
        FieldTable(
            "evidence",
            "Audits and probes of the code; one table for each.",
            (
                Field("file", "The JSON that --report wrote.", "audit.json", text),
                Field("what", "What was tested.", "200,000 calls of the release", text, False),
            ),
            repeated=True,
            required=False,
        ),
        FieldTable(
            "decided",
            "Who decided, when, and when it is looked at again.",
            (
                Field(
                    "owner", "Who answers for it.", "Dr A. Muster, data protection officer", text
                ),
                Field("date", "When it was decided.", date(2026, 11, 17), day),
                Field("review", "When it is to be reviewed.", date(2027, 11, 17), day),
            ),
        ),
    )
}
