"""Columns of labels, such as states over time, from frames or files, with the gaps in them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from tellapart.data import columns, csv_file, parquet
from tellapart.data.scores_and_labels import is_missing
from tellapart.data.sources import FileLimits, Source, matching
from tellapart.data.table import Place
from tellapart.errors import BadScores, InvalidArgument


@dataclass(frozen=True)
class Labels:
    """One column: a label per row, ``None`` where there is none, and how to name a row."""

    name: str
    rows: list[Any]
    place: Place

    def whole(self) -> list[Any]:
        """All labels, none of which may be missing."""
        for row, label in enumerate(self.rows):
            if label is None:
                where = self.place(row)
                raise InvalidArgument(f"{self.name} must not be missing, got None {where}")
        return self.rows


def read(source: Any, names: Sequence[str]) -> list[Labels]:
    """These columns of a pandas, Polars or Arrow table, a dict, or CSV and Parquet files.

    All that CSV files hold is text: a column all of whose entries are numbers is read as numbers,
    one of dates as dates.
    """
    if isinstance(source, str | os.PathLike):
        return _from_files(source, names)
    read_columns = [
        Labels(name, plain(columns.raw(source, name)), columns.from_zero) for name in names
    ]
    if len({len(column.rows) for column in read_columns}) > 1:
        sizes = ", ".join(f"{len(column.rows)} in {column.name}" for column in read_columns)
        raise InvalidArgument(f"columns must have one length, got {sizes}")
    return read_columns


def plain(values: Any) -> list[Any]:
    """A list of labels as Python's own objects, with ``None`` for what is missing."""
    ways = (getattr(values, name, None) for name in ("to_pylist", "to_list", "tolist"))
    listed = next((way for way in ways if way is not None), lambda: list(values))()
    return [None if _is_missing(label) else _plain(label) for label in listed]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _is_missing(label: Any) -> bool:
    """None, NaN and the like; a text is a label."""
    return not isinstance(label, str) and is_missing(label)


def _from_files(source: str | os.PathLike[str], names: Sequence[str]) -> list[Labels]:
    kind, files = matching(source)
    if kind not in ("csv", "parquet"):
        raise BadScores(f"a table of labels must be Parquet or CSV, got {files[0]}")
    read_file = _of_csv if kind == "csv" else _of_parquet
    parts = [read_file(Source(file), names) for file in files]
    starts = np.cumsum([0, *(len(part[0].rows) for part in parts)])
    made = [[row for part in parts for row in part[i].rows] for i in range(len(names))]
    if kind == "csv":
        made = [_understood(texts) for texts in made]

    def place(row: int) -> str:
        which = int(np.searchsorted(starts, row, side="right")) - 1
        return parts[which][0].place(row - int(starts[which]))

    return [Labels(name, rows, place) for name, rows in zip(names, made, strict=True)]


def _of_csv(source: Source, names: Sequence[str]) -> list[Labels]:
    lines: list[int] = []
    held: list[list[Any]] = [[] for _ in names]
    table = csv_file.TextTable(source, FileLimits())
    for name in names:
        columns.position(table.names, name, table)
    columns.refuse_unread(table.names, names, table)
    for begun, cells in table.cells(names):
        lines.extend(begun)
        for kept, column in zip(held, cells, strict=True):
            kept.extend(column)
    place = csv_file.placed(source, lines)
    return [Labels(name, rows, place) for name, rows in zip(names, held, strict=True)]


def _of_parquet(source: Source, names: Sequence[str]) -> list[Labels]:
    every = [
        [None if _is_missing(label) else label for label in row]
        for row in parquet.labels(source, names)
    ]
    place = functools.partial(_place, source)
    return [Labels(name, [row[i] for row in every], place) for i, name in enumerate(names)]


def _place(source: Source, row: int) -> str:
    return parquet.place_of(row, source)


def _understood(texts: list[str | None]) -> list[Any]:
    """Numbers or dates where every entry is one, else the text as it is, without blanks around."""
    trimmed = [None if text is None or not text.strip() else text.strip() for text in texts]
    ways: list[Callable[[str], Any]] = [int, float, datetime.fromisoformat]
    for way in ways:
        try:
            made = [None if text is None else way(text) for text in trimmed]
        except ValueError:
            continue
        return [None if _is_missing(label) else label for label in made]
    return trimmed
