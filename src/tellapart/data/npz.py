"""NumPy's .npz files: the arrays that are asked for, within a budget, and never unpickled."""

from __future__ import annotations

import io
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tellapart import deadline
from tellapart.data import columns
from tellapart.data.columns import Names, Slice, listed, position
from tellapart.data.ranked import Progress
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores

# A list of contents that is longer would be of some ten thousand arrays.
_LONGEST_LIST = 2**20
_SIDES = ("members", "non_members")
_OLD_SIDES = ("members", "others")  # as 0.1 had them
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


def slices(
    sources: Sequence[Source], names: Names, limits: FileLimits, tell: Progress
) -> Iterator[Slice]:
    """The rows of each file: arrays `members` and `non_members`, or one array for each column."""
    for index, source in enumerate(sources):
        yield _slice(_arrays(source, names, limits), names, source)
        tell("reading", (index + 1) / len(sources))


def array(file: IO[bytes], size: int) -> NDArray[Any]:
    """One plain array of so many bytes; its header must fit them before room is made for it."""
    header = _HEADERS.get(npy.read_magic(file))
    if header is None:
        raise ValueError("an array with named fields")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of files that Python 2 wrote
        shape, fortran, kind = header(file)
    count = math.prod(shape)
    if kind.hasobject or kind.names or min(shape, default=0) < 0 or not kind.itemsize:
        raise ValueError("an array of no plain numbers")
    if count * kind.itemsize > size:
        raise ValueError("an array that is larger than its file")
    # One byte more: only at its end does an archive compare what it read with its checksum.
    held = file.read(count * kind.itemsize + 1)
    if len(held) != count * kind.itemsize:
        raise ValueError("an array that is not as long as it says")
    flat: NDArray[Any] = np.frombuffer(held, dtype=kind, count=count)
    return flat.reshape(shape, order="F" if fortran else "C")


def alone(source: Source) -> NDArray[Any]:
    """The one plain array of an .npy file."""
    try:
        with source.opened() as file:
            return array(file, source.size)
    except _DAMAGED as wrong:
        raise BadScores(f"{source} must be an .npy file of plain numbers") from wrong


def _slice(arrays: Mapping[str, NDArray[Any]], names: Names, source: Source) -> Slice:
    def place(row: int) -> str:
        return f"in row {row} of {source} (counted from 0)"

    if set(arrays) in (set(_SIDES), set(_OLD_SIDES)):
        sides = _SIDES if set(_SIDES) == set(arrays) else _OLD_SIDES
        members, non_members = (columns.scores(name, arrays[name], place) for name in sides)
        inside = np.repeat([True, False], [members.size, non_members.size])
        return Slice(np.concatenate([members, non_members]), inside)
    scores = columns.scores(names.score, arrays[names.score], place)
    member = columns.truths(names.member, arrays[names.member], place)
    if member.size != scores.size:
        raise BadScores(
            f"{names.member} must have one label for each of {scores.size} scores,"
            f" got {member.size} in {source}"
        )
    run, group = (
        None if name is None else columns.labels(name, arrays[name], scores.size, place)
        for name in (names.run, names.group)
    )
    return Slice(scores, member, run, group)


def _arrays(source: Source, names: Names, limits: FileLimits) -> dict[str, NDArray[Any]]:
    """The arrays that are asked for; all else stays packed."""
    try:
        with source.opened() as file, zipfile.ZipFile(listed_file := _Listed(file)) as packed:
            listed_file.known = True
            inside = packed.infolist()
            there = [member.filename.removesuffix(".npy") for member in inside]
            wanted = _wanted(there, names, source)
            sizes = [inside[at].file_size for at in wanted.values()]
            if sum(sizes) > limits.held:
                limits.refuse(source, f"unpack to at most {limits.held:,.0f} bytes of scores")
            deadline.check_memory(sum(sizes))
            return {name: _unpacked(packed, inside[at]) for name, at in wanted.items()}
    except BadScores:
        raise
    except _DAMAGED as wrong:
        raise BadScores(f"{source} must be an .npz file of plain arrays") from wrong


def _wanted(there: list[str], names: Names, source: Source) -> dict[str, int]:
    """Where in the archive each array is that will be read."""
    plain = names == Names()
    sides = next((sides for sides in (_SIDES, _OLD_SIDES) if set(sides) <= set(there)), None)
    if plain and sides is not None:
        if set(names.wanted.values()) & set(there):
            raise BadScores(
                f"{source} must have either 'members' and 'non_members' or an array for each "
                f"column, has {listed(there)}: keep one of them, or name the column of scores"
            )
        return {name: position(there, name, source, "array") for name in sides}
    for name in names.wanted.values():
        if name not in there:
            also = " (or 'members' and 'non_members')" if plain else ""
            raise columns.no_column(source, name, there, "array", also)
    columns.refuse_unread(there, names.wanted.values(), source, "array")
    return {name: position(there, name, source, "array") for name in names.wanted.values()}


def _unpacked(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    if member.compress_type not in _PACKED:
        raise ValueError("an archive that NumPy did not write")
    with packed.open(member) as file:
        return array(file, member.file_size)


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
            raise ValueError("an archive of too many arrays")
        return held
