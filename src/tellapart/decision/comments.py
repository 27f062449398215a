"""Comments of a decision file, kept where its values are written again (round-trip TOML)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from tellapart.decision.fields import TABLES

_HEAD = re.compile(r"\s*(\[\[|\[)\s*(\w+)\s*\]{1,2}\s*(?:#.*)?")
_ENTRY = re.compile(r"\s*([\w-]+)\s*=")

Line = Callable[[str, Any], str]


def with_comments(text: str, tables: Mapping[str, Any], line: Line) -> str | None:
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
