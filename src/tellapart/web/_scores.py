"""Scores from a file that a person dropped: the one reader, with the page's own limits."""

from __future__ import annotations

from pathlib import Path

from tellapart.audit import Orientation, Scores
from tellapart.data import columns, reading
from tellapart.data.sources import Limits, Source
from tellapart.data.table import Names, together
from tellapart.web._view import Dropped

LARGEST_FILE = 16 * 1024 * 1024
MOST_ROWS = 1_000_000
# What a compressed file may become.
LARGEST_OPENED = 8 * LARGEST_FILE


def read(dropped: Dropped, names: Names, orientation: Orientation) -> Scores:
    """The scores in what was dropped, as `Scores.read` finds them in a file."""
    limits = Limits(
        file=LARGEST_FILE,
        unpacked=LARGEST_OPENED,
        held=LARGEST_OPENED,
        rows=MOST_ROWS,
        instead="; the command line takes more",
    )
    source = Source(Path(dropped.name), dropped.content)
    found = together(reading.slices([source], names, limits))
    members = int(found.member.sum())
    columns.both_sides(str(source), members, found.member.size - members)
    return Scores.from_rows(
        found.scores, found.member, found.run, found.group, orientation=orientation
    )
