"""Columns of a CSV file, some lines at a time, and the line where something is wrong."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tellapart import deadline
from tellapart._checks import Array
from tellapart.data import columns
from tellapart.data.columns import Names, Slice, position
from tellapart.data.ranked import Mask, Progress
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.errors import BadScores

# Bytes that are looked at together.
CHUNK = 2**20
# A row with more than these was not written as one.
LONGEST_ROW = 2**20

_APART = ",;\t"
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00")
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_NO_NUMBER = re.compile(r"\s*[+-]?(nan|inf|infinity)\s*", re.ASCII | re.IGNORECASE)
# What numbers are written with; `float` takes more, such as 1_000 and digits of other scripts.
_DIGITS = re.compile(r"[0-9eE.+\- \t]*")
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Cells:
    """Some rows: the line each begins in, and what is written in the columns asked for."""

    lines: Sequence[int]
    columns: tuple[list[str], ...]


def slices(
    sources: Sequence[Source], names: Names, limits: FileLimits, tell: Progress
) -> Iterator[Slice]:
    """The rows of each file in turn."""
    wanted = names.wanted
    for index, source in enumerate(sources):
        for rows in cells(source, list(wanted.values()), limits):
            texts = dict(zip(wanted, rows.columns, strict=True))
            place = placed(source, rows.lines)
            marks = {
                part: _labels(wanted[part], texts[part], place)
                for part in ("run", "group")
                if part in wanted
            }
            member = _truths(names.member, texts["member"], place)
            yield Slice(_numbers(names.score, texts["score"], place), member, **marks)
        tell("reading", (index + 1) / len(sources))


def cells(source: Source, names: Sequence[str], limits: FileLimits) -> Iterator[Cells]:
    """What these columns hold, as text, many rows at a time."""
    chunks = _chunks(source, limits)
    first = next(chunks, None)
    if first is None:
        raise BadScores(f"{source} must have a first row that names the columns, got an empty file")
    head, _, rest = first.raw.partition(b"\n")
    apart, there = _header(source, _Chunk(1, head + b"\n"))
    at = [position(there, name, source) for name in names]
    columns.refuse_unread(there, names, source)
    for chunk in chain([_Chunk(2, rest)] if rest else [], chunks):
        deadline.check()
        if b'"' in chunk.raw:  # a quoted cell may go on in the next chunk
            yield from _quoted(source, chain([chunk], chunks), apart, at, len(there))
            return
        plain = _plain(source, chunk, apart, at, len(there))
        yield from [plain] if plain else _quoted(source, [chunk], apart, at, len(there))


# -- bytes into lines ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chunk:
    """Whole lines, with the number of the first."""

    line: int
    raw: bytes

    def text(self, source: Source) -> str:
        try:
            return self.raw.decode("utf-8")
        except UnicodeDecodeError as wrong:
            byte = f"the byte 0x{self.raw[wrong.start]:02x}"
            raise self.refused(source, f"be text in UTF-8, got {byte}", wrong.start) from wrong

    def refused(self, source: Source, rule: str, at: int) -> BadScores:
        line = self.line + self.raw.count(b"\n", 0, at)
        return BadScores(f"{source} must {rule} in line {line}")


def _chunks(source: Source, limits: FileLimits) -> Iterator[_Chunk]:
    line, rest, old = 1, b"", False
    with _unpacked(source) as file:
        for number, raw in enumerate(_read(source, file, limits)):
            if number == 0:
                if raw.startswith(_WIDE):
                    raise BadScores(f"{source} must be text in UTF-8: save it as “CSV UTF-8”")
                raw = raw.removeprefix(b"\xef\xbb\xbf")
                old = b"\r" in raw and b"\n" not in raw  # lines as they ended long ago
            rest += raw.replace(b"\r", b"\n") if old else raw
            whole, end, rest = rest.rpartition(b"\n")
            if whole or end:
                made = _checked(source, _Chunk(line, (whole + end).replace(b"\r\n", b"\n")))
                yield made
                line += made.raw.count(b"\n")
            if len(rest) > LONGEST_ROW:
                raise _too_long(source, line)
    if rest:
        yield _checked(source, _Chunk(line, rest.removesuffix(b"\r") + b"\n"))


@contextmanager
def _unpacked(source: Source) -> Iterator[IO[bytes]]:
    with source.opened() as file:
        if not _is_packed(source):
            yield file
            return
        with gzip.GzipFile(fileobj=file) as opened:
            yield opened  # type: ignore[misc]


def _is_packed(source: Source) -> bool:
    return source.path.name.lower().endswith(".gz")


def _read(source: Source, file: IO[bytes], limits: FileLimits) -> Iterator[bytes]:
    most = limits.unpacked if _is_packed(source) else math.inf
    size = 0
    while True:
        try:
            raw = file.read(CHUNK)
        except (OSError, EOFError, zlib.error) as wrong:
            raise unreadable(source, wrong) from wrong
        if not raw:
            return
        size += len(raw)
        if size > most:
            limits.refuse(source, f"unpack to at most {most:,.0f} bytes")
        yield raw


def _checked(source: Source, chunk: _Chunk) -> _Chunk:
    if b"\0" in chunk.raw:
        raise chunk.refused(source, "be text, got a NUL character", chunk.raw.index(b"\0"))
    if len(chunk.raw) > LONGEST_ROW:
        ends = np.flatnonzero(np.frombuffer(chunk.raw, dtype=np.uint8) == 10)
        lengths = np.diff(ends, prepend=-1)
        if lengths.max() > LONGEST_ROW:
            raise _too_long(source, chunk.line + int(lengths.argmax()))
    return chunk


def _too_long(source: Source, line: int) -> BadScores:
    rule = f"have rows of at most {LONGEST_ROW:,} characters"
    return BadScores(f"{source} must {rule}, got a longer one in line {line}")


# -- lines into cells ------------------------------------------------------------------------------


def _header(source: Source, chunk: _Chunk) -> tuple[str, list[str]]:
    """What stands between cells, and the names of the columns."""
    text = chunk.text(source)
    if not text.strip():
        raise BadScores(f"{source} must name the columns in line 1, got an empty line")
    apart = next((mark for mark in _APART if mark in text), ",")
    try:
        (row,) = csv.reader([text], delimiter=apart, strict=True)
    except csv.Error as wrong:
        raise unreadable(source, f"{wrong} in line 1") from wrong
    # Without spaces around, and by their place where they have no name.
    return apart, [cell.strip(" ") or f"column{k}" for k, cell in enumerate(row)]


def _plain(
    source: Source, chunk: _Chunk, apart: str, at: Sequence[int], width: int
) -> Cells | None:
    """Rows in which no cell is quoted, all at once; None unless every line is one of them."""
    if b"\r" in chunk.raw:
        return None
    raw = np.frombuffer(chunk.raw, dtype=np.uint8)
    ends, between = np.flatnonzero(raw == 10), np.flatnonzero(raw == ord(apart))
    if between.size != ends.size * (width - 1):
        return None
    if width > 1:
        of_row = between.reshape(ends.size, width - 1)
        starts = np.concatenate([[-1], ends[:-1]])
        if not ((of_row[:, 0] > starts) & (of_row[:, -1] < ends)).all():
            return None
    every = chunk.text(source)[:-1].replace("\n", apart).split(apart)
    lines = range(chunk.line, chunk.line + ends.size)
    return Cells(lines, tuple(every[k::width] for k in at))


def _quoted(
    source: Source,
    chunks: Iterator[_Chunk] | chain[_Chunk] | list[_Chunk],
    apart: str,
    at: Sequence[int],
    width: int,
) -> Iterator[Cells]:
    """Rows as Python's own reader finds them, each checked to be as wide as the header."""
    feed = _Feed(source, iter(chunks))
    rows = csv.reader(feed, delimiter=apart, strict=True)
    lines: list[int] = []
    kept: list[list[str]] = []
    try:
        for row in rows:
            begun, size = feed.begin()
            if not row and width == 1:  # an empty line is a row of one empty cell
                row = [""]
            if len(row) not in (0, width):
                raise BadScores(
                    f"every row must have {width} cells, as the header has, got {len(row)} "
                    f"{_line(source, begun)}"
                )
            if row:
                lines.append(begun)
                kept.append([row[k] for k in at])
            if size > CHUNK:
                yield Cells(lines, tuple(map(list, zip(*kept, strict=True))) or ([],) * len(at))
                lines, kept = [], []
                deadline.check()
    except csv.Error as wrong:
        said = f"{wrong} {_line(source, feed.begun).replace('in line', 'in the row from line')}"
        raise unreadable(source, said) from wrong
    if kept:
        yield Cells(lines, tuple(map(list, zip(*kept, strict=True))))


class _Feed:
    """Lines for a reader that may take many of them for one row, but not without end."""

    def __init__(self, source: Source, chunks: Iterator[_Chunk]) -> None:
        self._source, self._chunks = source, chunks
        self._lines: Iterator[str] = iter(())
        self.begun = self._next = 0
        self._size = self._row = 0

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        line = next(self._lines, None)
        if line is None:
            chunk = next(self._chunks)
            self._lines = iter(chunk.text(self._source).split("\n")[:-1])
            if not self._next:
                self._next = self.begun = chunk.line
            line = next(self._lines)
        self._next += 1
        self._row += len(line) + 1
        if self._row > LONGEST_ROW:
            raise _too_long(self._source, self.begun)
        return line + "\n"

    def begin(self) -> tuple[int, int]:
        """The line in which the row that was just read began, and what was read since last."""
        begun, self.begun = self.begun, self._next
        self._size += self._row
        size, self._row = self._size, 0
        if size > CHUNK:
            self._size = 0
        return begun, size


# -- cells into values -----------------------------------------------------------------------------


def _line(source: Source, line: int) -> str:
    return f"in line {line} of {source}"


def placed(source: Source, lines: Sequence[int]) -> columns.Place:
    """How a row is named: by the line of the file in which it begins."""
    return lambda row: _line(source, lines[row])


def _numbers(name: str, given: list[str], place: columns.Place) -> Array:
    if _DIGITS.fullmatch("".join(given)):
        try:
            scores = np.array(list(map(float, given)))
            if np.isfinite(scores).all():
                return scores
        except ValueError:
            pass  # the first that is no number is named below
    return np.array([_number(name, cell, place, row) for row, cell in enumerate(given)])


def _number(name: str, cell: str, place: columns.Place, row: int) -> float:
    if not cell.strip():
        columns.refuse(name, columns.NOT_NULL, None, place(row))
    if _NO_NUMBER.fullmatch(cell):
        value = float(cell)
        rule = columns.NOT_NAN if math.isnan(value) else columns.FINITE
        columns.refuse(name, rule, value, place(row))
    if not _NUMBER.fullmatch(cell):
        columns.refuse(name, columns.NUMBER, cell, place(row))
    value = float(cell)
    if math.isinf(value):
        columns.refuse(name, columns.DOUBLE, cell, place(row))
    return value


def _truths(name: str, given: list[str], place: columns.Place) -> Mask:
    truths = [_TRUTHS.get(cell) for cell in given]
    for row, truth in enumerate(truths):
        if truth is None:
            cell = given[row]
            truths[row] = _TRUTHS.get(cell.strip().lower())
            if truths[row] is None:
                rule = columns.TRUTH if cell.strip() else columns.NOT_NULL
                columns.refuse(name, rule, cell if cell.strip() else None, place(row))
    return np.array(truths, dtype=np.bool_)


def _labels(name: str, given: list[str], place: columns.Place) -> NDArray[Any]:
    # Cells that are empty are missing, and are refused with the line they stand in.
    held = np.empty(len(given), dtype=object)
    held[:] = [cell.strip(" ") or None for cell in given]
    return columns.labels(name, held, len(given), place)
