"""External sorting: scores of one side in sorted runs on disk, asked for ranks and counts."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tellapart import _files
from tellapart._checks import Array
from tellapart.data import columns, reading, sources
from tellapart.data.columns import Names, Slice
from tellapart.data.ranked import (
    Mask,
    Progress,
    Whole,
    checked_ranks,
    checked_split,
    checked_values,
)
from tellapart.data.sources import Source
from tellapart.errors import InvalidArgument, Unsupported

# Scores in one run: 64 MiB, sorted in memory.
RUN = 2**23
# Every so many scores of a run one is kept in memory: a search reads one such block of a run.
BLOCK = 512
_BLOCKS_HELD = 2**14

Side = Literal["left", "right"]


class PrivateFolder:
    """A folder that only this user can read, gone when nobody asks for it any more."""

    def __init__(self) -> None:
        self.path = _files.folder_aside()
        self._end = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder now."""
        self._end()

    def file(self) -> Path:
        """A new empty file in it."""
        handle, name = tempfile.mkstemp(dir=self.path)
        with open(handle, "wb"):
            return Path(name)


class RunWriter:
    """Collects scores in any order and leaves them on disk in sorted runs."""

    def __init__(self, folder: PrivateFolder) -> None:
        self._folder, self._file = folder, folder.file()
        self._waiting: list[Array] = []
        self._count = 0
        self._ends: list[int] = [0]
        self._firsts: list[Array] = []

    def add(self, scores: Array) -> None:
        """Take some more scores."""
        self._waiting.append(scores)
        self._count += scores.size
        if self._count >= RUN:
            self.write_out()

    def write_out(self) -> None:
        """Sort what has come in and write it to disk."""
        if not self._count:
            return
        together = np.concatenate(self._waiting)
        self._waiting, self._count = [], 0
        together += 0.0  # makes one score of 0.0 and -0.0
        together.sort()
        self._append(together)

    def _append(self, sorted_scores: Array) -> None:
        with open(self._file, "ab") as file:
            sorted_scores.tofile(file)
        self._ends.append(self._ends[-1] + sorted_scores.size)
        self._firsts.append(sorted_scores[::BLOCK].copy())

    def add_sorted(self, scores: Array) -> None:
        """Take one sorted run as it is."""
        if scores.size:
            self._append(scores)

    def done(self) -> SortedRuns:
        """The side that was collected."""
        self.write_out()
        return SortedRuns(self._folder, self._file, self._ends, self._firsts)


class SortedRuns:
    """One side of a large file: sorted runs on disk, each searched by halving.

    A question touches a few pages of each run. The scores take 8 bytes each on disk.
    """

    def __init__(
        self, folder: PrivateFolder, file: Path, ends: list[int], firsts: list[Array]
    ) -> None:
        # Holding the folder keeps the file; all runs lie in it, one after the other.
        self._folder, self._file, self._ends, self._firsts = folder, file, ends, firsts
        # Mapping the file instead would count all of it as this program's memory before long.
        self._block = lru_cache(maxsize=_BLOCKS_HELD)(partial(_read, file))
        # An audit may split many times: a part's file goes as soon as the part does.
        weakref.finalize(self, file.unlink, missing_ok=True)

    def __repr__(self) -> str:
        return f"SortedRuns({self.count} scores)"

    @property
    def count(self) -> int:
        """How many scores there are."""
        return self._ends[-1]

    def descending(self, ranks: ArrayLike) -> Array:
        return self._at(self.count + 1 - checked_ranks(ranks, self.count))

    def ascending(self, ranks: ArrayLike) -> Array:
        return self._at(checked_ranks(ranks, self.count))

    def above(self, values: ArrayLike) -> Whole:
        return self.count - self._rank(checked_values(values), "right")

    def below(self, values: ArrayLike) -> Whole:
        return self._rank(checked_values(values), "left")

    def _rank(self, values: Array, side: Side) -> Whole:
        flat = values.ravel()
        total = np.zeros(flat.shape, dtype=np.int64)
        for ends, firsts in zip(pairwise(self._ends), self._firsts, strict=True):
            total += self._rank_in(*ends, firsts, flat, side)
        return total.reshape(values.shape)

    def _rank_in(self, start: int, end: int, firsts: Array, values: Array, side: Side) -> Whole:
        """What np.searchsorted says of one run, reading one block of it for each value."""
        if values.size > firsts.size:
            return np.searchsorted(_read(self._file, start, end), values, side=side)
        before = BLOCK * np.maximum(np.searchsorted(firsts, values, side=side) - 1, 0)
        for index, (at, value) in enumerate(zip(start + before, values, strict=True)):
            block = self._block(int(at), min(int(at) + BLOCK, end))
            before[index] += np.searchsorted(block, value, side=side)
        return before

    def _at(self, ranks: Whole) -> Array:
        """The least double with at least `rank` scores up to it: that is a score."""
        low = np.full(ranks.shape, _key(min(run[0] for run in self._firsts)) - 1)
        high = np.full(
            ranks.shape, _key(max(self._block(end - 1, end)[0] for end in self._ends[1:]))
        )
        # What is in memory leaves less than a block of each run on either side.
        ceiling = _least(low, high, lambda values: self._at_least(values) >= ranks)
        floor = _least(low, high, lambda values: self._at_most(values) >= ranks) - 1
        keys = _least(floor, ceiling, lambda values: self._rank(values, "right") >= ranks)
        return _double(keys) + 0.0

    def _at_least(self, values: Array) -> Whole:
        """So many scores are certainly up to each value."""
        blocks = (np.searchsorted(firsts, values, side="right") for firsts in self._firsts)
        return np.asarray(sum(np.maximum((each - 1) * BLOCK + 1, 0) for each in blocks))

    def _at_most(self, values: Array) -> Whole:
        """No more scores than this are up to each value."""
        sizes = np.diff(self._ends)
        blocks = (np.searchsorted(firsts, values, side="right") for firsts in self._firsts)
        both = zip(blocks, sizes, strict=True)
        return np.asarray(sum(np.minimum(each * BLOCK, size) for each, size in both))

    def between(self, low: float, high: float) -> Array:
        pieces = [np.empty(0)]
        for (start, end), firsts in zip(pairwise(self._ends), self._firsts, strict=True):
            first, last = self._rank_in(start, end, firsts, np.array([low, high]), "right")
            pieces.append(_read(self._file, start + first, start + last))
        scores = np.concatenate(pieces)
        scores.sort()
        return scores

    def split(
        self, share: float, seed: int, progress: Progress | None = None
    ) -> tuple[SortedRuns, SortedRuns]:
        """Two parts drawn by rank, each score on its own with this chance of being in the first."""
        part, start = checked_split(self.count, share, seed)
        draw = np.random.default_rng(start)
        writers = RunWriter(self._folder), RunWriter(self._folder)
        for piece in self._each_run(progress):
            chosen = draw.random(piece.size) < part
            writers[0].add_sorted(piece[chosen])
            writers[1].add_sorted(piece[~chosen])
        first, second = (writer.done() for writer in writers)
        if not first.count or not second.count:
            raise InvalidArgument(f"share must leave scores in both parts, got {share!r}")
        return first, second

    def _each_run(self, progress: Progress | None) -> Iterator[Array]:
        tell: Callable[[str, float], None] = progress or (lambda what, part: None)
        for start, end in pairwise(self._ends):
            yield _read(self._file, start, end)
            tell("splitting", end / self.count)


def _read(file: Path, start: int, end: int) -> Array:
    try:
        scores = np.fromfile(file, dtype=np.float64, count=end - start, offset=8 * start)
    except FileNotFoundError:
        raise Unsupported("this score file is closed: read it again") from None
    if scores.size != end - start:
        raise OSError(f"{file} must keep its length, and has been cut short")
    return scores


def _least(low: Whole, high: Whole, enough: Callable[[Array], Mask]) -> Whole:
    """The least key above `low` whose double is enough; `high` where no smaller one is."""
    while np.any(low + 1 < high):
        # Halves the sum of two int64 without overflow.
        middle = (low & high) + ((low ^ high) >> 1)
        is_enough = enough(_double(middle))
        high, low = np.where(is_enough, middle, high), np.where(is_enough, low, middle)
    return high


_SIGN = np.int64(2**63 - 1)


def _key(value: float) -> np.int64:
    """A whole number for each double, in the order of the doubles."""
    bits = np.float64(value).view(np.int64)
    return np.int64(bits ^ ((bits >> 63) & _SIGN))


def _double(keys: Whole) -> Array:
    return np.asarray(keys ^ ((keys >> 63) & _SIGN)).view(np.float64)


class ScoreFile:
    """Members and non-members of a score table on disk, each answering questions about ranks.

    The files are read once, into sorted runs in a private temporary folder that takes 8 bytes a
    row (and 8 more for each split) and goes away with the last side that uses it.
    """

    members: SortedRuns
    non_members: SortedRuns

    def __init__(
        self,
        path: sources.Paths,
        *,
        score: str | None = None,
        member: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        _, files = sources.matching(path)
        reader = reading.Reader(Names(score, member), progress=progress)
        slices = reader.files([Source(file) for file in files])
        self._hold(slices, sources.described(files))

    @classmethod
    def of_slices(cls, slices: Iterable[Slice], where: str) -> ScoreFile:
        """Both sides of rows that come some at a time."""
        made = cls.__new__(cls)
        made._hold(slices, where)
        return made

    def _hold(self, slices: Iterable[Slice], where: str) -> None:
        self._folder = PrivateFolder()
        members, non_members = RunWriter(self._folder), RunWriter(self._folder)
        for rows in slices:
            members.add(rows.scores[rows.member])
            non_members.add(rows.scores[~rows.member])
        self.members, self.non_members = members.done(), non_members.done()
        columns.both_sides(where, self.members.count, self.non_members.count)

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was written to disk; the sides cannot be asked any more."""
        self._folder.remove()
