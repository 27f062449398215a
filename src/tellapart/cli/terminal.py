"""Terminal text: titles, sentences and tables, of which nothing is cut off at any width."""

from __future__ import annotations

import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleRenderable, RenderHook
from rich.status import Status
from rich.text import Text

from tellapart import _progress
from tellapart.errors import visible

if TYPE_CHECKING:
    from tellapart.risk.catalogue import Reading

Row = Sequence[str]
_INDENT = "  "
# The words of the command line being run.
typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())


def command_line() -> str:
    """The command line being run, as it can be typed again, for those who record it."""
    return shlex.join(["tellapart", *typed.get()])


class ReaderGone(Exception):
    """Nobody reads on, as after `| head`; pipes to other processes break otherwise."""


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave the reader who has seen enough to the caller."""
        raise ReaderGone


class _Visible(RenderHook):
    """Names in files may hold what steers a terminal: it is spelt out."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [
            Text(visible(part.plain, keep="\n"), style=part.style)
            if isinstance(part, Text) and visible(part.plain, keep="\n") != part.plain
            else part
            for part in renderables
        ]


def terminal(*, wrap: bool = False) -> Console:
    """Where answers go; it wraps lines itself if asked to, as help pages need."""
    console = _Terminal(highlight=False, soft_wrap=not wrap)
    console.push_render_hook(_Visible())
    return console


def write(console: Console, text: str) -> None:
    """Text as it is, such as JSON."""
    try:
        console.file.write(text)
    except BrokenPipeError as gone:
        raise ReaderGone from gone


def flush() -> None:
    """Hand over all that was printed; what cannot be is not tried again when Python ends."""
    try:
        if sys.stdout is not None:  # as it is where standard output was closed
            sys.stdout.flush()
    except BrokenPipeError:
        hush()
    except OSError:
        hush()
        raise


@contextmanager
def handed_over() -> Iterator[None]:
    """What is printed here is handed over at once; that nobody reads on changes nothing else.

    A verdict has its exit code, and a file asked for is written, whether or not someone reads on.
    """
    try:
        yield
        flush()
    except ReaderGone:
        hush()
    except OSError as error:
        hush()
        raise OSError(error.errno, error.strerror, "standard output") from error


def hush() -> None:
    """Print nothing more: nobody reads on, or nothing more can be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def working(what: str) -> Iterator[Callable[[str, float], None]]:
    """Say what is going on: at a terminal after a second, elsewhere in a line a minute.

    What it gives may be called with what is being done and the share of it that is; the time left
    follows from that.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress.Lines()
        return
    status = console.status(Text(f"{what} …"))
    timer = Timer(1.0, status.start)
    timer.start()
    try:
        yield _status(status)
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _status(status: Status) -> Callable[[str, float], None]:
    left: dict[str, _progress.TimeLeft] = {}

    def update(doing: str, share: float) -> None:
        rest = left.setdefault(doing, _progress.TimeLeft()).after(share)
        # Of what takes no time nothing is said, and nothing before it can be known.
        more = "" if rest is None or rest < 1 else f", about {_progress.in_words(rest)} left"
        status.update(Text(f"{doing} … {share:.0%}{more}"))

    return update


def title(console: Console, name: str, rest: str = "") -> None:
    """What the answer is about."""
    if len(name) + 2 + len(rest) <= console.width:
        console.print(Text.assemble((name, "bold"), f"  {rest}" if rest else ""))
        return
    console.print(Text(_wrapped(name, console.width, ""), style="bold"))
    if rest:
        line(console, rest)


def aside(text: str) -> None:
    """A remark before the answer, on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(text)


def line(console: Console, text: str) -> None:
    """One indented sentence, wrapped where the terminal ends."""
    console.print(Text(_wrapped(text, console.width, _INDENT)))


def item(console: Console, text: str) -> None:
    """One sentence of a list, its later lines under its first word."""
    console.print(Text(f"{_INDENT}- {_wrapped(text, console.width, 2 * _INDENT)[4:]}"))


def hint(console: Console, text: str) -> None:
    """Where more is to be had."""
    console.print(Text(f"\n{_wrapped(f'({text})', console.width, _INDENT)}", style="dim"))


def table(console: Console, cells: Sequence[Row], marked: int | None = None) -> None:
    """Rows of text, the head first: side by side where they fit, else one block a row."""
    head, *rows = cells
    widths = _widths(cells)
    room = _room(console, widths)
    if room < 0:
        _blocks(console, head, rows)
        return
    for k, name in enumerate(head):
        more = min(max(len(name) - widths[k], 0), room)
        widths[k], room = widths[k] + more, room - more
    folded = [_folded(name, width) for name, width in zip(head, widths, strict=True)]
    depth = max(map(len, folded))
    lifted = [[""] * (depth - len(lines)) + lines for lines in folded]
    for row in zip(*lifted, strict=True):
        console.print(Text(_spaced(row, widths), style="bold"))
    for index, cell_row in enumerate(rows):
        style = "bold" if index == marked else ""
        console.print(Text(_spaced(cell_row, widths), style=style))


def columns(console: Console, cells: Sequence[Row], keep: int) -> None:
    """A table of many columns, one below the other where they do not fit side by side.

    The first ``keep`` columns stand in every part.
    """
    widths, start = _widths(cells), keep
    while start < len(widths):
        end = start + 1
        while end < len(widths) and _room(console, widths[:keep] + widths[start : end + 1]) >= 0:
            end += 1
        if start > keep:
            console.print()
        table(console, [[*row[:keep], *row[start:end]] for row in cells])
        start = end


def _widths(cells: Sequence[Row]) -> list[int]:
    """How wide columns are at least: their cells, and the parts of a head that stay whole."""
    head, *rows = cells
    whole = [max(map(len, re.split(r"(?<=[:,]) *| ", name))) for name in head]
    return [max(1, min(whole[k], 14), *(len(row[k]) for row in rows)) for k in range(len(head))]


def _room(console: Console, widths: Sequence[int]) -> int:
    return console.width - len(_INDENT) - sum(widths) - 2 * (len(widths) - 1)


def readings(console: Console, measured: Sequence[Reading], *, meanings: bool = False) -> None:
    """Every risk beside its baseline; what each means, below the table."""
    head = ("risk", "without the output", "with it", "gain")
    table(console, [head, *((reading.name, *reading.columns) for reading in measured)])
    if not meanings:
        return
    console.print()
    for reading in measured:
        item(console, f"{reading.name}: {reading.meaning}")


def _folded(name: str, width: int) -> list[str]:
    """A long name on several lines, broken where its parts end."""
    lines = [""]
    for part in re.split(r"(?<=[:, ])", name):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return [piece for line in lines for piece in textwrap.wrap(line, width)]


def _spaced(row: Row, widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"{_INDENT}{'  '.join(cells)}".rstrip()


def _blocks(console: Console, head: Row, rows: Sequence[Row]) -> None:
    for name, *values in rows:
        console.print(Text(_wrapped(name, console.width, _INDENT), style="bold"))
        for label, value in zip(head[1:], values, strict=True):
            console.print(Text(_wrapped(f"{label} {value}", console.width, 2 * _INDENT)))


def _wrapped(text: str, width: int, indent: str) -> str:
    """Lines that fit; a number stays with its sign and its name."""
    kept = text.replace(" %", "\xa0%").replace(" = ", "\xa0=\xa0").replace(" ≥ ", "\xa0≥\xa0")
    lines = textwrap.fill(kept, max(width, 20), initial_indent=indent, subsequent_indent=indent)
    return lines.replace("\xa0", " ")
