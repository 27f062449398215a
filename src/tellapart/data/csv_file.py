"""Delimited text (CSV, TSV, columns apart by blanks): its layout, and its cells, line by line."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tellapart import deadline
from tellapart.data import encodings
from tellapart.data.columns import position
from tellapart.data.encodings import Chunk
from tellapart.data.scores_and_labels import is_missing_text, is_number
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.data.table import HEAD, Batch, Place
from tellapart.errors import BadScores

# What may stand between cells. A comma may be a decimal mark as well, so it comes last.
_MARKS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
BLANKS = " "
_WORDS = {**_MARKS, BLANKS: "blanks"}
# Bytes from which the layout is told.
_LOOKED_AT = 2**16
_SEPARATOR = re.compile(r"sep=([\t;|,])\s*", re.IGNORECASE)
_BLANKS_BETWEEN = re.compile(rb"[ \t]+")
_BLANKS_AROUND = re.compile(rb"^[ \t]+|[ \t]+$", re.MULTILINE)
# Row names of R stand in a column without a name.
ROW_NAMES = "row names"


@dataclass(frozen=True)
class _Layout:
    """Where the rows begin, what is between their cells, and the names of the columns."""

    first: int  # the line of the first row
    apart: str
    names: list[str]
    named: bool
    notes: list[str] = field(default_factory=list)


class TextTable:
    """A file of delimited text."""

    what, aligned = "column", True

    def __init__(self, source: Source, limits: FileLimits) -> None:
        self.source, self._limits = source, limits
        self._encoding = encodings.encoding_of(source, limits)
        self._layout = _layout(source, list(self._first_lines()))
        self.names, self.named = self._layout.names, self._layout.named
        self.notes = [*self._layout.notes]
        self._head: list[list[str]] | None = None
        if self._encoding != encodings.UTF8:
            self.notes.append(f"encoded in {self._encoding}")

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[str]:
        """The first cells of a column."""
        at = position(self.names, name, self)
        if self._head is None:  # of all columns at once: there may be many
            first = next(self._cells(range(len(self.names))), None)
            self._head = [] if first is None else [cells[:HEAD] for cells in first[1]]
        return self._head[at] if self._head else []

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """The cells of these columns, as text."""
        size, seen = max(self.source.size, 1), 0
        for lines, kept in self.cells(names):
            seen += sum(map(len, kept[0])) + 2 * len(lines)
            place = placed(self.source, lines)
            yield Batch(tuple(kept), len(lines), place, min(seen / size, 1.0))

    def _first_lines(self) -> Iterator[str]:
        """Enough lines to tell the layout; a last one that may be cut is left out."""
        size = 0
        for chunk in encodings.chunks(self.source, self._encoding, self._limits):
            yield from chunk.text().split("\n")[:-1]
            size += len(chunk.raw)
            if size > _LOOKED_AT:
                return

    def cells(self, names: Sequence[str]) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        """The lines that rows begin in, and what is written in these columns."""
        yield from self._cells([position(self.names, name, self) for name in names])

    def _cells(self, at: Sequence[int]) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        width, apart = len(self.names), self._layout.apart
        chunks = self._chunks()
        for chunk in chunks:
            deadline.check()
            if b'"' in chunk.raw:  # a quoted cell may go on in the next chunk
                yield from _quoted(self.source, chain([chunk], chunks), apart, at, width)
                return
            plain = _plain(chunk, apart, at, width)
            yield from [plain] if plain else _quoted(self.source, [chunk], apart, at, width)

    def _chunks(self) -> Iterator[Chunk]:
        """The lines from the first row on."""
        for chunk in encodings.chunks(self.source, self._encoding, self._limits):
            skipped = min(max(self._layout.first - chunk.line, 0), chunk.raw.count(b"\n"))
            raw = chunk.raw.split(b"\n", skipped)[-1] if skipped else chunk.raw
            if self._layout.apart == BLANKS and b'"' not in raw:
                raw = _BLANKS_BETWEEN.sub(b" ", _BLANKS_AROUND.sub(b"", raw))
            if raw:
                yield Chunk(chunk.line + skipped, raw)


# -- the layout ------------------------------------------------------------------------------------


def _layout(source: Source, lines: list[str]) -> _Layout:
    """What the first lines say of all."""
    if not lines:
        raise BadScores(f"{source} must have a first row that names the columns, got an empty file")
    if not any(line.strip() for line in lines):
        raise BadScores(f"{source} must name the columns in line 1, got an empty line")
    skipped, said = 0, ""
    if declared := _SEPARATOR.fullmatch(lines[0]):  # Excel says so in a line of its own
        skipped, said = 1, declared[1]
    comment = ""
    while skipped < len(lines) and (lines[skipped].startswith("#") or not lines[skipped].strip()):
        comment = lines[skipped].lstrip("# ").rstrip() or comment
        skipped += 1
    rest = [line for line in lines[skipped:] if line.strip()][:HEAD]
    if not rest:
        raise BadScores(f"{source} must have rows, got comments alone")
    apart = said or _between(rest)
    rows = [_split(source, line, apart) for line in rest[:1]]
    more = [_split_or_none(line, apart) for line in rest[1:]]
    notes = [] if apart in ",;\t" and not said else [f"{_WORDS.get(apart, apart)} between columns"]
    if apart in ";\t" and source.path.suffix.lower() != ".tsv" and not said:
        notes.append(f"{_WORDS[apart]} between columns")
    head = rows[0]
    if _is_header(source, head, [row for row in more if row]):
        names, named, first = _names(head), True, skipped + 2
        if _has_row_names(head, [row for row in more if row]):
            names = [ROW_NAMES, *names]
            notes.append("the first column has no name and holds row names")
    else:
        called = _split_or_none(comment, apart) if comment else None
        named, first = called is not None and len(called) == len(head), skipped + 1
        names = _names(called) if named and called else [f"column{k}" for k in range(len(head))]
        told_by = "in the comment above the rows" if named else "by no row: all are data"
        notes.append(f"columns are named {told_by} ({', '.join(names[:4])})")
    return _Layout(first, apart, names, named, notes)


def _between(lines: list[str]) -> str:
    """What stands between cells: what splits all of the first lines alike."""
    quoted = any('"' in line for line in lines)
    for mark in _MARKS:
        rows = [_split_or_none(line, mark) for line in lines]
        if _alike([len(row) for row in rows if row]) and (quoted or all(rows)):
            return mark
    rows = [_split_or_none(line.strip(), BLANKS) for line in lines]
    if all(rows) and _alike([len(row) for row in rows if row]):
        return BLANKS
    return next((mark for mark in ",;\t" if mark in lines[0]), ",")


def _alike(widths: list[int]) -> bool:
    """Whether all rows have the same number of cells, or the header one less, as in R."""
    rest = set(widths[1:])
    return bool(widths) and max(widths) > 1 and (rest <= {widths[0]} or rest == {widths[0] + 1})


def _split_or_none(line: str, apart: str) -> list[str] | None:
    try:
        (row,) = _reader([line], apart)
    except (csv.Error, ValueError):
        return None
    return row


def _split(source: Source, line: str, apart: str) -> list[str]:
    try:
        (row,) = _reader([line], apart)
    except csv.Error as wrong:
        raise unreadable(source, f"{wrong} in line 1") from wrong
    return row


def _reader(lines: Iterable[str], apart: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=apart, strict=True, skipinitialspace=apart == BLANKS)


def _is_header(source: Source, head: list[str], rows: list[list[str]]) -> bool:
    """Whether the first row names columns: none of its cells is a number."""
    filled = [cell.strip() for cell in head if cell.strip()]
    if not any(is_number(cell) or is_missing_text(cell) for cell in filled):
        return True
    counted = [str(k) for k in range(len(filled))]
    if filled != counted or len(filled) < 2:
        return False
    if len(filled) < len(head):  # pandas' own names, beside its index
        return True
    # Names 0, 1, 2 of pandas, or scores: below names, numbers have a point.
    pointed = [any("." in cell or "e" in cell.lower() for cell in row) for row in rows]
    if pointed and all(pointed):
        return True
    raise BadScores(
        f"{source} must name its columns in line 1, got {', '.join(filled)}, which may be names or "
        "scores: write names such as score and member above the rows"
    )


def _has_row_names(head: list[str], rows: list[list[str]]) -> bool:
    """Whether rows are one cell wider than the header, for row names, as R and pandas do it."""
    first = [row[0].strip() for row in rows]
    counted = any(first == [str(k + begin) for k in range(len(first))] for begin in (0, 1))
    return {len(row) for row in rows} == {len(head) + 1} and (
        counted or not any(map(is_number, first))
    )


def _names(row: list[str]) -> list[str]:
    """Without blanks around, and by their place where they have no name."""
    return [cell.strip(" \t") or f"column{k}" for k, cell in enumerate(row)]


# -- lines into cells ------------------------------------------------------------------------------


def _plain(
    chunk: Chunk, apart: str, at: Sequence[int], width: int
) -> tuple[Sequence[int], list[list[str]]] | None:
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
    every = chunk.text()[:-1].replace("\n", apart).split(apart)
    lines = range(chunk.line, chunk.line + ends.size)
    return lines, [every[k::width] for k in at]


def _quoted(
    source: Source, chunks: Iterable[Chunk], apart: str, at: Sequence[int], width: int
) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
    """Rows as Python's own reader finds them, each checked to be as wide as the header."""
    feed = _Feed(source, iter(chunks))
    rows = _reader(feed, apart)
    lines: list[int] = []
    kept: list[list[str]] = []
    try:
        for row in rows:
            begun, size = feed.begin()
            if not row and width == 1:  # an empty line is a row of one empty cell
                row = [""]
            if len(row) == width + 1 and not row[-1].strip():  # a mark at the end of the line
                row.pop()
            if len(row) not in (0, width):
                raise BadScores(
                    f"every row must have {width} cells, as the header has, got {len(row)} "
                    f"{_line(source, begun)}"
                )
            if row:
                lines.append(begun)
                kept.append([row[k] for k in at])
            if size > encodings.CHUNK and kept:
                yield lines, list(map(list, zip(*kept, strict=True)))
                lines, kept = [], []
                deadline.check()
    except csv.Error as wrong:
        said = f"{wrong} {_line(source, feed.begun).replace('in line', 'in the row from line')}"
        raise unreadable(source, said) from wrong
    if kept:
        yield lines, list(map(list, zip(*kept, strict=True)))


class _Feed:
    """Lines for a reader that may take many of them for one row, but not without end."""

    def __init__(self, source: Source, chunks: Iterator[Chunk]) -> None:
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
            self._lines = iter(chunk.text().split("\n")[:-1])
            if not self._next:
                self._next = self.begun = chunk.line
            line = next(self._lines)
        self._next += 1
        self._row += len(line) + 1
        if self._row > encodings.LONGEST_ROW:
            raise encodings.too_long(self._source, self.begun)
        return line + "\n"

    def begin(self) -> tuple[int, int]:
        """The line in which the row that was just read began, and what was read since last."""
        begun, self.begun = self.begun, self._next
        self._size += self._row
        size, self._row = self._size, 0
        if size > encodings.CHUNK:
            self._size = 0
        return begun, size


def _line(source: Source, line: int) -> str:
    return f"in line {line} of {source}"


def placed(source: Source, lines: Sequence[int]) -> Place:
    """How a row is named: by the line of the file in which it begins."""
    return lambda row: _line(source, lines[row])
