"""The few things we say to DuckDB (extra ``files``)."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tellapart.errors import BadScores, Unsupported

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

MEMORY = "1GB"

# Names of folders say nothing of the rows: a column comes from the file.
PARQUET = "read_parquet(?, file_row_number=true, hive_partitioning=false)"


def connected(folder: Path | None) -> duckdb.DuckDBPyConnection:
    """A database of our own that writes only into this folder; without one, nowhere."""
    try:
        import duckdb
    except ImportError as missing:
        raise Unsupported(
            "reading Parquet and CSV files needs: pip install 'tellapart[files]'"
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


def rows(
    ask: duckdb.DuckDBPyConnection, file: Path, sql: str, read: Path | None = None
) -> list[Any]:
    """Ask about one file (or read another in its place); one that cannot be read is named."""
    return _fetched(file, lambda: ask.execute(sql, [_path(read or file)]).fetchall())


def arrays(
    ask: duckdb.DuckDBPyConnection, file: Path, sql: str, read: Path | None = None
) -> dict[str, Any]:
    """The same, as one NumPy array per column."""
    return _fetched(file, lambda: ask.execute(sql, [_path(read or file)]).fetchnumpy())


def _path(file: Path) -> str:
    """A name that starts with ~ is a name, and nobody's home."""
    return f"./{file}" if str(file).startswith("~") else str(file)


def _fetched(file: Path, fetch: Callable[[], T]) -> T:
    import duckdb

    try:
        return fetch()
    except duckdb.Error as wrong:
        raise unreadable(file, wrong) from wrong


def unreadable(file: Path, wrong: BaseException) -> BadScores:
    """Says which file cannot be read, and why."""
    return BadScores(f"{file} must be readable: {str(wrong).strip().splitlines()[0]}")


def read_csv(file: Path) -> str:
    """How to read it: as text, with a header, nothing guessed but what the header tells."""
    open_ = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with open_(file, "rt", encoding="utf-8-sig") as lines:
            header = lines.readline()
    except (OSError, UnicodeDecodeError) as wrong:
        raise unreadable(file, wrong) from wrong
    if not header:
        raise BadScores(f"{file} must have a first row that names the columns, got an empty file")
    apart = next((one for one in ",;\t" if one in header), ",")
    return (
        f"read_csv(?, delim='{apart}', quote='\"', escape='\"', header=true, all_varchar=true, "
        "skip=0, comment='', null_padding=false, ignore_errors=false, strict_mode=true)"
    )


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def place(row: int, file: Path) -> str:
    """How a row of a file is named."""
    return f"in data row {row + 1} of {file} (counted from 1)"
