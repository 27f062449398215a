"""Scores in Parquet files, read slice by slice (extra ``files``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart import deadline
from tellapart.data import columns, duck
from tellapart.data.frames import position
from tellapart.data.ranked import Progress
from tellapart.data.sources import Limits, Source, unreadable
from tellapart.data.table import Names, Slice
from tellapart.errors import BadScores

if TYPE_CHECKING:
    import duckdb

SLICE = 2**22

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_WHOLE |= {f"U{one}" for one in _WHOLE}
_NUMBERS = _WHOLE | {"FLOAT", "DOUBLE", "DECIMAL"}
_NESTED = ("STRUCT", "MAP", "UNION")


@dataclass(frozen=True)
class _Part:
    """One file: how many rows it has, and how to read its columns."""

    file: duck.File
    rows: int
    select: dict[str, str]
    types: dict[str, str]


def slices(
    sources: Sequence[Source], names: Names, limits: Limits, tell: Progress
) -> Iterator[Slice]:
    """All rows, some at a time; the first bad one is refused."""
    with duck.connected(None) as ask, ExitStack() as open_:
        parts = []
        for index, source in enumerate(sources):
            file = duck.File(source, open_.enter_context(source.named()))
            parts.append(_part(ask, file, names, limits))
            tell("opening", (index + 1) / len(sources))
        _alike(parts, names)
        total, done = sum(part.rows for part in parts), 0
        if total > limits.rows:
            limits.refuse(sources[0], f"have at most {limits.rows:,} rows")
        for part in parts:
            for start in range(0, part.rows, SLICE):
                end = min(start + SLICE, part.rows)
                deadline.check()
                yield _slice(ask, part, names, start, end)
                done += end - start
                tell("reading", done / total)


def columns_of(
    ask: duckdb.DuckDBPyConnection, file: duck.File, names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """How to ask for each column, and its type: by its place, as names may differ by case alone."""
    told = duck.rows(ask, file, f"DESCRIBE SELECT * FROM {duck.PARQUET}")  # noqa: S608
    there = _top(duck.rows(ask, file, "SELECT name, num_children FROM parquet_schema(?)"))
    if len(told) != len(there) + 1:  # and the number of the row
        raise unreadable(file.source, "its columns are not what they say")
    at = {name: position(there, name, file.source) for name in names}
    return {name: (duck.quoted(str(told[k][0])), str(told[k][1])) for name, k in at.items()}


def _top(schema: list[tuple[str, int | None]]) -> list[str]:
    """The columns themselves, without the parts of nested ones."""
    names: list[str] = []
    inner = 0
    for name, children in schema[1:]:
        if not inner:
            names.append(str(name))
        inner = max(inner - 1, 0) + (children or 0)
    return names


def _part(ask: duckdb.DuckDBPyConnection, file: duck.File, names: Names, limits: Limits) -> _Part:
    found = columns_of(ask, file, list(names.wanted.values()))
    select = {part: found[name][0] for part, name in names.wanted.items()}
    types = {part: found[name][1] for part, name in names.wanted.items()}
    if types["score"].split("(")[0] not in _NUMBERS:
        raise BadScores(f"{names.score} must hold numbers, holds {types['score']} in {file.source}")
    if types["member"] not in _WHOLE | {"BOOLEAN"}:
        raise BadScores(
            f"{names.member} must hold booleans, or 1 and 0,"
            f" holds {types['member']} in {file.source}"
        )
    rows = int(duck.rows(ask, file, "SELECT sum(num_rows) FROM parquet_file_metadata(?)")[0][0])
    if rows < 0:
        raise unreadable(file.source, f"it says that it has {rows} rows")
    for part in ("run", "group"):
        if part in types:
            _short(ask, file, select[part], names.wanted[part], types[part], rows * 1.0, limits)
    select["score"] = f"CAST({select['score']} AS DOUBLE)"
    if types["member"] != "BOOLEAN":
        told = select["member"]
        select["member"] = f"CASE WHEN {told} = 0 THEN false WHEN {told} = 1 THEN true END"
    return _Part(file, rows, select, types)


def _short(
    ask: duckdb.DuckDBPyConnection,
    file: duck.File,
    how: str,
    name: str,
    kind: str,
    rows: float,
    limits: Limits,
) -> None:
    """A label that is written once and meant a million times may be large when it is read."""
    if kind.startswith(_NESTED) or kind.endswith("]"):
        raise BadScores(f"{name} must hold plain labels, holds {kind} in {file.source}")
    said = f"SELECT max(strlen(CAST({how} AS VARCHAR))) FROM {duck.PARQUET}"  # noqa: S608
    longest = duck.rows(ask, file, said)[0][0] or 0
    if longest * rows > limits.held:
        raise BadScores(
            f"{name} must hold short labels, holds one of {longest:,} bytes in {file.source}"
        )


def _alike(parts: Sequence[_Part], names: Names) -> None:
    first = parts[0]
    for part in parts:
        for kind, name in names.wanted.items():
            if part.types[kind] != first.types[kind]:
                raise BadScores(
                    f"{name} must have one type in all files, got {first.types[kind]} in "
                    f"{first.file.source} and {part.types[kind]} in {part.file.source}"
                )


def _slice(
    ask: duckdb.DuckDBPyConnection, part: _Part, names: Names, start: int, end: int
) -> Slice:
    said = ", ".join(f"{how} AS {duck.quoted(name)}" for name, how in part.select.items())
    found = duck.arrays(
        ask,
        part.file,
        f"SELECT {said} FROM {duck.PARQUET} "  # noqa: S608
        f"WHERE file_row_number >= {start} AND file_row_number < {end}",
    )
    source = part.file.source
    if found["score"].size != end - start:
        raise BadScores(f"{source} must not change while it is read")
    whole = not any(np.ma.is_masked(found[one]) for one in ("score", "member"))
    if not whole or not np.isfinite(found["score"]).all():
        _refuse_first_bad(ask, part, names)
    marks = {
        kind: columns.labels(
            name, found[kind], end - start, lambda row: duck.place(start + row, source)
        )
        for kind, name in names.wanted.items()
        if kind in ("run", "group")
    }
    member = np.asarray(found["member"], dtype=np.bool_)
    return Slice(np.asarray(found["score"], dtype=np.float64), member, **marks)


def _refuse_first_bad(ask: duckdb.DuckDBPyConnection, part: _Part, names: Names) -> None:
    score, member = part.select["score"], part.select["member"]
    written = columns_of(ask, part.file, [names.score, names.member])
    told = duck.rows(
        ask,
        part.file,
        f"SELECT file_row_number, {score}, {written[names.score][0]}, "  # noqa: S608
        f"{written[names.member][0]} FROM {duck.PARQUET} "
        f"WHERE NOT coalesce(isfinite({score}), false) OR ({member}) IS NULL "
        "ORDER BY file_row_number LIMIT 1",
    )
    row, value, said_score, said_member = told[0]
    where = duck.place(row, part.file.source)
    if value is None:
        rule = columns.NOT_NULL if said_score is None else columns.NUMBER
        columns.refuse(names.score, rule, said_score, where)
    if not np.isfinite(value):
        rule = columns.NOT_NAN if np.isnan(value) else columns.FINITE
        columns.refuse(names.score, rule, value, where)
    rule = columns.NOT_NULL if said_member is None else columns.TRUTH
    columns.refuse(names.member, rule, said_member, where)


def labels(source: Source, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """These columns of a file, row by row, as Python's own objects."""
    with duck.connected(None) as ask, source.named() as path:
        file = duck.File(source, path)
        found = columns_of(ask, file, names)
        said = ", ".join(found[name][0] for name in names)
        return duck.rows(ask, file, f"SELECT {said} FROM {duck.PARQUET}")  # noqa: S608
