"""Reading score files and tables: the one door for Python, command line and page.

What a file holds is inferred from its first rows and said (`notes`); what cannot be inferred is
asked for, in an error that lists the candidates. Rows come in slices, so that a file of any length
is read within limits on bytes and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tellapart.data import csv_file, feather, json_file, npz, parquet, scores_and_labels
from tellapart.data.columns import FrameTable, Names, Slice
from tellapart.data.layout import (
    LOOKED_AT,
    Layout,
    SideColumn,
    is_wide,
    one_sided,
    same_scores,
    settled,
)
from tellapart.data.ranked import Mask, Progress
from tellapart.data.scores_and_labels import CellMeaning
from tellapart.data.sources import FileLimits, Source, described, kind_of
from tellapart.data.table import Batch, FileTable
from tellapart.errors import BadScores, NoColumn

# How files of each kind begin, if they always do, and what their names end in.
_BEGIN = {
    b"PAR1": (".parquet", (".parquet", ".pq")),
    b"PK\x03\x04": (".npz", (".npz",)),
    b"\x93NUM": (".npy", (".npy",)),
    b"ARRO": (".feather", (".feather", ".arrow")),
    b"\x1f\x8b": (".csv.gz", (".gz",)),
}
_PICKLED = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
PREVIEW = 5


@dataclass
class RowsLeftOut:
    """Rows without a score or a label that were left out: of members, non-members, unknown."""

    members: int = 0
    non_members: int = 0
    unlabelled: int = 0

    @property
    def rows(self) -> int:
        """How many rows were left out."""
        return self.members + self.non_members + self.unlabelled


@dataclass(frozen=True)
class Preview:
    """What a score file holds, before it is audited: columns, first rows, and what was inferred.

    `score` and `member` are the columns found; in wide form `sides` are the two columns. Where a
    column cannot be told, `question` says so and `candidates` are what may be answered.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    score: str | None = None
    member: str | None = None
    sides: tuple[str, str] | None = None
    question: str = ""


@dataclass
class Reader:
    """Score files or a table, and how they are understood; filled in as the rows go by."""

    names: Names = field(default_factory=Names)
    member_value: str | None = None
    drop_missing: bool = False
    limits: FileLimits = field(default_factory=FileLimits)
    progress: Progress | None = None
    left_out: RowsLeftOut = field(default_factory=RowsLeftOut)
    repeated: str = ""  # a record with several scores on one side, in words
    _notes: list[str] = field(default_factory=list)
    _meaning: CellMeaning = field(init=False)

    def __post_init__(self) -> None:
        self._meaning = CellMeaning(self.member_value, self.drop_missing)

    # -- what is read ------------------------------------------------------------------------------

    def files(self, sources: Sequence[Source]) -> Iterator[Slice]:
        """All rows of score files of one kind, some at a time."""
        return self._counted(sources, self._of_files(sources))

    def sides(self, members: Sequence[Source], non_members: Sequence[Source]) -> Iterator[Slice]:
        """All rows of files that hold the scores of one side each."""
        both = [(source, True) for source in members] + [(source, False) for source in non_members]
        rows = self._of_sides(both)
        return self._counted([source for source, _ in both], rows)

    def table(self, table: Any) -> Iterator[Slice]:
        """All rows of a pandas, Polars or Arrow table, or a dict of columns."""
        self._meaning.offers_drop = True
        opened = FrameTable(table)
        yield from self._rows(opened, self._settled(opened))
        self._meaning.marks.settle()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was inferred; complete once all rows were read."""
        notes, seen = list(self._notes), self._meaning
        if shown := seen.marks.comma:
            notes.append(f"decimal commas: {shown} is {shown.replace(',', '.')}")
        if seen.seen:
            notes.append(self._labels())
        return tuple(notes)

    def _labels(self) -> str:
        seen = self._meaning.seen
        if self.member_value is None:
            inside = [
                v for v in seen if scores_and_labels.plain_word(v) in scores_and_labels.MEMBER_WORDS
            ]
        else:
            inside = [v for v in seen if scores_and_labels.same_label(v, self.member_value)]
        outside = [value for value in seen if value not in inside]
        sides = (("is a member", inside), ("is a non-member", outside))
        return "labels: " + ", ".join(
            f"{' or '.join(map(repr, some))} {what}" for what, some in sides if some
        )

    # -- how ---------------------------------------------------------------------------------------

    def _counted(self, sources: Sequence[Source], slices: Iterator[Slice]) -> Iterator[Slice]:
        for source in sources:
            _fits(source, self.limits)
        rows = 0
        for some in slices:
            rows += some.scores.size
            if rows > self.limits.rows:
                self.limits.refuse(sources[0], f"have at most {self.limits.rows:,} rows")
            if some.scores.size:
                yield some
        self._meaning.marks.settle()
        if not rows:
            where = described([source.path for source in sources])
            if self.left_out.rows:
                raise BadScores(
                    f"{where} must have rows with a score and a label, and all "
                    f"{self.left_out.rows:,} rows lack one"
                )
            raise BadScores(f"score files must have rows, got none in {sources[0]}")

    def _of_files(self, sources: Sequence[Source]) -> Iterator[Slice]:
        layout: Layout | None = None
        types = None
        with _opener(self.limits) as opened:
            for index, source in enumerate(sources):
                with opened(source) as table:
                    layout = self._settled(table, layout)
                    types = _alike(table, layout, types)
                    yield from self._rows(table, layout, index, len(sources))

    def _of_sides(self, both: Sequence[tuple[Source, bool]]) -> Iterator[Slice]:
        seen: dict[str, str] = {}
        with _opener(self.limits) as opened:
            for index, (source, inside) in enumerate(both):
                with opened(source) as table:
                    layout = one_sided(table, self.names.score, inside)
                    column = layout.sides[0].column
                    for other, where in seen.items():
                        if not same_scores(other, column):
                            raise NoColumn(
                                f"files must have their scores in one column, got {other!r} in "
                                f"{where} and {column!r} in {table}: rename one of them",
                                ", or choose with --score-column, in Python score=",
                            )
                    seen.setdefault(column, str(table))
                    self._note(table, layout)
                    yield from self._rows(table, layout, index, len(both))

    def _settled(self, table: FileTable, first: Layout | None = None) -> Layout:
        """The layout of a file: in long form, the columns that were found in the first one."""
        wide = self.names == Names() and is_wide(table)
        names = self.names if first is None or first.sides or wide else first.names
        layout = settled(table, names, self.member_value)
        self._note(table, layout)
        return layout

    def _note(self, table: FileTable, layout: Layout) -> None:
        self.repeated = self.repeated or layout.repeated(table)
        for note in (*table.notes, *layout.notes):
            if note not in self._notes:
                self._notes.append(note)

    def _rows(
        self, table: FileTable, layout: Layout, index: int = 0, files: int = 1
    ) -> Iterator[Slice]:
        tell: Callable[[str, float], None] = self.progress or (lambda _what, _share: None)
        if layout.sides:
            for k, side in enumerate(layout.sides):
                yield from self._one_side(table, side)
                tell("reading", (index + (k + 1) / len(layout.sides)) / files)
            return
        wanted = layout.names.wanted
        for batch in table.batches(list(wanted.values())):
            yield self._slice(batch, wanted)
            tell("reading", (index + batch.done) / files)
        tell("reading", (index + 1) / files)

    def _slice(self, batch: Batch, wanted: Mapping[str, str]) -> Slice:
        raw = dict(zip(wanted, batch.columns, strict=True))
        scores, no_score = self._meaning.scores(wanted["score"], raw["score"], batch.place)
        member, no_label = self._meaning.members(wanted["member"], raw["member"], batch.place)
        missing = no_score | no_label
        marks = {
            part: _marked(wanted[part], raw[part], batch)
            for part in ("run", "group")
            if part in wanted
        }
        if missing.any():
            self.left_out.unlabelled += int(no_label.sum())
            self.left_out.members += int((missing & ~no_label & member).sum())
            self.left_out.non_members += int((missing & ~no_label & ~member).sum())
            keep = ~missing
            marks = {part: mark[keep] for part, mark in marks.items()}
            scores, member = scores[keep], member[keep]
        return Slice(scores, member, **marks)

    def _one_side(self, table: FileTable, side: SideColumn) -> Iterator[Slice]:
        """The scores of one side; what is empty below its last score is no missing value.

        A column that is shorter than its neighbour is filled up with empty cells.
        """
        strict = CellMeaning(drop_missing=True, marks=self._meaning.marks)
        waiting: list[tuple[Mask, Batch]] = []
        for batch in table.batches([side.column]):
            scores, missing = strict.scores(side.column, batch.columns[0], batch.place)
            waiting.append((missing, batch))
            if missing.all():
                continue
            last = int(np.flatnonzero(~missing)[-1])
            self._gaps(side, [*waiting[:-1], (missing[:last], batch)])
            waiting = [(missing[last + 1 :], batch)]
            kept = scores[~missing]
            yield Slice(kept, np.full(kept.size, side.inside))
        below = sum(int(missing.sum()) for missing, _ in waiting)
        if not table.aligned:  # a list by itself has no cells to fill up
            self._gaps(side, waiting)
        elif below:
            self._notes.append(f"{below:,} empty cells below the scores in {side.column!r}")

    def _gaps(self, side: SideColumn, gaps: Sequence[tuple[Mask, Batch]]) -> None:
        """Count missing scores between others, or refuse the first of them."""
        for missing, batch in gaps:
            if not missing.any():
                continue
            if not self.drop_missing:
                self._meaning.scores(side.column, batch.columns[0], batch.place)
            count = int(missing.sum())
            self.left_out.members += count if side.inside else 0
            self.left_out.non_members += 0 if side.inside else count


def preview(source: Source, names: Names, limits: FileLimits | None = None) -> Preview:
    """Columns, the first rows and what can be inferred of a score file, without reading it all."""
    bounds = limits or FileLimits()
    _fits(source, bounds)
    with _opener(bounds) as opened, opened(source) as table:
        shown = list(dict.fromkeys(table.names))[:LOOKED_AT]
        heads = {name: table.head(name)[:PREVIEW] for name in shown}
        rows = tuple(
            tuple(head[k] if k < len(head) else None for head in heads.values())
            for k in range(max(map(len, heads.values()), default=0))
        )
        preview = Preview(tuple(heads), rows, tuple(table.notes))
        try:
            layout = settled(table, names)
        except NoColumn as question:
            return replace(preview, question=str(question))
        sides = (layout.sides[0].column, layout.sides[1].column) if layout.sides else None
        return replace(
            preview,
            notes=(*table.notes, *layout.notes),
            score=layout.names.score,
            member=layout.names.member,
            sides=sides,
        )


@contextmanager
def _opener(limits: FileLimits) -> Iterator[Any]:
    """Opens files one after the other; a database is shared, as opening one takes its time."""
    with ExitStack() as open_:
        database: list[Any] = []

        @contextmanager
        def opened(source: Source) -> Iterator[FileTable]:
            kind = kind_of(source.path)
            with ExitStack() as file:
                if kind == "parquet":
                    if not database:
                        database.append(open_.enter_context(parquet.connected(None)))
                    yield parquet.ParquetTable(source, limits, file, database[0])
                elif kind == "npz":
                    yield npz.ArchiveTable(source, limits, file)
                elif kind == "feather":
                    yield feather.FeatherTable(source, limits, file)
                else:
                    yield _PLAIN[kind](source, limits)

        yield opened


_PLAIN: dict[str, Callable[[Source, FileLimits], FileTable]] = {
    "csv": csv_file.TextTable,
    "json": json_file.JsonTable,
    "jsonl": json_file.LinesTable,
    "npy": npz.ArrayTable,
}


def _marked(name: str, raw: Any, batch: Batch) -> Any:
    """Run ids or groups; of text, without blanks around, and missing where empty."""
    if isinstance(raw, list) and all(isinstance(cell, str) for cell in raw):
        held = np.empty(len(raw), dtype=object)
        held[:] = [cell.strip(" ") or None for cell in raw]
        raw = held
    return scores_and_labels.labels(name, raw, batch.rows, batch.place)


def _alike(table: FileTable, layout: Layout, types: Any) -> Any:
    """Refuse columns whose type changes from file to file: a run 1 is no run 1.0."""
    if not isinstance(table, parquet.ParquetTable) or layout.sides:
        return types
    own_types = {name: table.type_of(name) for name in layout.names.wanted.values()}
    first, where = types or (own_types, str(table))
    for name, kind in own_types.items():
        if first.get(name, kind) != kind:
            raise BadScores(
                f"{name} must have one type in all files, got {first[name]} in {where} "
                f"and {kind} in {table}"
            )
    return first, where


def _fits(source: Source, limits: FileLimits) -> None:
    """Refuse a file by its size, or because it is another than it is called."""
    kind_of(source.path)
    size = source.size
    if size > limits.file:
        limits.refuse(source, f"have at most {limits.file:,} bytes, has {size:,}")
    if size == 0:
        raise BadScores(f"{source} must not be empty")
    with source.opened() as file:
        begin = file.read(4)
    name = source.path.name.lower()
    for start, (kind, endings) in _BEGIN.items():
        if begin.startswith(start) and not name.endswith(endings):
            raise BadScores(f"{source} must be what its name says, and is {kind}: rename it")
    if begin[:2] in _PICKLED:
        raise BadScores(
            f"{source} must be what its name says, and is a pickle, which may run any code when it "
            "is opened: save the scores with np.savez or as .csv where it was made"
        )
