"""Answers as terminal text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tellapart.risk import Reading

# A column's name is wrapped only beyond this.
_HEAD = 14


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave the reader who has seen enough, as `| head` does, to the caller."""
        raise BrokenPipeError


def terminal() -> Console:
    """Where answers go."""
    return _Terminal(highlight=False)


def title(console: Console, name: str, rest: str = "") -> None:
    """What the answer is about."""
    console.print(Text.assemble((name, "bold"), f"  {rest}" if rest else ""))


def line(console: Console, text: str) -> None:
    """One indented sentence, wrapped where the terminal ends."""
    wrapped = textwrap.fill(text, console.width, initial_indent="  ", subsequent_indent="  ")
    console.print(Text(wrapped))


def table(console: Console, cells: Sequence[Sequence[str]], marked: int | None = None) -> None:
    """Rows of text, the head first; names to the left, numbers to the right."""
    head, *rows = cells
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for index, name in enumerate(head):
        widest = max(len(row[index]) for row in rows)
        shown.add_column(
            name,
            justify="right" if index else "left",
            overflow="fold",
            min_width=max(widest, min(len(name), _HEAD)),
        )
    for index, row in enumerate(rows):
        shown.add_row(*map(Text, row), style="bold" if index == marked else "")
    console.print(Padding(shown, (0, 0, 0, 2), expand=False))


def readings(console: Console, found: Sequence[Reading]) -> None:
    """Every risk, with its side and what it means."""
    shown = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    shown.add_column(no_wrap=True)
    shown.add_column(justify="right", no_wrap=True)
    shown.add_column(style="dim")
    for one in found:
        shown.add_row(one.name, f"{one.relation} {one.shown}", one.meaning)
    console.print(Padding(shown, (0, 0, 0, 2), expand=False))
