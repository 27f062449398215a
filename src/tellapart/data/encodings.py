"""Text files as UTF-8, whatever their encoding (UTF-8, UTF-16, Latin-1), packed or not."""

from __future__ import annotations

import codecs
import gzip
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np

from tellapart import deadline
from tellapart.data.sources import FileLimits, Source, unreadable
from tellapart.errors import BadScores

# Bytes that are looked at together.
CHUNK = 2**20
# A row with more than these was not written as one.
LONGEST_ROW = 2**20

UTF8, LATIN1 = "UTF-8", "Latin-1"
_MARKS = (
    (b"\xef\xbb\xbf", UTF8),
    (b"\xff\xfe\x00\x00", ""),  # UTF-32, which nobody writes
    (b"\xff\xfe", "UTF-16-LE"),
    (b"\xfe\xff", "UTF-16-BE"),
)


@dataclass(frozen=True)
class Chunk:
    """Whole lines in UTF-8, with the number of the first."""

    line: int
    raw: bytes

    def text(self) -> str:
        """The lines, each with its end."""
        return self.raw.decode("utf-8")

    def refused(self, source: Source, rule: str, at: int) -> BadScores:
        """The error of what stands at this byte."""
        line = self.line + self.raw.count(b"\n", 0, at)
        return BadScores(f"{source} must {rule} in line {line}")


def encoding_of(source: Source, limits: FileLimits) -> str:
    """How a file of text is encoded, told from all of it, so that one name is read one way."""
    decoder, encoding = codecs.getincrementaldecoder("utf-8")(), UTF8
    with _unpacked(source) as file:
        for number, raw in enumerate(_read(source, file, limits)):
            if number == 0:
                begun = _by_its_begin(source, raw)
                if begun not in (None, UTF8):
                    return str(begun)
            if raw.isascii() and not decoder.getstate()[0]:
                continue
            try:
                decoder.decode(raw)
            except UnicodeDecodeError:
                return LATIN1
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return LATIN1
    return encoding


def _by_its_begin(source: Source, raw: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            if not encoding:
                raise BadScores(f"{source} must be text in UTF-8, and is UTF-32: save it as UTF-8")
            return encoding
    first = raw[:200]
    evens, odds = first[0::2], first[1::2]
    # Latin letters and digits in UTF-16 have every other byte 0.
    if odds and not any(odds) and all(evens):
        return "UTF-16-LE"
    if odds and not any(evens) and all(odds):
        return "UTF-16-BE"
    return None


def chunks(source: Source, encoding: str, limits: FileLimits) -> Iterator[Chunk]:
    """The lines of a file, many at a time, in UTF-8 and with ends of one kind."""
    line, rest, old = 1, b"", False
    with _unpacked(source) as file:
        for number, raw in enumerate(_in_utf8(source, file, encoding, limits)):
            if number == 0:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
                old = b"\r" in raw and b"\n" not in raw  # lines as they ended long ago
            rest += raw.replace(b"\r", b"\n") if old else raw
            whole, end, rest = rest.rpartition(b"\n")
            if whole or end:
                made = _checked(source, Chunk(line, (whole + end).replace(b"\r\n", b"\n")))
                yield made
                line += made.raw.count(b"\n")
            if len(rest) > LONGEST_ROW:
                raise too_long(source, line)
    if rest:
        yield _checked(source, Chunk(line, rest.removesuffix(b"\r") + b"\n"))


def whole(source: Source, limits: FileLimits) -> str:
    """All text of a file that is not larger than a document may be."""
    held, size = [], 0
    with _unpacked(source) as file:
        for raw in _read(source, file, limits):
            size += len(raw)
            if size > limits.document:
                most = f"have at most {limits.document:,.0f} bytes as .json"
                limits.refuse(source, f"{most}: write one object a line (.jsonl), or .parquet")
            held.append(raw)
    raw = b"".join(held)
    encoding = encoding_of(source, limits)
    try:
        return raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as wrong:
        raise unreadable(source, wrong) from wrong


def _in_utf8(source: Source, file: IO[bytes], encoding: str, limits: FileLimits) -> Iterator[bytes]:
    if encoding == UTF8:
        yield from _read(source, file, limits)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for raw in _read(source, file, limits):
            yield decoder.decode(raw).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as wrong:  # half a character, or half of a pair
        raise unreadable(source, wrong) from wrong


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
        deadline.check()
        size += len(raw)
        if size > most:
            limits.refuse(source, f"unpack to at most {most:,.0f} bytes")
        yield raw


def _checked(source: Source, chunk: Chunk) -> Chunk:
    if b"\0" in chunk.raw:
        raise chunk.refused(source, "be text, got a NUL character", chunk.raw.index(b"\0"))
    if len(chunk.raw) > LONGEST_ROW:
        ends = np.flatnonzero(np.frombuffer(chunk.raw, dtype=np.uint8) == 10)
        lengths = np.diff(ends, prepend=-1)
        if lengths.max() > LONGEST_ROW:
            raise too_long(source, chunk.line + int(lengths.argmax()))
    return chunk


def too_long(source: Source, line: int) -> BadScores:
    """The error of a row that has no end."""
    rule = f"have rows of at most {LONGEST_ROW:,} characters"
    return BadScores(f"{source} must {rule}, got a longer one in line {line}")
