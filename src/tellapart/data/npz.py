"""NumPy's .npy and .npz files: the arrays that are asked for, in slices, and never unpickled."""

from __future__ import annotations

import io
import math
import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tellapart import deadline
from tellapart.data.columns import one_length, position
from tellapart.data.sources import FileLimits, Source
from tellapart.data.table import HEAD, Batch, Place
from tellapart.errors import BadScores, InvalidArgument, LimitReached

# A list of contents that is longer would be of some ten thousand arrays.
_LONGEST_LIST = 2**20
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What bytes that are no archive, or no array, make zipfile and NumPy raise.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    RuntimeError,  # also a password, and headers nested too deep
    NotImplementedError,
    OverflowError,
    SyntaxError,
    MemoryError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
    zipfile.BadZipFile,
)


# Rows that are read together.
SLICE = 2**20
# More columns than these are no columns of a table.
_MOST_COLUMNS = 50


def array(file: IO[bytes], size: int) -> NDArray[Any]:
    """One plain array of so many bytes; its header must fit them before room is made for it."""
    header = _header(file, size, fields=False)
    # One byte more: only at its end does an archive compare what it read with its checksum.
    held = file.read(header.size + 1)
    if len(held) != header.size:
        raise _NoArray("an array that is not as long as it says")
    flat: NDArray[Any] = np.frombuffer(held, dtype=header.kind)
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def alone(source: Source) -> NDArray[Any]:
    """The one plain array of an .npy file."""
    with _named(source, _ONE), source.opened() as file:
        return array(file, source.size)


class _NoArray(ValueError):
    """Says what a file holds in place of plain numbers."""


class _Pickled(ValueError):
    """An array whose numbers could be had only by running what the file says."""


@dataclass(frozen=True)
class _Header:
    """What an array says of itself, before any of it is read."""

    shape: tuple[int, ...]
    fortran: bool
    kind: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * self.kind.itemsize


def _header(file: IO[bytes], most: int, fields: bool) -> _Header:
    """The header of an array of at most so many bytes; the file is left where its numbers begin."""
    read = _HEADERS.get(npy.read_magic(file))
    if read is None:
        raise _NoArray("an array of a version that is not known")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of files that Python 2 wrote
        shape, fortran, kind = read(file)
    if kind.hasobject:
        raise _Pickled("an array of objects")
    if min(shape, default=0) < 0 or not kind.itemsize or kind.subdtype:
        raise _NoArray("an array of no plain numbers")
    if kind.names and not (fields and all(kind[name].kind in "biufUS" for name in kind.names)):
        raise _NoArray("an array of no plain numbers")
    made = _Header(shape, fortran, kind)
    if made.size > most:
        raise _NoArray("an array that is larger than its file")
    return made


def shapes(path: Path, wanted: Collection[str]) -> dict[str, tuple[int, ...]]:
    """The shape of each wanted array of an archive, by its header; none where that is damaged."""
    found: dict[str, tuple[int, ...]] = {}
    with suppress(*_DAMAGED), zipfile.ZipFile(path) as packed:
        for member in packed.infolist():
            name = member.filename.removesuffix(".npy")
            if name not in wanted:
                continue
            found[name] = ()
            with suppress(*_DAMAGED), packed.open(member) as file:
                found[name] = _header(file, member.file_size, fields=False).shape
    return found


class ArchiveTable:
    """The arrays of an .npz file, each a column; what is not asked for stays packed."""

    what, aligned = "array", False

    def __init__(self, source: Source, limits: FileLimits, opened: ExitStack) -> None:
        self.source, self._limits = source, limits
        self.notes: list[str] = []
        with _damaged(self):
            file = opened.enter_context(source.opened())
            self._packed = opened.enter_context(zipfile.ZipFile(listed_file := _Listed(file)))
            listed_file.known = True
            self._inside = self._packed.infolist()
        self.names = [member.filename.removesuffix(".npy") for member in self._inside]
        # The names that np.savez gives to what is not named.
        self.named = not all(re.fullmatch(r"arr_\d+", name) for name in self.names)

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[Any]:
        """The first values of an array; none where it is no list of numbers."""
        with _damaged(self), self._opened(name) as (file, header):
            if not _is_list(header):
                return []
            size = min(math.prod(header.shape), HEAD)
            return list(_numbers(file, header.kind, size).tolist())

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These arrays, which must have one length, many numbers at a time."""
        sizes = [self._inside[position(self.names, name, self, self.what)] for name in names]
        if sum(member.file_size for member in sizes) > self._limits.unpacked:
            most = f"{self._limits.unpacked:,.0f}"
            self._limits.refuse(self, f"unpack to at most {most} bytes of scores")
        with _damaged(self), ExitStack() as open_:
            arrays = [open_.enter_context(self._opened(name)) for name in names]
            for name, (_, header) in zip(names, arrays, strict=True):
                if not _is_list(header):
                    raise _no_list(f"array {name!r} of {self}", header.shape)
            rows = math.prod(arrays[0][1].shape)
            for name, (_, header) in zip(names[1:], arrays[1:], strict=True):
                one_length(name, rows, math.prod(header.shape), f" in {self}")
            for start in range(0, rows, SLICE):
                deadline.check()
                some = min(SLICE, rows - start)
                deadline.check_memory(some * sum(header.kind.itemsize for _, header in arrays))
                held = tuple(_numbers(file, header.kind, some) for file, header in arrays)
                yield Batch(held, some, _from_zero(self, start), (start + some) / rows)
            for file, _ in arrays:
                # Only at its end does an archive compare what it read with its checksum.
                if file.read(1):
                    raise _NoArray("an array that is longer than it says")

    def whole(self, name: str) -> NDArray[Any]:
        """One array with all its axes."""
        with _damaged(self):
            member = self._inside[position(self.names, name, self, self.what)]
            deadline.check_memory(member.file_size)
            with self._packed.open(member) as file:
                return array(file, member.file_size)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], _Header]]:
        member = self._inside[position(self.names, name, self, self.what)]
        if member.compress_type not in _PACKED:
            raise _NoArray("an archive that NumPy did not write")
        with self._packed.open(member) as file:
            header = _header(file, member.file_size, fields=False)
            if file.tell() + header.size != member.file_size:
                raise _NoArray("an array that is not as long as it says")
            yield file, header


class ArrayTable:
    """An .npy file: one list of numbers, a table of a few columns, or named fields."""

    what, aligned = "column", True

    def __init__(self, source: Source, limits: FileLimits) -> None:
        self.source, self._limits = source, limits
        self.notes: list[str] = []
        with _damaged(self), source.opened() as file:
            self._header = _header(file, source.size, fields=True)
            self._start = file.tell()
            if source.size - self._start != self._header.size:
                raise _NoArray("an array that is not as long as it says")
        shape = self._header.shape
        self.named = bool(self._header.kind.names)
        # Two lists of a score file may be stacked either way.
        self._across = len(shape) == 2 and shape[0] <= 2 < shape[1]
        width = 1 if len(shape) < 2 else shape[0] if self._across else shape[1]
        if not shape or len(shape) > 2 or width > _MOST_COLUMNS or (self.named and width > 1):
            raise _no_list(str(self), shape)
        self._rows = shape[1] if self._across else shape[0]
        if self._header.kind.names:
            self.names = list(self._header.kind.names)
        else:
            self.names = [f"column{k}" for k in range(width)]
        if width > 1:
            self.notes.append(f"an array of {self._rows:,} × {width} without names of columns")

    def __str__(self) -> str:
        return str(self.source)

    def head(self, name: str) -> list[Any]:
        """The first values of a column."""
        return list(self._read(0, min(HEAD, self._rows), [name])[0].tolist())

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These columns, many rows at a time."""
        for start in range(0, self._rows, SLICE):
            deadline.check()
            end = min(start + SLICE, self._rows)
            held = tuple(self._read(start, end, names))
            yield Batch(held, end - start, _from_zero(self, start), end / self._rows)

    def _read(self, start: int, end: int, names: Sequence[str]) -> list[NDArray[Any]]:
        at = [position(self.names, name, self) for name in names]
        kind, columns = self._header.kind, len(self.names)
        with _damaged(self), self.source.opened() as file:
            if kind.names or columns == 1:
                rows = self._part(file, start, end)
                return [rows[name] for name in names] if kind.names else [rows]
            if self._header.fortran != self._across:  # each column lies in one piece
                return [self._part(file, k * self._rows + start, k * self._rows + end) for k in at]
            flat = self._part(file, start * columns, end * columns).reshape(-1, columns)
            return [flat[:, k] for k in at]

    def _part(self, file: IO[bytes], first: int, last: int) -> NDArray[Any]:
        kind = self._header.kind
        deadline.check_memory((last - first) * kind.itemsize)
        file.seek(self._start + first * kind.itemsize)
        return _numbers(file, kind, last - first)


def _numbers(file: IO[bytes], kind: np.dtype[Any], count: int) -> NDArray[Any]:
    held = file.read(count * kind.itemsize)
    if len(held) != count * kind.itemsize:
        raise _NoArray("an array that is not as long as it says")
    return np.frombuffer(held, dtype=kind, count=count)


def _is_list(header: _Header) -> bool:
    """Whether an array is one list of numbers, if only one that stands upright."""
    return len(header.shape) == 1 or (len(header.shape) == 2 and 1 in header.shape)


def _no_list(what: str, shape: tuple[int, ...]) -> BadScores:
    """The error of an array that is no table of scores: the matrix of a game of many models."""
    shown = " × ".join(f"{size:,}" for size in shape) or "one number"
    more = ""
    if len(shape) > 1:
        more = (
            ": a score file has one score a row. A matrix of models by records is no score file; "
            "save the scores of one attack and who is a member as two lists"
        )
    return BadScores(f"{what} must be one list of numbers, got {shown}{more}")


def _from_zero(table: object, start: int) -> Place:
    return lambda row: f"in row {start + row} of {table} (counted from 0)"


_SEVERAL, _ONE = "an .npz file of plain arrays", "an .npy file of plain numbers"


def _damaged(table: ArchiveTable | ArrayTable) -> AbstractContextManager[None]:
    """Names the file that is no archive, or no array."""
    return _named(table.source, _SEVERAL if table.what == "array" else _ONE)


@contextmanager
def _named(source: Source, what: str) -> Iterator[None]:
    try:
        yield
    except (InvalidArgument, LimitReached):
        raise
    except _DAMAGED as wrong:
        why = ""
        if isinstance(wrong, _Pickled):
            why = ": objects are pickled, and may run any code when opened; save .astype(float)"
        elif isinstance(wrong, _NoArray):
            why = f", holds {wrong}"
        raise BadScores(f"{source} must be {what}{why}") from wrong


class _Listed(io.BufferedIOBase):
    """An archive's file, whose list of contents is not read where it is too long to be one."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.known = file, False

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        """So many bytes; the whole list of contents is asked for at once."""
        most = -1 if self.known else _LONGEST_LIST + 1
        wanted = -1 if size is None else size
        held = self._file.read(most if wanted < 0 else wanted if self.known else min(wanted, most))
        if not self.known and len(held) == most:
            raise _NoArray("an archive of too many arrays")
        return held
