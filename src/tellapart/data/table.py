"""Tables of scores in Parquet and CSV files, read slice by slice (extra ``files``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from tellapart._checks import Array
from tellapart.data import columns, duck
from tellapart.data.frames import no_column
from tellapart.data.ranked import Mask, Progress
from tellapart.data.runs import PrivateFolder
from tellapart.errors import BadScores, Unsupported

SLICE = 2**22

_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_WHOLE |= {f"U{one}" for one in _WHOLE}
_NUMBERS = _WHOLE | {"FLOAT", "DOUBLE", "DECIMAL"}


@dataclass(frozen=True)
class Names:
    """The columns that hold the score, who is a member and, where wanted, run and group."""

    score: str = "score"
    member: str = "member"
    run: str | None = None
    group: str | None = None

    @property
    def wanted(self) -> dict[str, str]:
        """Each part that is asked for, with its column."""
        every = {"score": self.score, "member": self.member, "run": self.run, "group": self.group}
        return {part: name for part, name in every.items() if name is not None}


@dataclass(frozen=True)
class Slice:
    """Some rows of one file."""

    scores: Array
    member: Mask
    run: Any = None
    group: Any = None


@dataclass(frozen=True)
class _Part:
    """One file: where it is, the Parquet file to read instead, and how to read its columns."""

    file: Path
    parquet: Path
    rows: int
    select: dict[str, str]


class Table:
    """Score files of one kind, checked and read without holding them in memory.

    With ``on_disk`` false nothing is written anywhere; Parquet files alone can be read so.
    """

    def __init__(
        self,
        kind: str,
        files: Sequence[Path],
        names: Names | None = None,
        progress: Progress | None = None,
        *,
        on_disk: bool = True,
    ) -> None:
        self.files = tuple(files)
        self.names = names or Names()
        self._tell: Progress = progress or (lambda what, share: None)
        self._folder = PrivateFolder() if on_disk else None
        self._ask = duck.connected(None if self._folder is None else self._folder.path)
        try:
            self._parts = self._opened(kind, files)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files and remove what was written."""
        self._ask.close()
        if self._folder is not None:
            self._folder.remove()

    @property
    def rows(self) -> int:
        """How many rows the files have together."""
        return sum(part.rows for part in self._parts)

    def slices(self) -> Iterator[Slice]:
        """All rows, some at a time; the first bad one is refused."""
        done = 0
        for part in self._parts:
            for start in range(0, part.rows, SLICE):
                end = min(start + SLICE, part.rows)
                yield self._slice(part, start, end)
                done += end - start
                self._tell("reading", done / self.rows)

    def _slice(self, part: _Part, start: int, end: int) -> Slice:
        said = ", ".join(f"{how} AS {duck.quoted(name)}" for name, how in part.select.items())
        found = duck.arrays(
            self._ask,
            part.file,
            f"SELECT {said} FROM {duck.PARQUET} "  # noqa: S608
            f"WHERE file_row_number >= {start} AND file_row_number < {end}",
            part.parquet,
        )
        if found["score"].size != end - start:
            raise BadScores(f"{part.file} must not change while it is read")
        whole = not any(np.ma.is_masked(found[one]) for one in ("score", "member"))
        if not whole or not np.isfinite(found["score"]).all():
            self._refuse_first_bad(part)
        marks = {
            kind: columns.labels(
                name, found[kind], end - start, lambda row: duck.place(start + row, part.file)
            )
            for kind, name in self.names.wanted.items()
            if kind in ("run", "group")
        }
        member = np.asarray(found["member"], dtype=np.bool_)
        return Slice(np.asarray(found["score"], dtype=np.float64), member, **marks)

    def _opened(self, kind: str, files: Sequence[Path]) -> list[_Part]:
        parts: list[_Part] = []
        types: dict[str, tuple[str, Path]] = {}
        for index, file in enumerate(files):
            part, held = self._csv(file) if kind == "csv" else self._parquet(file)
            for name, type_ in held.items():
                first, where = types.setdefault(name, (type_, file))
                if type_ != first:
                    raise BadScores(
                        f"{name} must have one type in all files,"
                        f" got {first} in {where} and {type_} in {file}"
                    )
            parts.append(part)
            self._tell("opening", (index + 1) / len(files))
        if not sum(part.rows for part in parts):
            raise BadScores(f"score files must have rows, got none in {files[0]}")
        return parts

    def _parquet(self, file: Path) -> tuple[_Part, dict[str, str]]:
        types = self._types(file, duck.PARQUET)
        held = {part: types[name] for part, name in self.names.wanted.items()}
        if held["score"].split("(")[0] not in _NUMBERS:
            raise BadScores(
                f"{self.names.score} must hold numbers, holds {held['score']} in {file}"
            )
        if held["member"] not in _WHOLE | {"BOOLEAN"}:
            raise BadScores(
                f"{self.names.member} must hold booleans, or 1 and 0,"
                f" holds {held['member']} in {file}"
            )
        select = {part: duck.quoted(name) for part, name in self.names.wanted.items()}
        select["score"] = f"CAST({select['score']} AS DOUBLE)"
        if held["member"] != "BOOLEAN":
            told = select["member"]
            select["member"] = f"CASE WHEN {told} = 0 THEN false WHEN {told} = 1 THEN true END"
        counted = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
        rows = duck.rows(self._ask, file, counted)[0][0]
        return _Part(file, file, int(rows), select), {
            self.names.wanted[part]: type_ for part, type_ in held.items()
        }

    def _csv(self, file: Path) -> tuple[_Part, dict[str, str]]:
        """Copied to Parquet once, so that its rows have numbers and are parsed only once."""
        if self._folder is None:
            raise Unsupported("a CSV file is copied to disk: read it with on_disk=True")
        read = duck.read_csv(file)
        self._types(file, read)
        text = {part: duck.quoted(name) for part, name in self.names.wanted.items()}
        # A bare cast would be pushed into the reader of CSV files, which fails where a cast may.
        score = f"TRY_CAST(trim({text['score']}) AS DOUBLE)"
        member = (
            f"CASE WHEN lower(trim({text['member']})) IN ('true', '1') THEN true "
            f"WHEN lower(trim({text['member']})) IN ('false', '0') THEN false END"
        )
        kept = text | {"score": score, "member": member}
        said = ", ".join(f"{how} AS {duck.quoted(part)}" for part, how in kept.items())
        parquet = self._folder.file()
        target = str(parquet).replace("'", "''")
        copy = f"COPY (SELECT {said} FROM {read}) TO '{target}' (FORMAT parquet)"  # noqa: S608
        rows = duck.rows(self._ask, file, copy)[0][0]
        return _Part(file, parquet, int(rows), {part: duck.quoted(part) for part in kept}), {}

    def _types(self, file: Path, read: str) -> dict[str, str]:
        told = duck.rows(self._ask, file, f"DESCRIBE SELECT * FROM {read}")  # noqa: S608
        types = {str(row[0]): str(row[1]) for row in told}
        for name in self.names.wanted.values():
            if name not in types:
                raise no_column(file, name, list(types))
        return types

    def _refuse_first_bad(self, part: _Part) -> None:
        score, member = part.select["score"], part.select["member"]
        found = duck.rows(
            self._ask,
            part.file,
            f"SELECT file_row_number, {score} "  # noqa: S608
            f"FROM {duck.PARQUET} "
            f"WHERE NOT coalesce(isfinite({score}), false) OR ({member}) IS NULL "
            "ORDER BY file_row_number LIMIT 1",
            part.parquet,
        )
        row, value = found[0]
        where = duck.place(row, part.file)
        of_score = value is None or not np.isfinite(value)
        said = self._as_written(part, row, self.names.score if of_score else self.names.member)
        if not of_score:
            rule = columns.NOT_NULL if said is None else columns.TRUTH
            columns.refuse(self.names.member, rule, said, where)
        if value is None:
            rule = columns.NOT_NULL if said is None else columns.NUMBER
            columns.refuse(self.names.score, rule, said, where)
        rule = columns.NOT_NAN if np.isnan(value) else columns.FINITE
        columns.refuse(self.names.score, rule, value, where)

    def _as_written(self, part: _Part, row: int, name: str) -> Any:
        """The value in the user's own file, before anything was made of it."""
        if part.parquet is part.file:
            read, rest = duck.PARQUET, f"WHERE file_row_number = {row}"
        else:
            read, rest = duck.read_csv(part.file), f"LIMIT 1 OFFSET {row}"
        asked = f"SELECT {duck.quoted(name)} FROM {read} {rest}"  # noqa: S608
        return duck.rows(self._ask, part.file, asked)[0][0]
