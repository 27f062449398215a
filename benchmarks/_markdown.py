"""Pages of text, tables and targets: printed as they grow, and kept for a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


class Page:
    """What is printed, kept for the page."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.missed = False

    def say(self, *lines: str) -> None:
        """Lines of text."""
        for line in lines:
            print(line, flush=True)
            self.lines.append(line)

    def row(self, cells: Iterable[str]) -> None:
        """A row of a table."""
        self.say(f"| {' | '.join(_cell(cell) for cell in cells)} |")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table whose rows are shown as they come."""
        self.say("")
        self.row(head)
        self.row(["---"] * len(head))
        for cells in rows:
            self.row(cells)
        self.say("")

    def target(self, what: str, met: bool) -> None:
        """Whether a target is met."""
        self.missed |= not met
        self.say(f"Target: {what}: {'met' if met else 'missed'}.", "")

    def write(self, path: Path) -> None:
        """Everything said so far, as a file."""
        text = "\n".join(self.lines).replace("\n\n\n", "\n\n").rstrip()
        path.write_text(text + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
