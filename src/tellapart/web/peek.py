"""The first look into a score file: its columns and a few rows, before anything is judged."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path

from tellapart.data import parquet
from tellapart.data.npz import array
from tellapart.data.sources import Source, kind_of, unreadable
from tellapart.web.view import Dropped

ROWS = 5
_START = 2**16  # bytes of a table that are looked at
_LONGEST = 40  # letters of a cell


@dataclass(frozen=True)
class Peek:
    """The columns of a file, and its first rows as text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def peek(dropped: Dropped) -> Peek:
    """What a file holds; one that cannot be read has no columns, and its audit says why."""
    source = Source(Path(dropped.name), dropped.content)
    kind = kind_of(source.path)
    if kind == "parquet":
        return _parquet(source)
    return _npz(source) if kind == "npz" else _csv(source)


def _csv(source: Source) -> Peek:
    content = source.content or b""
    if source.path.suffix == ".gz":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                content = packed.read(_START)
        except (OSError, EOFError, zlib.error) as wrong:
            raise unreadable(source, wrong) from wrong
    lines = content[:_START].decode("utf-8-sig", "replace").splitlines()[: ROWS + 1]
    try:
        table = [tuple(map(_cell, row)) for row in csv.reader(lines)]
    except csv.Error as wrong:
        raise unreadable(source, wrong) from wrong
    head, *rows = table or [()]
    return Peek(tuple(head), tuple(rows))


def _npz(source: Source) -> Peek:
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(source.content or b"")) as packed:
            names = [name for name in packed.namelist() if name.endswith(".npy")]
            columns = []
            for name in names:
                with packed.open(name) as member:
                    values = array(member, packed.getinfo(name).file_size)
                columns.append([_cell(str(value)) for value in values.ravel()[:ROWS]])
    except (zipfile.BadZipFile, ValueError, OSError, zlib.error) as wrong:
        raise unreadable(source, wrong) from wrong
    longest = max(map(len, columns), default=0)
    rows = [tuple(c[k] if k < len(c) else "" for c in columns) for k in range(longest)]
    return Peek(tuple(name.removesuffix(".npy") for name in names), tuple(rows))


def _parquet(source: Source) -> Peek:
    with source.named() as path, parquet.connected(None) as ask:
        file = parquet.DuckFile(source, path)
        found = parquet.fetch_arrays(ask, file, "SELECT * FROM read_parquet(?) LIMIT 5")
    columns = [[_cell(str(value)) for value in values] for values in found.values()]
    return Peek(tuple(found), tuple(zip(*columns, strict=True)))


def _cell(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
