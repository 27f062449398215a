"""Missing answers of a decision file: marked as still to do, or examples that nobody replaced."""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import Any

from tellapart.decision.fields import TABLES, TITLE
from tellapart.decision.record import Decision

# What nobody has said yet: texts that begin like this, and a day long gone.
TODO = "TODO: "
UNSET = date(1970, 1, 1)
_STILL_TO_SAY = re.compile(r"\W*(todo|tbd|fixme)\b|\s*([?….-]\s*)+$", re.IGNORECASE)
# Words about one release, which no other has: an example of them is no answer.
_OWN_WORDS = frozenset(
    {
        "title",
        "release.what",
        "release.data",
        "release.member",
        "attacker.knows",
        "limit.reason",
        "utility.what",
        "alternative.why_not",
        "decided.owner",
    }
)


def missing(decision: Decision) -> tuple[str, ...]:
    """The keys that nobody has answered: to do, or as the file of ``--init`` has them.

    >>> from tellapart import decision
    >>> missing(decision.parse(decision.template()))[:3]
    ('title', 'release.what', 'release.data')
    """
    # A number cannot be marked as to do: it is as unsaid as what it counts the people of.
    counted = () if not unsaid(decision.release.what) else ("release.people",)
    return tuple(
        place
        for place, key, value in _flat(decision)
        if unsaid(value) or _example(key, value) or place in counted
    )


def asked(place: str) -> str:
    """What is to be answered at a place of the file, in words.

    >>> asked("attacker[1].knows"), asked("title")
    ('what this attacker knows and does without the release', 'what people call the release')
    """
    table, _, key = re.sub(r"\[\d+\]", "", place).rpartition(".")
    known = {each.key: each.help for each in TABLES[table].fields} if table else {}
    said = known.get(key, TITLE.help if place == TITLE.key else key).rstrip(".")
    return f"{said[0].lower()}{said[1:]}"


def unsaid(value: Any) -> bool:
    """Whether a text or a day is still to be said.

    >>> [unsaid(text) for text in ("todo - ask Ada", "TBD", "...", "?", "Todorov, who signs")]
    [True, True, True, True, False]
    """
    return value in (UNSET, str(UNSET)) or (
        isinstance(value, str) and _STILL_TO_SAY.match(value) is not None
    )


def _example(key: str, value: Any) -> bool:
    return key in _OWN_WORDS and value in _examples()[key]


@cache
def _examples() -> dict[str, set[Any]]:
    """What the file of ``--init`` says, by key."""
    from tellapart.decision.toml_text import parse, template

    held: dict[str, set[Any]] = {}
    for _, key, value in _flat(parse(template())):
        if key in _OWN_WORDS:
            held.setdefault(key, set()).add(value)
    return {key: held.get(key, set()) for key in _OWN_WORDS}


def _flat(decision: Decision) -> list[tuple[str, str, Any]]:
    """Every value with its place in the file (``limit[2].reason``), and its key there."""
    values: list[tuple[str, str, Any]] = []
    for name, held in decision.data().items():
        if name == TITLE.key:
            values.append((name, name, held))
        elif isinstance(held, list):
            values += [
                (f"{name}[{k}].{key}", f"{name}.{key}", value)
                for k, entries in enumerate(held, 1)
                for key, value in entries.items()
            ]
        else:
            values += [(f"{name}.{key}", f"{name}.{key}", x) for key, x in held.items()]
    return values
