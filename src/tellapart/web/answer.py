"""The answer of a view as plain data: sentences, tables, a picture, and code for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tellapart.risk.catalogue import Reading


class Mark(StrEnum):
    """How a headline is meant, told by a sign and a word, and only then by colour."""

    GOOD = "good"
    BAD = "bad"
    PLAIN = "plain"


class Ink(StrEnum):
    """What a line or a point stands for; the page gives each its colour and its dashes."""

    FIRST = "first"
    SECOND = "second"
    THIRD = "third"
    FOURTH = "fourth"
    FIFTH = "fifth"
    PROMISE = "promise"
    CHANCE = "chance"
    EVIDENCE = "evidence"


@dataclass(frozen=True)
class Axis:
    """One side of a picture."""

    label: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Trace:
    """A line; with ``filled`` also what lies beneath it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    ink: Ink
    filled: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Spot:
    """A point, which a person may drag if two fields follow it."""

    name: str
    x: float
    y: float
    ink: Ink
    mark: Mark = Mark.PLAIN
    drags: tuple[str, str] | None = None  # the fields that x and y are
    box: tuple[float, float, float, float] | None = None  # low x, high x, low y, high y


@dataclass(frozen=True)
class Drawing:
    """A picture: two axes, and what is drawn between them. ``caption`` says it in words."""

    title: str
    caption: str
    x: Axis
    y: Axis
    traces: tuple[Trace, ...]
    spots: tuple[Spot, ...] = ()

    def data(self) -> dict[str, Any]:
        """The picture as the page reads it."""
        return asdict(self)


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
class Answer:
    """Everything a view shows beside its controls."""

    headline: str
    sentences: tuple[str, ...] = ()
    mark: Mark = Mark.PLAIN
    drawing: Drawing | None = None
    parts: tuple[Table | Words, ...] = ()
    python: str = ""
    command: str = ""
    reports: bool = False  # whether a report of this can be had
