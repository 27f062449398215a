"""Parquet files, read slice by slice through DuckDB (extra ``files``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart.data import columns
from tellapart.data.columns import Names, Slice, position, refuse_unread
from tellapart.data.ranked import Progress
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.errors import BadScores, Unsupported

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

SLICE = 2**22
_MEMORY = "1GB"

# Names of folders say nothing of the rows: a column comes from the file.
_TABLE = "read_parquet(?, file_row_number=true, hive_partitioning=false)"

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_WHOLE |= {f"U{kind}" for kind in _WHOLE}
_NUMBERS = _WHOLE | {"FLOAT", "DOUBLE", "DECIMAL"}
_NESTED = ("STRUCT", "MAP", "UNION")


@dataclass(frozen=True)
class _ParquetPart:
    """One file: how many rows it has, and how to read its columns."""

    file: DuckFile
    rows: int
    select: dict[str, str]
    types: dict[str, str]


def slices(
    sources: Sequence[Source], names: Names, limits: FileLimits, tell: Progress
) -> Iterator[Slice]:
    """All rows, some at a time; the first bad one is refused."""
    with connected(None) as ask, ExitStack() as open_:
        parts = []
        for index, source in enumerate(sources):
            file = DuckFile(source, open_.enter_context(source.named()))
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
    ask: duckdb.DuckDBPyConnection, file: DuckFile, names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """How to ask for each column, and its type: by its place, as names may differ by case alone."""
    columns_there = fetch_rows(ask, file, f"DESCRIBE SELECT * FROM {_TABLE}")  # noqa: S608
    there = _top(fetch_rows(ask, file, "SELECT name, num_children FROM parquet_schema(?)"))
    if len(columns_there) != len(there) + 1:  # and the number of the row
        raise unreadable(file.source, "its columns are not what they say")
    at = {name: position(there, name, file.source) for name in names}
    refuse_unread(there, names, file.source)
    return {
        name: (quoted(str(columns_there[k][0])), str(columns_there[k][1])) for name, k in at.items()
    }


def _top(schema: list[tuple[str, int | None]]) -> list[str]:
    """The columns themselves, without the parts of nested ones."""
    names: list[str] = []
    inner = 0
    for name, children in schema[1:]:
        if not inner:
            names.append(str(name))
        inner = max(inner - 1, 0) + (children or 0)
    return names


def _part(
    ask: duckdb.DuckDBPyConnection, file: DuckFile, names: Names, limits: FileLimits
) -> _ParquetPart:
    wanted = columns_of(ask, file, list(names.wanted.values()))
    select = {part: wanted[name][0] for part, name in names.wanted.items()}
    types = {part: wanted[name][1] for part, name in names.wanted.items()}
    if types["score"].split("(")[0] not in _NUMBERS:
        raise BadScores(f"{names.score} must hold numbers, holds {types['score']} in {file.source}")
    if types["member"] not in _WHOLE | {"BOOLEAN"}:
        raise BadScores(
            f"{names.member} must hold booleans, or 1 and 0,"
            f" holds {types['member']} in {file.source}"
        )
    rows = int(fetch_rows(ask, file, "SELECT sum(num_rows) FROM parquet_file_metadata(?)")[0][0])
    if rows < 0:
        raise unreadable(file.source, f"it says that it has {rows} rows")
    for part in ("run", "group"):
        if part in types:
            _short(ask, file, select[part], names.wanted[part], types[part], rows * 1.0, limits)
    select["score"] = f"CAST({select['score']} AS DOUBLE)"
    if types["member"] != "BOOLEAN":
        member = select["member"]
        select["member"] = f"CASE WHEN {member} = 0 THEN false WHEN {member} = 1 THEN true END"
    return _ParquetPart(file, rows, select, types)


def _short(
    ask: duckdb.DuckDBPyConnection,
    file: DuckFile,
    how: str,
    name: str,
    kind: str,
    rows: float,
    limits: FileLimits,
) -> None:
    """A label that is written once and meant a million times may be large when it is read."""
    if kind.startswith(_NESTED) or kind.endswith("]"):
        raise BadScores(f"{name} must hold plain labels, holds {kind} in {file.source}")
    said = f"SELECT max(strlen(CAST({how} AS VARCHAR))) FROM {_TABLE}"  # noqa: S608
    longest = fetch_rows(ask, file, said)[0][0] or 0
    if longest * rows > limits.held:
        raise BadScores(
            f"{name} must hold short labels, holds one of {longest:,} bytes in {file.source}"
        )


def _alike(parts: Sequence[_ParquetPart], names: Names) -> None:
    first = parts[0]
    for part in parts:
        for kind, name in names.wanted.items():
            if part.types[kind] != first.types[kind]:
                raise BadScores(
                    f"{name} must have one type in all files, got {first.types[kind]} in "
                    f"{first.file.source} and {part.types[kind]} in {part.file.source}"
                )


def _slice(
    ask: duckdb.DuckDBPyConnection, part: _ParquetPart, names: Names, start: int, end: int
) -> Slice:
    said = ", ".join(f"{how} AS {quoted(name)}" for name, how in part.select.items())
    values = fetch_arrays(
        ask,
        part.file,
        f"SELECT {said} FROM {_TABLE} "  # noqa: S608
        f"WHERE file_row_number >= {start} AND file_row_number < {end}",
    )
    source = part.file.source
    if values["score"].size != end - start:
        raise BadScores(f"{source} must not change while it is read")
    whole = not any(np.ma.is_masked(values[kind]) for kind in ("score", "member"))
    if not whole or not np.isfinite(values["score"]).all():
        _refuse_first_bad(ask, part, names)
    marks = {
        kind: columns.labels(
            name, values[kind], end - start, lambda row: place_of(start + row, source)
        )
        for kind, name in names.wanted.items()
        if kind in ("run", "group")
    }
    member = np.asarray(values["member"], dtype=np.bool_)
    return Slice(np.asarray(values["score"], dtype=np.float64), member, **marks)


def _refuse_first_bad(ask: duckdb.DuckDBPyConnection, part: _ParquetPart, names: Names) -> None:
    score, member = part.select["score"], part.select["member"]
    written = columns_of(ask, part.file, [names.score, names.member])
    bad = fetch_rows(
        ask,
        part.file,
        f"SELECT file_row_number, {score}, {written[names.score][0]}, "  # noqa: S608
        f"{written[names.member][0]} FROM {_TABLE} "
        f"WHERE NOT coalesce(isfinite({score}), false) OR ({member}) IS NULL "
        "ORDER BY file_row_number LIMIT 1",
    )
    row, value, said_score, said_member = bad[0]
    where = place_of(row, part.file.source)
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
    with connected(None) as ask, source.named() as path:
        file = DuckFile(source, path)
        wanted = columns_of(ask, file, names)
        said = ", ".join(wanted[name][0] for name in names)
        return fetch_rows(ask, file, f"SELECT {said} FROM {_TABLE}")  # noqa: S608


def numbers(source: Source, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Columns of numbers, whole ones where ``kinds`` says "whole"; the first bad one is refused."""
    with connected(None) as ask, source.named() as path:
        file = DuckFile(source, path)
        wanted = columns_of(ask, file, list(kinds))
        for name, (_, kind) in wanted.items():
            whole = kinds[name] == "whole"
            if kind.split("(")[0] not in (_WHOLE if whole else _NUMBERS):
                held = "whole numbers" if whole else "numbers"
                raise BadScores(f"{name} must hold {held}, holds {kind} in {source}")
        types = {"whole": ("BIGINT", np.int64), "number": ("DOUBLE", np.float64)}
        said = ", ".join(
            f"CAST({how} AS {types[kinds[name]][0]}) AS {quoted(name)}"
            for name, (how, _) in wanted.items()
        )
        rows = int(fetch_rows(ask, file, f"SELECT count(*) FROM {_TABLE}")[0][0])  # noqa: S608
        read = {name: np.empty(rows, dtype=types[kind][1]) for name, kind in kinds.items()}
        for start in range(0, rows, SLICE):
            deadline.check()
            end = min(start + SLICE, rows)
            some = fetch_arrays(
                ask,
                file,
                f"SELECT {said} FROM {_TABLE} "  # noqa: S608
                f"WHERE file_row_number >= {start} AND file_row_number < {end}",
            )
            for name, column in read.items():
                column[start:end] = _present(name, some[name], start, source)
        return read


def _present(name: str, values: Any, start: int, source: Source) -> Any:
    """Values none of which is missing, NaN or infinite."""
    missing = np.ma.getmaskarray(values)
    if missing.any():
        columns.refuse(
            name, columns.NOT_NULL, None, place_of(start + int(missing.argmax()), source)
        )
    plain = np.ma.getdata(values)
    if not (finite := np.isfinite(plain)).all():
        row = int((~finite).argmax())
        rule = columns.NOT_NAN if np.isnan(plain[row]) else "be finite"
        columns.refuse(name, rule, plain[row], place_of(start + row, source))
    return plain


# -- the few things we say to DuckDB ---------------------------------------------------------------


@dataclass(frozen=True)
class DuckFile:
    """A file, and the path by which DuckDB finds it."""

    source: Source
    path: str


def connected(folder: Path | None) -> duckdb.DuckDBPyConnection:
    """A database of our own that writes only into this folder; without one, nowhere."""
    try:
        import duckdb
    except ImportError as missing:
        raise Unsupported(
            "reading Parquet files needs: pip install 'tellapart[files]'"
        ) from missing
    # Nothing is fetched from elsewhere: an extension that is not there stays away.
    return duckdb.connect(
        ":memory:",
        config={
            "memory_limit": _MEMORY,
            "temp_directory": "" if folder is None else str(folder),
            "autoinstall_known_extensions": False,
        },
    )


def fetch_rows(ask: duckdb.DuckDBPyConnection, file: DuckFile, sql: str) -> list[Any]:
    """Ask about one file; one that cannot be read is named."""
    return _fetched(file, lambda: ask.execute(sql, [file.path]).fetchall())


def fetch_arrays(ask: duckdb.DuckDBPyConnection, file: DuckFile, sql: str) -> dict[str, Any]:
    """The same, as one NumPy array per column."""
    return _fetched(file, lambda: ask.execute(sql, [file.path]).fetchnumpy())


def _fetched(file: DuckFile, fetch: Callable[[], T]) -> T:
    import duckdb

    try:
        return fetch()
    except (duckdb.Error, RuntimeError, ValueError, OverflowError, MemoryError) as wrong:
        said = str(wrong).replace(file.path, str(file.source))
        raise unreadable(file.source, said) from wrong


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def place_of(row: int, file: Source) -> str:
    """How a row of a file is named."""
    return f"in data row {row + 1} of {file} (counted from 1)"
