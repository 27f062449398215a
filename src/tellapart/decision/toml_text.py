"""Decision files in TOML: read, written with their comments kept (round trip), and begun."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any

from tellapart import _checks, _files
from tellapart.data import sources
from tellapart.decision.fields import TABLES, TITLE, Field, FieldTable
from tellapart.decision.record import Decision, from_data
from tellapart.errors import InvalidArgument

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDTH = 88
# The keys of a first file that the examples of its fields do not settle.
_EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "release": {
        "member": "somebody who was treated for cancer in 2025",
        "population": 2_000_000,
    },
    "privacy": {"records_per_unit": 1, "delta_rule": "1/n^2"},
    "mechanism": {"sensitivity": 1, "configured": 4.0},
    "attacker": {"prior": 0.006, "fpr": 0.001},
    "limit": {"at_most": 0.02},
    "utility": {"statistic": "histogram", "cells": 40, "at_most": 20},
    "alternative": {},
}
_HEAD = re.compile(r"\s*(\[\[|\[)\s*(\w+)\s*\]{1,2}\s*(?:#.*)?")
_ENTRY = re.compile(r"\s*([\w-]+)\s*=")

Line = Callable[[str, Any], str]


def parse(text: str) -> Decision:
    """A decision from the text of its file; what is wrong is said by table and key.

    >>> parse(template()).decided.owner
    'Dr A. Muster, data protection officer'
    """
    _checks.instance(str, "the text of a decision file", text=text)
    try:
        given = tomllib.loads(text.removeprefix("\ufeff"))  # as some editors begin a file
    except (ValueError, RecursionError) as error:  # ValueError also for numbers without end
        said = f"a decision file must be TOML: {error}{_brackets(text)}"
        raise InvalidArgument(said) from error
    return replace(from_data(given), text=text)


def _brackets(text: str) -> str:
    """What to type where a table that may be there several times is opened like any other."""
    for name in re.findall(r"^\s*\[(\w+)\]", text, re.M):
        if name in TABLES and TABLES[name].repeated:
            return f"; write {TABLES[name].head}, once for each"
    return ""


def read(path: str | PathLike[str]) -> Decision:
    """A decision from its file, which is kept in version control.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = Path(folder, "decision.toml").write_text(template(), encoding="utf-8")
    ...     read(Path(folder, "decision.toml")).title
    'Patients by district, 2026'
    """
    place = Path(path)
    text = sources.text(place)
    try:
        return parse(text)
    except InvalidArgument as error:
        raise InvalidArgument(f"{place}: {error}") from error


def write(decision: Decision, path: str | PathLike[str]) -> None:
    """Write a decision to its file: all of it is there, or what was there before.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> first = parse(template())
    >>> with TemporaryDirectory() as folder:
    ...     write(first, Path(folder, "decision.toml"))
    ...     read(Path(folder, "decision.toml")) == first
    True
    """
    text = dumps(decision)
    _files.whole(Path(path), lambda part: part.write_text(text, encoding="utf-8", newline="\n"))


def dumps(decision: Decision) -> str:
    """The text of a decision's file; `parse` reads the same decision from it.

    Of one that was read, comments stay, but for those beside values that have changed since.

    >>> dumps(parse(template())) == template()
    True
    """
    _checks.instance(Decision, "a Decision", decision=decision)
    tables = decision.data()
    if decision.text:
        kept = _with_comments(decision.text, tables, _line)
        if kept is not None and _says(kept, tables):
            return kept
    lines: list[str] = []
    for key, value in tables.items():
        if key == TITLE.key:
            lines.append(_line(key, value))
            continue
        for entries in value if TABLES[key].repeated else [value]:
            lines += ["", TABLES[key].head, *(_line(*entry) for entry in entries.items())]
    return "\n".join(lines) + "\n"


def _says(text: str, tables: Mapping[str, Any]) -> bool:
    """Whether a text has these tables, whatever their comments."""
    try:
        return from_data(tomllib.loads(text)).data() == tables
    except ValueError:
        return False


def template() -> str:
    """A first decision file, with a comment for every key: valid as it is, and yours to change.

    >>> print(template().partition("[release]")[0].splitlines()[4])
    title = "Patients by district, 2026"
    """
    lines = [
        "# A decision on how much noise a release needs; `tellapart decide` answers it.",
        "# Every value below is an example: replace it. Lines such as #key = value are optional.",
        "",
        *_commented(TITLE, {TITLE.key: TITLE.example}),
    ]
    for table in TABLES.values():
        lines += ["", *_wrapped(table.help), *_table(table)]
    return "\n".join(lines) + "\n"


def _table(table: FieldTable) -> Iterator[str]:
    """A table with its example; one that nobody has to give, as a comment."""
    known = {each.key: each.example for each in table.fields if each.required}
    given = known | dict(_EXAMPLES.get(table.name, {}))
    left_out = not table.required and table.name not in _EXAMPLES
    yield f"{'#' if left_out else ''}{table.head}"
    for each in table.keys(given).values():
        if each.key in given or each in table.fields:
            yield from _commented(each, {} if left_out else given)


def _commented(field: Field, given: Mapping[str, Any]) -> list[str]:
    line = _line(field.key, given.get(field.key, field.example))
    return [*_wrapped(field.help), line if field.key in given else f"#{line}"]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _line(key: str, value: Any) -> str:
    return f"{key} = {written(value)}"


def written(value: Any) -> str:
    """A value as TOML has it, read back as the same."""
    if isinstance(value, str):
        return f'"{"".join(_escaped(sign) for sign in value)}"'
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(_line(_key(key), x) for key, x in value.items())}}}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return re.sub(r"e([+-])0*", r"e\1", repr(float(value))).replace("e+", "e")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else written(key)


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    return f"\\u{ord(sign):04x}" if sign < " " or sign == "\x7f" else sign


# -- comments of a file whose values are written again


def _with_comments(text: str, tables: Mapping[str, Any], line: Line) -> str | None:
    """The text with these values: what did not change stays as it is, comments and all.

    The comment beside a value that changed goes, as it may be about the old one; so do all comments
    of ``[[tables]]`` whose number changed. None where the text is written in other ways than line
    by line.
    """
    return _Text(tables, line).of(text)


class _Text:
    """The lines of a file, as they are written again."""

    def __init__(self, tables: Mapping[str, Any], line: Line) -> None:
        self._tables, self._line = tables, line
        self._out: list[str] = []
        self._left: dict[str, Any] | None = {k: x for k, x in tables.items() if k not in TABLES}
        self._seen: dict[str, int] = {}

    def of(self, text: str) -> str | None:
        lines = text.removeprefix("\ufeff").splitlines()
        heads = [head[2] for head in map(_HEAD.fullmatch, lines) if head is not None]
        changed = {
            name
            for name, table in TABLES.items()
            if table.repeated and heads.count(name) != len(self._tables.get(name, ()))
        }
        for each in lines:
            if head := _HEAD.fullmatch(each):
                self._open(head[2], each, changed)
            elif entry := _ENTRY.match(each):
                try:
                    was = tomllib.loads(each)
                except ValueError:  # a value over several lines
                    return None
                self._value(entry[1], was.get(entry[1]), each)
            elif self._left is not None:
                self._out.append(each)
        self._close()
        for name, held in self._tables.items():
            if name in TABLES and name not in self._seen:
                self._fresh(name, held)
        return "\n".join(self._out).strip("\n") + "\n"

    def _open(self, name: str, line: str, changed: set[str]) -> None:
        self._close()
        place = self._seen.get(name, 0)
        self._seen[name] = place + 1
        held = self._tables.get(name)
        if held is None or name in changed:
            if held is not None and not place:
                self._fresh(name, held)
            self._left = None  # all below it goes
            return
        self._left = dict(held[place] if TABLES[name].repeated else held)
        self._out.append(line)

    def _value(self, key: str, was: Any, line: str) -> None:
        if self._left is None or key not in self._left:
            return
        new = self._left.pop(key)
        same = new == was and isinstance(new, bool) == isinstance(was, bool)
        self._out.append(line if same else self._line(key, new))

    def _close(self) -> None:
        """What the table has beside, before the empty lines and comments that end it."""
        place = len(self._out)
        while place and re.fullmatch(r"\s*(#.*)?", self._out[place - 1]):
            place -= 1
        self._out[place:place] = [self._line(*entry) for entry in (self._left or {}).items()]
        self._left = None

    def _fresh(self, name: str, held: Any) -> None:
        table = TABLES[name]
        for entries in held if table.repeated else [held]:
            if self._out and self._out[-1].strip():
                self._out.append("")
            self._out += [table.head, *(self._line(*entry) for entry in entries.items())]
        self._out.append("")
