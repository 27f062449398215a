"""The answer of a view as plain data: a sentence, cards, pictures, tables, and code for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tellapart.drawing.icons import IconArray
from tellapart.drawing.record import Drawing, Mark
from tellapart.risk.catalogue import Reading


@dataclass(frozen=True)
class NumberCard:
    """A number that people act on, with its unit and, ``beside`` it, what to hold it against.

    ``share`` is how much of its limit it takes, and ``term`` what the glossary has it under.
    """

    name: str
    value: str
    unit: str = ""
    beside: str = ""
    term: str = ""
    share: float | None = None
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first cell of a row is its name.

    ``sets`` are the values that each cell sets when it is chosen, row by row, where they set any.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    sets: tuple[tuple[Mapping[str, float | str], ...], ...] = ()


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
class People:
    """People as dots: those whom an attack flags are filled."""

    title: str
    caption: str
    arrays: tuple[IconArray, ...]
    legend: tuple[tuple[str, str], ...]  # the class of a dot, and what it stands for


@dataclass(frozen=True)
class Code:
    """Code to copy: where it runs, and the text."""

    label: str
    text: str


@dataclass(frozen=True)
class TextFile:
    """A text to save under a name, and what to do with it."""

    name: str
    text: str
    use: str


@dataclass(frozen=True)
class Next:
    """Where to go on with the same settings, and with these besides."""

    path: str
    title: str
    words: str
    values: tuple[tuple[str, str], ...] = ()
    link: str = ""  # what the view is called, where the title is a question


@dataclass(frozen=True)
class PublishedRelease:
    """A published release: how many of 100 members are found at most, and its claim as text."""

    name: str
    claim: str
    found: float
    mechanism: str
    said: str


@dataclass(frozen=True)
class Answer:
    """Everything a view shows beside its controls.

    The headline is one sentence, in which ``number``, where it first stands, is what people act
    on; ``aside`` is its baseline. Of the ``drawings`` one is shown large, the others beside it.
    ``certificate`` says how sure the numbers are, ``scope`` for what they hold. ``mechanism`` is
    what other views go on with, where that is not what this one was asked about.
    """

    headline: str
    sentences: tuple[str, ...] = ()
    mark: Mark = Mark.PLAIN
    drawings: tuple[Drawing, ...] = ()
    parts: tuple[Table | Words, ...] = ()
    python: str = ""
    command: str = ""
    files: tuple[TextFile, ...] = ()
    reports: bool = False  # whether a report of this can be had
    number: str = ""
    aside: str = ""
    cards: tuple[NumberCard, ...] = ()
    people: People | None = None
    codes: tuple[Code, ...] = ()
    certificate: str = ""
    scope: str = ""
    next: tuple[Next, ...] = ()
    mechanism: str = ""
    picture: str = ""  # the kind of the drawing that is shown large, the first unless said
    later: tuple[str, str] | None = None  # a part that is asked for by itself, and its title
    releases: tuple[PublishedRelease, ...] = ()
    presets: tuple[Next, ...] = ()

    @property
    def drawing(self) -> Drawing | None:
        """The picture that is shown large, where there is one."""
        return self.drawings[self.picked] if self.drawings else None

    @property
    def picked(self) -> int:
        """Its place among the drawings."""
        kinds = [drawing.kind for drawing in self.drawings]
        return kinds.index(self.picture) if self.picture in kinds else 0
