"""The record of a chart: two axes, lines and points, as plain data for any writer to draw."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from typing import Any


class Mark(StrEnum):
    """How a headline is meant, told by a sign and a word, and only then by colour."""

    GOOD = "good"
    BAD = "bad"
    PLAIN = "plain"


class Ink(StrEnum):
    """What a line or a point stands for; who draws it gives each its colour and its dashes."""

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
    kind: str = ""  # by which one of several is picked

    def data(self) -> dict[str, Any]:
        """The picture as plain data."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    """As `dataclasses.asdict`, which would copy every number of a line on its way."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if not isinstance(value, tuple):
        return value
    return list(value) if value and isinstance(value[0], float) else [_plain(x) for x in value]
