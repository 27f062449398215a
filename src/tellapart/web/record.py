"""The decision record behind the Choose view: as a link, as a file, and as values to edit.

Nothing here knows how a page is made. A record goes into a link whole, as the text of its file,
packed; `values_of` and `edited` are what people set on a page, and the record with it set.
"""

from __future__ import annotations

import base64
import re
import tomllib
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

from tellapart import _checks, decision
from tellapart.decision import Decision
from tellapart.decision.fields import NEIGHBOURS, TABLES, TITLE, Field
from tellapart.decision.missing import TODO, UNSET
from tellapart.decision.record import from_data, shown
from tellapart.errors import InvalidArgument
from tellapart.mechanisms.catalogue import KINDS, Term, named_family, parse, terms
from tellapart.risk.catalogue import DELTA, FPR, PEOPLE, PRIOR, arguments, limited
from tellapart.web.controls import unsaid

# Bytes of a file, and letters of a link that has it.
LARGEST_FILE = 64 * 1024
LONGEST_LINK = 40_000
# Tables of which every key can be set on a page, beside the title.
EDITED = ("release", "privacy", "decided")
_TITLE = TODO + "what people call the release"


# -- a link and a file ------------------------------------------------------------------------


def packed(record: Decision) -> str:
    """The record as a word of a link."""
    made = zlib.compress(decision.dumps(record).encode(), 9)
    text = base64.urlsafe_b64encode(made).decode().rstrip("=")
    if len(text) > LONGEST_LINK:
        raise InvalidArgument(
            f"a decision must fit into a link of {LONGEST_LINK:,} letters, got {len(text):,}; "
            "use the command line: tellapart decide decision.toml"
        )
    return text


def unpacked(text: str) -> Decision:
    """The record that a link carries; whatever else stands there is refused."""
    rule = "be the record of a decision as this page writes it; open the file instead"
    if len(text) > LONGEST_LINK or not re.fullmatch(r"[\w-]+", text, re.ASCII):
        _checks.refuse("record", rule, f"{text[:40]}…" if len(text) > 40 else text)
    unzip = zlib.decompressobj()
    try:
        made = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        held = unzip.decompress(made, LARGEST_FILE)
        whole = unzip.eof and not unzip.unused_data
        said = held.decode() if whole else ""
    except (ValueError, zlib.error):
        said = ""
    if not said:
        _checks.refuse("record", rule, f"{text[:40]}…" if len(text) > 40 else text)
    return decision.parse(said)


def loaded(name: str, content: bytes) -> Decision:
    """The record in a file that somebody picked; it is read in memory, and its path unknown."""
    if len(content) > LARGEST_FILE:
        raise InvalidArgument(
            f"{name} must have at most {LARGEST_FILE:,} bytes here; the command line takes more"
        )
    try:
        return decision.parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{name} must be text in UTF-8") from error
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}: {error}") from error


# -- a record begun from dials ----------------------------------------------------------------


def begun(
    mechanism: str,
    parameter: str,
    bounds: Mapping[str, float],
    about: Mapping[str, float],
    delta: float,
) -> Decision:
    """A first record: what is set, one attacker, and TODO for all that nobody was asked."""
    (term,) = terms(mechanism)
    asked = {each.key for key in bounds for each in limited()[key][0].arguments}
    needed = {PRIOR.key, FPR.key} | asked - {DELTA.key, PEOPLE.key}
    people = about.get(PEOPLE.key, PEOPLE.default)
    if PEOPLE.key not in asked:  # nobody was asked how many there are
        records = term.values.get("data_size", people)
        with suppress(InvalidArgument):  # which the mechanism refuses by its own name
            people = PEOPLE.check(people=records)
    tables: dict[str, Any] = {
        TITLE.key: _TITLE,
        "release": {
            **_to_do("release"),
            PEOPLE.key: int(people),
        },
        "privacy": {**_to_do("privacy"), "neighbours": _relations(term)[0], "delta": delta},
        "mechanism": {"name": term.name, "choose": parameter, **term.values},
        "attacker": [
            {**_to_do("attacker"), **{key: about[key] for key in arguments() if key in needed}}
        ],
        "limit": [_limit(key, bound, _to_do("attacker")["name"]) for key, bound in bounds.items()],
        "decided": _to_do("decided"),
    }
    for relation in _relations(term):
        tables["privacy"]["neighbours"] = relation
        try:
            return from_data(tables)
        except InvalidArgument as error:  # a scheme is accounted for some relations alone
            if not str(error).startswith("privacy.neighbours"):
                raise
            refusal = error
    raise refusal


def _to_do(table: str) -> dict[str, Any]:
    """What a table says where nobody has said it: only texts and days can be marked so."""
    examples = {each.key: each for each in TABLES[table].fields if each.required}
    return {
        key: UNSET if isinstance(each.example, date) else TODO + _lower(each.help)
        for key, each in examples.items()
        if isinstance(each.example, str | date)
    }


def _lower(help_text: str) -> str:
    said = help_text.rstrip(".")
    return said[0].lower() + said[1:]


def _relations(term: Term) -> list[str]:
    """The neighbouring relations, first the one that a mechanism has by itself."""
    own = getattr(parse(KINDS[term.name].first_text), "neighbours", None)
    return sorted(NEIGHBOURS, key=lambda name: NEIGHBOURS[name] is not own)


def _limit(key: str, bound: float, attacker: str) -> dict[str, Any]:
    measure, _ = limited()[key]
    side = "at_least" if measure.smaller_is_worse else "at_most"
    reason = TODO + _lower("Why this much.")
    return {"attacker": attacker, "risk": measure.key, side: bound, "reason": reason}


def unsaid_texts() -> dict[str, str]:
    """What every record begins with, whatever is set: the texts and days that are still to do."""
    begun = {f"{name}.{key}": x for name in EDITED for key, x in _to_do(name).items()}
    del begun["privacy.neighbours"]
    return {TITLE.key: _TITLE, **{path: _written(x) for path, x in begun.items()}}


# -- values that people set -------------------------------------------------------------------


def text_fields() -> dict[str, Field]:
    """Every key that is edited as a line of text, by its place in a file."""
    keys = {f"{name}.{each.key}": each for name in EDITED for each in TABLES[name].fields}
    configured = next(x for x in TABLES["mechanism"].fields if x.key == "configured")
    return {TITLE.key: TITLE, **keys, "mechanism.configured": configured}


def values_of(record: Decision) -> dict[str, Any]:
    """All of a record that can be set on a page, by field; ``a2.prior`` is the second attacker's.

    The mechanism is a text with what is fixed, as on a command line.
    """
    tables, family = record.data(), record.family()
    values: dict[str, Any] = {
        "mechanism": str(Term(family.name, family.fixed)),
        "parameter": family.parameter,
    }
    for path, field in text_fields().items():
        held = tables if path == TITLE.key else tables[path.partition(".")[0]]
        values[path] = _written(held.get(field.key))
    for place, attacker in enumerate(record.attackers, 1):
        values |= {f"a{place}.{key}": x for key, x in tables["attacker"][place - 1].items()}
        values |= {f"a{place}.on_{key}": False for key in limited()}
        for limit in reversed(record.limits):  # of two on the same risk, the first is set
            if limit.attacker == attacker.name:
                key = limit.measure.limit_key
                values[f"a{place}.on_{key}"] = True
                values[f"a{place}.{key}"] = limit.bound
                values[f"a{place}.reason_{key}"] = limit.reason
    return values


def _written(value: Any) -> str:
    """A value as people type it: a text without quotes, nothing where it is left out."""
    if value is None:
        return ""
    return value if isinstance(value, str) else shown(value)


def edited(record: Decision, values: Mapping[str, Any]) -> Decision:
    """The record with these values set; those that nobody changed leave it as it is."""
    before = values_of(record)
    new = {key: x for key, x in values.items() if key in before and x != before[key]}
    tables = record.data()
    _set_mechanism(record, tables, values)
    for path in text_fields():
        if path in new:
            _set_text(tables, path, str(new[path]))
    _one_delta(tables, new)
    for place in range(1, 1 + len(record.attackers)):
        own = f"a{place}."
        about = {key.removeprefix(own): x for key, x in new.items() if key.startswith(own)}
        _set_attacker(tables, place, about)
    return replace(from_data(tables), text=record.text)


def with_attacker(record: Decision) -> Decision:
    """The record with one more attacker, of whom little is said yet."""
    tables = record.data()
    name = f"{TODO}attacker {1 + len(record.attackers)}"
    usual = {PRIOR.key: PRIOR.default, FPR.key: FPR.default}
    tables["attacker"].append({**_to_do("attacker"), "name": name, **usual})
    return replace(from_data(tables), text=record.text)


def _set_mechanism(record: Decision, tables: dict[str, Any], values: Mapping[str, Any]) -> None:
    """The mechanism as it is set; a δ that the decision gave it stays with the decision."""
    if not values.get("mechanism"):
        return
    was, family = record.mechanism, record.family()
    text, asked = str(values["mechanism"]), str(values.get("parameter") or "")
    set_family = named_family(text, asked or None)
    (term,) = terms(text)
    before = _said(Term(family.name, family.fixed))
    if (_said(term), set_family.parameter) == (before, family.parameter):
        return
    fixed = dict(term.values)
    borrowed = DELTA.key in family.fixed and DELTA.key not in was.fixed
    if borrowed and fixed.get(DELTA.key) == record.delta:
        del fixed[DELTA.key]
    same = (term.name, set_family.parameter) == (was.name, was.choose)
    configured = {"configured": was.configured} if same and was.configured is not None else {}
    tables["mechanism"] = {
        "name": term.name,
        "choose": set_family.parameter,
        **configured,
        **fixed,
    }


def _said(term: Term) -> dict[str, Any]:
    """A mechanism without what goes without saying."""
    said = {key: x for key, x in term.values.items() if x != unsaid(term.name, key)}
    return {"name": term.name, **said}


def _set_text(tables: dict[str, Any], path: str, typed: str) -> None:
    name, _, key = path.rpartition(".")
    field, table = text_fields()[path], tables[name] if name else tables
    if not typed.strip() and not field.required:
        table.pop(key, None)
    elif not typed.strip():  # still to be said
        table[key] = _to_do(name).get(key, typed) if name else _TITLE
    else:
        table[key] = typed if isinstance(field.example, str) else _typed(typed)


def _typed(text: str) -> Any:
    """A number or a day as a file has it; what is neither stays a text, to be refused as one."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _one_delta(tables: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Who sets δ means no rule any more, and the other way round."""
    for key, other in (("delta", "delta_rule"), ("delta_rule", "delta")):
        if new.get(f"privacy.{key}") and not new.get(f"privacy.{other}"):
            tables["privacy"].pop(other, None)


def _set_attacker(tables: dict[str, Any], place: int, new: Mapping[str, Any]) -> None:
    attacker, limits = tables["attacker"][place - 1], tables["limit"]
    name = attacker["name"]
    for key, (measure, accepted) in limited().items():
        own = [x for x in limits if (x["attacker"], x["risk"]) == (name, measure.key)]
        if new.get(f"on_{key}") is False:
            limits[:] = [x for x in limits if x not in own]
        elif new.get(f"on_{key}"):
            limits.append(_limit(key, accepted.start, name))
            for argument in measure.arguments:
                if argument not in (DELTA, PEOPLE):
                    attacker.setdefault(argument.key, argument.default)
        elif own:
            first = own[0]
            side = "at_least" if measure.smaller_is_worse else "at_most"
            first[side] = new.get(key, first[side])
            first["reason"] = new.get(f"reason_{key}", first["reason"])
    attacker |= {key: x for key, x in new.items() if key in attacker}
    for limit in limits:
        if limit["attacker"] == name:
            limit["attacker"] = attacker["name"]
