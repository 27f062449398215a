"""Scores of one side on disk, in runs that are each sorted: ranks without holding the scores."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from tellapart._checks import Array
from tellapart.data.ranked import Progress, Whole, checked_ranks, checked_split, checked_values
from tellapart.errors import InvalidArgument

# Scores in one run: 64 MiB, sorted in memory.
RUN = 2**23


class PrivateFolder:
    """A folder that only this user can read, gone when nobody asks for it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tellapart-"))
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

    def __init__(self, folder: PrivateFolder, run: int = RUN) -> None:
        self._folder, self._file, self._run = folder, folder.file(), run
        self._waiting: list[Array] = []
        self._ends: list[int] = [0]

    def add(self, scores: Array) -> None:
        """Take some more scores."""
        self._waiting.append(scores)
        if sum(one.size for one in self._waiting) >= self._run:
            self.write_out()

    def write_out(self) -> None:
        """Sort what has come in and write it to disk."""
        if not any(one.size for one in self._waiting):
            return
        # Adding zero makes one score of 0.0 and -0.0.
        together = np.concatenate(self._waiting) + 0.0
        self._waiting = []
        together.sort()
        self._append(together)

    def _append(self, sorted_scores: Array) -> None:
        with open(self._file, "ab") as file:
            sorted_scores.tofile(file)
        self._ends.append(self._ends[-1] + sorted_scores.size)

    def add_sorted(self, scores: Array) -> None:
        """Take one sorted run as it is."""
        if scores.size:
            self._append(scores)

    def done(self) -> SortedRuns:
        """The side that was collected."""
        self.write_out()
        return SortedRuns(self._folder, self._file, self._ends)


class SortedRuns:
    """One side of a large file: sorted runs on disk, each searched by halving.

    A question touches a few pages of each run. The scores take 8 bytes each on disk.
    """

    def __init__(self, folder: PrivateFolder, file: Path, ends: list[int]) -> None:
        # Holding the folder keeps the file; many runs share one file and one mapping.
        self._folder, self._file, self._ends = folder, file, ends
        whole: Array = np.empty(0)
        if ends[-1]:
            whole = np.asarray(np.memmap(file, dtype=np.float64, mode="r"))
        self._runs = [whole[a:b] for a, b in pairwise(ends)]

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
        return self.count - self._found(checked_values(values), "right")

    def below(self, values: ArrayLike) -> Whole:
        return self._found(checked_values(values), "left")

    def _found(self, values: Array, side: str) -> Whole:
        total = np.zeros(values.shape, dtype=np.int64)
        for run in self._runs:
            total += np.searchsorted(run, values, side=side)  # type: ignore[call-overload]
        return total

    def _at(self, ranks: Whole) -> Array:
        """The least double with at least `rank` scores up to it: that is a score."""
        least, most = min(run[0] for run in self._runs), max(run[-1] for run in self._runs)
        low = np.full(ranks.shape, _key(np.array(least)) - 1)
        high = np.full(ranks.shape, _key(np.array(most)))
        while np.any(low + 1 < high):
            # Halves the sum of two int64 without overflow.
            middle = (low & high) + ((low ^ high) >> 1)
            enough = self._found(_double(middle), "right") >= ranks
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
        return _double(high) + 0.0

    def between(self, low: float, high: float) -> Array:
        pieces = []
        for start, run in zip(self._ends, self._runs, strict=False):
            first, last = np.searchsorted(run, [low, high], side="right")
            pieces.append(self._read(start + int(first), int(last - first)))
        found = np.concatenate([np.empty(0), *pieces])
        found.sort()
        return found

    def _read(self, start: int, count: int) -> Array:
        """Read, not mapped: pages read through the mapping would count as this program's memory."""
        return np.fromfile(self._file, dtype=np.float64, count=count, offset=8 * start)

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
        one, two = (writer.done() for writer in writers)
        if not one.count or not two.count:
            raise InvalidArgument(f"share must leave scores in both parts, got {share!r}")
        return one, two

    def _each_run(self, progress: Progress | None) -> Iterator[Array]:
        told: Callable[[str, float], None] = progress or (lambda what, part: None)
        for start, end in pairwise(self._ends):
            yield self._read(start, end - start)
            told("splitting", end / self.count)


_SIGN = np.int64(2**63 - 1)


def _key(values: Array) -> Whole:
    """Whole numbers in the order of the doubles."""
    bits = values.view(np.int64)
    return np.asarray(bits ^ ((bits >> 63) & _SIGN))


def _double(keys: Whole) -> Array:
    return np.asarray(keys ^ ((keys >> 63) & _SIGN)).view(np.float64)
