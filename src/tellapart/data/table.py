"""Tables of scores as files hold them: named columns, their first rows, all rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Place = Callable[[int], str]

# So many first rows are looked at to learn what a column holds.
HEAD = 100


@dataclass(frozen=True)
class Batch:
    """Some rows of the columns asked for, as the file holds them, and how each row is named."""

    columns: tuple[Any, ...]
    rows: int
    place: Place
    done: float = 1.0  # the share of the table that is read with these


class FileTable(Protocol):
    """One file, whatever its format."""

    what: str  # what a column is called here: a column, an array
    names: list[str]
    named: bool  # whether the names stand in the file
    aligned: bool  # whether columns have rows in common, or are lists by themselves
    notes: list[str]  # what had to be inferred to read it

    def head(self, name: str) -> list[Any]:
        """The first values of a column."""

    def batches(self, names: Sequence[str]) -> Iterator[Batch]:
        """These columns, many rows at a time; the scores' column comes first."""
