"""A file of attack scores that was dropped: read within the page's limits, and its first rows."""

from __future__ import annotations

from pathlib import Path

from tellapart.audit import Orientation, Scores
from tellapart.audit.scores import read_scores
from tellapart.data.columns import Names
from tellapart.data.reading import Preview, preview
from tellapart.data.sources import FileLimits, Source
from tellapart.errors import BadScores, NoColumn
from tellapart.web import limits
from tellapart.web.answer import Table
from tellapart.web.view import Dropped

_LONGEST_CELL = 40  # letters
_MORE = "; the command line takes more"


def _most() -> FileLimits:
    return FileLimits(
        file=limits.LARGEST_FILE,
        unpacked=limits.LARGEST_OPENED,
        held=limits.LARGEST_OPENED,
        rows=limits.MOST_ROWS,
        instead=_MORE,
    )


def read_dropped(dropped: Dropped, names: Names, orientation: Orientation) -> Scores:
    """The scores in what was dropped, as `Scores.read` finds them in a file, within our limits."""
    source = Source(Path(dropped.name), dropped.content)
    try:
        return read_scores([source], names, orientation, _most())
    except NoColumn as why:
        raise NoColumn(why.problem, f". {_CHOOSE}") from None
    except BadScores as why:
        raise BadScores(why.problem, _MORE if why.advice == _MORE else "") from None


COLUMNS = "Columns of the file"
_CHOOSE = (
    f"Choose the columns under “{COLUMNS}”, in step 1; the one of members holds 1 for members and "
    "0 for non-members."
)


def seen_in(dropped: Dropped) -> Preview:
    """The columns and first rows of what was dropped, as `audit.preview` finds them."""
    return preview(Source(Path(dropped.name), dropped.content), Names(), _most())


def previewed(held: Dropped) -> tuple[Table, ...]:
    """The first rows of the file, as they stand in it."""
    seen = seen_in(held)
    if not seen.columns:
        return ()
    rows = tuple(tuple(map(_cell, row)) for row in seen.rows)
    return (Table(f"First rows of {held.name}", seen.columns, rows),)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1]}…"
