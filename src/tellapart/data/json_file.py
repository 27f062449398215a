"""JSON and JSON lines: records, lists by name, nested objects, and what pandas and R write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tellapart import deadline
from tellapart.data import encodings
from tellapart.data.columns import one_length, position
from tellapart.data.sources import FileLimits, Source
from tellapart.data.table import HEAD, Batch
from tellapart.errors import BadScores

# Lines that are read together.
_LINES = 2**14
# Objects within objects that are looked into: results.scores.lira.
_DEPTH = 4
_ADVICE = 'write a list of objects such as [{"score": 0.3, "member": 1}, ...]'


class JsonTable:
    """A .json file, held whole: each list in it is a column, by its path such as results.score."""

    what, aligned = "column", False

    def __init__(self, source: Source, limits: FileLimits) -> None:
        self.source = source
        self.notes: list[str] = []
        parsed = _parsed(source, encodings.whole(source, limits), "")
        self.named = not (isinstance(parsed, list) and parsed and isinstance(parsed[0], list))
        self._columns = _columns(source, parsed)
        if not self._columns:
            raise BadScores(f"{source} must hold lists of scores, holds none: {_ADVICE}")
        self.names = list(self._columns)
        if any("." in name for name in self.names):
            self.notes.append("lists within objects are named by their path")

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[Any]:
        """The first values of a list."""
        return self._columns[name][:HEAD]

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These lists, all at once."""
        for name in names:
            position(self.names, name, self)
        held = tuple(self._columns[name] for name in names)
        for name, values in zip(names[1:], held[1:], strict=True):
            one_length(name, len(held[0]), len(values), f" in {self}")
        yield Batch(held, len(held[0]), lambda row: f"in entry {row} of {self} (counted from 0)")


class LinesTable:
    """A .jsonl file: one object a line, read many lines at a time."""

    what, aligned = "column", True

    def __init__(self, source: Source, limits: FileLimits) -> None:
        self.source, self._limits = source, limits
        self.notes: list[str] = []
        self._encoding = encodings.encoding_of(source, limits)
        first = list(islice(self._rows(), HEAD))
        self.names = list(dict.fromkeys(name for _, row in first for name in row))
        self.named = not all(name.startswith("column") for name in self.names)
        self._first = first

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[Any]:
        """The first values by this name."""
        return [row.get(name) for _, row in self._first]

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The values by these names; what a line does not hold is missing."""
        for name in names:
            position(self.names, name, self)
        rows, size, seen = self._rows(), max(self.source.size, 1), 0
        while some := list(islice(rows, _LINES)):
            deadline.check()
            held = tuple([row.get(name) for _, row in some] for name in names)
            seen += sum(map(len, map(str, held[0])))
            lines = [line for line, _ in some]
            yield Batch(held, len(some), self._place(lines), min(seen / size, 1.0))

    def _place(self, lines: list[int]) -> Any:
        return lambda row: f"in line {lines[row]} of {self.source}"

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for chunk in encodings.chunks(self.source, self._encoding, self._limits):
            for k, text in enumerate(chunk.text().split("\n")[:-1]):
                if text.strip():
                    yield chunk.line + k, self._row(text, chunk.line + k)

    def _row(self, text: str, line: int) -> dict[str, Any]:
        row = _parsed(self.source, text, f" in line {line}")
        if isinstance(row, dict):
            return _flat(row)
        cells = row if isinstance(row, list) else [row]
        return {f"column{k}": cell for k, cell in enumerate(cells)}


def _parsed(source: Source, text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as wrong:
        line = where or f" in line {wrong.lineno}"
        more = ""
        if "Extra data" in wrong.msg and not where:
            more = ": one object a line is .jsonl; rename it"
        raise BadScores(f"{source} must be JSON, and breaks off{line}{more}") from wrong
    except BadScores as wrong:
        raise BadScores(f"{source} must have {wrong}{where}") from wrong
    except (ValueError, RecursionError) as wrong:  # numbers, or brackets, without end
        raise BadScores(f"{source} must be JSON of plain numbers{where}") from wrong


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise BadScores(f"one column {again!r}, has {names.count(again)}")
    return made


def _columns(source: Source, parsed: Any) -> dict[str, list[Any]]:
    """The lists in a document, by name."""
    if isinstance(parsed, list):
        return _of_list(parsed)
    if not isinstance(parsed, dict):
        raise BadScores(f"{source} must hold scores, holds one value: {_ADVICE}")
    if {"columns", "data"} <= parsed.keys():  # pandas: orient="split"
        return _of_rows(parsed["data"], [str(name) for name in parsed["columns"]])
    if {"schema", "data"} <= parsed.keys():  # pandas: orient="table"
        return _of_list(parsed["data"])
    inner = [value for value in parsed.values() if isinstance(value, dict)]
    keys = inner[0].keys() if inner else {}
    alike = len(inner) == len(parsed) and all(value.keys() == keys for value in inner)
    plain = all(not isinstance(cell, dict | list) for value in inner for cell in value.values())
    if alike and plain and keys:
        if all(key.isdecimal() for key in keys):  # pandas: orient="columns"
            return {name: [value[key] for key in keys] for name, value in parsed.items()}
        if all(key.isdecimal() for key in parsed):  # pandas: orient="index"
            return _of_list(list(parsed.values()))
    return {name: value for name, value in _flat(parsed).items() if _is_column(value)}


def _is_column(value: Any) -> bool:
    """A list of cells; one of objects or lists holds no cells."""
    return isinstance(value, list) and bool(value) and not isinstance(value[0], dict | list)


def _of_list(items: Any) -> dict[str, list[Any]]:
    if not isinstance(items, list) or not items:
        return {}
    if all(isinstance(row, Mapping) for row in items):
        rows = [_flat(row) for row in items]
        names = dict.fromkeys(name for row in rows[:HEAD] for name in row)
        return {name: [row.get(name) for row in rows] for name in names}
    if all(isinstance(row, list) for row in items):
        width = max(map(len, items))
        return _of_rows(items, [f"column{k}" for k in range(width)])
    return {"column0": items}


def _of_rows(rows: Any, names: list[str]) -> dict[str, list[Any]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return {}
    return {
        name: [row[k] if k < len(row) else None for row in rows] for k, name in enumerate(names)
    }


def _flat(nested: Mapping[str, Any], path: str = "", depth: int = _DEPTH) -> dict[str, Any]:
    """Values by their path."""
    made: dict[str, Any] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping) and depth:
            made |= _flat(value, f"{path}{name}.", depth - 1)
        else:
            made[f"{path}{name}"] = value
    return made
