"""Scores from a file that a person dropped: the one reader, with the page's own limits."""

from __future__ import annotations

from pathlib import Path

from tellapart.audit.scores import Orientation, Scores, read_scores
from tellapart.data.columns import Names
from tellapart.data.sources import FileLimits, Source
from tellapart.web._view import Dropped

LARGEST_FILE = 16 * 1024 * 1024
MOST_ROWS = 1_000_000
# What a compressed file may become.
LARGEST_OPENED = 8 * LARGEST_FILE


def read(dropped: Dropped, names: Names, orientation: Orientation) -> Scores:
    """The scores in what was dropped, as `Scores.read` finds them in a file."""
    limits = FileLimits(
        file=LARGEST_FILE,
        unpacked=LARGEST_OPENED,
        held=LARGEST_OPENED,
        rows=MOST_ROWS,
        instead="; the command line takes more",
    )
    return read_scores([Source(Path(dropped.name), dropped.content)], names, orientation, limits)
