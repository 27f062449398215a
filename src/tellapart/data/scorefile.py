"""Score files too large for memory: both sides by rank."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from tellapart.data import columns, paths, reading
from tellapart.data.ranked import Progress
from tellapart.data.runs import PrivateFolder, RunWriter, SortedRuns
from tellapart.data.sources import Source
from tellapart.data.table import Names, Slice


class ScoreFile:
    """Members and others of a score table on disk, each answering questions about ranks.

    The files are read once, into sorted runs in a private temporary folder that takes 8 bytes a
    row (and 8 more for each split) and goes away with the last side that uses it.
    """

    members: SortedRuns
    others: SortedRuns

    def __init__(
        self,
        path: paths.Paths,
        *,
        score: str = "score",
        member: str = "member",
        progress: Progress | None = None,
    ) -> None:
        _, files = paths.found(path)
        slices = reading.slices(
            [Source(one) for one in files], Names(score, member), None, progress
        )
        self._hold(slices, paths.words(files))

    @classmethod
    def of_slices(cls, slices: Iterable[Slice], where: str) -> ScoreFile:
        """Both sides of rows that come some at a time."""
        made = cls.__new__(cls)
        made._hold(slices, where)
        return made

    def _hold(self, slices: Iterable[Slice], where: str) -> None:
        self._folder = PrivateFolder()
        members, others = RunWriter(self._folder), RunWriter(self._folder)
        for rows in slices:
            members.add(rows.scores[rows.member])
            others.add(rows.scores[~rows.member])
        self.members, self.others = members.done(), others.done()
        columns.both_sides(where, self.members.count, self.others.count)

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
