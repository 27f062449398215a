"""Score files too large for memory: both sides by rank (extra ``files``)."""

from __future__ import annotations

from types import TracebackType

from tellapart.data import columns, paths
from tellapart.data.ranked import Progress
from tellapart.data.runs import PrivateFolder, RunWriter, SortedRuns
from tellapart.data.table import Names, Table
from tellapart.errors import BadScores


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
        kind, files = paths.found(path)
        if kind == "npz":
            raise BadScores(f"a score file must be Parquet or CSV, got {files[0]}")
        with Table(kind, files, Names(score, member), progress) as table:
            self._hold(table)

    @classmethod
    def of_table(cls, table: Table) -> ScoreFile:
        """Both sides of a table that is open already."""
        made = cls.__new__(cls)
        made._hold(table)
        return made

    def _hold(self, table: Table) -> None:
        self._folder = PrivateFolder()
        members, others = RunWriter(self._folder), RunWriter(self._folder)
        for rows in table.slices():
            members.add(rows.scores[rows.member])
            others.add(rows.scores[~rows.member])
        self.members, self.others = members.done(), others.done()
        columns.both_sides(paths.words(table.files), self.members.count, self.others.count)

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
