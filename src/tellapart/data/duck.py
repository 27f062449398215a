"""The few things we say to DuckDB (extra ``files``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tellapart.data.sources import Source, unreadable
from tellapart.errors import Unsupported

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

MEMORY = "1GB"

# Names of folders say nothing of the rows: a column comes from the file.
PARQUET = "read_parquet(?, file_row_number=true, hive_partitioning=false)"


@dataclass(frozen=True)
class File:
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
            "memory_limit": MEMORY,
            "temp_directory": "" if folder is None else str(folder),
            "autoinstall_known_extensions": False,
        },
    )


def rows(ask: duckdb.DuckDBPyConnection, file: File, sql: str) -> list[Any]:
    """Ask about one file; one that cannot be read is named."""
    return _fetched(file, lambda: ask.execute(sql, [file.path]).fetchall())


def arrays(ask: duckdb.DuckDBPyConnection, file: File, sql: str) -> dict[str, Any]:
    """The same, as one NumPy array per column."""
    return _fetched(file, lambda: ask.execute(sql, [file.path]).fetchnumpy())


def _fetched(file: File, fetch: Callable[[], T]) -> T:
    import duckdb

    try:
        return fetch()
    except (duckdb.Error, RuntimeError, ValueError, OverflowError, MemoryError) as wrong:
        said = str(wrong).replace(file.path, str(file.source))
        raise unreadable(file.source, said) from wrong


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def place(row: int, file: Source) -> str:
    """How a row of a file is named."""
    return f"in data row {row + 1} of {file} (counted from 1)"
