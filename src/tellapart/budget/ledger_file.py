"""An append-only file of lines, as write-ahead logs are: locked, flushed to disk, never rewritten.

One writer at a time holds a lock of the operating system, which ends with its process. A line
counts once it is whole and on disk. What a killed writer left of a line is no line: the next
writer takes it away. Nothing else is ever removed.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tellapart import deadline
from tellapart._numeric.text import short
from tellapart.budget.hash_chain import is_sealed
from tellapart.errors import BadLedger, LimitReached

# How every ledger begins, so that no other file is taken for one that was broken off.
MARK = b'{"line": 1, "tellapart_ledger": 1'
# How long a writer waits for another, who needs milliseconds.
WAIT = 30.0
_PAUSE = 0.005
_SEAL = re.compile(rb'"chain": "[0-9a-f]{64}')

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, exclusive: bool) -> None:
        """Of one byte far behind the end, as others could not read what is locked."""
        os.lseek(file, 2**40, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int, exclusive: bool) -> None:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)


class LedgerFile:
    """Lines in a file; whoever reads or writes gets those that were added since the last time."""

    def __init__(self, path: Path) -> None:
        self.where = str(path)
        self._path = path
        self._read = 0  # bytes, up to the end of the last line that was given
        self._end = 0  # and of the last that was added
        self._last = b""  # that line
        self.unfinished = False
        self._file = -1

    def afresh(self) -> LedgerFile:
        """The same file, of which no line was read yet."""
        return LedgerFile(self._path)

    @contextmanager
    def reading(self) -> Iterator[list[str]]:
        """New lines, while none is being written."""
        with self._locked(os.O_RDONLY, exclusive=False):
            yield self._new_lines()

    @contextmanager
    def writing(self, create: bool = False) -> Iterator[list[str]]:
        """New lines, while nobody else writes; then ``add`` may be called."""
        flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
        with self._locked(flags, exclusive=True):
            yield self._new_lines()

    def add(self, line: str) -> None:
        """One more line, on disk when this returns; what cannot be written leaves no trace."""
        ended = self._end > self._read or not self._last or self._last.endswith(b"\n")
        data = (b"" if ended else b"\n") + line.encode() + b"\n"
        before = self._end
        try:
            os.ftruncate(self._file, before)  # what a killed writer left of a line
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            os.fsync(self._file)
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._file, before)
                os.fsync(self._file)
            if isinstance(error, OSError):
                said = f"{error.strerror}; nothing was written"
                raise OSError(error.errno, said, self.where) from error
            raise
        self._end = before + len(data)

    def _new_lines(self) -> list[str]:
        size = os.fstat(self._file).st_size
        os.lseek(self._file, self._read - len(self._last), os.SEEK_SET)
        data = _all(self._file, size - self._read + len(self._last))
        if not data.startswith(self._last):
            raise BadLedger(f"{self.where} has lost lines that were there: put back a copy of it")
        if self._read == 0 and not (data.startswith(MARK) or MARK.startswith(data)):
            raise BadLedger(
                f"{self.where} is no ledger, or the start of its first line was changed: name "
                "another file, or put back a copy of the ledger"
            )
        known = bool(self._last)  # the last line, which may have got its end of line since
        start = self._read - len(self._last)
        *whole, rest = data.split(b"\n")
        ends = [b"\n"] * len(whole)
        if is_sealed(_text(rest)):  # all but its end of line, which an editor may take away
            whole, ends, rest = [*whole, rest], [*ends, b""], b""
        elif (sealed := _SEAL.search(rest)) and rest[sealed.end() :] not in (b"", b'"'):
            # A writer that was ended leaves less than a line, and nothing behind its seal.
            raise BadLedger(f"the end of {self.where} was changed: put back a copy of it")
        if whole:
            self._last = whole[-1] + ends[-1]
        self.unfinished = bool(rest)
        self._read = self._end = start + len(data) - len(rest)
        return [_text(line) for line in whole[known:]]

    @contextmanager
    def _locked(self, flags: int, exclusive: bool) -> Iterator[None]:
        there = self._path.exists()
        if there and not self._path.is_file():  # a pipe would be waited for
            raise BadLedger(f"{self.where} is no file: name another")
        while not self._lock_taken(flags, exclusive):
            pass
        try:
            if flags & os.O_CREAT and not there:
                _settle(self._path.parent)
            yield
        finally:
            os.close(self._file)  # and with it the lock
            self._file = -1

    def _lock_taken(self, flags: int, exclusive: bool) -> bool:
        """Open and lock the file; not, where a copy was put in its place meanwhile."""
        self._file = os.open(self._path, flags | getattr(os, "O_BINARY", 0), 0o666)
        same = False
        try:
            self._wait(exclusive)
            same = os.path.samestat(os.fstat(self._file), self._path.stat())
        finally:
            if not same:
                os.close(self._file)
        return same

    def _wait(self, exclusive: bool) -> None:
        until = time.monotonic() + WAIT
        while True:
            deadline.check()
            try:
                return _lock(self._file, exclusive)
            except OSError as error:
                if not isinstance(error, (BlockingIOError, PermissionError)):
                    raise
            if time.monotonic() > until:
                raise LimitReached(
                    f"another process has kept {self.where} locked for {short(WAIT)} s; nothing "
                    "was written: try again, or find it with lsof or fuser"
                )
            time.sleep(_PAUSE)


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _all(file: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _settle(folder: Path) -> None:
    """A new file's name is on disk as well."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
