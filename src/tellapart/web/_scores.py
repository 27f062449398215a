"""Scores from a file that is held in memory: bounded, checked, never written and never run."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tellapart.audit import Orientation, Scores
from tellapart.data import archives, columns, duck, paths
from tellapart.data.frames import no_column
from tellapart.data.table import Names, Slice, Table
from tellapart.errors import BadScores, Unsupported
from tellapart.web._view import Dropped

LARGEST_FILE = 16 * 1024 * 1024
MOST_ROWS = 1_000_000
# What a compressed file may become.
LARGEST_OPENED = 8 * LARGEST_FILE

_ELSE = "; the command line takes more"
_AT_ONCE = 2**12
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read(dropped: Dropped, names: Names, orientation: Orientation) -> Scores:
    """The scores in what was dropped, as `Scores.read` finds them in a file."""
    file = Path(dropped.name)
    kind = paths.kind_of(file)
    size = len(dropped.content)
    if size > LARGEST_FILE:
        raise BadScores(f"{file} must have at most {LARGEST_FILE:,} bytes, has {size:,}{_ELSE}")
    if size == 0:
        raise BadScores(f"{file} must not be empty")
    readers = {"csv": _csv, "npz": _npz, "parquet": _parquet}
    found = readers[kind](file, dropped.content, names)
    members = int(found.member.sum())
    columns.both_sides(str(file), members, found.member.size - members)
    return Scores.from_rows(
        found.scores, found.member, found.run, found.group, orientation=orientation
    )


def _few(file: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise BadScores(f"{file} must have at most {MOST_ROWS:,} rows{_ELSE}")


# -- CSV -----------------------------------------------------------------------------------------


def _csv(file: Path, content: bytes, names: Names) -> Slice:
    try:
        text = _opened(file, content).decode("utf-8-sig")
        return _rows(file, text, names)
    except (UnicodeDecodeError, csv.Error) as wrong:
        raise duck.unreadable(file, wrong) from wrong


def _opened(file: Path, content: bytes) -> bytes:
    if not file.name.lower().endswith(".gz"):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            found: bytes = packed.read(LARGEST_OPENED + 1)
    except (OSError, EOFError, zlib.error) as wrong:
        raise duck.unreadable(file, wrong) from wrong
    if len(found) > LARGEST_OPENED:
        raise BadScores(f"{file} must unpack to at most {LARGEST_OPENED:,} bytes{_ELSE}")
    return found


def _rows(file: Path, text: str, names: Names) -> Slice:
    header = text[: text.find("\n") + 1 or None]
    apart = next((one for one in ",;\t" if one in header), ",")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=apart, strict=True)
    # Columns are called as on a disk: without spaces around, and by their place if not at all.
    head = [cell.strip(" ") or f"column{k}" for k, cell in enumerate(next(lines, []))]
    at: dict[str, int] = {}
    for part, name in names.wanted.items():
        if name not in head:
            raise no_column(file, name, head)
        at[part] = head.index(name)
    scores, member = array("d"), bytearray()
    labels: dict[str, list[str]] = {part: [] for part in at if part not in ("score", "member")}
    for rows in _some(lines):
        first = len(scores)
        _few(file, first + len(rows))
        _same_width(file, rows, first, len(head))
        scores.extend(_numbers(file, names.score, [row[at["score"]] for row in rows], first))
        member.extend(_truths(file, names.member, [row[at["member"]] for row in rows], first))
        for part, kept in labels.items():
            kept.extend(row[at[part]] for row in rows)
    if not scores:
        raise BadScores(f"score files must have rows, got none in {file}")
    marks = {part: _labels(file, names.wanted[part], kept) for part, kept in labels.items()}
    inside = np.frombuffer(bytes(member), dtype=np.bool_)
    return Slice(np.array(scores, dtype=np.float64), inside, **marks)


def _some(lines: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Rows, many at a time; empty lines are none."""
    while rows := list(islice(lines, _AT_ONCE)):
        yield [row for row in rows if row]


def _same_width(file: Path, rows: list[list[str]], first: int, width: int) -> None:
    for k, row in enumerate(rows):
        if len(row) != width:
            raise BadScores(
                f"every row must have {width} cells, as the header has, got {len(row)} "
                f"{duck.place(first + k, file)}"
            )


def _numbers(file: Path, name: str, cells: list[str], first: int) -> list[float]:
    try:
        found = list(map(float, cells))
        if all(map(math.isfinite, found)):
            return found
    except ValueError:
        pass
    return [_number(name, cell, duck.place(first + k, file)) for k, cell in enumerate(cells)]


def _number(name: str, cell: str, where: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        columns.refuse(name, columns.NUMBER if cell else columns.NOT_NULL, cell or None, where)
    if not math.isfinite(value):
        rule = columns.NOT_NAN if math.isnan(value) else columns.FINITE
        columns.refuse(name, rule, value, where)
    return value


def _truths(file: Path, name: str, cells: list[str], first: int) -> list[bool]:
    found = [_TRUTHS.get(cell.strip().lower()) for cell in cells]
    for k, one in enumerate(found):
        if one is None:
            rule = columns.TRUTH if cells[k] else columns.NOT_NULL
            columns.refuse(name, rule, cells[k] or None, duck.place(first + k, file))
    return [one is True for one in found]


def _labels(file: Path, name: str, cells: list[str]) -> NDArray[Any]:
    # Cells that are empty are missing, and are refused with the row they stand in.
    given = np.array([cell or None for cell in cells], dtype=object)
    return columns.labels(name, given, len(cells), lambda row: duck.place(row, file))


# -- NumPy ---------------------------------------------------------------------------------------


def _npz(file: Path, content: bytes, names: Names) -> Slice:
    wanted = {*names.wanted.values(), "members", "others"}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            inside = {one.filename.removesuffix(".npy"): one for one in packed.infolist()}
            if sum(inside[name].file_size for name in wanted & set(inside)) > LARGEST_OPENED:
                raise BadScores(f"{file} must unpack to at most {LARGEST_OPENED:,} bytes{_ELSE}")
            arrays = {name: np.empty(0) for name in inside}  # those not asked for stay packed
            for name in wanted & set(inside):
                if inside[name].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ValueError("an archive that NumPy did not write")
                with packed.open(inside[name]) as member:
                    arrays[name] = _array(file, member, inside[name].file_size)
    except BadScores:
        raise
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as wrong:
        raise BadScores(f"{file} must be an .npz file of plain arrays") from wrong
    found = archives.slice_of(arrays, names, file)
    _few(file, found.scores.size)
    return found


def _array(file: Path, member: IO[bytes], size: int) -> NDArray[Any]:
    """One array, whose shape and type must fit the bytes there are before room is made for it."""
    header = _HEADERS.get(npy.read_magic(member))
    if header is None:
        raise ValueError("an array with named fields")
    shape, _, kind = header(member)
    count = math.prod(shape)
    if kind.hasobject or min(shape, default=0) < 0 or count * kind.itemsize > size:
        raise ValueError("an array that is larger than its file, or no plain numbers")
    _few(file, count)
    held = member.read(count * kind.itemsize)
    return np.frombuffer(held, dtype=kind, count=count).reshape(shape)


# -- Parquet -------------------------------------------------------------------------------------


def _parquet(file: Path, content: bytes, names: Names) -> Slice:
    """A file without a place on any disk, for a reader that wants a path."""
    if not hasattr(os, "memfd_create"):
        raise Unsupported(
            f"{file} cannot be read here: a Parquet file is kept in memory on Linux alone; "
            "save it as .csv or .npz, or use the command line"
        )
    handle = os.memfd_create("scores")
    path = Path(f"/proc/self/fd/{handle}")
    try:
        with open(handle, "wb", closefd=False) as held:
            held.write(content)
        return _of_table(file, path, names)
    except BadScores as wrong:
        raise BadScores(str(wrong).replace(str(path), str(file))) from wrong
    finally:
        os.close(handle)


def _of_table(file: Path, path: Path, names: Names) -> Slice:
    with Table("parquet", [path], names, on_disk=False) as table:
        _few(file, table.rows)
        for part in ("run", "group"):
            if part in names.wanted:
                _short(file, path, names.wanted[part], table.rows)
        (found,) = table.slices()
    return found


def _short(file: Path, path: Path, name: str, rows: int) -> None:
    """A label that is written once and meant a million times may be large when it is read."""
    said = f"SELECT max(strlen(CAST({duck.quoted(name)} AS VARCHAR))) FROM {duck.PARQUET}"  # noqa: S608
    with duck.connected(None) as ask:
        longest = duck.rows(ask, file, said, path)[0][0] or 0
    if longest * rows > LARGEST_OPENED:
        raise BadScores(f"{name} must hold short labels, holds one of {longest:,} bytes in {file}")
