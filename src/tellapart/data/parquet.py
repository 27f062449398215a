"""Parquet files, read slice by slice through DuckDB (extra ``files``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart.data.columns import position, refuse_unread
from tellapart.data.scores_and_labels import NOT_NAN, NOT_NULL, refuse
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.data.table import HEAD, Batch, Place
from tellapart.errors import BadScores, Unsupported

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

SLICE = 2**21
_MEMORY = "512MB"

# Names of folders say nothing of the rows: a column comes from the file.
_TABLE = "read_parquet(?, file_row_number=true, hive_partitioning=false)"

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_WHOLE |= {f"U{kind}" for kind in _WHOLE}
_NUMBERS = _WHOLE | {"FLOAT", "DOUBLE", "DECIMAL"}
_NESTED = ("STRUCT", "MAP", "UNION")


class ParquetTable:
    """A Parquet file, asked for ranges of its rows."""

    what, named, aligned = "column", True, True

    def __init__(
        self,
        source: Source,
        limits: FileLimits,
        opened: ExitStack,
        ask: duckdb.DuckDBPyConnection,
    ) -> None:
        self.source, self._limits, self._ask = source, limits, ask
        self.notes: list[str] = []
        self._head: dict[int, list[Any]] | None = None
        self._file = DuckFile(source, opened.enter_context(source.named()))
        self._columns = _columns_there(ask, self._file)
        self.names = [name for name, _, _ in self._columns]
        counted = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
        self._rows = int(fetch_rows(ask, self._file, counted)[0][0])
        if self._rows < 0:
            raise unreadable(source, f"it says that it has {self._rows} rows")
        if self._rows > limits.rows:
            limits.refuse(source, f"have at most {limits.rows:,} rows")

    def __str__(self) -> str:
        return str(self.source)

    def type_of(self, name: str) -> str:
        """What a column holds, in DuckDB's words."""
        return self._columns[position(self.names, name, self)][2]

    def head(self, name: str) -> list[Any]:
        """The first values of a column; none of one that holds lists or objects."""
        at = position(self.names, name, self)
        if self._head is None:  # of all columns at once: there may be many
            plain = [k for k, (_, _, kind) in enumerate(self._columns) if not _is_nested(kind)]
            rows = self._between([self._columns[k][1] for k in plain], 0, HEAD, fetch_rows)
            self._head = {k: [_plain(row[i]) for row in rows] for i, k in enumerate(plain)}
        return self._head.get(at, [])

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These columns, many rows at a time."""
        for name in names:
            self._fits(name)
        asked = [self._columns[position(self.names, name, self)][1] for name in names]
        for start in range(0, self._rows, SLICE):
            end = min(start + SLICE, self._rows)
            deadline.check()
            held = self._between(asked, start, end, fetch_arrays)
            columns = tuple(held[f"c{k}"] for k in range(len(names)))
            if len(columns[0]) != end - start:
                raise BadScores(f"{self} must not change while it is read")
            yield Batch(columns, end - start, self._place(start), end / self._rows)

    def _between(
        self,
        columns: Sequence[str],
        start: int,
        end: int,
        fetch: Callable[[duckdb.DuckDBPyConnection, DuckFile, str], Any],
    ) -> Any:
        said = ", ".join(f"{how} AS c{k}" for k, how in enumerate(columns)) or "NULL"
        return fetch(
            self._ask,
            self._file,
            f"SELECT {said} FROM {_TABLE} "  # noqa: S608
            f"WHERE file_row_number >= {start} AND file_row_number < {end}",
        )

    def _place(self, start: int) -> Place:
        return lambda row: place_of(start + row, self.source)

    def _fits(self, name: str) -> None:
        """A label that is written once and meant a million times may be large when it is read."""
        at = position(self.names, name, self)
        _, how, kind = self._columns[at]
        if _is_nested(kind):
            raise BadScores(f"{name} must hold plain values, holds {kind} in {self}")
        if kind not in ("VARCHAR", "BLOB"):
            return
        said = f"SELECT max(strlen(CAST({how} AS VARCHAR))) FROM {_TABLE}"  # noqa: S608
        longest = fetch_rows(self._ask, self._file, said)[0][0] or 0
        if longest * min(self._rows, SLICE) > self._limits.held:
            raise BadScores(
                f"{name} must hold short labels, holds one of {longest:,} bytes in {self}"
            )


def _is_nested(kind: str) -> bool:
    return kind.startswith(_NESTED) or kind.endswith("]")


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _columns_there(ask: duckdb.DuckDBPyConnection, file: DuckFile) -> list[tuple[str, str, str]]:
    """Each column's name, how to ask for it and its type; by place, as names may differ by case."""
    columns_there = fetch_rows(ask, file, f"DESCRIBE SELECT * FROM {_TABLE}")  # noqa: S608
    there = _top(fetch_rows(ask, file, "SELECT name, num_children FROM parquet_schema(?)"))
    if len(columns_there) != len(there) + 1:  # and the number of the row
        raise unreadable(file.source, "its columns are not what they say")
    described = zip(there, columns_there, strict=False)
    return [(name, quoted(str(column[0])), str(column[1])) for name, column in described]


def _top(schema: list[tuple[str, int | None]]) -> list[str]:
    """The columns themselves, without the parts of nested ones."""
    names: list[str] = []
    inner = 0
    for name, children in schema[1:]:
        if not inner:
            names.append(str(name))
        inner = max(inner - 1, 0) + (children or 0)
    return names


def labels(source: Source, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """These columns of a file, row by row, as Python's own objects."""
    with connected(None) as ask, source.named() as path:
        file = DuckFile(source, path)
        columns = _columns_there(ask, file)
        there = [name for name, _, _ in columns]
        at = [position(there, name, source) for name in names]
        refuse_unread(there, names, source)
        said = ", ".join(columns[k][1] for k in at)
        return fetch_rows(ask, file, f"SELECT {said} FROM {_TABLE}")  # noqa: S608


def numbers(source: Source, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Columns of numbers, whole ones where ``kinds`` says "whole"; the first bad one is refused."""
    with connected(None) as ask, source.named() as path:
        file = DuckFile(source, path)
        columns = _columns_there(ask, file)
        there = [name for name, _, _ in columns]
        refuse_unread(there, list(kinds), source)
        wanted = {name: columns[position(there, name, source)][1:] for name in kinds}
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
        refuse(name, NOT_NULL, None, place_of(start + int(missing.argmax()), source))
    plain = np.ma.getdata(values)
    if not (finite := np.isfinite(plain)).all():
        row = int((~finite).argmax())
        rule = NOT_NAN if np.isnan(plain[row]) else "be finite"
        refuse(name, rule, plain[row], place_of(start + row, source))
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
