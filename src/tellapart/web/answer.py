"""The answer of a view as plain data: sentences, tables, a picture, and code for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart.drawing.record import Drawing, Mark
from tellapart.risk.catalogue import Reading


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first cell of a row is its name."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def risks_table(title: str, readings: Sequence[Reading]) -> Table:
    """Every risk beside its baseline, and what it is."""
    rows = tuple((reading.name, *reading.columns, reading.meaning) for reading in readings)
    return Table(title, ("risk", "without the output", "with it", "gain", "what it is"), rows)


@dataclass(frozen=True)
class Words:
    """Sentences under a title."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class TextFile:
    """A text to save under a name, and what to do with it."""

    name: str
    text: str
    use: str


@dataclass(frozen=True)
class Answer:
    """Everything a view shows beside its controls."""

    headline: str
    sentences: tuple[str, ...] = ()
    mark: Mark = Mark.PLAIN
    drawing: Drawing | None = None
    parts: tuple[Table | Words, ...] = ()
    python: str = ""
    command: str = ""
    files: tuple[TextFile, ...] = ()
    reports: bool = False  # whether a report of this can be had
